from types import SimpleNamespace

import numpy as np
import pytest

from sgbn.experiments.calibration_sums import SUMS, SumScore, score_sums
from sgbn.inference.difference_summaries import Component

LOBES = ("front", "front", "back")


def table(*columns, names):
    kinds = [(name, float if name == "p_fwer" else object) for name in names]
    return np.array(list(zip(*columns, strict=True)), kinds)


@pytest.fixture
def tests():
    """Found: what goes into c, the strength front -> back, and the component a -> c."""
    kinds, regions = ["in"] * 3 + ["out"] * 3, ["a", "b", "c"] * 2
    ends = [(s, t) for s in ("back", "front") for t in ("back", "front")] * 2
    return SimpleNamespace(
        regions=("a", "b", "c"),
        hubs=table(kinds, regions, [1, 1, 0.01, 1, 1, 1], names=("kind", "region", "p_fwer")),
        lobes=table(
            *zip(*ends, strict=True),
            ["strength"] * 4 + ["number"] * 4,
            [1, 1, 0.05, 1, 1, 1, 1, 1],
            names=("source", "target", "kind", "p_fwer"),
        ),
        components=[
            (Component(1, np.array([[0, 2]]), 2.0), 0.02, 0.01),
            (Component(-1, np.array([[0, 1]]), 0.1), 0.6, 0.01),
        ],
    )


def unequal(*edges):
    marked = np.zeros((3, 3), bool)
    for i, j in edges:
        marked[i, j] = True
    return marked


def test_all_finds_are_false_where_weights_are_equal(tests):
    assert score_sums(tests, unequal(), LOBES) == SumScore(*[True] * 8)


def test_a_find_with_an_unequal_edge_is_not_false(tests):
    score = score_sums(tests, unequal((0, 2)), LOBES)
    assert score == SumScore(*[True] * 4, *[False] * 4)


def test_an_unequal_edge_elsewhere_excuses_nothing(tests):
    score = score_sums(tests, unequal((0, 1), (2, 1)), LOBES)
    assert score == SumScore(*[True] * 8)
    beside = score_sums(tests, unequal((1, 2)), LOBES)  # in the hub and the lobes, no component
    assert (beside.false_hubs, beside.false_lobes, beside.false_components) == (False, False, True)


def test_numbers_of_edges_are_no_strength(tests):
    tests.lobes["p_fwer"] = np.roll(tests.lobes["p_fwer"], 4)
    score = score_sums(tests, unequal(), LOBES)
    assert (score.lobes, score.strength) == (True, False)
    assert (score.false_lobes, score.false_strength) == (True, False)


def test_every_sum_has_a_field_and_its_false_one():
    assert {*SUMS} | {f"false_{field}" for field in SUMS} == {*SumScore._fields}
