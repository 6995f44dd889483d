import numpy as np
import pytest

from sgbn.experiments.h_sgbn_variants import h_sgbn_frozen, h_sgbn_whole
from sgbn.moments import moments_of


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
