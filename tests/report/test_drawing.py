from functools import partial

import numpy as np
import pytest

from sgbn.write import draw, figures
from sgbn.write.figures import KINDS, WORTH_WORKERS, Plan, draw_figures, forget_others


def histogram(values):
    plot = partial(draw.plot_permutations, null=np.array(values), observed={"data": 2.0})
    return Plan(plot, (3.0, 2.0))


@pytest.fixture
def drawn(monkeypatch):
    """Plans that were drawn, each as files of its own."""
    plans = []

    def files(plan, kinds, dpi):
        plans.append(plan)
        content = plan.plot.keywords["null"].tobytes()
        return {kind: kind.encode() + content for kind in kinds}

    monkeypatch.setattr(Plan, "files", files)
    return plans


def test_a_figure_that_is_kept_is_not_drawn_again(drawn, tmp_path):
    first = draw_figures({"a": histogram([1.0, 3.0])}, 1, tmp_path)
    assert len(drawn) == 1
    again = draw_figures({"b": histogram([1.0, 3.0])}, 1, tmp_path)  # by another name
    assert len(drawn) == 1
    assert again["b"] == first["a"]
    assert set(first["a"]) == set(KINDS)
    both = draw_figures({"a": histogram([1.0, 3.0]), "b": histogram([1.0, 4.0])}, 1, tmp_path)
    assert len(drawn) == 2
    assert both["a"] != both["b"]


def test_a_damaged_figure_is_drawn_again(drawn, tmp_path):
    whole = draw_figures({"a": histogram([1.0])}, 1, tmp_path)
    (path,) = (tmp_path / "tasks").glob("*.npz")
    content = bytearray(path.read_bytes())
    place = content.index(b"pdf", content.index(b"pdf.npy") + 8)
    content[place] ^= 1  # one bit of the picture
    for spoilt in (bytes(content), b"", path.read_bytes()[:-40]):
        path.write_bytes(spoilt)
        drawn.clear()
        assert draw_figures({"a": histogram([1.0])}, 1, tmp_path) == whole
        assert len(drawn) == 1


def test_other_code_draws_again(drawn, tmp_path, monkeypatch):
    draw_figures({"a": histogram([1.0])}, 1, tmp_path)
    monkeypatch.setattr(figures, "_code", lambda: "other")
    draw_figures({"a": histogram([1.0])}, 1, tmp_path)
    assert len(drawn) == 2
    forget_others({"a": histogram([1.0])}, tmp_path)
    assert len(list((tmp_path / "tasks").glob("*.npz"))) == 1


def test_a_few_figures_are_drawn_without_workers(drawn, monkeypatch):
    asked = []
    real = figures.Study
    monkeypatch.setattr(figures, "Study", lambda folder, n_jobs: asked.append(n_jobs) or real())
    for count in (WORTH_WORKERS - 1, WORTH_WORKERS):
        draw_figures({str(k): histogram([float(k)]) for k in range(count)}, 2)
    assert asked == [1, 2]
    assert len(drawn) == 2 * WORTH_WORKERS - 1


def test_the_same_files_with_and_without_a_folder(tmp_path):
    plans = {"a": histogram([1.0, 2.0, 2.5])}
    assert draw_figures(plans, 1) == draw_figures(plans, 1, tmp_path)
    kept = draw_figures(plans, 1, tmp_path)["a"]
    assert kept["png"].startswith(b"\x89PNG")
    assert kept["pdf"].startswith(b"%PDF")
