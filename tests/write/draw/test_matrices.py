from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.image import imread
from tests.codes import refused

from sgbn.write.draw.matrices import plot_matrix, plot_recovery
from sgbn.write.draw.style import KIND_STYLES

NAMES = ["a", "b", "c", "d"]
LOBES = ["frontal", "temporal", "frontal", "temporal"]


def test_regions_are_grouped_by_lobe_and_boxed():
    W = np.zeros((4, 4))
    W[0, 2] = 0.5
    ax = plot_matrix(Figure().subplots(), W, NAMES, LOBES, title="control")
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "c", "b", "d"]
    assert ax.images[0].get_array()[0, 1] == 0.5
    assert len(ax.patches) == 2
    assert {text.get_text() for text in ax.texts} == {"frontal", "temporal"}
    assert ax.get_title() == "control"
    without = plot_matrix(Figure().subplots(), W, NAMES, [""] * 4)
    assert not without.patches
    assert not without.texts


@pytest.mark.parametrize(
    ("W", "given", "limit"),
    [(np.zeros((4, 4)), None, 1.0), (np.eye(4)[::-1] * -2, None, 2.0), (np.eye(4), 3.0, 3.0)],
)
def test_colours_are_symmetric_about_zero_even_for_an_empty_network(W, given, limit):
    ax = plot_matrix(Figure().subplots(), W, NAMES, LOBES, limit=given)
    assert ax.images[0].get_clim() == (-limit, limit)


def test_recovery_shows_two_groups_and_their_difference(tmp_path):
    rng = np.random.default_rng(0)
    true = {"control": rng.standard_normal((4, 4)), "patient": rng.standard_normal((4, 4))}
    learned = {group: 0.5 * weights for group, weights in true.items()}
    figure = Figure()
    axes = plot_recovery(figure, true, learned, NAMES, LOBES)
    assert axes.shape == (3, 2)
    order = [0, 2, 1, 3]
    difference = (true["patient"] - true["control"])[np.ix_(order, order)]
    np.testing.assert_allclose(axes[2, 0].images[0].get_array(), difference)
    figure.savefig(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 5000


def test_highlighted_regions_are_bold_and_banded():
    ax = plot_matrix(Figure().subplots(), np.eye(4), NAMES, LOBES, highlight=["b", "d"])
    for labels in (ax.get_yticklabels(), ax.get_xticklabels()):
        assert [t.get_text() for t in labels if t.get_weight() == "bold"] == ["b", "d"]
    assert len(ax.patches) == 2 + 4  # the lobes' boxes; a row and a column each
    bands = [patch for patch in ax.patches if patch.get_alpha()]
    assert len({tuple(band.get_facecolor()) for band in bands}) == 2


def test_bands_lie_below_the_cells_and_are_seen_where_there_is_no_weight(tmp_path):
    """A band over a cell would change the colour that shows its weight."""
    W = np.zeros((4, 4))
    W[1, 3] = W[3, 1] = -1.0
    pictures = []
    for highlight in ([], ["b", "d"]):
        figure = Figure(figsize=(4, 4), dpi=100)
        ax = plot_matrix(figure.subplots(), W, NAMES, LOBES, highlight=highlight)
        figure.savefig(tmp_path / "matrix.png")
        pictures.append((imread(tmp_path / "matrix.png"), ax))
    for place, same in (((2, 3), True), ((3, 2), True), ((2, 2), False), ((0, 2), False)):
        colours = []
        for image, ax in pictures:
            x, y = ax.transData.transform((place[0] + 0.2, place[1] + 0.2))
            colours.append(image[-1 - round(y), round(x)])
        assert np.allclose(*colours) == same, place


def test_marked_cells_are_outlined_where_they_lie():
    marked = np.zeros((4, 4), bool)
    marked[0, 2] = marked[3, 1] = True  # a -> c and d -> b: by lobe (0, 1) and (3, 2)
    ax = plot_matrix(Figure().subplots(), np.eye(4), NAMES, LOBES, marked=marked)
    (outlines,) = ax.collections
    corners = sorted(tuple(path.vertices.min(axis=0)) for path in outlines.get_paths())
    assert corners == [(0.5, -0.5), (1.5, 2.5)]


def test_without_room_only_highlighted_names_are_shown():
    m = 173
    names, lobes = [f"region {k}" for k in range(m)], ["lobe"] * m
    for inches, count in ((4, 1), (12, m)):
        ax = Figure(figsize=(inches, inches)).subplots()
        plot_matrix(ax, np.eye(m), names, lobes, highlight=["region 9"])
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert len(labels) == count
        assert "region 9" in labels


def test_names_of_small_lobes_are_moved_apart():
    m = 100
    lobes = ["big"] * 97 + ["one", "two", "three"]
    figure = Figure(figsize=(6, 6))
    ax = plot_matrix(figure.subplots(), np.eye(m), [f"r{k}" for k in range(m)], lobes)
    figure.draw_without_rendering()
    boxes = sorted((t.get_window_extent() for t in ax.texts), key=lambda box: box.y0)
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))


def test_names_are_shown_as_they_are():
    names = ["a$b$c", "_x", "c", "d"]
    ax = plot_matrix(Figure().subplots(), np.eye(4), names, ["$lobe$"] * 4, title="$t$")
    shown = [label.get_text() for label in ax.get_xticklabels()] + [ax.texts[0].get_text()]
    assert shown == [r"a\$b\$c", "_x", "c", "d", r"\$lobe\$"]
    assert ax.get_title() == r"\$t\$"


def changes():
    W, kinds = np.zeros((4, 4)), np.full((4, 4), "", dtype="U16")
    W[0, 1], kinds[0, 1] = 0.6, "lost"
    W[3, 2], kinds[3, 2] = -0.3, "gained"
    return W, kinds


def test_changes_have_the_colour_and_symbol_of_their_kind():
    W, kinds = changes()
    ax = plot_matrix(Figure().subplots(), W, NAMES, [""] * 4, kinds=kinds, marked=W > 0)
    cells = ax.images[0].get_array()
    for (row, column), kind in (((0, 1), "lost"), ((3, 2), "gained")):
        assert to_hex(cells[row, column, :3]).upper() == KIND_STYLES[kind].colour
    assert cells[0, 1, 3] > cells[3, 2, 3] > 0  # a larger change has a fuller colour
    assert np.count_nonzero(cells[..., 3]) == 2
    gained, lost, _ = ax.collections
    np.testing.assert_array_equal(lost.get_offsets(), [[1, 0]])
    np.testing.assert_array_equal(gained.get_offsets(), [[2, 3]])
    assert gained.get_alpha().max() < lost.get_alpha().min() == 1  # it is not marked
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown == ["gained", "lost"]


def test_the_legend_of_kinds_lies_below_the_names():
    W, kinds = changes()
    names = [f"a long name of a region {k}" for k in range(4)]
    figure = Figure(figsize=(6, 7), layout="constrained")
    ax = plot_matrix(figure.subplots(), W, names, [""] * 4, kinds=kinds)
    figure.draw_without_rendering()
    below = ax.xaxis.label.get_window_extent().y0
    assert ax.get_legend().get_window_extent().y1 <= below


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"highlight": ["hippocampus"]}, "regions.unknown"),
        ({"marked": np.ones((3, 4))}, "argument.shape"),
        ({"kinds": np.full((2, 4), "lost")}, "argument.shape"),
    ],
)
def test_what_does_not_fit_the_regions_is_refused(options, code):
    with refused(code):
        plot_matrix(Figure().subplots(), np.eye(4), NAMES, LOBES, **options)
