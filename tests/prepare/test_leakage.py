"""Nothing of a test subject reaches a training step."""

from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from tests.codes import warned

from sgbn.prepare.pipeline import make_analysis
from sgbn.prepare.selection import RegionSelector

QUICK = LogisticRegression()
DRAWS = ((5, QUICK), pytest.param(40, None, marks=pytest.mark.long))  # None: the default
K = 20


def noise(make_table, seed):
    """80 subjects of 4 sites, 300 regions that know nothing of the labels."""
    return make_table(n=80, m=300, seed=seed)


def accuracy(analysis, X, y, seed):
    folds = StratifiedKFold(3, shuffle=True, random_state=seed)
    return cross_val_score(analysis, X, y, cv=folds, error_score="raise").mean()


def inside(X, y, seed, classifier):
    analysis = make_analysis(covariates=["age", "sex"], site="site", k=K, classifier=classifier)
    return accuracy(analysis, X, y, seed)


def outside(X, y, seed, classifier):
    """Choose the regions with the labels of all subjects, and validate only what comes after."""
    regions = X.filter(like="region")
    chosen = list(RegionSelector(K).fit(regions, y).get_feature_names_out())
    analysis = make_analysis(covariates=["age", "sex"], site="site", classifier=classifier)
    return accuracy(analysis, X[[*chosen, "age", "sex", "site"]], y, seed)


def interval(accuracies):
    """99 % interval of the mean over draws."""
    half = t.ppf(0.995, len(accuracies) - 1) * np.std(accuracies, ddof=1)
    half /= np.sqrt(len(accuracies))
    return np.mean(accuracies) - half, np.mean(accuracies) + half


@pytest.mark.parametrize(("draws", "classifier"), DRAWS)
@pytest.mark.parametrize(("way", "is_inflated"), [(inside, False), (outside, True)])
def test_canary(make_table, way, is_inflated, draws, classifier):
    accuracies = [way(*noise(make_table, seed), seed, classifier) for seed in range(draws)]
    low, high = interval(accuracies)
    assert high >= 0.5
    assert (low > 0.5) == is_inflated


def test_test_rows_change_nothing_in_training(make_table):
    """With test rows beyond all bounds, what the training part gives stays the same to the bit."""
    X, y = make_table(n=80, m=30)
    wild = X.copy()
    wild.iloc[60:, [k for k, c in enumerate(X) if c.startswith("region")]] = 1e12
    wild.iloc[60:, X.columns.get_loc("age")] = 1e6
    wild.iloc[60:, X.columns.get_loc("site")] = "MOON"
    analysis = make_analysis(covariates=["age", "sex"], site="site", k=10)
    results = []
    for table in (X, wild):
        fitted = clone(analysis).fit(table[:60], y[:60])
        with warned("sites.unseen") if table is wild else nullcontext():
            fitted.predict(table[60:])
        results.append((fitted[:-1].transform(table[:60]), fitted.predict_proba(X[60:])))
    pd.testing.assert_frame_equal(results[0][0], results[1][0], check_exact=True)
    np.testing.assert_array_equal(results[0][1], results[1][1])


def test_a_test_row_is_predicted_the_same_alone_and_in_a_batch(make_table):
    X, y = make_table(n=80, m=30)
    analysis = make_analysis(covariates=["age", "sex"], site="site", k=10).fit(X[:60], y[:60])
    batch = analysis.predict_proba(X[60:66])
    alone = np.vstack([analysis.predict_proba(X[k : k + 1]) for k in range(60, 66)])
    np.testing.assert_allclose(alone, batch, rtol=1e-10)


def test_labels_reach_no_step_before_the_selection(make_table):
    X, y = make_table(n=80, m=30)
    analysis = make_analysis(covariates=["age", "sex"], site="site", k=10)
    first, second = (clone(analysis).fit(X, labels)[:3].transform(X) for labels in (y, y[::-1]))
    pd.testing.assert_frame_equal(first, second, check_exact=True)
