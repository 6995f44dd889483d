"""Which columns of a table are regions, and which have another role."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from sgbn.atlases import Atlas, AtlasMatch, ColumnMatch, match_columns
from sgbn.exceptions import InputError, counted, did_you_mean, listed, warn
from sgbn.io.tables.cells import Missing, parse
from sgbn.io.tables.extracted import atlas_facts
from sgbn.io.tables.options import Options
from sgbn.io.tables.persons import like_ids
from sgbn.io.tables.raw import ANY_NUMBER, ROW_NAMES, RawTable, is_number_type, labels
from sgbn.io.tables.unnamed import check_regions

INTRACRANIAL = ("eTIV", "EstimatedTotalIntraCranialVol", "IntraCranialVol", "ICV")  # one volume
ALL = "all"
WITH_NUMBERS = ("number", "mixed")  # kinds of columns, see `Parsed.kind`
MIN_REGIONS = 2  # a network has at least two nodes


def find_column(columns: Sequence[str], name: str) -> str | None:
    """Return the column of that name, or None; the volume inside the skull has several names."""
    if name in columns:
        return name
    if name in INTRACRANIAL:
        return next((other for other in INTRACRANIAL if other in columns), None)
    return None


def unknown_column(
    table: RawTable, name: str, role: str, people: RawTable | None = None
) -> InputError:
    """Return the error about a column that neither the table nor the participants have."""
    # Participants first: a list is cut, and a table has more regions than anybody reads.
    near = did_you_mean(name, [*(people.columns if people else ()), *table.columns])
    neither = f", nor has {people.name}" if people else ""
    return InputError(
        f"{table.name} has no column {name!r} to be the {role}{neither}. "
        f"{near}{_odd_header(table, name)}"
    )


def _odd_header(table: RawTable, name: str) -> str:
    """Return a sentence about another sheet, a missing header, or rows and columns exchanged."""
    if sheets := table.facts.get("other_sheets"):
        return (
            f" This is the sheet {table.facts['sheet']!r}; others are {listed(sheets)} (sheet=, "
            "--sheet)."
        )
    # Names that are numbers are values: the header is missing.
    numbers = sum(bool(ANY_NUMBER.fullmatch(column)) for column in table.columns)
    if 2 * numbers > len(table.columns):
        return (
            " The first row seems to hold data, not names: write the names of the columns above it."
        )
    # The column that is asked for is a row.
    if name in labels(table.frame.iloc[:, 0]):
        return (
            f" {name!r} is the name of a row: rows and columns seem to be exchanged. Transpose the "
            "table, so that each row is a subject."
        )
    return ""


@dataclass(frozen=True)
class Choice:
    """Columns taken as regions, the atlas they are of, and what became of the others."""

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
        Columns with another role, the id column among them.
    options : Options
        What the caller asks for: regions, exclude, atlas, measure.
    has_ids : bool
        Whether there are ids. If not, a column that looks like them is pointed out.
    never : sequence of str
        Columns without a role that are not regions in any case.
    """
    excluded = _matching(table, options.exclude, "exclude", taken)
    used = {*taken, *excluded, *never, ROW_NAMES}
    free = [column for column in table.columns if column not in used]
    # Excluded columns still help to tell the atlas, and are never regions.
    match = match_columns(free, options.atlas, excluded)
    if options.regions is None:
        # Nothing was said: only what an atlas knows is a region.
        chosen, other_measures = _by_atlas(table, free, match, options, has_ids)
        rule = f"columns that match the atlas {match.atlas.name}" if match.atlas else ""
    else:
        chosen = _by_name(table, free, taken, match, options)
        other_measures, rule = [], ALL if options.regions == (ALL,) else "given"
        if rule == ALL:
            _check_all(table, chosen, match, options, has_ids)
    if len(chosen) < MIN_REGIONS:
        raise _too_few(table, chosen, free, options)
    # All other columns were ignored, and the provenance says so.
    left = {*chosen, *match.totals, *other_measures}
    facts = {
        "regions": rule,
        **atlas_facts(match.atlas),
        "totals": list(match.totals),
        "excluded": excluded,
        "other_measures": other_measures,
        "ignored": [column for column in free if column not in left],
    }
    return Choice(tuple(chosen), match.certain_atlas(), facts)


def _check_all(
    table: RawTable, chosen: Sequence[str], match: AtlasMatch, options: Options, has_ids: bool
) -> None:
    """Raise InputError if regions="all" would take columns that do not look like regions."""
    regions = set(chosen)  # outside the loop: tables may have thousands of columns
    unknown = [name for name in match.unmatched if name in regions]
    ids = [] if has_ids else like_ids(table, unknown, options.missing)
    if ids:
        raise InputError(
            f"{table.name}: {_is_id(ids)} Leave it out (exclude=, --exclude) if it is neither "
            "id nor region; if it is a region, name all regions (regions=, --regions)."
        )
    check_regions(table, chosen, unknown, options.missing)


def _matching(
    table: RawTable, patterns: Sequence[str], what: str, taken: Sequence[str]
) -> list[str]:
    """Return the columns that are called, or match, one of these, in the order of the patterns."""
    matching: dict[str, None] = {}
    for pattern in patterns:
        pattern = str(pattern).strip()
        # A role and a region at once would adjust a region for itself.
        if pattern in taken:
            raise InputError(
                f"column {pattern!r} is named in {what}= and as id, group, site, pair or "
                "covariate. A column has one role."
            )
        hits = [pattern]
        if pattern not in table.frame.columns:  # a name may hold brackets, as a pattern does
            hits = [c for c in table.columns if c not in taken and fnmatchcase(c, pattern)]
        if not hits:
            near = did_you_mean(pattern, table.columns)
            raise InputError(f"{table.name} has no column {pattern!r}, named in {what}=. {near}")
        matching |= dict.fromkeys(hits)
    return list(matching)


def _by_atlas(
    table: RawTable, free: list[str], match: AtlasMatch, options: Options, has_ids: bool
) -> tuple[list[str], list[str]]:
    """Return the columns that match an atlas, and those of measures that were not chosen."""
    chosen = _of_measure(table, match.columns, options.measure)
    numeric = _numeric(table, match.unmatched, options.missing)
    if numeric and options.only_regions:
        warn(
            f"{table.name}: {counted(len(numeric), 'column is', 'columns are')} unknown to the "
            f"atlas and left out: {listed(numeric)}. Exclude them (exclude=, "
            "--exclude) to say so, or take regions='all' (--regions all)."
            f"{_better_atlas(free, match, options)}"
        )
    # An age that nobody named may be a covariate that is missing, or a region: ask.
    elif numeric and len(chosen) >= MIN_REGIONS:
        ids = [] if has_ids else like_ids(table, numeric, options.missing)
        raise InputError(
            f"{table.name}: these columns hold numbers, but are not known regions and were not "
            f"named: {listed(numeric, len(numeric))}. Name each as what it is (id=, group=, "
            "site=, pair=, subject=, block=, covariates=; --id, --group, --site, --pair, "
            "--subject, --block, --covariates), leave it out (exclude=, --exclude), or take all "
            "columns of numbers that have no other role as regions (regions='all', --regions "
            f"all).{' ' + _is_id(ids) if ids else ''}" + _better_atlas(free, match, options)
        )
    kept = set(chosen)
    return chosen, [m.column for m in match.columns if m.column not in kept]


def _is_id(columns: Sequence[str]) -> str:
    name = columns[0]
    return f"{name!r} looks like the subjects' ids: name it so (id={name!r}, --id {name!r})."


def _better_atlas(free: Sequence[str], match: AtlasMatch, options: Options) -> str:
    """Return a sentence about an atlas that matches more columns than the one that was given."""
    if options.atlas is None or match.atlas is None:
        return ""
    # The atlas was given, and may be the wrong one.
    best = match_columns(free)
    if best.atlas is None or len(best.columns) < len(match.columns) + MIN_REGIONS:
        return ""
    return (
        f" The atlas {match.atlas.name} (atlas=, --atlas) matches "
        f"{counted(len(match.columns), 'column')}, but {best.atlas.name} {len(best.columns)}: is "
        "this the right one?"
    )


def _numeric(table: RawTable, columns: Iterable[str], missing: Missing) -> list[str]:
    """Return those columns that hold numbers, even if with some text among them."""
    # Tables may have thousands of columns: a number in the first row spares the look at most.
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
    """Return one column per region, of the first measure that it has."""
    known = sorted({match.measure for match in matches})
    unknown = [name for name in measures if name not in known]
    if unknown and matches:
        raise InputError(
            f"{table.name} has no measure {unknown[0]!r}: its regions have {_said(known)}."
        )
    by_region: dict[Any, list[ColumnMatch]] = defaultdict(list)
    for match in matches:
        by_region[match.region].append(match)
    chosen: set[str] = set()
    for columns in by_region.values():
        # Measures come in order of preference, and regions may differ in what they have.
        for measure in measures:
            if any(match.measure == measure for match in columns):
                columns = [match for match in columns if match.measure == measure]
                break
        else:
            # Without a measure asked for, a single column is taken whatever it measures.
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
            f"{table.name}: columns {listed(names)} are all the region {region!r}. Leave out all "
            "but one (exclude=, --exclude)."
        )
    first = next(name for name in measures if name)
    return InputError(
        f"{table.name}: the region {region!r} has several columns: {listed(names)}. The measures "
        f"in this table are {_said(measures)}. Choose one, such as measure={first!r} (--measure "
        f"{first}), or several in order of preference."
    )


def _said(measures: Sequence[str]) -> str:
    return ", ".join(repr(name) if name else "one that is not said" for name in measures)


def _by_name(
    table: RawTable, free: list[str], taken: Sequence[str], match: AtlasMatch, options: Options
) -> list[str]:
    """Return the columns that were listed or match a pattern; of "all", those with numbers."""
    totals = set(match.totals)
    if options.regions == (ALL,):
        columns = (column for column in free if column not in totals)
        return _numeric(table, columns, options.missing)
    patterns = tuple(str(name).strip() for name in options.regions or ())
    listed_totals = [name for name in patterns if name in totals]
    if listed_totals:
        raise InputError(
            f"{listed(listed_totals)} in regions= is a total of other columns, not a region. Name "
            "it as a covariate (covariates=, --covariates), or leave it out."
        )
    allowed = set(free) - totals  # a pattern may match totals and excluded columns too
    matching = _matching(table, patterns, "regions", taken)
    return [column for column in matching if column in allowed]


def _too_few(
    table: RawTable, chosen: Sequence[str], free: Sequence[str], options: Options
) -> InputError:
    """Return the error about too few regions for a network."""
    if options.regions is None:
        numeric = _numeric(table, free, options.missing)
        return InputError(
            f"{table.name}: {counted(len(chosen), 'column matches', 'columns match')} an atlas, "
            f"and a network needs {MIN_REGIONS}. Say which are regions (regions=['name', 'lh_*'], "
            "or regions='all' for all columns of numbers; --regions), or give a table of them "
            f"(atlas=, --atlas). Columns of numbers: {listed(numeric) or 'none'}; all columns: "
            f"{listed(table.columns)}."
            + _better_atlas(free, match_columns(free, options.atlas), options)
        )
    return InputError(
        f"{table.name}: {counted(len(chosen), 'column is', 'columns are')} left as regions "
        f"({listed(chosen) or 'none'}), and a network needs {MIN_REGIONS}. Name more in regions= "
        f"(--regions). Its columns are {listed(table.columns)}."
    )
