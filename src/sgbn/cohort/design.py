"""The design of a comparison: exchanges of rows, samples of groups, folds, and the reference.

Exchanges are what a permutation test may do (`exchange_of`). A unit is all rows of one person, or a
single row if no persons are given. Units are exchanged whole. A unit takes the place of another
unit only if both have the same number of rows at each site. Its rows keep their order at each site.

Blocks such as families are exchangeability blocks (Winkler et al., 2015). A block that lies in one
group is exchanged whole, with another such block if both have the same number of units of each
kind (the same number of rows at each site). In a block that spans groups, units are exchanged with
each other, and never with units of other blocks.

A `Sample` has the rows of one group, with their sites, persons and nuisance effects. `deal_rows`
divides rows at random into parts that balance sites and keep the rows of persons together.
`inner_folds` divides training rows into the folds that classifiers use for their temperature and
settings.

`choose_reference` chooses the group with which the other groups are compared. The first group by
alphabet is often a group of patients (AD, ASD). If patients were the reference, all differences
would have the opposite sign, and deviations would be measured from the patients. So, if the user
does not name a reference, a group whose name looks like controls is chosen.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import check_random_state

from sgbn.cohort.cohort import Cohort, check_count, check_group
from sgbn.cohort.effects import held_fixed, nuisance_of
from sgbn.core.problems import Problem, shown
from sgbn.core.types import Array, Indices
from sgbn.core.validation import FEW_SAMPLES

# The pattern of a unit (the site of each row), and its rows. Units of one pattern may be exchanged.
Unit = tuple[Any, Indices]


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


def exchange_of(
    codes: Indices,
    sites: Indices | None = None,
    pairs: Indices | None = None,
    persons: Indices | None = None,
    families: Indices | None = None,
) -> Exchange:
    """Plan the exchanges that a design allows.

    Parameters
    ----------
    codes : ndarray of int of shape (n,)
        Group of each row.
    sites : ndarray of int of shape (n,), optional
        Site of each row. Rows are exchanged within a site.
    pairs : ndarray of int of shape (n,), optional
        Person of each row, if each person is in every group once. Rows are then exchanged within
        persons, and the other labels are not used.
    persons : ndarray of int of shape (n,), optional
        Person of each row, if all rows of a person are in one group.
    families : ndarray of int of shape (n,), optional
        Block of each row. A person is in one block.
    """
    n = len(codes)
    if pairs is not None:
        # Each person has as many rows as there are groups, so that the sorted rows form a matrix.
        order = np.argsort(pairs, kind="stable").reshape(pairs.max() + 1, -1)
        return Exchange(n, (), (order[:, :, None],))
    sites = np.zeros(n, np.intp) if sites is None else sites
    persons = np.arange(n) if persons is None else persons
    by_person = np.argsort(persons, kind="stable")
    rows_of = np.split(by_person, np.flatnonzero(np.diff(persons[by_person])) + 1)
    # Rows of a unit are sorted by site. So units of one pattern exchange rows of the same sites.
    by_site = (rows[np.argsort(sites[rows], kind="stable")] for rows in rows_of)
    units = [(tuple(sites[rows].tolist()), rows) for rows in by_site]
    if families is None:
        return Exchange(n, tuple(_alike(units)))
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
    return Exchange(
        n, tuple(_alike(whole)), tuple(np.array(family_units) for family_units in stacks.values())
    )


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
        Problem("halves.effects", group=group, n=n, p=p).warn(
            "group {group} has {n:subject}, too few to take {p:effect} of covariates and sites out "
            "of each half",
            "They were taken out over all subjects. Name fewer covariates, or join small sites.",
        )
        # No columns are kept: effects that a half cannot estimate would add noise to it.
        nuisance = nuisance[:, :0]
    labels = (cohort.site, cohort.persons, None if cohort.block is None else cohort.units)
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


def deal_rows(
    rng: np.random.Generator,
    n: int,
    n_parts: int,
    strata: ArrayLike | None = None,
    persons: ArrayLike | None = None,
) -> Indices:
    """Return the number of the part that each row belongs to, in a random division of the rows.

    Persons are shuffled, sorted by stratum, and given to the parts in turn. So the numbers of
    persons in the parts differ by at most one, in each stratum and in total.

    Parameters
    ----------
    rng : Generator
        Source of random numbers.
    n : int
        Number of rows.
    n_parts : int
        Number of parts.
    strata : sequence of length n, optional
        Labels to balance, for example the site of each row. The stratum of a person is the label of
        the person's first row.
    persons : sequence of length n, optional
        The person of each row. All rows of a person are in the same part.
    """
    person = np.arange(n) if persons is None else label_codes(persons, n, "persons")
    stratum = np.zeros(n, np.intp) if strata is None else label_codes(strata, n, "strata")
    return deal_persons(rng, n_parts, stratum, person)


def deal_persons(
    rng: np.random.Generator, n_parts: int, stratum: Indices, person: Indices
) -> Indices:
    """Return the part of each row as `deal_rows` does.

    `stratum` and `person` hold codes from `label_codes`.
    """
    _, first = np.unique(person, return_index=True)
    shuffled = rng.permutation(len(first))
    # A stable sort, so that persons keep their shuffled order within each stratum.
    dealt = shuffled[np.argsort(stratum[first][shuffled], kind="stable")]
    part = np.empty(len(first), np.intp)
    # A random first part, because otherwise the first part would always get the odd person.
    part[dealt] = (np.arange(len(first)) + rng.integers(n_parts)) % n_parts
    return part[person]


def label_codes(labels: ArrayLike, n: int, what: str) -> Indices:
    """Return the code of each row's label: its place among the sorted labels, from 0 upwards.

    Labels are sorted as text. So do not pass codes to this function again: 10 would come before 2.

    Parameters
    ----------
    labels : array-like of shape (n,)
        The labels, of any type.
    n : int
        Number of rows.
    what : str
        Name of the argument that has the labels, for messages.

    Raises
    ------
    InputError
        If there is not one label per row.
    """
    # As text, because labels of several types, such as 1 and "a", cannot be sorted.
    texts = np.asarray(labels).astype(str)
    check_count(texts, n, what)
    return np.unique(texts, return_inverse=True)[1].astype(np.intp)


MAX_FOLDS = 5
MIN_TRAINING_ROWS = 3  # rows of each class in every training part; with fewer there are no folds


def units_of(groups: ArrayLike | None, n: int) -> Indices | None:
    """Return the number of each row's unit, such as its person, or None without `groups`."""
    return None if groups is None else label_codes(groups, n, "groups")


def count_folds(codes: Indices, units: Indices | None = None) -> int:
    """Return the number of folds, or 0 if a class has too few rows or units.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        The class of each row, numbered from 0.
    units : ndarray of shape (n,), optional
        The unit of each row, such as the person. Units then count instead of rows.
    """
    if units is not None:
        # A unit with rows of several classes counts once in each of them.
        codes = np.unique(np.column_stack([codes, units]), axis=0)[:, 0]
    smallest = int(np.bincount(codes).min())
    return min(MAX_FOLDS, smallest) if smallest > MIN_TRAINING_ROWS else 0


def inner_folds(
    codes: Indices, units: Indices | None, n_folds: int, n_repeats: int, seed: int
) -> Iterator[tuple[Indices, Indices]]:
    """Yield the training and test rows of every fold, with all rows of a unit on one side.

    Parameters
    ----------
    codes, units
        As in `count_folds`.
    n_folds : int
        The number of folds per repeat.
    n_repeats : int
        The number of splits into folds. Each repeat tests every row once.
    seed : int
        The seed of the splits.
    """
    # One stream for all repeats, because the seed itself would give the same split each time.
    rng = check_random_state(seed)
    kind = StratifiedKFold if units is None else StratifiedGroupKFold
    for _ in range(n_repeats):
        splitter = kind(n_folds, shuffle=True, random_state=rng)
        for train, test in splitter.split(codes, codes, units):
            if len(test):  # with few and large units, a fold may have no test rows
                yield train, test


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
