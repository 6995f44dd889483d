import numpy as np
import pytest

from sgbn.inference import permutations
from sgbn.inference.difference_input import read_group_data
from sgbn.inference.differences import problem_of
from sgbn.inference.permutations import (
    permute,
    permuted_statistics,
    signed_statistic,
    statistics_of,
)
from sgbn.learn.sgbn import SGBN
from sgbn.runs.study import Study


def test_the_statistic_speaks_for_the_alternative():
    t = np.array([-2.0, 1.0])
    assert signed_statistic(t, "two-sided").tolist() == [2, 1]
    assert signed_statistic(t, "greater").tolist() == [-2, 1]
    assert signed_statistic(t, "less").tolist() == [2, -1]


@pytest.fixture(scope="module")
def problem(two_groups):
    X, y = two_groups()
    groups = np.where(np.arange(len(y)) % 3 == 0, "third", y)
    data = read_group_data(X, groups, None, None, None)
    return problem_of(data, SGBN(n_kicks=0), True, "two-sided", [(2, 3)])


def test_every_permutation_has_its_statistics(problem):
    found = permute(problem, (0, 0), 4, (0, 1, 2))
    assert len(found["counts"]) == len(found["totals"]) == len(found["sums"]) == 4
    edges = found["counts"].sum()
    assert found["tests"].shape == found["in_pool"].shape == (edges,)
    assert found["ways"].shape == (edges, 3)
    assert found["named"].shape == (4, 1, 3)
    assert found["totals_ways"].shape == (4, 3)
    last = found["tests"][-found["counts"][-1] :]
    assert found["totals"][-1] == pytest.approx(np.square(last).sum())


def test_a_permutation_is_that_of_its_rows(problem):
    found = permute(problem, (0, 0), 1, (0, 1, 2))
    rows = problem.data.exchange((0, 1, 2)).draw(np.random.default_rng((0, 0)))
    fit = problem.fit(problem.nuisance.residuals(problem.residuals[rows]))
    for name, own in statistics_of(problem, fit, (0, 1, 2)).items():
        np.testing.assert_array_equal(found[name].ravel(), own.ravel())


def test_sets_of_groups_have_permutations_of_their_own(problem, monkeypatch):
    monkeypatch.setattr(permutations, "PERMUTATIONS_PER_TASK", 3)
    found = permuted_statistics(problem, 5, 0, {}, Study())
    assert list(found) == [(0, 1, 2), (0, 1), (0, 2), (1, 2)]
    assert {len(own["counts"]) for own in found.values()} == {5}
    assert "totals" in found[0, 1, 2]
    assert "totals" not in found[0, 1]
    assert not np.array_equal(found[0, 1]["tests"], found[0, 2]["tests"])
