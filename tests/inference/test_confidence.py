import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgbn import SGBN, Cohort, DataWarning, InputError, simulate_cohort
from sgbn.graph import is_dag, skeleton
from sgbn.inference import EdgeConfidence, edge_confidence, selection_bound
from sgbn.inference.half_samples import FOUND

NAMES = ("a", "b", "c")


def confidence_of(edges, n_halves=4, names=NAMES):
    """Confidence from tuples (half, source, target, weight, decided)."""
    return EdgeConfidence(names, n_halves, np.array(edges, dtype=FOUND))


@pytest.fixture
def example():
    """Pair a - b in four halves: decided one way twice, the other once, and open once."""
    return confidence_of(
        [
            (0, 0, 1, 1.0, True),
            (1, 0, 1, 3.0, True),
            (2, 1, 0, -1.0, True),
            (3, 0, 1, 2.0, False),
            (3, 1, 2, 5.0, False),
        ]
    )


def test_shares_by_hand(example):
    assert example.learned[0, 1] == 0.75
    assert example.adjacent[0, 1] == example.adjacent[1, 0] == 1.0
    assert example.directed[0, 1] == 2.5 / 4
    assert example.directed[1, 0] == 1.5 / 4
    assert example.directed[1, 2] == example.directed[2, 1] == 1 / 8
    assert example.n_adjacent == 5 / 4


def test_records_by_hand(example):
    first, second = example.edges(level=0.5)
    assert (first.source, first.target) == ("a", "b")
    assert (first.adjacent, first.direction, first.decided, first.sign) == (1.0, 0.625, 0.75, 0.75)
    assert (first.low, first.weight, first.high) == (1.5, 2.0, 2.5)
    assert (second.source, second.target, second.direction) == ("b", "c", 0.5)
    assert len(example.edges(least=0.5)) == 1


def test_nothing_found_is_no_error():
    empty = confidence_of([])
    assert len(empty.edges()) == 0
    assert not empty.consensus().any()
    assert empty.bound(0.9) == 0


def test_a_cycle_is_broken_at_its_least_sure_direction():
    edges = [(half, 0, 1, 1.0, True) for half in range(10)]
    edges += [(half, 1, 2, 1.0, True) for half in range(9)] + [(9, 2, 1, 1.0, True)]
    edges += [(half, 2, 0, 1.0, True) for half in range(7)]
    edges += [(half, 0, 2, 1.0, True) for half in range(7, 10)]
    graph = confidence_of(edges, 10).consensus()
    assert np.argwhere(graph).tolist() == [[0, 1], [0, 2], [1, 2]]
    never_so = [edge for edge in edges if edge[1:3] != (0, 2)]
    graph = confidence_of(never_so, 10).consensus()
    assert np.argwhere(graph).tolist() == [[0, 1], [1, 2]]


@given(st.integers(0, 10_000), st.sampled_from([0.2, 0.5, 1.0]))
def test_the_consensus_is_a_dag_of_the_frequent_pairs(seed, threshold):
    rng = np.random.default_rng(seed)
    edges = []
    for half in range(6):
        order = rng.permutation(6)
        edges += [
            (half, *sorted(pair, key=list(order).index), 1.0, rng.random() < 0.5)
            for pair in np.argwhere(np.triu(rng.random((6, 6)) < 0.6, 1)).tolist()
        ]
    confidence = confidence_of(edges, 6, tuple("abcdef"))
    graph = confidence.consensus(threshold)
    assert is_dag(graph)
    frequent = confidence.adjacent >= threshold - 1e-9
    assert not (skeleton(graph) & ~frequent).any()
    one_way = (confidence.learned == 0) | (confidence.learned.T == 0)
    assert not (frequent & ~skeleton(graph) & ~one_way).any()
    assert (confidence.learned[graph] > 0).all()


def test_on_data_the_true_pairs_are_frequent_and_the_others_are_not(simulate):
    X, truth = simulate(12, 400, 0, degree=2.0)
    confidence = edge_confidence(X, n_pairs=15)
    pairs = skeleton(truth.coef)
    np.testing.assert_allclose(confidence.directed + confidence.directed.T, confidence.adjacent)
    assert confidence.adjacent[pairs].mean() > 0.95
    assert confidence.adjacent[~pairs].mean() < 0.05
    np.testing.assert_array_equal(skeleton(confidence.consensus()), pairs)
    for edge in confidence.edges(least=0.9):
        i, j = int(edge.source[1:]), int(edge.target[1:])
        weight = truth.coef[i, j]
        if weight and edge.direction > 0.9:
            assert edge.sign == 1.0
            assert edge.low - 0.3 < weight < edge.high + 0.3


def test_undecided_directions_count_half():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    X[:, 1] += 2 * X[:, 0]
    (edge,) = edge_confidence(X, n_pairs=5).edges()
    assert (edge.adjacent, edge.direction, edge.decided) == (1.0, 0.5, 0.0)


def test_permuting_columns_permutes_the_frequencies(simulate):
    X, _ = simulate(8, 60, 1)
    order = np.random.default_rng(0).permutation(8)
    first, second = (edge_confidence(rows, n_pairs=4) for rows in (X, X[:, order]))
    np.testing.assert_array_equal(second.adjacent, first.adjacent[np.ix_(order, order)])


def test_a_group_of_a_cohort_and_its_rows_give_the_same():
    cohort = simulate_cohort(40)
    group = cohort.groups[0]
    by_name = edge_confidence(cohort, group=group, n_pairs=2)
    by_rows = edge_confidence(cohort.of_group(group), n_pairs=2)
    np.testing.assert_array_equal(by_name.found, by_rows.found)
    assert by_name.names == cohort.regions


def test_sites_of_a_cohort_make_no_edges():
    rng = np.random.default_rng(0)
    site = np.tile(["A", "B"], 40)
    values = rng.standard_normal((80, 3)) + 4.0 * (site == "B")[:, None]
    ids = [str(k) for k in range(80)]
    before, after = (Cohort(values, ("a", "b", "c"), ids, site=one) for one in (None, site))
    assert edge_confidence(before, n_pairs=5).n_adjacent >= 2
    assert edge_confidence(after, n_pairs=5).n_adjacent < 0.5


def test_warnings_have_the_names_of_the_columns(simulate):
    table = pd.DataFrame(simulate(3, 40, 0)[0], columns=["insula", "amygdala", "copy"])
    table["copy"] = table["insula"]
    with pytest.warns(DataWarning, match="'copy' and 'insula' are copies"):
        edge_confidence(table, n_pairs=1)


def test_the_bound_holds_for_pairs_of_low_probability():
    """Pairs are found in a half when their score in it is high: probabilities are known then."""
    rng = np.random.default_rng(0)
    n, n_pairs, threshold, theta = 40, 20, 0.6, 0.3
    effects = np.repeat([0.0, 0.1, 0.8], [20, 10, 10])
    unstable, chosen = [], []
    for _ in range(200):
        X = rng.standard_normal((n, len(effects))) + effects
        shares = np.zeros(len(effects))
        for _ in range(n_pairs):
            order = rng.permutation(n)
            shares += sum(X[half].mean(axis=0) > 0.2 for half in np.split(order, 2))
        unstable.append((shares >= threshold * 2 * n_pairs)[:30].sum())
        chosen.append(shares[:30].sum() / (2 * n_pairs))
    # the first 30 are chosen from 20 rows with a probability of .19 and .33, the last with .996
    assert np.mean(chosen) / 30 < theta
    assert 0 < np.mean(unstable) <= selection_bound(threshold, 0.33, np.mean(chosen))


def test_the_bound_by_hand_and_its_limits():
    assert selection_bound(0.75, 0.1, 20) == pytest.approx(4.0)
    assert selection_bound(1.0, 0.1, 20) == pytest.approx(2.0)
    confidence = confidence_of([(0, 0, 1, 1.0, True), (1, 0, 1, 1.0, True)], 2)
    assert confidence.bound(1.0) == pytest.approx(1 / 3)
    assert confidence.bound(0.75, theta=0.1) == pytest.approx(0.2)
    with pytest.raises(InputError, match=r"threshold is 0.5; .* between 0.5 and 1"):
        confidence.bound(0.5)
    with pytest.raises(InputError, match="theta is 2"):
        selection_bound(0.9, 2, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_pairs": 0}, "n_pairs is 0"),
        ({"random_state": -1}, "random_state is -1"),
        ({"learner": "SGBN"}, "learner is a str"),
        ({"learner": SGBN(gamma=-1)}, "gamma is -1"),
    ],
)
def test_wrong_parameters_are_named(simulate, options, message):
    with pytest.raises(InputError, match=message):
        edge_confidence(simulate(4, 30, 0)[0], **options)
