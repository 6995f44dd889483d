from dataclasses import replace

import numpy as np
import pytest

from sgbn import DataWarning, InputError, simulate_cohort
from sgbn.inference.difference_input import check_pairs, read_group_data
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
            "n_permutations is 5: .* fewer than 19, and .* fewer than 20",
        ),
        (lambda X, y: (X, y), {"alternative": "more"}, "alternative is 'more'; give 'two-sided'"),
        (lambda X, y: (X.assign(r1=X["r1"].where(y == "NC", 1.0)), y), {}, "r1.*group 'MCI'"),
        (lambda X, y: (X, np.arange(120) % 3), {"alternative": "less"}, "by pairs"),
        (lambda X, y: (X, np.arange(120) % 3), {"pairs": np.arange(120)}, "once in every group"),
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
            "nothing can be exchanged",
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
    with pytest.raises(InputError, match="is missing in row"):
        edge_differences(cohort)


def test_very_unequal_groups_are_warned_about(two_groups):
    X, y = two_groups(70)
    with pytest.warns(DataWarning, match="decided by the smaller"):
        edge_differences(X[58:], y[58:], n_permutations=19)


def test_whole_numbers_may_be_floats(data):
    found = edge_differences(*data, n_permutations=19.0)
    np.testing.assert_array_equal(found.edges, edge_differences(*data, n_permutations=19).edges)


def test_rows_that_can_hardly_be_exchanged_are_warned_about_and_give_no_small_p(data):
    X, y = data
    sites = np.where(np.isin(np.arange(120), [0, 60]), "both", y)
    with pytest.warns(DataWarning, match="exchanged in 2 ways only"):
        found = edge_differences(X, y, sites=sites, n_permutations=39)
    assert found.edges["p_fwer"].min() > 0.2
    assert found.global_p > 0.2


def test_the_reference_comes_first(data):
    plain, turned = (
        edge_differences(*data, n_permutations=19, reference=name) for name in ("MCI", None)
    )
    assert (plain.groups, turned.groups) == (("MCI", "NC"), ("NC", "MCI"))
    np.testing.assert_allclose(turned.edges["statistic"], -plain.edges["statistic"])
    np.testing.assert_allclose(turned.edges["weight_NC"], plain.edges["weight_NC"])
    np.testing.assert_allclose(turned.edges["difference"], -plain.edges["difference"])


def test_persons_whose_rows_cannot_move_are_counted(data):
    X, y = data
    persons = np.where(np.arange(120) < 20, np.arange(120) // 2, np.arange(120))
    persons = np.where(np.arange(120) > 79, 200 + np.arange(120) // 4, persons)
    with pytest.warns(DataWarning, match="60 of 120 rows cannot change groups"):
        edge_differences(X, y, persons=persons, n_permutations=19)


def test_a_cohort_brings_its_persons_and_families():
    drawn = simulate_cohort(30, regions=4)
    person = [f"{one}{k // 2}" for k, one in enumerate(drawn.group)]
    labels = {"person": np.array(person), "block": np.array([f"f{k // 4}" for k in range(60)])}
    cohort = replace(drawn, **labels)
    data = read_group_data(cohort, None, None, None, None)
    for codes, own in ((data.persons, labels["person"]), (data.families, labels["block"])):
        np.testing.assert_array_equal(np.unique(own)[codes], own)
    plain, with_persons = (edge_differences(one, n_permutations=39) for one in (drawn, cohort))
    assert not np.array_equal(plain.null["lowest"], with_persons.null["lowest"])


@pytest.mark.parametrize(
    ("ids", "codes", "message"),
    [
        ("xyzzxw", [0, 0, 0, 1, 1, 1], "once in every group: 'w', 'y'"),
        ("xyzzxy", [0, 0, 1, 1, 2, 2], "once in every group: 'x', 'y', 'z'"),
    ],
)
def test_half_pairs_are_refused(ids, codes, message):
    with pytest.raises(InputError, match=message):
        check_pairs(list(ids), np.array(codes))
