"""The choice of the columns of a table that are regions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from sgbn.cohort.atlas import Atlas
from sgbn.cohort.region_names import AtlasMatch, ColumnMatch, match_columns
from sgbn.core.exceptions import InputError, counted, did_you_mean, listed, warn
from sgbn.io.tables.cells import Missing, parse
from sgbn.io.tables.extracted import atlas_facts
from sgbn.io.tables.options import Options
from sgbn.io.tables.persons import like_ids
from sgbn.io.tables.raw import ANY_NUMBER, ROW_NAMES, RawTable, is_number_type, labels
from sgbn.io.tables.text_columns import text_columns, warn_of_numbers
from sgbn.io.tables.unnamed import check_regions

# Names that tools give the volume inside the skull.
INTRACRANIAL = ("eTIV", "EstimatedTotalIntraCranialVol", "IntraCranialVol", "ICV")
ALL = "all"
WITH_NUMBERS = ("number", "mixed")  # kinds of columns, see `Parsed.kind`
MIN_REGIONS = 2  # a network has at least two nodes


def find_column(columns: Sequence[str], name: str) -> str | None:
    """Return the column of this name, or None if there is none.

    Any name in `INTRACRANIAL` finds the volume inside the skull.
    """
    if name in columns:
        return name
    if name in INTRACRANIAL:
        return next((other for other in INTRACRANIAL if other in columns), None)
    return None


def unknown_column(
    table: RawTable, name: str, role: str, people: RawTable | None = None
) -> InputError:
    """Return the error about a column that neither the table nor the participants have."""
    # Long lists are cut. The participants come first, because most columns of a table are regions.
    near = did_you_mean(name, [*(people.columns if people else ()), *table.columns])
    neither = f", and {people.name} does not have it either" if people else ""
    return InputError(
        f"{table.name} has no column {name!r} to be the {role}{neither}. "
        f"{near}{_odd_header(table, name)}"
    )


def _odd_header(table: RawTable, name: str) -> str:
    """Return a sentence about other sheets, a missing header or a transposed table, or ""."""
    if sheets := table.facts.get("other_sheets"):
        return (
            f" This is the sheet {table.facts['sheet']!r}. Other sheets are {listed(sheets)} "
            "(sheet=, --sheet)."
        )
    # If most names are numbers, they are values, and the header is missing.
    numbers = sum(bool(ANY_NUMBER.fullmatch(column)) for column in table.columns)
    if 2 * numbers > len(table.columns):
        return (
            " The first row seems to hold data, not names. Write the names of the columns above it."
        )
    if name in labels(table.frame.iloc[:, 0]):
        return (
            f" {name!r} is the name of a row, so rows and columns seem to be exchanged. Transpose "
            "the table, so that each row is a subject."
        )
    return ""


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
        chosen, other_measures = _by_atlas(table, free, match, options, has_ids)
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
        raise InputError(
            f"{table.name}: {_is_id(ids)} If it is neither an id nor a region, leave it out "
            "(exclude=, --exclude). If it is a region, name all regions (regions=, --regions)."
        )
    check_regions(table, chosen, unknown, options.missing)


def _matching(
    table: RawTable, patterns: Sequence[str], what: str, taken: Sequence[str]
) -> list[str]:
    """Return the columns that match a name or a pattern, in the order of the patterns."""
    matching: dict[str, None] = {}
    for pattern in patterns:
        pattern = str(pattern).strip()
        # A region that is also a covariate would be adjusted for itself.
        if pattern in taken:
            raise InputError(
                f"column {pattern!r} is named in {what}=, but it already has another "
                "role (id, group, site, pair, subject, block or covariate). Name it only once."
            )
        hits = [pattern]
        if pattern not in table.frame.columns:  # a name may hold brackets, like a pattern
            hits = [c for c in table.columns if c not in taken and fnmatchcase(c, pattern)]
        if not hits:
            near = did_you_mean(pattern, table.columns)
            raise InputError(
                f"{table.name} has no column {pattern!r}, which is named in {what}=. {near}"
            )
        matching |= dict.fromkeys(hits)
    return list(matching)


def _by_atlas(
    table: RawTable, free: list[str], match: AtlasMatch, options: Options, has_ids: bool
) -> tuple[list[str], list[str]]:
    """Return the chosen columns that match an atlas, and the columns of other measures."""
    chosen = _of_measure(table, match.columns, options.measure)
    numeric = _numeric(table, match.unmatched, options.missing)
    if numeric and options.only_regions:
        warn(
            f"{table.name}: {counted(len(numeric), 'column is', 'columns are')} unknown to the "
            f"atlas and left out: {listed(numeric)}. To leave them out without this warning, "
            "exclude them (exclude=, --exclude). To use them, give regions='all' (--regions all)."
            f"{_better_atlas(free, match, options)}"
        )
    # A column such as "age" may be a forgotten covariate or a region. The user must decide.
    elif numeric and len(chosen) >= MIN_REGIONS:
        ids = [] if has_ids else like_ids(table, numeric, options.missing)
        raise InputError(
            f"{table.name}: these columns hold numbers, but they are not known regions and were "
            f"not named: {listed(numeric, len(numeric))}. Name the role of each (id=, group=, "
            "site=, pair=, subject=, block=, covariates=; --id, --group, --site, --pair, "
            "--subject, --block, --covariates), leave it out (exclude=, --exclude), or use all "
            "columns of numbers that have no other role as regions (regions='all', --regions "
            f"all).{' ' + _is_id(ids) if ids else ''}" + _better_atlas(free, match, options)
        )
    kept = set(chosen)
    return chosen, [m.column for m in match.columns if m.column not in kept]


def _is_id(columns: Sequence[str]) -> str:
    name = columns[0]
    return f"{name!r} looks like the column of ids. If it is, name it (id={name!r}, --id {name!r})."


def _better_atlas(free: Sequence[str], match: AtlasMatch, options: Options) -> str:
    """Return a sentence about an atlas that matches more columns than the given atlas, or ""."""
    if options.atlas is None or match.atlas is None:
        return ""
    best = match_columns(free)
    if best.atlas is None or len(best.columns) < len(match.columns) + MIN_REGIONS:
        return ""
    return (
        f" The atlas {match.atlas.name} (atlas=, --atlas) matches "
        f"{counted(len(match.columns), 'column')}, but {best.atlas.name} matches "
        f"{len(best.columns)}. Check that you gave the right atlas."
    )


def _numeric(table: RawTable, columns: Iterable[str], missing: Missing) -> list[str]:
    """Return the columns that hold numbers. Some text among the numbers is allowed."""
    # To save time, a column is not parsed if its type is a number and its first cell is filled.
    first = table.frame.iloc[0].notna()
    types = zip(table.columns, table.frame.dtypes, first, strict=True)
    certain = {name for name, dtype, filled in types if filled and is_number_type(dtype)}
    return [
        column
        for column in columns
        if column in certain or parse(table, column, missing).kind in WITH_NUMBERS
    ]


def _of_measure(
    table: RawTable, matches: Sequence[ColumnMatch], measures: Sequence[str]
) -> list[str]:
    """Return one column per region, of the first measure in the list that the region has."""
    known = sorted({match.measure for match in matches})
    unknown = [name for name in measures if name not in known]
    if unknown and matches:
        raise InputError(
            f"{table.name} has no measure {unknown[0]!r}. Its measures are {_said(known)}. Give "
            "one of these, or leave out measure= (--measure)."
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
            raise _several_columns(table, columns, known)
        chosen.update(match.column for match in columns)
    return [match.column for match in matches if match.column in chosen]


def _several_columns(
    table: RawTable, columns: Sequence[ColumnMatch], measures: Sequence[str]
) -> InputError:
    """Return the error about several columns of one region."""
    names = [match.column for match in columns]
    region = columns[0].region.name
    if len({match.measure for match in columns}) == 1:
        return InputError(
            f"{table.name}: the region {region!r} has several columns: {listed(names)}. Keep one "
            "of them and leave out the others (exclude=, --exclude)."
        )
    first = next(name for name in measures if name)
    return InputError(
        f"{table.name}: the region {region!r} has several columns: {listed(names)}. The measures "
        f"in this table are {_said(measures)}. Choose one, such as measure={first!r} (--measure "
        f"{first}), or give several in order of preference."
    )


def _said(measures: Sequence[str]) -> str:
    return ", ".join(repr(name) if name else "a measure without a name" for name in measures)


def _by_name(
    table: RawTable, free: list[str], taken: Sequence[str], match: AtlasMatch, options: Options
) -> list[str]:
    """Return the columns that match `options.regions`. "all" stands for all columns of numbers."""
    totals = set(match.totals)
    if options.regions == (ALL,):
        return _all(table, [column for column in free if column not in totals], match, options)
    patterns = tuple(str(name).strip() for name in options.regions or ())
    listed_totals = [name for name in patterns if name in totals]
    if listed_totals:
        raise InputError(
            "regions= names columns that are totals of other columns, and so not regions: "
            f"{listed(listed_totals)}. Name them as covariates (covariates=, --covariates), or "
            "leave them out."
        )
    allowed = set(free) - totals  # a pattern may match totals and excluded columns too
    matching = _matching(table, patterns, "regions", taken)
    return [column for column in matching if column in allowed]


def _all(table: RawTable, columns: Sequence[str], match: AtlasMatch, options: Options) -> list[str]:
    """Return the columns of numbers, and the regions of the atlas, whatever text they hold.

    Text in a region is an error when its cells are read.
    """
    numeric = set(_numeric(table, columns, options.missing))
    rest = (name for name in columns if name not in numeric)
    text = text_columns(table, rest, options.missing)
    of_atlas = text.keys() & {match.column for match in match.columns}
    warn_of_numbers(table, {name: text[name] for name in text if name not in of_atlas})
    return [name for name in columns if name in numeric | of_atlas]


def _too_few(
    table: RawTable, chosen: Sequence[str], free: Sequence[str], options: Options
) -> InputError:
    """Return the error about too few regions for a network."""
    if options.regions is None:
        numeric = _numeric(table, free, options.missing)
        return InputError(
            f"{table.name}: {counted(len(chosen), 'column matches', 'columns match')} an atlas, "
            f"but a network needs at least {MIN_REGIONS}. Name the regions (--regions, "
            "regions=['name', 'lh_*'], or regions='all' for all columns of numbers), or give a "
            f"table of regions (atlas=, --atlas). Columns of numbers: {listed(numeric) or 'none'}. "
            f"All columns: {listed(table.columns)}."
            + _better_atlas(free, match_columns(free, options.atlas), options)
        )
    return InputError(
        f"{table.name}: {counted(len(chosen), 'column is', 'columns are')} left as regions "
        f"({listed(chosen) or 'none'}), but a network needs at least {MIN_REGIONS}. Name more in "
        f"regions= (--regions). The columns of this table are {listed(table.columns)}."
    )
