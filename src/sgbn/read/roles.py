"""The role of each column of a table: what the caller asks for, and what the names and cells say.

The caller need not name the role of every column. Columns of ids, persons and families are found by
their names or cells, and regions by an atlas of the package, or by the atlas that ``sgbn extract``
wrote beside a table or a folder of series. Three mistakes must not happen silently:

- With regions="all", every column of numbers is a region. A column with too much text for this,
  such as values below the limit of detection (``<LLOD``), would leave the analysis.
- If an age or a patient's number is read as a region, it becomes a node of the network.
- If the site is not named, its effects are not removed, and the site may be the only difference
  between the groups.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sgbn.cohort.atlas import LABEL_IMAGE, Atlas, as_atlas, read_atlas
from sgbn.cohort.region_names import AtlasMatch, ColumnMatch, match_columns
from sgbn.core.problems import InputError, Problem, did_you_mean
from sgbn.core.types import Array
from sgbn.core.validation import Constraint, OneOf
from sgbn.read.cells import (
    ANY_NUMBER,
    NEARLY,
    ROW_NAMES,
    Missing,
    Parsed,
    RawTable,
    cell_text,
    is_number_type,
    labels,
    parse,
    plain_name,
    shown_cell,
)

REFUSE, DROP = "refuse", "drop"  # what to do about subjects whom the participants do not list
SINGLE = ("pair", "id", "group", "site", "subject", "block")  # roles that only one column can have
NAMES = Constraint(["a name or a list of names"], lambda names: isinstance(names, Iterable))
COLUMN = Constraint(["the name of a column"], lambda name: isinstance(name, str))
LISTS = ("covariates", "smooth", "regions", "exclude", "groups", "measure")


@dataclass(frozen=True)
class Options:
    """The options that a caller gives to a reader, see `sgbn.read_table`."""

    group: str | None = None
    id: str | None = None
    covariates: tuple[str, ...] = ()
    smooth: tuple[str, ...] = ()
    site: str | None = None
    pair: str | None = None
    subject: str | None = None
    block: str | None = None
    regions: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    groups: tuple[str, ...] | None = None
    atlas: Atlas | None = None
    measure: tuple[str, ...] = ()
    missing: Missing = Missing()  # noqa: RUF009 (it cannot be changed)
    participants_missing: str = REFUSE
    # Whether all columns are measures. If so, columns that match no atlas are left out.
    only_regions: bool = False

    @classmethod
    def of(cls, **arguments: Any) -> Options:
        """Return the options among the arguments of a reader. Other arguments are ignored.

        A single name may stand for a list. None stands for the default.
        """
        names = [field.name for field in fields(cls)]
        asked = {name: arguments[name] for name in names if arguments.get(name) is not None}
        asked |= {name: _several(name, asked[name]) for name in LISTS if name in asked}
        if "groups" in asked:
            # Labels of groups may be numbers: 1.0 and "1" are the same.
            asked["groups"] = tuple(map(cell_text, asked["groups"]))
        if "atlas" in asked:
            asked["atlas"] = as_atlas(asked["atlas"])
        options = cls(**(asked | {"missing": Missing.of(asked.get("missing"))}))
        OneOf(REFUSE, DROP).check("participants_missing", options.participants_missing)
        if options.participants_missing == DROP and arguments.get("participants") is None:
            raise InputError("participants.absent").says(
                "{participants_missing='drop'} needs a table of participants",
                "Give it in {participants=}.",
            )
        options._check_together()
        return options

    @property
    def named(self) -> dict[str, str]:
        """Return the role of each named column. It is "id" if a column is both id and pair."""
        # Later roles replace earlier ones: "id" comes after "pair" in `SINGLE`.
        return {str(column): role for role, column in self._roles()}

    def _roles(self) -> list[tuple[str, object]]:
        """Return pairs of role and column, for all columns that are named."""
        pairs = [("covariate", name) for name in self.covariates]
        pairs += [(role, getattr(self, role)) for role in SINGLE]
        return [(role, column) for role, column in pairs if column is not None]

    def _check_together(self) -> None:
        if linear := [name for name in self.smooth if name not in self.covariates]:
            raise InputError("smooth.unknown", columns=linear).says(
                "{smooth=} names what is not a covariate: {columns}",
                "Name it in {covariates=} too.",
            )
        if self.groups is not None and (self.group is None or not self.groups):
            raise InputError("groups.argument").says(
                "{groups=} needs the labels of groups, and {group=} the column that holds them",
                "Give both, or leave out {groups=}.",
            )
        seen: dict[str, str] = {}
        for role, column in self._roles():
            if role == "pair" and column == self.id:  # one column may be both, see `read_table`
                continue
            # A list or a number would fail later, in an error that does not name the role.
            name: str = COLUMN.check(role, column)
            if name in seen:
                raise InputError("roles.two", column=name, role=role, other=seen[name]).says(
                    "column {column} is named as {other:s} and as {role:s}",
                    "Name another column for one of them, or leave one out.",
                )
            seen[name] = role


def _several(argument: str, names: Any) -> tuple[Any, ...]:
    return (names,) if isinstance(names, str) else tuple(NAMES.check(argument, names))


# Names that tools give the volume inside the skull.
INTRACRANIAL = ("eTIV", "EstimatedTotalIntraCranialVol", "IntraCranialVol", "ICV")
ALL = "all"
WITH_NUMBERS = ("number", "mixed")  # kinds of columns, see `Parsed.kind`
MIN_REGIONS = 2  # a network has at least two nodes
MAX_ROWS_OF_NAMES = 1000  # more rows are not searched for names of columns


def find_column(columns: Sequence[str], name: str) -> str | None:
    """Return the column of this name, or None if there is none.

    Any name in `INTRACRANIAL` finds the volume inside the skull.
    """
    if name in columns:
        return name
    if name in INTRACRANIAL:
        return next((other for other in INTRACRANIAL if other in columns), None)
    return None


NO_COLUMN = "{where} no column {name} for the {role:s}"


def unknown_column(
    table: RawTable, name: str, role: str, people: RawTable | None = None
) -> InputError:
    """Return the error about a column that neither the table nor the participants have."""
    for asked in (people, table):
        if asked is not None and (error := exchanged(asked, [name])):
            return error
    told = {"where": (people or table).source, "name": name, "role": role}
    if people is None and (others := table.facts.get("other_sheets")):
        return InputError("columns.sheet", **told, others=others).says(
            NO_COLUMN, "Choose another sheet ({sheet=}): {others}."
        )
    # If most names are numbers, they are values, and the header is missing.
    numbers = sum(bool(ANY_NUMBER.fullmatch(column)) for column in table.columns)
    if 2 * numbers > len(table.columns):
        return InputError("columns.no-header", **told).says(
            NO_COLUMN, "The first row seems to hold data: write the names of the columns above it."
        )
    # Long lists are cut. The participants come first, because most columns of a table are regions.
    near = did_you_mean(name, [*(people.columns if people else ()), *table.columns])
    return InputError("columns.unknown", **told, near=near).says(NO_COLUMN, "{near}")


def exchanged(
    table: RawTable, wanted: Iterable[str], atlas: Atlas | None = None
) -> InputError | None:
    """Return the error if rows and columns are exchanged, so that each column is a subject.

    The first column then holds `wanted` names, or more regions than the header. Without this check,
    other messages would list the names of the columns, which are ids.
    """
    cells = [cell for cell in labels(table.frame.iloc[:MAX_ROWS_OF_NAMES, 0]) if cell]
    # If names repeat, they are groups, or regions in a row per subject and region.
    if len(set(cells)) < len(cells):
        return None
    rows = [name for name in wanted if name in cells and name not in table.columns]
    if not rows:
        found = match_columns(cells, atlas)
        if len(found.columns) >= max(MIN_REGIONS, len(cells) / 2):
            header = match_columns(table.columns, atlas)
            if len(found.columns) > len(header.columns) + len(header.totals):
                rows = [match.column for match in found.columns]
    if not rows:
        return None
    return InputError("columns.transposed", where=table.source, names=rows).says(
        "{where} rows and columns seem to be exchanged, with {names} in the first column",
        "Transpose the table.",
    )


@dataclass(frozen=True)
class Choice:
    """The columns that are regions, their atlas, and facts about the other columns."""

    regions: tuple[str, ...]
    atlas: Atlas | None
    facts: dict[str, Any]


def choose_regions(
    table: RawTable,
    taken: Sequence[str],
    options: Options,
    has_ids: bool = True,
    never: Sequence[str] = (),
) -> Choice:
    """Choose the regions among the columns that have no other role.

    Parameters
    ----------
    table : RawTable
        The cells.
    taken : sequence of str
        Columns with another role, such as the id column.
    options : Options
        What the caller asks for: regions, exclude, atlas, measure.
    has_ids : bool
        Whether the table has a column of ids. If not, errors name a column that looks like one.
    never : sequence of str
        Columns without a role that cannot be regions.
    """
    excluded = _matching(table, options.exclude, "exclude", taken)
    used = {*taken, *excluded, *never, ROW_NAMES}
    free = [column for column in table.columns if column not in used]
    # Excluded columns are never regions, but their names help to recognize the atlas.
    match = match_columns(free, options.atlas, excluded)
    if options.regions is None:
        # If the caller names no regions, only columns that match an atlas are regions.
        chosen, other_measures = _by_atlas(table, match, options, has_ids)
        rule = f"columns that match the atlas {match.atlas.name}" if match.atlas else ""
    else:
        chosen = _by_name(table, free, taken, match, options)
        other_measures, rule = [], ALL if options.regions == (ALL,) else "given"
        if rule == ALL:
            _check_all(table, chosen, match, options, has_ids)
    if len(chosen) < MIN_REGIONS:
        raise _too_few(table, chosen, free, options)
    explained = {*chosen, *match.totals, *other_measures}
    facts = {
        "regions": rule,
        **atlas_facts(match.atlas),
        "totals": list(match.totals),
        "excluded": excluded,
        "other_measures": other_measures,
        "ignored": [column for column in free if column not in explained],
    }
    return Choice(tuple(chosen), match.certain_atlas(), facts)


def _check_all(
    table: RawTable, chosen: Sequence[str], match: AtlasMatch, options: Options, has_ids: bool
) -> None:
    """Raise InputError if regions="all" would take columns that do not look like regions."""
    regions = set(chosen)  # a set, because tables may have thousands of columns
    unknown = [name for name in match.unmatched if name in regions]
    ids = [] if has_ids else like_ids(table, unknown, options.missing)
    if ids:
        raise InputError("columns.like-ids", where=table.source, columns=ids).says(
            "{where} {columns} would be regions, but look like ids",
            "Name the {id=}, leave columns out by {exclude=}, or list the {regions=}.",
        )
    odd = _hardly_regions(table, chosen, set(unknown), options.missing)
    if odd:
        raise InputError("regions.odd", where=table.source, columns=odd).says(
            "{where} by name or values, {columns:column is/columns are} no regions: {columns}",
            "Name them in {covariates=}, {site=} or {exclude=}, or list the {regions=}.",
        )


def _matching(
    table: RawTable, patterns: Sequence[str], argument: str, taken: Sequence[str]
) -> list[str]:
    """Return the columns that match a name or a pattern, in the order of the patterns."""
    matching: dict[str, None] = {}
    for pattern in patterns:
        pattern = str(pattern).strip()
        # A region that is also a covariate would be adjusted for itself.
        if pattern in taken:
            raise InputError("roles.taken", column=pattern, argument=argument).says(
                "column {column} is named in {argument}, but it already has another role",
                "Name it only once.",
            )
        hits = [pattern]
        if pattern not in table.frame.columns:  # a name may hold brackets, like a pattern
            hits = [c for c in table.columns if c not in taken and fnmatchcase(c, pattern)]
        if not hits:
            near = did_you_mean(pattern, table.columns)
            told = {"where": table.source, "column": pattern, "argument": argument}
            raise InputError("columns.pattern", **told, near=near).says(
                "{where} no column {column}, which is named in {argument}", "{near}"
            )
        matching |= dict.fromkeys(hits)
    return list(matching)


def _by_atlas(
    table: RawTable, match: AtlasMatch, options: Options, has_ids: bool
) -> tuple[list[str], list[str]]:
    """Return the chosen columns that match an atlas, and the columns of other measures."""
    chosen = _of_measure(table, match.columns, options.measure)
    numeric = _numeric(table, match.unmatched, options.missing)
    if numeric and options.only_regions:
        Problem("columns.left-out", where=table.source, columns=numeric).warn(
            "{where} columns unknown to the atlas are left out: {columns}",
            "Name them in {exclude=}, or use them by {regions='all'}. Check the {atlas=}.",
        )
    # A column such as "age" may be a forgotten covariate or a region. The user must decide.
    elif numeric and len(chosen) >= MIN_REGIONS:
        # Columns that look like ids come first, because only a few columns are listed.
        ids = [] if has_ids else like_ids(table, numeric, options.missing)
        numeric.sort(key=lambda name: name not in ids)
        raise InputError("columns.numbers", where=table.source, columns=numeric).says(
            "{where} columns of numbers have no role and are not in the atlas: {columns}",
            "Name their roles (such as {id=} or {covariates=}), leave them out by {exclude=}, or "
            "use them by {regions='all'}.",
        )
    kept = set(chosen)
    return chosen, [m.column for m in match.columns if m.column not in kept]


def _numeric(table: RawTable, columns: Iterable[str], missing: Missing) -> list[str]:
    """Return the columns that hold numbers. Some text among the numbers is allowed."""
    # To save time, a column is not parsed if its type is a number and its first cell is filled.
    first = table.frame.iloc[0].notna()
    types = zip(table.columns, table.frame.dtypes, first, strict=True)
    certain = {name for name, dtype, filled in types if filled and is_number_type(dtype)}
    return [c for c in columns if c in certain or parse(table, c, missing).kind in WITH_NUMBERS]


def _of_measure(
    table: RawTable, matches: Sequence[ColumnMatch], measures: Sequence[str]
) -> list[str]:
    """Return one column per region, of the first measure in the list that the region has."""
    known = sorted({match.measure for match in matches})
    unknown = [name for name in measures if name not in known]
    if unknown and matches:
        told = {"where": table.source, "measure": unknown[0], "known": known}
        raise InputError("measures.unknown", **told).says(
            "{where} no measure {measure}, but {known}", "Choose one of these in {measure=}."
        )
    by_region: dict[Any, list[ColumnMatch]] = defaultdict(list)
    for match in matches:
        by_region[match.region].append(match)
    chosen: set[str] = set()
    for columns in by_region.values():
        # The measures are in order of preference. Not every region has every measure.
        for measure in measures:
            if any(match.measure == measure for match in columns):
                columns = [match for match in columns if match.measure == measure]
                break
        else:
            # If no measure is asked for, a single column is taken, whatever it measures.
            columns = [] if measures else columns
        if len(columns) > 1:
            told = {"region": columns[0].region.name, "columns": [m.column for m in columns]}
            raise InputError("regions.columns", where=table.source, **told).says(
                "{where} the region {region} has several columns: {columns}",
                "Choose by {measure=}, or leave all but one out by {exclude=}.",
            )
        chosen.update(match.column for match in columns)
    return [match.column for match in matches if match.column in chosen]


def _by_name(
    table: RawTable, free: list[str], taken: Sequence[str], match: AtlasMatch, options: Options
) -> list[str]:
    """Return the columns that match `options.regions`. "all" stands for all columns of numbers."""
    totals = set(match.totals)
    if options.regions == (ALL,):
        return _all(table, [column for column in free if column not in totals], match, options)
    patterns = tuple(str(name).strip() for name in options.regions or ())
    if named_totals := [name for name in patterns if name in totals]:
        raise InputError("regions.totals", columns=named_totals).says(
            "{regions=} names totals of other columns: {columns}",
            "Name them in {covariates=}, or leave them out.",
        )
    allowed = set(free) - totals  # a pattern may match totals and excluded columns too
    return [column for column in _matching(table, patterns, "regions", taken) if column in allowed]


def _all(table: RawTable, columns: Sequence[str], match: AtlasMatch, options: Options) -> list[str]:
    """Return the columns of numbers, and the regions of the atlas, whatever text they hold.

    Text in a region is an error when its cells are read. A region without cells is left out.
    """
    numeric = set(_numeric(table, columns, options.missing))
    parsed = {n: parse(table, n, options.missing) for n in columns if n not in numeric}
    text = {name: column for name, column in parsed.items() if column.kind == "text"}
    known = {match.column for match in match.columns}
    warn_of_numbers(table, {name: text[name] for name in text if name not in known})
    if empty := [name for name in parsed if name in known and name not in text]:
        Problem("regions.empty", where=table.source, columns=empty).warn(
            "{where} regions without any value are left out: {columns}",
            "Fill in their cells, or name them in {exclude=}.",
        )
    return [name for name in columns if name in numeric or (name in known and name in text)]


def _too_few(
    table: RawTable, chosen: Sequence[str], free: Sequence[str], options: Options
) -> InputError:
    """Return the error about too few regions for a network."""
    told = {"where": table.source, "n": len(chosen), "least": MIN_REGIONS}
    if options.regions is None:
        if others := table.facts.get("other_sheets"):
            return InputError("regions.sheet", **told, others=others).says(
                "{where} {n:column matches/columns match} an atlas, but a network needs {least}",
                "Choose another sheet ({sheet=}): {others}. Else name the {regions=}.",
            )
        numeric = _numeric(table, free, options.missing)
        if not numeric:
            return InputError("regions.no-numbers", **told).says(
                "{where} no column of numbers is left for regions", "Give one column per region."
            )
        return InputError("regions.unknown-atlas", **told, numeric=numeric).says(
            "{where} {n:column matches/columns match} an atlas, but a network needs {least}. "
            "Columns of numbers: {numeric}",
            "Name the {regions=}, use all numbers by {regions='all'}, or give another {atlas=}.",
        )
    return InputError("regions.few", **told, known=table.columns).says(
        "{where} {n:column is/columns are} left as regions, but a network needs {least}",
        "Name more in {regions=}. The columns are {known}.",
    )


def warn_of_numbers(table: RawTable, columns: Mapping[str, Parsed]) -> None:
    """Warn of columns of text that have a number or a date, and are therefore no regions."""
    some = [name for name, column in columns.items() if _has_numbers(table, name, column)]
    if some:
        row = int(np.argmax(columns[some[0]].bad))
        cell = shown_cell(table, some[0], columns[some[0]].bad)
        told = {"where": table.where(row, some[0]), "cell": cell}
        Problem("columns.few-numbers", **told, columns=some).warn(
            "{where} {cell} is not a number. With too few numbers, columns are left out: {columns}",
            "Correct the cells, name marks for missing cells in {missing=}, or name the columns in "
            "{exclude=}.",
        )


def _has_numbers(table: RawTable, name: str, column: Parsed) -> bool:
    texts = map(cell_text, table.frame[name].to_numpy(object)[column.bad])
    has_number = not (column.bad | column.missing).all()
    return has_number or any(form.fullmatch(text) for text in texts for form in NEARLY)


# Names of id columns in lower case, with letters and digits only. The likeliest come first.
ID_NAMES = (
    *("subjectid", "participantid", "subjid", "subid", "subject", "participant", "subj", "sub"),
    *("id", "names", "srcsubjectid"),
)
PERSON_NAMES = (*ID_NAMES, "person", "personid", "patient", "patientid", "family", "familyid")
# The name that aparcstats2table and asegstats2table give the column of subjects.
FREESURFER_ID = re.compile(r"measure:\w+|[lr]h\..+", re.IGNORECASE)
SUBJECT, PAIR, BLOCK = "subject", "pair", "block"  # arguments of `read_table`
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
    """Return the columns without a role that may hold persons, and the argument for each column.

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
    named = [name for name in columns if plain_name(name).endswith("id")]
    values = {name: parse(table, name, missing).values for name in named}
    return [
        name
        for name, numbers in values.items()
        if len(np.unique(numbers)) == len(numbers) and (numbers == np.round(numbers)).all()
    ]


# Words in the names of site columns, such as "SITE_ID", "mrisite" and "scanner model".
SITE_NAME = re.compile(
    r"\b(?:acquisition|acq|scan|scanning|imaging|mri|mr|study|recruitment)*"
    r"(?:sites?|scanners?|cent(?:re|er)s?|manufacturers?|vendors?|hospitals?|institutions?|"
    r"machines?|batch|batches|field ?strength)"
    r"(?:id|no|nr|number|name|code|label|model|type)*\b(?! of| learning)"
)
PLACE_IN_BODY = re.compile(  # with one of these words, "site" means a place in the body
    r"\b(?:lesion|onset|tumou?r|injury|surgery|surgical|pain|implant|injection|stimulation|biopsy)"
)
# Words in the names of columns that are covariates, or neither covariates nor regions.
COVARIATE = re.compile(
    r"ages?|sex|gender|male|female|educ|education|edu|schooling|handedness|bmi|f?iq|viq|piq|fsiq|"
    r"etiv|icv|tiv|income|duration|onset|medication|mmse|moca|cdr|updrs|panss|bdi|hamd|hdrs|ados|"
    r"srs|madrs|scores?|years?|months?"
)
NEITHER = re.compile(
    r"ids?|mrn|subject|subj|participant|patient|person|record|visit|session|ses|date|dob|birth|"
    r"birthday|wave"
)
MIN_ROWS_TO_JUDGE = 8  # in fewer rows, values may be whole numbers, or equal, by chance
MAX_SHARE_UNKNOWN = 0.1  # up to this share, columns that do not match the atlas are exceptions
MIN_SITES = 2  # with only one site, subjects do not differ in it
MIN_ROWS_PER_SITE = 2  # a column with fewer rows per label holds persons, not sites


def site_columns(columns: Iterable[str]) -> list[str]:
    """Return the columns whose names say that they hold sites or scanners."""
    spaced = {name: " ".join(_words(name)) for name in columns}
    return [
        name
        for name, words in spaced.items()
        if SITE_NAME.search(words) and not PLACE_IN_BODY.search(words)
    ]


def unnamed_sites(
    table: RawTable, columns: Iterable[str], group: Sequence[str] | None
) -> dict[str, dict[str, Any]]:
    """Return the columns without a role that look like sites, and how well they predict the group.

    Returns
    -------
    dict
        For each column, ``sites`` is the number of sites. ``told`` is the share of wrong guesses of
        the group that are avoided if the site is known (Goodman and Kruskal's lambda, 0 to 1).
    """
    sites = {}
    for name in site_columns(columns):
        cells = labels(table.frame[name])
        n_sites = len(set(cells))
        if MIN_SITES <= n_sites <= len(cells) / MIN_ROWS_PER_SITE:
            sites[name] = {"sites": n_sites, "told": 0.0 if group is None else _told(cells, group)}
    return sites


def _told(sites: Sequence[str], group: Sequence[str]) -> float:
    """Return Goodman and Kruskal's lambda of the group given the site.

    It is 1 minus the ratio of two numbers of wrong guesses. The first number is for guesses of the
    most frequent group at the subject's site. The second number is for guesses of the most frequent
    group of all subjects.
    """
    pairs = Counter(zip(sites, group, strict=True))
    # The number of subjects in the most frequent group of each site.
    most_frequent: dict[str, int] = {}
    for (site, _), count in pairs.items():
        most_frequent[site] = max(most_frequent.get(site, 0), count)
    errors = len(group) - max(Counter(group).values())
    errors_by_site = len(group) - sum(most_frequent.values())
    return 0.0 if errors == 0 else round(1 - errors_by_site / errors, 3)


def _hardly_regions(
    table: RawTable, chosen: Sequence[str], unknown: set[str], missing: Missing
) -> list[str]:
    """Return the columns that are probably not regions."""
    # A few columns that do not match the atlas are exceptions.
    if len(unknown) <= MAX_SHARE_UNKNOWN * len(chosen):
        return [name for name in chosen if name in unknown and name != ROW_NAMES]
    values = {name: parse(table, name, missing).values for name in chosen}
    whole = {name for name, column in values.items() if _is_whole(column)}
    # If most columns hold whole numbers, a column of whole numbers is not odd in this table.
    if len(whole) > len(values) / 2:
        whole = set()
    # A column that matches the atlas is a region, whatever its values.
    return [
        name
        for name in chosen
        if name in unknown
        and name != ROW_NAMES
        and (_is_named_otherwise(name) or _has_odd_values(values[name], name in whole))
    ]


def _is_named_otherwise(name: str) -> bool:
    """Return whether the name of a column says that it does not hold a region."""
    words = _words(name)
    known = any(COVARIATE.fullmatch(word) or NEITHER.fullmatch(word) for word in words)
    return known or bool(site_columns([name]))


def _has_odd_values(column: Array, whole: bool) -> bool:
    """Return whether the values of a column are unlike the values of a region.

    `whole` says that the column holds whole numbers, and that most columns do not.
    """
    known = column[np.isfinite(column)]
    levels = len(np.unique(known))
    # Two values are a code, such as 0 and 1 for the sex.
    return len(known) >= MIN_ROWS_TO_JUDGE and (levels == 2 or (whole and levels > 1))


def _is_whole(column: Array) -> bool:
    known = column[np.isfinite(column)]
    return bool(len(known)) and bool((known == np.round(known)).all())


def _words(name: str) -> list[str]:
    """Return the words of a name in lower case, without numbers. "mriSite" is two words."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[\W_\d]+", spaced.lower()) if word]


EXTRACTED = "atlas.csv"
MAX_HEADER_BYTES = 10_000  # a limit, because a file may be one endless line


def with_extracted(options: Options, source: object, columns: Sequence[str]) -> Options:
    """Return the options, with the extracted atlas if it matches more columns than a packaged one.

    Parameters
    ----------
    options : Options
        What the caller asks for. An atlas that the caller names is kept.
    source : object
        The path of the table, or its DataFrame, which cannot have an atlas beside it.
    columns : sequence of str
        Names of the columns of the table.
    """
    if options.atlas is not None or not isinstance(source, str | PathLike):
        return options
    atlas = extracted_atlas(Path(source))
    if atlas is None:
        return options
    extracted, packaged = match_columns(columns, atlas), match_columns(columns)
    known = len(packaged.columns)
    return replace(options, atlas=atlas) if len(extracted.columns) > known else options


def extracted_atlas(source: Path) -> Atlas | None:
    """Return the atlas in a folder of series, or beside a table; None if there is no such atlas.

    ``sgbn extract`` writes a column that names the label image. An ``atlas.csv`` without this
    column belongs to the user, and is read only if the user asks for it.
    """
    path = (source if source.is_dir() else source.parent) / EXTRACTED
    try:
        with path.open("rb") as stream:
            header = stream.readline(MAX_HEADER_BYTES)
    except OSError:
        return None
    return read_atlas(path) if LABEL_IMAGE.encode() in header.lower() else None


def atlas_facts(atlas: Atlas | None) -> dict[str, str | None]:
    """Return facts for the provenance: the name of the atlas, and its file if the user gave one."""
    if atlas is None or atlas.file is None or not atlas.file.path:
        return {"atlas": None if atlas is None else atlas.name}
    return {"atlas": atlas.name, "atlas_file": atlas.file.path, "atlas_sha256": atlas.file.sha256}
