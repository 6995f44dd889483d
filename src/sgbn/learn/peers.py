"""Common classifiers for comparison (peers), tuned inside the training part."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.covariance import GraphicalLasso, LedoitWolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC

from sgbn.cohort.effects import can_bend, learn_spline
from sgbn.core.types import Array

COVARIATES_ALONE = "covariates alone"
FOLDS = 5  # number of folds inside a training part, to tune a peer
TREES = 300  # number of trees of a random forest
LOG_LOSS = "neg_log_loss"  # scikit-learn's name of the score
# Few penalties and folds, and a large tolerance. Otherwise this peer would take more time than all
# others.
GLASSO_PENALTIES = (0.1, 0.2, 0.4)
GLASSO_FOLDS, GLASSO_TOL = 3, 1e-3


class GaussianBayes(ClassifierMixin, BaseEstimator):
    """A classifier by Bayes' rule with one Gaussian per class.

    Parameters
    ----------
    covariance : estimator
        Any covariance estimator of scikit-learn that has `location_` and `precision_` after `fit`.
    """

    def __init__(self, covariance: Any) -> None:
        self.covariance = covariance

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit one Gaussian per class."""
        X, y = np.asarray(X, dtype=np.float64), np.asarray(y)
        self.classes_, counts = np.unique(y, return_counts=True)
        self.fitted_ = [clone(self.covariance).fit(X[y == label]) for label in self.classes_]
        self.log_priors_ = np.log(counts / counts.sum())
        return self

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the posterior probability of every class."""
        return softmax(self._scores(np.asarray(X, dtype=np.float64)), axis=1)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the largest posterior probability for every row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def _scores(self, X: Array) -> Array:
        columns = []
        for gaussian, log_prior in zip(self.fitted_, self.log_priors_, strict=True):
            centred = X - gaussian.location_
            # The squared Mahalanobis distance of each row.
            distance = np.einsum("ij,jk,ik->i", centred, gaussian.precision_, centred)
            # slogdet, because with many regions the determinant itself is 0 or infinite. The term
            # of 2 pi is left out: it is the same for all classes and drops out of the posterior.
            columns.append(log_prior + 0.5 * (np.linalg.slogdet(gaussian.precision_)[1] - distance))
        return np.column_stack(columns)


def peers(seed: int, n_folds: int = FOLDS, *, whole: bool = False) -> dict[str, Any]:
    """Return the peers by name. They expect standardised regions.

    Parameters
    ----------
    seed : int
        The seed of folds and trees.
    n_folds : int
        The number of folds that tune a peer.
    whole : bool
        Whether the folds keep the rows of a person or family together. Peers that are tuned must
        then be fitted with ``groups=``.
    """
    splitter = StratifiedGroupKFold if whole else StratifiedKFold
    folds = splitter(n_folds, shuffle=True, random_state=seed)

    def tuned(
        estimator: Any, grid: dict[str, Any], scoring: str = "balanced_accuracy", cv: Any = folds
    ) -> Any:
        return GridSearchCV(estimator, grid, cv=cv, scoring=scoring)

    Cs = np.logspace(-3, 2, 8)
    return {
        # Logistic regressions are tuned by the log-loss, which they minimise. The other peers are
        # tuned by the balanced accuracy, which is tested.
        "L2 logistic": tuned(LogisticRegression(max_iter=2000), {"C": Cs}, LOG_LOSS),
        "L1 logistic": tuned(
            # liblinear is by far the fastest solver, but takes only two classes.
            OneVsRestClassifier(
                LogisticRegression(solver="liblinear", random_state=seed, **_lasso())
            ),
            {"estimator__C": Cs[2:]},
            LOG_LOSS,
        ),
        "linear SVM": tuned(SVC(kernel="linear"), {"C": np.logspace(-3, 1, 5)}),
        "RBF SVM": tuned(SVC(), {"C": [0.1, 1, 10, 100], "gamma": [0.001, 0.005, 0.025, 0.1]}),
        "poly-2 SVM": tuned(
            SVC(kernel="poly", degree=2, coef0=1.0),
            {"C": [0.01, 0.1, 1, 10], "gamma": [0.001, 0.005, 0.025]},
        ),
        "ridge": tuned(RidgeClassifier(), {"alpha": np.logspace(-1, 4, 11)}),
        # The default solver, "svd", has no shrinkage.
        "shrinkage LDA": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        "shrinkage QDA": GaussianBayes(LedoitWolf()),
        "naive Bayes": GaussianNB(),
        "random forest": RandomForestClassifier(TREES, random_state=seed),
        "graphical-lasso QDA": tuned(
            GaussianBayes(GraphicalLasso(tol=GLASSO_TOL)),
            {"covariance__alpha": GLASSO_PENALTIES},
            cv=splitter(GLASSO_FOLDS, shuffle=True, random_state=seed),
        ),
    }


class SplineColumns(TransformerMixin, BaseEstimator):
    """A transformer of one covariate to the columns of a spline, with knots from training rows.

    If the training rows have too few different values for a curve, the covariate stays as it is.

    Parameters
    ----------
    name : str
        The name of the covariate, for messages.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Place the knots. X has one column."""
        values = np.asarray(X, dtype=np.float64)[:, 0]
        self.spline_ = learn_spline(values, self.name) if can_bend(values, self.name) else None
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Return the columns of the spline."""
        values = np.asarray(X, dtype=np.float64)
        return values if self.spline_ is None else self.spline_.columns(values[:, 0])


def covariates_alone(smooth: Sequence[str] = ()) -> Pipeline:
    """Make a logistic regression on covariates and site, without any region.

    Parameters
    ----------
    smooth : sequence of str
        The covariates whose effects are curves, as in the regression of regions on covariates.
    """
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    # A test subject may have a site that is not in the training part. This is not an error.
    labels = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer(
        # The fit chooses the columns, because only the table shows which of them are numbers.
        (numbers, partial(_linear_numbers, smooth=tuple(smooth))),
        (labels, make_column_selector(dtype_exclude="number")),
        *((_curve(name), [name]) for name in smooth),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=2000))


def _curve(name: str) -> Pipeline:
    # If a covariate is empty in a training part, it becomes a constant as the input of its spline.
    filled = SimpleImputer(strategy="median", keep_empty_features=True)
    return make_pipeline(filled, SplineColumns(name), StandardScaler())


def _linear_numbers(table: Any, smooth: tuple[str, ...]) -> list[str]:
    """Return the names of the columns of numbers whose effects are linear."""
    names = make_column_selector(dtype_include="number")(table)
    return [name for name in names if name not in smooth]


def _lasso() -> dict[str, Any]:
    """Return the keyword of the L1 penalty in the installed version of scikit-learn."""
    # scikit-learn 1.8 replaced penalty= by l1_ratio=, and warns about penalty=.
    old = getattr(LogisticRegression(), "penalty", None) == "l2"
    return {"penalty": "l1"} if old else {"l1_ratio": 1.0}
