r"""Means of groups, adjusted for covariates and sites, of many columns at once.

One number per subject and column is regressed on the design X: an indicator of each group, and
covariates and sites, which are centred. With the row :math:`a_g` of :math:`X^+` that belongs to
group g, leverages h and residuals e,

.. math:: \mu_g = a_g^T y, \qquad
          C_{gh} = \sum_u \psi^{(g)}_u \psi^{(h)}_u, \qquad
          \psi^{(g)}_s = \frac{a_{gs} \, e_s}{1 - h_s}

(HC3, MacKinnon and White 1985; influences of one unit u, such as a person with several sessions,
are added first). :math:`\mu_g` is the mean of the group for subjects with mean covariates. Without
covariates the t of two groups is that of Welch, with n - 1 in place of n.

Permuted values are those of the reduced model, in which some groups have one mean, plus its
residuals in another order (Freedman and Lane 1983).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sgbn.exceptions import InputError
from sgbn.inference.closed_tests import Members
from sgbn.inference.difference_input import GroupData
from sgbn.inference.edge_statistics import Estimates
from sgbn.inference.influence import FULL
from sgbn.structure.nuisance import (
    DEPENDENT,
    Nuisance,
    column_lengths,
    design_of,
    indicators,
    nuisance_of,
)
from sgbn.types import Array, Indices


@dataclass(frozen=True)
class AdjustedMeans:
    """How the rows of a design make means of its groups.

    Attributes
    ----------
    data : GroupData
    full : Nuisance
        Spanned by groups, covariates and sites.
    rows : ndarray of shape (groups, n)
        Times the values of a column, it is the adjusted mean of each group.
    """

    data: GroupData
    full: Nuisance
    rows: Array

    @classmethod
    def of(cls, data: GroupData) -> AdjustedMeans:
        """Return the design of what is known about the rows.

        Raises
        ------
        InputError
            If covariates or sites explain the groups.
        """
        full = nuisance_of(data.codes, data.covariates, data.sites)
        means = indicators(data.codes)
        means /= means.sum(axis=0)
        design = design_of(len(data.codes), data.covariates, data.sites)
        centred = design - design.mean(axis=0)
        of_groups = means.T @ centred
        lengths, varies = column_lengths(design, centred - of_groups[data.codes])
        within = (centred - of_groups[data.codes])[:, varies] / lengths[varies]
        slopes = np.linalg.pinv(within, rcond=DEPENDENT)
        adjusted = cls(data, full, means.T - of_groups[:, varies] / lengths[varies] @ slopes)
        adjusted._refuse_explained_groups()
        return adjusted

    def estimates(self, values: Array) -> Estimates:
        """Return adjusted means of columns (n, k) in the groups, and their covariances."""
        return Estimates(self.rows @ values, self._covariances(self.full.residuals(values)))

    def permuted(self, values: Array, members: Members) -> Callable[[Indices], Estimates]:
        """Return the estimates of permuted columns, given the row that comes to each place.

        `members` are the groups that have the same means under the null.
        """
        residuals = self._reduced(members).residuals(values)
        expected = self.rows @ (values - residuals)

        def refit(order: Indices) -> Estimates:
            drawn = residuals[order]
            means = expected + self.rows @ drawn
            return Estimates(means, self._covariances(self.full.residuals(drawn)))

        return refit

    def _reduced(self, members: Members) -> Nuisance:
        """Nuisance effects, and one mean for all of these groups."""
        codes = np.where(np.isin(self.data.codes, members), members[0], self.data.codes)
        numbered = np.unique(codes, return_inverse=True)[1]
        return nuisance_of(numbered, self.data.covariates, self.data.sites)

    def _refuse_explained_groups(self) -> None:
        every = tuple(range(len(self.data.groups)))
        if self.full.rank - self._reduced(every).rank == len(every) - 1:
            return
        fixed = [*self.data.covariates, *(["sites"] if self.data.sites is not None else [])]
        raise InputError(
            f"{' and '.join(map(str, fixed))} explain which group a subject is in, so that no "
            "difference between groups can be told from theirs. Leave one of them out."
        )

    @cached_property
    def _room(self) -> Array:
        """One column: 1 less the leverage of each row."""
        leverage = np.square(self.full.basis).sum(axis=1)
        return np.maximum(1 - leverage, FULL)[:, None]

    @cached_property
    def _by_unit(self) -> tuple[Indices, Indices]:
        """Rows in the order of their units, and where each unit begins."""
        units = np.arange(len(self.data.codes)) if self.data.units is None else self.data.units
        order = np.argsort(units, kind="stable")
        return order, np.flatnonzero(np.diff(units[order], prepend=-1))

    def _covariances(self, residuals: Array) -> Array:
        """Covariances (groups, groups, k) of the means."""
        scaled = residuals / self._room
        n_groups, n = self.rows.shape
        if self.data.units is None:
            products = (self.rows[:, None] * self.rows).reshape(-1, n)
            C: Array = (products @ np.square(scaled)).reshape(n_groups, n_groups, -1)
            return C
        order, starts = self._by_unit
        influences = self.rows[:, order, None] * scaled[order]
        sums = np.add.reduceat(influences, starts, axis=1)
        found: Array = np.einsum("guk,huk->ghk", sums, sums)
        return found
