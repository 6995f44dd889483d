import numpy as np
import pytest

from sgbn.core.moments import moments_of
from sgbn.paper.experiments import exp1
from sgbn.paper.experiments.exp1 import h_sgbn_frozen, h_sgbn_whole
from sgbn.runs.files import read_result
from sgbn.runs.study import Study

SETTINGS = exp1.Settings(permutations=3, alpha=0.15, seed=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A finished small run, without real data."""
    folder = tmp_path_factory.mktemp("exp1")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SGBN_DATA", str(folder))
        exp1.EXPERIMENT.run(Study(folder), SETTINGS, exp1.samples())
    return folder


def test_or_sgbn_does_not_depend_on_the_order_of_the_columns_and_h_sgbn_does(folder):
    invariances, _ = exp1.EXPERIMENT.results(folder)
    assert len(invariances) == 4
    for (_, method), seen in invariances.items():
        assert len(seen.distances) == 3
        if method == "OR-SGBN":
            assert seen.distance < 1e-12
            assert seen.correlation == pytest.approx(1.0, abs=1e-12)
            assert not seen.changed_edges.any()
        else:
            assert seen.distance > 0.5
            assert seen.correlation < 0.95
            assert seen.changed_edges.min() > 0


def test_whole_oscillates_between_nothing_and_cycles_at_a_strong_penalty(folder):
    _, variants = exp1.EXPERIMENT.results(folder)
    for result in variants.values():
        edges, dag = result["whole_1.0_n_edges"], result["whole_1.0_is_dag"]
        assert result["whole_1.0_period"] == 2
        assert sorted(edges[-2:] > 0) == [False, True]
        assert not dag[edges > 0].any()


def test_the_report_shows_the_papers_figures_beside_ours(folder):
    text = exp1.EXPERIMENT.text(folder)
    assert "| 0.00 | 1.0000 | 0.08 | 0.9996 |" in text
    assert "| 1.91 | 0.6828 |" in text


def test_the_figure_is_drawn_from_the_files(folder):
    _, [path] = exp1.EXPERIMENT.finish(folder)
    assert path.name == "exp1.png"
    assert path.stat().st_size > 20_000


def test_a_task_alone_gives_what_it_gave_among_others(folder, monkeypatch):
    """So that neither the number of processes nor the order of tasks matters."""
    monkeypatch.setenv("SGBN_DATA", str(folder))
    name = "simulated.control.H-SGBN"
    alone = exp1.work(SETTINGS, exp1.samples(), name, 2)["weights"]
    stored = read_result(folder / "tasks" / f"{name}.0002.npz")["weights"]
    assert np.array_equal(alone, stored)


@pytest.fixture
def R(simulate):
    X, _ = simulate(15, 60, 0)
    return moments_of(X, [f"x{k}" for k in range(15)]).R


def test_whole_never_settles_at_a_strong_penalty(R):
    history = h_sgbn_whole(R, 0.05, 1.0, n_iter=30)
    assert history.period == 2
    assert len(history.n_edges) == 31
    assert not history.is_dag[history.n_edges > 0].any()


def test_frozen_stays_where_it_is_with_cycles_or_without_any_edge(R):
    weak, strong = h_sgbn_frozen(R, 0.05, 0.05), h_sgbn_frozen(R, 0.05, 1.0)
    assert weak.period == strong.period == 1
    assert not weak.is_dag[-1]
    assert strong.n_edges[-1] == 0


def test_without_a_penalty_on_paths_whole_is_the_lasso(R):
    history = h_sgbn_whole(R, 0.2, 0.0, n_iter=3)
    assert np.all(history.n_edges == history.n_edges[0])
