r"""Effects of covariates and sites: their design columns, their slopes, and rows without them.

A covariate of numbers is one design column. A smooth covariate has the columns of its spline. A
covariate of labels has one indicator column for each level except the first. Each site has one
indicator column.

Permutation tests regress the regions Y on the nuisance design N (`nuisance_of`), whose
pseudo-inverse is :math:`N^+`. They permute the rows of the residuals :math:`E = (I - N N^+) Y` by a
permutation :math:`\Pi` (Freedman and Lane, 1983). The method then adds the nuisance effects to the
permuted rows and regresses the sum on N again, which gives :math:`(I - N N^+) \Pi E`.

A spline (`learn_spline`) is a sum of cubic B-splines with knots at quantiles of the covariate. Its
design columns are one straight column x and several curved columns :math:`b_k(x)`, where x is the
covariate on a scale from 0 to 1. The columns are chosen such that the penalty on the curvature of a
function :math:`f = a x + \sum_k u_k b_k(x)` is :math:`\int f''(x)^2 dx = \sum_k u_k^2`. Least
squares with this penalty is the model of one smooth term in Wood (2017, Generalized Additive
Models, 2nd edition, chapter 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import check_count, numbered

# If less than this share of a design column is left, the other columns explain it.
DEPENDENT = 1e-8
MISSING_TEXTS = ("", "nan", "NaT", "<NA>", "inf", "-inf")  # texts for a missing value
# Messages that several checks give
GAPS = "covariate {name} of {subjects} is missing (NaN) or infinite"
TOO_FEW_VALUES = "{name} has {n:different value}, too few for a curve of {df} B-splines"


@dataclass(frozen=True)
class Nuisance:
    """The nuisance design, as orthonormal columns that span it.

    Attributes
    ----------
    basis : ndarray of shape (n, p)
        The p orthonormal columns, for n rows.
    """

    basis: Array

    def residuals(self, values: Array) -> Array:
        """Return the rows without their nuisance effects."""
        effects: Array = self.basis @ (self.basis.T @ values)
        return np.subtract(values, effects, out=effects)  # in place, because a table may be large

    @property
    def rank(self) -> int:
        """Return the degrees of freedom of the nuisance effects, which include the group means."""
        return self.basis.shape[1]


def nuisance_of(codes: Indices, design: Array) -> Nuisance:
    """Return the effects of group means and of the columns of a design.

    A design column that the other columns determine takes no degree of freedom. The order of the
    columns does not matter.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Number of each row's group, from 0 upwards.
    design : ndarray of shape (n, p)
        The columns, not centred; see `design_of`.
    """
    groups = indicators(codes)
    means = groups / np.sqrt(groups.sum(axis=0))
    # The group means come first. The rest of the design is made orthogonal to them.
    return Nuisance(np.column_stack([means, _span(design, design - means @ (means.T @ design))]))


def design_of(
    n: int, covariates: Mapping[str, Any] | None = None, sites: NDArray[Any] | None = None
) -> Array:
    """Return the columns of the covariates and one indicator per site, not centred.

    The result has the shape (n, p), for n rows and p design columns.
    """
    columns = [np.empty((n, 0))]
    for name, column in (covariates or {}).items():
        columns.append(_design_columns(name, column, n))
    if sites is not None:
        columns.append(indicators(numbered(sites)[1]))
    return np.column_stack(columns)


def indicators(codes: Indices, n_levels: int | None = None) -> Array:
    """Return one column of 0 and 1 per level.

    `codes` holds the number of each row's level, from 0 upwards. The code -1 belongs to no level.
    """
    n_levels = codes.max() + 1 if n_levels is None else n_levels
    return (codes[:, None] == np.arange(n_levels)).astype(float)


def without_nuisance(values: Array, nuisance: Array) -> tuple[Array, int]:
    """Return the rows without the effects of `nuisance`, and the degrees of freedom these take.

    The means of the columns stay the same.
    """
    if not nuisance.shape[1]:
        return values, 0
    basis = np.ascontiguousarray(_span(nuisance, nuisance - nuisance.mean(axis=0)))
    left = np.empty(values.shape)
    for k, column in enumerate(np.ascontiguousarray(values.T)):
        # One by one, so that the rounding of a column does not depend on its place.
        left[:, k] = column - basis @ (basis.T @ (column - column.mean()))
    return left, basis.shape[1]


def column_lengths(design: Array, centred: Array) -> tuple[Array, Mask]:
    """Return the length of each centred column, and whether it is more than round-off."""
    lengths = np.linalg.norm(centred, axis=0)
    return lengths, lengths > DEPENDENT * np.linalg.norm(design, axis=0)


def missing_rows(values: NDArray[Any]) -> list[int]:
    """Return the rows whose value is missing or infinite.

    Texts such as "nan" count as missing, because numpy writes them for a gap in a column of texts.
    """
    return [
        row
        for row, cell in enumerate(values.tolist())
        if cell is None or str(cell).strip() in MISSING_TEXTS
    ]


def _span(design: Array, centred: Array) -> Array:
    """Return orthonormal columns that span the columns of a centred design."""
    lengths, varies = column_lengths(design, centred)
    # Scaled to unit length, so that the units of a covariate do not decide what is dependent.
    U, sizes, _ = np.linalg.svd(centred[:, varies] / lengths[varies], full_matrices=False)
    return U[:, sizes > DEPENDENT]


def _design_columns(name: str, column: Any, n: int) -> Array:
    """Return the design columns of one covariate: numbers, levels of a text, or a spline."""
    values = np.asarray(column)
    is_spline = values.ndim == 2 and len(values) == n and values.size and values.dtype.kind == "f"
    if is_spline:
        # A column with a gap would look constant and be left out without notice.
        missing = np.flatnonzero(~np.isfinite(values).all(axis=1)).tolist()
    else:
        check_count(values, n, name)
        missing = missing_rows(values)
    if missing:
        raise InputError("covariate.gaps", name=name, subjects=missing).says(
            GAPS, "Fill it in, or leave these subjects out."
        )
    if is_spline:
        return values
    if values.dtype.kind in "fiub":
        return values.astype(float)[:, None]
    # Without the first level, because the columns of all levels add up to a constant.
    return indicators(numbered(values.astype(str))[1])[:, 1:]


DEGREE = 3  # cubic, because the penalty needs continuous second derivatives
SMOOTH_DF = 6  # B-splines of a covariate; 10 change little and cost more (benchmarks/harmonisation)
MIN_SPLINES = DEGREE + 2  # with one knot inside the range; fewer B-splines have no such knot
FLAT = 1e-10  # smaller eigenvalues of the penalty, relative to the largest, are straight lines


@dataclass(frozen=True)
class Spline:
    """A cubic spline of one covariate, learned from training rows.

    Attributes
    ----------
    low, high : float
        Range of the covariate in the training rows.
    knots : ndarray
        Knots on a scale from 0 to 1. The knots at both ends occur four times.
    turn : ndarray of shape (n_splines, n_splines - 2)
        Matrix that maps B-splines to the curved columns. Their penalty matrix is the identity.
    """

    low: float
    high: float
    knots: Array
    turn: Array

    @property
    def n_columns(self) -> int:
        """Return the number of design columns: one straight column, and the curved columns."""
        return 1 + self.turn.shape[1]

    def columns(self, values: Array) -> Array:
        """Return the design columns of n values, of shape (n, n_columns); a NaN gives a row of NaN.

        Outside of the training range, the curve stays level.
        """
        # Clipped to the range, because a cubic function grows fast outside of it.
        inside = np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)
        known = ~np.isnan(inside)
        columns = np.full((len(values), self.n_columns), np.nan)
        columns[known, 0] = inside[known]
        columns[known, 1:] = _functions(self.knots, inside[known]) @ self.turn
        return columns


def learn_spline(values: Array, name: Any = "", df: int = SMOOTH_DF) -> Spline:
    """Return the spline of a covariate, with its knots at quantiles of the values.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Values of the covariate in the training rows; NaN are left out.
    name : str
        Name of the covariate, for messages.
    df : int
        Number of B-splines, at least 5. There are fewer if knots coincide.

    Raises
    ------
    InputError
        If the covariate has fewer different values than B-splines.
    """
    known = values[~np.isnan(values)]
    n = len(np.unique(known))
    if n < df:
        raise InputError("smooth.values", name=name, n=n, df=df).says(
            TOO_FEW_VALUES, "Take it out of {smooth=}."
        )
    low, high = float(known.min()), float(known.max())
    unit = (known - low) / (high - low)
    quantiles = np.quantile(unit, np.linspace(0, 1, df - DEGREE + 1)[1:-1])
    # Quantiles of a covariate with many equal values may coincide with each other or an end.
    inner = np.unique(quantiles[(quantiles > 0) & (quantiles < 1)])
    knots = np.concatenate([np.zeros(DEGREE + 1), inner, np.ones(DEGREE + 1)])
    return Spline(low, high, knots, _turn(knots))


def can_bend(values: Array, name: Any = "", df: int = SMOOTH_DF) -> bool:
    """Return whether a part of the subjects has enough different values for a curve; warn if not.

    All subjects together may have enough values, while a fold or a half has too few. In such a part
    the effect is linear.
    """
    n = len(np.unique(values[~np.isnan(values)]))
    if n < df:
        Problem("smooth.part", name=name, n=n, df=df).warn(
            TOO_FEW_VALUES, "In this part of the subjects its effect is linear."
        )
    return n >= df


def _functions(knots: Array, unit: Array, derivative: int = 0) -> Array:
    """Return the B-splines, or their derivatives, at points from 0 to 1."""
    from scipy.interpolate import BSpline  # slow to import, and rarely needed

    splines = BSpline(knots, np.eye(len(knots) - DEGREE - 1), DEGREE)
    return splines(unit, nu=derivative)


def _turn(knots: Array) -> Array:
    """Return the matrix that maps B-splines to the curved columns.

    With these columns, the squared coefficients add up to the integral of f'' squared.
    """
    ends = np.unique(knots)
    half = np.diff(ends) / 2
    # Two Gauss points per interval are exact, because products of second derivatives are quadratic.
    points = (ends[:-1] + half)[:, None] + half[:, None] * np.array([-1, 1]) / np.sqrt(3)
    bends = _functions(knots, points.ravel(), derivative=2)
    penalty = bends.T @ (np.repeat(half, 2)[:, None] * bends)
    sizes, vectors = np.linalg.eigh(penalty)
    bent = sizes > FLAT * sizes[-1]
    vectors = vectors[:, bent] / np.sqrt(sizes[bent])
    # The signs of eigenvectors are arbitrary. They are fixed, so that files of two machines agree.
    strongest = np.abs(vectors).argmax(axis=0)
    return vectors * np.sign(vectors[strongest, np.arange(vectors.shape[1])])
