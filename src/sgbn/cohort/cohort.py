"""The class Cohort: a table of subjects and regions, with all that is known about the subjects.

The functions below the class check its fields, with errors that name the subject, and write its
summary.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.cohort.atlas import UNKNOWN_LOBE, Atlas, Region
from sgbn.cohort.design import LABELS, Design, check_group, label_counts, read_only
from sgbn.cohort.region_names import region_labels
from sgbn.core.gaussian import html_repr
from sgbn.core.problems import InputError, Problem, counted, did_you_mean
from sgbn.core.types import Array, Indices, Labels, Mask
from sgbn.core.validation import LARGEST, check_count, check_name_lengths

# Names of these columns in the table of a cohort
ID, SITE, PAIR, PERSON, BLOCK = "subject_id", "site", "pair", "person", "block"
COLUMNS = (*LABELS, "covariates", "smooth")  # fields that make the design


# eq=False, because a generated == would compare arrays, which have no single truth value.
@dataclass(frozen=True, eq=False)
class Cohort:
    """A table of subjects and regions, with groups, covariates, sites, pairs and persons.

    It is made by `read_table`, `read_freesurfer`, `read_subjects` or `simulate_cohort`, or from
    arrays. It cannot be changed.

    Attributes
    ----------
    values : ndarray of shape (n, m)
        One row per subject and one column per region; a missing cell is NaN.
    regions, ids : tuple of str
        Names of the columns and of the rows; each name is used only once.
    group, site : ndarray of str, or None
        Group and site of each subject. If they are given, no cell may be missing.
    pair : ndarray of str, or None
        Person of each row, if rows are visits and each person has one visit in every group.
    person : ndarray of str, or None
        Person of each row, if a person has several rows in one group.
    block : ndarray of str, or None
        Family of each row, or another label that rows share if they are not independent. Rows of
        one block may be in different groups.
    covariates : mapping of name to array
        One value per subject: numbers (a missing one is NaN) or text (a missing one is "").
    atlas : Atlas or None
        The atlas that has the places of the regions.
    provenance : mapping
        Where the data come from, and what was left out when they were read.
    smooth : tuple of str
        Names of the numeric covariates whose effects are curves; the effects of the other
        covariates are linear.
    """

    values: Array
    regions: tuple[str, ...]
    ids: tuple[str, ...]
    _: KW_ONLY
    group: Labels | None = None
    covariates: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    site: Labels | None = None
    pair: Labels | None = None
    person: Labels | None = None
    block: Labels | None = None
    atlas: Atlas | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    smooth: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        regions, ids = checked_names(self.regions, "region"), checked_names(self.ids, "subject")
        values = checked_values(self.values, regions, ids)
        columns = {name: getattr(self, name) for name in COLUMNS}
        design = Design.of(ids, regions=regions, **columns)
        frozen = {
            "values": values,
            "regions": regions,
            "ids": ids,
            **{name: getattr(design, name) for name in COLUMNS},
            "covariates": MappingProxyType(design.covariates),
            "provenance": MappingProxyType(dict(self.provenance)),
        }
        # Read-only copies, because the fingerprint is computed only once and must stay true.
        for name, value in frozen.items():
            object.__setattr__(self, name, value)  # the only way to set a field of a frozen class

    def __reduce__(self) -> tuple[Any, ...]:
        # Pickle does not keep arrays read-only, and cannot store a mapping proxy.
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        views = {name: view for name, view in state.items() if isinstance(view, MappingProxyType)}
        state |= {name: dict(view) for name, view in views.items()}
        return _rebuild, (type(self), state)

    def __len__(self) -> int:
        return len(self.ids)

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        # Every estimator calls this method to read its data, also estimators of scikit-learn.
        raise InputError("cohort.array", type=type(self).__name__).says(
            "a {type:s} is not a table of numbers",
            "For the network of one group, call sgbn.group_network(cohort, group). To tell groups "
            "apart, fit sgbn.make_analysis(cohort) to sgbn.cohort_table(cohort). The numbers are "
            "in cohort.values or cohort.series.",
        )

    def __repr__(self) -> str:
        groups = ", ".join(f"{name} {count}" for name, count in self.sizes.items())
        return (
            f"{type(self).__name__}({size_text(self)} x {counted(len(self.regions), 'region')}"
            f"{'; ' + groups if groups else ''})"
        )

    def _repr_html_(self) -> str:
        return html_repr(type(self).__name__, self.summary().split("\n"))

    @cached_property
    def design(self) -> Design:
        """Return which rows belong together, and what is held fixed."""
        labels: dict[str, Any] = {name: getattr(self, name) for name in LABELS}
        return Design(len(self), covariates=dict(self.covariates), smooth=self.smooth, **labels)

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the names of the groups, sorted."""
        return self.design.groups

    @property
    def sizes(self) -> dict[str, int]:
        """Return the number of subjects (rows) of each group, by group."""
        return self.design.counts(None)

    @property
    def unit_counts(self) -> dict[str, int]:
        """Return the number of `units` of each group: persons or families if given, else rows."""
        return self.design.counts(self.units)

    @property
    def places(self) -> tuple[Region | None, ...]:
        """Return the atlas region of each region of the data; None if the atlas lacks it."""
        if self.atlas is None:
            return (None,) * len(self.regions)
        return tuple(self.atlas.find(region) for region in self.regions)

    @property
    def labels(self) -> dict[str, str]:
        """Return a readable name of each region, for figures and pages.

        Files keep the names of the data.
        """
        return dict(zip(self.regions, region_labels(self.regions, self.atlas), strict=True))

    @property
    def lobes(self) -> tuple[str, ...]:
        """Return the lobe of each region."""
        return tuple(UNKNOWN_LOBE if place is None else place.lobe for place in self.places)

    @property
    def subjects(self) -> dict[str, int]:
        """Return the number of persons in each group; a person with several rows counts once."""
        return self.design.counts(self.persons)

    @property
    def persons(self) -> Labels | None:
        """Return the person of each row, from `person` or `pair`; None if both are None."""
        return self.design.persons

    @property
    def units(self) -> Labels | None:
        """Return labels of rows that stay in the same half or fold; see `Design.units`."""
        return self.design.units

    @property
    def content(self) -> bytes:
        """Return all that results depend on, as bytes."""
        columns = [("group", self.group), ("site", self.site), *self.covariates.items()]
        labels = {"pair": self.pair, "person": self.person, "block": self.block}
        # Newer fields are left out if they are empty, so that old fingerprints stay valid.
        columns += [(name, column) for name, column in labels.items() if column is not None]
        beside = [(name, None if column is None else column.tolist()) for name, column in columns]
        beside += [("smooth", list(self.smooth))] if self.smooth else []
        return self.values.tobytes() + json.dumps([self.regions, beside]).encode()

    @cached_property
    def fingerprint(self) -> str:
        """Return a short hash of the content, which differs between different tables."""
        # With 64 bits, equal hashes by chance are expected only among billions of tables.
        return sha256(self.content).hexdigest()[:16]

    def of_group(self, group: str) -> Array:
        """Return the rows of one group."""
        return self.values[self._in_groups([group])]

    def subset(
        self,
        rows: ArrayLike | None = None,
        *,
        groups: Iterable[str] | None = None,
        regions: Iterable[str] | None = None,
        lobes: Iterable[str] | None = None,
    ) -> Self:
        """Return a part of the cohort: the chosen rows, groups, regions and lobes.

        Parameters
        ----------
        rows : array-like of bool, of int, or of subject ids, optional
            Rows to keep; by default all.
        groups, regions : iterable of str, optional
            Names of the groups and regions to keep; by default all. The regions have the order in
            which they are given.
        lobes : iterable of str, optional
            Names of the lobes to keep, as in `lobes` of the cohort. The order of the regions does
            not change.
        """
        chosen = self._rows(rows)
        if groups is not None:
            # Indices and not a mask, so that rows keep the order that the caller gave.
            chosen = chosen[self._in_groups(groups)[chosen]]
        columns = list(range(len(self.regions))) if regions is None else self._columns(regions)
        if lobes is not None:
            in_lobes = self._in_lobes(lobes)
            columns = [column for column in columns if in_lobes[column]]
        return replace(self, **self._part(chosen, columns))

    def _part(self, rows: Indices, columns: list[int]) -> dict[str, Any]:
        """Return the fields of a cohort with these rows and columns."""
        part = self.design.subset(rows)
        return {
            "values": self.values[rows][:, columns],
            "regions": tuple(self.regions[column] for column in columns),
            "ids": tuple(self.ids[row] for row in rows),
            **{name: getattr(part, name) for name in COLUMNS},
        }

    def summary(self) -> str:
        """Return a few lines that say what the cohort holds."""
        return summary_text(self)

    def _rows(self, rows: ArrayLike | None) -> Indices:
        everyone = np.arange(len(self))
        if rows is None:
            return everyone
        chosen = np.asarray(rows)
        # An empty list, which becomes an array of floats, is allowed and selects no row.
        if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "biuUO"):
            raise InputError("rows.type").says(
                "rows are chosen by True and False, by row numbers, or by ids", "Give one list."
            )
        if chosen.dtype.kind in "UO":
            place = {name: row for row, name in enumerate(self.ids)}
            if unknown := [str(name) for name in chosen if str(name) not in place]:
                raise InputError("ids.unknown", subjects=unknown).says(
                    "the cohort has no row of {subjects}", "Give ids of the cohort."
                )
            return np.array([place[str(name)] for name in chosen], dtype=np.intp)
        if chosen.dtype.kind == "b":
            check_count(chosen, len(self), "rows")
            return everyone[chosen]
        # Negative numbers are an error too, because numpy would count them from the end.
        outside = chosen[(chosen < 0) | (chosen >= len(self))]
        if outside.size:
            raise InputError("rows.outside", row=int(outside[0]), n=len(self)).says(
                "row {row} is asked for, but there are {n:row}", "Rows are counted from 0."
            )
        return everyone[chosen if chosen.size else []]

    def _columns(self, regions: Iterable[str]) -> list[int]:
        place = {name: column for column, name in enumerate(self.regions)}
        wanted = _as_list(regions)
        if unknown := [name for name in wanted if name not in place]:
            check_region(unknown[0], self.regions)
        return [place[name] for name in wanted]

    def _in_lobes(self, lobes: Iterable[str]) -> Mask:
        if self.atlas is None:
            raise InputError("lobes.atlas").says(
                "the cohort has no atlas, so its lobes are not known",
                "Name the atlas ({atlas=}), or choose regions by their names ({regions=}).",
            )
        wanted = _as_list(lobes)
        known = sorted(set(self.lobes))
        if unknown := [name for name in wanted if name not in known]:
            near = did_you_mean(unknown[0], known)
            raise InputError("lobes.unknown", lobe=unknown[0], near=near).says(
                "no region is in a lobe called {lobe}", "{near}"
            )
        return np.isin(self.lobes, wanted)

    def _in_groups(self, groups: Iterable[str]) -> Mask:
        check_has_groups(self)
        wanted = _as_list(groups)
        for name in wanted:
            check_group(name, self.groups)
        return np.isin(np.asarray(self.group), wanted)


def check_cohort(value: object) -> None:
    """Raise InputError unless `value` is a Cohort."""
    if not isinstance(value, Cohort):
        raise InputError("cohort.type", type=type(value).__name__).says(
            "a Cohort is needed, not a {type:s}",
            "Read a table with sgbn.read_table, or time series with sgbn.read_series. Of the "
            "result of sgbn.review, give review.require().",
        )


def check_has_groups(cohort: Cohort) -> None:
    """Raise InputError if a cohort has no groups."""
    if cohort.group is None:
        raise InputError("groups.none").says(
            "the cohort has no groups", "Name the column of the groups ({group=})."
        )


def check_region(name: str, regions: Sequence[str]) -> None:
    """Raise InputError unless a region has this name."""
    if name not in regions:
        raise InputError("regions.unknown", region=name, near=did_you_mean(name, regions)).says(
            "no region is called {region}", "{near}"
        )


def _as_list(names: Iterable[str]) -> list[str]:
    return [names] if isinstance(names, str) else list(names)  # list("abc") would be letters


def _rebuild(kind: type[Cohort], state: dict[str, Any]) -> Cohort:
    # The constructor checks the fields and makes them read-only again.
    return kind(**state)


def checked_names(names: Sequence[str], what: str) -> tuple[str, ...]:
    """Return names of rows or columns as text; raise InputError if one is long or used twice."""
    # Names in spreadsheets are often numbers.
    texts = tuple(str(name) for name in names)
    check_name_lengths(texts, f"name of a {what}")
    counts = label_counts(np.array(texts, dtype=str))
    twice = [name for name, count in counts.items() if count > 1]
    if twice and what == "region":
        raise InputError("regions.twice", region=twice[0]).says(
            "several regions are called {region}", "Give each region its own name."
        )
    if twice:
        raise InputError("ids.twice", subject=twice[0]).says(
            "{subject} has several rows", "Give each row its own id."
        )
    return texts


def checked_values(values: ArrayLike, regions: tuple[str, ...], ids: tuple[str, ...]) -> Array:
    """Return the table of numbers; NaN is allowed, infinity is not."""
    try:
        # A copy, so that the caller's table stays writable and cannot change this one.
        table = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError("values.numbers", error=error).says(
            "values is not a table of numbers ({error})", "Give numbers."
        ) from error
    if table.shape != (len(ids), len(regions)):
        raise InputError("values.shape", n=len(ids), m=len(regions)).says(
            "values is not a table of {n:row} and {m:column}",
            "Give one row per subject and one column per region.",
        )
    # No comparison with NaN is true: missing cells pass, and infinite cells do not.
    huge = np.abs(table) > LARGEST
    if huge.any():
        row, column = np.argwhere(huge)[0]
        raise InputError("values.large", region=regions[column], subject=ids[row]).says(
            "region {region} of {subject} is too large to compute with",
            "Correct the cell, or leave it empty (NaN).",
        )
    return read_only(table)


MAX_LIKE_IDS = 5  # so few labels are always shown
MAX_LISTED_LEVELS = 24  # labels of a column that are listed; further labels are only counted


def size_text(cohort: Cohort) -> str:
    """Return the number of subjects as text.

    If a person may have several rows, return the number of rows and the number of persons.
    """
    # `pair` is not counted here, because it has its own line in the summary.
    if cohort.person is None:
        return counted(len(cohort), "subject")
    n_persons = len(np.unique(cohort.person))
    return f"{counted(len(cohort), 'row')} of {counted(n_persons, 'person')}"


def summary_text(cohort: Cohort) -> str:
    """Return the summary, one line per kind of content."""
    lines = [f"{size_text(cohort)}, {counted(len(cohort.regions), 'region')}"]
    if cohort.atlas is not None:
        unknown = cohort.places.count(None)
        lines[0] += f" ({cohort.atlas.title}{f', {unknown} unknown there' if unknown else ''})"
    if cohort.group is not None:
        many = like_ids(cohort.group) and counted(len(cohort.groups), "label")
        lines.append(f"groups: {many or counts_text(cohort.sizes)}")
    if cohort.site is not None:
        lines.append(f"sites: {_column_text(cohort, cohort.site)}")
    if cohort.pair is not None:
        lines.append(f"pairs: {_pairs_text(cohort, cohort.pair)}")
    if cohort.block is not None:
        sizes = label_counts(cohort.block)
        # default=0, because a cohort may have no rows.
        most = counted(max(sizes.values(), default=0), "row")
        lines.append(f"blocks: {len(sizes)}, the largest with {most}")
    for name, column in cohort.covariates.items():
        curve = " (a curve)" if name in cohort.smooth else ""
        lines.append(f"covariate {name}{curve}: {_column_text(cohort, column)}")
    missing = np.isnan(cohort.values)
    if missing.any():
        lines.append(
            f"missing cells: {missing.sum()} ({missing.mean():.1%}) of "
            f"{counted(missing.any(axis=1).sum(), 'subject')} and "
            f"{counted(missing.any(axis=0).sum(), 'region')}"
        )
    return "\n".join(lines)


def like_ids(labels: NDArray[Any]) -> bool:
    """Return whether most labels are in one row only, as names of people are; none is shown."""
    counts = np.unique(labels, return_counts=True)[1]
    return len(counts) > MAX_LIKE_IDS and np.mean(counts == 1) > 0.5


def labels_shown(labels: Sequence[Any], column: NDArray[Any]) -> Problem:
    """Return some labels of a column as the end of a message, or their number if `like_ids`."""
    if like_ids(column):
        return Problem("labels.many", n=len(labels)).says("{n:label}")
    return Problem("labels.few", labels=labels).says("{labels}")


def counts_text(counts: Mapping[str, int]) -> str:
    """Return the first names with their counts, and how many more names there are."""
    texts = [f"{name} {count}" for name, count in counts.items()]
    n_more = len(texts) - MAX_LISTED_LEVELS
    more = f" and {n_more} more" if n_more > 0 else ""
    return ", ".join(texts[:MAX_LISTED_LEVELS]) + more


def _column_text(cohort: Cohort, column: NDArray[Any]) -> str:
    """Return a text about the values of a column in each group."""
    parts = {"": np.full(len(cohort), True)}
    if column.dtype.kind != "f" and like_ids(present := column[~_missing(column)]):
        return counted(len(np.unique(present)), "label")
    if cohort.group is not None and not like_ids(cohort.group):
        parts = {f"{name} ": cohort.group == name for name in cohort.groups}
    # Decided for the whole column, so that all groups show means, or all show counts.
    few = len(np.unique(column[~_missing(column)])) <= 2  # such as a sex of 0 and 1
    return "; ".join(name + _values_text(column[rows], few) for name, rows in parts.items())


def _values_text(column: NDArray[Any], few: bool) -> str:
    """Return the mean (sd) of numbers, or the counts of labels, and how many are missing.

    If `few`, the numbers are counted like labels.
    """
    numeric, missing = column.dtype.kind == "f", _missing(column)
    present = column[~missing]
    if not present.size:
        return "none"
    if numeric and not few:
        # The standard deviation of one value is 0 / 0.
        spread = present.std(ddof=1) if len(present) > 1 else 0.0
        text = f"{present.mean():.4g} ({spread:.3g})"
    else:
        counts = label_counts(present)
        text = counts_text({f"{name:g}" if numeric else name: k for name, k in counts.items()})
    return text + (f", {missing.sum()} missing" if missing.any() else "")


def _missing(column: NDArray[Any]) -> Mask:
    return np.asarray(np.isnan(column) if column.dtype.kind == "f" else column == "")


def _pairs_text(cohort: Cohort, pair: Labels) -> str:
    """Return the number of persons, and of persons without exactly one row in each group."""
    text = counted(len(np.unique(pair)), "person")
    # With one group there are no pairs.
    if len(cohort.groups) < 2:
        return text
    incomplete = len(np.unique(pair[~cohort.design.complete]))
    if incomplete:
        return f"{text}, {incomplete} of them without exactly one row in each group"
    return f"{text}, each in {'both' if len(cohort.groups) == 2 else 'all'} groups"
