r"""Classes by the likelihood of their networks (Bayes' rule).

.. math:: p(c \mid x) \propto \pi_c \exp(\tau L_c(x))

with the log-likelihood :math:`L_c` under the network of class c, priors :math:`\pi_c` and a
temperature :math:`\tau`: log-likelihoods of many regions differ by far more than the data support,
and one number, fitted on rows that the networks have not seen, puts that right.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from sgbn.discriminative.class_networks import (
    VARIANCES,
    Scale,
    default_learner,
    learn_networks,
    log_likelihoods,
)
from sgbn.discriminative.explanation import Explanation, explain_ratio
from sgbn.exceptions import DataWarning, InputError, did_you_mean, listed, shown, warn
from sgbn.gaussian import GaussianNetwork
from sgbn.moments import one_blas_thread
from sgbn.parameters import (
    ESTIMATOR,
    NONE,
    POSITIVE,
    PROBABILITY,
    RANDOM_STATE,
    Constraint,
    ListOf,
    OneOf,
    Parameters,
    check_parameters,
)
from sgbn.structure.base import NetworkLearner
from sgbn.types import Array, Indices
from sgbn.validation import Label, check_classification, check_data, column_names

Priors = Literal["empirical", "equal"] | Mapping[Any, float]
Temperature = Literal["cv"] | float

FOLDS = 5  # of the training rows, for the temperature
MIN_TRAINING_ROWS = 3  # of a class, in every fold; with fewer there are no folds
TEMPERATURES = (1e-3, 10.0)  # lowest and highest
AT_BOUND = 2.0  # a temperature below this many times the lowest counts as the lowest


@dataclass(frozen=True)
class Learned:
    """What a fit learned: the networks of the classes, in the units of the data."""

    networks: dict[Any, GaussianNetwork]


class SGBNClassifier(ClassifierMixin, BaseEstimator):
    """One network per class, and the class by Bayes' rule.

    Parameters
    ----------
    learner : estimator, optional
        It learns the network of a class; by default `SGBN` with one gamma for all classes.
    variances : {"class", "pooled", "unit"}
        Noise variances: of each class, their mean, or those of the regions over all classes
        together: 1 in standardised data, as in the paper. "unit" of `FisherVectors`, which does
        not standardise, is 1 in the units of the data.
    pool : float
        Share of the pooled covariance in each class's own, from 0 (the paper) to 1.
    priors : {"empirical", "equal"} or mapping of class to share
    temperature : "cv" or float
        Factor of the log-likelihoods. "cv" fits it on rows that the networks have not seen, in five
        folds of the training rows (four if a class has four rows). With fewer than four rows of a
        class it is 1.
    random_state : int
        Seed of the folds.

    Attributes
    ----------
    classes_ : ndarray
    networks_ : dict of class to GaussianNetwork
    priors_ : ndarray of shape (classes,)
    temperature_ : float
    n_features_in_, feature_names_in_
        As in all of scikit-learn.

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

    _units: Indices | None = None  # person or family of each row, while a fit lasts
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
        y : array-like of shape (n_samples,)
        groups : array-like of shape (n_samples,), optional
            As in scikit-learn's splitters: labels such as persons or families, whose rows are
            never on both sides of an inner fold.
        """
        values, labels, self.classes_ = check_classification(self, X, y)
        check_parameters(self)
        names = column_names(self, X)
        self.priors_ = self._class_priors(labels)
        self._units = _units(groups, len(values))
        with one_blas_thread():  # more would wait for each other over such small matrices
            self._learned = self._learn(values, labels, names)
            self.networks_ = self._learned.networks
            self.temperature_ = self._fit_temperature(values, labels, names)
        del self._units  # not part of a fitted model: files and clones do without it
        self._warn_about_temperature(labels)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Return log-odds of the second of two classes, else log-posteriors plus a constant."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class of the largest posterior probability."""
        best = self._scores(X).argmax(axis=1)
        predicted: NDArray[Any] = self.classes_[best]
        return predicted

    def predict_proba(self, X: ArrayLike) -> Array:
        """Posterior probability of every class."""
        posterior: Array = softmax(self._scores(X), axis=1)
        return posterior

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Logarithm of the posterior probability of every class."""
        posterior: Array = log_softmax(self._scores(X), axis=1)
        return posterior

    def explain(
        self, X: ArrayLike, of: Label | None = None, against: Label | None = None
    ) -> Explanation:
        """Say what each region and edge adds to the log-likelihood ratio of two classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        of, against : class labels, optional
            The ratio is that of the first over the second; by default of the last class over the
            first. It is of the likelihoods themselves: the log-odds of `predict_proba` are the
            temperature times it, and the log-ratio of the priors.
        """
        check_is_fitted(self)
        values = check_data(self, X, reset=False)
        classes = self.classes_.tolist()
        for label in (of, against):
            if label is not None and label not in classes:
                raise InputError(f"no class is called {label!r}. {did_you_mean(label, classes)}")
        # The last class over the first, unless the other side of the ratio is that class already.
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
        with np.errstate(over="ignore", invalid="ignore"):  # said by name below
            likelihoods = log_likelihoods(self.networks_, values)
            scores = posterior_scores(likelihoods, self.temperature_, self.priors_)
        _check_scores(scores, X)
        return scores

    def _learn(self, values: Array, labels: NDArray[Any], names: list[str]) -> Learned:
        """Networks of the classes, from rows standardised over all classes together."""
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
        """Log-likelihoods of rows under networks that have not seen them; None if too few."""
        codes = np.searchsorted(self.classes_, labels)
        n_folds = count_folds(codes, self._units)
        if not n_folds:
            return None
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=self.random_state)
        folds = splitter.split(values, codes)
        if self._units is not None:
            folds = folds_of_units(codes, self._units, n_folds, 1, self.random_state)
        unseen = np.empty((len(values), len(self.classes_)))
        for train, test in folds:
            networks = self._fold_networks(values[train], labels[train], names)
            unseen[test] = log_likelihoods(networks, values[test])
        return unseen

    def _fold_networks(
        self, values: Array, labels: NDArray[Any], names: list[str]
    ) -> dict[Any, GaussianNetwork]:
        try:
            with warnings.catch_warnings():
                # of ties and few rows: the fit of all rows has said what a user can act on
                warnings.simplefilter("ignore", DataWarning)
                return self._learn(values, labels, names).networks
        except InputError as error:  # such as a region that is constant in a fold
            where = "in a fold for the temperature"
            raise InputError(f"{where}: {error} Or set temperature=1.") from error

    def _warn_about_temperature(self, labels: NDArray[Any]) -> None:
        lowest = TEMPERATURES[0]
        if self.temperature != "cv" or self.temperature_ > AT_BOUND * lowest:
            return
        counts = np.unique(labels, return_counts=True)[1]
        smallest = counts.argmin()
        warn(
            f"the temperature fell to {self.temperature_:.2g} ({lowest:g} is the lowest): the "
            "networks did not tell the classes apart in rows that they had not seen, so that "
            "probabilities are little more than the priors. Take fewer regions, or add subjects; "
            f"class {shown(self.classes_[smallest])} ({counts[smallest]} rows) has the fewest."
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


def count_folds(codes: Indices, units: Indices | None = None) -> int:
    """Count the folds in which every class keeps enough rows, or units; 0 if there are none."""
    if units is not None:
        # a unit with rows of several classes counts once in each
        codes = np.unique(np.column_stack([codes, units]), axis=0)[:, 0]
    smallest = int(np.bincount(codes).min())
    return min(FOLDS, smallest) if smallest > MIN_TRAINING_ROWS else 0


def folds_of_units(
    codes: Indices, units: Indices, n_folds: int, n_repeats: int, seed: int
) -> Iterator[tuple[Indices, Indices]]:
    """Give training and test rows, with all rows of a unit on one side."""
    rng = check_random_state(seed)  # one stream: the seed itself would split all repeats alike
    for _ in range(n_repeats):
        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=rng)
        for train, test in splitter.split(codes, codes, units):
            if len(test):  # few and large units may leave a fold without any
                yield train, test


def _units(groups: ArrayLike | None, n: int) -> Indices | None:
    """Give the number of the unit of each row, None if there are none."""
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise InputError(
            f"groups has shape {labels.shape}: give one label per row, such as the person, for "
            f"{n} rows."
        )
    # As text: labels may be of several types, which numpy cannot sort.
    return np.unique(labels.astype(str), return_inverse=True)[1].astype(np.intp)


def given_shares(priors: Mapping[Any, Any], classes: list[Any]) -> Array:
    """Return the share of each class, by keys that equal the classes or read like them.

    JSON and TOML have text as keys: "1" is then the class 1.
    """
    named = {str(label): label for label in classes}
    shares = {}
    for key, share in priors.items():
        # Equal keys first: True and 1.0 are the class 1, and do not read like it.
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
    """Raise InputError if the likelihood of a row is beyond what floats hold."""
    bad = ~np.isfinite(scores).all(axis=1)
    if bad.any():
        row = int(bad.argmax())
        is_table = hasattr(X, "columns") and hasattr(X, "index")
        name = f", {shown(X.index[row])}," if is_table else ""
        raise InputError(
            f"row {row} (counted from 0){name} has no finite likelihood ({int(bad.sum())} such "
            "rows): its cells, or numbers of the model, are too large to compute with. Correct "
            "the cells, or fit the model anew."
        )


def posterior_scores(likelihoods: Array, temperature: float, priors: Array) -> Array:
    """Logarithm of the posterior up to a constant: tempered log-likelihood and log-prior."""
    return temperature * likelihoods + np.log(priors)


def best_temperature(likelihoods: Array, codes: Indices, priors: Array) -> float:
    """Find the temperature of the smallest log-loss on rows that the networks have not seen.

    Parameters
    ----------
    likelihoods : ndarray of shape (n, classes)
    codes : ndarray of shape (n,)
        Class of each row, numbered from 0.
    priors : ndarray of shape (classes,)
    """
    # on a logarithmic scale: temperatures range over four orders of magnitude
    optimum = minimize_scalar(
        lambda t: tempered_loss(likelihoods, codes, priors, np.exp(t)),
        bounds=np.log(TEMPERATURES),
        method="bounded",
    )
    return float(np.exp(optimum.x))


def tempered_loss(likelihoods: Array, codes: Indices, priors: Array, temperature: float) -> float:
    """Mean of -log p(class) of the rows at a temperature."""
    posterior = log_softmax(posterior_scores(likelihoods, temperature, priors), axis=1)
    return -float(posterior[np.arange(len(codes)), codes].mean())
