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


def test_captions_say_what_is_shown_and_what_is_not(cortical):
    caption = surface_maps(cortical)["means_surface"].caption
    assert "patient minus control" in caption
    assert ": 6 regions." in caption
    hidden = [cortical.cohort.labels[f"{side}-Hippocampus"] for side in ("Left", "Right")]
    assert caption.endswith(f"not on this surface (2): {', '.join(hidden)}.")
    assert "not tested" in surface_maps(cortical)["deviations_surface"].caption


@pytest.mark.parametrize(
    ("q", "words"),
    [
        (1.0, "No region has q ≤ 0.05: the colours may be chance."),
        (0.01, "Outlined: 6 regions with q ≤ 0.05."),
    ],
)
def test_captions_say_how_many_regions_are_significant(cortical, q, words):
    found = with_tables(cortical, regional=cortical.tables.regional.assign(q=q))
    assert words in surface_maps(found)["means_surface"].caption


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
    assert "strength of edges out of each region" in sections["differences"]
    assert "Mean deviation z" in sections["subjects"]
    assert "No map of the cortex" not in page


def test_an_atlas_without_a_surface_has_a_reason_and_no_map(compared, html):
    assert surface_maps(compared) == {}
    assert no_surface(compared).startswith(
        "No map of the cortex is drawn: no surface of the atlas aal is known"
    )
    assert "no surface of the atlas aal is known" in html


def test_without_nilearn_the_page_says_so(cortical, monkeypatch):
    monkeypatch.setattr(surface, "find_spec", lambda _: None)
    surface.load_mesh.cache_clear()
    assert surface_maps(cortical) == {}
    assert "comes with nilearn, which is not installed" in regional_section(cortical)["no_surface"]


def test_regions_without_a_place_have_neither_a_map_nor_a_reason(three_compared):
    assert surface_maps(three_compared) == {}
    assert no_surface(three_compared) == ""


def test_more_groups_have_maps_of_their_own_and_none_of_strength(three_compared):
    assert names_of_maps(three_compared, MEANS) == ["means_b_surface", "means_c_surface"]
    assert names_of_maps(three_compared, DEVIATIONS) == [
        "deviations_b_surface",
        "deviations_c_surface",
    ]
    assert names_of_maps(three_compared, STRENGTH) == []


def test_only_regions_below_the_cortex_have_a_reason(cortical, monkeypatch):
    monkeypatch.setattr(figures, "parcel_numbers", lambda names, *_: np.full(len(names), -1))
    assert no_surface(cortical).endswith("no region lies on the surface of desikan_killiany.")


def test_what_was_not_done_has_no_map(cortical):
    bare = replace(cortical, tests=None, deviations=None)
    assert tuple(surface_maps(bare)) == ("means_surface",)
