"""The input of a search: correlations, prices of parents, and limits.

`SearchProblem.of` sorts the variables in an order that does not depend on the order of the user's
columns. `to_user` returns the network in the user's order. So the same seed gives the same network
for any order of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.special import gammaln

from sgbn.core.moments import Moments, one_blas_thread
from sgbn.core.types import Array, Indices, Mask, Order

MOST_PARENTS = 60  # a tree node keeps its parents as the bits of one 64-bit number
SMALLEST_RIDGE = 0.02  # in units of the variance; used only if a ridge is needed
VIF_DIGITS = 6  # decimals of log variance inflation that sort the variables; more are round-off


def default_gamma(n: int) -> float:
    """Return the default gamma for n samples: 1 up to n = 100, and log10(n) / 2 above."""
    return max(1.0, float(np.log10(n)) / 2)


def ebic_prices(n: int, m: int, gamma: float) -> Array:
    r"""Return the price of k = 0, 1, ... parents: :math:`k \log n + 2 \gamma \log\binom{m - 1}{k}`.

    For k above (m - 1) / 2 the binomial keeps its largest value, so that prices never fall.
    """
    k = np.arange(MOST_PARENTS + 2)
    chosen = np.minimum(k, (m - 1) // 2)
    choices = gammaln(m) - gammaln(chosen + 1) - gammaln(m - chosen)
    return k * np.log(n) + 2 * gamma * choices


def inverse_correlation(R: Array, n: int) -> Array:
    """Return the inverse of the correlation matrix.

    A ridge is added unless n > 2 m and the matrix is positive definite.
    """
    m = len(R)
    ridge = 0.0 if n > 2 * m else max(SMALLEST_RIDGE, 0.2 * m / n)
    # LAPACK inverts from a Cholesky factor with half the work of a general inverse.
    cholesky, invert = get_lapack_funcs(("potrf", "potri"), (R,))
    with one_blas_thread():
        factor, failed = cholesky(R + ridge * np.eye(m), lower=1)
        if failed:  # a column is a combination of others
            factor, _ = cholesky(R + SMALLEST_RIDGE * np.eye(m), lower=1)
        inverse: Array = np.tril(invert(factor, lower=1)[0])
    return inverse + np.tril(inverse, -1).T


class ScoredNetwork(NamedTuple):
    """A network, its score (lower is better), and an order in which parents come first.

    ``parents[v, u]`` is True if u is a parent of v.
    """

    score: float
    order: Order
    parents: Mask


@dataclass(frozen=True)
class ParentProblem:
    """What is needed to score sets of parents.

    Attributes
    ----------
    R : ndarray of shape (m, m)
        Correlations of the variables.
    n : int
        Number of samples.
    price : ndarray
        Price of 0, 1, 2, ... parents, in units of the score.
    max_parents : int
        Largest number of parents of a variable.
    allowed, required : ndarray of shape (m, m), bool
        If ``allowed[v, u]``, u may be a parent of v. If ``required[v, u]``, it must be one.
    """

    R: Array
    n: int
    price: Array
    max_parents: int
    allowed: Mask
    required: Mask

    @property
    def samples(self) -> tuple[Array, Array]:
        """Correlations (S, m, m) and sizes (S,) of the S samples; table scores are their sum."""
        return self.R[None], np.array([float(self.n)])


@dataclass(frozen=True)
class SearchProblem(ParentProblem):
    """The problem of a whole search, with its variables sorted by rising variance inflation.

    Attributes
    ----------
    columns : ndarray of shape (m,)
        The user's column of each variable.
    precision : ndarray of shape (m, m)
        Inverse of the correlation matrix.
    variance : ndarray of shape (m,) or None
        Variances of the variables, if noise variances are assumed to be equal.
    """

    columns: Indices
    precision: Array
    variance: Array | None = None

    @classmethod
    def of(
        cls,
        moments: Moments,
        edges: tuple[Mask, Mask],
        gamma: float,
        max_parents: int,
        names: Sequence[str] | None = None,
        *,
        equal_noise: bool = False,
    ) -> Self:
        """Return the search problem of a sample, with its variables sorted.

        Parameters
        ----------
        moments : Moments
            Moments of the sample.
        edges : pair of ndarray of shape (m, m), bool
            The allowed and the required edges in the user's order; ``[i, j]`` is i -> j.
        gamma : float
            Weight of the last term of the extended BIC.
        max_parents : int
            Largest number of parents that a variable may have.
        names : sequence of str, optional
            Names in the user's order. Columns of equal variance inflation are sorted by name.
            Without names they are sorted by their content.
        equal_noise : bool
            Whether noise variances are assumed to be equal, in the units of the data.
        """
        n, m = moments.n, moments.m
        precision = inverse_correlation(moments.R, n)
        inflation = np.round(np.log(np.maximum(np.diag(precision), 1.0)), VIF_DIGITS)
        # The variables of `moments` are sorted by content already.
        tie = np.arange(m) if names is None else np.array(names)[moments.columns]
        order = np.lexsort((tie, inflation))
        pairs, columns = np.ix_(order, order), moments.columns[order]
        ends = np.ix_(columns, columns)
        allowed, required = (np.ascontiguousarray(mask[ends].T) for mask in edges)
        return cls(
            np.ascontiguousarray(moments.R[pairs]),
            n,
            ebic_prices(n, m, gamma),
            max_parents,
            allowed,
            required,
            columns,
            precision[pairs],
            np.square(moments.scale[columns]) if equal_noise else None,
        )

    @property
    def partial(self) -> Array:
        """Absolute partial correlations of all pairs of variables given all others."""
        scale = np.sqrt(np.diag(self.precision))
        return np.abs(self.precision) / np.outer(scale, scale)

    def partly_correlated(self, z: float) -> Mask:
        """Return the pairs whose partial correlation exceeds z standard errors, as a mask."""
        scale = np.diag(self.precision)
        # The squared inequality needs no square roots of a large matrix.
        return np.square(self.precision) > z**2 / self.n * np.outer(scale, scale)

    def to_user(self, parents: Mask) -> Mask:
        """Convert ``parents[v, u]`` to ``edges[i, j]`` (i -> j) between the user's columns."""
        place = np.argsort(self.columns)
        return np.ascontiguousarray(parents[np.ix_(place, place)].T)
