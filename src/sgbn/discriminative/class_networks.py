r"""One network per class, from its own covariance or from a blend with the pooled one.

.. math:: S_c(\rho) = (1 - \rho) S_c + \rho S, \qquad S = \sum_k n_k S_k / n

with the class covariances :math:`S_k`. A blend lends a small class strength from the others; at
:math:`\rho = 1` the networks differ in their means only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sgbn.exceptions import InputError, listed, shown, warn
from sgbn.gaussian import GaussianNetwork
from sgbn.moments import constant_columns, moments_of
from sgbn.parameters import OneOf, check_parameters
from sgbn.search.problem import default_gamma
from sgbn.structure import SGBN
from sgbn.structure.base import NetworkEstimator, NetworkLearner
from sgbn.structure.group_warnings import warnings_about
from sgbn.types import Array, Indices
from sgbn.validation import warn_collinear, warn_few_samples

MIN_ROWS_PER_CLASS = 2  # one row has no variance to learn a network from
VARIANCES = OneOf("class", "unit", "pooled")


@dataclass(frozen=True)
class Scale:
    """Means and standard deviations over all classes together.

    Standardising each class by itself would erase the difference in means.
    """

    mean: Array
    sd: Array

    @classmethod
    def of(cls, values: Array) -> Self:
        """Measure these rows; constant columns are left to the learner, which names them."""
        sd = values.std(axis=0)
        # A division by 0 would give NaN before the learner could say which column it is.
        return cls(values.mean(axis=0), np.where(sd > 0, sd, 1.0))

    def standardise(self, values: Array) -> Array:
        """Rows in standard deviations from the mean."""
        return (values - self.mean) / self.sd

    def in_units(self, network: GaussianNetwork) -> GaussianNetwork:
        """Network of standardised variables, in the units of the data."""
        coef = network.coef * self.sd / self.sd[:, None]
        intercept = self.mean + self.sd * network.intercept - self.mean @ coef
        return GaussianNetwork(coef, intercept, network.noise_variance * self.sd**2, network.names)


def default_learner(labels: NDArray[Any]) -> SGBN:
    """Return `SGBN` with one gamma for all classes, that of the largest, and with all rows."""
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
    """Learn the network of each class, in sorted order of the classes.

    Parameters
    ----------
    learner : estimator
        Cloned for every class.
    values : ndarray of shape (n, m)
    labels : ndarray of shape (n,)
        Class of each row.
    names : sequence of str
        Names of the columns.
    pool : float
        Share of the pooled covariance, from 0 to 1.
    variances : {"class", "pooled", "unit"}
    """
    classes, sizes = np.unique(labels, return_counts=True)
    check_class_sizes(classes.tolist(), sizes)
    if pool > 0:
        warn_about_classes(values, labels, pool, names)  # without a blend, the learner warns
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
                f"class {shown(label)} has {size} row: a network needs {MIN_ROWS_PER_CLASS} or "
                "more. Leave the class out, or add subjects."
            )


def with_variances(
    networks: Mapping[Any, GaussianNetwork], variances: str, sizes: Array
) -> dict[Any, GaussianNetwork]:
    """Return networks with their own noise variances, with 1, or with the mean over classes."""
    if variances == "class":
        return dict(networks)
    each = np.array([network.noise_variance for network in networks.values()])
    common = np.ones(each.shape[1]) if variances == "unit" else np.average(each, 0, sizes)
    return {
        label: GaussianNetwork(network.coef, network.intercept, common, network.names)
        for label, network in networks.items()
    }


def log_likelihoods(networks: Mapping[Any, GaussianNetwork], values: Array) -> Array:
    """Return the log-likelihood of every row under every network, shape (n, classes)."""
    return np.column_stack([network.log_likelihood(values) for network in networks.values()])


def warn_about_classes(
    values: Array, labels: NDArray[Any], pool: float, names: Sequence[str]
) -> None:
    """Warn of classes with few rows, or columns constant in one, and of collinear columns.

    Columns are compared within classes, over all rows. With `pool` at 1 the size of a class does
    not matter, as its covariance is that of all rows.
    """
    classes, sizes = np.unique(labels, return_counts=True)
    for label, size in zip(classes, sizes, strict=True) if pool < 1 else ():
        warn_few_samples(size, values.shape[1], f"class {shown(label)}: ")
    for label in classes if pool < 1 else ():
        constant = constant_columns(values[labels == label])
        if constant.any():
            still = [names[int(k)] for k in np.flatnonzero(constant)]
            warn(
                f"class {shown(label)}: {listed(still)} does not vary there, and may decide alone. "
                "Leave it out, unless it means the class."
            )
    moments = moments_of(_centred(values, labels), names)
    # Every class mean but one costs a row: `Moments` of n rows allow for one mean already.
    free = len(values) - len(classes) + 1
    warn_collinear(replace(moments, n=free), names)


def _learn(
    learner: Any, values: Array, labels: NDArray[Any], label: Any, names: list[str], pool: float
) -> GaussianNetwork:
    if pool == 0:
        rows = np.ascontiguousarray(values[labels == label])
        named = isinstance(learner, NetworkEstimator)  # its messages then name the columns
        fitted = learner.learn(*learner.prepare(rows, names), names) if named else learner.fit(rows)
        unnamed = fitted.network_  # a learner that saw no names calls columns x0, x1, ...
        return GaussianNetwork(unnamed.coef, unnamed.intercept, unnamed.noise_variance, names)
    if not isinstance(learner, NetworkEstimator):
        raise InputError(f"pool={pool:g} needs a learner of sgbn, not {type(learner).__name__}.")
    # A learner takes rows or moments, and no covariance. Weighted rows have the covariance of the
    # blend; the number of rows and the mean, which the weights distort, are put right afterwards.
    rows, n_effective = blended_rows(values, labels, label, pool)
    check_parameters(learner)
    moments = learner.moments(rows, names)
    if moments.has_bias:
        raise InputError("pool centres the rows: it cannot go with a penalised intercept.")
    mean = values[labels == label].mean(axis=0)
    moments = replace(moments, n=n_effective, mean=mean)
    network: GaussianNetwork = learner.learn(moments, rows, names).network_
    return network


def blended_rows(values: Array, labels: NDArray[Any], label: Any, pool: float) -> tuple[Array, int]:
    """Return rows whose covariance is the blend, and how many rows they are worth (Kish).

    All rows are centred in their class and weighted: those of the class more, the others less.
    """
    n, in_class = len(labels), labels == label
    weights = np.where(in_class, (1 - pool) / in_class.sum(), 0.0) + pool / n
    # Moments divide by n, and multiply rows by themselves: hence n times, and the root.
    rows = _centred(values, labels) * np.sqrt(n * weights)[:, None]
    return rows, round(weights.sum() ** 2 / np.square(weights).sum())


def _centred(values: Array, labels: NDArray[Any]) -> Array:
    """Rows without the mean of their class."""
    centred = values.copy()
    for label in np.unique(labels):
        centred[labels == label] -= values[labels == label].mean(axis=0)
    return centred
