r"""Networks of classes as sparse departures from a common network, along one order.

A search on the covariance S within classes finds the order. The class covariance :math:`S_c` is
blended with a share :math:`\rho` of S and a share :math:`\gamma` of the diagonal:

.. math:: S_c(\rho, \gamma) = (1 - \gamma) C + \gamma \, \mathrm{diag}(C), \qquad
          C = (1 - \rho) S_c + \rho S.

The common network is a lasso along the order on :math:`S(1, \gamma)`, at the price
:math:`\alpha / \sqrt n` per edge. The network of class c is a lasso on
:math:`S_c(\rho, \gamma)`, at the price :math:`2 \alpha \sigma_j s_k / \sqrt{n_c}` per *departure*
from the common weight of k -> j. Here :math:`\sigma_j` is the noise of the child in the common
network, :math:`s_k` is the standard deviation of the parent, n is the number of all rows, and
:math:`n_c` is the number of rows of the class. The difference of a class's log-variance from the
common log-variance shrinks by :math:`2 \alpha \sqrt{2 / n_c}`, and a smaller difference becomes 0.
So many weights and variances of two classes are exactly the same. Class means keep a share of their
distance from the common mean.

At :math:`\rho = 1` this is linear discriminant analysis, and at :math:`\rho = 0` it is quadratic
discriminant analysis. With :math:`\alpha = 0` it is the regularised form of Friedman (1989).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.moments import moments_of
from sgbn.core.types import Array, Indices
from sgbn.learn.classifier import Scale, check_class_sizes
from sgbn.learn.search.orders import search_order
from sgbn.learn.search.plan import (
    MAX_TUCKS_QUICK,
    TUCK_DEPTH,
    ParentProblem,
    ebic_prices,
    most_parents,
)
from sgbn.learn.search.trees import make_trees
from sgbn.solvers.departures import lasso_departures

DEPARTURE_PRICE = 2.0  # price of a departure, relative to an edge of the common network
# Sparsity of the search for the order. At 0, which is the plain BIC, the search takes ten times as
# long with 173 regions, and the log-loss of benchmarks/classifiers.py is not lower.
ORDER_GAMMA = 0.5
MIN_NOISE_SHARE = 1e-3  # least noise variance, as a share of the variance or of the common noise


class Setting(NamedTuple):
    """One setting of the family of networks, with the letters at the top of this file.

    Attributes
    ----------
    alpha : float
        The price of an edge, in standard errors of its weight.
    pool : float
        The share rho of the pooled covariance.
    ridge : float
        The share gamma of the diagonal.
    """

    alpha: float
    pool: float
    ridge: float


class Weights(NamedTuple):
    """The weights and noise variances of all classes, with the variables sorted by the order.

    Only weights that are not zero are stored, so that the fits of all folds fit in memory.

    Attributes
    ----------
    places : ndarray of shape (k,)
        The places j m + i in the flattened matrices at which a class has a weight of i -> j.
    values : ndarray of shape (classes, k)
        The weights at these places.
    variances : ndarray of shape (classes, m)
        The noise variance of each variable.
    violation : float
        The largest violation of the optimality (KKT) conditions.
    """

    places: Indices
    values: Array
    variances: Array
    violation: float

    @classmethod
    def of(cls, B: Array, variances: Array, violation: float) -> Self:
        """Make the object from matrices of shape (classes, m, m), with one row per child."""
        rows = B.reshape(len(B), -1)
        places = np.flatnonzero(rows.any(axis=0))
        return cls(places, rows[:, places], variances, violation)

    @property
    def matrices(self) -> Array:
        """Return the weights as matrices of shape (classes, m, m), with one row per child."""
        n_classes, m = self.variances.shape
        rows = np.zeros((n_classes, m * m))
        rows[:, self.places] = self.values
        return rows.reshape(n_classes, m, m)


class _Common(NamedTuple):
    """The network that classes depart from, with the variables sorted by the order.

    Attributes
    ----------
    B : ndarray of shape (m, m)
        The weights, with one row per child.
    variances : ndarray of shape (m,)
        The noise variance of each region.
    scale : ndarray of shape (m,)
        The variance of each region itself.
    violation : float
        The largest violation of the optimality (KKT) conditions.
    """

    B: Array
    variances: Array
    scale: Array
    violation: float

    def weights(self, n_classes: int) -> Weights:
        """Return weights in which every class has this network."""
        copies = np.tile(self.B, (n_classes, 1, 1)), np.tile(self.variances, (n_classes, 1))
        return Weights.of(*copies, self.violation)


@dataclass(frozen=True)
class ClassCentres:
    """The order and the class means: all that the networks need in addition to their weights.

    Attributes
    ----------
    scale : Scale
        The means and standard deviations of all rows, in the units of the data.
    order : ndarray of shape (m,)
        The columns of the data, sorted by the order of the common network.
    sizes : ndarray of shape (classes,)
        The number of rows of each class.
    means : ndarray of shape (classes, m)
        The mean of each class, in standardised units and with the variables sorted by the order.
    """

    scale: Scale
    order: Indices
    sizes: Array
    means: Array

    @property
    def centre(self) -> Array:
        """Return the mean of all rows."""
        centre: Array = self.sizes @ self.means / self.sizes.sum()
        return centre

    def log_likelihoods(self, weights: Weights, shares: Sequence[float], values: Array) -> Array:
        """Compute the log-likelihoods of rows in the units of the data, up to a constant.

        Parameters
        ----------
        weights : Weights
            The weights and noise variances of the classes.
        shares : sequence of float
            The shares of the distance of class means from the common mean.
        values : ndarray of shape (n, m)
            The rows, in the units of the data.

        Returns
        -------
        ndarray of shape (shares, n, classes)
        """
        Z = np.ascontiguousarray(self.scale.standardise(values)[:, self.order])
        # Residuals are linear in a share t: R - t moved. So their squares are a parabola in t, and
        # all shares together need only one product with B.
        U, t = Z - self.centre, np.array(shares)[:, None]
        likelihoods = np.empty((len(t), len(Z), len(self.sizes)))
        parts = zip(self.means - self.centre, weights.matrices, weights.variances, strict=True)
        for c, (shift, B, variances) in enumerate(parts):
            R, moved = U - U @ B.T, shift - B @ shift
            constant = np.square(R) @ (1 / variances) + np.log(variances).sum()
            slope, bend = R @ (moved / variances), np.square(moved) @ (1 / variances)
            likelihoods[:, :, c] = -(constant - 2 * t * slope + t**2 * bend) / 2
        return likelihoods

    def networks(self, weights: Weights, share: float, names: list[str]) -> list[GaussianNetwork]:
        """Return the network of every class, in standard deviations of all rows.

        Class means keep the given share of their distance from the common mean.
        """
        place = np.argsort(self.order)
        networks, means = [], self.centre + share * (self.means - self.centre)
        for mean, B, variances in zip(means, weights.matrices, weights.variances, strict=True):
            coef = B[np.ix_(place, place)].T
            networks.append(
                GaussianNetwork(coef, (mean - B @ mean)[place], variances[place], names)
            )
        return networks


@dataclass(frozen=True)
class ClassMoments:
    """The centres and covariances of classes: all that the fits use of the rows.

    Attributes
    ----------
    centres : ClassCentres
        The order and the class means.
    covariances : ndarray of shape (classes, m, m)
        The covariance of each class, with the variables sorted by the order.
    """

    centres: ClassCentres
    covariances: Array

    @classmethod
    def of(cls, values: Array, codes: Indices, classes: Sequence[Any], names: list[str]) -> Self:
        """Compute the moments of rows in any units. `codes` numbers their classes from 0."""
        sizes = np.bincount(codes, minlength=len(classes))
        check_class_sizes(classes, sizes)
        scale = Scale.of(values)
        Z = scale.standardise(values)
        centred = Z - _class_means(Z, codes, len(classes))[codes]
        order = common_order(centred, names)
        # Indexing by columns gives arrays in column order, but the rows are read below.
        Z, centred = (np.ascontiguousarray(rows[:, order]) for rows in (Z, centred))
        class_rows = [centred[codes == c] for c in range(len(classes))]
        covariances = np.array([rows.T @ rows / len(rows) for rows in class_rows])
        means = _class_means(Z, codes, len(classes))
        return cls(ClassCentres(scale, order, sizes.astype(float), means), covariances)

    @property
    def sizes(self) -> Array:
        """Return the number of rows of each class."""
        return self.centres.sizes

    @property
    def pooled(self) -> Array:
        """Return the covariance within classes."""
        shares = self.sizes / self.sizes.sum()
        pooled: Array = np.tensordot(shares, self.covariances, 1)
        return pooled

    def fits(self, settings: Sequence[Setting]) -> Iterator[tuple[int, Weights]]:
        """Yield the index of each setting and its weights, from the highest to the lowest price.

        The fit at a price starts from the fit at the next higher price, if pool and ridge are the
        same. Settings that differ only in the pool share the common network.
        """
        common: dict[tuple[float, float], _Common] = {}  # by price and ridge
        last: dict[tuple[float, float], Array] = {}  # departures at the last price, by pool, ridge
        for number in sorted(range(len(settings)), key=lambda k: -settings[k].alpha):
            alpha, pool, ridge = settings[number]
            # A warm start: the sparser network of the next higher price at the same ridge.
            if (alpha, ridge) not in common:
                higher = [key for key in common if key[1] == ridge]
                start = common[min(higher)].B if higher else None
                common[alpha, ridge] = self._common(alpha, ridge, start)
            base = common[alpha, ridge]
            if pool == 1:  # every class has the pooled covariance, so no class can depart
                yield number, base.weights(len(self.sizes))
                continue
            fitted, last[pool, ridge] = self._depart(
                base, settings[number], last.get((pool, ridge))
            )
            yield number, fitted

    def _common(self, alpha: float, ridge: float, start: Array | None) -> _Common:
        """Fit the common network to the covariance within classes."""
        S = _ridged(self.pooled, ridge)
        prices = np.full(S.shape, alpha / np.sqrt(self.sizes.sum()))
        result = lasso_departures(S, prices, np.zeros(S.shape), start)
        # Without this limit, one region that is predicted almost exactly would decide the class.
        variances = np.maximum(result.variances, MIN_NOISE_SHARE * np.diag(S))
        return _Common(result.x, variances, np.diag(S).copy(), result.violation)

    def _depart(
        self, common: _Common, setting: Setting, start: Array | None
    ) -> tuple[Weights, Array]:
        """Return the weights and variances of every class, and the departures of the weights."""
        alpha, pool, ridge = setting
        pooled, variances, departures = self.pooled, [], []
        violation = common.violation
        # Row j, column i is the noise of child j times the standard deviation of parent i.
        price = DEPARTURE_PRICE * alpha * np.sqrt(np.outer(common.variances, common.scale))
        for c, (size, covariance) in enumerate(zip(self.sizes, self.covariances, strict=True)):
            blend = _ridged((1 - pool) * covariance + pool * pooled, ridge)
            first = None if start is None else start[c]
            result = lasso_departures(blend, price / np.sqrt(size), common.B, first)
            departures.append(result.x)
            violation = max(violation, result.violation)
            ratio = np.log(np.maximum(result.variances / common.variances, MIN_NOISE_SHARE))
            # A soft threshold: sqrt(2 / n) is the standard error of a log-variance of n rows.
            threshold = DEPARTURE_PRICE * alpha * np.sqrt(2 / size)
            change = np.sign(ratio) * np.maximum(np.abs(ratio) - threshold, 0.0)
            variances.append(common.variances * np.exp(change))
        D = np.array(departures)
        return Weights.of(common.B + D, np.array(variances), violation), D


def mean_weights(parts: Sequence[Weights], shares: Array) -> Weights:
    """Average weights and log-variances, with shares that add up to 1.

    All weights follow one order, so the mean is a DAG.
    """
    n_classes, m = parts[0].variances.shape
    B, logs, violation = np.zeros((n_classes, m * m)), np.zeros((n_classes, m)), 0.0
    for part, share in zip(parts, shares, strict=True):
        if share > 0:
            B[:, part.places] += share * part.values
            logs += share * np.log(part.variances)
            violation = max(violation, part.violation)
    return Weights.of(B.reshape(n_classes, m, m), np.exp(logs), violation)


def common_order(centred: Array, names: list[str]) -> Indices:
    """Return the columns in the order of a network of the rows minus their class means.

    The order does not depend on the units or on the order of the columns. The sparsity of the
    network has little effect on it, and a sparse network is found fast.
    """
    moments = moments_of(centred, names)
    n, m = moments.n, moments.m
    every, none = ~np.eye(m, dtype=bool), np.zeros((m, m), bool)
    price = ebic_prices(n, m, ORDER_GAMMA)
    trees = make_trees(ParentProblem(moments.R, n, price, most_parents(n, m), every, none))
    # Only kicks (random changes of the order) need random numbers, and this search makes none.
    rng = np.random.RandomState(0)
    result = search_order(trees, [np.arange(m)], 0, rng, TUCK_DEPTH, MAX_TUCKS_QUICK)
    return moments.columns[result.order]


def _class_means(Z: Array, codes: Indices, n_classes: int) -> Array:
    return np.array([Z[codes == c].mean(axis=0) for c in range(n_classes)])


def _ridged(S: Array, share: float) -> Array:
    ridged = (1 - share) * S
    np.fill_diagonal(ridged, np.diag(S))
    return ridged
