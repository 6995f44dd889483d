import numpy as np
import pytest

from sgbn.core.exceptions import DataWarning, InputError
from sgbn.inference.difference_input import read_group_data
from sgbn.inference.difference_problem import check_request
from sgbn.inference.differences import edge_differences


def request_of(X, y, n_permutations=19, **design):
    """What a request for two-sided tests becomes; it warns as `edge_differences` does."""
    return check_request(n_permutations, "two-sided", 0, read_group_data(X, y, **design))


def test_a_pair_that_is_named_twice_is_refused(data):
    with pytest.raises(InputError, match="Name each pair once"):
        edge_differences(*data, edges=[("r1", "r2"), ("r2", "r1")])


def test_very_unequal_groups_are_warned_about(two_groups):
    X, y = two_groups(70)
    with pytest.warns(DataWarning, match="The smaller group limits"):
        request_of(X[58:], y[58:])


def test_whole_numbers_may_be_floats(data):
    n_permutations, seed = request_of(*data, n_permutations=19.0)
    assert (n_permutations, seed) == (19, 0)
    assert isinstance(n_permutations, int)


def test_rows_that_can_hardly_be_exchanged_are_warned_about_and_give_no_small_p(data):
    X, y = data
    sites = np.where(np.isin(np.arange(120), [0, 60]), "both", y)
    with pytest.warns(DataWarning, match="exchanged in 2 ways only"):
        found = edge_differences(X, y, sites=sites, n_permutations=19)
    assert found.edges["p_fwer"].min() > 0.2
    assert found.global_p > 0.2


def test_persons_whose_rows_cannot_move_are_counted(data):
    X, y = data
    persons = np.where(np.arange(120) < 20, np.arange(120) // 2, np.arange(120))
    persons = np.where(np.arange(120) > 79, 200 + np.arange(120) // 4, persons)
    with pytest.warns(DataWarning, match="60 of 120 rows cannot change groups"):
        request_of(X, y, persons=persons)
