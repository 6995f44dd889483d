"""From a table and the names of its columns to a cohort."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError, counted, did_you_mean, listed
from sgbn.io.tables.cells import (
    check_label_sentinels,
    check_repeated,
    covariate,
    first_blank,
    region_values,
    text_labels,
)
from sgbn.io.tables.columns import (
    choose_regions,
    find_column,
    id_column,
    repeated_persons,
    unknown_column,
)
from sgbn.io.tables.files import Source, load_table
from sgbn.io.tables.joins import ONE_ROW, check_ids, join_participants, name_visits, with_ids
from sgbn.io.tables.options import DROP, Options
from sgbn.io.tables.raw import ROW_NAMES, RawTable
from sgbn.io.tables.unnamed import site_columns, unnamed_sites
from sgbn.types import Indices

PAIRED = "Keep one row per person and group, or name the right column (id=, --id)."
UNPAIRED = (
    f"{ONE_ROW} Visits of one person, one in each group, need the persons' column (pair=, --pair); "
    "so do several rows of a person in one group (subject=, --subject)."
)
BLANK = {
    "site": "Fill it in",
    "pair": "Fill in who it is, also of a person with one visit",
    "subject": "Fill in who it is, also of a person with one row",
    "block": "Fill it in, also of someone without relatives",
}


def read_as_text(options: Options, columns: list[str]) -> set[str]:
    """Columns of a header whose cells must stay as written."""
    named = {find_column(columns, name) for name in options.named}
    own = options.id or _own_id(columns, options)
    return {name for name in (*named, own) if name is not None}


def find_id(table: RawTable, options: Options) -> str | None:
    """Id column: the one named, else one that is called so."""
    if options.id is not None and options.id not in table.columns:
        raise unknown_column(table, options.id, "id")
    return options.id if options.id is not None else _own_id(table.columns, options)


def _own_id(columns: Sequence[str], options: Options) -> str | None:
    """Column that is called an id: the pair's only if there is no other."""
    found = id_column(columns, options.named)
    if options.pair is None or found not in (None, ROW_NAMES):
        return found
    others = [name for name, role in options.named.items() if role != "pair"]
    return id_column(columns, others)


def assemble(
    table: RawTable, options: Options, participants: Source | None = None, own: str | None = None
) -> Cohort:
    """Check every column that is asked for, and make the cohort.

    Parameters
    ----------
    own : str, optional
        Column of ids, if it is known by now; then `options.id` is that of the participants.
    """
    return assemble_rows(table, options, participants, own)[0]


def assemble_rows(
    table: RawTable,
    options: Options,
    participants: Source | None = None,
    own: str | None = None,
    person: str | None = None,
) -> tuple[Cohort, Indices]:
    """Make the cohort as `assemble` does, and say which rows of the table it has, by their numbers.

    Parameters
    ----------
    person : str, optional
        Column by which participants are joined, where it is not that of the ids.
    """
    own = find_id(table, options) if own is None else own
    if person is None and own is None and options.subject in table.columns:
        person = options.subject
    if options.id is None and own is not None and own == options.pair:
        options = replace(options, id=own)
    table = with_ids(table, own)
    if participants is not None:
        keyed = with_ids(table, person) if person is not None else table
        joined = _joined(keyed, options, participants, person)
        kept = np.isin(keyed.origin.numbers, joined.origin.numbers)
        table = replace(joined, ids=table.keep(kept).ids)
    columns = _columns(table, options)
    table, group, left_out = _groups(table, columns, options)
    pair = list(table.ids) if _is_id(options) else _labels(table, columns, options, "pair")
    if pair is not None and group is not None:
        table = name_visits(table, group)
    check_ids(table, own, UNPAIRED if pair is None else PAIRED)
    labels = {
        "site": _labels(table, columns, options, "site"),
        "pair": pair,
        "person": _labels(table, columns, options, "subject"),
        "block": _labels(table, columns, options, "block"),
    }
    covariates = {
        name: covariate(table, columns[name], options.missing) for name in options.covariates
    }
    taken = [*columns.values(), *([own] if own is not None else [])]
    asked = [name for name in site_columns(table.others) if name not in taken]
    choice = choose_regions(table, taken, options, own is not None, never=asked)
    unnamed = [*taken, *choice.regions]
    repeated = {} if _has_units(labels) else repeated_persons(table, unnamed, group)
    sites = {}
    if options.site is None:
        used = {*unnamed, *choice.facts["excluded"]}
        free = [name for name in table.columns if name not in used]
        sites = unnamed_sites(table, free, group)
    facts = {
        **table.facts,
        "ids": "row numbers" if own is None else own,
        "left_out": left_out,
        **({} if options.site is None else {"site_column": columns[options.site]}),
        **choice.facts,
        **({"repeated": repeated} if repeated else {}),
        **({"unnamed_sites": sites} if sites else {}),
    }
    cohort = Cohort(
        region_values(table, choice.regions, options.missing),
        choice.regions,
        table.ids,
        group=None if group is None else np.array(group, dtype=str),
        covariates=covariates,
        smooth=options.smooth,
        atlas=choice.atlas,
        provenance=facts,
        **{
            name: None if found is None else np.array(found, dtype=str)
            for name, found in labels.items()
        },
    )
    return cohort, table.origin.numbers


def load_participants(
    options: Options, participants: Source, person: str | None = None
) -> tuple[RawTable, str]:
    """Table of participants with their ids, each only once, and the column of these.

    `person` is the column of the other table by which they are joined; here it may be the ids.
    """
    if person is not None:
        subject, pair = (None if one == person else one for one in (options.subject, options.pair))
        options = replace(options, subject=subject, pair=pair)
    people = load_table(participants, lambda columns: read_as_text(options, columns))
    own = find_id(people, options if options.id in people.columns else replace(options, id=None))
    if own is None:
        raise InputError(
            f"{people.name} has no column of ids, by which it could be joined. Call it "
            "'participant_id', or name it (id=, --id)."
        )
    people = with_ids(people, own)
    check_ids(people, own)
    return people, own


def _joined(
    table: RawTable, options: Options, participants: Source, person: str | None = None
) -> RawTable:
    people, own = load_participants(options, participants, person)
    used = {facts.get("ids") for facts in table.facts.get("tables", [table.facts])}
    if options.id not in {None, *used, *table.columns, *people.columns}:
        raise unknown_column(table, str(options.id), "id", people)
    named = [name for name, role in options.named.items() if role != "id" and name != person]
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
    wanted = [name for name in dict.fromkeys(wanted) if name != own]
    ignored = [column for column in people.columns if column not in (own, *wanted)]
    people = replace(people, facts={**people.facts, "ignored": ignored})
    may_lack = options.groups is not None and options.group in wanted
    drop = options.participants_missing == DROP
    return join_participants(table, people, wanted, may_lack, drop)


def _columns(table: RawTable, options: Options) -> dict[str, str]:
    """Name that was asked for -> column, for all roles but the id."""
    columns: dict[str, str] = {}
    for name, role in options.named.items():
        if role == "id":
            continue
        found = find_column(table.columns, name)
        if found is None:
            raise unknown_column(table, name, role)
        other = next((asked for asked, column in columns.items() if column == found), None)
        if other is not None:
            raise InputError(
                f"{other!r} and {name!r} are both the column {found!r} of "
                f"{table.source_of(found)}. Name it once."
            )
        columns[name] = found
    return columns


def _groups(
    table: RawTable, columns: dict[str, str], options: Options
) -> tuple[RawTable, list[str] | None, dict[str, int]]:
    """Rows of the groups wanted, their labels, and the counts of the others."""
    if options.group is None:
        return table, None, {}
    column = columns[options.group]
    found = text_labels(table, column, options.missing)
    left_out: dict[str, int] = {}
    if options.groups is not None:
        _check_groups(table, column, found, options.groups)
        kept = np.array([label in options.groups for label in found], dtype=bool)
        left_out = dict(Counter(label for label, k in zip(found, kept, strict=True) if not k))
        table = table.keep(kept)
        found = [label for label in found if label in options.groups]
    else:
        check_label_sentinels(table, column, found, options.missing)
    blank = first_blank(found)
    if blank is not None:
        raise InputError(
            f"{table.where(blank, column)}: the group is missing "
            f"({counted(found.count(''), 'such row')}). "
            "Fill it in, or give groups=[...] (--groups) to keep the rows of these groups alone."
        )
    check_repeated(table, column, found, "group")
    return table, found, left_out


def _check_groups(
    table: RawTable, column: str, found: Sequence[str], wanted: Sequence[str]
) -> None:
    there = sorted({label for label in found if label})
    for name in wanted:
        if name not in there:
            raise InputError(
                f"{table.source_of(column)}, column {column!r} has no group {name!r}. "
                + did_you_mean(name, there)
            )


def _has_units(labels: Mapping[str, object]) -> bool:
    """Whether it is said who is behind the rows."""
    return any(labels[name] is not None for name in ("pair", "person", "block"))


def _is_id(options: Options) -> bool:
    """Whether ids say who is behind each of paired visits."""
    return options.pair is not None and options.pair == options.id


def _labels(
    table: RawTable, columns: dict[str, str], options: Options, role: str
) -> list[str] | None:
    """Labels of the column that has this role, none of them missing; None without a column."""
    name = getattr(options, role)
    if name is None:
        return None
    column = columns[name]
    found = text_labels(table, column, options.missing)
    if role == "site":
        check_label_sentinels(table, column, found, options.missing)
    blank = first_blank(found)
    if blank is not None:
        raise InputError(
            f"{table.where(blank, column)}: the {role} is missing "
            f"({counted(found.count(''), 'such row')}). "
            f"{BLANK[role]}, or remove the row."
        )
    return found
