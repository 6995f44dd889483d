"""Common classifiers to compare with, tuned inside the training part."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd
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

from sgbn.structure.smooth import can_bend, learn_spline
from sgbn.types import Array

COVARIATES_ALONE = "covariates alone"
FOLDS = 5  # inside a training part, to tune a peer
TREES = 300  # of a random forest
LOG_LOSS = "neg_log_loss"  # scikit-learn's name of the score
# Few penalties and folds, and a loose tolerance: it would else cost more than all other peers.
GLASSO_PENALTIES = (0.1, 0.2, 0.4)
GLASSO_FOLDS, GLASSO_TOL = 3, 1e-3


class GaussianBayes(ClassifierMixin, BaseEstimator):
    """Bayes' rule with one Gaussian per class.

    Parameters
    ----------
    covariance : estimator
        Any of scikit-learn that has `location_` and `precision_` after `fit`.
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
        """Posterior probability of every class."""
        posterior: Array = softmax(self._scores(np.asarray(X, dtype=np.float64)), axis=1)
        return posterior

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class of the largest posterior probability."""
        predicted: NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return predicted

    def _scores(self, X: Array) -> Array:
        columns = []
        for gaussian, log_prior in zip(self.fitted_, self.log_priors_, strict=True):
            centred = X - gaussian.location_
            # squared Mahalanobis distance of each row
            distance = np.einsum("ij,jk,ik->i", centred, gaussian.precision_, centred)
            # slogdet: with many regions the determinant itself is 0 or infinite. The term of 2 pi
            # is the same for all classes, and drops out of the posterior.
            columns.append(log_prior + 0.5 * (np.linalg.slogdet(gaussian.precision_)[1] - distance))
        return np.column_stack(columns)


def peers(seed: int, n_folds: int = FOLDS, *, whole: bool = False) -> dict[str, Any]:
    """Make the peers, by name, for standardised regions; `seed` is that of folds and trees.

    With `whole`, peers that are tuned must be fitted with ``groups=``: the rows of a person or
    family are then in one fold.
    """
    splitter = StratifiedGroupKFold if whole else StratifiedKFold
    folds = splitter(n_folds, shuffle=True, random_state=seed)

    def tuned(
        estimator: Any, grid: dict[str, Any], scoring: str = "balanced_accuracy", cv: Any = folds
    ) -> Any:
        return GridSearchCV(estimator, grid, cv=cv, scoring=scoring)

    Cs = np.logspace(-3, 2, 8)
    return {
        # Logistic regressions are tuned by the loss that they minimise, others by what is tested.
        "L2 logistic": tuned(LogisticRegression(max_iter=2000), {"C": Cs}, LOG_LOSS),
        "L1 logistic": tuned(
            # liblinear takes two classes, and is by far the fastest
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
        # The default solver, "svd", knows no shrinkage.
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
    """Design columns of the spline of one covariate, with knots from the training rows.

    Where training has too few different values for a curve, the covariate stays as it is.

    Parameters
    ----------
    name : str
        The covariate, for messages.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Place the knots; X has one column."""
        values = np.asarray(X, dtype=np.float64)[:, 0]
        self.spline_ = learn_spline(values, self.name) if can_bend(values, self.name) else None
        return self

    def transform(self, X: ArrayLike) -> Array:
        """Columns of the spline."""
        values = np.asarray(X, dtype=np.float64)
        return values if self.spline_ is None else self.spline_.columns(values[:, 0])


def covariates_alone(smooth: Sequence[str] = ()) -> Pipeline:
    """Logistic regression on covariates and site: what they tell without any region.

    Parameters
    ----------
    smooth : sequence of str
        Covariates whose effects are curves, as they are where they are regressed out of regions.
    """
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    # A site that no training part has seen says nothing, and is not an error.
    labels = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer(
        # chosen when fitted: which columns are numbers is known only then
        (numbers, partial(_linear_numbers, smooth=tuple(smooth))),
        (labels, make_column_selector(dtype_exclude="number")),
        *((_curve(name), [name]) for name in smooth),
    )
    return make_pipeline(columns, LogisticRegression(max_iter=2000))


def _curve(name: str) -> Pipeline:
    # a covariate that is empty in a training part stays as a constant, so that its spline has input
    filled = SimpleImputer(strategy="median", keep_empty_features=True)
    return make_pipeline(filled, SplineColumns(name), StandardScaler())


def _linear_numbers(table: pd.DataFrame, smooth: tuple[str, ...]) -> list[str]:
    """Columns of numbers whose effects are linear."""
    names = make_column_selector(dtype_include="number")(table)
    return [name for name in names if name not in smooth]


def _lasso() -> dict[str, Any]:
    """Return the L1 penalty of a logistic regression under its name in this scikit-learn."""
    # 1.8 replaced penalty= by l1_ratio=, and warns of the old one
    old = getattr(LogisticRegression(), "penalty", None) == "l2"
    return {"penalty": "l1"} if old else {"l1_ratio": 1.0}
