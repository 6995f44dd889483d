"""Non-Gaussian residuals of series: each subject has weights of its own, and counts once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, stdtrit

from sgbn.graph.members import Parents
from sgbn.structure.non_gaussian import Residuals, least_squares_residual
from sgbn.types import Array, Indices


class SubjectResiduals(Residuals):
    """Residuals of the regressions of each subject, one after the other.

    Gains in log density are sums over the volumes of each subject, and over the sessions of a
    person. So the standard error of a difference is that over persons: volumes are not independent.

    Parameters
    ----------
    series : sequence of ndarray of shape (volumes, m)
        Filtered series, columns with mean 0 and mean square 1.
    units : ndarray of shape (S,), optional
        Person of each series, from 0 on; by default each is another one.
    """

    def __init__(self, series: Sequence[Array], units: Indices | None = None) -> None:
        super().__init__(np.concatenate(series))
        # row at which each subject's volumes begin in the stack
        self.starts = np.cumsum([0, *map(len, series[:-1])])
        self.units = np.arange(len(series)) if units is None else units

    def residual(self, j: int, parents: Parents) -> Array:
        """Residual of least squares in each subject, with a mean square of 1 unless it is 0."""
        residuals = self._by_subject(j, parents)
        sizes = [np.sqrt(np.square(residual).mean()) for residual in residuals]
        return np.concatenate(
            [residual / (size or 1.0) for residual, size in zip(residuals, sizes, strict=True)]
        )

    def _by_subject(self, j: int, parents: Parents) -> list[Array]:
        subjects = np.split(self.Z, self.starts[1:])
        return [least_squares_residual(rows, j, parents) for rows in subjects]

    def _target(self, j: int, parents: Parents) -> Array:
        # one common fit would take differences between the subjects' weights for bends
        return np.concatenate(self._by_subject(j, parents))

    def gain(self, j: int, parents: Parents) -> Array:
        """Gain in log density of each person."""
        return self._sums(super().gain(j, parents))

    def bent(self, j: int, parents: Parents) -> tuple[Array, Array]:
        """Return log densities of j per person, where its parents may have curved effects."""
        smooth, rough = super().bent(j, parents)
        return self._sums(smooth), self._sums(rough)

    @staticmethod
    def exceeds(difference: Array, least: float) -> bool:
        """Whether a sum over persons exceeds 0, by a quantile of t: they may be few."""
        n = len(difference)
        # one person has no spread over persons
        if n < 2:
            return False
        error = float(difference.std(ddof=1)) * n**0.5
        return bool(difference.sum() > stdtrit(n - 1, ndtr(least)) * error)

    def _sums(self, gains: Array) -> Array:
        """Add up the volumes of each person."""
        sums = np.bincount(self.units, np.add.reduceat(gains, self.starts))
        return sums.astype(float)
