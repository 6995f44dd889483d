from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold
from tests.codes import refused, warned

from sgbn import Cohort
from sgbn.cohort.design import (
    MIN_TRAINING_ROWS,
    Sample,
    choose_reference,
    control_groups,
    count_folds,
    deal_persons,
    deal_rows,
    exchange_of,
    group_sample,
    inner_folds,
    label_codes,
    looks_like_controls,
    takes_effects_out,
    usual_reference,
    why_reference,
)
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


GROUP = np.repeat(["a", "b"], 40)
SITE = np.tile(["one", "two", "three", "four"], 20)


def cohort_of(**more):
    values = np.random.default_rng(0).standard_normal((80, 4))
    return Cohort(values, ["p", "q", "r", "s"], range(80), group=GROUP, **more)


def test_persons_and_families_count_once():
    persons, families = np.arange(40) // 2, np.arange(40) // 4
    sample = Sample(np.zeros((40, 2)), ["a", "b"], np.empty((40, 0)), None, persons, families)
    assert sample.n_units == 10
    assert sample.repeats(np.arange(6)) == 3
    assert sample.take(np.arange(6)).blocks.tolist() == [0, 0, 0, 0, 1, 1]


def test_a_sample_holds_the_rows_of_a_group_and_their_labels():
    family = np.arange(80) // 4
    cohort = cohort_of(site=SITE, person=np.arange(80) // 2, block=family)
    found = group_sample(cohort, "b")
    np.testing.assert_array_equal(found.values, cohort.values[40:])
    assert found.names == list(cohort.regions)
    assert found.strata.tolist() == SITE[40:].tolist()
    assert found.persons.tolist() == cohort.person[40:].tolist()
    assert found.blocks.tolist() == cohort.units[40:].tolist()
    assert group_sample(cohort_of(), "b")[3:] == (None, None, None)


def test_nuisance_is_covariates_and_sites_of_the_group_without_its_mean():
    age = np.random.default_rng(1).normal(50, 10, 80)
    found = group_sample(cohort_of(covariates={"age": age}, site=SITE), "b").nuisance
    assert found.shape == (40, 4)  # age, and three of four sites
    np.testing.assert_allclose(found.sum(axis=0), 0, atol=1e-9)
    own = age[40:] - age[40:].mean()
    np.testing.assert_allclose(found @ (found.T @ own), own, atol=1e-9)
    assert group_sample(cohort_of(), "a").nuisance.shape == (40, 0)


def test_more_effects_than_halves_can_tell_are_left_with_a_warning():
    many = {f"c{k}": np.random.default_rng(k).standard_normal(80) for k in range(11)}
    with warned("halves.effects"):
        assert group_sample(cohort_of(covariates=many), "a").nuisance.shape == (40, 0)


def test_it_can_be_asked_whether_effects_are_taken_out():
    many = {f"c{k}": np.random.default_rng(k).standard_normal(80) for k in range(11)}
    for more, wanted in (({"covariates": many}, False), ({"site": SITE}, True), ({}, False)):
        assert takes_effects_out(cohort_of(**more)) is wanted


def test_parts_are_of_equal_size_and_random():
    first, second = (deal_rows(np.random.default_rng(k), 101, 2) for k in range(2))
    assert sorted(np.bincount(first)) == [50, 51]
    assert (first != second).any()


def test_sites_are_balanced():
    site = np.repeat(["a", "b", "c"], [11, 20, 31])
    for seed in range(5):
        part = deal_rows(np.random.default_rng(seed), 62, 2, site)
        counts = np.array([np.bincount(part[site == one], minlength=2) for one in "abc"])
        assert np.abs(counts[:, 0] - counts[:, 1]).max() <= 1


def test_persons_are_whole():
    person = np.arange(40) // 2
    part = deal_rows(np.random.default_rng(0), 40, 10, persons=person)
    assert (part[::2] == part[1::2]).all()
    assert (np.bincount(part) == 4).all()


def test_labels_of_another_length_are_refused():
    with refused("labels.count"):
        deal_rows(np.random.default_rng(0), 5, 2, ["a", "b"])
    with refused("labels.count"):
        label_codes([["a"], ["b"], ["c"]], 3, "units")


def test_labels_are_coded_in_the_order_of_their_texts():
    assert label_codes(["b", "a", "b"], 3, "units").tolist() == [1, 0, 1]
    assert label_codes([10, 2, 10], 3, "units").tolist() == [0, 1, 0]


def test_codes_are_dealt_as_their_labels_are():
    site, person = np.arange(48) % 12, np.arange(48) // 2
    codes = label_codes(site, 48, "strata"), label_codes(person, 48, "persons")
    for seed in range(5):
        part = deal_rows(np.random.default_rng(seed), 48, 2, site, person)
        again = deal_persons(np.random.default_rng(seed), 2, *codes)
        assert np.array_equal(part, again)


@pytest.mark.parametrize("smallest", range(2, 12))
def test_every_fold_leaves_a_class_enough_rows_to_train_on(smallest):
    codes = np.repeat([0, 1], [60, smallest])
    n_folds = count_folds(codes)
    assert (n_folds > 0) == (smallest > MIN_TRAINING_ROWS)
    for train, _ in StratifiedKFold(n_folds).split(codes, codes) if n_folds else ():
        assert np.bincount(codes[train]).min() >= MIN_TRAINING_ROWS


@settings(max_examples=20)
@given(st.integers(0, 2**31), st.integers(2, 5))
def test_units_are_on_one_side_of_every_fold(seed, n_folds):
    rng = np.random.default_rng(seed)
    units = rng.permutation(np.arange(60) // 3)
    codes = rng.integers(0, 2, 20)[units]
    tested = np.zeros(60, int)
    for train, test in inner_folds(codes, units, n_folds, 2, 0):
        assert not set(units[train]) & set(units[test])
        tested[test] += 1
    assert (tested == 2).all()


def test_without_units_the_folds_are_those_of_scikit_learn():
    codes = np.random.default_rng(0).integers(0, 3, 50)
    own = list(inner_folds(codes, None, 4, 3, 7))
    splitter = RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=7)
    for fold, expected in zip(own, splitter.split(codes, codes), strict=True):
        np.testing.assert_array_equal(fold[0], expected[0])
        np.testing.assert_array_equal(fold[1], expected[1])


def test_folds_are_counted_in_units():
    codes = np.repeat([0, 1], 10)
    assert count_folds(codes) == 5
    assert count_folds(codes, np.arange(20) // 2) == 5
    assert count_folds(codes, np.where(codes == 0, np.arange(20), 20 + np.arange(20) // 2)) == 5
    assert count_folds(codes, np.arange(20) // 4) == 0


CONTROLS = (
    *("control", "Controls", "CTR", "ctrl", "CTL", "CON", "HC", "hv", "NC", "CN", "TD", "TDC"),
    *("TC", "healthy", "Normal", "healthy controls", "control_group", "HealthyControl", "HC group"),
    *("healthy-control", "Healthy Volunteers", "cognitively normal", "typically developing"),
    *("healthycontrols", "age-matched controls", "control 2", "HC1", "Controls (young)"),
)
PATIENTS = (
    *("AD", "ASD", "MCI", "patient", "SCZ", "abnormal", "uncontrolled", "unhealthy", "contusion"),
    *("impulse control disorder", "normal pressure hydrocephalus", "non-control", "young", "1"),
    *("sick", "concussion", "not healthy", "0", "", "group", "tdcs stimulation"),
)


@pytest.mark.parametrize("name", CONTROLS)
def test_names_of_controls_are_known(name):
    assert looks_like_controls(name)
    assert usual_reference(["AAA", name, "zzz"]) == name


@pytest.mark.parametrize("name", PATIENTS)
def test_other_names_are_not_taken_for_controls(name):
    assert not looks_like_controls(name)


def test_zero_is_the_norm_among_numbers_only():
    assert usual_reference(["-1", "0", "1"]) == "0"
    assert usual_reference(["-1.0", "0.0"]) == "0.0"
    assert usual_reference(["0", "-A"]) == "-A"
    assert usual_reference(["1", "2"]) == "1"


def test_without_a_name_of_controls_it_is_the_first_by_name():
    assert usual_reference(("young", "mid", "old")) == "mid"


def test_several_that_look_like_controls_are_named():
    groups = ("AD", "HC", "controls")
    assert control_groups(groups) == ["HC", "controls"]
    assert usual_reference(groups) == "HC"
    assert "'HC' and 'controls', which look like controls" in why_reference(groups)


def test_a_named_reference_goes_before_and_must_be_there():
    assert choose_reference(("AD", "HC"), "AD") == "AD"
    assert choose_reference(("AD", "HC")) == "HC"
    with refused("groups.unknown"):
        choose_reference(("AD", "HC"), "hc")
