import numpy as np
import pytest

from sgbn.search.search_plan import (
    EXACT_THOROUGH,
    FEW,
    MANY,
    STANDARD,
    THOROUGH,
    THOROUGH_KICKS,
    TOO_MANY,
    fits_tables,
    search_plan,
)


def test_what_is_given_wins():
    for effort in ("fast", "standard", "thorough"):
        plan = search_plan(effort, 3, 7, 40, 200)
        assert (plan.n_starts, plan.n_kicks) == (3, 7)
    assert search_plan("standard", None, 7, 40, 200).tables is None
    tables = search_plan("thorough", None, 7, 40, 200).tables
    assert tables == THOROUGH._replace(steps=40 * THOROUGH.steps)


def test_efforts_differ_in_what_follows_the_local_searches():
    fast, standard, thorough = (
        search_plan(effort, None, None, 40, 200) for effort in ("fast", "standard", "thorough")
    )
    assert fast.n_kicks == 0
    assert fast.tables is None
    assert standard.tables == STANDARD
    assert thorough.tables.n_islands == THOROUGH.n_islands
    assert fast.exact == 0 < standard.exact < thorough.exact == EXACT_THOROUGH


@pytest.mark.parametrize(("m", "n"), [(MANY + 1, 5 * MANY), (TOO_MANY + 1, 100)])
def test_large_problems_get_one_start_without_kicks(m, n):
    plan = search_plan("standard", None, None, m, n)
    assert (plan.n_starts, plan.n_kicks, plan.tables) == (1, 0, None)


def test_a_given_number_of_starts_leaves_the_kicks_to_the_size():
    assert search_plan("standard", 3, None, 40, 200).n_kicks == 30
    assert search_plan("standard", 3, None, 40, 500).n_kicks == 10
    assert search_plan("standard", 3, None, TOO_MANY + 1, 500).n_kicks == 0


def test_few_samples_get_no_tables():
    for effort in ("standard", "thorough"):
        plan = search_plan(effort, None, None, 40, FEW - 1)
        assert plan.tables is None
        assert plan.exact == 0
        assert plan.n_kicks >= 30
        assert search_plan(effort, None, None, 40, FEW).tables is not None


def test_without_tables_trees_are_searched_as_long_as_ever():
    for effort, n, kicks in (("fast", 200, 0), ("standard", 200, 30), ("standard", 500, 10)):
        plan = search_plan(effort, None, None, 40, n, with_tables=False)
        assert (plan.n_starts, plan.n_kicks, plan.tables, plan.exact) == (2, kicks, None, 0)
    thorough = search_plan("thorough", None, None, 40, 200, with_tables=False)
    assert (thorough.n_kicks, thorough.tables) == (THOROUGH_KICKS, None)


def test_tables_have_room_for_some_required_parents():
    required = np.zeros((20, 20), bool)
    assert fits_tables(required)
    required[3, : STANDARD.n_candidates] = True
    assert fits_tables(required)
    required[3, STANDARD.n_candidates] = True
    assert not fits_tables(required)
