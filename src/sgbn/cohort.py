"""Cohort: subjects x regions with everything that an analysis needs to know about them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cached_property, reduce
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.atlases import UNKNOWN_LOBE, Atlas, Region
from sgbn.atlases.labels import region_labels
from sgbn.exceptions import InputError, counted, did_you_mean, listed
from sgbn.graph.parts import joined_parts
from sgbn.html_repr import html_repr
from sgbn.parameters import is_number
from sgbn.types import Array, Indices, Labels, Mask
from sgbn.validation import LARGEST

ID, SITE, PAIR = "subject_id", "site", "pair"  # what a table of a cohort calls these columns
PERSON, BLOCK = "person", "block"
LABELS = ("group", "site", "pair", "person", "block")  # fields that hold one label per row
MANY_LEVELS = 24  # of a column, that a summary lists


@dataclass(frozen=True, eq=False)
class Cohort:
    """Subjects x regions, with groups, covariates, sites, pairs and persons. It cannot be changed.

    Made by `read_table`, `read_freesurfer`, `read_subjects` or `simulate_cohort`, or from arrays.

    Attributes
    ----------
    values : ndarray of shape (n, m)
        One row per subject, one column per region; NaN where a cell is missing.
    regions, ids : tuple of str
        Names of the columns and of the rows; each only once.
    group, site : ndarray of str, or None
        Of each subject; never missing where they are given.
    pair : ndarray of str, or None
        Person behind each row, where rows are visits and a person has one in every group.
    person : ndarray of str, or None
        Person behind each row, where several rows of a person are in one group.
    block : ndarray of str, or None
        Family, or another label of rows that are not independent; it may span groups.
    covariates : mapping of name to array
        Numbers (NaN where missing) or text ("" where missing), one value per subject.
    atlas : Atlas or None
        Where the regions lie.
    provenance : mapping
        Where the data come from, and what was left out on the way.
    smooth : tuple of str
        Covariates of numbers whose effects are curves; those of others are linear.
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
        values = read_only(_as_numbers(self.values))
        regions, ids = _names(self.regions, "region"), _names(self.ids, "subject")
        if values.shape != (len(ids), len(regions)):
            raise InputError(
                f"values has shape {values.shape}, but there are {len(ids)} subjects and "
                f"{len(regions)} regions. Give a row per subject and a column per region."
            )
        huge = np.abs(values) > LARGEST
        if huge.any():
            row, column = np.argwhere(huge)[0]
            raise InputError(
                f"region {regions[column]!r} of subject {ids[row]!r} is {values[row, column]:g}, "
                "infinite or too large to compute with. Correct the cell, or leave it empty (NaN)."
            )
        covariates = {
            str(name): _covariate(name, column, len(ids))
            for name, column in self.covariates.items()
        }
        both = sorted(set(covariates) & set(regions))
        if both:
            raise InputError(f"{both[0]!r} is a covariate and a region. Rename or drop one.")
        frozen = {
            "values": values,
            "regions": regions,
            "ids": ids,
            **{name: _labels(getattr(self, name), name, ids) for name in LABELS},
            "covariates": MappingProxyType(covariates),
            "smooth": _smooth(self.smooth, covariates),
            "provenance": MappingProxyType(dict(self.provenance)),
        }
        for name, value in frozen.items():
            object.__setattr__(self, name, value)
        self._check_persons()

    def _check_persons(self) -> None:
        """Refuse a person in two groups, unless visits are paired, or in two blocks."""
        if self.persons is None:
            return
        outer = {"blocks": self.block, "groups": self.group if self.pair is None else None}
        remedies = {
            "blocks": "Give all rows of a person the same block, or correct the columns",
            "groups": "Visits of a person in several groups need pair= (--pair) in place of "
            "person= (--subject), or correct the columns",
        }
        _, first, person = np.unique(self.persons, return_index=True, return_inverse=True)
        for what, labels in outer.items():
            if labels is None:
                continue
            astray = np.unique(self.persons[labels != labels[first][person]])
            if len(astray):
                own = np.unique(labels[self.persons == astray[0]]).tolist()
                raise InputError(
                    f"the person {str(astray[0])!r} has rows in the {what} {listed(own)} "
                    f"({counted(len(astray), 'such person')}). {remedies[what]}."
                )

    def __reduce__(self) -> tuple[Any, ...]:
        # numpy forgets on the way that an array is read-only, and a mapping proxy cannot travel
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        state |= {name: dict(state[name]) for name in ("covariates", "provenance")}
        return _rebuild, (type(self), state)

    def __len__(self) -> int:
        return len(self.ids)

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        # every estimator asks for it, ours and others
        raise InputError(
            "a Cohort is given where a table of numbers is needed. For the network of one group "
            "call sgbn.group_network(cohort, group); for a classifier of groups fit "
            "sgbn.make_analysis(cohort, classifier=...) to sgbn.cohort_table(cohort) and "
            "cohort.group; for the regions as they are take cohort.values."
        )

    def __repr__(self) -> str:
        groups = ", ".join(f"{name} {count}" for name, count in self.sizes.items())
        return (
            f"{type(self).__name__}({self._size()} x {counted(len(self.regions), 'region')}"
            f"{'; ' + groups if groups else ''})"
        )

    def _repr_html_(self) -> str:
        return html_repr(type(self).__name__, self.summary().split("\n"))

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups, sorted."""
        return tuple(self.sizes)

    @property
    def sizes(self) -> dict[str, int]:
        """Group -> number of subjects."""
        return {} if self.group is None else _counts(self.group)

    @property
    def unit_counts(self) -> dict[str, int]:
        """Group -> number of `units`: persons or families where there are any, else subjects."""
        if self.units is None or self.group is None:
            return self.sizes
        return {
            name: len(np.unique(self.units[np.asarray(self.group) == name])) for name in self.groups
        }

    @property
    def places(self) -> tuple[Region | None, ...]:
        """Of each region where the atlas has it, None if it is unknown there."""
        if self.atlas is None:
            return (None,) * len(self.regions)
        return tuple(self.atlas.find(region) for region in self.regions)

    @property
    def labels(self) -> dict[str, str]:
        """Region -> its readable name, for figures and pages; files keep those of the data."""
        return dict(zip(self.regions, region_labels(self.regions, self.atlas), strict=True))

    @property
    def lobes(self) -> tuple[str, ...]:
        """Lobe of each region."""
        return tuple(UNKNOWN_LOBE if place is None else place.lobe for place in self.places)

    @property
    def subjects(self) -> dict[str, int]:
        """How many subjects each group has: persons, where they have several rows."""
        if self.group is None or self.persons is None:
            return self.sizes
        return {name: len(np.unique(self.persons[self.group == name])) for name in self.groups}

    @property
    def persons(self) -> Labels | None:
        """Who is behind each row: `person`, else `pair`; None where each row is another."""
        return self.pair if self.person is None else self.person

    @property
    def units(self) -> Labels | None:
        """Labels whose rows must never be parted, by halves or folds; None where all may be.

        The block if it is given, else the person, else the pair. Of several, rows that share any of
        them have one label.
        """
        given = [one for one in (self.block, self.person, self.pair) if one is not None]
        return reduce(_merged, given) if given else None

    @property
    def complete(self) -> Mask:
        """Marks the rows of persons who are there once in every group; all without pairs."""
        if self.pair is None or self.group is None:
            return np.full(len(self), True)
        persons, person = np.unique(self.pair, return_inverse=True)
        groups, member = np.unique(self.group, return_inverse=True)
        visits = np.zeros((len(persons), len(groups)), dtype=np.intp)
        np.add.at(visits, (person, member), 1)
        return np.asarray((visits == 1).all(axis=1)[person])

    @property
    def content(self) -> bytes:
        """Everything that results depend on."""
        columns = [("group", self.group), ("site", self.site), *self.covariates.items()]
        labels = {"pair": self.pair, "person": self.person, "block": self.block}
        columns += [(name, one) for name, one in labels.items() if one is not None]
        beside = [(name, None if one is None else one.tolist()) for name, one in columns]
        beside += [("smooth", list(self.smooth))] if self.smooth else []
        return self.values.tobytes() + json.dumps([self.regions, beside]).encode()

    @cached_property
    def fingerprint(self) -> str:
        """Short name of the content, to tell two tables apart."""
        return sha256(self.content).hexdigest()[:16]

    def of_group(self, group: str) -> Array:
        """Rows of one group."""
        return self.values[self._in_groups([group])]

    def subset(
        self,
        rows: ArrayLike | None = None,
        *,
        groups: Iterable[str] | None = None,
        regions: Iterable[str] | None = None,
        lobes: Iterable[str] | None = None,
    ) -> Self:
        """Part of the cohort: those rows, of those groups, with those regions of those lobes.

        Parameters
        ----------
        rows : array-like of bool, of int, or of subject ids, optional
        groups, regions : iterable of str, optional
            Regions come in the order given.
        lobes : iterable of str, optional
            As in `lobes` of the cohort. Regions stay in their order.
        """
        chosen = self._rows(rows)
        if groups is not None:
            in_groups = self._in_groups(groups)
            chosen = chosen[in_groups[chosen]]
        columns = list(range(len(self.regions))) if regions is None else self._columns(regions)
        if lobes is not None:
            in_lobes = self._in_lobes(lobes)
            columns = [column for column in columns if in_lobes[column]]
        return replace(self, **self._part(chosen, columns))

    def _part(self, rows: Indices, columns: list[int]) -> dict[str, Any]:
        """Fields of a cohort with these rows and columns."""
        labels = {
            name: None if getattr(self, name) is None else getattr(self, name)[rows]
            for name in LABELS
        }
        return {
            "values": self.values[rows][:, columns],
            "regions": tuple(self.regions[column] for column in columns),
            "ids": tuple(self.ids[row] for row in rows),
            "covariates": {name: column[rows] for name, column in self.covariates.items()},
            **labels,
        }

    def summary(self) -> str:
        """Say what the cohort holds, in a few lines."""
        lines = [f"{self._size()}, {counted(len(self.regions), 'region')}"]
        if self.atlas is not None:
            unknown = self.places.count(None)
            lines[0] += f" ({self.atlas.title}{f', {unknown} unknown there' if unknown else ''})"
        if self.group is not None:
            lines.append("groups: " + _listed(self.sizes))
        if self.site is not None:
            lines.append(f"sites: {self._describe(self.site)}")
        if self.pair is not None:
            lines.append(f"pairs: {self._describe_pairs(self.pair)}")
        if self.block is not None:
            lines.append(
                f"blocks: {len(np.unique(self.block))}, the largest of "
                f"{counted(_most(self.block), 'row')}"
            )
        for name, column in self.covariates.items():
            curve = " (a curve)" if name in self.smooth else ""
            lines.append(f"covariate {name}{curve}: {self._describe(column)}")
        missing = np.isnan(self.values)
        if missing.any():
            lines.append(
                f"missing cells: {missing.sum()} ({missing.mean():.1%}) of "
                f"{counted(missing.any(axis=1).sum(), 'subject')} and "
                f"{counted(missing.any(axis=0).sum(), 'region')}"
            )
        return "\n".join(lines)

    def _size(self) -> str:
        """How many subjects there are, or rows of how many persons."""
        if self.person is None:
            return counted(len(self), "subject")
        n_persons = len(np.unique(self.person))
        return f"{counted(len(self), 'row')} of {counted(n_persons, 'person')}"

    def _describe(self, column: NDArray[Any]) -> str:
        """Values of a covariate in each group."""
        parts = {"": np.full(len(self), True)}
        if self.group is not None:
            parts = {f"{name} ": self.group == name for name in self.groups}
        few = len(np.unique(column[~_missing(column)])) <= 2  # such as a sex of 0 and 1
        return "; ".join(name + _described(column[rows], few) for name, rows in parts.items())

    def _describe_pairs(self, pair: Labels) -> str:
        """How many persons there are, and how many of them lack a visit or have two of a kind."""
        text = counted(len(np.unique(pair)), "person")
        if len(self.groups) < 2:
            return text
        incomplete = len(np.unique(pair[~self.complete]))
        if incomplete:
            return f"{text}, {incomplete} of them not once in each group"
        return f"{text}, each in {'both' if len(self.groups) == 2 else 'all'} groups"

    def _rows(self, rows: ArrayLike | None) -> Indices:
        everyone = np.arange(len(self))
        if rows is None:
            return everyone
        chosen = np.asarray(rows)
        if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "biuUO"):
            raise InputError("give rows as a list of marks (True, False), row numbers or ids.")
        if chosen.dtype.kind in "UO":
            place = {name: row for row, name in enumerate(self.ids)}
            unknown = [str(name) for name in chosen if str(name) not in place]
            if unknown:
                near = did_you_mean(unknown[0], self.ids)
                raise InputError(f"no subject is called {unknown[0]!r}. {near}")
            return np.array([place[str(name)] for name in chosen], dtype=np.intp)
        if chosen.dtype.kind == "b" and chosen.shape != everyone.shape:
            raise InputError(
                f"{counted(len(chosen), 'row is', 'rows are')} marked, but there are "
                f"{counted(len(self), 'subject')}. Give one mark per subject."
            )
        beyond = chosen[(chosen < 0) | (chosen >= len(self))]
        if beyond.size:
            raise InputError(
                f"row {beyond[0]} is asked for, but there are "
                f"{counted(len(self), 'subject')}. Rows are counted from 0."
            )
        return everyone[chosen if chosen.size else []]

    def _columns(self, regions: Iterable[str]) -> list[int]:
        place = {name: column for column, name in enumerate(self.regions)}
        wanted = [regions] if isinstance(regions, str) else list(regions)
        unknown = [name for name in wanted if name not in place]
        if unknown:
            raise InputError(
                f"no region is called {unknown[0]!r}. {did_you_mean(unknown[0], self.regions)}"
            )
        return [place[name] for name in wanted]

    def _in_lobes(self, lobes: Iterable[str]) -> Mask:
        if self.atlas is None:
            raise InputError(
                "the cohort has no atlas, so that no lobe is known. Name the atlas when you read "
                "it (atlas=, --atlas), or choose regions by their names (regions=, --regions)."
            )
        wanted = [lobes] if isinstance(lobes, str) else list(lobes)
        there = _counts(np.array(self.lobes, dtype=str))
        unknown = [name for name in wanted if name not in there]
        if unknown:
            raise InputError(
                f"no region is of a lobe called {unknown[0]!r}. The lobes and their numbers of "
                f"regions are {_listed(there)}."
            )
        return np.isin(self.lobes, wanted)

    def _in_groups(self, groups: Iterable[str]) -> Mask:
        if self.group is None:
            raise InputError("the cohort has no groups. Name the group column when you read it.")
        wanted = [groups] if isinstance(groups, str) else list(groups)
        unknown = [name for name in wanted if name not in self.sizes]
        if unknown:
            raise InputError(f"no group is called {unknown[0]!r}: there are {list(self.groups)}.")
        return np.isin(self.group, wanted)


def check_cohort(value: object) -> None:
    """Raise InputError unless `value` is a Cohort."""
    if not isinstance(value, Cohort):
        raise InputError(
            f"a Cohort is needed, not a {type(value).__name__}. Read a table with sgbn.read_table, "
            "time series with sgbn.read_series, or make a cohort of arrays of series with "
            "sgbn.SeriesCohort.of; of a review take review.require()."
        )


def _rebuild(kind: type[Cohort], state: dict[str, Any]) -> Cohort:
    return kind(**state)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Mark an array as read-only, and return it."""
    array.setflags(write=False)
    return array


def _names(names: Sequence[str], what: str) -> tuple[str, ...]:
    texts = tuple(str(name) for name in names)
    counts = _counts(np.array(texts, dtype=str))
    twice = [name for name, count in counts.items() if count > 1]
    if twice:
        raise InputError(
            f"the {what} name {twice[0]!r} is used {counts[twice[0]]} times. Each needs a name of "
            "its own."
        )
    return texts


def _labels(labels: ArrayLike | None, what: str, ids: tuple[str, ...]) -> Labels | None:
    if labels is None:
        return None
    array = _as_text(labels)
    if array.shape != (len(ids),):
        raise InputError(
            f"{what} has shape {array.shape}, but there are {len(ids)} subjects. Give one each."
        )
    if (array == "").any():
        subject = ids[int(np.flatnonzero(array == "")[0])]
        raise InputError(f"subject {subject!r} has no {what}. Give it one, or leave it out.")
    return read_only(array)


def _merged(first: Labels, second: Labels) -> Labels:
    """Labels that join what either of two labels joins."""
    names, one = np.unique(first, return_inverse=True)
    other = len(names) + np.unique(second, return_inverse=True)[1]
    n = int(other.max(initial=0)) + 1
    parts = joined_parts(one, other, n)[one]
    _, rows, part = np.unique(parts, return_index=True, return_inverse=True)
    return read_only(first[rows][part])


def _smooth(names: Iterable[str], covariates: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
    """Names of smooth covariates, which must be covariates of numbers."""
    smooth = (names,) if isinstance(names, str) else tuple(names)
    for name in smooth:
        if name not in covariates:
            known = listed([*covariates]) if covariates else "none"
            raise InputError(
                f"{name!r} is named as smooth and is no covariate (there are {known}). Name it as "
                "a covariate too (covariates=, --covariates)."
            )
        if covariates[name].dtype.kind != "f":
            raise InputError(
                f"the smooth covariate {name!r} holds labels: a curve needs numbers. Take it out "
                "of smooth (--smooth)."
            )
    return tuple(dict.fromkeys(smooth))


def _covariate(name: str, column: ArrayLike, n: int) -> NDArray[Any]:
    array = _cells(column)
    if array.dtype.kind == "O" and all(_is_missing(c) or is_number(c) for c in array.ravel()):
        array = np.array([np.nan if _is_missing(c) else c for c in array.ravel()], np.float64)
    is_numeric = array.dtype.kind in "biuf"
    array = np.array(array, dtype=np.float64) if is_numeric else _as_text(array)
    if array.shape != (n,):
        raise InputError(f"covariate {name!r} has shape {array.shape}: {n} subjects need {n}.")
    if is_numeric and (np.abs(array) > LARGEST).any():
        raise InputError(
            f"covariate {name!r} is infinite somewhere, or too large to compute with. Correct it, "
            "or make it NaN."
        )
    return read_only(array)


def _as_numbers(values: ArrayLike) -> Array:
    try:
        return np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"values are no table of numbers ({error}). Give numbers.") from error


def _as_text(labels: ArrayLike) -> Labels:
    """Labels as text, "" where there is none."""
    array = _cells(labels)
    if array.dtype.kind in "Of":
        cells = ["" if _is_missing(cell) else str(cell) for cell in array.ravel().tolist()]
        return np.array(cells, dtype=str).reshape(array.shape)
    return np.array(array, dtype=str)


def _cells(column: ArrayLike) -> NDArray[Any]:
    """Cells as they are: numpy would make the text "nan" of a NaN among text."""
    return np.asarray(column, dtype=None if hasattr(column, "dtype") else object)


def _is_missing(cell: object) -> bool:
    return cell is None or cell != cell


def _most(labels: NDArray[Any]) -> int:
    """Rows of the label that most rows have."""
    return max((count for _, count in _counted(labels)), default=0)


def _counted(labels: NDArray[Any]) -> list[tuple[Any, int]]:
    names, counts = np.unique(labels, return_counts=True)
    return list(zip(names.tolist(), counts.tolist(), strict=True))


def _counts(labels: NDArray[Any]) -> dict[str, int]:
    return {str(name): count for name, count in _counted(labels)}


def _listed(counts: Mapping[str, int]) -> str:
    """Names with their counts, the first of them where they are many."""
    texts = [f"{name} {count}" for name, count in counts.items()]
    more = f" and {len(texts) - MANY_LEVELS} more" if len(texts) > MANY_LEVELS else ""
    return ", ".join(texts[:MANY_LEVELS]) + more


def _missing(column: NDArray[Any]) -> Mask:
    return np.asarray(np.isnan(column) if column.dtype.kind == "f" else column == "")


def _described(column: NDArray[Any], few: bool) -> str:
    """Mean (sd) of numbers, counts of labels and of few numbers, and how many are missing."""
    numeric, missing = column.dtype.kind == "f", _missing(column)
    present = column[~missing]
    if not present.size:
        return "none"
    if numeric and not few:
        spread = present.std(ddof=1) if len(present) > 1 else 0.0
        text = f"{present.mean():.4g} ({spread:.3g})"
    else:
        text = _listed({f"{name:g}" if numeric else name: k for name, k in _counted(present)})
    return text + (f", {missing.sum()} missing" if missing.any() else "")
