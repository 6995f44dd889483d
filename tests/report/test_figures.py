import warnings
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import ArrowStyle, FancyArrowPatch

from sgbn import viz
from sgbn.exceptions import InputError
from sgbn.report.figures import (
    _changes,
    _circle,
    _supported_names,
    address,
    figures,
    hippocampi,
    layout_of,
    picture,
    plans,
    rounded,
)


def test_everything_that_was_found_is_drawn(compared):
    assert set(plans(compared)) == {
        *(
            f"network_{g}_{k}"
            for g in ("control", "patient")
            for k in ("matrix", "brain", "circle")
        ),
        *("differences_matrix", "differences_brain", "permutations", "accuracy", "refinements"),
    }


def test_what_was_not_found_is_not_drawn(compared):
    bare = replace(compared, tests=None, accuracy=None, refinements={})
    assert {name.split("_")[0] for name in plans(bare)} == {"network"}


def test_without_places_there_is_no_brain(three_groups):
    assert not any(name.endswith("brain") for name in plans(three_groups))
    assert not layout_of(three_groups).located


def test_names_of_groups_are_safe_in_files(nasty):
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz_0123456789") for name in plans(nasty))
    assert len([name for name in plans(nasty) if name.endswith("_matrix")]) == 3


def svg_of(comparison, name):
    return plans(comparison)[name].files(["svg"], dpi=100)["svg"]


def test_all_figures_of_nasty_names_can_be_written(nasty):
    for name in plans(nasty):
        ElementTree.fromstring(svg_of(nasty, name))


KINDS = ("matrix", "brain", "circle")


@pytest.mark.parametrize("name", [*(f"network_control_{k}" for k in KINDS), "permutations"])
def test_the_same_comparison_gives_the_same_file(compared, name):
    first, second = svg_of(compared, name), svg_of(compared, name)
    assert first == second
    assert b"<dc:date>" not in first


def test_a_figure_is_drawn_once_for_files_of_several_kinds(compared, monkeypatch):
    drawn = []
    plot = viz.plot_permutations
    monkeypatch.setattr(viz, "plot_permutations", lambda *a, **k: drawn.append(1) or plot(*a, **k))
    files = plans(compared)["permutations"].files(["svg", "png"], dpi=100)
    assert len(drawn) == 1
    assert files["png"].startswith(b"\x89PNG")
    assert address(files["svg"]).startswith("data:image/svg+xml;base64,")


def heads(figure, ax):
    """Edges of one of the axes of a figure that are drawn as arrows."""
    drawn = [one for one in figure.axes[ax].patches if isinstance(one, FancyArrowPatch)]
    return sum(isinstance(one.get_arrowstyle(), ArrowStyle.CurveFilledB) for one in drawn), len(
        drawn
    )


def test_only_supported_edges_are_arrows(compared):
    for group in compared.groups:
        mask = compared.supported[group]
        figure = plans(compared)[f"network_{group}_circle"].draw()
        edges = np.count_nonzero(compared.learners[group].coef_)
        assert heads(figure, 0) == (mask.sum(), edges)


def test_a_difference_is_an_arrow_where_a_group_supports_it(compared):
    sure, none = supporting(compared, True), supporting(compared, False)
    arrows = _changes(sure)[2]
    wanted = np.any([one.coef_ != 0 for one in compared.learners.values()], axis=0)
    tested = {(row.source, row.target) for row in compared.tables.differences.itertuples()}
    places = compared.cohort.regions
    for i, j in np.ndindex(arrows.shape):
        assert arrows[i, j] == (wanted[i, j] and (places[i], places[j]) in tested)
    assert arrows.any()
    assert not _changes(none)[2].any()


def supporting(comparison, every):
    """The same comparison, all or none of whose edges are supported."""
    known = replace(comparison)
    masks = {group: (one.coef_ != 0) & every for group, one in comparison.learners.items()}
    vars(known)["supported"] = masks
    return known


def test_moved_edges_are_named_by_an_arrow_where_it_is_supported(compared):
    names = _supported_names(supporting(compared, True))
    assert len(names) == sum(np.count_nonzero(one.coef_) for one in compared.learners.values())
    assert {group for group, *_ in names} == set(compared.groups)


def test_rounding_touches_paths_only_and_by_less_than_a_tenth():
    svg = b'<g transform="scale(0.015625)"><path d="M 1.2345 2.06\nL 3 4.99 "/></g>'
    assert rounded(svg) == b'<g transform="scale(0.015625)"><path d="M 1.2 2.0 L 3 4.9 "/></g>'


def test_the_picture_of_the_page_is_smaller_and_whole(compared):
    svg = svg_of(compared, "differences_brain")
    assert len(rounded(svg)) < len(svg)
    ElementTree.fromstring(rounded(svg))


def test_each_group_of_three_has_its_changes_from_the_reference(three_groups):
    names = {name for name in plans(three_groups) if name.startswith("differences")}
    assert names == {"differences_b_matrix", "differences_c_matrix"}
    shown = {name: plans(three_groups)[name].plot.keywords["weights"] for name in names}
    assert not np.allclose(shown["differences_b_matrix"], shown["differences_c_matrix"])


def test_a_picture_of_three_groups_says_whose_q_it_shows(three_groups):
    title = plans(three_groups)["differences_b_matrix"].plot.keywords["title"]
    assert "Change from a to b" in title
    assert "any difference, both ways (q of all groups" in title


def test_hippocampi_are_found_by_name():
    there = ["Hippocampus_L", "Left-Hippocampus", "hippocampus right"]
    others = ["ParaHippocampal_L", "lh_parahippocampal", "para-hippocampal gyrus", "Amygdala_L"]
    assert hippocampi([*there, *others]) == there


def test_hippocampi_and_ends_of_significant_edges_stand_out(three_groups):
    found = three_groups.tests
    edges = found.edges.copy()
    edges["q"], edges["q_both"] = 0.01, 1.0  # one way only is not enough
    edges["q_both"][0] = 0.01
    regions = ("Hippocampus_L", *three_groups.cohort.regions[1:])
    cohort = replace(three_groups.cohort, regions=regions)
    for end in ("source", "target"):
        edges[end] = ["Hippocampus_L" if name == "region0" else name for name in edges[end]]
    named = replace(
        three_groups,
        review=replace(three_groups.review, cohort=cohort),
        prepared=replace(three_groups.prepared, regions=regions),
        tests=replace(found, edges=edges, regions=regions),
    )
    drawn = plans(named)
    network, changes = drawn["network_a_matrix"], drawn["differences_b_matrix"]
    assert network.plot.keywords["highlight"] == ["Hippocampus_L"]
    assert network.plot.keywords["title"].endswith("emphasised: hippocampi")
    assert changes.plot.keywords["highlight"] == [edges["source"][0], edges["target"][0]]
    network.draw()


def test_all_regions_of_significant_edges_stand_out(compared):
    edges = compared.tests.edges.copy()
    edges["q_both"] = 0.01
    found = replace(compared, tests=replace(compared.tests, edges=edges))
    highlight = plans(found)["differences_matrix"].plot.keywords["highlight"]
    assert sorted(highlight) == sorted({*edges["source"], *edges["target"]})


@pytest.mark.parametrize("name", ["network_control_matrix", "differences_matrix"])
def test_a_matrix_has_the_scale_of_its_colours(compared, name):
    matrix, bar = plans(compared)[name].draw().axes
    assert "per standard deviation" in bar.get_xlabel()
    assert bar.get_xlim() == matrix.images[0].get_clim()


def test_what_all_names_share_is_left_out_of_brain_and_circle(compared):
    names = tuple(f"lh_{name}_thickness" for name in compared.cohort.regions)
    layout = layout_of(compared)._replace(names=names)
    assert layout.short_names == list(compared.cohort.regions)
    figure = _circle(compared.learners["control"].coef_std_, layout).draw()
    shown = {text.get_text() for text in figure.axes[0].texts}
    assert set(compared.cohort.regions) <= shown


def test_without_an_atlas_no_lobe_is_boxed(three_groups, compared):
    assert set(layout_of(three_groups).lobes) == {""}
    figure = plans(three_groups)["network_a_matrix"].draw()
    assert not figure.axes[0].patches
    assert not figure.axes[0].texts
    assert plans(compared)["network_control_matrix"].draw().axes[0].texts


def test_letters_that_the_font_lacks_give_no_warning():
    for kind in ("svg", "png"):
        figure = Figure(layout="constrained")
        figure.add_subplot().set_title("海马")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert picture(figure, kind)


def test_regions_can_be_chosen(compared):
    chosen = compared.cohort.regions[:2]
    for name, plan in plans(compared, chosen).items():
        if name.endswith("_matrix"):
            assert plan.plot.keywords["highlight"] == list(chosen)
    with pytest.raises(InputError, match="nowhere"):
        figures(compared, ["nowhere"])
