"""Which rows belong together, and what is held fixed: the class `Design`.

A design answers what every step of an analysis asks about its rows: which group, site, person and
family each row has, what a permutation may exchange, how rows are dealt to halves and folds, and
which effects are taken out.

Exchanges are what a permutation test may do. All rows of a person, or a single row if no persons
are given, are exchanged whole. They take the place of another person's rows only if both have the
same number of rows at each site. The rows of a person at a site count as alike.

Blocks such as families are exchangeability blocks (Winkler et al., 2015). A block that lies in one
group is exchanged whole, with another such block if both have the same number of persons of each
kind (the same number of rows at each site). In a block that spans groups, persons are exchanged
with each other, and never with persons of other blocks.

`choose_reference` chooses the group with which the other groups are compared. The first group by
alphabet is often a group of patients (AD, ASD). If patients were the reference, all differences
would have the opposite sign, and deviations would be measured from the patients. So, if the user
does not name a reference, a group whose name looks like controls is chosen.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property, reduce
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import check_random_state

from sgbn.cohort.effects import (
    Nuisance,
    can_bend,
    design_of,
    learn_spline,
    missing_rows,
    nuisance_of,
)
from sgbn.core.graph import joined_parts
from sgbn.core.problems import InputError, Problem, did_you_mean, shown
from sgbn.core.types import Array, Indices, Labels, Mask
from sgbn.core.validation import LARGEST, check_count, check_name_lengths, is_number, numbered

LABELS = ("group", "site", "pair", "person", "block")  # fields that hold one label per row
MIN_SHARE_IN_SEVERAL = 0.25  # share of the persons; fewer in several groups are mistakes
MAX_FOLDS = 5
MIN_TRAINING_ROWS = 3  # rows of each class in every training part; with fewer there are no folds
VISITS_ASK = (
    "For the difference between groups, give one row per person, such as the mean. For the change "
    "over time, name the visit as {group=} and the person as {pair=}. Their interaction cannot be "
    "tested yet."
)
VISITS_POOL = VISITS_ASK + " To pool them, exclude these columns ({exclude=})."

# The pattern of a unit (the site of each row), and its rows. Units of one pattern may be exchanged.
Unit = tuple[Any, Indices]


# eq=False, because a generated == would compare arrays, which have no single truth value.
@dataclass(frozen=True, eq=False)
class Design:
    """The labels of n rows, and what follows from them. `Design.of` checks the labels.

    Attributes
    ----------
    n : int
        Number of rows.
    group, site : ndarray of str, or None
        Group and site of each row.
    pair : ndarray of str, or None
        Person of each row, if each person has one row in every group.
    person : ndarray of str, or None
        Person of each row, if a person has several rows in one group.
    block : ndarray of str, or None
        Family of each row, or another label that rows share if they are not independent.
    covariates : mapping of name to array
        Numbers or text of each row, or the columns of a spline.
    smooth : tuple of str
        Names of the numeric covariates whose effects are curves.
    reference : str or None
        The group that comes first. Without it, the groups are sorted by name.
    """

    n: int
    _: KW_ONLY
    group: Labels | None = None
    site: Labels | None = None
    pair: Labels | None = None
    person: Labels | None = None
    block: Labels | None = None
    covariates: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    smooth: tuple[str, ...] = ()
    reference: str | None = None

    @classmethod
    def of(
        cls,
        ids: Sequence[Any],
        *,
        regions: Iterable[str] = (),
        covariates: Mapping[str, ArrayLike] | None = None,
        smooth: Iterable[str] = (),
        group: ArrayLike | None = None,
        site: ArrayLike | None = None,
        pair: ArrayLike | None = None,
        person: ArrayLike | None = None,
        block: ArrayLike | None = None,
        called: Mapping[str, str] = MappingProxyType({}),
    ) -> Self:
        """Return a design with checked labels and covariates.

        `called` has the names of the arguments that hold the labels, if they have other names here.

        Raises
        ------
        InputError
            If a label is missing, or if a person is in two blocks, or in two groups without paired
            visits.
        """
        given = {} if covariates is None else covariates  # a DataFrame has no truth value
        columns = checked_covariates(given, regions, len(ids))
        labels = zip(LABELS, (group, site, pair, person, block), strict=True)
        checked: dict[str, Any] = {
            name: checked_labels(own, name, ids, called.get(name, name)) for name, own in labels
        }
        curves = checked_smooth(smooth, columns)
        design = cls(len(ids), **checked, covariates=columns, smooth=curves)
        design._check_persons()
        return design

    def _check_persons(self) -> None:
        """Raise InputError for a person in two blocks, or in two groups without paired visits."""
        for labels in (self.pair, self.person):
            if labels is not None and (mixed := with_several(labels, self.block)):
                raise InputError("persons.blocks", persons=mixed).says(
                    "rows of {persons} are in several blocks",
                    "Give all rows of a person the same block, or correct the columns.",
                )
        # Paired visits are in several groups by design.
        if self.person is None or self.pair is not None:
            return
        if mixed := with_several(self.person, self.group):
            if holds_visits(self.group, self.person):
                raise InputError(visits_crossed())
            raise InputError("persons.groups", persons=mixed).says(
                "rows of {persons} are in several groups",
                "If they are visits, name the column of persons as {pair=}, not as {person=}. "
                "Otherwise correct the columns.",
            )

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """Return the names of the groups: the reference, and then the others by name."""
        names = [] if self.group is None else numbered(self.group)[0].tolist()
        return tuple(sorted(names, key=lambda name: (name != self.reference, name)))

    @property
    def persons(self) -> Labels | None:
        """Return the person of each row, from `person` or `pair`; None if both are None."""
        return self.pair if self.person is None else self.person

    @cached_property
    def units(self) -> Labels | None:
        """Return a label for each row; rows with the same label are not independent.

        Rows have the same label if they share a block, a person or a pair, or are linked through
        other rows. The result is None if none of these is known.
        """
        given = [labels for labels in (self.block, self.person, self.pair) if labels is not None]
        # Merged one after another, because each kind of label may join rows that the others do not.
        return reduce(merged_labels, given) if given else None

    @cached_property
    def _codes(self) -> dict[str, Indices]:
        return {}

    def codes(self, what: str) -> Indices | None:
        """Return the number of each row's label; None without labels.

        Parameters
        ----------
        what : {"group", "site", "pair", "person", "block", "persons", "units"}
            The labels. They are numbered as sorted text, and groups in the order of `groups`.
        """
        labels = getattr(self, what)
        if labels is not None and what not in self._codes:
            names, codes = numbered(labels)
            if what == "group":
                codes = np.array([self.groups.index(name) for name in names], np.intp)[codes]
            self._codes[what] = codes
        return self._codes.get(what)

    @property
    def group_codes(self) -> Indices:
        """Return the number of each row's group in `groups`; 0 without groups."""
        codes = self.codes("group")
        return np.zeros(self.n, np.intp) if codes is None else codes

    @property
    def unit_codes(self) -> Indices:
        """Return the number of each row's unit; without `units`, each row is one."""
        codes = self.codes("units")
        return np.arange(self.n) if codes is None else codes

    @property
    def n_units(self) -> int:
        """Return the number of units: families or persons if given, else rows."""
        return int(self.unit_codes.max(initial=-1)) + 1

    def counts(self, labels: NDArray[Any] | None) -> dict[str, int]:
        """Return the number of different labels, or of rows without labels, in each group."""
        rows = np.arange(self.n) if labels is None else labels
        # A person or family with rows in several groups counts in each of them.
        codes = self.group_codes
        return {name: len(np.unique(rows[codes == c])) for c, name in enumerate(self.groups)}

    def repeats(self) -> int:
        """Return how many rows are repeated: all rows of a person except one."""
        # Repeated rows tell less than new subjects: they are counted as lost degrees of freedom.
        return 0 if self.persons is None else self.n - len(np.unique(self.persons))

    @cached_property
    def complete(self) -> Mask:
        """Return for each row whether its person has exactly one row in every group.

        Without pairs, all rows are complete.
        """
        if self.pair is None or self.group is None:
            return np.full(self.n, True)
        person = numbered(self.pair)[1]
        visits = np.zeros((person.max(initial=-1) + 1, len(self.groups)), dtype=np.intp)
        # `visits[person, group] += 1` would count repeated entries only once.
        np.add.at(visits, (person, self.group_codes), 1)
        return np.asarray((visits == 1).all(axis=1)[person])

    @property
    def effect_names(self) -> list[str]:
        """Return the names of the covariates for texts, such as ``sex`` or ``age (a curve)``."""
        curves = self.smooth
        return [f"{name} (a curve)" if name in curves else name for name in self.covariates]

    def curves_that_fit(self) -> tuple[str, ...]:
        """Return the smooth covariates with enough values for a curve; see `can_bend`."""
        return tuple(name for name in self.smooth if can_bend(self.covariates[name], name))

    def fixed(self) -> Self:
        """Return the design with the columns of splines in place of smooth covariates.

        So parts of its rows keep the knots of all rows. A covariate with gaps stays as it is: code
        that needs complete values reports the gaps.
        """
        columns = dict(self.covariates)
        for name in self.smooth:
            if not np.isnan(columns[name]).any():
                columns[name] = learn_spline(columns[name], name).columns(columns[name])
        return replace(self, covariates=columns, smooth=())

    def columns(self) -> Array:
        """Return the columns of covariates and sites, not centred, of shape (n, p)."""
        return design_of(self.n, self.fixed().covariates, self.site)

    def nuisance(self) -> Nuisance:
        """Return the effects that are held fixed: means of groups, covariates, curves and sites."""
        return nuisance_of(self.group_codes, self.columns())

    def exchange(self, members: Sequence[int] | None = None) -> Exchange:
        """Plan the exchanges that the design allows between all groups, or between `members`.

        Rows of other groups stay in their places. With pairs, rows are exchanged within persons,
        and the other labels are not used.
        """
        rows = np.arange(self.n)
        if members is not None:
            rows = np.flatnonzero(np.isin(self.group_codes, members))
        sets, stacks = self.subset(rows)._exchanged()
        placed = (tuple(rows[units] for units in kind) for kind in (sets, stacks))
        return Exchange(self.n, *placed)

    def _exchanged(self) -> tuple[list[Indices], list[Indices]]:
        """Return the sets and the stacks of `Exchange`."""
        codes, pairs = self.group_codes, self.codes("pair")
        if pairs is not None:
            # Each person has one row per group, so that the sorted rows form a matrix.
            order = np.argsort(pairs, kind="stable").reshape(pairs.max() + 1, -1)
            return [], [order[:, :, None]]
        sites, persons, families = (self.codes(name) for name in ("site", "person", "block"))
        sites = np.zeros(self.n, np.intp) if sites is None else sites
        persons = np.arange(self.n) if persons is None else persons
        by_person = np.argsort(persons, kind="stable")
        rows_of = np.split(by_person, np.flatnonzero(np.diff(persons[by_person])) + 1)
        # Sorted by site, so that units of one pattern exchange rows of the same sites.
        by_site = (rows[np.argsort(sites[rows], kind="stable")] for rows in rows_of)
        units = [(tuple(sites[rows].tolist()), rows) for rows in by_site]
        if families is None:
            return _alike(units), []
        by_family: dict[int, list[Unit]] = defaultdict(list)
        for pattern, rows in units:
            by_family[int(families[rows[0]])].append((pattern, rows))
        whole: list[Unit] = []
        stacks = defaultdict(list)
        for members in by_family.values():
            family_units = sorted(members, key=lambda unit: unit[0])
            rows = np.concatenate([rows for _, rows in family_units])
            # A family in one group moves as a whole. In other families, members change places.
            if (codes[rows] == codes[rows[0]]).all():
                whole.append((tuple(pattern for pattern, _ in family_units), rows))
                continue
            for units_alike in _alike(family_units):
                # Sets are collected by shape, since sets of one shape are permuted in one call.
                stacks[units_alike.shape].append(units_alike)
        return _alike(whole), [np.array(family_units) for family_units in stacks.values()]

    def deal(
        self, rng: np.random.Generator, n_parts: int = 2, balanced: Sequence[str] = ("site",)
    ) -> Indices:
        """Return the number of the part that each row belongs to, in a random division of the rows.

        Units are shuffled, sorted by their site, and given to the parts in turn. So the numbers of
        units in the parts differ by at most one, at each site and in total.

        Parameters
        ----------
        rng : Generator
            Source of random numbers.
        n_parts : int
            Number of parts.
        balanced : sequence of {"group", "site"}
            Labels that all parts have in nearly equal numbers. A unit has the label of its first
            row.
        """
        stratum = np.zeros(self.n, np.intp)
        for codes in map(self.codes, balanced):
            if codes is not None:
                stratum = stratum * (codes.max() + 1) + codes
        unit = self.unit_codes
        _, first = np.unique(unit, return_index=True)
        shuffled = rng.permutation(len(first))
        # A stable sort, so that units keep their shuffled order within each stratum.
        dealt = shuffled[np.argsort(stratum[first][shuffled], kind="stable")]
        part = np.empty(len(first), np.intp)
        # A random first part, because otherwise the first part would always get the odd unit.
        part[dealt] = (np.arange(len(first)) + rng.integers(n_parts)) % n_parts
        return part[unit]

    @property
    def usual_folds(self) -> int:
        """Return the number of folds of a classifier, or 0 if a group has too few units."""
        smallest = min(self.counts(self.units).values())
        return min(MAX_FOLDS, smallest) if smallest > MIN_TRAINING_ROWS else 0

    def folds(
        self, n_folds: int, seed: int, n_repeats: int = 1
    ) -> Iterator[tuple[Indices, Indices]]:
        """Yield the training and test rows of every fold, with all rows of a unit on one side.

        Groups are balanced between the folds. Each repeat tests every row once.
        """
        # One stream for all repeats, because the seed itself would give the same split each time.
        rng = check_random_state(seed)
        kind = StratifiedKFold if self.units is None else StratifiedGroupKFold
        for _ in range(n_repeats):
            splitter = kind(n_folds, shuffle=True, random_state=rng)
            for train, test in splitter.split(self.group, self.group, self.units):
                if len(test):  # with few and large units, a fold may have no test rows
                    yield train, test

    def whole(self, rows: Mask) -> Mask:
        """Return these rows, and all rows of the same persons."""
        given = [labels for labels in (self.pair, self.person) if labels is not None]
        if not given:
            return rows
        labels = reduce(merged_labels, given)
        return np.isin(labels, labels[rows])

    def subset(self, rows: Indices | Mask) -> Self:
        """Return the design of some of the rows."""
        columns: dict[str, Any] = {name: getattr(self, name) for name in LABELS}
        kept = {name: column[rows] for name, column in columns.items() if column is not None}
        covariates = {name: column[rows] for name, column in self.covariates.items()}
        return replace(self, n=len(np.arange(self.n)[rows]), covariates=covariates, **kept)


@dataclass(frozen=True)
class Exchange:
    """A plan of exchanges. It is made once, and many exchanges are drawn from it.

    Attributes
    ----------
    n : int
        Number of rows.
    sets : tuple of ndarray of shape (k, s)
        Each array holds the rows of k units with s rows each. Any unit may take the place of any
        other unit of its set.
    stacks : tuple of ndarray of shape (f, k, s)
        Each array holds f sets of the same shape, such as persons with paired visits.
    """

    n: int
    sets: tuple[Indices, ...]
    stacks: tuple[Indices, ...] = ()

    def draw(self, rng: np.random.Generator) -> Indices:
        """Return the row that moves to each place. All exchanges are equally likely."""
        rows = np.arange(self.n)
        for units in self.sets:
            rows[units] = units[rng.permutation(len(units))]
        for stack in self.stacks:
            # One call permutes every set of the stack separately, which saves a loop over persons.
            order = np.broadcast_to(np.arange(stack.shape[1]), stack.shape[:2])
            order = rng.permuted(order, axis=1)
            rows[stack] = np.take_along_axis(stack, order[:, :, None], axis=1)
        return rows

    def log_exchanges(self, codes: Indices) -> float:
        """Return the logarithm of the number of ways to assign the units to the groups."""
        counts = self._counts(codes)
        # The count of a set is a multinomial coefficient. It is a logarithm, since a thousand
        # subjects have more exchanges than a float can hold.
        return float((gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)).sum())

    def cannot_move(self, codes: Indices) -> int:
        """Count the rows that no exchange takes to another group."""
        sizes = [units.size for units in self.sets]
        sizes += [stack[0].size for stack in self.stacks for _ in stack]
        # If all units of a set are in one group, exchanges leave the groups as they are.
        moves = (self._counts(codes) > 0).sum(axis=1) > 1
        return int(self.n - np.array(sizes, int)[moves].sum())

    def _counts(self, codes: Indices) -> Indices:
        """Return the number of units of each set in each group."""
        members = [codes[units[:, 0]] for units in self.sets]
        members += [set_codes for stack in self.stacks for set_codes in codes[stack[:, :, 0]]]
        n_groups = int(codes.max()) + 1
        counts = [np.bincount(set_codes, minlength=n_groups) for set_codes in members]
        return np.array(counts, np.intp).reshape(-1, n_groups)


def _alike(units: Iterable[Unit]) -> list[Indices]:
    """Return the rows of units with the same pattern, if at least two units share it."""
    by_pattern: dict[Any, list[Indices]] = defaultdict(list)
    for pattern, rows in units:
        # Only units with the same pattern of sites, and so of the same size, may be exchanged.
        by_pattern[pattern].append(rows)
    return [
        np.array(by_pattern[pattern])
        for pattern in sorted(by_pattern)
        if len(by_pattern[pattern]) > 1
    ]


def check_group(name: str, groups: Sequence[str]) -> None:
    """Raise InputError unless a group has this name."""
    if name not in groups:
        raise InputError("groups.unknown", group=name, near=did_you_mean(name, groups)).says(
            "no group is called {group}", "{near}"
        )


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Mark an array as read-only, and return it."""
    array.setflags(write=False)
    return array


def label_counts(labels: NDArray[Any]) -> dict[Any, int]:
    """Return the number of rows with each label, by label."""
    names, counts = np.unique(labels, return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def checked_labels(
    labels: ArrayLike | None, what: str, ids: Sequence[Any], argument: str
) -> Labels | None:
    """Return one label per subject as text; raise InputError if one is missing or too long."""
    if labels is None:
        return None
    array = _as_text(labels)
    check_count(array, len(ids), argument)
    if lacking := [ids[row] for row in missing_rows(array)]:
        raise InputError("labels.missing", label=what, subjects=lacking).says(
            "the {label:s} of {subjects} is missing", "Fill it in, or leave these rows out."
        )
    check_name_lengths(array.tolist(), f"label of the {what}")
    return read_only(array)


def checked_covariates(
    covariates: Mapping[str, ArrayLike], regions: Iterable[str], n: int
) -> dict[str, NDArray[Any]]:
    """Return the covariates, each as numbers or as text."""
    if not hasattr(covariates, "items") or getattr(covariates, "ndim", 2) == 1:  # or a Series
        raise InputError("covariates.type", type=type(covariates).__name__).says(
            "covariates is a {type:s}", "Give a mapping of name to values, or a DataFrame."
        )
    checked = {str(name): _covariate(name, column, n) for name, column in covariates.items()}
    check_name_lengths(checked, "name of a covariate")
    both = sorted(set(checked) & set(regions))
    if both:
        raise InputError("covariate.region", name=both[0]).says(
            "{name} is the name of a covariate and of a region", "Rename or drop one of them."
        )
    return checked


def _covariate(name: str, column: ArrayLike, n: int) -> NDArray[Any]:
    array = _cells(column)
    if array.ndim == 2 and array.shape[1] == 1:  # a table of one column
        array = array[:, 0]
    if array.dtype.kind == "O":
        known = [cell for cell in array.ravel() if not _is_missing(cell)]
        # This is a list of numbers in which None or NaN means a missing value.
        if all(map(is_number, known)):
            array = np.array([np.nan if _is_missing(c) else c for c in array.ravel()], np.float64)
        elif not all(isinstance(cell, str | bool) or is_number(cell) for cell in known):
            odd = next(cell for cell in known if not isinstance(cell, str))
            raise InputError("covariate.type", name=name, type=type(odd).__name__).says(
                "covariate {name} holds a {type:s}", "Give numbers or text."
            )
    is_numeric = array.dtype.kind in "biuf"
    array = np.array(array, dtype=np.float64) if is_numeric else _as_text(array)
    check_count(array, n, name)
    if is_numeric and (np.abs(array) > LARGEST).any():
        raise InputError("covariate.large", name=name).says(
            "covariate {name} has a value that is infinite or too large to compute with",
            "Correct it, or replace it by NaN.",
        )
    return read_only(array)


def checked_smooth(names: Iterable[str], covariates: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
    """Return the names of the smooth covariates, which must be covariates of numbers."""
    smooth = (names,) if isinstance(names, str) else tuple(names)
    check_smooth(smooth, covariates)
    for name in smooth:
        check_smooth_numbers(name, covariates[name].dtype.kind == "f")
    return tuple(dict.fromkeys(smooth))  # a name that is given twice is one curve


def check_smooth(smooth: Iterable[Any], covariates: Iterable[Any]) -> None:
    """Raise InputError if a smooth covariate is not among the covariates."""
    for name in smooth:
        if name not in list(covariates):
            raise InputError("smooth.covariate", name=name).says(
                "{name} is named as {smooth=}, but is not a covariate",
                "Name it as a covariate too ({covariates=}).",
            )


def check_smooth_numbers(name: Any, is_numeric: bool) -> None:
    """Raise InputError if a smooth covariate does not hold numbers."""
    if not is_numeric:
        raise InputError("smooth.labels", name=name).says(
            "the smooth covariate {name} holds labels, but a curve needs numbers",
            "Take it out of {smooth=}.",
        )


def with_several(persons: Labels, labels: Labels | None) -> list[str]:
    """Return the persons who have rows with different labels."""
    if labels is None:
        return []
    _, first, person = np.unique(persons, return_index=True, return_inverse=True)
    # Compare the label of each row with the label of the first row of its person.
    return np.unique(persons[labels != labels[first][person]]).tolist()


def holds_visits(group: Labels | None, persons: Labels) -> bool:
    """Return whether groups are combinations of groups and visits, such as patient_pre.

    Then persons are in several groups, but never in all of them, even through other persons.
    """
    names, codes = numbered([] if group is None else group)
    people, who = numbered(persons)
    linked = joined_parts(codes, len(names) + who, len(names) + len(people))[: len(names)]
    n_several = len(with_several(persons, group))
    is_usual = n_several >= MIN_SHARE_IN_SEVERAL * len(people)
    return is_usual and 1 < len(set(linked.tolist())) < len(names)


def visits_crossed() -> Problem:
    """Return the problem that the groups are combinations of groups and visits."""
    return Problem("visits.crossed").says(
        "the groups combine groups and visits of persons", VISITS_ASK
    )


def visits_pooled(columns: Sequence[str]) -> Problem:
    """Return the problem that the visits of a person count as the same."""
    return Problem("visits.pooled", columns=columns).says(
        "the visits of a person are pooled, because these columns are not used: {columns}",
        VISITS_POOL,
    )


def merged_labels(first: Labels, second: Labels) -> Labels:
    """Return one label per row. Rows that share a label in `first` or in `second` get the same one.

    Rows that are linked only through other rows get the same label, too.
    """
    names, by_first = np.unique(first, return_inverse=True)
    # The nodes of a graph are the labels of both kinds, and each row joins its two labels.
    by_second = len(names) + np.unique(second, return_inverse=True)[1]
    parts = joined_parts(by_first, by_second, int(by_second.max(initial=0)) + 1)[by_first]
    _, rows, part = np.unique(parts, return_index=True, return_inverse=True)
    # A part has the label of its first row, so that messages show a label that the user knows.
    return read_only(first[rows][part])


def _as_text(labels: ArrayLike) -> Labels:
    """Return labels as text; a missing label is ""."""
    array = _cells(labels)
    # Only objects and floats can hold None or NaN.
    if array.dtype.kind in "Of":
        cells = ["" if _is_missing(cell) else str(cell) for cell in array.ravel().tolist()]
        return np.array(cells, dtype=str).reshape(array.shape)
    return np.array(array, dtype=str)


def _cells(column: ArrayLike) -> NDArray[Any]:
    """Return the cells as an array, without changing them."""
    # As objects, because numpy would turn a NaN among text into the text "nan".
    return np.asarray(column, dtype=None if hasattr(column, "dtype") else object)


def _is_missing(cell: object) -> bool:
    # The NA of pandas cannot be compared. Only NaN differs from itself.
    return cell is None or str(cell) == "<NA>" or cell != cell


# Words in the names of controls, in lower case. A name needs a word of NORM or SHORT, and all its
# words must be in one of these three lists. Otherwise "normal pressure hydrocephalus" and "impulse
# control disorder" would look like controls.
NORM = (
    r"controls?|ctrls?|ctls?|ctr|healthy|health|normals?|normative|norm|typical(?:ly)?|"
    r"neurotypicals?|unaffected|unimpaired"
)
SHORT = r"cons?|hcs?|hvs?|ncs?|cns?|tds?|tdcs?|tcs?|cu|nl|nt"  # never as a part of a longer word
BESIDE = (
    r"groups?|grp|subjects?|participants?|volunteers?|persons?|people|individuals?|adults?|"
    r"children|young|older|old|elderly|ageing|aging|males?|females?|men|women|age|sex|matched|"
    r"cognitively|cognition|developing|development|comparison|brains?"
)
_WORD = re.compile(rf"(?:{NORM}|{BESIDE})+\d*|(?:{SHORT})\d*|\d+")
_NORM = re.compile(rf"(?:{BESIDE})*(?:{NORM})(?:{NORM}|{BESIDE})*\d*|(?:{SHORT})\d*")


def looks_like_controls(name: str) -> bool:
    """Return whether the name of a group means controls, such as "HC" or "healthy controls"."""
    # "HealthyControls" is read as two words.
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", str(name))
    words = [word for word in re.split(r"[\W_]+", spaced.lower()) if word]
    return all(map(_WORD.fullmatch, words)) and any(map(_NORM.fullmatch, words))


def control_groups(groups: Sequence[str]) -> list[str]:
    """Return the groups whose names look like controls, sorted by name.

    If all names are numbers, the group 0 counts as controls, too.
    """
    names = sorted(map(str, groups))
    controls = [name for name in names if looks_like_controls(name)]
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        return controls
    # If both "0" and "0.0" are groups, neither is known to be the controls.
    if numbers.count(0.0) == 1:
        controls.append(names[numbers.index(0.0)])
    return controls


def usual_reference(groups: Sequence[str]) -> str:
    """Return the group that is the reference if the user does not name one.

    Parameters
    ----------
    groups : sequence of str
        Names of one or more groups.

    Returns
    -------
    str
        The first group, by name, that looks like controls (control, CTR, HC, CN, TD, healthy, ...).
        If all names are numbers, the group 0 looks like controls. If no group looks like controls,
        the first of all groups by name.
    """
    return (control_groups(groups) or sorted(map(str, groups)))[0]


def choose_reference(groups: Sequence[str], reference: str | None = None) -> str:
    """Return `reference`, which must be a group. If it is None, return the usual reference."""
    if reference is None:
        return usual_reference(groups)
    check_group(str(reference), [str(group) for group in groups])
    return str(reference)


def why_reference(groups: Sequence[str], reference: str | None = None) -> str:
    """Return a few words that say why `choose_reference` chooses its group."""
    if reference is not None:
        return "as you named it"
    alike = control_groups(groups)
    if not alike:
        return "the first by name: no name looks like controls"
    if len(alike) > 1:
        return f"the first by name of {' and '.join(map(shown, alike))}, which look like controls"
    return "its name looks like controls"
