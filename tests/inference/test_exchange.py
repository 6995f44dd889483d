from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbn.cohort.design import exchange_of
from sgbn.inference.difference_input import check_pairs
from sgbn.inference.differences import edge_differences


@st.composite
def designs(draw):
    """Rows of persons in families at sites; a person is in one group, family and site or two."""
    n = draw(st.integers(2, 24))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    persons = np.unique(rng.integers(0, rng.integers(1, n + 1), n), return_inverse=True)[1]
    count = persons.max() + 1
    codes = rng.integers(0, 2, count)[persons]
    families = rng.integers(0, rng.integers(1, count + 1), count)[persons]
    sites = rng.integers(0, 2, n if draw(st.booleans()) else count)
    return codes, persons, families, sites if len(sites) == n else sites[persons], rng


def units_of(labels):
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def assert_rows_of(theirs, rows, sites):
    """All rows of a unit are there, in their order at each site."""
    np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(theirs))
    for site in set(sites[rows]):
        assert (np.diff(rows[sites[rows] == site]) > 0).all()


@settings(max_examples=settings.default.max_examples // 2)
@given(designs())
def test_persons_move_whole_to_places_of_their_size_and_site(design):
    codes, persons, _, sites, rng = design
    rows = exchange_of(codes, sites, persons=persons).draw(rng)
    assert sorted(rows) == list(range(len(codes)))
    np.testing.assert_array_equal(sites[rows], sites)
    for own in units_of(persons):
        (who,) = set(persons[rows[own]])
        assert_rows_of(persons == who, rows[own], sites)


@settings(max_examples=settings.default.max_examples // 2)
@given(designs())
def test_families_in_one_group_move_whole_and_others_stay(design):
    codes, persons, families, sites, rng = design
    rows = exchange_of(codes, sites, persons=persons, families=families).draw(rng)
    assert sorted(rows) == list(range(len(codes)))
    np.testing.assert_array_equal(sites[rows], sites)
    for own in units_of(persons):
        (who,) = set(persons[rows[own]])
        assert_rows_of(persons == who, rows[own], sites)
    for own in units_of(families):
        (come,) = set(families[rows[own]])
        mixed = len(set(codes[own])) > 1
        assert (come == families[own[0]]) if mixed else len(set(codes[families == come])) == 1
        sizes = [sorted(Counter(persons[one]).values()) for one in (own, rows[own])]
        assert sizes[0] == sizes[1]


def test_the_order_of_a_persons_rows_does_not_keep_it_from_moving():
    codes, persons = np.repeat([0, 1], 8), np.repeat(np.arange(8), 2)
    sites = np.where(codes == 0, np.tile([0, 1], 8), np.tile([1, 0], 8))
    assert exchange_of(codes, sites, persons=persons).cannot_move(codes) == 0


@given(designs())
def test_ways_are_those_of_a_brute_force(design):
    codes, persons, _, _, rng = design
    plan = exchange_of(codes, persons=persons)
    ways = plan.log_exchanges(codes)
    if ways > np.log(20):
        return
    drawn = {tuple(codes[plan.draw(rng)]) for _ in range(500)}  # all but once in 10^10
    assert len(drawn) == round(np.exp(ways))


@pytest.mark.parametrize(
    ("families", "allowed"),
    [
        (None, {(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)}),
        ([0, 0, 1, 1, 2, 2, 3], {(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)}),
        ([0, 0, 0, 0, 1, 1, 0], {(0, 1, 2), (1, 0, 2)}),
    ],
)
def test_all_allowed_exchanges_are_equally_likely(families, allowed):
    persons = np.array([0, 0, 1, 1, 2, 2, 3])
    codes = np.array([0, 0, 1, 1, 1, 1, 0])
    given_families = None if families is None else np.array(families)
    plan = exchange_of(codes, persons=persons, families=given_families)
    rng = np.random.default_rng(0)
    drawn = Counter(tuple(persons[plan.draw(rng)][[0, 2, 4]].tolist()) for _ in range(2000))
    assert set(drawn) == allowed
    expected = 2000 / len(allowed)
    chi2 = sum((count - expected) ** 2 / expected for count in drawn.values())
    assert chi2 < 25  # p < 1e-4 with at most five degrees of freedom


def test_single_rows_are_drawn_as_ever():
    """Frozen: results of plain designs do not depend on the way that exchanges are planned."""
    codes, sites = np.arange(9) % 2, np.array([0, 1, 0, 2, 1, 0, 2, 2, 3])
    first, second = (np.random.default_rng(3) for _ in range(2))
    for _ in range(5):
        np.testing.assert_array_equal(exchange_of(codes).draw(first), second.permutation(9))
        expected = np.arange(9)
        for site in range(4):
            own = np.flatnonzero(sites == site)
            expected[own] = second.permutation(own)
        np.testing.assert_array_equal(exchange_of(codes, sites).draw(first), expected)
    pairs = np.array([0, 1, 2, 2, 0, 1])
    order = np.argsort(pairs, kind="stable").reshape(3, -1)
    expected = np.arange(6)
    expected[order] = second.permuted(order, axis=1)
    plan = exchange_of(np.array([0, 0, 0, 1, 1, 1]), pairs=pairs)
    np.testing.assert_array_equal(plan.draw(first), expected)


def test_exchanges_are_counted():
    codes = np.array([0, 0, 0, 1, 1, 1])

    def ways(*design, **more):
        return np.exp(exchange_of(codes, *design, **more).log_exchanges(codes))

    assert ways() == pytest.approx(20)
    assert ways(np.array([0, 0, 1, 0, 1, 1])) == pytest.approx(9)
    assert ways(codes) == pytest.approx(1)
    assert ways(None, np.array([0, 1, 2, 2, 0, 1])) == pytest.approx(8)
    assert ways(persons=np.array([0, 0, 1, 2, 2, 3])) == pytest.approx(4)
    assert ways(families=np.array([0, 0, 1, 0, 2, 2])) == pytest.approx(3)


def test_rows_that_stay_in_their_group_are_counted():
    codes = np.array([0, 0, 0, 1, 1, 1])
    assert exchange_of(codes).cannot_move(codes) == 0
    assert exchange_of(codes, codes).cannot_move(codes) == 6
    assert exchange_of(codes, persons=np.array([0, 0, 1, 2, 3, 4])).cannot_move(codes) == 2
    assert exchange_of(codes, families=np.array([0, 0, 1, 0, 2, 3])).cannot_move(codes) == 0


def test_rows_of_paired_persons_are_exchanged_among_themselves():
    for codes, ids, count in (
        ([0, 0, 0, 1, 1, 1], "xyzzxy", 8),
        ([0, 0, 1, 1, 2, 2], "xyyxxy", 36),
    ):
        pairs = check_pairs(list(ids), np.array(codes))
        plan = exchange_of(np.array(codes), pairs=pairs)
        rng = np.random.default_rng(0)
        drawn = {tuple(plan.draw(rng)) for _ in range(600)}
        assert len(drawn) == count
        for rows in drawn:
            np.testing.assert_array_equal(pairs[list(rows)], pairs)
        assert plan.log_exchanges(np.array(codes)) == pytest.approx(np.log(count))


def test_units_of_a_mixed_family_take_every_order():
    plan = exchange_of(np.array([0, 1, 1]), families=np.zeros(3, np.intp))
    rng = np.random.default_rng(0)
    assert {tuple(plan.draw(rng).tolist()) for _ in range(200)} == set(permutations(range(3)))


@pytest.mark.parametrize(
    ("n_cohorts", "most"), [(5, 0.5), pytest.param(30, 0.25, marks=pytest.mark.long)]
)
def test_tests_that_exchange_whole_persons_keep_their_level(n_cohorts, most):
    """Four rows of each of 40 persons, of which nothing differs between the groups."""
    persons, groups = np.repeat(np.arange(40), 4), np.repeat([0, 1], 80)
    found = {"rows": [], "persons": []}
    for seed in range(n_cohorts):
        rng = np.random.default_rng(seed)
        own = rng.standard_normal((40, 4))
        own[:, 1::2] += own[:, ::2]
        X = own[persons] + 0.3 * rng.standard_normal((160, 4))
        for name, design in (("rows", {}), ("persons", {"persons": persons})):
            result = edge_differences(X, groups, n_permutations=19, random_state=seed, **design)
            found[name].append(result.global_p <= 0.1)
    assert np.mean(found["rows"]) > 0.5  # as if there were 160 subjects
    assert np.mean(found["persons"]) < most
