r"""A classifier that applies Bayes' rule to the likelihoods of one network per class.

.. math:: p(c \mid x) \propto \pi_c \exp(\tau L_c(x))

Here :math:`L_c` is the log-likelihood under the network of class c, :math:`\pi_c` is the prior of
the class, and :math:`\tau` is a temperature. With many regions, log-likelihoods differ by far more
than the data support. The temperature corrects this. It is one number, fitted on rows that the
networks have not seen.

One network per class, from the class covariance or from a blend with the pooled covariance.

.. math:: S_c(\rho) = (1 - \rho) S_c + \rho S, \qquad S = \sum_k n_k S_k / n

Here :math:`S_k` is the covariance of class k, :math:`n_k` is its number of rows, and n is the
number of all rows. With a blend, a small class also uses the rows of the other classes. At
:math:`\rho = 1` the networks only differ in their means.

The part of each region and edge in the log-likelihood ratio of a subject.

A network's log-likelihood is a sum over regions. For region j, :math:`u_j` is its distance from its
mean under the network, :math:`e_{ij} = \Theta_{ij} (x_i - \mu_i)` is the prediction by its parent
i, and :math:`r_j = u_j - \sum_i e_{ij}` is the residual. Then exactly

.. math:: -\frac{r_j^2}{2 \sigma_j^2} = -\frac{u_j^2}{2 \sigma_j^2}
          + \sum_i \frac{e_{ij} (u_j + r_j)}{2 \sigma_j^2}.

The first term is the part of the region itself. Each of the other terms is the part of one edge
into the region.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted

from sgbn.cohort.design import Design
from sgbn.cohort.rows import row_order
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.moments import constant_columns, moments_of, one_blas_thread
from sgbn.core.problems import DataWarning, InputError, Problem, did_you_mean
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
    allowed,
    check_classification,
    check_data,
    check_parameters,
    column_names,
    warn_collinear,
    warn_few_samples,
    warn_few_values,
)
from sgbn.learn.base import (
    NetworkEstimator,
    NetworkLearner,
    check_kind,
    part_of,
    warnings_about,
)
from sgbn.learn.search.plan import default_gamma
from sgbn.learn.sgbn import SGBN

MIN_ROWS_PER_CLASS = 2  # rows; a single row has no variance to learn a network from
VARIANCES = OneOf("class", "unit", "pooled")


@dataclass(frozen=True)
class Scale:
    """The means and standard deviations of all classes together.

    Standardising each class by itself would erase the difference in means.

    Attributes
    ----------
    mean, sd : ndarray of shape (m,)
        The mean and the standard deviation of each column.
    """

    mean: Array
    sd: Array

    @classmethod
    def of(cls, values: Array) -> Self:
        """Compute the scale of these rows. A constant column gets an sd of 1."""
        sd = values.std(axis=0)
        # The learner names constant columns in its message. A division by 0 would come before it.
        return cls(values.mean(axis=0), np.where(sd > 0, sd, 1.0))

    def standardise(self, values: Array) -> Array:
        """Return the rows in standard deviations from the mean."""
        return (values - self.mean) / self.sd

    def in_units(self, network: GaussianNetwork) -> GaussianNetwork:
        """Convert a network of standardised variables to the units of the data."""
        coef = network.coef * self.sd / self.sd[:, None]
        intercept = self.mean + self.sd * network.intercept - self.mean @ coef
        return GaussianNetwork(coef, intercept, network.noise_variance * self.sd**2, network.names)


def default_learner(labels: NDArray[Any]) -> SGBN:
    """Return an `SGBN` that keeps all rows, with the default gamma for the largest class."""
    largest = int(np.unique(labels, return_counts=True)[1].max())
    return SGBN(default_gamma(largest), outliers="keep")


def learn_networks(
    learner: NetworkLearner,
    values: Array,
    labels: NDArray[Any],
    names: Sequence[str],
    *,
    pool: float = 0.0,
    variances: str = "class",
) -> dict[Any, GaussianNetwork]:
    """Learn one network per class, in sorted order of the classes.

    Parameters
    ----------
    learner : estimator
        The estimator that learns a network. It is cloned for every class.
    values : ndarray of shape (n, m)
        The rows of all classes.
    labels : ndarray of shape (n,)
        The class of each row.
    names : sequence of str
        The names of the columns.
    pool : float
        The share of the pooled covariance, from 0 to 1.
    variances : {"class", "pooled", "unit"}
        The noise variances of the networks, see `with_variances`.
    """
    classes, sizes = np.unique(labels, return_counts=True)
    check_class_sizes(classes.tolist(), sizes)
    if pool > 0:
        warn_about_classes(values, labels, pool, names)  # without a blend, the learner itself warns
    networks = {}
    for label in classes.tolist():
        try:
            with warnings_about(label, "class"):
                networks[label] = _learn(clone(learner), values, labels, label, list(names), pool)
        except ValueError as error:
            raise InputError(part_of(label, "class", error)) from error
    return with_variances(networks, variances, sizes.astype(float))


def check_class_sizes(
    classes: Sequence[Any], sizes: Indices, least: int = MIN_ROWS_PER_CLASS
) -> None:
    """Raise InputError if a class has too few rows for a network."""
    for label, n in zip(classes, sizes, strict=True):
        if n < least:
            raise InputError("classes.small", label=label, n=n, least=least).says(
                "class {label} has {n:row}, but a network needs {least}", "Leave the class out."
            )


def with_variances(
    networks: Mapping[Any, GaussianNetwork], variances: str, sizes: Array
) -> dict[Any, GaussianNetwork]:
    """Return the networks with the noise variances that `variances` asks for.

    Parameters
    ----------
    networks : mapping of class to GaussianNetwork
        The networks, each with the noise variances of its class.
    variances : {"class", "pooled", "unit"}
        "class" keeps the noise variances, "unit" sets all of them to 1, and "pooled" sets them to
        their mean over the classes.
    sizes : ndarray of shape (classes,)
        The number of rows of each class. They are the weights of the pooled mean.
    """
    if variances == "class":
        return dict(networks)
    each = np.array([network.noise_variance for network in networks.values()])
    common = np.ones(each.shape[1]) if variances == "unit" else np.average(each, 0, sizes)
    return {
        label: GaussianNetwork(network.coef, network.intercept, common, network.names)
        for label, network in networks.items()
    }


def log_likelihoods(networks: Mapping[Any, GaussianNetwork], values: Array) -> Array:
    """Return the log-likelihood of each row under each network, shape (n, classes)."""
    return np.column_stack([network.log_likelihood(values) for network in networks.values()])


def warn_about_classes(
    values: Array, labels: NDArray[Any], pool: float, names: Sequence[str]
) -> None:
    """Warn about small classes, columns that are constant in a class, and collinear columns.

    Collinearity is checked on all rows after the class means are removed. With `pool` at 1 all
    classes use the pooled covariance, so the first two checks are left out.
    """
    classes, sizes = np.unique(labels, return_counts=True)
    for label, size in zip(classes, sizes, strict=True) if pool < 1 else ():
        with warnings_about(label, "class"):
            warn_few_samples(size, values.shape[1])
    for label in classes if pool < 1 else ():
        constant = constant_columns(values[labels == label])
        if constant.any():
            unvaried = [names[int(k)] for k in np.flatnonzero(constant)]
            Problem("classes.constant", label=label, columns=unvaried).warn(
                "columns that do not vary in class {label}: {columns}",
                "Leave them out, unless they define it.",
            )
    moments = moments_of(_centred(values, labels), names)
    # Each class mean costs a degree of freedom. `Moments` already subtracts one mean.
    warn_collinear(replace(moments, n=len(values) - len(classes) + 1), names)


def _learn(
    learner: Any, values: Array, labels: NDArray[Any], label: Any, names: list[str], pool: float
) -> GaussianNetwork:
    if pool == 0:
        rows = np.ascontiguousarray(values[labels == label])
        ours = isinstance(learner, NetworkEstimator)  # then messages can name the columns
        fitted = learner.learn(*learner.prepare(rows, names), names) if ours else learner.fit(rows)
        network = fitted.network_  # other learners call the variables x0, x1, ...
        return GaussianNetwork(network.coef, network.intercept, network.noise_variance, names)
    check_kind(learner, NetworkEstimator)  # `pool` needs its moments
    # A learner accepts rows or moments, but not a covariance. So the rows get weights that make
    # their covariance the blend. The weights distort the row count and the mean: both are set
    # below.
    rows, n_effective = blended_rows(values, labels, label, pool)
    check_parameters(learner)
    moments = learner.moments(rows, names)
    if moments.has_bias:
        raise InputError("pool.intercept").says(
            "pool cannot go with a penalised intercept", "Set {pool=0}, or give another learner."
        )
    moments = replace(moments, n=n_effective, mean=values[labels == label].mean(axis=0))
    return learner.learn(moments, rows, names).network_


def blended_rows(values: Array, labels: NDArray[Any], label: Any, pool: float) -> tuple[Array, int]:
    """Return rows whose covariance is the blend, and their effective number (Kish).

    Each row is the row of the data minus the mean of its class, times a weight. Rows of the class
    `label` have larger weights.
    """
    n, in_class = len(labels), labels == label
    weights = np.where(in_class, (1 - pool) / in_class.sum(), 0.0) + pool / n
    # Moments square the rows and divide by n. The root and the factor n cancel this.
    rows = _centred(values, labels) * np.sqrt(n * weights)[:, None]
    return rows, round(weights.sum() ** 2 / np.square(weights).sum())


def _centred(values: Array, labels: NDArray[Any]) -> Array:
    """Return each row minus the mean of its class."""
    centred = values.copy()
    for label in np.unique(labels):
        centred[labels == label] -= values[labels == label].mean(axis=0)
    return centred


Priors = Literal["empirical", "equal"] | Mapping[Any, float]
Temperature = Literal["cv"] | float

PRIORS = OneOf("empirical", "equal") | Constraint(
    ["a mapping of class to share"], lambda value: isinstance(value, Mapping)
)

TEMPERATURES = (1e-3, 10.0)  # the lowest and the highest temperature of a fit
NEAR_LOWEST = 2.0  # a temperature up to this many times the lowest counts as the lowest


@dataclass(frozen=True)
class Learned:
    """The result of a fit: the networks of the classes, in the units of the data."""

    networks: dict[Any, GaussianNetwork]


@dataclass(eq=False, repr=False)
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
    >>> from sgbn.learn.classifier import SGBNClassifier
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> y = np.repeat(["MCI", "NC"], 100)
    >>> X[:100, 1] += X[:100, 0]
    >>> X[100:, 1] -= X[100:, 0]
    >>> bool(SGBNClassifier().fit(X, y).score(X, y) > 0.7)
    True
    """

    # The class and the person or family of each row, only during a fit.
    _design: Design = field(init=False)
    learner: NetworkLearner | None = allowed(None, NONE | ESTIMATOR)
    _: KW_ONLY
    variances: str = allowed("class", VARIANCES)
    pool: float = allowed(0.0, PROBABILITY)
    priors: Priors = allowed("empirical", PRIORS)
    temperature: Temperature = allowed("cv", OneOf("cv") | POSITIVE)
    random_state: int = allowed(0, RANDOM_STATE)

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
        warn_few_values(values, names)
        self.priors_ = self._class_priors(labels)
        codes = np.searchsorted(self.classes_, labels)
        design = replace(
            Design.of(range(len(values)), block=groups, called={"block": "groups"}),
            group=codes.astype(str),
        )
        order = row_order(values, design)
        values, labels, self._design = values[order], labels[order], design.subset(order)
        with one_blas_thread():  # with such small matrices, several threads are slower
            self._learned = self._learn(values, labels, names)
            self.networks_ = self._learned.networks
            self.temperature_ = self._fit_temperature(values, labels, names)
        del self._design  # not part of a fitted model or its file
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
        return self.classes_[best]

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the posterior probability of every class."""
        return softmax(self._scores(X), axis=1)

    def predict_log_proba(self, X: ArrayLike) -> Array:
        """Return the logarithm of the posterior probability of every class."""
        return log_softmax(self._scores(X), axis=1)

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
            if label is not None:
                check_class(label, classes)
        # The defaults change sides if the given class is already the default of the other side.
        if of is None:
            of = classes[-1] if against != classes[-1] else classes[0]
        if against is None:
            against = classes[0] if of != classes[0] else classes[-1]
        if of == against:
            raise InputError("classes.same", label=of).says(
                "of and against are both {label}", "Give two classes to compare."
            )
        return explain_ratio(self.networks_[of], self.networks_[against], values)

    def _scores(self, X: ArrayLike) -> Array:
        check_is_fitted(self)
        values = check_data(self, X, reset=False)
        with np.errstate(over="ignore", invalid="ignore"):  # `_check_scores` names the row
            likelihoods = log_likelihoods(self.networks_, values)
            scores = posterior_scores(likelihoods, self.temperature_, self.priors_)
        _check_scores(scores)
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
        n_folds = self._design.usual_folds
        if not n_folds:
            return None
        unseen = np.empty((len(values), len(self.classes_)))
        for train, test in self._design.folds(n_folds, self.random_state):
            try:
                with warnings.catch_warnings():
                    # The fit to all rows has already warned about ties and few rows.
                    warnings.simplefilter("ignore", DataWarning)
                    networks = self._learn(values[train], labels[train], names).networks
            except InputError as error:  # such as a region that is constant in a fold
                raise InputError("temperature.fold", cause=error).says(
                    "in a fold for the temperature, {cause}", "Or set {temperature=1}."
                ) from error
            unseen[test] = log_likelihoods(networks, values[test])
        return unseen

    def _warn_about_temperature(self, labels: NDArray[Any]) -> None:
        lowest = TEMPERATURES[0]
        if self.temperature != "cv" or self.temperature_ > NEAR_LOWEST * lowest:
            return
        counts = np.unique(labels, return_counts=True)[1]
        label, n = self.classes_[counts.argmin()], counts.min()
        Problem("temperature.low", temperature=self.temperature_, label=label, n=n).warn(
            "networks do not tell the classes apart in new rows (temperature {temperature:.2g})",
            "Use fewer regions, or add subjects: class {label} has only {n:row}.",
        )

    def _class_priors(self, labels: NDArray[Any]) -> Array:
        classes, counts = np.unique(labels, return_counts=True)
        shares = counts.astype(float)
        if isinstance(self.priors, Mapping):
            shares = given_shares(self.priors, classes.tolist())
        elif self.priors == "equal":
            shares = np.ones(len(classes))
        return shares / shares.sum()


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
            check_class(key, classes)
        shares[label] = share
    given = [shares.get(label) for label in classes]
    if not ListOf(POSITIVE).allows(given):
        raise InputError("priors.shares", shares=str(dict(priors)), classes=classes).says(
            "priors is {shares:s}", "Give a positive share for each of {classes}."
        )
    return np.array(given, dtype=float)


def check_class(label: Any, classes: list[Any]) -> None:
    """Raise InputError unless there is a class with this label."""
    if label not in classes:
        raise InputError("classes.unknown", label=label, near=did_you_mean(label, classes)).says(
            "no class is called {label}", "{near}"
        )


def _check_scores(scores: Array) -> None:
    """Raise InputError if the likelihood of a row is too large or too small for a float."""
    bad = ~np.isfinite(scores).all(axis=1)
    if bad.any():
        raise InputError("scores.overflow", row=int(bad.argmax()), n=bad.sum()).says(
            "row {row} (counted from 0) has no finite likelihood ({n:such row})",
            "Correct its cells, which are too large, or fit the model again.",
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


@dataclass(frozen=True)
class Explanation:
    """A log-likelihood ratio as a sum of parts in nats. A positive part favours the first class.

    Attributes
    ----------
    ratio : ndarray of shape (n,)
        The log-likelihood ratio of each subject.
    own : ndarray of shape (n, m)
        The part of each region itself. It depends on the distance from the mean of each class.
    edges : ndarray of shape (n, p)
        The part of each edge that at least one of the two networks has.
    names : tuple of str
        The names of the m regions.
    sources, targets : tuple of str
        The region at the start and at the end of each of the p edges.
    """

    ratio: Array
    own: Array
    edges: Array
    names: tuple[str, ...]
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    @property
    def regions(self) -> Array:
        """Return the part of each region plus the parts of the edges into it.

        The sum over the regions is the ratio.
        """
        total = self.own.copy()
        place = {name: k for k, name in enumerate(self.names)}
        # An indexed `+=` would count only one of several edges with the same target. So: a loop.
        for edge, target in enumerate(self.targets):
            total[:, place[target]] += self.edges[:, edge]
        return total


def explain_ratio(first: GaussianNetwork, second: GaussianNetwork, values: Array) -> Explanation:
    """Split the log-likelihood ratio of each row under two networks into regions and edges."""
    # If only one network has the edge, the part of the other network is zero.
    i, j = np.nonzero((first.coef != 0) | (second.coef != 0))
    own_first, edges_first = _parts(first, values, i, j)
    own_second, edges_second = _parts(second, values, i, j)
    by_region, edges = own_first - own_second, edges_first - edges_second
    return Explanation(
        by_region.sum(axis=1) + edges.sum(axis=1),
        by_region,
        edges,
        tuple(first.names),
        tuple(first.names[k] for k in i),
        tuple(first.names[k] for k in j),
    )


def _parts(network: GaussianNetwork, values: Array, i: Indices, j: Indices) -> tuple[Array, Array]:
    """Split the log-likelihood of each row into the parts of regions and of edges i -> j."""
    variance = network.noise_variance
    u = values - network.mean
    r = network.residuals(values)
    by_region = -(u**2) / (2 * variance) - np.log(2 * np.pi * variance) / 2
    # u^2 - r^2 = (u - r)(u + r), and u - r is the sum of what the parents predict.
    predicted = network.coef[i, j] * u[:, i]
    return by_region, predicted * (u + r)[:, j] / (2 * variance[j])
