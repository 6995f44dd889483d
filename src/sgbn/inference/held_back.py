"""The choice of the rows that are held back for the confirmation of a replication."""

from __future__ import annotations

import numpy as np

from sgbn.cohort.cohort import SITE, Cohort
from sgbn.cohort.design import deal_rows
from sgbn.cohort.rows import too_few
from sgbn.core.exceptions import InputError, counted, did_you_mean, listed
from sgbn.core.types import Mask
from sgbn.core.validation import SEED
from sgbn.inference.difference_request import MIN_SUBJECTS_PER_GROUP

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
        labels = [column for column in (cohort.group, cohort.site) if column is not None]
        strata = [
            "\n".join(cells) for cells in zip(*(column.tolist() for column in labels), strict=True)
        ]
        # Each group at each site is halved. Persons and families stay whole.
        held_back = deal_rows(rng, len(cohort), 2, strata or None, cohort.units) == 1
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
        raise InputError(
            f"replicate is {how!r}. Give {HALF!r}, or COLUMN=VALUE, where COLUMN is the column of "
            "sites (--site) or a covariate (--covariates). "
            f"{_known_columns(name, [*columns])}"
        )
    column = columns[name]
    texts = np.array([_text(cell) for cell in column.tolist()])
    missing = int((texts == "").sum())
    if missing:
        raise InputError(
            f"replicate is {how!r}, but {name!r} is missing in {counted(missing, 'row')}. Fill it "
            f"in, leave these rows out, or give {HALF!r}."
        )
    # 2 and 2.0 are the same value of a column of numbers.
    number = _as_number(value) if column.dtype.kind in "fiub" else None
    marked: Mask = texts == value if number is None else column.astype(float) == number
    if not marked.any():
        values = [_text(cell) for cell in np.unique(column).tolist()]
        raise InputError(f"no row has {how} (replicate). {did_you_mean(value, values)}")
    return marked


def _known_columns(name: str, columns: list[str]) -> str:
    """Return a sentence about a column with a similar name, or about the option to add."""
    suggestion = did_you_mean(name, columns) if columns else ""
    # A typing error is more likely than a column that was not given.
    if suggestion.startswith("Did you mean"):
        return suggestion
    option = "--site" if name.lower() in (SITE, "scanner", "centre", "center") else "--covariates"
    given = f"Only {listed(columns)} can be used" if columns else "No such column is given"
    return f"{given}. To use {name!r}, add {option} {name}." if name else f"{given}."


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
            raise InputError(
                f"{how} separates the rows of {listed(both)} (persons, pairs or families). Give "
                f"{HALF!r}, which keeps them together, or another column."
            )
    for name, rows in ((DISCOVERY, ~held_back), (CONFIRMATION, held_back)):
        sizes = {
            group: count_subjects(cohort, rows & (cohort.group == group)) for group in cohort.groups
        }
        group, size = min(
            sizes.items(), key=lambda item: item[1], default=("", MIN_SUBJECTS_PER_GROUP)
        )
        if size < MIN_SUBJECTS_PER_GROUP:
            raise InputError(
                too_few(
                    f"group {group!r} in the part for {name} ({how})",
                    size,
                    "tests of differences need",
                    MIN_SUBJECTS_PER_GROUP,
                    "Hold back other rows, merge groups, or leave out the replication.",
                )
            )


def count_subjects(cohort: Cohort, rows: Mask) -> int:
    """Return the number of subjects among some rows."""
    return int(rows.sum()) if cohort.persons is None else len(np.unique(cohort.persons[rows]))
