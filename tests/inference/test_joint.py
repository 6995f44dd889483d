import numpy as np
import pandas as pd
import pytest
from tests.codes import refused

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.graph import is_dag
from sgbn.inference.differences import edge_differences
from sgbn.inference.joint import POOLED_GAMMA, JointSGBN, SharedOrder, regressions
from sgbn.learn.base import fit_weights
from sgbn.learn.sgbn import SGBN
from sgbn.paper.or_sgbn import ORSGBN


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(80, regions=12, differ="edges")


def test_all_groups_have_the_same_edges_and_their_own_least_squares_weights(cohort):
    table = pd.DataFrame(cohort.values, columns=cohort.regions)
    joint = JointSGBN().fit(table, cohort.group)
    assert is_dag(joint.parents_)
    for group, network in joint.networks_.items():
        own = fit_weights(table[cohort.group == group], joint.parents_)
        np.testing.assert_array_equal(network.coef != 0, joint.parents_)
        np.testing.assert_allclose(network.coef, own.coef, rtol=1e-6)
        np.testing.assert_allclose(network.intercept, own.intercept, rtol=1e-6)
        np.testing.assert_allclose(network.noise_variance, own.noise_variance, rtol=1e-6)
        assert list(network.names) == list(cohort.regions)


def test_the_order_puts_parents_first(cohort):
    joint = JointSGBN().fit(cohort.values, cohort.group)
    place = np.argsort(joint.order_)
    sources, targets = np.nonzero(joint.parents_)
    assert (place[sources] < place[targets]).all()


def test_an_edge_that_cancels_in_the_pool_is_seen_by_the_groups():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.repeat(["a", "b"], 100)
    X[:, 2] += np.where(y == "a", 1, -1) * X[:, 0]
    together = JointSGBN(separate_parents=False).fit(X, y).parents_
    joint = JointSGBN().fit(X, y).parents_
    assert not (together | together.T)[0, 2]
    assert (joint | joint.T)[0, 2]


@pytest.fixture(scope="module")
def many():
    """Thirty regions, of which several are of the same level in the order."""
    cohort = simulate_cohort(60, regions=30, differ="edges", random_state=1)
    return pd.DataFrame(cohort.values, columns=cohort.regions), cohort.group


def weights_by_name(joint, group):
    network = joint.networks_[group]
    return {(e["source"], e["target"]): e["weight"] for e in network.edges()}


def test_edges_and_weights_do_not_depend_on_the_order_of_the_columns(many):
    table, groups = many
    learner = SGBN(n_kicks=0)
    joint = JointSGBN(learner).fit(table, groups)
    for seed in range(2):
        shuffled = table[np.random.default_rng(seed).permutation(table.columns)]
        other = JointSGBN(learner).fit(shuffled, groups)
        names = shuffled.columns[other.order_]
        assert names.tolist() == table.columns[joint.order_].tolist()
        for group in joint.classes_:
            expected = weights_by_name(joint, group)
            assert weights_by_name(other, group) == pytest.approx(expected, rel=1e-8)


def test_tests_of_differences_do_not_depend_on_the_order_of_the_columns(many):
    table, groups = many
    found = []
    for columns in (table.columns, np.random.default_rng(0).permutation(table.columns)):
        options = {"learner": SGBN(n_kicks=0), "n_permutations": 19}
        edges = edge_differences(table[columns], groups, **options).edges
        found.append({(e["source"], e["target"]): (e["statistic"], e["p_fwer"]) for e in edges})
    assert found[0].keys() == found[1].keys()
    for edge, numbers in found[0].items():
        assert found[1][edge] == pytest.approx(numbers, rel=1e-8)


def test_two_regions_that_correlate_alike_have_an_order_of_their_own():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 100)
    table = pd.DataFrame(rng.normal(size=(200, 2)), columns=["first", "second"])
    table["second"] += np.where(y == "a", 1, -1) * table["first"]  # cancels in the pool
    ways = [
        JointSGBN().fit(table[names], y) for names in (["first", "second"], ["second", "first"])
    ]
    edges = [list(weights_by_name(joint, "a")) for joint in ways]
    assert len(edges[0]) == 1
    assert edges[0] == edges[1]


def test_prior_knowledge_holds_for_the_parents_of_all_groups(cohort):
    table = pd.DataFrame(cohort.values, columns=cohort.regions)
    free = JointSGBN().fit(table, cohort.group).parents_
    i, j = np.argwhere(free)[0]
    absent = np.argwhere(~(free | free.T) & ~np.eye(12, dtype=bool))[0]
    names = np.array(cohort.regions)
    pair, missing = [tuple(names[[i, j]]), tuple(names[[j, i]])], tuple(names[absent])
    known = JointSGBN(SGBN(forbidden=pair, required=[missing])).fit(table, cohort.group).parents_
    assert not known[i, j]
    assert not known[j, i]
    assert known[tuple(absent)]


def test_no_edge_leads_into_an_earlier_tier_and_the_order_follows_the_tiers(cohort):
    table = pd.DataFrame(cohort.values, columns=cohort.regions)
    free = JointSGBN().fit(table, cohort.group)
    late, early = np.split(free.order_, 2)
    assert free.parents_[np.ix_(late, early)].any()
    tiers = [[cohort.regions[k] for k in columns] for columns in (early, late)]
    joint = JointSGBN(SGBN(tiers=tiers)).fit(table, cohort.group)
    assert not joint.parents_[np.ix_(late, early)].any()
    assert joint.parents_[np.ix_(early, late)].any()
    assert set(joint.order_[:6]) == set(early)


def test_knowledge_is_read_by_name_or_index(cohort):
    centred = cohort.values - cohort.values.mean(axis=0)
    S = centred.T @ centred / len(centred)
    for edge in ((3, 7), (cohort.regions[3], cohort.regions[7])):
        shared = SharedOrder(centred, SGBN(required=[edge]), cohort.regions)
        assert shared.parents_of(S, len(centred), POOLED_GAMMA)[3, 7]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda cohort: (cohort, None), "cohort.estimator"),
        (lambda cohort: (cohort.values, None), "labels.none"),
        (lambda cohort: (cohort.values, ["NC"] * 160), "classes.one"),
        (lambda cohort: (cohort.values, np.resize(["few", *["many"] * 79], 160)), "classes.small"),
        (
            lambda cohort: (cohort.values * (np.arange(160) < 80)[:, None], cohort.group),
            "regions.constant",
        ),
    ],
)
def test_groups_are_needed_and_must_have_rows(cohort, change, code):
    with refused(code):
        JointSGBN().fit(*change(cohort))


def test_other_learners_and_too_few_rows_for_the_weights_are_refused(cohort, many):
    with refused("learner.type"):
        JointSGBN(ORSGBN()).fit(cohort.values, cohort.group)
    table, groups = many
    kept = np.flatnonzero((groups == "control") | (np.cumsum(groups == "patient") <= 3))
    with refused("parents.undetermined"):
        JointSGBN(SGBN(n_kicks=0)).fit(table.iloc[kept], groups[kept])


@pytest.mark.parametrize("seed", range(3))
def test_weights_and_their_variances_are_those_of_least_squares(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 6)) @ rng.normal(size=(6, 6))
    Z = X - X.mean(axis=0)
    parents = np.triu(rng.random((6, 6)) < 0.6, 1)
    B, V, noise = regressions(Z.T @ Z / 40, 40, 39, parents)
    for j in range(6):
        own = np.flatnonzero(parents[:, j])
        A = np.column_stack([X[:, own], np.ones(40)])
        beta, *_ = np.linalg.lstsq(A, X[:, j])
        variance = np.square(X[:, j] - A @ beta).sum() / (39 - len(own))
        spread = variance * np.diag(np.linalg.inv(A.T @ A))
        np.testing.assert_allclose(B[own, j], beta[:-1], rtol=1e-8)
        np.testing.assert_allclose(V[own, j], spread[:-1], rtol=1e-8)
        assert noise[j] == pytest.approx(variance)
    assert not B[~parents].any()
    assert not V[~parents].any()


def test_copies_and_too_many_parents_say_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 5))
    X[:, 1] = X[:, 0]
    Z = X - X.mean(axis=0)
    parents = np.zeros((5, 5), bool)
    parents[:2, 4] = True
    parents[[0, 2], 3] = True
    B, V, _ = regressions(Z.T @ Z / 6, 6, 2, parents)
    assert np.isinf(V[parents]).all()
    assert not B.any()
