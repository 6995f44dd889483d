import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import ArrowStyle, Ellipse, FancyArrowPatch
from tests.codes import refused

from sgbn.write.draw import brain
from sgbn.write.draw.brain import VIEWS, _draw_schematics, plot_glass_brain
from sgbn.write.draw.style import KIND_STYLES

XYZ = np.array(
    [[-30.0, 20, 10], [-40, -60, 20], [30, 20, 10], [40, -60, 20], [0, -20, 5], [np.nan] * 3]
)
NAMES = ["a_L", "b_L", "a_R", "b_R", "stem", "nowhere"]


@pytest.fixture
def plain(monkeypatch):
    """As without nilearn."""
    monkeypatch.setattr(brain, "find_spec", lambda _: None)


def network():
    weights = np.zeros((6, 6))
    for k, (i, j) in enumerate([(0, 1), (2, 3), (0, 2), (4, 0), (5, 1)]):
        weights[i, j] = 0.2 + 0.1 * k
    return weights


def arrows(ax):
    return [patch for patch in ax.patches if isinstance(patch, FancyArrowPatch)]


def texts(figure):
    return [text.get_text() for ax in figure.axes for text in ax.texts]


def test_every_edge_is_drawn_in_an_outline_and_a_side_shows_its_own(plain):
    axes = plot_glass_brain(Figure(), network(), XYZ)
    assert [len(arrows(ax)) for ax in axes] == [2, 1, 4, 4]  # the midline belongs to both sides
    assert all(any(isinstance(patch, Ellipse) for patch in ax.patches) for ax in axes)


def test_an_arrow_runs_from_its_source_to_its_target_in_the_view(plain):
    weights = np.zeros((6, 6))
    weights[1, 0] = 1.0
    left, _, top, back = plot_glass_brain(Figure(), weights, XYZ)
    for ax, columns in ((left, (1, 2)), (top, (0, 1)), (back, (0, 2))):
        (drawn,) = arrows(ax)
        start, stop = drawn._posA_posB
        assert start == tuple(XYZ[1, columns])
        assert stop == tuple(XYZ[0, columns])
    assert left.xaxis_inverted()  # the front is at the left
    assert not top.xaxis_inverted()


def test_only_supported_edges_have_a_head(plain):
    supported = np.zeros((6, 6), bool)
    supported[0, 2] = True
    figure = Figure()
    top = plot_glass_brain(figure, network(), XYZ, supported=supported)[2]
    heads = [isinstance(one.get_arrowstyle(), ArrowStyle.CurveFilledB) for one in arrows(top)]
    assert sum(heads) == 1
    labels = [t.get_text() for ax in figure.axes if ax.get_legend() for t in ax.get_legend().texts]
    assert "line: direction not supported" in labels


def test_the_title_says_what_is_left_out(plain):
    figure, whole = Figure(), Figure()
    axes = plot_glass_brain(figure, network(), XYZ, strongest=2, title="control")
    assert len(arrows(axes[2])) == 2
    assert "strongest 2 of 5 edges" in figure.get_suptitle()
    plot_glass_brain(whole, network()[:5, :5], XYZ[:5], title="all")
    assert whole.get_suptitle() == "all"


def test_regions_with_edges_are_named_as_they_are(plain):
    figure = Figure(figsize=(12, 6))
    names = ["a$b$c", *NAMES[1:]]
    plot_glass_brain(figure, network(), XYZ, names=names)
    assert r"a\$b\$c" in texts(figure)
    assert "nowhere" not in texts(figure)
    figure.draw_without_rendering()


def test_names_do_not_lie_on_each_other(plain):
    crowd = XYZ[[0] * 6] + np.arange(6)[:, None] * 0.1
    figure = Figure()
    plot_glass_brain(figure, network(), crowd, names=NAMES)
    assert 1 <= len(texts(figure)) <= 3  # one a view that has names


@pytest.mark.parametrize("xyz", [XYZ, np.full((6, 3), np.nan)], ids=["some", "none"])
def test_an_empty_network_and_one_without_places_are_drawn(plain, xyz, tmp_path):
    for weights in (np.zeros((6, 6)), network()):
        figure = Figure()
        axes = plot_glass_brain(figure, weights, xyz, names=NAMES)
        assert len(axes) == 4
        figure.savefig(tmp_path / "brain.png")


def test_coordinates_must_fit_the_weights():
    with refused("argument.shape"):
        plot_glass_brain(Figure(), network(), XYZ[:5])


def test_the_brain_is_nilearns_where_it_is_installed(tmp_path):
    pytest.importorskip("nilearn")
    figure = Figure(figsize=(10, 5), layout="constrained")
    axes = plot_glass_brain(figure, network(), XYZ)
    assert not any(isinstance(patch, Ellipse) for ax in axes for patch in ax.patches)
    assert all(len(ax.patches) == len(arrows(ax)) + 1 for ax in axes)
    figure.savefig(tmp_path / "brain.svg")


@pytest.mark.parametrize("view", VIEWS)
def test_the_lines_of_the_brain_are_those_that_nilearn_draws(view):
    nilearn = pytest.importorskip("nilearn.plotting.glass_brain")
    ours, theirs = Figure().subplots(2)
    _draw_schematics(ours, view.direction)
    nilearn.plot_brain_schematics(theirs, view.direction)
    (own,) = ours.patches
    to_data = theirs.transData.inverted()
    pieces = [one.get_transform() + to_data for one in theirs.patches]
    drawn = zip(pieces, theirs.patches, strict=True)
    points = np.vstack([one.transform_path(patch.get_path()).vertices for one, patch in drawn])
    assert len(points) > 100
    assert np.allclose(own.get_path().vertices, points)
    starts = np.count_nonzero(own.get_path().codes == own.get_path().MOVETO)
    assert starts == len(theirs.patches)  # no line joins two of them
    assert own.get_facecolor()[3] == 0


def test_it_draws_on_a_part_of_a_figure(plain):
    left, right = Figure(figsize=(12, 5)).subfigures(1, 2)
    assert len(plot_glass_brain(left, network(), XYZ)) == 4
    assert not right.axes


def test_changes_are_drawn_by_their_kind_with_a_symbol_on_the_curve(plain):
    weights, kinds = np.zeros((6, 6)), np.full((6, 6), "weaker")
    weights[1, 0] = -0.4
    figure = Figure()
    views = plot_glass_brain(figure, weights, XYZ, kinds=kinds)
    figure.draw_without_rendering()
    for ax in (views[0], *views[2:]):  # the left one is seen from the other side
        (drawn,), (symbol,) = arrows(ax), ax.lines
        assert to_hex(drawn.get_edgecolor()).upper() == KIND_STYLES["weaker"].colour
        assert symbol.get_marker() == KIND_STYLES["weaker"].marker
        first, through, last = drawn.get_connectionstyle()(
            *(ax.transData.transform(end) for end in drawn._posA_posB)
        ).vertices
        middle = ax.transData.inverted().transform((first + 2 * through + last) / 4)
        np.testing.assert_allclose(symbol.get_xydata()[0], middle, atol=0.01)
    (legend,) = filter(None, (ax.get_legend() for ax in figure.axes))
    assert [text.get_text() for text in legend.get_texts()] == [
        "weaker",
        "change 0.4",
        "change 0.1",
    ]
