r"""One network a class, each from its own covariance or from a blend with the pooled one.

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

from sgbn.discriminative.fisher import with_variances
from sgbn.exceptions import InputError, listed, shown, warn
from sgbn.gaussian import GaussianNetwork
from sgbn.moments import constant_columns, moments_of
from sgbn.parameters import check_parameters
from sgbn.search.problem import default_gamma
from sgbn.structure import SGBN
from sgbn.structure.base import NetworkEstimator, NetworkLearner
from sgbn.structure.group_warnings import warnings_about
from sgbn.types import Array
from sgbn.validation import warn_collinear, warn_few_samples

FEWEST = 2  # rows from which a network can be learned


@dataclass(frozen=True)
class Scale:
    """Means and standard deviations over all classes together.

    Standardising each class by itself would erase the difference in means.
    """

    mean: Array
    sd: Array

    @classmethod
    def of(cls, values: Array) -> Self:
        """Of these rows; constant columns are left to the learner, which names them."""
        sd = values.std(axis=0)
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
    """Network of each class, in sorted order of the classes.

    Parameters
    ----------
    learner : estimator
        Cloned for every class.
    values : ndarray of shape (n, m)
    labels : ndarray of shape (n,)
    names : sequence of str
        Of the columns.
    pool : float
        Share of the pooled covariance, from 0 to 1.
    variances : {"class", "pooled", "unit"}
    """
    classes, sizes = np.unique(labels, return_counts=True)
    if pool > 0 and sizes.min() >= FEWEST:
        warn_about_classes(values, labels, pool, names)  # without a blend, the learner warns
    networks = {}
    for label, size in zip(classes.tolist(), sizes, strict=True):
        if size < FEWEST:
            raise InputError(
                f"class {shown(label)} has {size} row: a network needs {FEWEST} or more. Leave the "
                "class out, or add subjects."
            )
        try:
            with warnings_about(f"class {shown(label)}"):
                networks[label] = _learn(clone(learner), values, labels, label, list(names), pool)
        except ValueError as error:
            raise InputError(f"class {shown(label)} ({size} rows): {error}") from error
    return with_variances(networks, variances, sizes.astype(float))


def log_likelihoods(networks: Mapping[Any, GaussianNetwork], values: Array) -> Array:
    """Log-likelihood of every row under every network, shape (n, classes)."""
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
    free = len(values) - len(classes) + 1  # every class mean but one costs a row
    warn_collinear(replace(moments, n=free), names)


def _learn(
    learner: Any, values: Array, labels: NDArray[Any], label: Any, names: list[str], pool: float
) -> GaussianNetwork:
    if pool == 0:
        rows = np.ascontiguousarray(values[labels == label])
        named = isinstance(learner, NetworkEstimator)  # its messages then name the columns
        fitted = learner.learn(*learner.prepare(rows, names), names) if named else learner.fit(rows)
        found = fitted.network_
        return GaussianNetwork(found.coef, found.intercept, found.noise_variance, names)
    if not isinstance(learner, NetworkEstimator):
        raise InputError(f"pool={pool:g} needs a learner of sgbn, not {type(learner).__name__}.")
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
    """Rows whose covariance is the blend, and the number of rows that they are worth (Kish).

    All rows are centred in their class and weighted: those of the class more, the others less.
    """
    n, own = len(labels), labels == label
    weights = np.where(own, (1 - pool) / own.sum(), 0.0) + pool / n
    rows = _centred(values, labels) * np.sqrt(n * weights)[:, None]
    return rows, round(weights.sum() ** 2 / np.square(weights).sum())


def _centred(values: Array, labels: NDArray[Any]) -> Array:
    """Rows without the mean of their class."""
    centred = values.copy()
    for label in np.unique(labels):
        centred[labels == label] -= values[labels == label].mean(axis=0)
    return centred
