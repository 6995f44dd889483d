import numpy as np
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from sgbn.write.draw.accuracy import LOW, plot_quality


def draw(z, coverage, full=0.95):
    n, m = np.shape(z)
    names = [f"s{k}" for k in range(n)], [f"r{k}" for k in range(m)]
    figure = Figure(layout="constrained")
    return figure, plot_quality(figure, z, coverage, *names, full=full)


def test_scores_and_coverage_are_shown_where_they_belong(tmp_path):
    z = np.random.default_rng(0).standard_normal((5, 3))
    coverage = np.ones((5, 3))
    coverage[2] = 0.5
    figure, (scores, by_subject, by_region) = draw(z, coverage)
    np.testing.assert_allclose(scores.images[0].get_array(), z)
    low, high = scores.images[0].get_clim()
    assert low == -high
    assert [bar.get_width() for bar in by_subject.patches] == [1, 1, 0.5, 1, 1]
    assert [to_hex(bar.get_facecolor()).upper() == LOW for bar in by_subject.patches] == [
        False,
        False,
        True,
        False,
        False,
    ]
    np.testing.assert_allclose([bar.get_height() for bar in by_region.patches], 0.9)
    assert [label.get_text() for label in scores.get_yticklabels()] == [f"s{k}" for k in range(5)]
    assert [label.get_text() for label in by_region.get_xticklabels()] == ["r0", "r1", "r2"]
    assert by_subject.get_ylim() == scores.get_ylim()
    figure.savefig(tmp_path / "quality.png")
    assert (tmp_path / "quality.png").stat().st_size > 5000


def test_without_scores_the_picture_says_why():
    _, (scores, *_) = draw(np.full((3, 2), np.nan), np.ones((3, 2)))
    assert "too few subjects" in scores.texts[0].get_text()


def test_names_are_thinned_out_when_there_are_too_many():
    _, (scores, _, by_region) = draw(np.zeros((400, 2)), np.ones((400, 2)))
    labels = [label.get_text() for label in scores.get_yticklabels()]
    assert 10 < len(labels) < 60
    step = int(labels[1][1:])
    assert labels == [f"s{k}" for k in range(0, 400, step)]
    assert len(by_region.get_xticklabels()) == 2


def test_the_caller_says_what_is_low():
    _, (_, by_subject, _) = draw(np.zeros((2, 3)), [[0.5] * 3, [0.7] * 3], full=0.6)
    colours = [to_hex(bar.get_facecolor()).upper() for bar in by_subject.patches]
    assert [colour == LOW for colour in colours] == [True, False]
    assert by_subject.lines[0].get_xdata()[0] == 0.6
