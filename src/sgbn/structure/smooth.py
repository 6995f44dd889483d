r"""A smooth effect of a covariate: a cubic spline, as columns of a design.

The spline is a sum of cubic B-splines with knots at quantiles of the covariate. Its columns are a
straight line, and columns that bend, turned so that the penalty of a function
:math:`f = a x + \sum_k u_k b_k(x)` on its bends is :math:`\int f''(x)^2 dx = \sum_k u_k^2`, where
x is the covariate on a scale from 0 to 1. Least squares with that penalty is the model of one
smooth term of Wood (2017, Generalized Additive Models, 2nd edition, chapter 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError, counted, warn
from sgbn.types import Array

DEGREE = 3  # cubic: the penalty on second derivatives needs them to be continuous
SMOOTH_DF = 6  # B-splines of a covariate; 10 change little and cost more (benchmarks/harmonisation)
MIN_SPLINES = DEGREE + 2  # one knot inside the range: fewer B-splines have none
FLAT = 1e-10  # eigenvalue of the penalty relative to the largest; smaller is a straight line


@dataclass(frozen=True)
class Spline:
    """Cubic spline of one covariate, as learned in training.

    Attributes
    ----------
    low, high : float
        Range of the covariate in training.
    knots : ndarray
        From 0 to 1, those at the ends four times.
    turn : ndarray of shape (B-splines, B-splines - 2)
        From B-splines to columns that bend, whose penalty is the identity.
    """

    low: float
    high: float
    knots: Array
    turn: Array

    @property
    def n_columns(self) -> int:
        """How many design columns there are: the straight one, and those that bend."""
        return 1 + self.turn.shape[1]

    def columns(self, values: Array) -> Array:
        """Design columns, of shape (n, n_columns); NaN where the value is.

        Beyond the range of training the curve stays at its end.
        """
        # a cubic would shoot off outside of the range: the curve stays level there
        inside = np.clip((values - self.low) / (self.high - self.low), 0.0, 1.0)
        known = ~np.isnan(inside)
        columns = np.full((len(values), self.n_columns), np.nan)
        columns[known, 0] = inside[known]
        columns[known, 1:] = _functions(self.knots, inside[known]) @ self.turn
        return columns


def learn_spline(values: Array, name: Any = "", df: int = SMOOTH_DF) -> Spline:
    """Place the knots at quantiles of a covariate.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Training rows; NaN among them play no part.
    name : str
        Name of the covariate, for messages.
    df : int
        Number of B-splines, at least 5; knots that coincide count once.

    Raises
    ------
    InputError
        If the covariate has fewer different values than B-splines.
    """
    too_few = _too_few_values(values, name, df)
    if too_few:
        raise InputError(
            f"{too_few}. Take its effect as linear: leave it out of smooth (--smooth)."
        )
    known = values[~np.isnan(values)]
    low, high = float(known.min()), float(known.max())
    unit = (known - low) / (high - low)
    quantiles = np.quantile(unit, np.linspace(0, 1, df - DEGREE + 1)[1:-1])
    # quantiles of a covariate with many equal values coincide, also with the ends
    inner = np.unique(quantiles[(quantiles > 0) & (quantiles < 1)])
    knots = np.concatenate([np.zeros(DEGREE + 1), inner, np.ones(DEGREE + 1)])
    return Spline(low, high, knots, _turn(knots))


def can_bend(values: Array, name: Any = "", df: int = SMOOTH_DF) -> bool:
    """Whether some of the subjects have enough different values for a curve; warn if not.

    A curve that fits all subjects may not fit a fold or a half of them. Its effect is then linear.
    """
    too_few = _too_few_values(values, name, df)
    if too_few:
        warn(f"{too_few}. Its effect is taken as linear in this part of the subjects.")
    return not too_few


def with_curves_that_fit(part: Cohort) -> Cohort:
    """Part of a cohort, with linear effects where it has too few values; see `can_bend`."""
    smooth = tuple(name for name in part.smooth if can_bend(part.covariates[name], name))
    return part if smooth == part.smooth else replace(part, smooth=smooth)


def check_curves(cohort: Cohort) -> None:
    """Raise InputError if a smooth covariate of all subjects has too few values for a curve."""
    for name in cohort.smooth:
        learn_spline(cohort.covariates[name], name)


def held_fixed(cohort: Cohort) -> dict[str, NDArray[Any]]:
    """Covariates whose effects are held fixed; a smooth one as the columns of its spline."""
    return smooth_columns(cohort.covariates, cohort.smooth)


def effect_names(cohort: Cohort) -> list[str]:
    """Covariates by name, as texts call them: ``sex``, ``age (a curve)``."""
    return [f"{name} (a curve)" if name in cohort.smooth else name for name in cohort.covariates]


def smooth_columns(
    covariates: Mapping[str, NDArray[Any]], smooth: tuple[str, ...]
) -> dict[str, NDArray[Any]]:
    """Covariates by name; of smooth ones the columns of their spline, of shape (n, k).

    A covariate with gaps stays as it is: who needs it whole says where they are.
    """
    columns = dict(covariates)
    for name in smooth:
        if name in columns and not np.isnan(columns[name]).any():
            columns[name] = learn_spline(columns[name], name).columns(columns[name])
    return columns


def _too_few_values(values: Array, name: Any, df: int) -> str:
    """Say that there are fewer different values than B-splines; empty if there are enough."""
    n_values = len(np.unique(values[~np.isnan(values)]))
    if n_values >= df:
        return ""
    return (
        f"the smooth covariate {name!r} has {counted(n_values, 'different value')}, too few for a "
        f"curve of {df} B-splines"
    )


def _functions(knots: Array, unit: Array, derivative: int = 0) -> Array:
    """B-splines, or their derivatives, at points from 0 to 1."""
    from scipy.interpolate import BSpline  # slow to import, and few need it

    n_functions = len(knots) - DEGREE - 1
    splines = BSpline(knots, np.eye(n_functions), DEGREE)
    return splines(unit, nu=derivative)


def _turn(knots: Array) -> Array:
    """Turn B-splines so that the squares of coefficients add up to the integral of f'' squared."""
    ends = np.unique(knots)
    half = np.diff(ends) / 2
    # two Gauss points per interval: exact, for products of second derivatives are quadratic
    points = (ends[:-1] + half)[:, None] + half[:, None] * np.array([-1, 1]) / np.sqrt(3)
    bends = _functions(knots, points.ravel(), derivative=2)
    penalty = bends.T @ (np.repeat(half, 2)[:, None] * bends)
    sizes, vectors = np.linalg.eigh(penalty)
    bent = sizes > FLAT * sizes[-1]
    vectors = vectors[:, bent] / np.sqrt(sizes[bent])
    # signs of eigenvectors are arbitrary: fixed, so that files of two machines agree
    strongest = np.abs(vectors).argmax(axis=0)
    return vectors * np.sign(vectors[strongest, np.arange(vectors.shape[1])])
