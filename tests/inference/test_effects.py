from itertools import permutations, product

import numpy as np
import pytest
from tests.codes import refused, warned

from sgbn import Cohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.equivalence import cpdag, orient_known, skeleton
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import is_dag, random_dag
from sgbn.inference.effects import (
    effect_difference,
    lesion,
    path_effects,
    possible_graphs,
    total_effects,
)
from sgbn.inference.joint import JointSGBN
from sgbn.learn.base import fit_weights
from sgbn.learn.sgbn import SGBN

COLLIDER = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
CHAIN = np.eye(3, k=1)


def test_total_effects_are_what_do_changes(simulate):
    _, network = simulate(8, 10, 0)
    T = total_effects(network)
    for i, name in enumerate(network.names):
        zero, one = (network.do({name: value}).mean for value in (0.0, 1.0))
        np.testing.assert_allclose(np.delete(one - zero, i), np.delete(T[i], i), atol=1e-12)
    assert not np.diag(T).any()


def test_total_effects_sum_over_paths(simulate):
    _, network = simulate(7, 10, 1)
    paths = sum(np.linalg.matrix_power(network.coef, k) for k in range(1, 7))
    np.testing.assert_allclose(total_effects(network), paths, atol=1e-12)


def test_total_effects_of_a_learner_are_those_of_its_network(simulate):
    learner = SGBN().fit(simulate(5, 60, 0)[0])
    np.testing.assert_array_equal(total_effects(learner), total_effects(learner.network_))


def test_path_effects_of_many_weights_are_total_effects_of_each(simulate):
    rng = np.random.default_rng(0)
    support = random_dag(7, 3, 2)
    weights = rng.standard_normal((4, support.sum()))
    for source in range(7):
        found = path_effects(weights, support, source)
        for k in range(4):
            coef = np.zeros((7, 7))
            coef[support] = weights[k]
            expected = total_effects(GaussianNetwork(coef))[source] + (np.arange(7) == source)
            np.testing.assert_allclose(found[k], expected, atol=1e-12)


@pytest.fixture
def two_groups():
    rng = np.random.default_rng(0)
    first = GaussianNetwork(COLLIDER * 0.8)
    second = GaussianNetwork(COLLIDER * np.array([[0.2], [0.8], [0]]))
    return {"NC": first.sample(300, rng), "AD": second.sample(200, rng)}


def test_an_identified_difference_has_an_interval(two_groups):
    found = effect_difference(two_groups, COLLIDER, "x0", "x2")
    for name, rows in two_groups.items():
        effect = found.effects[name]
        assert effect.identified
        assert effect.estimate == pytest.approx(fit_weights(rows, COLLIDER).coef[0, 2])
        assert effect.low < effect.estimate < effect.high
    difference = found.differences["NC", "AD"]
    assert difference.identified
    assert difference.estimate == pytest.approx(
        found.effects["AD"].estimate - found.effects["NC"].estimate
    )
    assert difference.low < -0.6 < difference.high < 0


def test_no_path_is_an_effect_of_zero(two_groups):
    found = effect_difference(two_groups, COLLIDER, "x2", "x0").effects["NC"]
    assert (found.estimate, found.low, found.high, found.identified) == (0, 0, 0, True)


def effects_over_class(rows, graph):
    """Effects in every DAG with the skeleton and collisions of `graph`, by trying all orders."""
    joined, target = (graph != 0) | (graph != 0).T, cpdag(graph)
    orders = (np.argsort(order) for order in permutations(range(len(graph))))
    graphs = {(joined & (place[:, None] < place)).tobytes() for place in orders}
    members = [np.frombuffer(graph_bytes, bool).reshape(graph.shape) for graph_bytes in graphs]
    return np.array(
        [
            total_effects(fit_weights(rows, member))
            for member in members
            if np.array_equal(cpdag(member), target)
        ]
    )


@pytest.mark.parametrize("seed", range(4))
def test_possible_effects_are_those_of_all_equivalent_networks(simulate, seed):
    X, truth = simulate(5, 40, seed, degree=2.5)
    Y, _ = simulate(5, 40, seed + 100, degree=2.5)
    effects = effects_over_class(X, truth.coef)
    for source, target in ((0, 1), (2, 4), (3, 0)):
        found = effect_difference(
            {"a": X, "b": Y}, truth, f"x{source}", f"x{target}", n_resamples=20
        ).effects["a"]
        expected = np.unique(np.round(effects[:, source, target], 9))
        np.testing.assert_allclose(found.possible, expected, atol=1e-6)
        assert found.identified == (len(expected) == 1)
        assert min(expected) - 1e-9 <= found.estimate <= max(expected) + 1e-9
        if not found.identified:
            np.testing.assert_allclose([found.low, found.high], expected[[0, -1]], atol=1e-6)


def test_in_a_shared_graph_directions_are_the_same_in_both_groups():
    rng = np.random.default_rng(0)
    chain = GaussianNetwork(CHAIN)
    groups = {"a": chain.sample(100, rng), "b": chain.sample(100, rng)}
    shared = effect_difference(groups, CHAIN, "x0", "x1").differences["a", "b"]
    apart = effect_difference(groups, {"a": CHAIN, "b": CHAIN}, "x0", "x1").differences["a", "b"]
    assert not shared.identified
    assert len(shared.possible) == 2
    assert len(apart.possible) == 4
    assert apart.low < shared.low < shared.high < apart.high
    assert apart.high - apart.low > 0.8  # one group has x0 -> x1, the other x1 -> x0


@pytest.mark.parametrize(("unit", "column"), [(1e-10, 0), (1e10, 1)])
def test_whether_an_effect_is_identified_does_not_depend_on_units(unit, column):
    rng = np.random.default_rng(0)
    groups = {name: GaussianNetwork(CHAIN).sample(100, rng) for name in "ab"}
    units = np.where(np.arange(3) == column, unit, 1.0)
    scaled = {name: rows * units for name, rows in groups.items()}
    for graph, identified in ((CHAIN, False), (COLLIDER, True)):
        for source, target in ((0, 2), (1, 2)):
            before, after = (
                effect_difference(own, graph, f"x{source}", f"x{target}", n_resamples=20)
                for own in (groups, scaled)
            )
            ratio = units[target] / units[source]
            for one, other in (
                (before.effects["a"], after.effects["a"]),
                (before.differences["a", "b"], after.differences["a", "b"]),
            ):
                assert one.identified == other.identified == identified
                np.testing.assert_allclose(
                    np.array(other.possible) / ratio, one.possible, rtol=1e-6, atol=1e-9
                )


def test_prior_knowledge_of_a_learner_identifies_an_effect():
    rng = np.random.default_rng(0)
    chain = GaussianNetwork(CHAIN)
    groups = {"a": chain.sample(200, rng), "b": chain.sample(200, rng)}
    for tiers, identified in ((None, False), ([[0], [1, 2]], True)):
        graphs = {name: SGBN(n_kicks=0, tiers=tiers).fit(rows) for name, rows in groups.items()}
        found = effect_difference(groups, graphs, "x0", "x2", n_resamples=50)
        assert found.effects["a"].identified == identified
        assert found.differences["a", "b"].identified == identified


@pytest.mark.parametrize(
    ("n_samples", "tolerance"),  # four standard errors, and two
    [(40, 0.19), pytest.param(300, 0.04, marks=pytest.mark.long)],
)
def test_intervals_of_a_difference_cover_at_their_level(n_samples, tolerance):
    rng = np.random.default_rng(7)
    graph = np.array([[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    a, b = GaussianNetwork(graph * 0.7), GaussianNetwork(graph * 0.5, noise_variance=[1, 1, 4, 1])
    inside = []
    for _ in range(n_samples):
        groups = {"a": a.sample(60, rng), "b": b.sample(25, rng)}
        found = effect_difference(groups, graph, "x0", "x3", n_resamples=300, level=0.9)
        difference = found.differences["a", "b"]
        inside.append(difference.low < 0.25 - 0.49 < difference.high)
    assert abs(np.mean(inside) - 0.9) < tolerance


def test_results_can_be_repeated_and_groups_are_resampled_apart(two_groups):
    first, second, other = (
        effect_difference(two_groups, COLLIDER, "x0", "x2", n_resamples=50, random_state=seed)
        for seed in (0, 0, 1)
    )
    assert first == second
    assert first.effects["NC"].low != other.effects["NC"].low
    same = {"a": two_groups["NC"], "b": two_groups["NC"]}
    found = effect_difference(same, COLLIDER, "x0", "x2", n_resamples=50).differences["a", "b"]
    assert found.low < 0 < found.high


def test_a_cohort_of_three_groups_has_three_differences():
    cohort = simulate_cohort(30, groups=("AD", "MCI", "NC"))
    graph = np.zeros((len(cohort.regions),) * 2)
    graph[0, 1] = graph[2, 1] = 1
    source, target = cohort.regions[:2]
    found = effect_difference(cohort, graph, source, target, n_resamples=20)
    assert list(found.differences) == [("AD", "MCI"), ("AD", "NC"), ("MCI", "NC")]


def test_a_very_small_group_is_named(two_groups):
    few = two_groups | {"AD": two_groups["AD"][:7]}
    with warned("intervals.few"):
        effect_difference(few, COLLIDER, "x0", "x2", n_resamples=20)


@pytest.mark.parametrize(
    ("graph", "source", "target", "code"),
    [
        (COLLIDER, "x9", "x2", "regions.unknown"),
        (COLLIDER, "x2", "x2", "effects.one-region"),
        ({"NC": COLLIDER}, "x0", "x2", "graphs.missing"),
    ],
)
def test_wrong_names_and_missing_graphs_are_refused(two_groups, graph, source, target, code):
    with refused(code):
        effect_difference(two_groups, graph, source, target)


def test_what_has_no_graph_is_named(two_groups):
    rows, labels = np.vstack(list(two_groups.values())), np.repeat(["NC", "AD"], [300, 200])
    joint = JointSGBN().fit(rows, labels)
    with refused("network.type"):
        effect_difference(two_groups, joint, "x0", "x2")
    found = effect_difference(two_groups, joint.parents_, "x0", "x2", n_resamples=20)
    assert set(found.effects) == {"NC", "AD"}


def test_sites_of_a_cohort_make_no_effect():
    rng = np.random.default_rng(0)
    site = np.tile(["A", "B"], 60)
    values = rng.standard_normal((120, 3)) + 4.0 * (site == "B")[:, None]
    ids, group = [str(k) for k in range(120)], np.repeat(["NC", "AD"], 60)
    cohorts = [Cohort(values, ("a", "b", "c"), ids, group=group, site=one) for one in (None, site)]
    before, after = (effect_difference(one, COLLIDER, "a", "c").effects["AD"] for one in cohorts)
    assert before.low > 0
    assert after.low < 0 < after.high


@pytest.fixture
def network(simulate):
    return simulate(7, 10, 3)[1]


def test_changes_are_those_of_samples_with_the_region_fixed(network):
    rng = np.random.default_rng(0)
    region, value = 2, 1.5
    noise = rng.standard_normal((50_000, 7)) * np.sqrt(network.noise_variance)
    before, after = np.zeros_like(noise), np.zeros_like(noise)
    for j in network.topological_order:
        before[:, j] = noise[:, j] + before @ network.coef[:, j]
        after[:, j] = value if j == region else noise[:, j] + after @ network.coef[:, j]
    found = lesion(network, "x2", value)
    np.testing.assert_allclose(found.mean_change, (after - before).mean(axis=0), atol=0.03)
    expected = np.cov(after.T) - np.cov(before.T)
    np.testing.assert_allclose(found.covariance_change, expected, atol=0.1)
    expected = after.var(axis=0) / before.var(axis=0) - 1
    np.testing.assert_allclose(found.variance_change, expected, atol=0.02)


def test_a_lesion_at_the_mean_moves_no_mean_and_only_descendants_vary_less(network):
    shifted = GaussianNetwork(network.coef, np.arange(7.0), network.noise_variance)
    found = lesion(shifted, "x2")
    np.testing.assert_allclose(found.mean_change, 0, atol=1e-12)
    descends = np.linalg.matrix_power(np.eye(7) + np.abs(network.coef), 7)[2] > 0
    np.testing.assert_allclose(found.variance_change[~descends], 0, atol=1e-12)
    assert found.variance_change[2] == -1


def test_ranking_by_divergence_of_two_normal_distributions(network):
    found = lesion(network, "x0", 2.0)
    ranking = found.ranking()
    assert sorted(ranking.region) == [f"x{k}" for k in range(1, 7)]
    assert (np.diff(ranking.divergence) <= 1e-12).all()
    row = ranking[0]
    k = int(row.region[1:])
    mean, variance = found.before.mean[k], found.before.covariance[k, k]
    new_mean, new_variance = found.after.mean[k], found.after.covariance[k, k]
    x = np.linspace(-40, 40, 400_001)
    p = np.exp(-((x - new_mean) ** 2) / (2 * new_variance)) / np.sqrt(2 * np.pi * new_variance)
    log_ratio = (
        (x - mean) ** 2 / variance
        - (x - new_mean) ** 2 / new_variance
        + np.log(variance / new_variance)
    ) / 2
    assert row.divergence == pytest.approx((p * log_ratio).sum() * (x[1] - x[0]), abs=1e-9)
    assert row.mean_change == pytest.approx((new_mean - mean) / np.sqrt(variance))


def test_what_loses_its_coupling_only_is_ranked_by_it():
    chain = GaussianNetwork([[0, 0, 0], [1, 0, 1], [0, 0, 0]])  # x0 <- x1 -> x2
    ranking = lesion(chain, "x1").ranking()
    np.testing.assert_allclose(ranking.coupling_change, 0.5)  # their correlation was 1/2
    np.testing.assert_allclose(ranking.variance_change, -0.5)


def test_a_learner_will_do_and_unknown_regions_are_refused(simulate):
    learner = SGBN().fit(simulate(4, 50, 0)[0])
    assert lesion(learner, "x1").before is learner.network_
    with refused("network.no-noise"):
        lesion(learner.network_.do({"x1": 0.0}), "x2")


def members(P):
    """All DAGs of the class of a CPDAG, by trying every direction of its undirected edges."""
    undirected = np.argwhere(np.triu(P & P.T))
    target = cpdag_of_class(P)
    for ways in product([False, True], repeat=len(undirected)):
        graph = P.copy()
        for (i, j), forward in zip(undirected, ways, strict=True):
            graph[(j, i) if forward else (i, j)] = False
        if is_dag(graph) and np.array_equal(cpdag(graph), target):
            yield graph


def cpdag_of_class(P):
    from sgbn.core.equivalence import consistent_extension

    return cpdag(consistent_extension(P))


@pytest.mark.parametrize("seed", range(12))
def test_parent_sets_are_those_of_all_dags_of_the_class(seed):
    graph = random_dag(6, 2.5 + seed % 2, seed)
    P = cpdag(graph)
    if seed % 3 == 0:  # known directions, as prior knowledge gives
        known = np.zeros_like(graph)
        i, j = np.argwhere(graph)[seed % graph.sum()]
        known[i, j] = True
        P = orient_known(P, known)
    everything = list(members(P))
    assert any(np.array_equal(graph, member) for member in everything)
    for node in range(6):
        found = possible_graphs(P, node)
        assert {tuple(g[:, node]) for g in everything} == {tuple(g[:, node]) for g in found}
        assert len({tuple(g[:, node]) for g in found}) == len(found)
        for g in found:
            assert any(np.array_equal(g, member) for member in everything)


def test_a_directed_graph_has_one_member():
    collider = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], bool)
    (only,) = possible_graphs(cpdag(collider), 0)
    np.testing.assert_array_equal(only, collider)
    with refused("effects.many-sets"):
        possible_graphs(skeleton(np.triu(np.ones((16, 16)), 1)), 0)
