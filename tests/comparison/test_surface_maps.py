from dataclasses import replace
from importlib import import_module

import joblib
import numpy as np
import pytest

from sgbn.comparison.figures import (
    DEVIATIONS,
    MEANS,
    STRENGTH,
    names_of_maps,
    no_surface,
    plans,
    surface_maps,
)
from sgbn.comparison.report import render_report
from sgbn.comparison.steps.regional import regional_section
from sgbn.write.draw import surface

figures = import_module("sgbn.comparison.figures")

pytest.importorskip("nilearn", reason="the extra brain has the mesh")
MAPS = ("means_surface", "deviations_surface", "strength_in_surface", "strength_out_surface")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr("sgbn.write.draw.surface.PIXELS", 200)


def keywords(comparison, name):
    return plans(comparison)[name].plot.keywords


def with_tables(comparison, **tables):
    """The same comparison with other tables."""
    found = replace(comparison)
    vars(found)["tables"] = comparison.tables._replace(**tables)
    return found


def test_an_atlas_with_a_surface_has_maps_of_all_regional_results(cortical):
    assert no_surface(cortical) == ""
    assert tuple(surface_maps(cortical)) == MAPS
    assert set(MAPS) <= set(plans(cortical))


def test_values_and_marks_are_those_of_the_tables(cortical):
    table = cortical.tables.regional.set_index("region").loc[list(cortical.cohort.regions)]
    table = table.assign(q=np.linspace(0.0, 0.4, len(table)))
    found = with_tables(cortical, regional=table.reset_index())
    drawn = keywords(found, "means_surface")
    np.testing.assert_array_equal(drawn["values"], table["hedges_g"])
    np.testing.assert_array_equal(drawn["marked"], table["q"] <= 0.05)
    for kind in ("in", "out"):
        hubs = cortical.tables.hubs
        own = hubs[hubs["kind"] == kind].set_index("region").loc[list(cortical.cohort.regions)]
        drawn = keywords(cortical, f"strength_{kind}_surface")
        np.testing.assert_array_equal(drawn["values"], own["z"])
        np.testing.assert_array_equal(drawn["marked"], own["p_fwer"] <= 0.05)
    patients = np.asarray(cortical.cohort.group) == "patient"
    mean = cortical.deviations.regions[patients].mean(axis=0)
    np.testing.assert_allclose(keywords(cortical, "deviations_surface")["values"], mean)


def test_a_caption_counts_regions_that_are_significant_and_those_that_are_hidden(cortical):
    found = with_tables(cortical, regional=cortical.tables.regional.assign(q=0.01))
    caption = surface_maps(found)["means_surface"].caption
    assert "Outlined: 6 regions with q ≤ 0.05." in caption
    hidden = [cortical.cohort.labels[f"{side}-Hippocampus"] for side in ("Left", "Right")]
    assert caption.endswith(f"not on this surface (2): {', '.join(hidden)}.")


def test_a_plan_has_the_same_key_each_time_and_another_for_other_values(cortical):
    first, second = (joblib.hash(plans(cortical)["means_surface"]) for _ in range(2))
    assert first == second
    table = cortical.tables.regional
    other = with_tables(cortical, regional=table.assign(hedges_g=table["hedges_g"] + 0.1))
    assert joblib.hash(plans(other)["means_surface"]) != first


def test_the_same_map_is_the_same_file(cortical):
    first, second = (plans(cortical)["means_surface"].files(["svg", "pdf"], 100) for _ in range(2))
    assert first == second
    assert b"patient minus control" in first["svg"].replace(b"<!-- ", b"")


def test_each_map_stands_in_its_section_with_its_caption(cortical, no_pictures):
    page = render_report(cortical, pictures=no_pictures)
    sections = {
        name: page.split(f'<section id="{name}"')[1].split("</section>")[0]
        for name in ("regional", "differences", "subjects")
    }
    assert "Hedges&#39; g of the mean of each region, patient minus control" in sections["regional"]
    assert "strength of edges into each region" in sections["differences"]
    assert "Mean deviation z" in sections["subjects"]


def test_without_a_surface_there_is_no_map_but_a_reason(
    compared, three_compared, cortical, monkeypatch
):
    for comparison in (compared, three_compared):
        assert surface_maps(comparison) == {}
    assert no_surface(compared)
    assert no_surface(three_compared) == ""  # these regions have no place at all
    with monkeypatch.context() as patch:
        patch.setattr(figures, "parcel_numbers", lambda names, *_: np.full(len(names), -1))
        assert no_surface(cortical)  # all are below the cortex
    monkeypatch.setattr(surface, "find_spec", lambda _: None)
    surface.load_mesh.cache_clear()
    assert surface_maps(cortical) == {}
    assert regional_section(cortical)["no_surface"]


def test_more_groups_have_maps_of_their_own_and_none_of_strength(three_compared):
    assert names_of_maps(three_compared, MEANS) == ["means_b_surface", "means_c_surface"]
    assert names_of_maps(three_compared, DEVIATIONS) == [
        "deviations_b_surface",
        "deviations_c_surface",
    ]
    assert names_of_maps(three_compared, STRENGTH) == []


def test_what_was_not_done_has_no_map(cortical):
    bare = replace(cortical, tests=None, deviations=None)
    assert tuple(surface_maps(bare)) == ("means_surface",)
