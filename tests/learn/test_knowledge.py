import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.codes import refused, warned

from sgbn.core.graph import is_dag
from sgbn.learn.knowledge import KNOWLEDGE, read_knowledge
from sgbn.learn.sgbn import SGBN
from sgbn.paper.or_sgbn import ORSGBN

NAMES = ["hippocampus", "insula", "cuneus", "FDG"]


def test_names_indices_and_tiers_mean_the_same():
    by_name = read_knowledge([("insula", "cuneus")], [("FDG", "insula")], None, NAMES)
    by_index = read_knowledge([(1, 2)], np.array([[3, 1]]), None, NAMES)
    assert all(np.array_equal(a, b) for a, b in zip(by_name, by_index, strict=True))
    assert not by_name.allowed[1, 2]
    assert not by_name.allowed[1, 3]  # against a required edge
    assert by_name.required.sum() == by_name.required[3, 1] == 1
    listed = read_knowledge(None, None, [["FDG"], ["insula", 2]], NAMES)
    mapped = read_knowledge(None, None, {"insula": 2005, 2: 2005, "FDG": 1990}, NAMES)
    assert np.array_equal(listed.allowed, mapped.allowed)
    assert not listed.allowed[[1, 2], 3].any()
    assert listed.allowed[3, [1, 2]].all()
    assert listed.allowed[1, 2]
    assert listed.allowed[1, 0]
    assert listed.allowed[0, 3]


@pytest.mark.parametrize(
    ("knowledge", "code"),
    [
        ({"forbidden": [("insula", "FDG")], "required": [("insula", "FDG")]}, "required.forbidden"),
        ({"required": [("insula", "FDG")], "tiers": [["FDG"], ["insula"]]}, "required.tiers"),
        ({"required": [(0, 1), (1, 2), (2, 0)]}, "required.cycle"),
        ({"required": [(0, 1), (1, 0)]}, "required.cycle"),
        ({"forbidden": [("isnula", "FDG")]}, "columns.unknown"),
        ({"required": [(0, 4)]}, "columns.outside"),
        ({"required": [(0, -1)]}, "columns.outside"),
        ({"required": [(2, 2)]}, "edges.loop"),
        ({"required": ["FDG"]}, "edges.pair"),
        ({"required": [(0, 1, 2)]}, "edges.pair"),
        ({"required": 5}, "edges.list"),
        ({"forbidden": iter([(0, 1)])}, "edges.list"),
        ({"tiers": 5}, "tiers.list"),
        ({"tiers": ["FDG", "insula"]}, "tiers.list"),
        ({"tiers": [["FDG"], ["FDG"]]}, "tiers.twice"),
        ({"tiers": {0: ["FDG"], 1: ["insula"]}}, "tiers.number"),
        ({"tiers": {"FDG": np.nan}}, "tiers.number"),
        ({"tiers": {"FDG": "10", "insula": "9"}}, "tiers.number"),
    ],
)
def test_contradictions_and_slips_are_refused(knowledge, code):
    with refused(code):
        read_knowledge(*map(knowledge.get, KNOWLEDGE), NAMES)


@pytest.mark.parametrize(
    "learner",
    [
        SGBN,
        lambda **knowledge: SGBN(noise="equal", **knowledge),
        lambda **knowledge: SGBN(weights="lasso", alpha=0.05, **knowledge),
        lambda **knowledge: ORSGBN(0.05, **knowledge),
        lambda **knowledge: ORSGBN(0.05, init="l1mb", path="literal", **knowledge),
        lambda **knowledge: ORSGBN("bic", init="ols", **knowledge),
    ],
)
@settings(max_examples=settings.default.max_examples // 12)
@given(seed=st.integers(0, 10**6))
def test_what_is_learned_keeps_to_the_knowledge(learner, seed):
    rng = np.random.default_rng(seed)
    m = 8
    X = rng.standard_normal((60, m)) @ rng.uniform(-1, 1, (m, m))
    order = rng.permutation(m)
    pairs = [(order[i], order[j]) for i in range(m) for j in range(i + 1, m)]
    chosen = rng.permutation(len(pairs))
    required = [pairs[k] for k in chosen[:3]]
    forbidden = [pairs[k] for k in chosen[3:8]] + [pairs[k][::-1] for k in chosen[8:12]]
    tiers = [order[:2].tolist(), order[4:].tolist()]
    coef = learner(required=required, forbidden=forbidden, tiers=tiers).fit(X).coef_
    assert is_dag(coef)
    assert all(coef[i, j] != 0 for i, j in required)
    assert all(coef[i, j] == 0 for i, j in forbidden)
    assert not coef[np.ix_(order[4:], order[:2])].any()


def test_knowledge_that_the_truth_agrees_with_does_no_harm_and_orients(simulate):
    X, _ = simulate(12, 400, 3)
    regions = [f"r{k}" for k in range(12)]
    table = pd.DataFrame(X, columns=regions)
    free = SGBN().fit(table)
    reversible = np.flatnonzero(free.edge_kinds_ == "reversible")
    assert reversible.size
    i, j = np.argwhere(free.coef_)[reversible[0]]
    turned = SGBN(required=[(regions[j], regions[i])]).fit(table)
    assert turned.coef_[j, i] != 0
    assert turned.coef_[i, j] == 0
    assert turned.score_ == pytest.approx(free.score_, abs=1e-6)  # nothing in the data says no
    place = [tuple(edge) for edge in np.argwhere(turned.coef_)].index((j, i))
    assert turned.edge_kinds_[place] == "prior knowledge"
    assert turned.cpdag_[j, i]
    assert not turned.cpdag_[i, j]
    assert (free.cpdag_ | free.cpdag_.T).tolist() == (turned.cpdag_ | turned.cpdag_.T).tolist()


def test_numbers_that_are_column_labels_are_labels():
    names = ["4", "3", "2", "1"]
    assert np.argwhere(read_knowledge(None, [(3, 2)], None, names).required).tolist() == [[1, 2]]
    joined = ["L/insula", "R/insula"]
    edge = [(("L", "insula"), ("R", "insula"))]
    assert read_knowledge(None, edge, None, joined).required[0, 1]


def test_columns_in_no_tier_are_told():
    with warned("tiers.free"):
        read_knowledge(None, None, [["insula"], ["FDG"]], NAMES)
    tiers = pd.Series([1, 1, 2, 2], index=NAMES)
    assert not read_knowledge(None, None, tiers, NAMES).allowed[2:, :2].any()


def test_collinear_required_parents_get_the_smallest_weights(simulate):
    X, _ = simulate(4, 100, 1)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    with warned("parents.collinear"):
        coef = SGBN(required=[(0, 2), (1, 2), (4, 2)]).fit(X).coef_
    residual = X[:, 2] - X @ coef[:, 2]
    best = np.linalg.lstsq(np.column_stack([X[:, :2], np.ones(100)]), X[:, 2])[1]
    if not coef[3, 2]:
        assert np.sum((residual - residual.mean()) ** 2) == pytest.approx(float(best[0]), rel=1e-6)


def test_required_edges_in_noise_are_not_compelled():
    X = np.random.default_rng(0).standard_normal((300, 3))
    learner = SGBN(required=[(0, 2), (1, 2)]).fit(X)
    assert learner.edge_kinds_.tolist() == ["prior knowledge"] * 2


def test_more_required_parents_than_allowed_is_an_error(simulate):
    X, _ = simulate(6, 40, 0)
    with refused("required.many"):
        SGBN(max_parents=2, required=[(0, 5), (1, 5), (2, 5)]).fit(X)


def test_what_is_known_of_some_columns_is_a_part_of_what_is_known():
    known = read_knowledge([(1, 2)], [(3, 1)], None, NAMES).among(np.array([3, 2, 1]))
    assert np.argwhere(known.required).tolist() == [[0, 2]]
    assert not known.allowed[2, 1]
    assert known.allowed[1, 2]
