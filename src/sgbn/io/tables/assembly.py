"""The step from a table, and the roles of its columns, to a cohort."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.cohort.cohort import Cohort
from sgbn.core.exceptions import InputError, did_you_mean, listed
from sgbn.core.types import Indices
from sgbn.io.tables.cells import (
    check_filled,
    check_label_sentinels,
    check_repeated,
    covariate,
    region_values,
    text_labels,
)
from sgbn.io.tables.columns import choose_regions, find_column, unknown_column
from sgbn.io.tables.files import Source, load_table
from sgbn.io.tables.joins import ONE_ROW, check_ids, join_participants, name_visits, with_ids
from sgbn.io.tables.options import DROP, Options
from sgbn.io.tables.persons import id_column, repeated_persons
from sgbn.io.tables.raw import ROW_NAMES, RawTable
from sgbn.io.tables.unnamed import site_columns, unnamed_sites

PAIRED = "Keep one row per person and group, or name the right column (id=, --id)."
UNPAIRED = (
    f"{ONE_ROW} If each person has one visit in every group, name the column of persons as the "
    "pair (pair=, --pair). If a person has several rows in one group, name this column as the "
    "subject (subject=, --subject)."
)
# What to do about a blank cell, for each role.
BLANK = {
    "site": "Fill it in",
    "pair": "Fill in the person, even if this person has only one visit",
    "subject": "Fill in the person, even if this person has only one row",
    "block": "Fill it in, even for someone without relatives",
}


def read_as_text(options: Options, columns: list[str]) -> set[str]:
    """Return the columns of a header whose cells must be read as text.

    If they were read as numbers, 007 and 7 would become the same id.
    """
    named = {find_column(columns, name) for name in options.named}
    id_name = options.id or _called_id(columns, options)
    return {name for name in (*named, id_name) if name is not None}


def load_cells(source: Source, options: Options, **marks: Any) -> RawTable:
    """Return the cells of a table. `marks` are sheet, delimiter and decimal, see `load_table`."""
    return load_table(source, partial(read_as_text, options), **marks)


def find_id(table: RawTable, options: Options) -> str | None:
    """Return the name of the id column, or None if there is no id column.

    If the caller names no id column, it is a column whose name says that it holds ids.
    """
    if options.id is not None and options.id not in table.columns:
        raise unknown_column(table, options.id, "id")
    return options.id if options.id is not None else _called_id(table.columns, options)


def _called_id(columns: Sequence[str], options: Options) -> str | None:
    """Return the column whose name says that it holds ids, or None.

    The column of the pair is taken only if no other column holds ids.
    """
    id_name = id_column(columns, options.named)
    if options.pair is None or id_name not in (None, ROW_NAMES):
        return id_name
    other_roles = [name for name, role in options.named.items() if role != "pair"]
    return id_column(columns, other_roles)


def assemble(
    table: RawTable,
    options: Options,
    participants: Source | None = None,
    id_name: str | None = None,
    person: str | None = None,
) -> tuple[Cohort, Indices]:
    """Check every column that the caller asks for, and return the cohort.

    Parameters
    ----------
    table : RawTable
        The cells, one row per subject.
    options : Options
        What the caller asks for.
    participants : path or DataFrame, optional
        A second table. It is joined by id, or by `person` if that is given.
    id_name : str, optional
        The id column of the table, if it is already known. `options.id` is then the id column of
        the participants.
    person : str, optional
        Column by which the participants are joined, if this is not the id column.

    Returns
    -------
    cohort : Cohort
        The cohort in the table, with one subject per row that was kept.
    numbers : ndarray of int
        The numbers of the rows that are in the cohort, counted as in the file of the table.
    """
    id_name = find_id(table, options) if id_name is None else id_name
    # Rows without ids are joined by their persons, whom the participants may list.
    if person is None and id_name is None and options.subject in table.columns:
        person = options.subject
    # If one column holds both the persons and the ids, the group is added to the id of each visit.
    if options.id is None and id_name is not None and id_name == options.pair:
        options = replace(options, id=id_name)
    table = with_ids(table, id_name)
    if participants is not None:
        table = _with_participants(table, options, participants, person)
    columns = _columns(table, options)
    table, group, left_out = _groups(table, columns, options)
    by_id = options.pair is not None and options.pair == options.id
    pair = list(table.ids) if by_id else _labels(table, columns, options, "pair")
    if pair is not None and group is not None:
        # The visits of a person have the same id, until the group is added to it.
        table = name_visits(table, group)
    # Ids are checked only now, because rows of groups that are left out may repeat an id.
    check_ids(table, id_name, UNPAIRED if pair is None else PAIRED)
    person_labels, block, site = (
        _labels(table, columns, options, role) for role in ("subject", "block", "site")
    )
    covariates = {
        name: covariate(table, columns[name], options.missing) for name in options.covariates
    }
    taken = [*columns.values(), *([id_name] if id_name is not None else [])]
    # Site columns of the participants are joined only to ask the user about them.
    joined_sites = [name for name in site_columns(table.others) if name not in taken]
    choice = choose_regions(table, taken, options, id_name is not None, never=joined_sites)
    facts = {
        **table.facts,
        "ids": "row numbers" if id_name is None else id_name,
        "left_out": left_out,
        **({} if options.site is None else {"site_column": columns[options.site]}),
        **choice.facts,
        **_questions(table, [*taken, *choice.regions], choice.facts["excluded"], group, options),
    }
    cohort = Cohort(
        region_values(table, choice.regions, options.missing),
        choice.regions,
        table.ids,
        group=_as_array(group),
        site=_as_array(site),
        pair=_as_array(pair),
        person=_as_array(person_labels),
        block=_as_array(block),
        covariates=covariates,
        smooth=options.smooth,
        atlas=choice.atlas,
        provenance=facts,
    )
    return cohort, table.origin.numbers


def _questions(
    table: RawTable,
    used: Sequence[str],
    excluded: Sequence[str],
    group: Sequence[str] | None,
    options: Options,
) -> dict[str, Any]:
    """Return columns without a role that may hold persons or sites. A review asks about them."""
    has_units = any(name is not None for name in (options.pair, options.subject, options.block))
    repeated = {} if has_units else repeated_persons(table, used, group)
    sites = {}
    if options.site is None:
        # If the user excluded a site column by name, the user knows it, and no question is needed.
        named = {*used, *excluded}
        free = [name for name in table.columns if name not in named]
        sites = unnamed_sites(table, free, group)
    questions = {"repeated": repeated, "unnamed_sites": sites}
    return {name: columns for name, columns in questions.items() if columns}


def _with_participants(
    table: RawTable, options: Options, participants: Source, person: str | None
) -> RawTable:
    """Return the table with the columns of the participants, joined by id or by person."""
    keyed = with_ids(table, person) if person is not None else table
    joined = _joined(keyed, options, participants, person)
    # The join may have dropped subjects who are not listed. All other rows keep their ids.
    kept = np.isin(keyed.origin.numbers, joined.origin.numbers)
    return replace(joined, ids=table.keep(kept).ids)


def _as_array(cells: list[str] | None) -> NDArray[np.str_] | None:
    return None if cells is None else np.array(cells, dtype=str)


def load_participants(
    options: Options, participants: Source, person: str | None = None
) -> tuple[RawTable, str]:
    """Return the table of participants and its id column. Each id may occur only once.

    `person` is the column of the other table by which the participants are joined.
    """
    if person is not None:  # among the participants it may be the id column, with no other role
        subject, pair = (
            None if name == person else name for name in (options.subject, options.pair)
        )
        options = replace(options, subject=subject, pair=pair)
    people = load_cells(participants, options)
    id_name = find_id(
        people, options if options.id in people.columns else replace(options, id=None)
    )
    if id_name is None:
        raise InputError(
            f"{people.name} has no column of ids, so it cannot be joined. Call the column of "
            "ids 'participant_id', or name it (id=, --id)."
        )
    people = with_ids(people, id_name)
    check_ids(people, id_name)
    return people, id_name


def _joined(
    table: RawTable, options: Options, participants: Source, person: str | None = None
) -> RawTable:
    """Return the table with the named columns that only the participants have."""
    people, id_name = load_participants(options, participants, person)
    # FreeSurfer tables were joined before this step. The facts of each name its id column.
    id_columns = {facts.get("ids") for facts in table.facts.get("tables", [table.facts])}
    if options.id not in {None, *id_columns, *table.columns, *people.columns}:
        raise unknown_column(table, str(options.id), "id", people)
    named = [name for name, role in options.named.items() if role != "id" and name != person]
    # If both tables have a column, its cells could differ between them.
    shared = set(table.columns) & set(people.columns)
    both = [name for name in named if name in shared]
    if both:
        raise InputError(
            f"{table.name} and {people.name} have these columns in common: {listed(both)}. Remove "
            "or rename each of them in one of the two tables."
        )
    absent = [name for name in named if find_column(table.columns, name) is None]
    wanted = []
    for name in absent:
        column = find_column(people.columns, name)
        if column is None:
            raise unknown_column(table, name, options.named[name], people)
        wanted.append(column)
    if options.site is None:  # to ask the user about site columns, see `unnamed_sites`
        wanted += [name for name in site_columns(people.columns) if name not in table.columns]
    wanted = [name for name in dict.fromkeys(wanted) if name != id_name]
    ignored = [column for column in people.columns if column not in (id_name, *wanted)]
    people = replace(people, facts={**people.facts, "ignored": ignored})
    # A subject who is not listed has no group. If `groups` is given, this subject is left out.
    may_lack = options.groups is not None and options.group in wanted
    drop = options.participants_missing == DROP
    return join_participants(table, people, wanted, may_lack, drop)


def _columns(table: RawTable, options: Options) -> dict[str, str]:
    """Return the column of each name to which the caller gave a role, except for the id."""
    columns: dict[str, str] = {}
    for name, role in options.named.items():
        if role == "id":
            continue
        column = find_column(table.columns, name)
        if column is None:
            raise unknown_column(table, name, role)
        other = next((asked for asked, taken in columns.items() if taken == column), None)
        if other is not None:
            raise InputError(
                f"{other!r} and {name!r} both mean the column {column!r} of "
                f"{table.source_of(column)}. Name it only once."
            )
        columns[name] = column
    return columns


def _groups(
    table: RawTable, columns: dict[str, str], options: Options
) -> tuple[RawTable, list[str] | None, dict[str, int]]:
    """Return the rows of the wanted groups, the group of each row, and sizes of other groups."""
    if options.group is None:
        return table, None, {}
    column = columns[options.group]
    group = text_labels(table, column, options.missing)
    left_out: dict[str, int] = {}
    if options.groups is not None:
        _check_groups(table, column, group, options.groups)
        # A label such as -999 is not an error if its rows are left out.
        kept = np.array([label in options.groups for label in group], dtype=bool)
        left_out = dict(Counter(label for label, k in zip(group, kept, strict=True) if not k))
        table = table.keep(kept)
        group = [label for label in group if label in options.groups]
    else:
        check_label_sentinels(table, column, group, options.missing)
    check_filled(
        table,
        column,
        group,
        "group",
        "Fill it in, or give groups=[...] (--groups) to keep only the rows of these groups.",
    )
    check_repeated(table, column, group, "group")
    return table, group, left_out


def _check_groups(
    table: RawTable, column: str, group: Sequence[str], wanted: Sequence[str]
) -> None:
    """Raise InputError if a wanted group has no rows."""
    present = sorted({label for label in group if label})
    for name in wanted:
        if name not in present:
            raise InputError(
                f"{table.source_of(column)}, column {column!r} has no group {name!r}. "
                + did_you_mean(name, present)
            )


def _labels(
    table: RawTable, columns: dict[str, str], options: Options, role: str
) -> list[str] | None:
    """Return the labels of the column with this role, or None if no column has it.

    A missing label is an error.
    """
    name = getattr(options, role)
    if name is None:
        return None
    column = columns[name]
    cells = text_labels(table, column, options.missing)
    if role == "site":  # persons and families may well be called 999
        check_label_sentinels(table, column, cells, options.missing)
    check_filled(table, column, cells, role, f"{BLANK[role]}, or remove the row.")
    return cells
