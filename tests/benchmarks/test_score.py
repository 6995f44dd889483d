import numpy as np
import pytest
from calibration_parts import score
from calibration_parts.cohorts import Setting, draw
from calibration_parts.score import (
    BOTH_WAYS,
    NAMED,
    ONE_WAY,
    as_arrays,
    same_some_way,
    same_weights,
    score_null,
    score_pairwise,
)

from sgbn.core.gaussian import GaussianNetwork

M = 7


@pytest.fixture(autouse=True)
def few_permutations(monkeypatch):
    monkeypatch.setattr(score, "N_PERMUTATIONS", 19)  # the least with which p can be 5 %


def regression(S, target, predictors):
    return np.linalg.solve(S[np.ix_(predictors, predictors)], S[predictors, target])


@pytest.mark.parametrize("cohort", range(3))
@pytest.mark.parametrize("setting", [{"changed": 3}, {"scale": 2.0}, {}])
def test_weights_are_equal_where_regressions_of_the_population_are(cohort, setting):
    pair = draw(Setting((10, 10), regions=M, **setting), cohort, 0)
    parents = np.triu(np.random.default_rng(cohort).random((M, M)) < 0.4, 1)
    one_way, either = same_weights(pair, parents), same_some_way(pair, parents)
    S = [network.covariance for network in pair.networks]
    for i, j in np.argwhere(parents):
        own = np.flatnonzero(parents[:, j])
        weights = [regression(C, j, own)[own == i][0] for C in S]
        assert one_way[i, j] == (abs(weights[0] - weights[1]) < 1e-6)
        union = [k for k in range(M) if (parents[k, i] or parents[k, j]) and k not in (i, j)]
        gaps = []
        for source, target in ((i, j), (j, i)):
            first, second = (regression(C, target, [source, *union])[0] for C in S)
            gaps.append(abs(first - second))
        assert either[i, j] == (min(gaps) < 1e-6)


def test_a_change_of_noise_alone_holds_one_way_only():
    coef = np.array([[0.0, 0.8], [0.0, 0.0]])
    networks = GaussianNetwork(coef), GaussianNetwork(coef, noise_variance=[4.0, 1.0])
    pair = draw(Setting((10, 10), regions=2), 0, 0)._replace(networks=networks)
    wrong = np.array([[False, False], [True, False]])
    assert not same_weights(pair, wrong)[1, 0]
    assert same_some_way(pair, wrong)[1, 0]


def test_a_null_cohort_is_scored_by_every_method():
    found = score_null(Setting((25, 25), regions=6, uneven=True), 0, 0)
    assert list(found["methods"]) == [ONE_WAY, BOTH_WAYS, NAMED, "hubs", "lobes", "components"]
    assert found["tested"][2] == 1
    assert found["false_family"][0] == found["any_family"][0]  # nothing differs
    assert "recall" not in found


def test_rows_that_were_trimmed_are_counted():
    found = score_null(Setting((50, 50), regions=6, outliers=0.04), 0, 0)
    assert found["left_out"][0] >= 2


def test_changes_are_hits_and_others_are_beside():
    pair = draw(Setting((25, 25), regions=8, changed=3), 1, 0)
    assert score.score_tests(pair)[ONE_WAY]["changed"] == 3
    edges = np.argwhere(pair.changed)
    graph = np.zeros((8, 8), bool)
    graph[tuple(edges[0])] = graph[tuple(edges[1][::-1])] = True
    beside = np.argwhere(~(pair.changed | pair.changed.T | np.eye(8, dtype=bool)))[0]
    graph[tuple(beside)] = True
    figures = score.against_truth(pair, graph)
    assert (figures["found"], figures["hits"]) == (3, 2)
    assert figures["recall"] == pytest.approx(2 / 3)
    assert figures["beside"] == pytest.approx(1 / 3)
    assert figures["right_way"] == 0.5
    assert score.against_truth(pair, np.zeros_like(graph))["beside"] == 0


def test_equal_groups_are_told_from_those_with_the_last():
    equal = score_pairwise(Setting((20,) * 3, regions=5), 0, 0)
    ways = ["equal groups, one way", "equal groups, both ways"]
    assert list(equal["methods"]) == ["global", *ways]
    differs = score_pairwise(Setting((20,) * 3, regions=5, changed=2), 0, 0)
    assert {f"with the group that differs, {way}" for way in ("one way", "both ways")} <= {
        *differs["methods"]
    }


def test_figures_that_a_method_lacks_are_nan():
    found = as_arrays({"a": {"x": True}, "b": {"y": 2}})
    np.testing.assert_array_equal(found["x"], [1.0, np.nan])
    np.testing.assert_array_equal(found["y"], [np.nan, 2.0])
