import numpy as np
import pytest

from sgbn.learn.search import trees
from sgbn.learn.search.trees import SMALLEST_RSS

# As Python runs them: a call of the kernel itself would compile it anew in every run. Tests of the
# trees check the machine code.
add_to_factor = trees.add_to_factor.py_func
add_to_rows = trees.add_to_rows.py_func
cheapest_removal = trees.cheapest_removal.py_func
fit_score = trees.fit_score.py_func
list_improving = trees.list_improving.py_func

M, V = 6, 5  # variables; the last one is regressed on others
PATH = np.array([0, 3, 1])


def rss_of(R, v, parents):
    P = list(parents)
    return R[v, v] - R[v, P] @ np.linalg.solve(R[np.ix_(P, P)], R[P, v])


@pytest.fixture(scope="module")
def R():
    X = np.random.default_rng(0).standard_normal((40, M))
    X[:, V] += X[:, 0] - 0.5 * X[:, 2]
    return np.corrcoef(X, rowvar=False)


def loaded(R, path):
    """Factor, b and rows of a path; candidates 2 and 4; and the RSS."""
    candidates = np.zeros((M, 3), np.int64)
    candidates[V] = (2, 2, 4)
    L, b, rows = np.zeros((3, 3)), np.zeros(3), np.zeros((6, 3))
    rows[-1], rows[-2, :2] = 1.0, R[V, [2, 4]]
    rss = 1.0
    for a in range(len(path)):
        rss -= add_to_factor(R, path, L, b, V, a)
        add_to_rows(R, candidates, path, L, b, rows, V, a)
    return L, b, rows, rss


def test_each_variable_of_a_path_takes_its_share_of_the_rss(R):
    *_, rss = loaded(R, PATH)
    assert rss == pytest.approx(rss_of(R, V, PATH))


def test_rows_hold_what_the_path_leaves_of_each_candidate(R):
    *_, rows, _ = loaded(R, PATH)
    for column, c in enumerate((2, 4)):
        assert rows[-1, column] == pytest.approx(rss_of(R, c, PATH))


def test_candidates_that_take_enough_are_listed_the_best_first(R):
    *_, rows, rss = loaded(R, PATH)
    gains = np.array([rss - rss_of(R, V, [*PATH, c]) for c in (2, 4)])
    index = np.empty(2, np.int64)
    assert list_improving(rows, 2, 0.0, index) == 2
    assert index.tolist() == np.argsort(-gains).tolist()
    assert list_improving(rows, 2, gains.mean(), index) == 1
    assert index[0] == gains.argmax()


@pytest.mark.parametrize("n_locked", [0, 1, 3])
def test_the_cheapest_removal_is_that_of_least_squares(R, n_locked):
    L, b, _, rss = loaded(R, PATH)
    place, cost = cheapest_removal(L, b, 3, n_locked, np.empty(3))
    costs = [rss_of(R, V, np.delete(PATH, a)) - rss for a in range(n_locked, 3)]
    assert place == (n_locked + int(np.argmin(costs)) if costs else -1)
    assert cost == pytest.approx(min(costs, default=np.inf))


def test_a_copy_in_a_path_changes_nothing(R):
    twice = np.block([[R, R[:, [0]]], [R[[0]], np.ones((1, 1))]])  # variable 6 copies 0
    L, b = np.zeros((2, 2)), np.zeros(2)
    first = add_to_factor(twice, np.array([0, M]), L, b, V, 0)
    second = add_to_factor(twice, np.array([0, M]), L, b, V, 1)
    assert first == pytest.approx(R[0, V] ** 2)
    assert second == pytest.approx(0.0, abs=1e-50)


def test_a_perfect_fit_has_a_finite_score():
    assert fit_score(10.0, False, 0.0) == pytest.approx(10 * np.log(SMALLEST_RSS))
    assert fit_score(10.0, True, 0.5) == 5.0
