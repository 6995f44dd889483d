r"""Partial correlations from the correlation matrix, and tests of conditional independence.

For variables i and j and a set Z of k other variables, the partial correlation r is the correlation
of the residuals of i and j after regression on Z. If i and j are independent given Z, then for n
samples of Gaussian data

.. math:: \sqrt{n - k - 3} \, \operatorname{atanh} r \approx N(0, 1), \qquad
          r \sqrt{(n - k - 2) / (1 - r^2)} \sim t_{n - k - 2}.

The first is Fisher's z test, the second the exact t test. Both tests find a dependence if
\|atanh r\| reaches a border that depends only on k. The *strength* is \|atanh r\| divided by this
border: 1 or more means dependence. For the same k, a larger strength means a smaller p. With
Fisher's z this also holds for different k.

If no degree of freedom is left, nothing can be tested: p is 1 and the strength is 0, which means
independence. Members of Z that are linear combinations of the others are left out. A variable that
Z determines entirely has r = 0 with every other variable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from sgbn.core.jit import jit, jit_inside
from sgbn.core.types import Array
from sgbn.learn.lasso import SINGULAR

Places = NDArray[np.int64]

MAX_CORRELATION = 1.0 - 2.0**-53  # limit for |r|, so that atanh is finite for copies of a column


@jit_inside
def _project(R, Z, size, L, v, x):  # type: ignore[no-untyped-def]
    """Project variable v on the first `size` members of Z, made orthonormal.

    The rows of `L` are the members of Z in the orthonormal coordinates. `x` is set to the
    coordinates of v. Return the share of the variance of v that the projection leaves.
    """
    rest = 1.0
    for h in range(size):
        x[h] = 0.0
        # A member that the members before it determine has L[h, h] = 0, and adds nothing.
        if L[h, h] > 0.0:
            x[h] = R[v, Z[h]]
            for g in range(h):
                x[h] -= x[g] * L[h, g]
            x[h] /= L[h, h]
            rest -= x[h] * x[h]
    return rest


@jit
def _partial_correlations(R, i, targets, Z):  # type: ignore[no-untyped-def]
    """Return the partial correlation of i with each of `targets` given Z.

    `L` becomes a Cholesky factor of R[Z, Z].
    """
    k = Z.size
    L = np.empty((k, k))
    for h in range(k):
        rest = _project(R, Z, h, L, Z[h], L[h])
        L[h, h] = np.sqrt(rest) if rest > SINGULAR else 0.0
    x_of_i = np.empty(k)
    rest_of_i = _project(R, Z, k, L, i, x_of_i)
    x = np.empty(k)
    r = np.zeros(targets.size)
    for t in range(targets.size):
        rest = _project(R, Z, k, L, targets[t], x)
        if min(rest_of_i, rest) > SINGULAR:
            covariance = R[i, targets[t]]
            for h in range(k):
                covariance -= x_of_i[h] * x[h]
            r[t] = max(
                -MAX_CORRELATION, min(covariance / np.sqrt(rest_of_i * rest), MAX_CORRELATION)
            )
    return r


@jit_inside
def _next_combination(chosen, top):  # type: ignore[no-untyped-def]
    """Change `chosen`, in place, to the next combination; return False after the last one.

    A combination is a rising sequence of numbers below `top`.
    """
    size = chosen.size
    k = size - 1
    while k >= 0 and chosen[k] == top - size + k:
        k -= 1
    if k < 0:
        return False
    chosen[k] += 1
    for h in range(k + 1, size):
        chosen[h] = chosen[h - 1] + 1
    return True


@jit
def _weakest(R, borders, i, j, fixed, optional, size, given):  # type: ignore[no-untyped-def]
    """Return the smallest strength of i and j given `fixed` and `size` of the `optional` variables.

    The search ends at the first strength below 1. `given` is set to the variables of the result.
    """
    n_fixed = fixed.size
    Z = np.empty(n_fixed + size, np.int64)
    for h in range(n_fixed):
        Z[h] = fixed[h]
    chosen = np.empty(size, np.int64)
    for h in range(size):
        chosen[h] = h
    other = np.empty(1, np.int64)
    other[0] = j
    weakest = np.inf
    while True:
        for h in range(size):
            Z[n_fixed + h] = optional[chosen[h]]
        # Each size of the set has its own border, so that strengths of all sizes can be compared.
        strength = np.arctanh(abs(_partial_correlations(R, i, other, Z)[0])) / borders[Z.size]
        if strength < weakest:
            weakest = strength
            for h in range(Z.size):
                given[h] = Z[h]
        if weakest < 1.0 or not _next_combination(chosen, optional.size):
            return weakest


def partial_correlations(R: Array, i: int, targets: ArrayLike, Z: ArrayLike) -> Array:
    """Return the partial correlation of variable i with each of `targets`, given the variables Z.

    Parameters
    ----------
    R : ndarray of shape (m, m)
        Correlation matrix.
    i : int
        Index of the variable.
    targets, Z : sequence of int
        Indices of variables.
    """
    return _partial_correlations(R, i, _places(targets), _places(Z))


def _places(variables: ArrayLike) -> Places:
    """Return indices as an array of the one type for which the kernels are compiled."""
    return np.array(variables, dtype=np.int64)


def fisher_z_borders(n: int, m: int, significance: float) -> Array:
    r"""Return the smallest \|atanh r\| that is significant in Fisher's z test.

    There is one border for each number of given variables, from 0 to m. A border is infinite if too
    few samples are left for a test.
    """
    z = -ndtri(significance / 2)
    return _borders(n - 3, m, lambda degrees: z / np.sqrt(degrees))


def exact_t_borders(n: int, m: int, significance: float) -> Array:
    """Return the same borders as `fisher_z_borders`, but for the exact t test."""

    def border(degrees: Array) -> Array:
        t = -stdtrit(degrees, significance / 2)
        return np.arctanh(t / np.sqrt(degrees + t**2))

    return _borders(n - 2, m, border)


def _borders(most: int, m: int, border: Callable[[Array], Array]) -> Array:
    """Return the borders given 0 to m variables; each takes one of `most` degrees of freedom."""
    degrees = np.arange(most, most - m - 1, -1, dtype=float)
    borders = np.full(m + 1, np.inf)  # without degrees of freedom, no pair reaches the border
    testable = degrees >= 1
    borders[testable] = border(degrees[testable])
    return borders


class Link(NamedTuple):
    """The smallest strength that was found for a pair, and the variables that were given for it."""

    strength: float
    given: Places

    @property
    def separated(self) -> bool:
        """Return whether the pair is independent given this set."""
        return self.strength < 1.0


class IndependenceTest(NamedTuple):
    """Tests of conditional independence in one sample.

    Attributes
    ----------
    R : ndarray of shape (m, m)
        Correlation matrix.
    borders : ndarray of shape (m + 1,)
        Result of `fisher_z_borders` or `exact_t_borders`.
    """

    R: Array
    borders: Array

    def strengths(self, i: int, Z: ArrayLike) -> Array:
        """Return the strength of i with every variable given Z; 0 with i and the members of Z."""
        Z = _places(Z)
        r = partial_correlations(self.R, i, np.arange(len(self.R)), Z)
        r[i] = 0.0
        r[Z] = 0.0
        return np.arctanh(np.abs(r)) / self.borders[Z.size]

    def strength(self, i: int, j: int, Z: ArrayLike) -> float:
        """Return the strength of i with j given Z."""
        return self.weakest(i, j, (), fixed=Z).strength

    def weakest(
        self, i: int, j: int, optional: ArrayLike, fixed: ArrayLike = (), size: int | None = None
    ) -> Link:
        """Return the smallest strength of i and j given `fixed` and any subset of `optional`.

        Subsets are tried from small to large. The search ends at the first subset that separates
        i and j. So all 2^k subsets are tried only if none of them separates the pair.

        Parameters
        ----------
        i, j : int
            Indices of the pair.
        optional, fixed : sequence of int
            Indices of variables.
        size : int, optional
            Size of the subsets; by default all sizes are tried.
        """
        optional, fixed = _places(optional), _places(fixed)
        sizes = range(optional.size + 1) if size is None else range(size, size + 1)
        best = Link(np.inf, fixed)
        for k in sizes:
            given = np.empty(fixed.size + k, np.int64)
            strength = _weakest(self.R, self.borders, i, j, fixed, optional, k, given)
            if strength < best.strength:
                best = Link(strength, given)
            if best.separated:
                break
        return best
