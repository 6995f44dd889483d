"""Replication of differences in other subjects: discovery and confirmation inside one study.

The subjects are split into two parts that share no person. All edges are tested in the first part,
the discovery. The edges that it finds are tested in the second part, the confirmation, as edges
that were named beforehand. So there are few tests, and each p comes from the edge's own
permutations. Each part is prepared without the other. So the confirmation is as good as a separate
study at these sites and scanners.

The choice of the rows that are held back for the confirmation of a replication.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.cohort.cohort import SITE, Cohort
from sgbn.cohort.rows import cohort_order
from sgbn.core.problems import (
    DataWarning,
    InputError,
    Problem,
    did_you_mean,
    give,
    problem_of,
)
from sgbn.core.types import Mask
from sgbn.core.validation import SEED, SHARE, check_mask
from sgbn.inference.difference_problem import MIN_SUBJECTS_PER_GROUP
from sgbn.inference.difference_tables import Differences
from sgbn.inference.differences import edge_differences
from sgbn.inference.permutations import holm, permutations_needed
from sgbn.learn.sgbn import SGBN
from sgbn.runs.study import Study

HALF = "half"
DISCOVERY, CONFIRMATION = "discovery", "confirmation"


def replication_rows(cohort: Cohort, how: str, random_state: int = 0) -> Mask:
    """Mark the rows that are held back for the confirmation.

    Parameters
    ----------
    cohort : Cohort
        The subjects, with their groups.
    how : str
        ``"half"`` marks a random half of each group at each site. Rows of one person, pair or
        family stay together. ``"COLUMN=VALUE"`` marks the rows of a site (``site=NYU``) or the rows
        with this value of a covariate (``sex=F``). The site's column may also have the name that it
        has in the table that was read.
    random_state : int
        Seed of the random half.
    """
    if how == HALF:
        rng = np.random.default_rng(SEED.check("random_state", random_state))
        order, held_back = cohort_order(cohort), np.zeros(len(cohort), bool)
        # Each group at each site is halved. Persons and families stay whole.
        held_back[order] = cohort.design.subset(order).deal(rng, balanced=("group", "site")) == 1
    else:
        held_back = _rows_with(cohort, how)
    check_parts(cohort, held_back, how)
    return held_back


def _rows_with(cohort: Cohort, how: str) -> Mask:
    """Mark the rows that have a value in a column; `how` is ``COLUMN=VALUE``."""
    name, sign, value = how.partition("=")
    columns = dict(cohort.covariates)
    if cohort.site is not None:
        columns |= {str(cohort.provenance.get("site_column", SITE)): cohort.site, SITE: cohort.site}
    if not sign or name not in columns:
        choices = [HALF, *(f"{column}=VALUE" for column in columns)]
        raise InputError("replicate.column", how=how, choices=choices).says(
            "{how} is not one of {choices}", "Name other columns as {site=} or {covariates=}."
        )
    column = columns[name]
    texts = np.array([_text(cell) for cell in column.tolist()])
    missing = int((texts == "").sum())
    if missing:
        raise InputError("replicate.missing", column=name, n=missing).says(
            "{column} is missing in {n:row}", "Fill it in, or give {replicate='half'}."
        )
    # 2 and 2.0 are the same value of a column of numbers.
    number = _as_number(value) if column.dtype.kind in "fiub" else None
    marked: Mask = texts == value if number is None else column.astype(float) == number
    if not marked.any():
        values = [_text(cell) for cell in np.unique(column).tolist()]
        raise InputError("replicate.value", how=how, near=did_you_mean(value, values)).says(
            "no row has {how:s}", "{near}"
        )
    return marked


def _as_number(value: str) -> float | None:
    """Return the number that a text stands for, or None if it is not a number."""
    try:
        return float(value)
    except ValueError:
        return None


def _text(cell: object) -> str:
    """Return a cell as a user would write it; "" if it is missing."""
    if isinstance(cell, float):
        # Only NaN differs from itself.
        if cell != cell:
            return ""
        # The short form is used if it loses no digits: 2 for 2.0, but 1000001.0 stays.
        return f"{cell:g}" if float(f"{cell:g}") == cell else repr(cell)
    return str(cell)


def check_parts(cohort: Cohort, held_back: Mask, how: str = "held_back") -> None:
    """Raise InputError if the two parts share a person, or a group is too small in one part."""
    # A person in both parts would confirm a difference that this person helped to find.
    units = cohort.units
    if units is not None:
        both = np.intersect1d(units[held_back], units[~held_back]).tolist()
        if both:
            raise InputError("replicate.persons", how=how, persons=both).says(
                "{how:s} separates rows of {persons}", "Give {replicate='half'}, or another column."
            )
    for name, rows in ((DISCOVERY, ~held_back), (CONFIRMATION, held_back)):
        sizes = dict.fromkeys(cohort.groups, 0) | cohort.subset(rows).subjects
        group, size = min(
            sizes.items(), key=lambda item: item[1], default=("", MIN_SUBJECTS_PER_GROUP)
        )
        if size < MIN_SUBJECTS_PER_GROUP:
            numbers = {"n": size, "least": MIN_SUBJECTS_PER_GROUP}
            raise InputError("replicate.few", group=group, part=name, how=how, **numbers).says(
                "{group} has {n:subject} in the part for {part:s} ({how:s}), but needs {least}",
                "Hold back other rows, merge groups, or leave out the replication.",
            )


def count_subjects(cohort: Cohort, rows: Mask) -> int:
    """Return the number of subjects among some rows."""
    return int(rows.sum()) if cohort.persons is None else len(np.unique(cohort.persons[rows]))


CONFIRMING = 2  # multiple of the fewest permutations with which Holm can confirm all found edges
COLUMNS = [
    *(("source", object), ("target", object), ("difference_discovery", float)),
    *(("difference_confirmation", float), ("q_discovery", float), ("holds_both_ways", bool)),
    *(("p", float), ("p_holm", float), ("same_sign", bool), ("confirmed", bool)),
]


@dataclass(frozen=True)
class Replication:
    """The differences that were found in one part of the subjects, and their tests in the other.

    Attributes
    ----------
    groups : tuple of str
        Names of the groups. The reference comes first.
    sizes : dict of {"discovery", "confirmation"} to dict of group to int
        Number of subjects of each group that were tested. Subjects that were left out do not
        count. If nothing is discovered, the confirmation tests nobody. Its numbers are then the
        numbers of all subjects that were held back.
    table : structured ndarray
        One row per discovered edge, in the order of the discovery, the surest first. Its fields are

        - source, target: the two regions
        - difference_discovery, difference_confirmation: the last group minus the first, per
          standard deviation of the residuals of that part
        - q_discovery: q of the discovery
        - holds_both_ways: whether q_both of the discovery and p_both of the confirmation are at
          most the level
        - p, p_holm: p of the confirmation, and p corrected over all discovered edges; with two
          groups p is one-sided, in the direction of the discovery
        - same_sign: whether both differences have the same sign
        - confirmed: whether the edge is confirmed
    level : float
        Level of q in the discovery, and of p_holm in the confirmation.
    tested : int
        Number of edges that were tested in the discovery.
    n_permutations : int
        Number of permutations of the discovery. The confirmation has more if the correction over
        many edges needs them.
    discovery : Differences
        All tests of the discovery.
    left_out : dict of {"discovery", "confirmation"} to dict of group to tuple
        Subjects of each part that lie far from the others of their group, and were not tested.
    """

    groups: tuple[str, ...]
    sizes: Mapping[str, Mapping[str, int]]
    table: NDArray[Any]
    level: float
    tested: int
    n_permutations: int
    discovery: Differences
    left_out: Mapping[str, Mapping[str, tuple[Any, ...]]] = field(default_factory=dict)

    def __repr__(self) -> str:
        return (
            f"Replication({', '.join(self.groups)}: {self.confirmed.size} of {len(self.table)} "
            f"discovered edges confirmed at {self.level:g})"
        )

    @property
    def confirmed(self) -> NDArray[Any]:
        """Rows of the edges that were confirmed."""
        return self.table[self.table["confirmed"]]

    @property
    def same_sign(self) -> float:
        """Share of the discovered edges whose differences have the same sign; NaN without edges."""
        return float(self.table["same_sign"].mean()) if len(self.table) else np.nan

    @property
    def words(self) -> str:
        """The result in a few sentences."""
        who = " and ".join(
            f"{part} ({_listed(self.sizes[part])})" for part in (DISCOVERY, CONFIRMATION)
        )
        left_out = [names for part in self.left_out.values() for names in part.values()]
        n_out = sum(map(len, left_out))
        without = f", without {n_out} that lie far from the others of their group" if n_out else ""
        split = f"The subjects were split into {who}{without}."
        if not len(self.table):
            return (
                f"{split} The discovery finds none of {self.tested} edges at a false discovery "
                f"rate of {self.level:.0%}, so that there was nothing to confirm."
            )
        n, names = len(self.table), [_edge_text(row) for row in self.confirmed]
        corrected = f", corrected over the {n} edges by Holm's method" if n > 1 else ""
        one_way = " A difference that holds one way only may be a change of variance."
        return (
            f"{split} Of {n} edge{'s' * (n > 1)} found in the discovery, {len(names)} "
            f"{'is' if len(names) == 1 else 'are'} confirmed (p at most {self.level:g}{corrected})"
            f"{': ' + '; '.join(names) if names else ''}. {self.table['same_sign'].sum()} of {n} "
            f"{'has' if n == 1 else 'have'} the same sign."
            f"{'' if self.confirmed['holds_both_ways'].all() else one_way}"
        )


def _edge_text(row: Any) -> str:
    """Return the name of an edge, and whether its difference holds one way only."""
    return f"{row['source']} – {row['target']}{'' if row['holds_both_ways'] else ' (one way)'}"


def replicate_differences(
    cohort: Cohort,
    held_back: ArrayLike | str = HALF,
    *,
    prepare: Callable[[Cohort], Cohort] | None = None,
    reference: str | None = None,
    learner: SGBN | None = None,
    outliers: str = "trim",
    level: float = 0.05,
    n_permutations: int = 999,
    random_state: int = 0,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: bool = False,
) -> Replication:
    """Test all edges in one part of the subjects, and test the edges found there in the other part.

    Parameters
    ----------
    cohort : Cohort
        The subjects, with their groups.
    held_back : array-like of bool, or str
        The rows of the confirmation, or the rule by which they are chosen; see `replication_rows`.
    prepare : callable, optional
        Function that prepares each part separately, for example fills gaps and harmonises sites. It
        takes and returns a cohort. Without it no cell may be missing. Covariates and sites are held
        fixed in any case.
    reference, learner, n_permutations, n_jobs, progress
        The same as in `edge_differences`.
    outliers : {"trim", "keep"}
        Whether subjects that lie far from the others of their group are left out of each part.
    level : float
        Level of the false discovery rate in the discovery, and of the family-wise p in the
        confirmation.
    random_state : int
        Seed of the permutations, and of a random half.
    folder : path, optional
        Folder that keeps the finished permutations. A second start computes only the missing ones.

    Notes
    -----
    The p of a discovered edge comes from its own permutations in the confirmation. With two groups
    it is one-sided, in the direction of the discovery. With more groups a difference has no
    direction. p is then two-sided, and `same_sign` compares the differences between the last and
    the first group. Holm's correction is over the edges that were discovered.

    Examples
    --------
    >>> import sgbn
    >>> from sgbn.inference.replication import replicate_differences
    >>> cohort = sgbn.simulate_cohort(60, regions=8, n_changed=2, random_state=2)
    >>> found = replicate_differences(cohort, "half", n_permutations=39)
    >>> len(found.confirmed) <= len(found.table)
    True
    """
    SHARE.check("level", level)
    marked = _marked_rows(cohort, held_back, random_state)
    parts = {}
    for name, rows in ((DISCOVERY, ~marked), (CONFIRMATION, marked)):
        # Both parts are prepared before the first permutation, so that errors come early.
        with _said_of(name):
            part = _part(cohort, rows)
            parts[name] = part if prepare is None else prepare(part)
    study = Study(folder, n_jobs, progress)
    options: dict[str, Any] = {"reference": reference, "learner": learner, "outliers": outliers}
    options |= {"n_permutations": n_permutations, "random_state": random_state}
    discovery = _test(parts, DISCOVERY, study, options)
    results = {DISCOVERY: discovery}
    discovered = discovery.significant(level)
    edges = [(str(edge["source"]), str(edge["target"])) for edge in discovered]
    if edges:
        enough = CONFIRMING * permutations_needed(level / len(edges))
        # Holm's method over many edges needs a small p, which needs many permutations.
        options["n_permutations"] = max(discovery.n_permutations, enough)
        results[CONFIRMATION] = _test(parts, CONFIRMATION, study, options | {"edges": edges})
    tests = results.items()
    sizes = {name: _sizes(parts[name], test.groups, test.left_out) for name, test in tests}
    # Without edges nobody was tested, so that nobody was left out.
    if not edges:
        sizes[CONFIRMATION] = _sizes(cohort.subset(marked), discovery.groups, {})
    named = results[CONFIRMATION].named if edges else None
    return Replication(
        discovery.groups,
        sizes,
        _table(discovered, named, level, len(discovery.groups)),
        level,
        len(discovery.edges),
        discovery.n_permutations,
        discovery,
        {name: test.left_out for name, test in tests},
    )


def _marked_rows(cohort: Cohort, held_back: ArrayLike | str, random_state: int) -> Mask:
    """Return the rows of the confirmation; raise InputError if they cannot be held back."""
    if isinstance(held_back, str):
        return replication_rows(cohort, held_back, random_state)
    marked = check_mask(held_back, len(cohort), "held_back")
    check_parts(cohort, marked)
    return marked


def _test(
    parts: Mapping[str, Cohort], name: str, study: Study, options: Mapping[str, Any]
) -> Differences:
    """Test the edges of one part. Errors and warnings name the part."""
    with _said_of(name):
        return edge_differences(parts[name], **asdict(study.part(name)), **options)


def _sizes(
    part: Cohort, groups: Sequence[str], left_out: Mapping[str, tuple[Any, ...]]
) -> dict[str, int]:
    """Return the number of subjects of each group that are tested."""
    gone = {name for names in left_out.values() for name in names}
    kept = np.array([name not in gone for name in part.ids])
    return {group: count_subjects(part, kept & (part.group == group)) for group in groups}


def _table(
    discovered: NDArray[Any], named: NDArray[Any] | None, level: float, n_groups: int
) -> NDArray[Any]:
    """Return the table of a `Replication`, from both parts' tests of the discovered edges."""
    table = np.zeros(len(discovered), dtype=COLUMNS)
    for name in ("source", "target"):
        table[name] = discovered[name]
    table["difference_discovery"] = discovered["difference_std"]
    table["q_discovery"] = discovered["q"]
    if named is None:
        return table
    table["holds_both_ways"] = (discovered["q_both"] <= level) & (named["p_both"] <= level)
    table["difference_confirmation"] = named["difference_std"]
    same = np.sign(discovered["difference_std"]) == np.sign(named["difference_std"])
    p = named["p"]
    # With two groups the discovery names a direction. With more groups there is no direction.
    if n_groups == 2:
        p = np.where(discovered["difference_std"] > 0, named["p_greater"], named["p_less"])
    table["same_sign"], table["p"], table["p_holm"] = same, p, holm(p)
    table["confirmed"] = table["p_holm"] <= level
    # With two groups, the confirmed difference must have the direction of the discovered one.
    if n_groups == 2:
        table["confirmed"] &= same
    return table


def _part(cohort: Cohort, rows: Mask) -> Cohort:
    """Return some rows, without covariates and sites that do not vary among them.

    The curve of a smooth covariate becomes a line if these rows have too few different values.
    """
    part = cohort.subset(rows)
    # If a part has only one site, or only women, there is no effect to hold fixed.
    columns = part.covariates.items()
    varying = {name: column for name, column in columns if len(np.unique(column)) > 1}
    site = part.site if part.site is not None and len(np.unique(part.site)) > 1 else None
    smooth = tuple(name for name in part.smooth if name in varying)
    part = replace(part, covariates=varying, smooth=smooth, site=site)
    return replace(part, smooth=part.design.curves_that_fit())


def _listed(sizes: Mapping[str, int]) -> str:
    """Return the groups with their sizes, for a sentence."""
    return ", ".join(f"{group} {size}" for group, size in sizes.items())


OF_PART = "in the part for {part:s}, {cause}"


@contextmanager
def _said_of(part: str) -> Iterator[None]:
    """Add the name of the part to errors and warnings about it."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            # Python shows a warning once per line of code. A warning about the discovery would hide
            # the same warning about the confirmation.
            warnings.simplefilter("always")
            yield
    except InputError as error:
        raise InputError("part", part=part, cause=error).says(OF_PART) from error
    finally:
        for warning in caught:
            problem = problem_of(warning.message)
            if issubclass(warning.category, DataWarning):
                problem = Problem("part", part=part, cause=problem).says(OF_PART)
            give(warning.category(problem))
