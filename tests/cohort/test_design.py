from collections import Counter, defaultdict
from dataclasses import replace
from functools import reduce
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import check_random_state
from tests.codes import refused

from sgbn.cohort.design import (
    MIN_TRAINING_ROWS,
    Design,
    choose_reference,
    control_groups,
    looks_like_controls,
    usual_reference,
    why_reference,
)
from sgbn.inference.differences import edge_differences

NUMBERS = np.arange(50).astype(str)  # as text, 10 comes before 2


@st.composite
def designs(draw, n_groups=2):
    """Rows of persons in families at sites; a person is in one group, family and site or more."""
    n = draw(st.integers(6, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    persons = rng.integers(0, rng.integers(1, n + 1), n)
    families = rng.integers(0, rng.integers(1, n + 1), n)
    groups, sites = (rng.integers(0, most, n) for most in (n_groups, 2))
    codes = {"person": persons, "block": families[persons], "group": groups[persons]}
    codes["site"] = sites if draw(st.booleans()) else sites[persons]
    return Design(n, **{name: rng.permutation(NUMBERS)[own] for name, own in codes.items()}), rng


@st.composite
def any_designs(draw):
    """Designs without some of the labels, and with or without paired visits."""
    design, rng = draw(designs(draw(st.integers(1, 3))))
    absent = [name for name in ("site", "person", "block") if draw(st.booleans())]
    design, k = replace(design, **dict.fromkeys(absent)), draw(st.sampled_from([1, 1, 2, 3]))
    if k == 1:
        return design, rng
    order = rng.permutation(design.n // k * k)
    visits = {"pair": np.arange(len(order)) // k, "group": np.arange(len(order)) % k}
    labels = {name: rng.permutation(NUMBERS)[codes][order] for name, codes in visits.items()}
    return replace(design.subset(order), **labels), rng


def rows_by(labels):
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def assert_rows_of(theirs, rows, sites):
    """All rows of a unit are there, in their order at each site."""
    np.testing.assert_array_equal(np.sort(rows), np.flatnonzero(theirs))
    for site in set(sites[rows]):
        assert (np.diff(rows[sites[rows] == site]) > 0).all()


@settings(max_examples=settings.default.max_examples // 2)
@given(designs(), st.booleans())
def test_persons_and_families_in_one_group_move_whole_and_other_families_stay(drawn, with_families):
    design, rng = drawn
    design = design if with_families else replace(design, block=None)
    persons, families, codes = design.person, design.block, design.group_codes
    rows = design.exchange().draw(rng)
    assert sorted(rows) == list(range(design.n))
    np.testing.assert_array_equal(design.site[rows], design.site)
    for own in rows_by(persons):
        (who,) = set(persons[rows[own]])
        assert_rows_of(persons == who, rows[own], design.site)
    for own in rows_by(families) if with_families else ():
        (come,) = set(families[rows[own]])
        mixed = len(set(codes[own])) > 1
        assert (come == families[own[0]]) if mixed else len(set(codes[families == come])) == 1
        sizes = [sorted(Counter(persons[one]).values()) for one in (own, rows[own])]
        assert sizes[0] == sizes[1]


def text_design(group, **labels):
    """Design of labels that are numbers of one digit, or letters."""
    labels = {name: np.array(list(map(str, column))) for name, column in labels.items()}
    return Design(len(group), group=np.array(list(map(str, group))), **labels)


def test_the_order_of_a_persons_rows_does_not_keep_it_from_moving():
    codes, persons = np.repeat([0, 1], 8), np.repeat(np.arange(8), 2)
    sites = np.where(codes == 0, np.tile([0, 1], 8), np.tile([1, 0], 8))
    design = text_design(codes, site=sites, person=persons)
    assert design.exchange().cannot_move(codes) == 0


@given(designs())
def test_ways_are_those_of_a_brute_force(drawn):
    design, rng = drawn
    codes, plan = design.group_codes, replace(design, site=None, block=None).exchange()
    ways = plan.log_exchanges(codes)
    if ways > np.log(20):
        return
    found = {tuple(codes[plan.draw(rng)]) for _ in range(500)}  # all but once in 10^10
    assert len(found) == round(np.exp(ways))


@pytest.mark.parametrize(
    ("families", "allowed"),
    [
        ({}, {(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)}),
        ({"block": "0011223"}, {(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)}),
        ({"block": "0000110"}, {(0, 1, 2), (1, 0, 2)}),
    ],
)
def test_all_allowed_exchanges_are_equally_likely(families, allowed):
    persons = np.array([0, 0, 1, 1, 2, 2, 3])
    plan = text_design("0011110", person=persons, **families).exchange()
    rng = np.random.default_rng(0)
    drawn = Counter(tuple(persons[plan.draw(rng)][[0, 2, 4]].tolist()) for _ in range(2000))
    assert set(drawn) == allowed
    expected = 2000 / len(allowed)
    chi2 = sum((count - expected) ** 2 / expected for count in drawn.values())
    assert chi2 < 25  # p < 1e-4 with at most five degrees of freedom


@pytest.mark.parametrize(
    ("labels", "ways", "stay"),
    [
        ({}, 20, 0),
        ({"site": "001011"}, 9, 0),
        ({"site": "000111"}, 1, 6),
        ({"pair": "012201"}, 8, 0),
        ({"person": "001223"}, 4, 0),
        ({"person": "001234"}, 4, 2),
        ({"block": "001022"}, 3, 3),
        ({"block": "001023"}, 9, 0),
    ],
)
def test_exchanges_and_rows_that_stay_in_their_group_are_counted(labels, ways, stay):
    codes, plan = np.repeat([0, 1], 3), text_design("000111", **labels).exchange()
    assert np.exp(plan.log_exchanges(codes)) == pytest.approx(ways)
    assert plan.cannot_move(codes) == stay


@pytest.mark.parametrize(
    ("group", "pair", "count"), [("000111", "xyzzxy", 8), ("001122", "xyyxxy", 36)]
)
def test_rows_of_paired_persons_are_exchanged_among_themselves(group, pair, count):
    design, rng = text_design(group, pair=pair), np.random.default_rng(0)
    plan = design.exchange()
    drawn = {tuple(plan.draw(rng)) for _ in range(600)}
    assert len(drawn) == count
    for rows in drawn:
        np.testing.assert_array_equal(design.pair[list(rows)], design.pair)
    assert plan.log_exchanges(design.group_codes) == pytest.approx(np.log(count))


def test_units_of_a_mixed_family_take_every_order():
    plan = text_design("011", block="fff").exchange()
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


def test_persons_and_families_count_once():
    group, (persons, families) = np.repeat(["a", "b"], 20), (np.arange(40) // k for k in (2, 4))
    design = Design.of(range(40), group=group, person=persons, block=families)
    assert (design.n_units, design.repeats()) == (10, 20)
    assert design.counts(None) == {"a": 20, "b": 20}
    assert design.counts(design.person) == {"a": 10, "b": 10}
    assert design.counts(design.units) == {"a": 5, "b": 5}
    part = design.subset(np.arange(6))
    assert (part.n, part.repeats(), part.units.tolist()) == (6, 3, list("000011"))
    assert np.flatnonzero(design.whole(np.arange(40) == 7)).tolist() == [6, 7]
    assert (Design(3).n_units, Design(3).repeats(), Design(3).units) == (3, 0, None)


def test_labels_are_numbered_as_text_and_groups_from_the_reference():
    design = replace(Design.of(range(4), group=[10, 2, 10, 9], site=[10, 2, 10, 9]), reference="9")
    assert design.groups == ("9", "10", "2")
    assert design.group_codes.tolist() == [1, 2, 1, 0]
    assert design.codes("site").tolist() == [0, 1, 0, 2]
    assert design.codes("persons") is None
    for labels in (["a", "b"], [["a"], ["b"], ["c"]]):
        with refused("labels.count"):
            Design.of(range(3), site=labels)


def test_parts_are_of_equal_size_and_random():
    first, second = (Design(101).deal(np.random.default_rng(k)) for k in range(2))
    assert sorted(np.bincount(first)) == [50, 51]
    assert (first != second).any()


@pytest.mark.parametrize("balanced", [("site",), ("group", "site")])
def test_sites_and_groups_are_balanced(balanced):
    site, group = np.repeat(["a", "b", "c"], [11, 20, 31]), np.resize(["x", "y", "y"], 62)
    both = site if len(balanced) == 1 else np.char.add(site, group)
    for seed in range(5):
        design = Design(62, group=group, site=site)
        part = design.deal(np.random.default_rng(seed), balanced=balanced)
        counts = np.array([np.bincount(part[own], minlength=2) for own in rows_by(both)])
        assert np.abs(counts[:, 0] - counts[:, 1]).max() <= 1


@pytest.mark.parametrize(("kind", "size"), [("person", 2), ("block", 4)])
def test_persons_and_families_are_dealt_whole(kind, size):
    labels = NUMBERS[np.arange(40) // size]
    part = Design(40, **{kind: labels}).deal(np.random.default_rng(0), 10)
    assert (part.reshape(-1, size) == part[::size, None]).all()
    assert (np.bincount(part) == 4).all()


@pytest.mark.parametrize("smallest", range(2, 12))
def test_every_fold_leaves_a_group_enough_rows_to_train_on(smallest):
    codes = np.repeat([0, 1], [60, smallest])
    design = text_design(codes)
    assert (design.usual_folds > 0) == (smallest > MIN_TRAINING_ROWS)
    for train, _ in design.folds(design.usual_folds, 0) if design.usual_folds else ():
        assert np.bincount(codes[train]).min() >= MIN_TRAINING_ROWS


@settings(max_examples=20)
@given(st.integers(0, 2**31), st.integers(2, 5))
def test_units_are_on_one_side_of_every_fold(seed, n_folds):
    rng = np.random.default_rng(seed)
    units = rng.permutation(np.arange(60) // 3)
    design = Design(60, group=NUMBERS[rng.integers(0, 2, 20)[units]], person=NUMBERS[units])
    tested = np.zeros(60, int)
    for train, test in design.folds(n_folds, 0, 2):
        assert not set(units[train]) & set(units[test])
        tested[test] += 1
    assert (tested == 2).all()


def test_folds_are_counted_in_units():
    codes, rows = np.repeat([0, 1], 10), np.arange(20)
    for persons in (rows, rows // 2, np.where(codes == 0, rows, 20 + rows // 2)):
        assert text_design(codes, person=persons).usual_folds == 5
    assert text_design(codes, person=rows // 4).usual_folds == 0


# The rules of earlier versions, frozen: the same rows must be exchanged, dealt and held out.


def _old_codes(labels):
    return None if labels is None else np.unique(labels.astype(str), return_inverse=True)[1]


def _old_merged(first, second):
    names, by_first = np.unique(first, return_inverse=True)
    by_second = len(names) + np.unique(second, return_inverse=True)[1]
    n = by_second.max() + 1
    links = coo_array((np.ones(len(first), bool), (by_first, by_second)), shape=(n, n))
    parts = connected_components(links, directed=False)[1][by_first]
    _, rows, part = np.unique(parts, return_index=True, return_inverse=True)
    return first[rows][part]


def _old_units_of_cohort(design):
    labels = (design.block, design.person, design.pair)
    given_labels = [column for column in labels if column is not None]
    return reduce(_old_merged, given_labels) if given_labels else None


def _old_units_of_tests(design):
    labels = (design.block, design.pair, design.person)
    return next((_old_codes(column) for column in labels if column is not None), None)


def _old_alike(units):
    by_pattern = defaultdict(list)
    for pattern, rows in units:
        by_pattern[pattern].append(rows)
    kinds = (by_pattern[pattern] for pattern in sorted(by_pattern))
    return [np.array(rows) for rows in kinds if len(rows) > 1]


def _old_exchange(codes, sites, pairs, persons, families):
    n = len(codes)
    if pairs is not None:
        order = np.argsort(pairs, kind="stable").reshape(pairs.max() + 1, -1)
        return [], [order[:, :, None]]
    sites = np.zeros(n, np.intp) if sites is None else sites
    persons = np.arange(n) if persons is None else persons
    by_person = np.argsort(persons, kind="stable")
    rows_of = np.split(by_person, np.flatnonzero(np.diff(persons[by_person])) + 1)
    by_site = (rows[np.argsort(sites[rows], kind="stable")] for rows in rows_of)
    units = [(tuple(sites[rows].tolist()), rows) for rows in by_site]
    if families is None:
        return _old_alike(units), []
    by_family = defaultdict(list)
    for pattern, rows in units:
        by_family[int(families[rows[0]])].append((pattern, rows))
    whole, stacks = [], defaultdict(list)
    for members in by_family.values():
        family_units = sorted(members, key=lambda unit: unit[0])
        rows = np.concatenate([rows for _, rows in family_units])
        if (codes[rows] == codes[rows[0]]).all():
            whole.append((tuple(pattern for pattern, _ in family_units), rows))
            continue
        for units_alike in _old_alike(family_units):
            stacks[units_alike.shape].append(units_alike)
    return _old_alike(whole), [np.array(family_units) for family_units in stacks.values()]


def _old_draw(n, sets, stacks, rng):
    rows = np.arange(n)
    for units in sets:
        rows[units] = units[rng.permutation(len(units))]
    for stack in stacks:
        order = np.broadcast_to(np.arange(stack.shape[1]), stack.shape[:2])
        order = rng.permuted(order, axis=1)
        rows[stack] = np.take_along_axis(stack, order[:, :, None], axis=1)
    return rows


def _old_deal(rng, n, n_parts, strata, units):
    person = np.arange(n) if units is None else _old_codes(units)
    stratum = np.zeros(n, np.intp) if strata is None else _old_codes(strata)
    _, first = np.unique(person, return_index=True)
    shuffled = rng.permutation(len(first))
    dealt = shuffled[np.argsort(stratum[first][shuffled], kind="stable")]
    part = np.empty(len(first), np.intp)
    part[dealt] = (np.arange(len(first)) + rng.integers(n_parts)) % n_parts
    return part[person]


def _old_count_folds(codes, units):
    if units is not None:
        codes = np.unique(np.column_stack([codes, units]), axis=0)[:, 0]
    smallest = int(np.bincount(codes).min())
    return min(5, smallest) if smallest > 3 else 0


def _old_folds(codes, units, n_folds, n_repeats, seed):
    rng = check_random_state(seed)
    kind = StratifiedKFold if units is None else StratifiedGroupKFold
    for _ in range(n_repeats):
        splitter = kind(n_folds, shuffle=True, random_state=rng)
        for train, test in splitter.split(codes, codes, units):
            if len(test):
                yield train, test


@given(any_designs(), st.booleans())
def test_exchanges_are_those_of_earlier_versions(drawn, of_two_groups):
    design, _ = drawn
    members = (0, 1) if of_two_groups else None
    labels = (design.group, design.site, design.pair, design.person, design.block)
    rows = np.flatnonzero(_old_codes(design.group) < (2 if of_two_groups else 3))
    codes = (None if column is None else _old_codes(column)[rows] for column in labels)
    old = [[rows[units] for units in kind] for kind in _old_exchange(*codes)]
    new = design.exchange(members)
    for mine, theirs in zip((new.sets, new.stacks), old, strict=True):
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(one, other)
    first, second = (np.random.default_rng(0) for _ in range(2))
    for _ in range(3):
        np.testing.assert_array_equal(new.draw(first), _old_draw(design.n, *old, second))


@given(any_designs(), st.integers(0, 2**31))
def test_parts_are_those_of_earlier_versions(drawn, seed):
    design, _ = drawn
    group_sites = [one for one in (design.group, design.site) if one is not None]
    both = np.array(["\n".join(cells) for cells in zip(*group_sites, strict=True)])
    units = _old_units_of_cohort(design)
    for balanced, strata in ((("site",), design.site), (("group", "site"), both)):
        for n_parts in (2, 10):
            old = _old_deal(np.random.default_rng(seed), design.n, n_parts, strata, units)
            new = design.deal(np.random.default_rng(seed), n_parts, balanced)
            np.testing.assert_array_equal(new, old)


@pytest.mark.filterwarnings("ignore:The least populated class")
@given(any_designs(), st.integers(0, 2**31))
def test_folds_are_those_of_earlier_versions(drawn, seed):
    design, _ = drawn
    codes, units = _old_codes(design.group), _old_codes(_old_units_of_cohort(design))
    assert design.usual_folds == _old_count_folds(codes, units)
    if np.bincount(codes).max() < 2 or design.n_units < 2:
        return
    n_folds = design.usual_folds or 2
    old = _old_folds(codes, units, n_folds, 2, seed)
    for mine, theirs in zip(design.folds(n_folds, seed, 2), old, strict=True):
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(one, other)


@given(any_designs())
def test_units_are_those_of_earlier_cohorts_and_mostly_of_earlier_tests(drawn):
    design, _ = drawn
    np.testing.assert_array_equal(design.units, _old_units_of_cohort(design))
    if design.pair is None:
        np.testing.assert_array_equal(design.codes("units"), _old_units_of_tests(design))


def test_pairs_that_a_person_links_are_one_unit():
    """Earlier tests of differences took the first kind of label only."""
    design = Design.of(range(4), group=list("xyxy"), pair=list("ppqq"), person=list("abbc"))
    assert design.unit_codes.tolist() == [0, 0, 0, 0]
    assert _old_units_of_tests(design).tolist() == [0, 0, 1, 1]


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
