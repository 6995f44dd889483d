import numpy as np
import pytest

from sgbn.learn.search.tables import candidate_parents


@pytest.fixture(scope="module")
def R():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6))
    X[:, 3] += 2 * X[:, 0] + X[:, 1]
    X[:, 4] += 0.5 * X[:, 3]
    return np.corrcoef(X.T)


def _masks(m):
    return np.zeros((m, m), bool), ~np.eye(m, dtype=bool), np.zeros((m, m), bool)


def _gain(R, v, chosen, u):
    """Fall of the residual variance of v when u joins the chosen ones."""

    def rss(P):
        return 1 - R[v, P] @ np.linalg.solve(R[np.ix_(P, P)], R[P, v]) if P else 1.0

    return rss(chosen) - rss([*chosen, u])


def test_each_candidate_adds_most_to_those_before_it(R):
    near, allowed, required = _masks(6)
    candidates = candidate_parents(R, near, allowed, required, 4)
    for v in range(6):
        for k in range(4):
            chosen = candidates[v, :k].tolist()
            left = [u for u in range(6) if u != v and u not in chosen]
            assert candidates[v, k] == max(left, key=lambda u: _gain(R, v, chosen, u))


def test_required_ones_come_first_then_near_ones(R):
    near, allowed, required = _masks(6)
    required[3, 5] = near[3, 2] = True
    assert candidate_parents(R, near, allowed, required, 3)[3].tolist() == [5, 2, 0]


def test_what_is_not_allowed_is_no_candidate(R):
    near, allowed, required = _masks(6)
    allowed[3, [0, 1, 2]] = False
    assert sorted(candidate_parents(R, near, allowed, required, 5)[3]) == [-1, -1, -1, 4, 5]


def test_a_copy_of_a_chosen_variable_is_not_chosen():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 3))
    X[:, 2] += X[:, 0]
    R = np.corrcoef(np.column_stack([X, X[:, 0]]).T)
    near, allowed, required = _masks(4)
    chosen = candidate_parents(R, near, allowed, required, 3)[2].tolist()
    assert 0 in chosen
    assert 3 not in chosen
