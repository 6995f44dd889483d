r"""Networks of classes as sparse departures from a common one, along one order.

The order is that of a search on the covariance S within classes. Then, with prices
:math:`\alpha` in standard errors, a share :math:`\rho` of the pooled covariance and a share
:math:`\gamma` of the diagonal,

.. math:: S_c(\rho, \gamma) = (1 - \gamma) C + \gamma \, \mathrm{diag}(C), \qquad
          C = (1 - \rho) S_c + \rho S,

the common network is the lasso along the order on :math:`S(1, \gamma)`, at the price
:math:`\alpha / \sqrt n` of an edge. The network of class c is that of
:math:`S_c(\rho, \gamma)`, at the price :math:`2 \alpha \sigma_j s_k / \sqrt{n_c}` of a *departure*
from the common weight of k -> j. Its log-variances depart from the common ones by what exceeds
:math:`2 \alpha \sqrt{2 / n_c}`. So many weights and variances of two groups are exactly the same.
Class means keep a share of their distance from the common mean.

At :math:`\rho = 1` this is linear, at 0 quadratic discriminant analysis; with
:math:`\alpha = 0` the regularised one of Friedman (1989).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from sgbn.discriminative.class_networks import Scale, check_class_sizes
from sgbn.gaussian import GaussianNetwork
from sgbn.moments import moments_of
from sgbn.search.order_search import search_order
from sgbn.search.plan import MAX_TUCKS_QUICK, TUCK_DEPTH, most_parents
from sgbn.search.problem import ParentProblem, ebic_prices
from sgbn.search.tree_arrays import make_trees
from sgbn.solvers.departures import lasso_departures
from sgbn.types import Array, Indices

DEPARTURE_PRICE = 2.0  # of a departure of one class, in prices of an edge of the common network
# Sparsity of the search for the order. At 0, the plain BIC, it takes ten times as long with 173
# regions, and the log-loss of benchmarks/classifiers.py is no lower.
ORDER_GAMMA = 0.5
MIN_NOISE_SHARE = 1e-3  # noise variance, as a share of a region's variance or its common noise


class Setting(NamedTuple):
    """One member of the family."""

    alpha: float
    pool: float
    ridge: float


class Weights(NamedTuple):
    """Weights and noise variances of classes, variables in the order.

    Only weights that are not zero are kept, so that the fits of all folds fit in memory.

    Attributes
    ----------
    places : ndarray of shape (k,)
        Places j m + i in the matrices, row by row, where a class has a weight of i -> j.
    values : ndarray of shape (classes, k)
        The weights there.
    variances : ndarray of shape (classes, m)
    violation : float
        How far the weights are from their optimum, at most.
    """

    places: Indices
    values: Array
    variances: Array
    violation: float

    @classmethod
    def of(cls, B: Array, variances: Array, violation: float) -> Self:
        """Make weights from matrices of shape (classes, m, m), one row per child."""
        rows = B.reshape(len(B), -1)
        places = np.flatnonzero(rows.any(axis=0))
        return cls(places, rows[:, places], variances, violation)

    @property
    def matrices(self) -> Array:
        """Matrices of shape (classes, m, m), one row per child."""
        n_classes, m = self.variances.shape
        rows = np.zeros((n_classes, m * m))
        rows[:, self.places] = self.values
        return rows.reshape(n_classes, m, m)


class _Common(NamedTuple):
    """The network that classes depart from, variables in the order.

    Attributes
    ----------
    B : ndarray of shape (m, m)
        One row per child.
    variances : ndarray of shape (m,)
        Of the noise.
    scale : ndarray of shape (m,)
        Variances of the regions themselves.
    violation : float
    """

    B: Array
    variances: Array
    scale: Array
    violation: float

    def weights(self, n_classes: int) -> Weights:
        """Return this network as that of every class."""
        copies = np.tile(self.B, (n_classes, 1, 1)), np.tile(self.variances, (n_classes, 1))
        return Weights.of(*copies, self.violation)


@dataclass(frozen=True)
class ClassCentres:
    """Order and means of classes: all that networks need beside their weights.

    Attributes
    ----------
    scale : Scale
        Units of the rows.
    order : ndarray of shape (m,)
        Columns in the order of the common network; all that follows stands in it.
    sizes : ndarray of shape (classes,)
    means : ndarray of shape (classes, m)
    """

    scale: Scale
    order: Indices
    sizes: Array
    means: Array

    @property
    def centre(self) -> Array:
        """Mean of all rows."""
        centre: Array = self.sizes @ self.means / self.sizes.sum()
        return centre

    def log_likelihoods(self, weights: Weights, shares: Sequence[float], values: Array) -> Array:
        """Log-likelihoods of rows in the units of the data, up to a constant.

        Returns
        -------
        ndarray of shape (shares, n, classes)
            For each share of the distance of class means from the common one. The residuals of a
            row are linear in the share, so that their squares are a parabola.
        """
        Z = np.ascontiguousarray(self.scale.standardise(values)[:, self.order])
        # Residuals are R - t moved for a share t, so that all shares cost one product with B.
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
        """Network of every class, in standard deviations of all rows.

        Class means keep this share of their distance from the common one.
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
    """Centres and covariances of classes: all that the family sees of the rows.

    Attributes
    ----------
    centres : ClassCentres
    covariances : ndarray of shape (classes, m, m)
        Variables in the order.
    """

    centres: ClassCentres
    covariances: Array

    @classmethod
    def of(cls, values: Array, codes: Indices, classes: Sequence[Any], names: list[str]) -> Self:
        """Measure rows in any units; `codes` number their classes from 0."""
        sizes = np.bincount(codes, minlength=len(classes))
        check_class_sizes(classes, sizes)
        scale = Scale.of(values)
        Z = scale.standardise(values)
        centred = Z - _class_means(Z, codes, len(classes))[codes]
        order = common_order(centred, names)
        # numpy lays chosen columns out one after the other; rows are what is read below.
        Z, centred = (np.ascontiguousarray(rows[:, order]) for rows in (Z, centred))
        class_rows = [centred[codes == c] for c in range(len(classes))]
        covariances = np.array([rows.T @ rows / len(rows) for rows in class_rows])
        means = _class_means(Z, codes, len(classes))
        return cls(ClassCentres(scale, order, sizes.astype(float), means), covariances)

    @property
    def sizes(self) -> Array:
        """Rows of each class."""
        return self.centres.sizes

    @property
    def pooled(self) -> Array:
        """Covariance within classes."""
        shares = self.sizes / self.sizes.sum()
        pooled: Array = np.tensordot(shares, self.covariances, 1)
        return pooled

    def fits(self, settings: Sequence[Setting]) -> Iterator[tuple[int, Weights]]:
        """Give the number of each setting and its weights; those of the highest price come first.

        Settings that differ in the price alone start from each other. They also share the common
        network, which does not depend on the pool.
        """
        common: dict[tuple[float, float], _Common] = {}  # by price and ridge
        last: dict[tuple[float, float], Array] = {}  # departures at the last price, by pool, ridge
        for number in sorted(range(len(settings)), key=lambda k: -settings[k].alpha):
            alpha, pool, ridge = settings[number]
            # warm start from the sparser network of the nearest higher price at the same ridge
            if (alpha, ridge) not in common:
                dearer = [key for key in common if key[1] == ridge]
                start = common[min(dearer)].B if dearer else None
                common[alpha, ridge] = self._common(alpha, ridge, start)
            base = common[alpha, ridge]
            if pool == 1:  # all covariances are the pooled one: nothing can depart
                yield number, base.weights(len(self.sizes))
                continue
            fitted, last[pool, ridge] = self._depart(
                base, settings[number], last.get((pool, ridge))
            )
            yield number, fitted

    def _common(self, alpha: float, ridge: float, start: Array | None) -> _Common:
        """Network of the covariance within classes."""
        S = _ridged(self.pooled, ridge)
        prices = np.full(S.shape, alpha / np.sqrt(self.sizes.sum()))
        result = lasso_departures(S, prices, np.zeros(S.shape), start)
        # A region that its parents predict all but exactly would decide every class alone.
        variances = np.maximum(result.variances, MIN_NOISE_SHARE * np.diag(S))
        return _Common(result.x, variances, np.diag(S).copy(), result.violation)

    def _depart(
        self, common: _Common, setting: Setting, start: Array | None
    ) -> tuple[Weights, Array]:
        """Weights and variances of every class, and the departures of the weights."""
        alpha, pool, ridge = setting
        pooled, variances, departures = self.pooled, [], []
        violation = common.violation
        # row j, column i: noise of the child times the spread of the parent, as at the top
        price = DEPARTURE_PRICE * alpha * np.sqrt(np.outer(common.variances, common.scale))
        for c, (size, covariance) in enumerate(zip(self.sizes, self.covariances, strict=True)):
            blend = _ridged((1 - pool) * covariance + pool * pooled, ridge)
            first = None if start is None else start[c]
            result = lasso_departures(blend, price / np.sqrt(size), common.B, first)
            departures.append(result.x)
            violation = max(violation, result.violation)
            ratio = np.log(np.maximum(result.variances / common.variances, MIN_NOISE_SHARE))
            # soft threshold: sqrt(2 / n) is the standard error of a log-variance of n rows
            threshold = DEPARTURE_PRICE * alpha * np.sqrt(2 / size)
            change = np.sign(ratio) * np.maximum(np.abs(ratio) - threshold, 0.0)
            variances.append(common.variances * np.exp(change))
        D = np.array(departures)
        return Weights.of(common.B + D, np.array(variances), violation), D


def mean_weights(parts: Sequence[Weights], shares: Array) -> Weights:
    """Return the mean of weights and of log-variances, with shares that add up to 1.

    All weights go along one order, so that the mean is a DAG.
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
    """Return the columns in the order of a network of rows centred in their classes.

    The order does not depend on units, nor on where the columns stand. Sparsity matters little to
    it, and a sparse network is found fast.
    """
    moments = moments_of(centred, names)
    n, m = moments.n, moments.m
    every, none = ~np.eye(m, dtype=bool), np.zeros((m, m), bool)
    price = ebic_prices(n, m, ORDER_GAMMA)
    trees = make_trees(ParentProblem(moments.R, n, price, most_parents(n, m), every, none))
    rng = np.random.RandomState(0)  # the search wants one for kicks, and makes none here
    result = search_order(trees, [np.arange(m)], 0, rng, TUCK_DEPTH, MAX_TUCKS_QUICK)
    return moments.columns[result.order]


def _class_means(Z: Array, codes: Indices, n_classes: int) -> Array:
    return np.array([Z[codes == c].mean(axis=0) for c in range(n_classes)])


def _ridged(S: Array, share: float) -> Array:
    ridged = (1 - share) * S
    np.fill_diagonal(ridged, np.diag(S))
    return ridged
