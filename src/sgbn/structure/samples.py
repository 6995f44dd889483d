"""Sample: the rows of one group, with their sites, persons and nuisance effects."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.cohort import Cohort
from sgbn.core.exceptions import counted, warn
from sgbn.core.types import Array, Indices
from sgbn.core.validation import FEW_SAMPLES
from sgbn.structure.nuisance import nuisance_of
from sgbn.structure.smooth import held_fixed

N_TENTHS = 10  # number of parts of the rows; some networks are learned without one part
SUBJECTS_PER_EFFECT = 4  # with this many, a half has two subjects per covariate or site


class Sample(NamedTuple):
    """The rows of one group, and what is known about each row.

    Attributes
    ----------
    values : ndarray of shape (n, m)
        The rows.
    names : list of str
        Names of the columns.
    nuisance : ndarray of shape (n, p)
        Columns whose effects are taken out of every part of the rows.
    strata : ndarray of shape (n,) or None
        Label of each row's stratum, such as its site; see `deal_rows`.
    persons : ndarray of shape (n,) or None
        Label of each row's person. All rows of a person count as one subject.
    blocks : ndarray of shape (n,) or None
        Labels such as families: rows with the same label always stay together. Without them, the
        rows of a person stay together.
    """

    values: Array
    names: list[str]
    nuisance: Array
    strata: NDArray[Any] | None = None
    persons: NDArray[Any] | None = None
    blocks: NDArray[Any] | None = None

    @property
    def units(self) -> NDArray[Any] | None:
        """Return the labels whose rows always stay together: blocks or persons, or None."""
        return self.persons if self.blocks is None else self.blocks

    @property
    def n_units(self) -> int:
        """Return the number of blocks or persons, or the number of rows if neither is given."""
        units = self.units
        return len(self.values) if units is None else len(np.unique(units.astype(str)))

    def repeats(self, rows: Indices) -> int:
        """Return how many of the rows are repeated: all rows of a person except one."""
        if self.persons is None:
            return 0
        # Repeated rows tell less than new subjects: they are counted as lost degrees of freedom.
        return len(rows) - len(np.unique(self.persons[rows].astype(str)))

    def take(self, rows: NDArray[Any]) -> Sample:
        """Return the sample of some of the rows."""
        labels = (self.strata, self.persons, self.blocks)
        taken = (None if column is None else column[rows] for column in labels)
        return Sample(self.values[rows], self.names, self.nuisance[rows], *taken)


def group_sample(cohort: Cohort, group: str) -> Sample:
    """Return the prepared rows of a group, and the nuisance effects to take out of each half.

    `prepare` has estimated the effects of covariates and sites from all subjects, and has taken
    them out. They are estimated again in each half, and taken out of it. If a half has too few
    subjects for this, it is not done, and the function warns.
    """
    in_group = np.asarray(cohort.group) == group
    nuisance = _effects(cohort, group)
    n, p = nuisance.shape
    if not _can_lose(n, p):
        warn(
            f"group {group!r} has {counted(n, 'subject')}, too few to take {counted(p, 'effect')} "
            "of covariates and sites out of each half. They were only taken out over all subjects. "
            "Name fewer covariates, or join small sites."
        )
        # No columns are kept: effects that a half cannot estimate would add noise to it.
        nuisance = nuisance[:, :0]
    blocks = None if cohort.block is None else cohort.units
    labels = (cohort.site, cohort.persons, blocks)
    group_labels = (None if column is None else column[in_group] for column in labels)
    return Sample(cohort.values[in_group], list(cohort.regions), nuisance, *group_labels)


def takes_effects_out(cohort: Cohort) -> bool:
    """Return whether effects of covariates and sites are taken out of each half of every group."""
    shapes = [_effects(cohort, group).shape for group in cohort.groups]
    return any(p for _, p in shapes) and all(_can_lose(n, p) for n, p in shapes)


def enough_left(n: int, lost: int) -> bool:
    """Return whether nine tenths of n rows are enough after `lost` degrees of freedom are lost."""
    return not lost or n - n // N_TENTHS - lost >= FEW_SAMPLES


def _can_lose(n: int, p: int) -> bool:
    """Return whether p effects can be taken out of each part of n subjects."""
    return n >= SUBJECTS_PER_EFFECT * p and enough_left(n, p)


def _effects(cohort: Cohort, group: str) -> Array:
    """Return columns that span the effects of covariates and sites in a group, without its mean."""
    in_group = np.asarray(cohort.group) == group
    covariates = {name: column[in_group] for name, column in held_fixed(cohort).items()}
    sites = None if cohort.site is None else cohort.site[in_group]
    return nuisance_of(np.zeros(in_group.sum(), np.intp), covariates, sites).basis[:, 1:]
