"""Lasso weights against R's glmnet, frozen in glmnet.json by glmnet.R."""

import json
from pathlib import Path

import numpy as np
import pytest

from sgbn.core.graph import reachable
from sgbn.core.moments import moments_of
from sgbn.learn.lasso import lasso_gram
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.or_sgbn import ORSGBN

TOL = 1e-8  # of weights per standard deviation; the worst measured is 5e-12

FROZEN = json.loads(Path(__file__).with_name("glmnet.json").read_text())
ALPHAS = FROZEN["alphas"]
TABLES = [np.array(case["data"]) for case in FROZEN["cases"]]


def answers(case, kind):
    """Target, regressors, prices at alpha 1, and the path: coefficients of each alpha."""
    for one in FROZEN["cases"][case][kind]:
        factor = np.array(one["factor"])
        others = np.array(one["others"], int)
        path = np.array(one["coefficients"])
        yield one["target"], others, factor / factor.mean(), path


def ours(X, target, others, prices):
    """Intercept and weights in the units of the data; what is not in `others` is too dear."""
    moments = moments_of(X, [f"x{k}" for k in range(X.shape[1])])
    place = np.argsort(moments.columns)
    W = np.ones(moments.R.shape)
    W[place[target], place[others]] = prices
    found = lasso_gram(moments.R, W)
    assert found.converged
    coef = found.x[place[target], place[others]] * moments.scale[target] / moments.scale[others]
    return np.append(moments.mean[target] - coef @ moments.mean[others], coef)


def assert_same(found, expected, X, target, others):
    sd = X.std(axis=0)
    np.testing.assert_array_equal(found[1:] != 0, expected[1:] != 0)
    per_sd = sd[others] / sd[target]
    np.testing.assert_allclose(found[1:] * per_sd, expected[1:] * per_sd, rtol=TOL, atol=TOL)
    np.testing.assert_allclose(found[0], expected[0], rtol=TOL, atol=TOL * sd[target])


@pytest.mark.parametrize("kind", ["plain", "weighted"])
@pytest.mark.parametrize("case", range(len(TABLES)))
def test_paths_of_the_lasso_equal_glmnets(case, kind):
    """Also with one price a regressor, of which one is zero, and with fewer rows than columns."""
    X = TABLES[case]
    for target, others, prices, path in answers(case, kind):
        assert np.any(path[:, 1:])
        for alpha, expected in zip(ALPHAS, path, strict=True):
            found = ours(X, target, others, alpha * prices)
            assert_same(found, expected, X, target, others)


@pytest.mark.parametrize("case", [0, 1])
def test_a_network_of_a_known_order_is_glmnets_lasso_on_the_variables_before(case):
    X = TABLES[case]
    tiers = [[j] for j in range(X.shape[1])]
    for place, alpha in enumerate(ALPHAS):
        learner = ORSGBN(alpha, tiers=tiers).fit(X)
        for target, others, _, path in answers(case, "ordered"):
            found = np.append(learner.intercept_[target], learner.coef_[others, target])
            assert_same(found, path[place], X, target, others)


@pytest.mark.parametrize("case", [0, 1])
def test_a_variable_without_descendants_is_glmnets_lasso_on_all_others(case):
    """H-SGBN charges for descendants alone, and the last variable of a DAG has none."""
    X, n_weights = TABLES[case], 0
    for place, alpha in enumerate(ALPHAS):
        learner = HSGBN(alpha).fit(X)
        last = ~reachable(learner.coef_).any(axis=1)
        for target, others, _, path in answers(case, "plain"):
            if last[target]:
                found = np.append(learner.intercept_[target], learner.coef_[others, target])
                assert_same(found, path[place], X, target, others)
                n_weights += np.count_nonzero(found[1:])
    assert n_weights > 10
