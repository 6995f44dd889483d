"""Rows: the values of a table with their design, as all computations take them.

`Rows.of` makes them of a cohort or an array. `rows_of_group` and `residual_rows` read the rows of
one group, `rows_of_groups` the rows of all groups that a test compares.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.cohort.atlas import UNKNOWN_LOBE
from sgbn.cohort.cohort import COLUMNS, Cohort, check_region
from sgbn.cohort.design import LABELS, Design, choose_reference
from sgbn.cohort.effects import missing_rows
from sgbn.cohort.series import SeriesCohort
from sgbn.core.moments import CONTENT_DIGITS, constant_columns
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import FEW_SAMPLES, check_finite, check_values, numbered

NOTHING_LEFT = 1e-8  # share of a region's spread; if less of it is left, that is round-off
OR_PREPARED = "Leave these subjects out, or give prepared rows: sgbn.prepare.prepare fills gaps."
N_TENTHS = 10  # number of parts of the rows; some networks are learned without one part
SUBJECTS_PER_EFFECT = 4  # with this many, a half has two subjects per covariate or site


@dataclass(frozen=True, eq=False)
class Rows:
    """The values of some subjects or sessions, and what is known about each row.

    Attributes
    ----------
    values : ndarray of shape (n, m)
        The rows. A missing cell is NaN.
    names : tuple of str
        Names of the columns.
    ids : tuple
        Names of the rows.
    design : Design
        Which rows belong together, and what is held fixed.
    effects : ndarray of shape (n, p)
        Columns whose effects are taken out of every part of the rows.
    lobes : tuple of str
        Lobe of each column.
    places : ndarray of shape (n,)
        Place of each row in the data that the user gave.
    """

    values: Array
    names: tuple[str, ...]
    ids: tuple[Any, ...]
    design: Design
    effects: Array = field(default_factory=lambda: np.empty((0, 0)))
    lobes: tuple[str, ...] = ()
    places: Indices = field(default_factory=lambda: np.empty(0, np.intp))

    def __post_init__(self) -> None:
        if not len(self.effects):
            object.__setattr__(self, "effects", np.empty((len(self.values), 0)))
        if not len(self.places):
            object.__setattr__(self, "places", np.arange(len(self.values)))

    @classmethod
    def of(cls, X: ArrayLike | Cohort) -> Self:
        """Return the rows of a cohort, an array or a table."""
        if isinstance(X, Cohort):
            return cls(X.values, X.regions, X.ids, X.design, lobes=X.lobes)
        values, names = check_values(X)
        n = len(values)
        ids = tuple(row_labels(X) or range(n))
        return cls(values, tuple(names), ids, Design(n), lobes=(UNKNOWN_LOBE,) * len(names))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def content(self) -> list[Any]:
        """Return all that the results of one group depend on. `effects` stand for covariates."""
        labels = (getattr(self.design, name) for name in LABELS)
        return [self.values, self.names, self.effects, *labels]

    def in_order(self) -> Self:
        """Return the rows in an order that does not depend on their order in the data."""
        return self.subset(row_order(self.values, self.design, self.effects))

    def subset(self, rows: Indices | Mask) -> Self:
        """Return some of the rows."""
        return replace(
            self,
            values=self.values[rows],
            ids=tuple(self.ids[row] for row in np.arange(len(self))[rows].tolist()),
            design=self.design.subset(rows),
            effects=self.effects[rows],
            places=self.places[rows],
        )


def row_order(values: Array, design: Design | None = None, *beside: NDArray[Any]) -> Indices:
    """Return the rows in an order that depends on their content, not on their order in the data.

    Random draws, folds and the last digits of sums depend on the places of rows. Computations that
    put rows in this order first give the same results for any order of the user's rows, and for any
    ids of rows.

    Rows are sorted by their sorted values, which do not depend on the order of columns, and then by
    the columns, themselves sorted by content. Values are in units of the range of their column, so
    that units have no effect. Labels and covariates of the design come last, and further columns
    (`beside`). The sorted rows are then shuffled, always in the same way, because folds of
    neighbours must not be folds of similar rows.
    """
    if not values.size:
        return np.arange(len(values))
    shuffled = np.random.default_rng(0).permutation(len(values))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a column may be empty
        spread = np.nanmax(values, axis=0) - np.nanmin(values, axis=0)
        Z = (values - np.nanmedian(values, axis=0)) / np.where(spread > 0, spread, 1.0)
    # Rounded, because other units change the last digits. NaN are sorted last.
    Z = np.where(np.isnan(Z), np.inf, np.round(Z, CONTENT_DIGITS))
    least = Z.min(axis=1)
    order = np.argsort(least, kind="stable")
    # The smallest value of each row is usually enough, and avoids sorting the whole table.
    if (least[order][1:] > least[order][:-1]).all():
        return order[shuffled]
    columns = np.lexsort(np.sort(Z, axis=0)[::-1])
    known = () if design is None else (*map(design.codes, LABELS), *design.covariates.values())
    # The values themselves are for rows that one huge row in a column makes equal.
    ties = [column for column in (*beside, *known, values[:, columns]) if column is not None]
    ties = [numbered(column)[1] for table in ties for column in np.atleast_2d(np.asarray(table).T)]
    return np.lexsort([*ties, *Z[:, columns[::-1]].T, *np.sort(Z, axis=1)[:, ::-1].T])[shuffled]


def by_name(ids: Iterable[Any]) -> list[Any]:
    """Return ids sorted for a message, numbers by their size: rows have an order of their own."""
    return sorted(ids, key=lambda name: (len(str(name)), str(name)))


def cohort_order(cohort: Cohort, design: Design | None = None) -> Indices:
    """Return the `row_order` of a cohort. Subjects with time series are sorted by one volume."""
    values = cohort.values
    if isinstance(cohort, SeriesCohort):
        # Standard deviations are no content: they may be equal. The scale of a series is arbitrary.
        middle = (series[len(series) // 2] - series.mean(axis=0) for series in cohort.series)
        values = np.array(list(middle)) / values
    return row_order(values, cohort.design if design is None else design)


def row_labels(X: Any) -> list[Any] | None:
    """Return the row labels of X if it is a table with an index, else None."""
    if hasattr(X, "columns") and hasattr(X, "index"):
        return list(X.index)
    return None


def rows_of_group(X: ArrayLike | Cohort, group: str | None = None) -> Rows:
    """Return rows as they were measured, with the columns of sites and covariates as `effects`.

    The caller divides the rows into parts, and takes the effects of sites and covariates out of
    each part separately.

    Parameters
    ----------
    X : array-like of shape (n, m), DataFrame or Cohort
        The rows. Only a Cohort has sites and covariates.
    group : str, optional
        The group to use, if a Cohort has several.
    """
    if not isinstance(X, Cohort):
        if group is not None:
            raise InputError("group.cohort").says(
                "{group=} needs a Cohort", "Give the rows of that group instead."
            )
        return Rows.of(X).in_order()
    chosen = _one_group(X, group)
    check_values(chosen.values)
    return replace(Rows.of(chosen), effects=chosen.design.columns()).in_order()


def residual_rows(X: ArrayLike | Cohort, group: str | None = None) -> Rows:
    """Return rows of a table, of an array, or of one group of a cohort; see `rows_of_group`.

    The effects of a cohort's sites and covariates are taken out within the group: the means of the
    sites and the slopes of the covariates. The mean of the group is kept. The columns of `effects`
    span what was taken out. Each of them cost one degree of freedom.
    """
    rows = rows_of_group(X, group)
    if rows.design.site is None and not rows.design.covariates:
        return rows
    values, nuisance = rows.values, rows.design.nuisance()
    left = nuisance.residuals(values)
    gone = left.std(axis=0) <= NOTHING_LEFT * values.std(axis=0)
    gone &= ~constant_columns(values)  # a constant region had no spread before
    if gone.any():
        raise InputError("regions.explained", regions=np.array(rows.names)[gone].tolist()).says(
            "sites and covariates leave nothing of {regions}",
            "Exclude these regions, or give fewer covariates.",
        )
    # The first column of the basis is the mean, which is not a nuisance effect.
    return replace(rows, values=left + values.mean(axis=0), effects=nuisance.basis[:, 1:])


def residuals_by_group(groups: Cohort | Mapping[Any, ArrayLike]) -> dict[str, Rows]:
    """Return `residual_rows` of each group of a cohort, or of a mapping of group to table.

    Raises
    ------
    InputError
        If there are fewer than two groups, or their columns differ.
    """
    if isinstance(groups, Cohort):
        samples = {name: residual_rows(groups, name) for name in groups.groups}
    elif isinstance(groups, Mapping):
        samples = {str(name): residual_rows(X) for name, X in groups.items()}
    else:
        raise InputError("groups.type", type=type(groups).__name__).says(
            "groups is a {type:s}", "Give a Cohort, or a mapping of group to rows."
        )
    if len(samples) < 2:
        raise InputError("groups.few", n=len(samples)).says(
            "{n:group is/groups are} given, but a difference needs two", "Give two or more groups."
        )
    # Weights are compared by the positions of columns. So the order of the names must be the same.
    first, *more = samples
    for other in more:
        if samples[other].names != samples[first].names:
            raise InputError("groups.columns", first=first, other=other).says(
                "the groups {first} and {other} have different columns",
                "Give all groups the same columns in the same order.",
            )
    return samples


def prepared_rows(cohort: Cohort, group: str) -> Rows:
    """Return the prepared rows of a group, with the effects to take out of each half.

    `prepare` has estimated the effects of covariates and sites from all subjects, and has taken
    them out. They are estimated again in each half, and taken out of it. If a half has too few
    subjects for this, it is not done, and the function warns.
    """
    rows = Rows.of(cohort.subset(groups=[group])).in_order()
    members = np.flatnonzero(np.asarray(cohort.group) == group)
    effects = _effects(cohort, members[rows.places])
    n, p = effects.shape
    if not _can_lose(n, p):
        Problem("halves.effects", group=group, n=n, p=p).warn(
            "group {group} has {n:subject}, too few to take {p:effect} of covariates and sites out "
            "of each half",
            "They were taken out over all subjects. Name fewer covariates, or join small sites.",
        )
        # No columns are kept: effects that a half cannot estimate would add noise to it.
        effects = effects[:, :0]
    return replace(rows, effects=effects)


def takes_effects_out(cohort: Cohort) -> bool:
    """Return whether effects of covariates and sites are taken out of each half of every group."""
    shapes = [_effects(cohort, np.asarray(cohort.group) == group).shape for group in cohort.groups]
    return any(p for _, p in shapes) and all(_can_lose(n, p) for n, p in shapes)


def enough_left(n: int, lost: int) -> bool:
    """Return whether nine tenths of n rows are enough after `lost` degrees of freedom are lost."""
    return not lost or n - n // N_TENTHS - lost >= FEW_SAMPLES


def _can_lose(n: int, p: int) -> bool:
    """Return whether p effects can be taken out of each part of n subjects."""
    return n >= SUBJECTS_PER_EFFECT * p and enough_left(n, p)


def _effects(cohort: Cohort, members: Indices | Mask) -> Array:
    """Return columns that span the effects of covariates and sites in a group, without its mean."""
    # `fixed` comes first, so that curves have the knots of all subjects.
    return cohort.design.fixed().subset(members).nuisance().basis[:, 1:]


def rows_of_groups(
    X: ArrayLike | Cohort,
    groups: ArrayLike | None = None,
    covariates: Mapping[str, ArrayLike] | None = None,
    sites: ArrayLike | None = None,
    pairs: ArrayLike | None = None,
    reference: str | None = None,
    persons: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
) -> Rows:
    """Return complete rows of two or more groups, and their design with the reference first.

    The parameters are the same as in `edge_differences`. An argument that is given replaces the
    column of a cohort. Curves become the columns of their splines.
    """
    rows = Rows.of(X)
    own = rows.design
    given = {"group": groups, "site": sites, "pair": pairs, "person": persons, "block": blocks}
    each = {} if covariates is None else covariates
    check_rows_agree(X, **{f"{what}s": column for what, column in given.items()}, covariates=each)
    check_rows_agree(X, **{str(name): each[name] for name in getattr(each, "keys", list)()})
    columns = {name: getattr(own, name) for name in COLUMNS}
    columns |= {name: column for name, column in given.items() if column is not None}
    if covariates is not None:
        columns |= {"covariates": covariates, "smooth": ()}
    if columns["group"] is None:
        raise InputError("groups.none").says(
            "there are no groups", "Give the group of each subject ({groups=})."
        )
    design = Design.of(rows.ids, called={what: f"{what}s" for what in given}, **columns)
    _refuse_gaps(design, rows.ids)
    if design.pair is not None and not design.complete.all():
        wrong = np.unique(design.pair[~design.complete]).tolist()
        raise InputError("pairs.incomplete", persons=wrong).says(
            "pairs need one row in every group, but this is not true of {persons}",
            "Leave them out, or compare the groups unpaired.",
        )
    check_finite(rows.values, rows.names)
    reference = choose_reference(design.groups, reference)
    rows = replace(rows, design=replace(design.fixed(), reference=reference))
    return rows.subset(cohort_order(X, design)) if isinstance(X, Cohort) else rows.in_order()


def check_rows_agree(X: Any, /, **beside: Any) -> None:
    """Raise InputError if the index of an argument has the rows of the table in another order."""
    rows = getattr(X, "index", None)
    for what, given in beside.items():
        index = getattr(given, "index", None)
        if rows is None or index is None or callable(index):
            continue
        differs = len(rows) == len(index) and list(rows) != list(index)
        # Different names may be on purpose. The same names in another order are a mistake.
        if differs and set(rows) == set(index):
            raise InputError("rows.order", argument=what).says(
                "the index of {argument} orders the rows in another way than X", "Give one order."
            )


def _refuse_gaps(design: Design, ids: Sequence[Any]) -> None:
    """Raise InputError if a covariate is missing."""
    for name, column in design.covariates.items():
        if missing := missing_rows(column):
            subjects = [ids[row] for row in missing]
            raise InputError("covariate.gaps", name=name, subjects=subjects).says(
                "covariate {name} of {subjects} is missing", OR_PREPARED
            )


def refuse_cohort(X: Any) -> None:
    """Raise InputError if X is a cohort."""
    if isinstance(X, Cohort):
        raise InputError("cohort.estimator").says(
            "X is a Cohort, but estimators take arrays and tables",
            "Give cohort.values and cohort.group, or the rows of one group: "
            "cohort.of_group('control').",
        )


def check_groups_vary(
    values: Array, codes: Indices, groups: Sequence[Any], names: Sequence[str]
) -> None:
    """Raise InputError for regions that are constant in a group.

    `codes` holds the position in `groups` of each row's group.
    """
    # Each group is checked: over all rows a region may vary only because group means differ.
    for code, group in enumerate(groups):
        check_varies(values[codes == code], names, group)


def check_varies(values: Array, names: Sequence[str], group: Any) -> None:
    """Raise InputError for regions that have one value in all of these rows of a group."""
    constant = [names[k] for k in np.flatnonzero(constant_columns(values)).tolist()]
    if constant:
        n = len(values)
        raise InputError("regions.constant", regions=constant, n=n, group=group).says(
            "{regions:region has/regions have} the same value in {n:row} of the group {group}: "
            "{regions}",
            "Leave these regions out.",
        )


def region_index(name: str, names: Sequence[str]) -> int:
    """Return the position of a region among the names; raise InputError for an unknown name."""
    check_region(name, names)
    return list(names).index(name)


def warn_about_few(n: int) -> None:
    """Warn if a sample is too small for useful intervals."""
    if n < FEW_SAMPLES:
        Problem("intervals.few", n=n, least=FEW_SAMPLES).warn(
            "a group or sample of {n:subject} is too small for useful intervals",
            "Add subjects, or join groups, so that there are {least} or more.",
        )


def _one_group(cohort: Cohort, group: str | None) -> Cohort:
    """Return the subjects of one group; raise InputError for a missing cell or covariate.

    Curves for which the group has too few values become lines.
    """
    if group is None and len(cohort.groups) > 1:
        raise InputError("group.several", groups=cohort.groups).says(
            "the cohort has the groups {groups}", "Name one of them ({group=})."
        )
    chosen = cohort if group is None else cohort.subset(groups=[group])
    gaps = np.argwhere(np.isnan(chosen.values))
    if len(gaps):
        subject, region = chosen.ids[gaps[0, 0]], chosen.regions[gaps[0, 1]]
        raise InputError("cells.gaps", region=region, subject=subject, n=len(gaps)).says(
            "region {region} of {subject} is missing ({n:such cell})", OR_PREPARED
        )
    _refuse_gaps(chosen.design, chosen.ids)
    curves = chosen.design.curves_that_fit()
    return chosen if curves == chosen.smooth else replace(chosen, smooth=curves)
