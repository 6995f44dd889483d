from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.codes import refused

from sgbn.cohort.simulate import simulate_cohort
from sgbn.inference.difference_input import check_pairs, read_group_data, without_outliers
from sgbn.inference.differences import edge_differences

ROWS = np.arange(120)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda X, y: (X, None), "groups.none"),
        (lambda X, y: (X, np.repeat("a", len(y))), "groups.one"),
        (lambda X, y: (X[51:], y[51:]), "groups.small"),
        (lambda X, y: (X, y[1:]), "labels.count"),
        (lambda X, y: (X.assign(r1=X["r1"].where(y == "NC", 1.0)), y), "regions.constant"),
        (lambda X, y: (X, pd.Series(y, index=X.index)[::-1]), "rows.order"),
        (lambda X, y: (X.assign(copy=3 * X["r1"] + 2), y), "columns.copies"),
        (lambda X, y: (simulate_cohort(30, regions=6, missing=0.05),), "cells.gaps"),
    ],
)
def test_rows_that_cannot_be_tested_are_refused(data, change, code):
    with refused(code):
        edge_differences(*change(*data))


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"n_permutations": 5}, "permutations.few"),
        ({"n_permutations": 99.5}, "argument"),
        ({"random_state": -1}, "argument"),
        ({"alternative": "more"}, "argument"),
        ({"outliers": "all"}, "argument"),
        ({"outliers": np.zeros(5, bool)}, "rows.mask"),
        ({"reference": "mci"}, "groups.unknown"),
        ({"groups": ROWS % 3, "alternative": "less"}, "alternative.groups"),
        ({"groups": ROWS % 3, "pairs": ROWS}, "pairs.incomplete"),
        ({"pairs": ROWS[:60]}, "labels.count"),
        ({"persons": ROWS % 60}, "persons.groups"),
        ({"persons": ROWS // 2, "blocks": ROWS % 2}, "persons.blocks"),
        ({"persons": ROWS // 10}, "groups.small"),
        ({"blocks": np.where(ROWS < 60, 0, ROWS // 2)}, "exchange.none"),
        ({"sites": [0] * 60 + [1] * 60}, "exchange.none"),
        ({"sites": ["a", None] * 60}, "labels.missing"),
        ({"covariates": {"age": [1.0, 2.0]}}, "labels.count"),
        ({"covariates": np.ones(120)}, "covariates.type"),
        ({"edges": [("r1", "r2"), ("r2", "r1")]}, "edges.twice"),
        ({"edges": [("r9", "r1")]}, "regions.unknown"),
        ({"edges": [("r1", "r1")]}, "edges.loop"),
        ({"edges": ["r1"]}, "edges.pair"),
        ({"among": ["r9"]}, "among.unknown"),
        ({"among": ["r1"]}, "among.one"),
    ],
)
def test_designs_that_cannot_be_tested_are_refused(data, options, code):
    X, y = data
    with refused(code):
        edge_differences(X, **{"groups": y} | options)


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
    ("ids", "codes", "wrong"),
    [("xyzzxw", [0, 0, 0, 1, 1, 1], "wy"), ("xyzzxy", [0, 0, 1, 1, 2, 2], "xyz")],
)
def test_half_pairs_are_refused(ids, codes, wrong):
    with refused("pairs.incomplete") as caught:
        check_pairs(list(ids), np.array(codes))
    assert caught.value.problem.values["persons"] == list(wrong)


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


def test_a_person_is_left_out_with_all_rows(data):
    X, y = data
    X = X.copy()
    X.iloc[3] *= 50
    _, left_out = without_outliers(read_group_data(X, y, persons=np.arange(120) // 2), "trim")
    assert left_out == {"MCI": (), "NC": (2, 3)}


def test_pairs_that_a_person_links_are_one_unit():
    X, groups = np.zeros((6, 2)), ["a", "b"] * 3
    data = read_group_data(X, groups, pairs=list("ppqqrr"), persons=list("uvvwxy"))
    assert np.unique(data.units, return_inverse=True)[1].tolist() == [0, 0, 0, 0, 1, 1]
