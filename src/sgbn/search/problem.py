"""What a search gets: correlations, prices and limits, with the variables in one order.

`SearchProblem.of` sorts the user's columns once, in an order that does not depend on theirs, and
`to_user` takes the answer back: the same seed gives the same network for any order of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.special import gammaln

from sgbn.moments import Moments, one_blas_thread
from sgbn.types import Array, Indices, Mask, Order

MOST_PARENTS = 60  # what a tree keeps after shrinking are the bits of one 64-bit number
SMALLEST_RIDGE = 0.02  # in units of the variance, where a ridge is needed at all
VIF_DIGITS = 6  # decimals of log variance inflation that tell variables apart: more are round-off


def default_gamma(n: int) -> float:
    """Return gamma for n samples: 1 up to 100, half their decimal logarithm beyond."""
    return max(1.0, float(np.log10(n)) / 2)


def ebic_prices(n: int, m: int, gamma: float) -> Array:
    r"""Price of 0, 1, 2, ... parents: :math:`k \log n + 2 \gamma \log \binom{m - 1}{k}`.

    The binomial stays at its largest value beyond k = (m - 1) / 2: a price never falls.
    """
    k = np.arange(MOST_PARENTS + 2)
    chosen = np.minimum(k, (m - 1) // 2)
    choices = gammaln(m) - gammaln(chosen + 1) - gammaln(m - chosen)
    return k * np.log(n) + 2 * gamma * choices


def inverse_correlation(R: Array, n: int) -> Array:
    """Return the inverse of the correlation matrix, with a ridge where n is not well above m."""
    m = len(R)
    ridge = 0.0 if n > 2 * m else max(SMALLEST_RIDGE, 0.2 * m / n)
    # LAPACK's inverse from a Cholesky factor: half the work of a general inverse, and symmetric.
    cholesky, invert = get_lapack_funcs(("potrf", "potri"), (R,))
    with one_blas_thread():
        factor, failed = cholesky(R + ridge * np.eye(m), lower=1)
        if failed:  # exact copies of a column
            factor, _ = cholesky(R + SMALLEST_RIDGE * np.eye(m), lower=1)
        inverse: Array = np.tril(invert(factor, lower=1)[0])
    return inverse + np.tril(inverse, -1).T


class ScoredNetwork(NamedTuple):
    """A network, an order that it agrees with, and its score (the less the better).

    ``parents[v, u]`` is True where u -> v.
    """

    score: float
    order: Order
    parents: Mask


@dataclass(frozen=True)
class ParentProblem:
    """What the score of a parent set rests on.

    Attributes
    ----------
    R : (m, m) correlations.
    n : number of samples.
    price : what 0, 1, 2, ... parents cost, in units of the score.
    max_parents : most parents of a variable.
    allowed, required : (m, m) ``allowed[v, u]``: u may be a parent of v; ``required[v, u]``: it
        must be one.
    """

    R: Array
    n: int
    price: Array
    max_parents: int
    allowed: Mask
    required: Mask

    @property
    def samples(self) -> tuple[Array, Array]:
        """Correlations (S, m, m) and sizes (S,) of the samples that scores on tables sum over."""
        return self.R[None], np.array([float(self.n)])


@dataclass(frozen=True)
class SearchProblem(ParentProblem):
    """The problem of a whole search, with its variables by rising variance inflation.

    Attributes
    ----------
    columns : (m,) the user's column of each variable.
    precision : (m, m) inverse correlations.
    variance : (m,) variances of the variables, where noise variances are taken to be equal.
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
        """Make the search problem of a sample, with its columns sorted.

        Parameters
        ----------
        moments : Moments
            Moments of the sample.
        edges : pair of ndarray of shape (m, m), bool
            The edges that are allowed, and those that are required, in the user's order;
            ``[i, j]`` is i -> j.
        gamma : float
            Weight of the second term of the extended BIC.
        max_parents : int
            Largest number of parents that a variable may have.
        names : sequence of str, optional
            Columns of the same variance inflation are sorted by these names; without names they
            are sorted by their content.
        equal_noise : bool
            Whether noise variances are equal, in the units of the data.
        """
        n, m = moments.n, moments.m
        precision = inverse_correlation(moments.R, n)
        inflation = np.round(np.log(np.maximum(np.diag(precision), 1.0)), VIF_DIGITS)
        # Moments have their variables sorted by content.
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
        """Absolute partial correlations of all pairs given all others."""
        scale = np.sqrt(np.diag(self.precision))
        return np.abs(self.precision) / np.outer(scale, scale)

    def partly_correlated(self, z: float) -> Mask:
        """Pairs whose partial correlation given all others is more than z standard errors."""
        scale = np.diag(self.precision)
        # squared and multiplied out: no roots of a large matrix
        return np.square(self.precision) > z**2 / self.n * np.outer(scale, scale)

    def to_user(self, parents: Mask) -> Mask:
        """Return the edges ``[i, j]`` between the user's columns from ``parents[v, u]``."""
        place = np.argsort(self.columns)
        return np.ascontiguousarray(parents[np.ix_(place, place)].T)
