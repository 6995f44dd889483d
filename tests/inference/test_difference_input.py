from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.problems import InputError
from sgbn.inference.difference_input import check_pairs, read_group_data, without_outliers
from sgbn.inference.differences import edge_differences


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda X, y: (X, None), {}, "no groups"),
        (lambda X, y: (X, np.repeat("a", len(y))), {}, "one group"),
        (lambda X, y: (X[51:], y[51:]), {}, "'NC' has 9 subjects"),
        (
            lambda X, y: (X, y),
            {"n_permutations": 5},
            "n_permutations is 5.* at least 19 .* at least 20",
        ),
        (lambda X, y: (X, y), {"alternative": "more"}, "alternative is 'more'; give 'two-sided'"),
        (lambda X, y: (X.assign(r1=X["r1"].where(y == "NC", 1.0)), y), {}, "group 'MCI'.*r1"),
        (lambda X, y: (X, np.arange(120) % 3), {"alternative": "less"}, "two groups at a time"),
        (lambda X, y: (X, np.arange(120) % 3), {"pairs": np.arange(120)}, "in every group"),
        (lambda X, y: (X, y), {"pairs": np.arange(60)}, r"pairs has shape \(60,\)"),
        (lambda X, y: (X, y), {"persons": np.arange(60)}, r"persons has shape \(60,\)"),
        (lambda X, y: (X, y), {"persons": np.arange(120) % 60}, "several groups.*pairs="),
        (
            lambda X, y: (X, y),
            {"persons": np.arange(120) // 2, "blocks": np.arange(120) % 2},
            "several blocks",
        ),
        (lambda X, y: (X, y), {"persons": np.arange(120) // 10}, "has 6 persons"),
        (
            lambda X, y: (X, y),
            {"blocks": np.where(np.arange(120) < 60, 0, np.arange(120) // 2)},
            "no rows can be exchanged",
        ),
        (lambda X, y: (X, y[1:]), {}, r"groups has shape \(119,\)"),
        (lambda X, y: (X, y), {"sites": ["a", None] * 60}, "sites is missing in row 1"),
        (lambda X, y: (X, y), {"sites": [0] * 60 + [1] * 60}, "no site has subjects of two groups"),
        (lambda X, y: (X, y), {"random_state": None}, "random_state is None"),
        (lambda X, y: (X, y), {"random_state": -1}, "random_state is -1"),
        (
            lambda X, y: (X, y),
            {"n_permutations": 99.5},
            "n_permutations is 99.5; give a whole number",
        ),
        (lambda X, y: (X, y), {"n_permutations": np.nan}, "n_permutations is nan; give"),
        (lambda X, y: (X, y), {"n_permutations": "39"}, "n_permutations is '39'; give a whole"),
        (lambda X, y: (X, y), {"covariates": {"age": [1.0, 2.0]}}, "'age' has shape"),
        (lambda X, y: (X, y), {"covariates": np.ones(120)}, "covariates is a ndarray"),
        (lambda X, y: (X, y), {"reference": "mci"}, "no group is called 'mci'.*'MCI'"),
    ],
)
def test_what_cannot_be_tested_is_refused(data, change, options, message):
    X, y = change(*data)
    with pytest.raises(InputError, match=message):
        edge_differences(X, y, **options)


def test_missing_cells_are_named():
    cohort = simulate_cohort(30, regions=6, missing=0.05)
    with pytest.raises(InputError, match="is missing or infinite in row"):
        edge_differences(cohort)


def test_the_reference_comes_first(data):
    plain, turned = (
        edge_differences(*data, n_permutations=19, reference=name) for name in ("MCI", None)
    )
    assert (plain.groups, turned.groups) == (("MCI", "NC"), ("NC", "MCI"))
    np.testing.assert_allclose(turned.edges["statistic"], -plain.edges["statistic"])
    np.testing.assert_allclose(turned.edges["weight_NC"], plain.edges["weight_NC"])
    np.testing.assert_allclose(turned.edges["difference"], -plain.edges["difference"])


def test_a_cohort_brings_its_persons_and_families():
    drawn = simulate_cohort(30, regions=4)
    person = [f"{one}{k // 2}" for k, one in enumerate(drawn.group)]
    labels = {"person": np.array(person), "block": np.array([f"f{k // 4}" for k in range(60)])}
    cohort = replace(drawn, **labels)
    data = read_group_data(cohort, None, None, None, None)
    for codes, own in ((data.persons, labels["person"]), (data.families, labels["block"])):
        np.testing.assert_array_equal(np.unique(own)[codes], own)
    plain, with_persons = (edge_differences(one, n_permutations=19) for one in (drawn, cohort))
    assert not np.array_equal(plain.null["lowest"], with_persons.null["lowest"])


@pytest.mark.parametrize(
    ("ids", "codes", "message"),
    [
        ("xyzzxw", [0, 0, 0, 1, 1, 1], "in every group.* 'w', 'y'"),
        ("xyzzxy", [0, 0, 1, 1, 2, 2], "in every group.* 'x', 'y', 'z'"),
    ],
)
def test_half_pairs_are_refused(ids, codes, message):
    with pytest.raises(InputError, match=message):
        check_pairs(list(ids), np.array(codes))


def test_rows_far_out_are_left_out_and_named(data):
    X, y = data
    X = X.copy()
    X.iloc[[3, 70]] *= 50
    found = edge_differences(X, y, n_permutations=19)
    assert found.left_out == {"MCI": (70,), "NC": (3,)}
    without = edge_differences(X.drop(index=[3, 70]), np.delete(y, [3, 70]), n_permutations=19)
    np.testing.assert_allclose(found.edges["statistic"], without.edges["statistic"], rtol=1e-9)
    group_data = read_group_data(X, y)
    assert without_outliers(group_data, "keep") == (group_data, {"MCI": (), "NC": ()})
    far = np.zeros(len(y), bool)
    far[[3, 70]] = True
    chosen = edge_differences(X, y, n_permutations=19, outliers=far)
    np.testing.assert_array_equal(chosen.edges, found.edges)
    with pytest.raises(InputError, match="outliers is 'all'; give 'trim', 'keep' or True or False"):
        edge_differences(X, y, outliers="all")
    with pytest.raises(InputError, match="True or False for each of 120 rows"):
        edge_differences(X, y, outliers=far[:5])


def test_a_person_is_left_out_with_all_visits(data):
    X, y = data
    X = X.copy()
    X.iloc[3] *= 50
    _, left_out = without_outliers(read_group_data(X, y, pairs=np.tile(np.arange(60), 2)), "trim")
    assert left_out == {"MCI": (63,), "NC": (3,)}


def test_permutations_of_two_groups_leave_the_others_in_place():
    data = read_group_data(
        np.random.default_rng(0).normal(size=(60, 3)), np.repeat([0, 1, 2], 20), None, None, None
    )
    rows = data.exchange((0, 2)).draw(np.random.default_rng(0))
    np.testing.assert_array_equal(rows[20:40], np.arange(20, 40))
    assert (rows[:20] >= 40).any()
    assert sorted(rows) == list(range(60))


def test_labels_in_another_order_than_the_table_are_refused(data):
    X, y = data
    labels = pd.Series(y, index=X.index)
    with pytest.raises(InputError, match=r"index of groups has the rows .* in another order"):
        edge_differences(X, labels[::-1])
    assert len(read_group_data(X, labels).codes) == len(y)


def test_a_person_is_left_out_with_all_rows(data):
    X, y = data
    X = X.copy()
    X.iloc[3] *= 50
    _, left_out = without_outliers(read_group_data(X, y, persons=np.arange(120) // 2), "trim")
    assert left_out == {"MCI": (), "NC": (2, 3)}
