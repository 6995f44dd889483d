r"""Smooth effects of covariates: cubic splines as columns of a design.

The spline is a sum of cubic B-splines with knots at quantiles of the covariate. Its design columns
are one straight column x and several curved columns :math:`b_k(x)`, where x is the covariate on a
scale from 0 to 1. The columns are chosen such that the penalty on the curvature of a function
:math:`f = a x + \sum_k u_k b_k(x)` is :math:`\int f''(x)^2 dx = \sum_k u_k^2`. Least squares with
this penalty is the model of one smooth term in Wood (2017, Generalized Additive Models, 2nd
edition, chapter 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.cohort import Cohort
from sgbn.core.exceptions import InputError, counted, warn
from sgbn.core.types import Array

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
    too_few = _too_few_values(values, name, df)
    if too_few:
        raise InputError(
            f"{too_few}. Use a linear effect: leave the covariate out of smooth (--smooth)."
        )
    known = values[~np.isnan(values)]
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
    too_few = _too_few_values(values, name, df)
    if too_few:
        warn(f"{too_few}. In this part of the subjects its effect is linear.")
    return not too_few


def with_curves_that_fit(part: Cohort) -> Cohort:
    """Return a part of a cohort, with linear effects instead of curves with too few values.

    See `can_bend`.
    """
    smooth = tuple(name for name in part.smooth if can_bend(part.covariates[name], name))
    return part if smooth == part.smooth else replace(part, smooth=smooth)


def check_curves(cohort: Cohort) -> None:
    """Raise InputError if a smooth covariate has too few different values for a curve."""
    for name in cohort.smooth:
        learn_spline(cohort.covariates[name], name)


def held_fixed(cohort: Cohort) -> dict[str, NDArray[Any]]:
    """Return the covariates by name, and smooth covariates as the columns of their spline.

    Their effects are held fixed when groups are compared.
    """
    return smooth_columns(cohort.covariates, cohort.smooth)


def effect_names(cohort: Cohort) -> list[str]:
    """Return the names of the covariates for texts, such as ``sex`` or ``age (a curve)``."""
    return [f"{name} (a curve)" if name in cohort.smooth else name for name in cohort.covariates]


def smooth_columns(
    covariates: Mapping[str, NDArray[Any]], smooth: tuple[str, ...]
) -> dict[str, NDArray[Any]]:
    """Return the covariates by name, and smooth covariates as the columns of their spline.

    Spline columns have the shape (n, k). A covariate with gaps is returned as it is: code that
    needs complete values reports the gaps.
    """
    columns = dict(covariates)
    for name in smooth:
        if name in columns and not np.isnan(columns[name]).any():
            columns[name] = learn_spline(columns[name], name).columns(columns[name])
    return columns


def _too_few_values(values: Array, name: Any, df: int) -> str:
    """Return a message that there are fewer different values than B-splines, or an empty text."""
    n_values = len(np.unique(values[~np.isnan(values)]))
    if n_values >= df:
        return ""
    return (
        f"the smooth covariate {name!r} has {counted(n_values, 'different value')}, too few for a "
        f"curve of {df} B-splines"
    )


def _functions(knots: Array, unit: Array, derivative: int = 0) -> Array:
    """Return the B-splines, or their derivatives, at points from 0 to 1."""
    from scipy.interpolate import BSpline  # slow to import, and rarely needed

    n_functions = len(knots) - DEGREE - 1
    splines = BSpline(knots, np.eye(n_functions), DEGREE)
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
