"""Do differences come back in other subjects? Discovery and confirmation inside one study.

The subjects are split into two parts that share no person. All edges are tested in the first part,
the discovery. Those that it finds are tested in the second part, the confirmation, as edges that
were named beforehand: few tests, each with p from its own permutations. Neither part is prepared
with the other, so that the confirmation is as good as a study of its own, of these sites and
scanners.
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

from sgbn.cohort import SITE, Cohort
from sgbn.exceptions import DataWarning, InputError, did_you_mean, listed, warn
from sgbn.inference.difference_input import FEWEST
from sgbn.inference.differences import Differences, edge_differences
from sgbn.inference.permutation_p import permutations_needed
from sgbn.parameters import SEED, SHARE
from sgbn.runs import Study
from sgbn.structure import SGBN
from sgbn.structure.ensemble.splits import deal_rows
from sgbn.structure.smooth import with_curves_that_fit
from sgbn.types import Array, Mask

HALF = "half"
DISCOVERY, CONFIRMATION = "discovery", "confirmation"
CONFIRMING = 2  # times the permutations with which Holm's method can confirm all discovered edges
COLUMNS = [
    *(("source", object), ("target", object), ("difference_discovery", float)),
    *(("difference_confirmation", float), ("q_discovery", float), ("holds_both_ways", bool)),
    *(("p", float), ("p_holm", float), ("same_sign", bool), ("confirmed", bool)),
]


@dataclass(frozen=True)
class Replication:
    """Differences that one part of the subjects shows, tested in the others.

    Attributes
    ----------
    groups : tuple of str
    sizes : dict of {"discovery", "confirmation"} to dict of group to int
        Subjects of each group that were tested, without those left out. Without a discovery nobody
        is tested in the confirmation: then all that were held back.
    table : structured ndarray
        One row per discovered edge, the surest of the discovery first: source, target,
        difference_discovery and difference_confirmation (of the last group from the first, per
        standard deviation of the residuals of that part), q_discovery, holds_both_ways (q_both of
        the discovery and p_both of the confirmation are at most the level), p and p_holm (of the
        confirmation; p_holm corrects over all discovered edges), same_sign (whether both
        differences have one sign), confirmed. Of two groups p is one-sided, in the direction of the
        discovery.
    level : float
    tested : int
        Edges that were tested in the discovery.
    n_permutations : int
        Of the discovery. The confirmation has more where the correction over many edges needs them.
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
        found: NDArray[Any] = self.table[self.table["confirmed"]]
        return found

    @property
    def same_sign(self) -> float:
        """Share of the discovered edges whose difference has the same sign; NaN without any."""
        return float(self.table["same_sign"].mean()) if len(self.table) else np.nan

    @property
    def words(self) -> str:
        """What came out, in a few sentences."""
        who = "; ".join(
            f"for {part} {_listed(self.sizes[part])}" for part in (DISCOVERY, CONFIRMATION)
        )
        split = f"The subjects were split: {who}{self._without}."
        if not len(self.table):
            return (
                f"{split} The discovery finds none of {self.tested} edges at a false discovery "
                f"rate of {self.level:.0%}, so that there was nothing to confirm."
            )
        n, names = len(self.table), [_edge_text(row) for row in self.confirmed]
        corrected = f", corrected over the {n} edges by Holm's method" if n > 1 else ""
        one_way = " One way: it may be a change of variance."
        return (
            f"{split} Of {n} edge{'s' * (n > 1)} found in the discovery, {len(names)} "
            f"{'is' if len(names) == 1 else 'are'} confirmed (p at most {self.level:g}{corrected})"
            f"{': ' + '; '.join(names) if names else ''}. {self.table['same_sign'].sum()} of {n} "
            f"{'has' if n == 1 else 'have'} the same sign."
            f"{'' if self.confirmed['holds_both_ways'].all() else one_way}"
        )

    @property
    def _without(self) -> str:
        """Say how many rows were left out of the tests."""
        parts = [names for part in self.left_out.values() for names in part.values()]
        n = sum(map(len, parts))
        return f" ({n} left out, far from the others of their group)" if n else ""


def _edge_text(row: Any) -> str:
    """Name an edge, and whether it holds one way only."""
    return f"{row['source']} – {row['target']}{'' if row['holds_both_ways'] else ' (one way)'}"


def replication_rows(cohort: Cohort, how: str, random_state: int = 0) -> Mask:
    """Mark the rows that are held back for the confirmation.

    Parameters
    ----------
    cohort : Cohort
    how : str
        ``"half"``: a random half of each group at each site. Rows of one person, pair or family
        stay together. Or ``"COLUMN=VALUE"``: the rows of a site (``site=NYU``, or the column's name
        in the table that was read) or with this value of a covariate (``sex=F``).
    random_state : int
        Of the random half.
    """
    if how == HALF:
        rng = np.random.default_rng(SEED.check("random_state", random_state))
        labels = [one for one in (cohort.group, cohort.site) if one is not None]
        strata = ["\n".join(own) for own in zip(*(one.tolist() for one in labels), strict=True)]
        held_back = deal_rows(rng, len(cohort), 2, strata or None, cohort.units) == 1
    else:
        held_back = _rows_with(cohort, how)
    _check_parts(cohort, held_back, how)
    return held_back


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
    """Test all edges in one part of the subjects, and what is found in the other part.

    Parameters
    ----------
    cohort : Cohort
        With groups.
    held_back : array-like of bool, or str
        Rows of the confirmation; or how they are chosen, see `replication_rows`.
    prepare : callable, optional
        Makes the cohort that is tested of each part, by itself: fills in gaps, harmonises sites.
        Without it no cell may be missing; covariates and sites are held fixed in any case.
    reference, learner, n_permutations, n_jobs, progress
        As of `edge_differences`.
    outliers : {"trim", "keep"}
        Whether subjects that lie far from the others of their group are left out of each part.
    level : float
        Of the false discovery rate in the discovery, and of the family-wise p in the confirmation.
    random_state : int
        Of the permutations, and of a random half.
    folder : path, optional
        Keeps finished permutations; a second start does only what is missing.

    Notes
    -----
    The p of a discovered edge comes from its own permutations in the confirmation. With two groups
    it is one-sided, in the direction of the discovery. With more groups a difference has no
    direction: p is two-sided, and `same_sign` is that of the last group from the first. Holm's
    correction is over the edges that were discovered.

    Examples
    --------
    >>> import sgbn
    >>> from sgbn.inference import replicate_differences
    >>> cohort = sgbn.simulate_cohort(60, regions=8, n_changed=2, random_state=2)
    >>> found = replicate_differences(cohort, "half", n_permutations=39)
    >>> len(found.confirmed) <= len(found.table)
    True
    """
    SHARE.check("level", level)
    if isinstance(held_back, str):
        marked = replication_rows(cohort, held_back, random_state)
    else:
        marked = np.asarray(held_back)
        if marked.shape != (len(cohort),) or marked.dtype != bool:
            raise InputError(
                f"held_back has shape {marked.shape} and type {marked.dtype}: give True or False "
                f"for each of {len(cohort)} rows, {HALF!r}, or 'COLUMN=VALUE'."
            )
        _check_parts(cohort, marked)
    prepare = (lambda part: part) if prepare is None else prepare
    ways: dict[str, Any] = {
        "reference": reference,
        "learner": learner,
        "outliers": outliers,
        "n_permutations": n_permutations,
        "random_state": random_state,
    }
    study = Study(folder, n_jobs, progress)

    parts = {}
    for name, rows in ((DISCOVERY, ~marked), (CONFIRMATION, marked)):
        with _said_of(name):  # both before the first permutation, so that errors come early
            parts[name] = prepare(_part(cohort, rows))

    def tests(name: str, **more: Any) -> Differences:
        own = asdict(study.part(name))
        with _said_of(name):
            found = edge_differences(parts[name], **(ways | own | more))
        left_out[name] = found.left_out
        sizes[name] = _sizes(parts[name], found.groups, found.left_out)
        return found

    left_out: dict[str, Mapping[str, tuple[Any, ...]]] = {}
    sizes: dict[str, dict[str, int]] = {}
    discovery = tests(DISCOVERY)
    found = discovery.significant(level)
    edges = [(str(edge["source"]), str(edge["target"])) for edge in found]
    named = None
    if edges:
        enough = CONFIRMING * permutations_needed(level / len(edges))
        confirming = {"edges": edges, "n_permutations": max(discovery.n_permutations, enough)}
        named = tests(CONFIRMATION, **confirming).named
    if named is None:
        sizes[CONFIRMATION] = _sizes(cohort.subset(marked), discovery.groups, {})
    return Replication(
        discovery.groups,
        sizes,
        _table(found, named, level, len(discovery.groups)),
        level,
        len(discovery.edges),
        discovery.n_permutations,
        discovery,
        left_out,
    )


def _sizes(
    part: Cohort, groups: Sequence[str], left_out: Mapping[str, tuple[Any, ...]]
) -> dict[str, int]:
    """Subjects of each group that are tested."""
    gone = {name for names in left_out.values() for name in names}
    kept = np.array([name not in gone for name in part.ids])
    return {group: _persons(part, kept & (part.group == group)) for group in groups}


def holm(p: Array) -> Array:
    """Family-wise p by Holm's method."""
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    found = np.empty(len(p))
    found[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return found


def _table(
    found: NDArray[Any], named: NDArray[Any] | None, level: float, n_groups: int
) -> NDArray[Any]:
    table = np.zeros(len(found), dtype=COLUMNS)
    for name in ("source", "target"):
        table[name] = found[name]
    table["difference_discovery"] = found["difference_std"]
    table["q_discovery"] = found["q"]
    if named is None:
        return table
    table["holds_both_ways"] = (found["q_both"] <= level) & (named["p_both"] <= level)
    table["difference_confirmation"] = named["difference_std"]
    same = np.sign(found["difference_std"]) == np.sign(named["difference_std"])
    p = named["p"]
    if n_groups == 2:
        p = np.where(found["difference_std"] > 0, named["p_greater"], named["p_less"])
    table["same_sign"], table["p"], table["p_holm"] = same, p, holm(p)
    table["confirmed"] = table["p_holm"] <= level
    if n_groups == 2:
        table["confirmed"] &= same
    return table


def _part(cohort: Cohort, rows: Mask) -> Cohort:
    """Take some rows, without covariates and sites that do not vary among them.

    A curve for which they have too few different values becomes linear.
    """
    part = cohort.subset(rows)
    varying = {
        name: column for name, column in part.covariates.items() if len(np.unique(column)) > 1
    }
    site = part.site if part.site is not None and len(np.unique(part.site)) > 1 else None
    smooth = tuple(name for name in part.smooth if name in varying)
    return with_curves_that_fit(replace(part, covariates=varying, smooth=smooth, site=site))


def _rows_with(cohort: Cohort, how: str) -> Mask:
    """Rows with a value in a column."""
    name, sign, value = how.partition("=")
    columns = dict(cohort.covariates)
    if cohort.site is not None:
        columns |= {str(cohort.provenance.get("site_column", SITE)): cohort.site, SITE: cohort.site}
    if not sign or name not in columns:
        raise InputError(
            f"replicate is {how!r}: give {HALF!r}, or COLUMN=VALUE with a column that is named as "
            f"site or covariate (--site, --covariates). {_known_columns(name, [*columns])}"
        )
    column = columns[name]
    texts = np.array([_text(cell) for cell in column.tolist()])
    missing = int((texts == "").sum())
    if missing:
        raise InputError(
            f"replicate is {how!r}, but {name!r} is missing in {missing} "
            f"row{'s' * (missing > 1)}. Fill it in, leave these rows out, or give {HALF!r}."
        )
    number = _as_number(value) if column.dtype.kind in "fiub" else None
    found: Mask = texts == value if number is None else column.astype(float) == number
    if not found.any():
        values = [_text(cell) for cell in np.unique(column).tolist()]
        raise InputError(f"no row has {how} (replicate). {did_you_mean(value, values)}")
    return found


def _known_columns(name: str, columns: list[str]) -> str:
    """Sentence about the column that is likely meant, or about the option that names it."""
    near = did_you_mean(name, columns) if columns else "None is."
    if near.startswith("Did you mean"):
        return near
    option = "--site" if name.lower() in (SITE, "scanner", "centre", "center") else "--covariates"
    named = f"Named are {listed(columns)}" if columns else "None is"
    return f"{named}: say {option} {name} first." if name else f"{named}."


def _as_number(value: str) -> float | None:
    try:
        return float(value)
    except ValueError:
        return None


def _text(cell: object) -> str:
    """Cell as one writes it; "" where it is missing."""
    if isinstance(cell, float):
        if cell != cell:
            return ""
        return f"{cell:g}" if float(f"{cell:g}") == cell else repr(cell)
    return str(cell)


def _check_parts(cohort: Cohort, held_back: Mask, how: str = "held_back") -> None:
    """Refuse parts that share a person, or that are too small."""
    units = cohort.units
    if units is not None:
        both = np.intersect1d(units[held_back], units[~held_back]).tolist()
        if both:
            raise InputError(
                f"{how} parts the rows of {listed(both)} (persons, pairs or families). Give "
                f"{HALF!r}, which keeps them together, or another column."
            )
    for name, rows in ((DISCOVERY, ~held_back), (CONFIRMATION, held_back)):
        sizes = {group: _persons(cohort, rows & (cohort.group == group)) for group in cohort.groups}
        group, size = min(sizes.items(), key=lambda item: item[1], default=("", FEWEST))
        if size < FEWEST:
            raise InputError(
                f"the part for {name} ({how}) has {size} subjects of the group {group!r}: tests "
                f"need {FEWEST} or more of each group. Hold back other rows, merge groups, or "
                "do without a replication."
            )


def _persons(cohort: Cohort, rows: Mask) -> int:
    """Subjects among some rows."""
    return int(rows.sum()) if cohort.persons is None else len(np.unique(cohort.persons[rows]))


def _listed(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{group} {size}" for group, size in sizes.items())


@contextmanager
def _said_of(part: str) -> Iterator[None]:
    """Name the part in errors and warnings about it."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
    except InputError as error:
        raise InputError(f"in the part for {part}, {error}") from error
    finally:
        for one in caught:
            text = str(one.message)
            ours = issubclass(one.category, DataWarning)
            warn(f"in the part for {part}, {text}" if ours else text, one.category)
