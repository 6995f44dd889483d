r"""One network per class, from the class covariance or from a blend with the pooled covariance.

.. math:: S_c(\rho) = (1 - \rho) S_c + \rho S, \qquad S = \sum_k n_k S_k / n

Here :math:`S_k` is the covariance of class k, :math:`n_k` is its number of rows, and n is the
number of all rows. With a blend, a small class also uses the rows of the other classes. At
:math:`\rho = 1` the networks only differ in their means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sgbn.core.exceptions import InputError, listed, shown, warn
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.moments import constant_columns, moments_of
from sgbn.core.types import Array, Indices
from sgbn.core.validation import OneOf, check_parameters, warn_collinear, warn_few_samples
from sgbn.search.problem import default_gamma
from sgbn.structure import SGBN
from sgbn.structure.base import NetworkEstimator, NetworkLearner
from sgbn.structure.group_warnings import warnings_about

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
    for label, size in zip(classes.tolist(), sizes, strict=True):
        try:
            with warnings_about(f"class {shown(label)}"):
                networks[label] = _learn(clone(learner), values, labels, label, list(names), pool)
        except ValueError as error:
            raise InputError(f"class {shown(label)} ({size} rows): {error}") from error
    return with_variances(networks, variances, sizes.astype(float))


def check_class_sizes(classes: Sequence[Any], sizes: Indices) -> None:
    """Raise InputError if a class has too few rows for a network."""
    for label, size in zip(classes, sizes, strict=True):
        if size < MIN_ROWS_PER_CLASS:
            raise InputError(
                f"class {shown(label)} has {size} row, but a network needs {MIN_ROWS_PER_CLASS} or "
                "more rows. Leave the class out, or add subjects."
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
        warn_few_samples(size, values.shape[1], f"class {shown(label)}: ")
    for label in classes if pool < 1 else ():
        constant = constant_columns(values[labels == label])
        if constant.any():
            unvaried = [names[int(k)] for k in np.flatnonzero(constant)]
            warn(
                f"class {shown(label)}: {listed(unvaried)} does not vary in this class. This alone "
                "may decide the predictions. Leave it out, unless it defines the class."
            )
    moments = moments_of(_centred(values, labels), names)
    # Each class mean costs a degree of freedom. `Moments` already subtracts one mean.
    n_free = len(values) - len(classes) + 1
    warn_collinear(replace(moments, n=n_free), names)


def _learn(
    learner: Any, values: Array, labels: NDArray[Any], label: Any, names: list[str], pool: float
) -> GaussianNetwork:
    if pool == 0:
        rows = np.ascontiguousarray(values[labels == label])
        ours = isinstance(learner, NetworkEstimator)  # then messages can name the columns
        fitted = learner.learn(*learner.prepare(rows, names), names) if ours else learner.fit(rows)
        network = fitted.network_  # other learners call the variables x0, x1, ...
        return GaussianNetwork(network.coef, network.intercept, network.noise_variance, names)
    if not isinstance(learner, NetworkEstimator):
        raise InputError(
            f"pool={pool:g} needs a learner of sgbn, not {type(learner).__name__}. Set pool=0, or "
            "do not give a learner."
        )
    # A learner accepts rows or moments, but not a covariance. So the rows get weights that make
    # their covariance the blend. The weights distort the row count and the mean: both are set
    # below.
    rows, n_effective = blended_rows(values, labels, label, pool)
    check_parameters(learner)
    moments = learner.moments(rows, names)
    if moments.has_bias:
        raise InputError(
            "pool centres the rows, so it cannot go with a penalised intercept. Set pool=0, or "
            "give a learner that does not penalise the intercept."
        )
    mean = values[labels == label].mean(axis=0)
    moments = replace(moments, n=n_effective, mean=mean)
    blended: GaussianNetwork = learner.learn(moments, rows, names).network_
    return blended


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
