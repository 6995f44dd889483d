"""Columns that say to whom a row belongs: ids, persons, families."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from sgbn.io.tables.cells import Missing, parse
from sgbn.io.tables.raw import ROW_NAMES, RawTable, plain_name

# Names of id columns in lower case, with letters and digits only. The likeliest come first.
ID_NAMES = (
    *("subjectid", "participantid", "subjid", "subid", "subject", "participant", "subj", "sub"),
    *("id", "names", "srcsubjectid"),
)
PERSON_NAMES = (*ID_NAMES, "person", "personid", "patient", "patientid", "family", "familyid")
# The name that aparcstats2table and asegstats2table give the column of subjects.
FREESURFER_ID = re.compile(r"measure:\w+|[lr]h\..+", re.IGNORECASE)
SUBJECT, PAIR, BLOCK = "--subject", "--pair", "--block"
MAX_SUBTYPES_PER_GROUP = 3  # a column with more labels per group does not hold subtypes of groups


def id_column(columns: Sequence[str], taken: Iterable[str] = ()) -> str | None:
    """Return the column whose name says that it holds ids, or None."""
    named = [column for column in columns if column != ROW_NAMES]
    free = [column for column in named if column not in set(taken)]
    # Reversed, so that the first of two columns with the same plain name is kept.
    plain = {plain_name(column): column for column in reversed(free)}
    for name in ID_NAMES:
        if name in plain:
            return plain[name]
    if free and free[0] == named[0] and FREESURFER_ID.fullmatch(free[0]):
        return free[0]
    return ROW_NAMES if ROW_NAMES in {*columns} - {*taken} else None


def repeated_persons(
    table: RawTable, taken: Iterable[str], group: Sequence[str] | None
) -> dict[str, dict[str, str]]:
    """Return the columns without a role that may hold persons, and the option for each column.

    The columns under ``persons`` are named like persons or families. The columns under ``nested``
    have many labels, and all rows of a label are in the same group. Columns of persons are like
    this, and columns of sites are not.
    """
    used = {*taken, ROW_NAMES}
    free = [name for name in table.columns if name not in used]
    repeating = [name for name in free if 1 < table.frame[name].nunique() < len(table.frame)]
    options = {name: _option_for(table, name, group) for name in repeating}
    persons = {name: options[name] for name in repeating if plain_name(name) in PERSON_NAMES}
    nested = {
        name: option
        for name, option in options.items()
        if name not in persons and option == SUBJECT and _has_many_labels(table, name, group)
    }
    by_kind = {"persons": persons, "nested": nested}
    return {kind: columns for kind, columns in by_kind.items() if columns}


def _option_for(table: RawTable, name: str, group: Sequence[str] | None) -> str:
    """Return the option for a column. It depends on whether a label has rows in several groups."""
    labels = table.frame[name].astype(str)
    if group is None:
        return SUBJECT
    groups_of = pd.Series(list(group), index=labels.index).groupby(labels).agg(["nunique", "size"])
    if (groups_of["nunique"] == 1).all():
        return SUBJECT
    # Visits are pairs if each person has one visit in every group. A family may have any rows.
    once = groups_of["nunique"] == groups_of["size"]
    return PAIR if (once & (groups_of["size"] == len(set(group)))).all() else BLOCK


def _has_many_labels(table: RawTable, name: str, group: Sequence[str] | None) -> bool:
    """Return whether a column has too many labels for subgroups, each with at least two rows."""
    counts = table.frame[name].astype(str).value_counts()
    if group is None or min(counts) < 2:
        return False
    return len(counts) > MAX_SUBTYPES_PER_GROUP * len(set(group))


def like_ids(table: RawTable, columns: Iterable[str], missing: Missing) -> list[str]:
    """Return the columns whose name ends in "id" and whose cells are distinct whole numbers."""
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
