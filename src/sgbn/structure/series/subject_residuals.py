"""Non-Gaussian residuals of series, with the subject as the unit.

Each subject has its own weights, and counts once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, stdtrit

from sgbn.core.equivalence import Parents
from sgbn.core.types import Array, Indices
from sgbn.structure.non_gaussian import Residuals, least_squares_residual


class SubjectResiduals(Residuals):
    """The residuals of separate regressions in each subject, one subject after the other.

    Gains in log density are summed over the volumes of each person, over all sessions. So the
    standard error of a difference comes from the spread over persons. The spread over volumes
    would be wrong, because volumes are not independent.

    Parameters
    ----------
    series : sequence of ndarray of shape (volumes, m)
        Filtered series, with columns of mean 0 and mean square 1.
    units : ndarray of shape (S,), optional
        Code of each series' person, from 0 upwards; by default all persons differ.
    """

    def __init__(self, series: Sequence[Array], units: Indices | None = None) -> None:
        super().__init__(np.concatenate(series))
        # The row of the stacked series at which the volumes of each subject begin.
        self.starts = np.cumsum([0, *map(len, series[:-1])])
        self.units = np.arange(len(series)) if units is None else units

    def residual(self, j: int, parents: Parents) -> Array:
        """Return the least-squares residuals of each subject, scaled to a mean square of 1.

        A residual of zero stays zero.
        """
        residuals = self._by_subject(j, parents)
        sizes = [np.sqrt(np.square(residual).mean()) for residual in residuals]
        return np.concatenate(
            [residual / (size or 1.0) for residual, size in zip(residuals, sizes, strict=True)]
        )

    def _by_subject(self, j: int, parents: Parents) -> list[Array]:
        """Return the least-squares residual of j in each subject."""
        subjects = np.split(self.Z, self.starts[1:])
        return [least_squares_residual(rows, j, parents) for rows in subjects]

    def _target(self, j: int, parents: Parents) -> Array:
        # In one common fit, differences between the weights of subjects would look like curves.
        return np.concatenate(self._by_subject(j, parents))

    def gain(self, j: int, parents: Parents) -> Array:
        """Return the gain in log density of each person."""
        return self._sums(super().gain(j, parents))

    def bent(self, j: int, parents: Parents) -> tuple[Array, Array]:
        """Return two log densities of j per person, if its parents may have curved effects."""
        smooth, rough = super().bent(j, parents)
        return self._sums(smooth), self._sums(rough)

    @staticmethod
    def exceeds(difference: Array, least: float) -> bool:
        """Return whether a sum over persons clearly exceeds 0.

        `least` is a quantile of the normal distribution. The quantile of Student's t for the same
        probability is used instead, because there may be few persons.
        """
        n = len(difference)
        # With one person there is no spread over persons.
        if n < 2:
            return False
        error = float(difference.std(ddof=1)) * n**0.5
        return bool(difference.sum() > stdtrit(n - 1, ndtr(least)) * error)

    def _sums(self, gains: Array) -> Array:
        """Return the sum over the volumes of each person."""
        sums = np.bincount(self.units, np.add.reduceat(gains, self.starts))
        return sums.astype(float)
