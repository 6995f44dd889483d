from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from sgbn.inference.permutations import (
    Permuted,
    class_shares,
    count_reaching,
    discovery_rates,
    holm,
    lowest_of,
    monte_carlo_error,
    permutations_needed,
    ranked,
    reached,
    statistic_at,
)


def permuted_of(seed, n_permutations=9, effect=0.0):
    """Edges of two classes, the second with larger statistics, in varying numbers."""
    rng = np.random.default_rng(seed)
    runs = []
    for _ in range(n_permutations + 1):
        classes = (rng.random(rng.integers(1, 8)) < 0.3).astype(np.intp)
        runs.append((np.abs(rng.normal(size=len(classes))) * (1 + 3 * classes), classes))
    (observed, classes), *null = runs
    counts = np.array([len(values) for values, _ in null])
    values, kinds = (np.concatenate(parts) for parts in zip(*null, strict=True))
    return Permuted(observed + effect, classes, values, kinds, counts)


def by_brute_force(permuted):
    starts = np.concatenate([[0], np.cumsum(permuted.counts)])
    runs = [(permuted.observed, permuted.classes)] + [
        (permuted.null[a:b], permuted.null_classes[a:b]) for a, b in pairwise(starts)
    ]
    null = [(t, c) for values, kinds in runs[1:] for t, c in zip(values, kinds, strict=True)]
    count = Counter(c for _, c in null)
    apart = count[0] >= 20 and count[1] >= 20

    def share(t, c, own):
        others = sorted(other for other, kind in null if not apart or kind == c)
        size = min(50, len(others) // 2)
        if size >= 5 and t > others[-size]:
            excess = np.mean([other - others[-size] for other in others[-size:]])
            return size / len(others) * np.exp(-(t - others[-size]) / excess)
        return (own + sum(other >= t for other in others)) / (own + len(others))

    first = [share(t, c, 1) for t, c in zip(*runs[0], strict=True)]
    rest = [[share(t, c, 0) for t, c in zip(*run, strict=True)] for run in runs[1:]]
    smallest = np.array([min(own) for own in rest])
    flat = [u for own in rest for u in own + [1.0] * (len(first) - len(own))]
    p = [(1 + np.sum(np.array(flat) <= own + 1e-12)) / (1 + len(flat)) for own in first]
    family_wise = [(1 + np.sum(smallest <= own + 1e-12)) / (1 + len(rest)) for own in first]
    return p, family_wise


@settings(max_examples=settings.default.max_examples // 2)
@given(st.integers(0, 10_000), st.sampled_from([4, 30]))
def test_p_and_family_wise_p_are_those_of_brute_force(seed, n_permutations):
    permuted = permuted_of(seed, n_permutations)
    found = ranked(permuted)
    p, family_wise = by_brute_force(permuted)
    np.testing.assert_allclose(found.p, p)
    np.testing.assert_allclose(found.family_wise, family_wise)


def test_a_class_of_large_statistics_does_not_hide_the_other():
    permuted = permuted_of(1, 99, effect=0.0)
    classes = np.zeros_like(permuted.classes)
    strong = permuted._replace(observed=np.full(len(classes), 4.0), classes=classes)
    assert ranked(strong).family_wise[0] < 0.1
    merged = strong._replace(null_classes=np.zeros_like(permuted.null_classes))
    assert ranked(merged).family_wise[0] > 0.2


def test_a_class_with_few_statistics_can_still_be_surest():
    permuted = permuted_of(1, 99)
    few = np.flatnonzero(permuted.null_classes == 1)[30:]
    kinds = permuted.null_classes.copy()
    kinds[few] = 0
    rare = permuted._replace(observed=np.array([60.0]), classes=np.array([1]), null_classes=kinds)
    found = ranked(rare)
    assert found.p[0] == 1 / (1 + len(permuted.null))
    assert found.family_wise[0] == 1 / 100


def test_a_class_that_hardly_any_permutation_has_is_ranked_with_the_other():
    permuted = permuted_of(1, 99)
    kinds = np.zeros_like(permuted.null_classes)
    kinds[:3] = 1
    rare = permuted._replace(observed=np.array([60.0]), classes=np.array([1]), null_classes=kinds)
    assert ranked(rare).p[0] == 1 / (1 + len(kinds))


def test_what_equals_the_statistic_at_a_share_but_for_round_off_does_not_exceed_it():
    ascending = np.arange(1.0, 10.0)  # too few for a fitted tail
    equal = np.nextafter(ascending, np.inf)
    for reaching in range(1, 9):
        share = (reaching + 1) / 10
        at = statistic_at(share, ascending)
        np.testing.assert_array_equal(equal > at, class_shares(equal, ascending) < share - 1e-9)


def test_the_statistic_at_a_share_is_where_shares_become_smaller():
    ascending = np.sort(np.abs(np.random.default_rng(0).normal(size=1000)))
    for share in (0.5, 0.2, 0.01, 1e-6):
        at = statistic_at(share, ascending)
        assert class_shares(np.array([at * (1 + 1e-6) + 1e-6]), ascending)[0] < share
        assert class_shares(np.array([at * (1 - 1e-6)]), ascending)[0] >= share * (1 - 1e-9)
    ties = np.repeat([1.0, 2.0], 30)  # no tail to fit
    assert class_shares(np.array([2.0, 3.0]), ties).tolist() == [31 / 61, 1 / 61]


def test_many_true_changes_do_not_hide_each_other():
    rng = np.random.default_rng(0)
    null = np.abs(rng.normal(size=(199, 150)))
    observed = np.concatenate([np.abs(rng.normal(size=60)), rng.uniform(9, 12, size=90)])
    kinds = np.zeros(150, int)
    found = ranked(
        Permuted(observed, kinds, null.ravel(), np.zeros(null.size, int), np.full(199, 150))
    )
    assert (found.family_wise[60:] == 1 / 200).all()


def test_a_small_class_is_joined_with_its_partner_and_no_other():
    rng = np.random.default_rng(0)
    values = np.concatenate(
        [rng.uniform(0, 1, 5), rng.uniform(0, 1, 100), rng.uniform(50, 60, 900)]
    )
    kinds = np.repeat([2, 3, 1], [5, 100, 900])
    found = ranked(Permuted(np.array([5.0]), np.array([2]), values, kinds, np.full(5, 201)))
    assert found.shares[0] < 0.01


def test_shares_of_large_gaussian_statistics_are_not_too_small():
    ascending = np.sort(np.abs(np.random.default_rng(1).normal(size=4000)))
    values = np.array([3.5, 4.0, 4.5])
    assert (class_shares(values, ascending) >= 2 * ndtr(-values)).all()


def test_the_error_of_a_pooled_p_counts_permutations_not_edges():
    # all edges of a permutation are copies of one statistic: as many numbers as permutations
    rng = np.random.default_rng(0)
    alone = np.abs(rng.normal(size=400))
    permuted = Permuted(
        np.array([1.0]),
        np.zeros(1, int),
        np.repeat(alone, 50),
        np.zeros(20_000, int),
        np.full(400, 50),
    )
    found = ranked(permuted)
    assert found.error[0] == pytest.approx(monte_carlo_error(found.p[0], 400), rel=0.1)
    spread = permuted._replace(null=np.abs(rng.normal(size=20_000)))
    assert ranked(spread).error[0] < found.error[0] / 4


def test_permutations_without_an_edge_have_no_small_p():
    assert lowest_of(np.array([0.2, 0.1]), np.array([0, 2, 0])).tolist() == [1, 0.1, 1]
    assert lowest_of(np.empty(0), np.array([0])).tolist() == [1]


def test_discovery_rates_are_those_of_benjamini_and_hochberg():
    p = np.array([0.01, 0.04, 0.03, 0.5])
    np.testing.assert_allclose(discovery_rates(p), [0.04, 0.16 / 3, 0.16 / 3, 0.5])
    assert discovery_rates(np.empty(0)).size == 0


def test_ties_up_to_round_off_reach():
    assert count_reaching(np.array([1 + 1e-13, 2.5]), np.array([1.0, 2.0])).tolist() == [2, 0]


def test_a_value_that_nothing_reaches_has_the_smallest_p():
    assert reached(3.0, np.arange(3.0)) == 0.25
    assert reached(2.0, np.arange(3.0)) == 0.5
    assert reached(1 + 1e-13, np.ones(3)) == 1
    assert reached(-1 + 1e-13, -np.ones(3)) == 1


def test_the_error_of_p_is_that_of_a_share():
    assert monte_carlo_error(0.05, 199) == pytest.approx(np.sqrt(0.05 * 0.95 / 200))
    assert monte_carlo_error(1.0, 199) == 0


@pytest.mark.parametrize("level", [0.05, 0.01])
@pytest.mark.parametrize(("by", "fewer"), [("q", 0), ("p_fwer", 1)])
def test_one_difference_alone_is_found_with_the_permutations_needed_and_not_with_fewer(
    level, by, fewer
):
    def found(B):
        rng = np.random.default_rng(0)
        k, null = 5, rng.random(5 * B)
        observed = np.array([9.0, 0, 0, 0, 0])
        own = ranked(
            Permuted(observed, np.zeros(k, int), null, np.zeros(5 * B, int), np.full(B, k))
        )
        return (own.family_wise if by == "p_fwer" else discovery_rates(own.p))[0] <= level

    needed = permutations_needed(level, by)
    assert needed == round(1 / level) - fewer
    assert found(needed)
    assert not found(needed - 1)


def test_two_small_classes_are_joined():
    null = np.linspace(0, 1, 15)
    permuted = Permuted(np.array([5.0]), np.array([0]), null, np.ones(15, int), np.full(15, 1))
    assert ranked(permuted).p[0] == 1 / 16


def test_holm_is_that_of_statsmodels():
    p = np.array([0.04, 0.01, 0.03, 0.005, 0.9])
    np.testing.assert_allclose(holm(p), [0.09, 0.04, 0.09, 0.025, 0.9])
    assert not len(holm(p[:0]))
