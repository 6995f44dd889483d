"""Sample: the rows of one group, and what is known of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.cohort import Cohort
from sgbn.exceptions import counted, warn
from sgbn.structure.nuisance import nuisance_of
from sgbn.structure.smooth import held_fixed
from sgbn.types import Array, Indices
from sgbn.validation import FEW_SAMPLES

N_TENTHS = 10  # parts of the rows, each of which is left out of some networks
SUBJECTS_PER_EFFECT = 4  # a half then has two subjects per covariate or site


class Sample(NamedTuple):
    """Rows, and what is known of them.

    Attributes
    ----------
    values : (n, m)
    names : names of the columns.
    nuisance : (n, p) columns whose effects are taken out of every part of the rows.
    strata : (n,) or None; see `deal_rows`.
    persons : (n,) or None; the rows of a person count as one subject.
    blocks : (n,) or None
        Labels whose rows are never parted, such as families; persons if there are none.
    """

    values: Array
    names: list[str]
    nuisance: Array
    strata: NDArray[Any] | None = None
    persons: NDArray[Any] | None = None
    blocks: NDArray[Any] | None = None

    @property
    def units(self) -> NDArray[Any] | None:
        """Labels whose rows are never parted."""
        return self.persons if self.blocks is None else self.blocks

    @property
    def n_units(self) -> int:
        """How many persons or blocks there are; rows, if neither is given."""
        units = self.units
        return len(self.values) if units is None else len(np.unique(units.astype(str)))

    def repeats(self, rows: Indices) -> int:
        """Count the rows beyond the first of each person: a person counts as one subject."""
        if self.persons is None:
            return 0
        # repeated rows tell less than new subjects: they are counted as lost degrees of freedom
        return len(rows) - len(np.unique(self.persons[rows].astype(str)))

    def take(self, rows: NDArray[Any]) -> Sample:
        """Return some of the rows."""
        labels = (self.strata, self.persons, self.blocks)
        taken = (None if column is None else column[rows] for column in labels)
        return Sample(self.values[rows], self.names, self.nuisance[rows], *taken)


def group_sample(cohort: Cohort, group: str) -> Sample:
    """Return the prepared rows of a group, with what is taken out of each half of them again.

    None is, with a warning, where a half has too few subjects to estimate the effects of covariates
    and sites: `prepare` has taken them out over all subjects before.
    """
    in_group = np.asarray(cohort.group) == group
    nuisance = _effects(cohort, group)
    n, p = nuisance.shape
    if not _can_lose(n, p):
        warn(
            f"group {group!r} has {counted(n, 'subject')}, too few to take {counted(p, 'effect')} "
            "of covariates and sites out of each half. They were taken out over all subjects only; "
            "name fewer covariates, or join small sites."
        )
        # no columns: effects that a half cannot estimate would add noise to it
        nuisance = nuisance[:, :0]
    blocks = None if cohort.block is None else cohort.units
    labels = (cohort.site, cohort.persons, blocks)
    parted = (
        None if labels_of_rows is None else labels_of_rows[in_group] for labels_of_rows in labels
    )
    return Sample(cohort.values[in_group], list(cohort.regions), nuisance, *parted)


def takes_effects_out(cohort: Cohort) -> bool:
    """Whether the effects of covariates and sites are taken out of each half of every group."""
    shapes = [_effects(cohort, group).shape for group in cohort.groups]
    return any(p for _, p in shapes) and all(_can_lose(n, p) for n, p in shapes)


def enough_left(n: int, lost: int) -> bool:
    """Whether nuisance columns leave enough of n rows, a tenth of which is left out."""
    return not lost or n - n // N_TENTHS - lost >= FEW_SAMPLES


def _can_lose(n: int, p: int) -> bool:
    """Whether the parts of n subjects are large enough to take p effects out of each."""
    return n >= SUBJECTS_PER_EFFECT * p and enough_left(n, p)


def _effects(cohort: Cohort, group: str) -> Array:
    """Columns that span the effects of covariates and sites in a group, without its mean."""
    in_group = np.asarray(cohort.group) == group
    covariates = {name: column[in_group] for name, column in held_fixed(cohort).items()}
    sites = None if cohort.site is None else cohort.site[in_group]
    return nuisance_of(np.zeros(in_group.sum(), np.intp), covariates, sites).basis[:, 1:]
