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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sgbn.discriminative.class_networks import FEWEST, Scale
from sgbn.exceptions import InputError, shown, warn
from sgbn.gaussian import GaussianNetwork
from sgbn.moments import moments_of
from sgbn.search.order_search import search_order
from sgbn.search.parent_trees import make_trees
from sgbn.search.plan import FEW_TUCKS, TUCK_DEPTH, most_parents
from sgbn.search.problem import ParentProblem, ebic_prices
from sgbn.solvers.departures import TOL, lasso_departures, residual_variances
from sgbn.types import Array, Indices

DEARER = 2.0  # a departure of one class costs that many times an edge of the common network
SMALLEST = 1e-3  # share of a region's variance, or of its common noise, that noise is at least


class Setting(NamedTuple):
    """One member of the family."""

    alpha: float
    pool: float
    ridge: float


class Weights(NamedTuple):
    """Weights and noise variances of classes, variables in the order.

    Attributes
    ----------
    B : ndarray of shape (classes, m, m)
        A row a child.
    variances : ndarray of shape (classes, m)
    violation : float
        How far the weights are from their optimum, at most.
    """

    B: Array
    variances: Array
    violation: float


@dataclass(frozen=True)
class ClassMoments:
    """Order, means and covariances of classes: all that the family sees of the rows.

    Attributes
    ----------
    scale : Scale
        Units of the rows.
    order : ndarray of shape (m,)
        Columns in the order of the common network; all that follows stands in it.
    sizes : ndarray of shape (classes,)
    means : ndarray of shape (classes, m)
    covariances : ndarray of shape (classes, m, m)
    """

    scale: Scale
    order: Indices
    sizes: Array
    means: Array
    covariances: Array

    @classmethod
    def of(cls, values: Array, codes: Indices, classes: Sequence[Any], names: list[str]) -> Self:
        """Of rows in any units; `codes` number their classes from 0."""
        sizes = np.bincount(codes, minlength=len(classes))
        for label, size in zip(classes, sizes, strict=True):
            if size < FEWEST:
                raise InputError(
                    f"class {shown(label)} has {size} row: a network needs {FEWEST} or more. Leave "
                    "the class out, or add subjects."
                )
        scale = Scale.of(values)
        Z = scale.standardise(values)
        centred = Z - _class_means(Z, codes, len(classes))[codes]
        order = common_order(centred, names)
        Z, centred = (np.ascontiguousarray(rows[:, order]) for rows in (Z, centred))
        own = [centred[codes == c] for c in range(len(classes))]
        covariances = np.array([rows.T @ rows / len(rows) for rows in own])
        means = _class_means(Z, codes, len(classes))
        return cls(scale, order, sizes.astype(float), means, covariances)

    @property
    def pooled(self) -> Array:
        """Covariance within classes."""
        pooled: Array = np.tensordot(self.sizes / self.sizes.sum(), self.covariances, 1)
        return pooled

    def shrunken_means(self, share: float) -> Array:
        """Class means, with a share of their distance from the common one."""
        common = self.sizes @ self.means / self.sizes.sum()
        means: Array = common + share * (self.means - common)
        return means

    def fit(self, setting: Setting) -> Weights:
        """Weights and variances of every class."""
        alpha, pool, ridge = setting
        pooled, m = self.pooled, len(self.order)
        S = _ridged(pooled, ridge)
        none = np.zeros((m, m))
        found = lasso_departures(S, np.full((m, m), alpha / np.sqrt(self.sizes.sum())), none)
        B, violation = found.x, found.violation
        common = np.maximum(residual_variances(S, B), SMALLEST * np.diag(S))
        if pool == 1:
            copies = len(self.sizes)
            return Weights(np.tile(B, (copies, 1, 1)), np.tile(common, (copies, 1)), violation)
        weights, variances = [], []
        price = DEARER * alpha * np.sqrt(np.outer(common, np.diag(S)))
        for size, own in zip(self.sizes, self.covariances, strict=True):
            blend = _ridged((1 - pool) * own + pool * pooled, ridge)
            found = lasso_departures(blend, price / np.sqrt(size), B)
            weights.append(B + found.x)
            violation = max(violation, found.violation)
            ratio = np.log(np.maximum(residual_variances(blend, weights[-1]) / common, SMALLEST))
            threshold = DEARER * alpha * np.sqrt(2 / size)
            departure = np.sign(ratio) * np.maximum(np.abs(ratio) - threshold, 0.0)
            variances.append(common * np.exp(departure))
        return Weights(np.array(weights), np.array(variances), violation)

    def averaged(self, settings: Iterable[Setting], shares: Array) -> Weights:
        """Mean of the weights and of the log-variances over settings; one order, so still a DAG.

        Warns if one of them did not converge.
        """
        B, logs = np.zeros(self.covariances.shape), np.zeros(self.means.shape)
        violation = 0.0
        for setting, share in zip(settings, shares, strict=True):
            if share > 0:
                found = self.fit(setting)
                B += share * found.B
                logs += share * np.log(found.variances)
                violation = max(violation, found.violation)
        if violation > TOL:
            warn(
                f"edge weights ended {violation:.1e} from their optimum ({TOL:g} is asked for): "
                f"without a price and a ridge, {len(self.order)} regions of {self.sizes.sum():g} "
                "rows leave them all but free. Give alphas or ridges above 0.",
                ConvergenceWarning,
            )
        return Weights(B, np.exp(logs), violation)

    def log_likelihoods(self, weights: Weights, share: float, values: Array) -> Array:
        """Log-likelihood of rows in the units of the data, up to a constant; (n, classes)."""
        Z = np.ascontiguousarray(self.scale.standardise(values)[:, self.order])
        columns, means = [], self.shrunken_means(share)
        for mean, B, variances in zip(means, weights.B, weights.variances, strict=True):
            U = Z - mean
            R = U - U @ B.T
            columns.append(-(np.square(R) / variances + np.log(variances)).sum(axis=1) / 2)
        return np.column_stack(columns)

    def networks(self, weights: Weights, share: float, names: list[str]) -> list[GaussianNetwork]:
        """Network of every class, in standard deviations of all rows."""
        place = np.argsort(self.order)
        found, means = [], self.shrunken_means(share)
        for mean, B, variances in zip(means, weights.B, weights.variances, strict=True):
            coef = B[np.ix_(place, place)].T
            found.append(GaussianNetwork(coef, (mean - B @ mean)[place], variances[place], names))
        return found


def common_order(centred: Array, names: list[str]) -> Indices:
    """Columns in the order of a network of rows that were centred in their classes.

    The order does not depend on units, nor on where the columns stand. Sparsity matters little to
    it, so that the network is that of the plain BIC.
    """
    moments = moments_of(centred, names)
    n, m = moments.n, moments.m
    every, none = ~np.eye(m, dtype=bool), np.zeros((m, m), bool)
    price = ebic_prices(n, m, 0.0)
    trees = make_trees(ParentProblem(moments.R, n, price, most_parents(n, m), every, none))
    rng = np.random.RandomState(0)  # of kicks, of which there are none
    found = search_order(trees, [np.arange(m)], 0, rng, TUCK_DEPTH, FEW_TUCKS)
    return moments.columns[found.order]


def _class_means(Z: Array, codes: Indices, n_classes: int) -> Array:
    return np.array([Z[codes == c].mean(axis=0) for c in range(n_classes)])


def _ridged(S: Array, share: float) -> Array:
    ridged = (1 - share) * S
    np.fill_diagonal(ridged, np.diag(S))
    return ridged
