r"""Partial correlations on the correlation matrix, and tests of conditional independence.

For variables i, j and a set Z of k others, r is the correlation of what least squares on Z leaves
of i and j. Under independence given Z, for Gaussian data of n samples,

.. math:: \sqrt{n - k - 3} \, \operatorname{atanh} r \approx N(0, 1), \qquad
          r \sqrt{(n - k - 2) / (1 - r^2)} \sim t_{n - k - 2},

Fisher's z and the exact t test. Both reject where \|atanh r\| reaches a border that depends on k
alone; in units of that border r becomes a *strength*: 1 or more is dependence. Of the same k a
larger strength is a smaller p; with Fisher's z this holds across different k as well.

Where no degree of freedom is left nothing can be tested: p is 1 and the strength 0, which is
independence. Members of Z that are linear combinations of the others are left out; a variable
that Z determines entirely has r = 0 with everything.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

from sgbn.jit import jit, jit_inside
from sgbn.solvers.lasso import SINGULAR
from sgbn.types import Array

Places = NDArray[np.int64]

MAX_CORRELATION = 1.0 - 2.0**-53  # |r| of copies: atanh stays finite


@jit_inside
def _project(R, Z, size, L, v, x):  # type: ignore[no-untyped-def]
    """Set `x` to the coordinates of v on the first `size` of Z made orthonormal (rows of `L`).

    Returns the share of v's variance that they leave.
    """
    rest = 1.0
    for h in range(size):
        x[h] = 0.0
        # members that the others determine have a zero row, and add nothing
        if L[h, h] > 0.0:
            x[h] = R[v, Z[h]]
            for g in range(h):
                x[h] -= x[g] * L[h, g]
            x[h] /= L[h, h]
            rest -= x[h] * x[h]
    return rest


@jit
def _partial_correlations(R, i, targets, Z):  # type: ignore[no-untyped-def]
    """Partial correlation of i with each of `targets` given Z, by a Cholesky factor of R[Z, Z]."""
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
    """Step `chosen`, places below `top` in rising order, to the next one; False after the last."""
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
    """Smallest strength of i - j given `fixed` and `size` of the `optional` variables.

    Leaves at the first one below 1; `given` becomes the set that belongs to the result.
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
        # given more variables a border is wider: strengths of sets of any size compare
        strength = np.arctanh(abs(_partial_correlations(R, i, other, Z)[0])) / borders[Z.size]
        if strength < weakest:
            weakest = strength
            for h in range(Z.size):
                given[h] = Z[h]
        if weakest < 1.0 or not _next_combination(chosen, optional.size):
            return weakest


def partial_correlations(R: Array, i: int, targets: ArrayLike, Z: ArrayLike) -> Array:
    """Partial correlation of variable i with each of `targets`, given the variables Z.

    Parameters
    ----------
    R : ndarray of shape (m, m)
        Correlation matrix.
    i : int
    targets, Z : sequence of int
    """
    return _partial_correlations(R, i, _places(targets), _places(Z))


def _places(variables: ArrayLike) -> Places:
    return np.array(variables, dtype=np.int64)


def fisher_z_borders(n: int, m: int, significance: float) -> Array:
    r"""Smallest significant \|atanh r\| given 0 to m variables; infinite where untestable."""
    z = -ndtri(significance / 2)
    return _borders(n - 3, m, lambda degrees: z / np.sqrt(degrees))


def exact_t_borders(n: int, m: int, significance: float) -> Array:
    """Return what `fisher_z_borders` does, for the exact t test."""

    def border(degrees: Array) -> Array:
        t = -stdtrit(degrees, significance / 2)
        return np.arctanh(t / np.sqrt(degrees + t**2))

    return _borders(n - 2, m, border)


def _borders(most: int, m: int, border: Callable[[Array], Array]) -> Array:
    """Borders given 0 to m variables, each of which takes one of `most` degrees of freedom."""
    degrees = np.arange(most, most - m - 1, -1, dtype=float)
    borders = np.full(m + 1, np.inf)  # where no degree is left, no strength reaches the border
    testable = degrees >= 1
    borders[testable] = border(degrees[testable])
    return borders


class Link(NamedTuple):
    """The weakest strength found of a pair, and the set given which it was found."""

    strength: float
    given: Places

    @property
    def separated(self) -> bool:
        """Whether the pair is independent given that set."""
        return self.strength < 1.0


class IndependenceTest(NamedTuple):
    """Tests of independence in one sample.

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
        """Strength of i with every variable given Z; 0 with i itself and the members of Z."""
        Z = _places(Z)
        r = partial_correlations(self.R, i, np.arange(len(self.R)), Z)
        r[i] = 0.0
        r[Z] = 0.0
        return np.arctanh(np.abs(r)) / self.borders[Z.size]

    def strength(self, i: int, j: int, Z: ArrayLike) -> float:
        """Strength of i with j given Z."""
        return self.weakest(i, j, (), fixed=Z).strength

    def weakest(
        self, i: int, j: int, optional: ArrayLike, fixed: ArrayLike = (), size: int | None = None
    ) -> Link:
        """Search the subset of `optional` that, with `fixed`, leaves i - j the weakest.

        Subsets are tried from small to large; the first one that separates ends the search, so
        that all 2^k of them are tried only for a pair that none separates.

        Parameters
        ----------
        i, j : int
        optional, fixed : sequence of int
        size : int, optional
            Try subsets of this size alone.
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
