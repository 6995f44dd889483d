from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import ArrowStyle, FancyArrowPatch
from tests.codes import refused

from sgbn.comparison.figures import (
    MAX_PAIRS,
    _accuracy,
    _as_arrows,
    _matrix,
    _supported_names,
    changes_of,
    figures,
    layout_of,
    plans,
)
from sgbn.comparison.steps.differences import differences_of, verdict
from sgbn.write.draw.style import KIND_STYLES
from sgbn.write.figures import address


def test_everything_that_was_found_is_drawn(compared):
    assert set(plans(compared)) == {
        *(
            f"network_{g}_{k}"
            for g in ("control", "patient")
            for k in ("matrix", "brain", "circle")
        ),
        *(f"differences_{k}" for k in ("matrix", "brain", "circle")),
        *("forest", "permutations", "accuracy", "roc", "refinements"),
    }


def test_what_was_not_found_is_not_drawn(compared):
    bare = replace(compared, tests=None, accuracy=None, refinements={})
    assert {name.split("_")[0] for name in plans(bare)} == {"network"}


def test_sparsities_that_were_tried_are_drawn_over_their_edges(compared):
    found = compared.accuracy
    assert not len(found.gammas)
    first = found.probabilities[found.ours][0]
    tried = replace(
        found,
        gammas=np.array([1.0, 3.0]),
        edges=np.array([20.0, 10.0]),
        by_gamma=np.stack([first, first[:, ::-1]]),  # the second calls each by the other name
    )
    figure = dict(_accuracy(replace(compared, accuracy=tried)))["sparsity"].draw()
    edges, accuracies = figure.axes[0].lines[0].get_data()
    assert edges.tolist() == [10, 20]
    assert sum(accuracies) == pytest.approx(1)
    assert accuracies[1] == pytest.approx(tried.sparsity()["mean"][0])


def test_without_places_there_is_no_brain(three_compared):
    assert not any(name.endswith("brain") for name in plans(three_compared))
    assert not layout_of(three_compared).located


def test_names_of_groups_are_safe_in_files(nasty):
    assert all(set(name) <= set("abcdefghijklmnopqrstuvwxyz_0123456789") for name in plans(nasty))
    assert len([name for name in plans(nasty) if name.endswith("_matrix")]) == 3


def test_all_figures_of_nasty_names_can_be_written(nasty, written):
    for name in plans(nasty):
        ElementTree.parse(written[0] / "figures" / f"{name}.svg")


KINDS = ("matrix", "brain", "circle")


@pytest.mark.parametrize(
    ("name", "kind"), [*((f"network_control_{k}", "svg") for k in KINDS), ("permutations", "pdf")]
)
def test_the_same_comparison_gives_the_same_file(compared, name, kind):
    first, second = (plans(compared)[name].files([kind], dpi=100)[kind] for _ in range(2))
    assert first == second
    assert b"<dc:date>" not in first
    assert b"CreationDate" not in first


def test_a_figure_is_drawn_once_for_files_of_several_kinds(compared, monkeypatch):
    drawn = []
    module = import_module("sgbn.comparison.figures")
    plot = module.plot_permutations
    counted = lambda *a, **k: drawn.append(1) or plot(*a, **k)  # noqa: E731
    monkeypatch.setattr(module, "plot_permutations", counted)
    files = plans(compared)["permutations"].files(["svg", "png"], dpi=100)
    assert len(drawn) == 1
    assert files["png"].startswith(b"\x89PNG")
    assert address(files["svg"]).startswith("data:image/svg+xml;base64,")


@pytest.fixture(scope="module")
def drawn(compared):
    """All figures of `compared`, to be looked at only."""
    return figures(compared)


def heads(figure, ax):
    """Edges of one of the axes of a figure that are drawn as arrows."""
    drawn = [one for one in figure.axes[ax].patches if isinstance(one, FancyArrowPatch)]
    return sum(isinstance(one.get_arrowstyle(), ArrowStyle.CurveFilledB) for one in drawn), len(
        drawn
    )


def test_only_supported_edges_are_arrows(compared, drawn):
    for group in compared.groups:
        mask = compared.supported[group]
        edges = np.count_nonzero(compared.learners[group].coef_)
        assert heads(drawn[f"network_{group}_circle"], 0) == (mask.sum(), edges)


def test_a_difference_is_an_arrow_where_a_group_supports_it(nothing_differs):
    sure, none = supporting(nothing_differs, True), supporting(nothing_differs, False)
    wanted = np.any([one.coef_ != 0 for one in nothing_differs.learners.values()], axis=0)
    options = plans(sure)["differences_circle"].plot.keywords
    shown = options["weights"] != 0
    assert (options["supported"] & shown).any()
    np.testing.assert_array_equal(options["supported"][shown], wanted[shown])
    assert not plans(none)["differences_circle"].plot.keywords["supported"].any()


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


def test_each_group_of_three_has_its_changes_from_the_reference(three_compared):
    planned = plans(three_compared)
    shown = {
        name: plan.plot.keywords for name, plan in planned.items() if name.startswith("differences")
    }
    kinds = ("matrix", "circle")  # these regions have no places
    assert set(shown) == {f"differences_{group}_{kind}" for group in "bc" for kind in kinds}
    b, c = (shown[f"differences_{group}_matrix"] for group in "bc")
    assert not np.allclose(b["weights"], c["weights"])


def test_changes_are_drawn_by_kind_never_by_sign(drawn):
    styles = {to_hex(style.colour) for style in KIND_STYLES.values()}
    for name in ("differences_brain", "differences_circle"):
        figure = drawn[name]
        patches = [one for ax in figure.axes for one in ax.patches]
        edges = [one for one in patches if isinstance(one, FancyArrowPatch)]
        assert edges
        assert {to_hex(one.get_edgecolor()) for one in edges} <= styles


def test_if_nothing_differs_the_figures_are_faint(nothing_differs):
    drawn = plans(nothing_differs)
    for kind in KINDS:
        options = drawn[f"differences_{kind}"].plot.keywords
        if kind != "matrix":
            assert options["faint"]


def test_the_forest_has_a_panel_for_each_group_but_the_reference(three_compared):
    figure = plans(three_compared)["forest"].draw()
    first, second = figure.axes
    assert first.get_xlim() == second.get_xlim()


def test_without_tested_edges_or_their_errors_there_is_no_forest(compared, three_compared):
    none = replace(compared.tests, edges=compared.tests.edges[:0])
    assert not {"forest", "differences_matrix"} & set(plans(replace(compared, tests=none)))
    pairs = replace(three_compared.tests, pairwise={})
    drawn = plans(replace(three_compared, tests=pairs))
    assert "forest" not in drawn
    assert "differences_b_matrix" in drawn


def test_names_in_a_forest_do_not_overlap(drawn):
    figure = drawn["forest"]
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in figure.axes[0].get_yticklabels()]
    assert len(boxes) > 3
    assert all(above.y0 >= below.y1 for above, below in pairwise(boxes))


def test_of_many_regions_only_those_with_a_change_are_in_the_matrix(compared, monkeypatch):
    monkeypatch.setattr(import_module("sgbn.comparison.figures"), "MAX_IN_MATRIX", 5)
    monkeypatch.setattr(import_module("sgbn.comparison.figures"), "MAX_PAIRS", 2)
    options = plans(compared)["differences_matrix"].plot.keywords
    table = differences_of(compared, "patient").head(2)
    ends = table[["source", "target"]].to_numpy().ravel()
    wanted = {compared.cohort.labels[name] for name in ends}
    assert set(options["names"]) == wanted
    assert options["weights"].shape == (len(wanted),) * 2
    plans(compared)["differences_matrix"].draw()


def test_no_region_of_a_network_is_emphasised_unless_asked_for(compared):
    assert not plans(compared)["network_control_matrix"].plot.keywords["highlight"]


def test_figures_are_larger_where_there_are_many_regions(compared):
    many = layout_of(compared)._replace(
        names=("a",) * 200,
        lobes=("",) * 200,
        hemispheres=[""] * 200,
        coordinates=np.full((200, 3), np.nan),
    )
    ((name, circle),) = _as_arrows("network", np.zeros((200, 200)), many)
    assert (name, circle.inches) == ("network_circle", pytest.approx((23.0, 23.0)))
    assert _matrix(np.zeros((200, 200)), many, "").inches[0] == pytest.approx(15.0)
    assert plans(compared)["network_control_matrix"].inches[0] == 7.0
    assert plans(compared)["network_control_circle"].inches == (8.0, 8.0)


def test_all_regions_of_significant_edges_stand_out(compared):
    edges = compared.tests.edges.copy()
    edges["q_both"] = 0.01
    found = replace(compared, tests=replace(compared.tests, edges=edges))
    highlight = plans(found)["differences_matrix"].plot.keywords["highlight"]
    names = compared.cohort.labels
    wanted = {names[name] for name in (*edges["source"], *edges["target"])}
    assert sorted(highlight) == sorted(wanted)


def test_a_matrix_of_weights_has_the_scale_of_its_colours(drawn):
    matrix, bar = drawn["network_control_matrix"].axes
    assert bar.get_xlim() == matrix.images[0].get_clim()


def test_all_figures_have_readable_names(compared, drawn):
    raw, shown = set(compared.cohort.regions), set(compared.cohort.labels.values())
    assert not raw & shown
    for name, figure in drawn.items():
        ticks = [label for ax in figure.axes for label in ax.get_yticklabels()]
        texts = {text.get_text() for ax in figure.axes for text in (*ax.texts, *ticks)}
        assert not any(region in text for region in raw for text in texts), name
    circle = drawn["network_control_circle"]
    assert shown <= {text.get_text() for text in circle.axes[0].texts}


def test_without_an_atlas_no_lobe_is_boxed(three_compared, drawn):
    assert set(layout_of(three_compared).lobes) == {""}
    figure = plans(three_compared)["network_a_matrix"].draw()
    assert not figure.axes[0].patches
    assert not figure.axes[0].texts
    assert drawn["network_control_matrix"].axes[0].texts


def test_regions_can_be_chosen(compared):
    chosen, names = compared.cohort.regions[:2], compared.cohort.labels
    for name, plan in plans(compared, chosen).items():
        if name.endswith("_matrix"):
            assert plan.plot.keywords["highlight"] == [names[region] for region in chosen]
    with refused("regions.unknown"):
        figures(compared, ["nowhere"])


@pytest.mark.parametrize("top", [2, 100])
def test_the_forest_shows_the_first_pairs(nothing_differs, monkeypatch, top):
    module = import_module("sgbn.comparison.figures")
    monkeypatch.setattr(module, "FOREST_ROWS", top)
    monkeypatch.setattr(module, "MIN_ROWS_OF_GROUP", 1)
    ax = plans(nothing_differs)["forest"].draw().axes[0]
    assert len(ax.get_yticklabels()) == min(top, len(nothing_differs.tables.differences))


def with_q(comparison, n_sure):
    """The same comparison, in which the last so many tested pairs differ both ways."""
    edges = comparison.tests.edges.copy()
    edges["q_both"] = 1.0
    if n_sure:
        edges["q_both"][-n_sure:] = 0.01
    return replace(comparison, tests=replace(comparison.tests, edges=edges))


@pytest.mark.parametrize(
    ("n_sure", "said"),
    [
        (0, "No pair differs both ways (q ≤ 0.05)"),
        (1, "1 pair differs both ways (q ≤ 0.05)"),
        (3, "3 pairs differ both ways (q ≤ 0.05)"),
    ],
)
def test_the_verdict_comes_first_in_the_title(compared, n_sure, said):
    known = with_q(compared, n_sure)
    assert verdict(known, "patient") == said
    assert changes_of(known, "patient").title.startswith(said)


def test_each_change_is_that_of_the_table_with_its_kind(compared):
    changes, place = changes_of(compared, "patient"), compared.cohort.regions.index
    table = differences_of(compared, "patient")
    for row in table.head(MAX_PAIRS).itertuples():
        at = place(row.source), place(row.target)
        assert changes.sizes[at] == row.difference_std
        assert changes.kinds[at] == row.kind_patient
        assert changes.supported[at] == row.supported
        assert changes.sure[at] == (row.q_both <= 0.05)
    assert np.count_nonzero(changes.sizes) == min(len(table), MAX_PAIRS)


def test_at_most_forty_are_shown_and_the_title_says_so(compared, monkeypatch):
    monkeypatch.setattr(import_module("sgbn.comparison.figures"), "MAX_PAIRS", 3)
    changes = changes_of(with_q(compared, 4), "patient")
    assert np.count_nonzero(changes.sizes) == 3
    assert changes.sure.sum() == 3
    assert changes.title.endswith("the surest 3")


def test_what_is_not_significant_is_left_out_unless_nothing_is(compared):
    some, none = (changes_of(with_q(compared, n), "patient") for n in (2, 0))
    assert np.count_nonzero(some.only_sure().sizes) == 2
    assert np.count_nonzero(none.only_sure().sizes) == np.count_nonzero(none.sizes) > 2
    assert some.any_sure
    assert not none.any_sure
