import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from tests.codes import refused, warned

from sgbn.cohort.rows import row_order, rows_of_groups
from sgbn.cohort.simulate import simulate_sem
from sgbn.core.equivalence import compare_graphs
from sgbn.core.graph import random_dag
from sgbn.core.problems import DataWarning
from sgbn.inference.confidence import learn_part
from sgbn.learn.sgbn import SGBN
from sgbn.prepare import outliers
from sgbn.prepare.outliers import (
    OutlierWarning,
    far_rows,
    normal_scores,
    row_distances,
    rows_to_trim,
    score_gain,
    without_outliers,
)


def shifted(X, rows, columns, by):
    """X with some cells moved by standard deviations of their column."""
    Y = X.copy()
    Y[np.ix_(rows, columns)] += by * X.std(axis=0)[columns]
    return Y


def by_hand(X):
    """Distance of each row as the module's first lines define it."""
    n, m = X.shape
    Z = X - np.median(X, axis=0)
    Z /= 1.4826 * np.median(np.abs(Z), axis=0)
    R = np.corrcoef(np.clip(Z, -2.5, 2.5), rowvar=False)
    R = n / (n + m) * R + m / (n + m) * np.eye(m)
    size = np.array([(z @ np.linalg.solve(R, z) / m) ** (1 / 3) for z in Z])
    above = size - np.median(size)
    return above / (1.4826 * max(np.median(np.abs(above)), np.median(above[above > 0])))


@pytest.mark.parametrize(("n", "m"), [(20, 2), (60, 10), (40, 90), (301, 5)])
def test_distances_are_those_of_the_definition(n, m):
    rng = np.random.default_rng(n)
    X = rng.standard_t(4, (n, m)) @ rng.uniform(-1, 1, (m, m))
    np.testing.assert_allclose(row_distances(X), by_hand(X), rtol=1e-8, atol=1e-9)
    assert np.array_equal(far_rows(X), by_hand(X) > 4)


@pytest.mark.parametrize("factor", [0.0, 0.5, 0.9])
def test_clean_gaussian_rows_are_hardly_ever_far_out(factor):
    rng = np.random.default_rng(1)
    marked = 0
    for n, m in [(1000, 5), (1000, 40), (200, 20)] * 4:
        common = np.sqrt(factor) * rng.standard_normal((n, 1))
        marked += far_rows(common + np.sqrt(1 - factor) * rng.standard_normal((n, m))).sum()
    assert marked <= 5  # of 8,800: 1 in 1,800


@pytest.mark.parametrize("n", [60, 200, 1000])
def test_rows_with_a_few_shifted_regions_are_found(n, simulate):
    X, _ = simulate(40, n, n)
    rows = np.arange(max(1, n // 50))
    far = far_rows(shifted(X, rows, [3, 11, 20], 6.0))
    assert far[rows].all()
    assert far.sum() <= len(rows) + 1


@settings(max_examples=settings.default.max_examples // 10)
@given(seed=st.integers(0, 10**6))
def test_units_and_the_order_of_columns_and_rows_change_nothing(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 12))
    X = rng.standard_t(2, (50, m)) @ rng.uniform(-1, 1, (m, m))
    far, columns, rows = far_rows(X), rng.permutation(m), rng.permutation(50)
    assert np.array_equal(row_distances(X[:, columns]), row_distances(X))  # to the bit
    assert np.array_equal(far_rows(X[rows]), far[rows])
    scale = 10.0 ** rng.uniform(-3, 3, m) * rng.choice([-1, 1], m)
    np.testing.assert_allclose(row_distances(X * scale + 1), row_distances(X), rtol=1e-6, atol=1e-6)


def test_few_rows_and_columns_without_a_robust_spread_mark_nothing():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((19, 3))
    X[0] = 1e6
    assert not far_rows(X).any()
    rare = (rng.random((200, 4)) < 0.03).astype(float)  # more than half of each column is 0
    assert not far_rows(rare).any()
    X = np.column_stack([rng.standard_normal((200, 6)), rare])
    assert not far_rows(X).any()
    assert not far_rows(np.ones((30, 2))).any()


def test_a_long_table_is_judged_by_evenly_spaced_rows(monkeypatch):
    X = np.random.default_rng(2).standard_normal((5000, 6))
    X[[4, 4999], 2] = 30.0
    monkeypatch.setattr(outliers, "MAX_ROWS_FOR_SPREAD", 500)
    assert np.flatnonzero(far_rows(X)).tolist() == [4, 4999]


def test_the_largest_numbers_make_no_trouble():
    X = np.random.default_rng(3).standard_normal((100, 4))
    X[5, 1], X[6, 2] = 1e300, -1e308
    assert far_rows(X)[[5, 6]].all()
    X[:, 3] *= 1e307
    far_rows(X)


def test_normal_scores_are_quantiles_of_ranks_and_ties_share_theirs():
    column = np.array([3.0, -1.0, 7.0, 3.0, 10.0])
    expected = norm.ppf((np.array([2.5, 1, 4, 2.5, 5]) - 0.375) / 5.25)
    np.testing.assert_allclose(normal_scores(column[:, None])[:, 0], expected, rtol=1e-12)
    X = np.random.default_rng(4).standard_normal((80, 3))
    assert np.array_equal(normal_scores(np.exp(3 * X)), normal_scores(X))
    np.testing.assert_allclose(normal_scores(-X), -normal_scores(X), atol=1e-12)


def test_rows_left_out_are_named_with_the_remedy():
    X = np.random.default_rng(5).standard_normal((60, 4))
    X[[7, 20]] += 15
    with warned("outliers.trimmed"):
        assert np.flatnonzero(rows_to_trim(X, list("abcd"))).tolist() == [7, 20]
    table = pd.DataFrame(X, columns=list("abcd"), index=[f"sub-{k:02d}" for k in range(60)])
    with warned("outliers.trimmed"):
        learner = SGBN().fit(table)
    assert np.flatnonzero(learner.outliers_).tolist() == [7, 20]
    X[:13] += 40  # more than a fifth are another group
    with warned("outliers.many"):
        assert not rows_to_trim(X, list("abcd")).any()


@pytest.mark.parametrize(
    ("labels", "left_out"),
    [
        ({"pairs": np.tile(np.arange(60), 2)}, {"MCI": (63,), "NC": (3,)}),
        ({"persons": np.arange(120) // 2}, {"MCI": (), "NC": (2, 3)}),
    ],
)
def test_a_person_is_left_out_with_all_rows(labels, left_out):
    X = np.random.default_rng(7).standard_normal((120, 4))
    X[3] *= 50
    rows = rows_of_groups(X, np.repeat(["NC", "MCI"], 60), **labels)
    with warned("rows.outliers"):
        assert without_outliers(rows, "trim")[1] == left_out
    assert without_outliers(rows, "keep") == (rows, {"MCI": (), "NC": ()})


def test_a_column_that_varies_in_rows_far_out_only_is_named():
    X = np.random.default_rng(6).standard_normal((80, 5))
    X[:, 4] = 1.0
    X[3] = [20, -20, 20, 20, 2]
    names = ["a", "b", "c", "d", "scar"]
    with warned("outliers.constant"), refused("columns.constant"):
        SGBN().fit(pd.DataFrame(X, columns=names))
    with warnings.catch_warnings():
        warnings.simplefilter("error", OutlierWarning)
        assert not SGBN(outliers="keep").fit(X).outliers_.any()


def test_copies_and_few_rows_are_told_after_trimming_too(simulate):
    X, _ = simulate(5, 40, 1)
    X = shifted(np.column_stack([X, 2 * X[:, 0]]), [4], [1, 2], 30.0)
    X[4, 5] = 99.0  # before, the columns are not copies
    with warned("outliers.trimmed") as caught:
        learner = SGBN().fit(X)
    assert "columns.copies" in [one.message.problem.code for one in caught]
    assert learner.outliers_.sum() == 1
    wide = np.random.default_rng(0).standard_normal((31, 90))
    wide[2] *= 50
    with warned("rows.few-for-columns"):
        SGBN(n_kicks=0).fit(np.column_stack([wide, wide[:, :3] ** 2]))


def errors(learner, X, network):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return compare_graphs(learner.fit(X).coef_, network.coef).shd_cpdag


def test_outlier_rows_do_not_break_a_network_that_trims_them(simulate):
    X, network = simulate(30, 500, 8)
    bad = shifted(X, np.arange(10), [2, 9, 17], 6.0)
    clean = errors(SGBN(), X, network)
    assert errors(SGBN(), bad, network) <= clean + 1
    assert errors(SGBN(outliers="keep"), bad, network) >= clean + 10


def test_weights_are_those_of_the_rows_that_are_kept(simulate):
    X, _ = simulate(8, 200, 9)
    bad = shifted(X, [0, 7], [1, 5], 12.0)
    kept = [row for row in row_order(bad) if row not in (0, 7)]
    names = [f"x{k}" for k in range(8)]
    for weights in ("refit", "lasso"):
        with warned("outliers.trimmed"):
            trimmed = SGBN(weights=weights).fit(bad)
        same = SGBN(weights=weights, outliers="keep")
        same.learn(*same.prepare(bad[kept], names), names)
        for name in ("coef_", "intercept_", "noise_variance_", "score_"):
            assert np.array_equal(getattr(trimmed, name), getattr(same, name))


def test_normal_scores_find_the_graph_behind_skewed_columns_in_the_units_of_the_data():
    rng = np.random.default_rng(10)
    X, network = simulate_sem(random_dag(20, 3.0, rng), 400, noise="unequal", random_state=rng)
    skewed = np.exp(1.5 * X / X.std(axis=0))
    plain, scores = SGBN(outliers="keep"), SGBN(outliers="keep", column_transform="normal-scores")
    assert errors(scores, skewed, network) <= errors(plain, skewed, network) - 5
    graph = scores.coef_ != 0
    assert np.array_equal(graph, scores.fit(X).coef_ != 0)  # ranks are the same
    scores.fit(skewed)
    j = int(np.argmax(graph.sum(axis=0)))
    design = np.column_stack([np.ones(400), skewed[:, graph[:, j]]])
    expected = np.linalg.lstsq(design, skewed[:, j], rcond=None)[0]
    np.testing.assert_allclose(scores.coef_[graph[:, j], j], expected[1:], rtol=1e-6)
    assert np.array_equal(scores.cpdag_, SGBN(column_transform="normal-scores").fit(X).cpdag_)


@pytest.mark.parametrize("weights", ["refit", "lasso"])
@settings(max_examples=settings.default.max_examples // 10)
@given(seed=st.integers(0, 10**6))
def test_with_normal_scores_the_order_of_columns_changes_nothing(weights, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_t(3, (40, 6)) @ rng.uniform(-1, 1, (6, 6))
    alpha = {} if weights == "refit" else {"alpha": 0.1}
    order = rng.permutation(6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        learner = SGBN(column_transform="normal-scores", weights=weights, **alpha).fit(X)
        coef, mask = learner.coef_, learner.outliers_
        learner.fit(X[:, order])
    assert np.array_equal(learner.coef_, coef[np.ix_(order, order)])
    assert np.array_equal(learner.outliers_, mask)


def test_parts_of_a_sample_have_their_own_outliers_and_no_warning(simulate):
    X, _ = simulate(6, 60, 11)
    bad = shifted(X, [2, 40], [0, 3], 15.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        part = learn_part(SGBN(), bad[:30], [f"x{k}" for k in range(6)])
    assert np.flatnonzero(part.outliers_).tolist() == [2]
    with refused("transform.directions"):
        SGBN(noise="equal", column_transform="normal-scores").fit(X)
    for parameters in ({"outliers": "drop"}, {"column_transform": "ranks"}):
        with refused("argument"):
            SGBN(**parameters).fit(X)


def relations(n, seed, noise, m=15):
    """Linear relations with any noise."""
    rng = np.random.default_rng(seed)
    weights = random_dag(m, 3.0, rng) * rng.uniform(0.5, 1, (m, m))
    return noise(rng, (n, m)) @ np.linalg.inv(np.eye(m) - weights)


def normal(rng, shape):
    return rng.standard_normal(shape)


def skewed(rng, shape):
    return np.exp(rng.standard_normal(shape))


@pytest.mark.parametrize("seed", range(4))
def test_scores_help_where_relations_are_curved_not_where_noise_is_skewed(seed):
    X = relations(300, seed, normal)
    assert not score_gain(X).helps
    assert score_gain(np.exp(0.7 * X / X.std(axis=0))).helps
    linear = score_gain(relations(300, seed, skewed))
    assert not linear.helps
    assert linear.share < 0
    independent = np.random.default_rng(seed).lognormal(size=(300, 15))
    assert not score_gain(independent).helps


def test_the_gain_of_scores_is_the_rise_of_their_log_determinant():
    X = np.exp(relations(100, 0, normal, 4))

    def dependence(Z):
        R = np.corrcoef(Z, rowvar=False) * 100 / 104 + np.eye(4) * 4 / 104
        return -np.log(np.linalg.det(R)) / 2

    before, after = dependence(X), dependence(normal_scores(X))
    assert score_gain(X).share == pytest.approx((after - before) / before)
    assert score_gain(X[:19]) == (0, 0)
    assert score_gain(np.ones((50, 3))) == (0, 0)
    assert score_gain(normal_scores(X)) == (0, 0)
