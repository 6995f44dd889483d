from dataclasses import replace

import numpy as np
import pytest
from tests.codes import refused, warned

from sgbn.core.problems import InputError, Problem, StudyError
from sgbn.inference import replication
from sgbn.inference.differences import edge_differences
from sgbn.inference.replication import _said_of, _table, replicate_differences, replication_rows

B = 39


def find(cohort, held_back="half", **more):
    return replicate_differences(cohort, held_back, **{"n_permutations": B} | more)


@pytest.fixture(scope="module")
def found(changed):
    return find(changed)


def test_a_planted_change_is_discovered_and_confirmed(found):
    edge = found.confirmed[0]
    assert {edge["source"], edge["target"]} == {"r2", "r3"}
    assert edge["p"] <= 1 / (B + 1)  # the confirmation has more permutations, for Holm's method
    assert edge["p_holm"] == len(found.table) * edge["p"]
    assert edge["same_sign"]
    assert edge["holds_both_ways"]
    assert found.same_sign == found.table["same_sign"].mean()
    assert f"{edge['source']} – {edge['target']}" in found.words


def test_sizes_are_those_of_the_parts(found):
    assert found.sizes == {
        "discovery": {"MCI": 60, "NC": 60},
        "confirmation": {"MCI": 60, "NC": 60},
    }


def test_a_difference_of_the_other_sign_is_not_confirmed(two_groups, make_cohort):
    X, y = two_groups(n=120, change=-1.4)
    other = np.tile([False, True], 120)
    X.loc[other, "r3"] += 2.8 * (y == "MCI")[other] * (X.loc[other, "r2"] - 3)
    found = find(make_cohort(X, y), other)
    (edge,) = found.table[:1]
    assert {edge["source"], edge["target"]} == {"r2", "r3"}
    assert not edge["same_sign"]
    assert not edge["confirmed"]
    assert edge["p"] == 1
    assert edge["p_holm"] == 1


def test_what_one_part_alone_shows_is_seldom_confirmed(two_groups, make_cohort):
    confirmed, discovered = 0, 0
    for seed in range(2):
        X, y = two_groups(seed=seed, n=80, change=-1.4)
        other = np.tile([False, True], 80)
        X.loc[other, "r3"] += 1.4 * (y == "MCI")[other] * (X.loc[other, "r2"] - 3)
        found = find(make_cohort(X, y), other, n_permutations=39)
        discovered += len(found.table)
        confirmed += len(found.confirmed)
    assert discovered >= 2
    assert confirmed <= 1  # 99.75 % of binomial draws at 5 % per cohort


def test_without_a_discovery_nothing_is_tested_again(two_groups, tmp_path, make_cohort):
    found = find(make_cohort(*two_groups(change=0)), n_permutations=19, folder=tmp_path)
    assert not len(found.table)
    assert np.isnan(found.same_sign)
    assert [path.name for path in tmp_path.iterdir()] == ["discovery"]


def test_more_than_two_groups_are_confirmed_two_sided(two_groups, make_cohort):
    X, y = two_groups(n=150, change=-1.4)
    y[::3] = "other"
    found = find(make_cohort(X, y), n_permutations=20)
    edge = found.confirmed[0]
    assert edge["p"] <= 1 / 39  # the confirmation has at least 38 permutations
    assert {edge["source"], edge["target"]} == {"r2", "r3"}


def test_each_part_is_prepared_by_itself_and_tested_once(changed, found, tmp_path):
    seen = []

    def prepare(part):
        seen.append(part.ids)
        return part

    first = find(changed, prepare=prepare, folder=tmp_path)
    assert len(seen) == 2
    assert not set(seen[0]) & set(seen[1])
    assert np.array_equal(first.table, found.table)
    done = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")}
    again = find(changed, folder=tmp_path)
    assert np.array_equal(first.table, again.table)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")} == done
    with pytest.raises(StudyError):
        find(changed, folder=tmp_path, random_state=1)


def test_errors_name_the_part_and_rows_are_marked_one_by_one(changed):
    with refused("rows.mask"):
        find(changed, [True, False, True])
    values = changed.values.copy()
    values[np.flatnonzero(replication_rows(changed, "half"))[0], 1] = np.nan
    with refused("part"):
        find(replace(changed, values=values))


def test_the_confirmation_has_permutations_for_all_discovered_edges(
    two_groups, monkeypatch, make_cohort
):
    X, y = two_groups(n=120, change=0)
    second = y == y[-1]
    X[second] = np.random.default_rng(0).permuted(X[second].to_numpy(), axis=0)  # no edge is left
    asked = []

    def recorded(*args, n_permutations, **more):
        asked.append(n_permutations)
        return edge_differences(*args, n_permutations=n_permutations, **more)

    monkeypatch.setattr(replication, "edge_differences", recorded)
    found = find(make_cohort(X, y), n_permutations=39)
    assert asked[0] == 39 < asked[1]
    assert len(found.table) / (asked[1] + 1) <= 0.05 < len(found.table) / 40
    assert len(found.confirmed) > 2


@pytest.fixture(scope="module")
def with_one_far_out(changed):
    values = changed.values.copy()
    values[[0, 1, 2, 3]] += 60 * np.array([1, -1] * 3)
    return replace(changed, values=values)


def test_subjects_left_out_are_named_and_not_counted(with_one_far_out):
    found = find(with_one_far_out, n_permutations=20)
    gone = [name for part in found.left_out.values() for names in part.values() for name in names]
    assert set(gone) == {"s0", "s1", "s2", "s3"}
    for part, sizes in found.sizes.items():
        for group, size in sizes.items():
            assert size == 60 - len(found.left_out[part][group])


def test_outliers_are_kept_if_told_so(with_one_far_out):
    found = find(with_one_far_out, outliers="keep", n_permutations=19)
    assert not any(names for part in found.left_out.values() for names in part.values())
    assert found.sizes["discovery"] == {"MCI": 60, "NC": 60}


def test_subjects_are_counted_not_their_rows(two_groups, make_cohort):
    X, y = two_groups(n=60)
    cohort = make_cohort(X, y, person=(np.arange(120) // 2).astype(str))
    sizes = find(cohort, n_permutations=19, outliers="keep").sizes
    assert sum(sizes["discovery"].values()) + sum(sizes["confirmation"].values()) == 60


def test_both_ways_is_of_both_parts(found):
    edges = np.zeros(3, [(name, float) for name in ("source", "target", "difference_std", "p")])
    both = [(name, float) for name in ("q", "q_both", "p_both", "p_greater", "p_less")]
    rows = np.zeros(3, [*edges.dtype.descr, *both])
    rows["difference_std"] = 1
    named = rows.copy()
    rows["q_both"], named["p_both"] = [0.01, 0.01, 0.2], [0.01, 0.2, 0.01]
    table = _table(rows, named, 0.05, 2)
    assert table["confirmed"].all()
    assert table["holds_both_ways"].tolist() == [True, False, False]
    table["source"] = table["target"] = "r"
    assert replace(found, table=table).words.count("(one way)") == 2


def test_warnings_before_an_error_are_not_lost():
    with warned("part") as caught, refused("part") as error, _said_of("discovery"):
        Problem("rows.few").warn("few rows")
        raise InputError("no.way")
    for told in (caught[0].message, error.value):
        assert told.problem.values["part"] == "discovery"


@pytest.mark.parametrize("poor", ["discovery", "confirmation"])
def test_a_curve_that_does_not_fit_a_part_is_linear_there(
    two_groups, monkeypatch, poor, make_cohort
):
    X, y = two_groups(n=120, change=-1.4)
    site = np.tile(["a", "a", "b", "b"], 60)
    few = site == ("b" if poor == "discovery" else "a")
    age = np.where(few, np.resize([30.0, 40, 50, 60, 70], 240).round(), np.linspace(20, 80, 240))
    age[few & (age == 70)] = 60
    cohort = make_cohort(X, y, site=site, covariates={"age": age}, smooth=("age",))
    tested, said = [], []

    def tests(part, **more):
        tested.append((part.smooth, len(said)))
        return edge_differences(part, **more)

    monkeypatch.setattr(replication, "edge_differences", tests)
    monkeypatch.setattr(replication, "give", lambda warning: said.append(warning.problem.values))
    find(cohort, "site=a", n_permutations=20)
    assert [smooth for smooth, _ in tested] == (
        [(), ("age",)] if poor == "discovery" else [("age",), ()]
    )
    assert (said[0]["part"], said[0]["cause"].code) == (poor, "smooth.part")
    assert tested[0][1] >= 1  # said before the first permutation


def test_halves_balance_groups_and_sites_and_depend_on_the_seed(changed):
    held_back = replication_rows(changed, "half", 3)
    for group in changed.groups:
        for site in "abc":
            own = held_back[(changed.group == group) & (changed.site == site)]
            assert abs(own.sum() - (~own).sum()) <= 1
    assert np.array_equal(held_back, replication_rows(changed, "half", 3))
    assert not np.array_equal(held_back, replication_rows(changed, "half", 4))


@pytest.mark.parametrize("label", ["pair", "person", "block"])
def test_persons_pairs_and_families_are_never_parted(two_groups, label, make_cohort):
    X, y = two_groups(n=60)
    k = np.arange(120)
    labels = {"pair": k % 60, "person": k // 2, "block": k % 40}[label].astype(str)
    cohort = make_cohort(X, y, **{label: labels})
    held_back = replication_rows(cohort, "half")
    assert not set(labels[held_back]) & set(labels[~held_back])
    assert 50 <= held_back.sum() <= 70
    with refused("replicate.persons"):
        replicate_differences(cohort, k != 0)


def test_rows_of_a_site_or_with_a_value_are_held_back(two_groups, make_cohort):
    X, y = two_groups(n=30)
    site, sex = np.tile(["NYU", "KKI"], 30), np.tile([1.0, 1.0, 2.0], 20)
    cohort = make_cohort(
        X, y, site=site, covariates={"sex": sex}, provenance={"site_column": "scanner"}
    )
    for how in ("site=NYU", "scanner=NYU"):
        assert np.array_equal(replication_rows(cohort, how), site == "NYU")
    for how in ("sex=2", "sex=2.0"):
        assert np.array_equal(replication_rows(cohort, how), sex == 2)


@pytest.mark.parametrize(
    ("how", "code"),
    [
        ("halves", "replicate.column"),
        ("sit=NYU", "replicate.column"),
        ("site=NYC", "replicate.value"),
        ("age=x", "replicate.value"),
        ("site=KKI", "replicate.few"),
    ],
)
def test_what_cannot_be_held_back_is_refused(two_groups, how, code, make_cohort):
    X, y = two_groups(n=30)
    site = np.array(["NYU"] * 22 + ["KKI"] * 8 + ["NYU"] * 26 + ["KKI"] * 4)
    age = np.tile([20.0, 30.0], 30)
    with refused(code):
        replication_rows(make_cohort(X, y, site=site, covariates={"age": age}), how)


def test_large_numbers_are_told_apart(two_groups, make_cohort):
    X, y = two_groups(n=30)
    scanner = np.tile([1000001.0, 1000002.0], 30)
    cohort = make_cohort(X, y, covariates={"scanner": scanner})
    for how in ("scanner=1000002", "scanner=1000002.0"):
        assert np.array_equal(replication_rows(cohort, how), scanner == 1000002)
    with refused("replicate.value"):
        replication_rows(cohort, "scanner=1000003")


@pytest.mark.parametrize(("gap", "value"), [(np.nan, 1.0), ("", "F")])
def test_rows_without_a_value_belong_to_no_part(two_groups, gap, value, make_cohort):
    X, y = two_groups(n=30)
    column = np.array([value, 2 * value] * 30)
    column[[3, 7, 40]] = gap
    cohort = make_cohort(X, y, covariates={"sex": column})
    with refused("replicate.missing"):
        replication_rows(cohort, f"sex={value}")
