r"""A classifier that applies Bayes' rule to the likelihoods of one network per class.

.. math:: p(c \mid x) \propto \pi_c \exp(\tau L_c(x))

Here :math:`L_c` is the log-likelihood under the network of class c, :math:`\pi_c` is the prior of
the class, and :math:`\tau` is a temperature. With many regions, log-likelihoods differ by far more
than the data support. The temperature corrects this. It is one number, fitted on rows that the
networks have not seen.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sgbn.cohort.design import count_folds, inner_folds, units_of
from sgbn.core.exceptions import DataWarning, InputError, did_you_mean, listed, shown, warn
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.moments import one_blas_thread
from sgbn.core.types import Array, Indices
from sgbn.core.validation import (
    ESTIMATOR,
    NONE,
    POSITIVE,
    PROBABILITY,
    RANDOM_STATE,
    Constraint,
    Label,
    ListOf,
    OneOf,
    Parameters,
    check_classification,
    check_data,
    check_parameters,
    column_names,
)
from sgbn.discriminative.class_networks import (
    VARIANCES,
    Scale,
    default_learner,
    learn_networks,
    log_likelihoods,
)
from sgbn.discriminative.explanation import Explanation, explain_ratio
from sgbn.structure.base import NetworkLearner

Priors = Literal["empirical", "equal"] | Mapping[Any, float]
Temperature = Literal["cv"] | float

TEMPERATURES = (1e-3, 10.0)  # the lowest and the highest temperature of a fit
NEAR_LOWEST = 2.0  # a temperature up to this many times the lowest counts as the lowest


@dataclass(frozen=True)
class Learned:
    """The result of a fit: the networks of the classes, in the units of the data."""

    networks: dict[Any, GaussianNetwork]


class SGBNClassifier(ClassifierMixin, BaseEstimator):
    """A classifier with one network per class, which predicts by Bayes' rule.

    Parameters
    ----------
    learner : estimator, optional
        The estimator that learns the network of a class. By default, it is `SGBN` with one gamma
        for all classes.
    variances : {"class", "pooled", "unit"}
        Which noise variances to use. "class" uses the variances of each class, and "pooled" uses
        their mean. "unit" uses the variances of the regions over all classes together, which are 1
        in standardised data, as in the paper. In `FisherVectors`, which does not standardise,
        "unit" is 1 in the units of the data.
    pool : float
        The share of the pooled covariance in the covariance of each class, from 0 (as in the paper)
        to 1.
    priors : {"empirical", "equal"} or mapping of class to share
        The probabilities of the classes before the data are seen. "empirical" takes their shares of
        the training rows.
    temperature : "cv" or float
        The factor of the log-likelihoods. "cv" fits it on rows that the networks have not seen, in
        five folds of the training rows (four folds if a class has four rows). If a class has fewer
        than four rows, the temperature is 1.
    random_state : int
        The seed of the folds.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    networks_ : dict of class to GaussianNetwork
        The network of each class, in the units of the data.
    priors_ : ndarray of shape (classes,)
        The prior of each class. They add up to 1.
    temperature_ : float
        The factor of the log-likelihoods, fitted or given.
    n_features_in_, feature_names_in_
        The number and the names of the columns, as in scikit-learn.

    Notes
    -----
    Paper: Section 3, the SGBN classifier.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.discriminative import SGBNClassifier
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> y = np.repeat(["MCI", "NC"], 100)
    >>> X[:100, 1] += X[:100, 0]
    >>> X[100:, 1] -= X[100:, 0]
    >>> bool(SGBNClassifier().fit(X, y).score(X, y) > 0.7)
    True
    """

    _units: Indices | None = None  # the person or family of each row, only during a fit
    _parameters: ClassVar[Parameters] = {
        "learner": NONE | ESTIMATOR,
        "variances": VARIANCES,
        "pool": PROBABILITY,
        "priors": OneOf("empirical", "equal")
        | Constraint(["a mapping of class to share"], lambda value: isinstance(value, Mapping)),
        "temperature": OneOf("cv") | POSITIVE,
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        learner: NetworkLearner | None = None,
        *,
        variances: str = "class",
        pool: float = 0.0,
        priors: Priors = "empirical",
        temperature: Temperature = "cv",
        random_state: int = 0,
    ) -> None:
        self.learner = learner
        self.variances = variances
        self.pool = pool
        self.priors = priors
        self.temperature = temperature
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:
        """Learn one network per class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One row per subject, one column per region.
        y : array-like of shape (n_samples,)
            The class of each row.
        groups : array-like of shape (n_samples,), optional
            A label per row, such as the person or family, as in scikit-learn's splitters. Rows with
            the same label are never on both sides of an inner fold.
        """
        values, labels, self.classes_ = check_classification(self, X, y)
        check_parameters(self)
        names = column_names(self, X)
        self.priors_ = self._class_priors(labels)
        self._units = units_of(groups, len(values))
        with one_blas_thread():  # with such small matrices, several threads are slower
            self._learned = self._learn(values, labels, names)
            self.networks_ = self._learned.networks
            self.temperature_ = self._fit_temperature(values, labels, names)
        del self._units  # not part of a fitted model or its file
        self._warn_about_temperature(labels)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the log-odds of the second of two classes.

        With more classes, return the log-posterior of every class plus a constant.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the largest posterior probability for every row."""
        best = self._scores(X).argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[best]
        return predicted

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the posterior probability of every class."""
        posterior: Array = softmax(self._scores(X), axis=1)
        return posterior

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return the logarithm of the posterior probability of every class."""
        posterior: Array = log_softmax(self._scores(X), axis=1)
        return posterior

    def explain(
        self, X: ArrayLike, of: Label | None = None, against: Label | None = None
    ) -> Explanation:
        """Return what each region and edge adds to the log-likelihood ratio of two classes.

        The ratio does not include the temperature and the priors. The log-odds of `predict_proba`
        are the temperature times this ratio, plus the log-ratio of the priors.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One row per subject, one column per region.
        of, against : class labels, optional
            The classes in the numerator and in the denominator of the ratio. By default, these are
            the last class and the first class.
        """
        check_is_fitted(self)
        values = check_data(self, X, reset=False)
        classes = self.classes_.tolist()
        for label in (of, against):
            if label is not None and label not in classes:
                raise InputError(f"no class is called {label!r}. {did_you_mean(label, classes)}")
        # The defaults change sides if the given class is already the default of the other side.
        if of is None:
            of = classes[-1] if against != classes[-1] else classes[0]
        if against is None:
            against = classes[0] if of != classes[0] else classes[-1]
        if of == against:
            raise InputError(f"of and against are both {of!r}: give two classes to compare.")
        return explain_ratio(self.networks_[of], self.networks_[against], values)

    def _scores(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        values = check_data(self, X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):  # `_check_scores` names the row
            likelihoods = log_likelihoods(self.networks_, values)
            scores = posterior_scores(likelihoods, self.temperature_, self.priors_)
        _check_scores(scores, X)
        return scores

    def _learn(self, values: Array, labels: NDArray[Any], names: list[str]) -> Learned:
        """Learn the networks from rows that are standardised over all classes together."""
        scale = Scale.of(values)
        networks = self._standardised_networks(scale.standardise(values), labels, names)
        return Learned({label: scale.in_units(network) for label, network in networks.items()})

    def _standardised_networks(
        self, Z: Array, labels: NDArray[Any], names: list[str]
    ) -> dict[Any, GaussianNetwork]:
        learner = default_learner(labels) if self.learner is None else self.learner
        return learn_networks(learner, Z, labels, names, pool=self.pool, variances=self.variances)

    def _fit_temperature(self, values: Array, labels: NDArray[Any], names: list[str]) -> float:
        if self.temperature != "cv":
            return float(self.temperature)
        unseen = self._unseen_likelihoods(values, labels, names)
        if unseen is None:
            return 1.0
        return best_temperature(unseen, np.searchsorted(self.classes_, labels), self.priors_)

    def _unseen_likelihoods(
        self, values: Array, labels: NDArray[Any], names: list[str]
    ) -> Array | None:
        """Compute the log-likelihoods of rows under networks that have not seen them.

        Return None if a class has too few rows for folds.
        """
        codes = np.searchsorted(self.classes_, labels)
        n_folds = count_folds(codes, self._units)
        if not n_folds:
            return None
        unseen = np.empty((len(values), len(self.classes_)))
        for train, test in inner_folds(codes, self._units, n_folds, 1, self.random_state):
            networks = self._fold_networks(values[train], labels[train], names)
            unseen[test] = log_likelihoods(networks, values[test])
        return unseen

    def _fold_networks(
        self, values: Array, labels: NDArray[Any], names: list[str]
    ) -> dict[Any, GaussianNetwork]:
        try:
            with warnings.catch_warnings():
                # The fit to all rows has already warned about ties and few rows.
                warnings.simplefilter("ignore", DataWarning)
                return self._learn(values, labels, names).networks
        except InputError as error:  # such as a region that is constant in a fold
            raise InputError(
                f"in a fold for the temperature: {error} Or set temperature=1."
            ) from error

    def _warn_about_temperature(self, labels: NDArray[Any]) -> None:
        lowest = TEMPERATURES[0]
        if self.temperature != "cv" or self.temperature_ > NEAR_LOWEST * lowest:
            return
        counts = np.unique(labels, return_counts=True)[1]
        smallest = counts.argmin()
        warn(
            f"the temperature fell to {self.temperature_:.2g} ({lowest:g} is the lowest): the "
            "networks did not tell the classes apart in rows that they had not seen. So the "
            "probabilities are almost the priors. Use fewer regions, or add subjects: class "
            f"{shown(self.classes_[smallest])} ({counts[smallest]} rows) is the smallest."
        )

    def _class_priors(self, labels: NDArray[Any]) -> Array:
        classes, counts = np.unique(labels, return_counts=True)
        shares = counts.astype(float)
        if isinstance(self.priors, Mapping):
            shares = given_shares(self.priors, classes.tolist())
        elif self.priors == "equal":
            shares = np.ones(len(classes))
        normalised: Array = shares / shares.sum()
        return normalised


def given_shares(priors: Mapping[Any, Any], classes: list[Any]) -> Array:
    """Return the share of each class from a mapping.

    A key may be a class or the text of a class. JSON and TOML only have text as keys, so the
    key "1" may mean the class 1.
    """
    named = {str(label): label for label in classes}
    shares = {}
    for key, share in priors.items():
        # Equal keys come first: True and 1.0 equal the class 1, but their text differs.
        label = key if key in classes else named.get(str(key))
        if label is None:
            raise InputError(
                f"priors has a share of {shown(key)}, which is not a class of y. "
                f"{did_you_mean(key, classes)}"
            )
        shares[label] = share
    given = [shares.get(label) for label in classes]
    if not ListOf(POSITIVE).allows(given):
        raise InputError(
            f"priors={dict(priors)!r}: give a positive share for each of the classes "
            f"{listed(classes)}."
        )
    return np.array(given, dtype=float)


def _check_scores(scores: Array, X: Any) -> None:
    """Raise InputError if the likelihood of a row is too large or too small for a float."""
    bad = ~np.isfinite(scores).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        is_table = hasattr(X, "columns") and hasattr(X, "index")
        name = f", {shown(X.index[row])}," if is_table else ""
        raise InputError(
            f"row {row} (counted from 0){name} has no finite likelihood ({int(bad.sum())} such "
            "rows): its cells, or numbers of the model, are too large to compute with. Correct "
            "the cells, or fit the model again."
        )


def posterior_scores(likelihoods: Array, temperature: float, priors: Array) -> Array:
    """Return temperature times log-likelihood plus log-prior: log-posteriors up to a constant."""
    return temperature * likelihoods + np.log(priors)


def best_temperature(likelihoods: Array, codes: Indices, priors: Array) -> float:
    """Return the temperature with the smallest log-loss on rows that the networks have not seen.

    Parameters
    ----------
    likelihoods : ndarray of shape (n, classes)
        The log-likelihood of each row under the network of each class.
    codes : ndarray of shape (n,)
        The class of each row, numbered from 0.
    priors : ndarray of shape (classes,)
        The prior of each class.
    """
    # A logarithmic scale, because temperatures range over four orders of magnitude.
    optimum = minimize_scalar(
        lambda t: tempered_loss(likelihoods, codes, priors, np.exp(t)),
        bounds=np.log(TEMPERATURES),
        method="bounded",
    )
    return float(np.exp(optimum.x))


def tempered_loss(likelihoods: Array, codes: Indices, priors: Array, temperature: float) -> float:
    """Return the mean of -log p(true class) over the rows at a temperature."""
    posterior = log_softmax(posterior_scores(likelihoods, temperature, priors), axis=1)
    return -float(posterior[np.arange(len(codes)), codes].mean())
