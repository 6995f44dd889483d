from dataclasses import replace

import numpy as np
import pytest

from sgbn.inference.difference_input import read_group_data
from sgbn.inference.difference_problem import fingerprint, lobe_numbers
from sgbn.inference.differences import problem_of
from sgbn.learn.sgbn import SGBN

ROWS = 30


@pytest.fixture(scope="module")
def group_data(two_groups):
    X, y = two_groups(ROWS)
    rng = np.random.default_rng(0)
    covariates = {"a": rng.normal(size=2 * ROWS), "b": rng.choice(["f", "m"], 2 * ROWS)}
    return read_group_data(X, y, covariates, np.arange(2 * ROWS) % 2, None)


def make_problem(data):
    return problem_of(data, SGBN(n_kicks=0), separate=True, alternative="two-sided")


@pytest.fixture(scope="module")
def plain(group_data):
    return fingerprint(make_problem(group_data), SGBN(n_kicks=0))


def test_the_same_data_and_learner_have_one_fingerprint(group_data, plain):
    assert fingerprint(make_problem(group_data), SGBN(n_kicks=0)) == plain


def test_regions_without_a_lobe_are_in_none():
    lobes = ("b", "unknown", "a", "b")
    assert lobe_numbers(lobes).tolist() == [1, -1, 0, 1]


@pytest.mark.parametrize(
    "change",
    [
        lambda d: {"values": d.values + 1e-4 * np.eye(*d.values.shape)},
        lambda d: {"sites": d.sites[::-1]},
        lambda d: {"pairs": np.tile(np.arange(ROWS), 2)},
        lambda d: {"covariates": {"a": d.covariates["a"], "b": d.covariates["b"][::-1]}},
        lambda d: {"covariates": {"b": d.covariates["b"], "a": d.covariates["a"]}},
        lambda d: {"covariates": {"a": d.covariates["a"], "c": d.covariates["b"]}},
        lambda d: {"lobes": (*d.lobes[:-1], "other")},
        lambda d: {"regions": (*d.regions[:-1], "other")},
        lambda d: {"groups": ("AD", "NC")},
    ],
)
def test_every_part_of_the_data_is_in_the_fingerprint(group_data, plain, change):
    changed = replace(group_data, **change(group_data))
    assert fingerprint(make_problem(changed), SGBN(n_kicks=0)) != plain


def test_long_parameters_are_in_the_fingerprint(group_data):
    problem = make_problem(group_data)
    pairs = [(f"r{i}", f"r{j}") for i in range(6) for j in range(i)] * 40
    first, second = (SGBN(forbidden=[*pairs[:300], own, *pairs[300:]]) for own in pairs[:2])
    assert repr(first) == repr(second)  # cut
    assert fingerprint(problem, first) != fingerprint(problem, second)
