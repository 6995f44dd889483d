r"""Group means of many columns at once, adjusted for covariates and sites.

Each column y has one number per subject s. It is regressed on the design X, which holds an
indicator of each group, and the centred covariates and sites. Let :math:`a_g` be the row of the
pseudo-inverse :math:`X^+` that belongs to group g, h the leverages and e the residuals. Then

.. math:: \mu_g = a_g^T y, \qquad
          C_{gh} = \sum_u \psi^{(g)}_u \psi^{(h)}_u, \qquad
          \psi^{(g)}_s = \frac{a_{gs} \, e_s}{1 - h_s}.

The covariances C are the HC3 estimate (MacKinnon and White 1985). The influences :math:`\psi` of
the rows of one unit u, such as a person with several sessions, are added up first. :math:`\mu_g` is
the mean of the group for subjects with mean covariates. Without covariates, the t of two groups is
Welch's t with :math:`s^2 / (n - 1)` in place of :math:`s^2 / n`.

If each person is in every group (`pairs`), covariates and sites are centred within persons. The
slopes then describe changes within a person, as if the model had one effect per person. For
example, a difference between persons who move much and persons who move little does not show what
more motion does to one person. Covariates that do not change within persons drop out. For the
influences, the rows of a person are left out together. The influence of a person is
:math:`\psi^{(g)}_u = a_{gu}^T (I - H_u)^{-1} e_u`, where :math:`H_u` is the person's block of the
hat matrix. The t of two groups is then the HC3 t of the differences within persons.

In the reduced model some groups share one mean. Permuted values are the fitted values of the
reduced model plus its residuals in another order (Freedman and Lane 1983).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import ceil

import numpy as np

from sgbn.cohort.effects import (
    DEPENDENT,
    Nuisance,
    column_lengths,
    design_of,
    indicators,
    nuisance_of,
)
from sgbn.core.exceptions import InputError
from sgbn.core.types import Array, Indices
from sgbn.inference.closed_tests import Members
from sgbn.inference.difference_input import GroupData
from sgbn.inference.edge_statistics import Estimates
from sgbn.inference.influence import FULL


@dataclass(frozen=True)
class AdjustedMeans:
    """The adjusted means of the groups, as linear functions of the rows.

    Attributes
    ----------
    data : GroupData
        The groups, covariates and sites of the rows. Its values are not used.
    design : ndarray of shape (n, p)
        Columns of covariates and sites. With pairs they are centred within persons.
    full : Nuisance
        The full model: groups, covariates and sites.
    rows : ndarray of shape (groups, n)
        ``rows @ values`` are the adjusted means of the groups.
    """

    data: GroupData
    design: Array
    full: Nuisance
    rows: Array

    @classmethod
    def of(cls, data: GroupData) -> AdjustedMeans:
        """Return the adjusted means for the groups, covariates and sites of the data.

        Raises
        ------
        InputError
            If covariates or sites explain the groups.
        """
        design = _held_fixed(data)
        full = _spanned(data.codes, design)
        means = indicators(data.codes)
        means /= means.sum(axis=0)
        # Centred over all rows, so that each mean is for a subject with mean covariates. Slopes
        # come only from variation within groups.
        centred = design - design.mean(axis=0)
        of_groups = means.T @ centred
        lengths, varies = column_lengths(design, centred - of_groups[data.codes])
        within = (centred - of_groups[data.codes])[:, varies] / lengths[varies]
        slopes = np.linalg.pinv(within, rcond=DEPENDENT)
        rows = means.T - of_groups[:, varies] / lengths[varies] @ slopes
        adjusted = cls(data, design, full, rows)
        adjusted._refuse_explained_groups()
        return adjusted

    def estimates(self, values: Array) -> Estimates:
        """Return the adjusted group means of columns (n, k), and their covariances."""
        return Estimates(self.rows @ values, self._covariances(self.full.residuals(values)))

    def permuted(self, values: Array, members: Members) -> Callable[[Indices], Estimates]:
        """Return a function that estimates the means of permuted columns.

        The function takes one row number per place: the row that moves there. `members` are the
        groups that have the same means under the null hypothesis.
        """
        residuals = self._reduced(members).residuals(values)
        expected = self.rows @ (values - residuals)

        def refit(order: Indices) -> Estimates:
            # Fitted values of the reduced model stay in place (Freedman and Lane). What they add
            # to the means is computed once, before the permutations.
            drawn = residuals[order]
            means = expected + self.rows @ drawn
            return Estimates(means, self._covariances(self.full.residuals(drawn)))

        return refit

    def _reduced(self, members: Members) -> Nuisance:
        """Return the reduced model: nuisance effects, and one mean for all of `members`."""
        # Groups outside of `members` keep their own means: the null does not concern them.
        codes = np.where(np.isin(self.data.codes, members), members[0], self.data.codes)
        numbered = np.unique(codes, return_inverse=True)[1]
        return _spanned(numbered, self.design)

    def _refuse_explained_groups(self) -> None:
        """Raise InputError if covariates and sites explain the groups."""
        every = tuple(range(len(self.data.groups)))
        if self.full.rank - self._reduced(every).rank == len(every) - 1:
            return
        # The difference is smaller if a combination of covariates and sites explains the groups.
        fixed = [*self.data.covariates, *(["sites"] if self.data.sites is not None else [])]
        explain = "explains" if len(self.data.covariates) == len(fixed) == 1 else "explain"
        within = "" if self.data.pairs is None else "within persons, "
        names = " and ".join(map(str, fixed))
        raise InputError(
            f"{within}{names} {explain} which group a subject is in. Differences between groups "
            f"cannot be separated from effects of {names}. Leave "
            f"{names if len(fixed) == 1 else 'one of them'} out."
        )

    @property
    def rank(self) -> int:
        """Number of degrees of freedom that the design uses up. Each row has one.

        In paired designs slopes are estimated from differences within persons. A person with one
        row in each of k groups has only k - 1 such differences. So each slope counts as more than
        one degree of freedom.
        """
        n_groups = len(self.data.groups)
        if self.data.pairs is None:
            return self.full.rank
        return n_groups + ceil((self.full.rank - n_groups) * n_groups / (n_groups - 1))

    @cached_property
    def _influences(self) -> Array:
        """Factors of shape (groups, n) that turn residuals into influences on the means.

        An influence is the change of a mean when the row is left out. Rows of a pair are left out
        together.
        """
        basis, pairs = self.full.basis, self.data.pairs
        if pairs is None:
            alone: Array = self.rows / np.maximum(1 - np.square(basis).sum(axis=1), FULL)
            return alone
        order = np.argsort(pairs, kind="stable").reshape(-1, len(self.data.groups))
        blocks = basis[order]  # (persons, groups, p)
        # I - H_u is inverted by its eigenvalues. If one person alone determines a slope, H_u has
        # an eigenvalue of 1. FULL then prevents a division by 0.
        leverages, axes = np.linalg.eigh(blocks @ blocks.swapaxes(1, 2))
        left = axes / np.maximum(1 - leverages, FULL)[:, None] @ axes.swapaxes(1, 2)
        influences = np.empty(self.rows.shape)
        influences[:, order] = np.einsum("gui,uij->guj", self.rows[:, order], left)
        return influences

    @cached_property
    def _by_unit(self) -> tuple[Indices, Indices]:
        """Rows in the order of their units, and the positions at which each unit begins."""
        units = np.arange(len(self.data.codes)) if self.data.units is None else self.data.units
        order = np.argsort(units, kind="stable")
        return order, np.flatnonzero(np.diff(units[order], prepend=-1))

    def _covariances(self, residuals: Array) -> Array:
        """Return the covariances (groups, groups, k) of the means."""
        n_groups, n = self.rows.shape
        if self.data.units is None:
            # If each row is a unit, the sum over units is one matrix product for all columns.
            products = (self._influences[:, None] * self._influences).reshape(-1, n)
            C: Array = (products @ np.square(residuals)).reshape(n_groups, n_groups, -1)
            return C
        order, starts = self._by_unit
        influences = self._influences[:, order, None] * residuals[order]
        # Rows of a unit are dependent: their influences are added before they are squared.
        sums = np.add.reduceat(influences, starts, axis=1)
        covariances: Array = np.einsum("guk,huk->ghk", sums, sums)
        return covariances


def _held_fixed(data: GroupData) -> Array:
    """Return the columns of covariates and sites.

    With pairs, the columns are centred within persons, and columns that do not change within
    persons are left out.
    """
    design = design_of(len(data.codes), data.covariates, data.sites)
    if data.pairs is None:
        return design
    persons = indicators(data.pairs)
    centred = design - (persons.T @ design / persons.sum(axis=0)[:, None])[data.pairs]
    varies = column_lengths(design, centred)[1]
    varying: Array = centred[:, varies]
    return varying


def _spanned(codes: Indices, design: Array) -> Nuisance:
    """Return the model that groups and the columns of a design span."""
    return nuisance_of(codes, {str(k): column for k, column in enumerate(design.T)})
