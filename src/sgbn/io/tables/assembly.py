"""From a table and the names of its columns to a cohort."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError, did_you_mean, listed
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
from sgbn.types import Indices

PAIRED = "Keep one row per person and group, or name the right column (id=, --id)."
UNPAIRED = (
    f"{ONE_ROW} Visits of one person, one in each group, need the persons' column (pair=, --pair); "
    "so do several rows of a person in one group (subject=, --subject)."
)
# What to do about a blank cell, by role.
BLANK = {
    "site": "Fill it in",
    "pair": "Fill in who it is, also of a person with one visit",
    "subject": "Fill in who it is, also of a person with one row",
    "block": "Fill it in, also of someone without relatives",
}


def read_as_text(options: Options, columns: list[str]) -> set[str]:
    """Return those columns of a header whose cells must stay as written.

    As numbers, the ids 007 and 7 would be one.
    """
    named = {find_column(columns, name) for name in options.named}
    id_name = options.id or _called_id(columns, options)
    return {name for name in (*named, id_name) if name is not None}


def load_cells(source: Source, options: Options, **marks: Any) -> RawTable:
    """Return the cells of a table; `marks` are sheet, delimiter and decimal, see `load_table`."""
    return load_table(source, partial(read_as_text, options), **marks)


def find_id(table: RawTable, options: Options) -> str | None:
    """Return the id column: the one named, else one that is called so, else None."""
    if options.id is not None and options.id not in table.columns:
        raise unknown_column(table, options.id, "id")
    return options.id if options.id is not None else _called_id(table.columns, options)


def _called_id(columns: Sequence[str], options: Options) -> str | None:
    """Return the column that is called an id; the pair's only if there is no other."""
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
    """Check every column that is asked for, and make the cohort.

    Parameters
    ----------
    table : RawTable
        The cells, one row per subject.
    options : Options
        What the caller asks for.
    participants : path or DataFrame, optional
        A second table, joined by id or by `person`.
    id_name : str, optional
        Column of ids, if it is known by now; then `options.id` is that of the participants.
    person : str, optional
        Column by which participants are joined, where it is not that of the ids.

    Returns
    -------
    cohort : Cohort
    numbers : ndarray of int
        The rows of the table that the cohort has, as the origin numbers them.
    """
    id_name = find_id(table, options) if id_name is None else id_name
    # Rows without ids are known by their persons, who may be listed in the participants.
    if person is None and id_name is None and options.subject in table.columns:
        person = options.subject
    # The column of persons is also the only one of ids: visits get their names from the group.
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
        # Pairs have two rows of one id. The group tells them apart, before ids must be unique.
        table = name_visits(table, group)
    # Only now: rows of groups that are not wanted may repeat an id.
    check_ids(table, id_name, UNPAIRED if pair is None else PAIRED)
    person_labels, block, site = (
        _labels(table, columns, options, role) for role in ("subject", "block", "site")
    )
    covariates = {
        name: covariate(table, columns[name], options.missing) for name in options.covariates
    }
    taken = [*columns.values(), *([id_name] if id_name is not None else [])]
    # Sites of the participants are joined to ask about them. They are never regions.
    asked = [name for name in site_columns(table.others) if name not in taken]
    choice = choose_regions(table, taken, options, id_name is not None, never=asked)
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
    """Return columns without a role that may be persons or sites, about which a review asks."""
    has_units = any(name is not None for name in (options.pair, options.subject, options.block))
    repeated = {} if has_units else repeated_persons(table, used, group)
    sites = {}
    if options.site is None:
        # A site that was excluded by name was seen by the user, and needs no question.
        named = {*used, *excluded}
        free = [name for name in table.columns if name not in named]
        sites = unnamed_sites(table, free, group)
    questions = {"repeated": repeated, "unnamed_sites": sites}
    return {name: columns for name, columns in questions.items() if columns}


def _with_participants(
    table: RawTable, options: Options, participants: Source, person: str | None
) -> RawTable:
    """Return the table with columns of the participants, who may be listed by person."""
    keyed = with_ids(table, person) if person is not None else table
    joined = _joined(keyed, options, participants, person)
    # Subjects whom the participants lack may have been dropped. Each row keeps its own id.
    kept = np.isin(keyed.origin.numbers, joined.origin.numbers)
    return replace(joined, ids=table.keep(kept).ids)


def _as_array(cells: list[str] | None) -> NDArray[np.str_] | None:
    return None if cells is None else np.array(cells, dtype=str)


def load_participants(
    options: Options, participants: Source, person: str | None = None
) -> tuple[RawTable, str]:
    """Return the table of participants with their ids, each only once, and the column of ids.

    `person` is the column of the other table by which they are joined.
    """
    if person is not None:  # it may be the column of ids here, and then it has no role
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
            f"{people.name} has no column of ids, by which it could be joined. Call it "
            "'participant_id', or name it (id=, --id)."
        )
    people = with_ids(people, id_name)
    check_ids(people, id_name)
    return people, id_name


def _joined(
    table: RawTable, options: Options, participants: Source, person: str | None = None
) -> RawTable:
    """Return the table with the columns of the participants that it lacks and that are named."""
    people, id_name = load_participants(options, participants, person)
    # Tables of FreeSurfer are joined by then: each knows the column of its own ids.
    used = {facts.get("ids") for facts in table.facts.get("tables", [table.facts])}
    if options.id not in {None, *used, *table.columns, *people.columns}:
        raise unknown_column(table, str(options.id), "id", people)
    named = [name for name, role in options.named.items() if role != "id" and name != person]
    # A column that both tables have could differ between them.
    both = [name for name in named if {name} <= set(table.columns) & set(people.columns)]
    if both:
        raise InputError(
            f"{listed(both)} is a column of {table.name} and of {people.name}. Remove or rename it "
            "in one of them."
        )
    absent = [name for name in named if find_column(table.columns, name) is None]
    wanted = []
    for name in absent:
        column = find_column(people.columns, name)
        if column is None:
            raise unknown_column(table, name, options.named[name], people)
        wanted.append(column)
    if options.site is None:  # to ask about it, see `unnamed_sites`
        wanted += [name for name in site_columns(people.columns) if name not in table.columns]
    wanted = [name for name in dict.fromkeys(wanted) if name != id_name]
    ignored = [column for column in people.columns if column not in (id_name, *wanted)]
    people = replace(people, facts={**people.facts, "ignored": ignored})
    # Without a row there is no group, and only rows of the groups wanted are kept.
    may_lack = options.groups is not None and options.group in wanted
    drop = options.participants_missing == DROP
    return join_participants(table, people, wanted, may_lack, drop)


def _columns(table: RawTable, options: Options) -> dict[str, str]:
    """Return a mapping of the name that was asked for to the column, for all roles but the id."""
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
                f"{other!r} and {name!r} are both the column {column!r} of "
                f"{table.source_of(column)}. Name it once."
            )
        columns[name] = column
    return columns


def _groups(
    table: RawTable, columns: dict[str, str], options: Options
) -> tuple[RawTable, list[str] | None, dict[str, int]]:
    """Return the rows of the groups wanted, the group of each, and the sizes of other groups."""
    if options.group is None:
        return table, None, {}
    column = columns[options.group]
    group = text_labels(table, column, options.missing)
    left_out: dict[str, int] = {}
    if options.groups is not None:
        _check_groups(table, column, group, options.groups)
        # A label such as -999 is not an error where its rows are left out.
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
        "Fill it in, or give groups=[...] (--groups) to keep the rows of these groups alone.",
    )
    check_repeated(table, column, group, "group")
    return table, group, left_out


def _check_groups(
    table: RawTable, column: str, group: Sequence[str], wanted: Sequence[str]
) -> None:
    """Raise InputError if no row is of one of the groups wanted."""
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
    """Return the labels of the column that has this role, none missing; None without a column."""
    name = getattr(options, role)
    if name is None:
        return None
    column = columns[name]
    cells = text_labels(table, column, options.missing)
    if role == "site":  # persons and families may well be called 999
        check_label_sentinels(table, column, cells, options.missing)
    check_filled(table, column, cells, role, f"{BLANK[role]}, or remove the row.")
    return cells
