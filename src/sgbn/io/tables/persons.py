"""Columns that say who is behind a row: ids, persons, families."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from sgbn.io.tables.cells import Missing, parse
from sgbn.io.tables.raw import ROW_NAMES, RawTable, plain_name

# Names of id columns in lower case, letters and digits only, the likeliest first.
ID_NAMES = (
    *("subjectid", "participantid", "subjid", "subid", "subject", "participant", "subj", "sub"),
    *("id", "names", "srcsubjectid"),
)
PERSON_NAMES = (*ID_NAMES, "person", "personid", "patient", "patientid", "family", "familyid")
# What aparcstats2table and asegstats2table write above the subjects.
FREESURFER_ID = re.compile(r"measure:\w+|[lr]h\..+", re.IGNORECASE)
SUBJECT, PAIR, BLOCK = "--subject", "--pair", "--block"
MAX_SUBTYPES_PER_GROUP = 3  # a column with more labels per group does not name subtypes of it


def id_column(columns: Sequence[str], taken: Iterable[str] = ()) -> str | None:
    """Return the column whose name says that it holds ids, or None."""
    named = [column for column in columns if column != ROW_NAMES]
    free = [column for column in named if column not in set(taken)]
    plain = {
        plain_name(column): column for column in reversed(free)
    }  # of two names, the first counts
    for name in ID_NAMES:
        if name in plain:
            return plain[name]
    if free and (free[0] == named[0]) and FREESURFER_ID.fullmatch(free[0]):
        return free[0]
    return ROW_NAMES if ROW_NAMES in {*columns} - {*taken} else None


def repeated_persons(
    table: RawTable, taken: Iterable[str], group: Sequence[str] | None
) -> dict[str, dict[str, str]]:
    """Return columns without a role that may say who is behind several rows, with their option.

    The columns under ``persons`` are called like persons or families. Of those under ``nested``,
    each of the many labels is in one group, as those of persons are and those of sites are not.
    """
    used = {*taken, ROW_NAMES}
    free = [name for name in table.columns if name not in used]
    repeat = [name for name in free if 1 < table.frame[name].nunique() < len(table.frame)]
    options = {name: _option_for(table, name, group) for name in repeat}
    persons = {name: options[name] for name in repeat if plain_name(name) in PERSON_NAMES}
    nested = {
        name: option
        for name, option in options.items()
        if name not in persons and option == SUBJECT and _many(table, name, group)
    }
    by_kind = {"persons": persons, "nested": nested}
    return {kind: columns for kind, columns in by_kind.items() if columns}


def _option_for(table: RawTable, name: str, group: Sequence[str] | None) -> str:
    """Return the option that fits the rows of a label: in one group, or spread over several."""
    labels = table.frame[name].astype(str)
    if group is None:
        return SUBJECT
    groups_of = pd.Series(list(group), index=labels.index).groupby(labels).agg(["nunique", "size"])
    if (groups_of["nunique"] == 1).all():
        return SUBJECT
    # Visits of one person, one in each group, are pairs. Families may be anywhere.
    once = groups_of["nunique"] == groups_of["size"]
    return PAIR if (once & (groups_of["size"] == len(set(group)))).all() else BLOCK


def _many(table: RawTable, name: str, group: Sequence[str] | None) -> bool:
    """Whether a column has too many labels for subgroups, each with at least two rows."""
    counts = table.frame[name].astype(str).value_counts()
    if group is None or min(counts) < 2:
        return False
    return len(counts) > MAX_SUBTYPES_PER_GROUP * len(set(group))


def like_ids(table: RawTable, columns: Iterable[str], missing: Missing) -> list[str]:
    """Return those columns that end in "id" and hold whole numbers, each only once."""
    values = {
        name: parse(table, name, missing).values
        for name in columns
        if plain_name(name).endswith("id")
    }
    return [
        name
        for name, numbers in values.items()
        if len(np.unique(numbers)) == len(numbers) and (numbers == np.round(numbers)).all()
    ]
