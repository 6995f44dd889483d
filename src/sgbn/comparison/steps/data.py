"""The data of a comparison, in words and in the page.

`cohort_section` shows the sizes of the groups, the findings of the review, and the origin of the
data: how a table was read, and what was left out. `left_out_words` counts the subjects who were
left out. Their names are in a table beside the report, so that the sentence can be shared.
`table_one` is Table 1 of a paper, which describes the groups and tests whether their covariates
differ.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sgbn.cohort.cohort import Cohort
from sgbn.comparison.names import called, has_lobes, joined, row_word
from sgbn.core.types import Array, Mask
from sgbn.prepare.balance import (
    NOT_TESTED,
    GroupTest,
    covariate_test,
    first_rows,
    is_counted,
    known_cells,
    level_text,
)
from sgbn.write.page import HINTS, Field, Table, make_table, p_value
from sgbn.write.tables import frame_of

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.result import Comparison


def cohort_section(comparison: Comparison, *, named: bool) -> dict[str, Any]:
    """Collect what the page says about the data, with names of subjects if they may be shown."""
    cohort = comparison.cohort
    # Gaps are counted in the cohort as it was read. In `comparison.prepared` they are filled.
    missing = np.isnan(cohort.values)
    lobes = Counter(cohort.lobes)  # keeps the order of the regions
    return {
        "table": groups_table(comparison, named=named),
        "findings": findings_table(comparison),
        "missing": f"{missing.sum()} of {missing.size} cells ({missing.mean():.1%})",
        "atlas": "" if cohort.atlas is None else cohort.atlas.title,
        "lobes": [f"{lobe} ({count})" for lobe, count in lobes.items() if has_lobes(comparison)],
        "source": origin_words(without_folders(cohort.provenance)),
    }


def groups_table(comparison: Comparison, *, named: bool) -> Table:
    """Make a table of rows, missing cells and subjects left out, with one column per group."""
    cohort, group = comparison.cohort, np.asarray(comparison.cohort.group)
    rows = [(row_word(comparison), [str(cohort.sizes[name]) for name in comparison.groups])]
    for what, labels in (("persons", cohort.persons), ("families (blocks)", cohort.block)):
        if labels is not None:
            counts = [len(np.unique(labels[group == name])) for name in comparison.groups]
            rows.append((what, [str(count) for count in counts]))
    if not comparison.of_series:  # the review of time series removes empty regions
        gaps = np.isnan(cohort.values)
        shares = [f"{gaps[group == name].mean():.1%}" for name in comparison.groups]
        rows.append(("missing cells of regions", shares))
    rows += _left_out_rows(comparison, named=named)
    fields = [Field("0", "what")]
    # Names of columns are numbers, because a group could have the name of the first column.
    fields += [Field(str(k), name) for k, name in enumerate(comparison.groups, start=1)]
    cells = [[name, *row] for name, row in rows]
    frame = frame_of(cells, [field.source for field in fields])
    return make_table("cohort", "Rows of the groups", frame, fields, searched=False)


def _left_out_rows(comparison: Comparison, *, named: bool) -> list[tuple[str, list[str]]]:
    """Count the subjects that networks and tests leave out; name them if that is allowed."""
    far, tests = comparison.far_out, comparison.tests
    lists = {"outliers, left out": far}
    # If one row of a person is an outlier, the tests leave out all rows of this person.
    if tests is not None and tests.left_out != far and any(tests.left_out.values()):
        lists["left out of the tests, with all their rows"] = tests.left_out
    return [
        (what, [_who(left_out[group], named=named) for group in comparison.groups])
        for what, left_out in lists.items()
        if any(left_out.values())
    ]


def _who(ids: tuple[Any, ...], *, named: bool) -> str:
    """Return the number of subjects, or their names if these may be shown."""
    if not ids:
        return "none"
    return ", ".join(map(str, ids)) if named else f"{len(ids)} ({NAMED_IN} names them)"


def findings_of(comparison: Comparison) -> pd.DataFrame:
    """Return level, what and action of each finding of the review, the most serious first."""
    told = [(found.level, found.problem) for found in comparison.review.findings]
    rows = [(level, problem.what, problem.remedy) for level, problem in told]
    return frame_of(rows, ["level", "what", "action"])


def findings_table(comparison: Comparison) -> Table:
    """Make a table of the findings of the review of the data."""
    fields = [
        Field("level", "level"),
        Field("what", "what was found"),
        Field("action", "what was done, or can be done"),
    ]
    findings, caption = findings_of(comparison), "Remarks on the data"
    return make_table(
        "findings", caption, findings, fields, mark=lambda row: str(row["level"]), searched=False
    )


MOST_NAMED = 20  # entries of a list, such as columns; the words count the others
TITLES = {
    "source": "source",
    "sheet": "sheet",
    "sha256": "SHA-256 of the file",
    "encoding": "encoding",
    "delimiter": "cells are separated by",
    "decimal": "decimal mark",
    "rows": "rows that were read",
    "arrays": "arrays in the file",
    "runs": "runs that were read",
    "ids": "names of subjects",
    "left_out": "rows left out",
    "regions": "regions",
    "atlas": "name of the atlas",
    "atlas_file": "table of the atlas",
    "atlas_sha256": "SHA-256 of that table",
    "totals": "columns left out because they are totals",
    "excluded": "columns left out as asked",
    "other_measures": "columns left out because they have other measures",
    "confounds": "columns left out because they have names of confounds",
    "constant": "columns left out because they are constant in each subject",
    "ignored": "columns left out because they are neither regions nor named by the user",
    "lobes": "lobes that were asked for",
    "other_lobes": "columns left out because they are in other lobes",
    "columns": "columns that were used",
    "not_in_table": "rows of subjects that are not in the table",
    "subjects_without_row": "subjects without a row in this table",
}
MARKS = {",": "commas", ";": "semicolons", "\t": "tabs", " ": "spaces", "|": "vertical bars"}
# Facts that the findings of the review report
FINDINGS = ("unnamed_sites", "repeated", "unnamed_motion", "taken_motion", "censored")
VALUES = {  # the words of the values of some facts
    "delimiter": MARKS,
    "decimal": {".": "point", ",": "comma"},
    "regions": {"all": "all columns without another role", "given": "named by the user"},
}


def without_folders(value: Any) -> Any:
    """Return facts of a provenance, with names of files in place of absolute paths."""
    if isinstance(value, Mapping):
        return {key: without_folders(part) for key, part in value.items()}
    if _is_list(value):
        return [without_folders(part) for part in value]
    is_path = isinstance(value, str) and os.path.isabs(value)
    return os.path.basename(value) if is_path else value


def origin_words(provenance: Mapping[str, Any], table: str = "") -> list[tuple[str, str]]:
    """Return the facts of a provenance in words; facts without content are left out.

    Parameters
    ----------
    provenance : mapping
        `Cohort.provenance`, or a part of it.
    table : str
        First words of each title, if there are several tables.

    Returns
    -------
    list of (str, str)
        Title and text of each fact.
    """
    facts = []
    for key, value in provenance.items():
        if key in FINDINGS:  # the table of findings has these facts, and says what to do
            continue
        if key == "participants" and isinstance(value, Mapping):
            facts += origin_words(value, "participants: ")
        elif key == "tables" and _is_list(value):
            for number, part in enumerate(value, start=1):
                facts += origin_words(part, f"table {number}: ")
        elif text := _text(key, value):
            facts.append((table + TITLES.get(key, key.replace("_", " ")), text))
    return facts


def _text(key: str, value: Any) -> str:
    """Return the value of a fact in words; "" if it has no content."""
    # None, an empty list or 0 tells a reader nothing.
    if not value:
        return ""
    if key == "left_out" and isinstance(value, Mapping):
        return "; ".join(_rows_left_out(label, count) for label, count in value.items())
    if key == "ids":
        return "none: rows are numbered" if value == "row numbers" else f"column {value}"
    if key in VALUES:
        return VALUES[key].get(str(value), str(value))
    return _plain(value)


def _rows_left_out(label: object, count: int) -> str:
    of = f"of the group {label}" if str(label) else "without a group"
    return f"1 row {of} was left out" if count == 1 else f"{count} rows {of} were left out"


def _plain(value: Any) -> str:
    """Write a value for a sentence; long lists are cut."""
    if isinstance(value, Mapping):
        value = [f"{name}: {_plain(entry)}" for name, entry in value.items()]
    if not _is_list(value):
        return str(value)
    more = len(value) - MOST_NAMED
    return ", ".join(map(_plain, value[:MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


def _is_list(value: Any) -> bool:
    # In Python a text is a sequence as well.
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


NAMED_IN = "tables/left_out.csv"  # in the folder of a report; names of subjects stay out of text


def left_out_words(comparison: Comparison) -> str:
    """Say how many subjects of each group are far from the others; return "" if there are none."""
    far = comparison.far_out
    if not any(far.values()):
        return ""
    lie = "lies" if sum(map(len, far.values())) == 1 else "lie"
    return (
        f"{left_out_counts(comparison, far)} {lie} far from their group ({NAMED_IN} names them). "
        f"{without_them(comparison)}"
    )


def left_out_counts(comparison: Comparison, left_out: Mapping[str, tuple[Any, ...]]) -> str:
    """Return how many rows of each group are left out, such as "2 of 63 CTR and 0 of 61 SCZ"."""
    # Rows are counted, not persons: a person with several visits may lose one of them.
    sizes = comparison.cohort.sizes
    counts = [
        f"{len(left_out[group])} of {sizes[group]} {called(group)}" for group in comparison.groups
    ]
    return joined(counts)


def without_them(comparison: Comparison) -> str:
    """Say which steps leave out the subjects that are far from their group."""
    # A learner may keep outliers, and the tests may be missing, so there are three sentences.
    networks, tests = comparison.left_out, comparison.tests
    if tests is None or not any(tests.left_out.values()):
        return "The networks leave them out."
    if not any(networks.values()):
        return "The tests of differences leave them out; the networks have all subjects."
    both = "The networks and the tests of differences leave them out."
    return f"{both} {visits_words(comparison)}".rstrip()


def visits_words(comparison: Comparison) -> str:
    """Say how many rows the tests leave out, if these are more than the rows that are far out.

    Otherwise return "". If one row of a person is far out, the tests leave out all its rows.
    """
    tests = comparison.tests
    if tests is None or tests.left_out == comparison.far_out or not any(tests.left_out.values()):
        return ""
    counts = left_out_counts(comparison, tests.left_out)
    return f"The tests leave out all rows of these persons: {counts}."


Row = dict[str, Any]


def table_one(cohort: Cohort, groups: Sequence[str]) -> pd.DataFrame:
    """Describe each group, with a test of each covariate.

    Persons with several rows count once, by their first row. Paired visits are compared by a
    paired t test, but only if there are two groups and the covariate is a number. Families (blocks)
    are not tested, because their members are not independent.

    Parameters
    ----------
    cohort : Cohort
        The reviewed cohort.
    groups : sequence of str
        The groups in the order of the columns.

    Returns
    -------
    DataFrame
        The columns are characteristic, level (of labels), ``in_GROUP`` (a text: mean (SD) for
        numbers, n (%) for levels), test, p and missing. The test is in the first row of a
        characteristic.
    """
    # Rows of one person are not independent, so a test of all rows would find too much.
    used = first_rows(cohort)
    rows: list[Row] = [_sizes("visits" if cohort.pair is not None else "subjects", used, groups)]
    if cohort.person is not None:
        # `used` has one row per person. This line has the number of all rows.
        rows.append(_sizes("rows", cohort, groups))
    for name, column in used.covariates.items():
        rows += _described(used, name, column, groups)
    if used.site is not None:
        rows += _counted(used, "site", used.site, np.full(len(used), True), groups)
    return frame_of(rows)


def _sizes(what: str, cohort: Cohort, groups: Sequence[str]) -> Row:
    return _row(what, "", {group: str(cohort.sizes[group]) for group in groups})


def _row(
    name: str, level: str, cells: Mapping[str, str], test: GroupTest = NOT_TESTED, missing: int = 0
) -> Row:
    """Make one row. `cells` has the text of each group."""
    # The order of the keys becomes the order of the columns.
    columns = {f"in_{group}": text for group, text in cells.items()}
    tested = {"test": test.name, "p": test.p, "missing": missing}
    return {"characteristic": name, "level": level} | columns | tested


def _described(
    cohort: Cohort, name: str, column: NDArray[Any], groups: Sequence[str]
) -> Iterator[Row]:
    """Yield the rows of a covariate: one row for a number, or one row per level for labels."""
    known = known_cells(column)
    # Labels are counted by level, and also numbers with so few values that a mean says little.
    if is_counted(column):
        yield from _counted(cohort, name, column, known, groups)
        return
    member = np.asarray(cohort.group)
    means = {group: _mean(column[known & (member == group)]) for group in groups}
    yield _row(name, "", means, covariate_test(cohort, column), int((~known).sum()))


def _counted(
    cohort: Cohort, name: str, column: NDArray[Any], known: Mask, groups: Sequence[str]
) -> Iterator[Row]:
    """Yield one row per level."""
    member = np.asarray(cohort.group)
    test = covariate_test(cohort, column)
    missing = int((~known).sum())
    for level in np.unique(column[known]).tolist():
        at_level = known & (column == level)
        shares = {group: _share(at_level, known & (member == group)) for group in groups}
        yield _row(name, level_text(level), shares, test, missing)
        test, missing = NOT_TESTED, 0  # only the first row of a characteristic has them


def _mean(values: Array) -> str:
    """Return "mean (SD)", with as many decimals as the SD needs for two significant digits."""
    if not len(values):
        return "none known"
    if len(values) == 1:
        return f"{values[0]:.4g}"
    spread = float(values.std(ddof=1))
    decimals = max(0, 1 - int(np.floor(np.log10(spread)))) if spread else 1  # 12, 1.2, 0.12
    return f"{values.mean():.{decimals}f} ({spread:.{decimals}f})"


def _share(at_level: Mask, of: Mask) -> str:
    count = int((at_level & of).sum())
    # A group may have no known value at all.
    return f"{count} ({count / max(int(of.sum()), 1):.0%})"


KEY = "table-one"


def table_one_section(comparison: Comparison) -> Table:
    """Make Table 1: one row per covariate or per level of a covariate, one column per group."""
    table = comparison.tables.table_one
    # A covariate with levels has one row per level. A numeric one has one row, with level "".
    names = np.where(table["level"] == "", table["characteristic"], table["characteristic"] + ": ")
    shown = table.assign(
        what=names + table["level"],
        p=[p_value(p) for p in table["p"]],
    )
    fields = [
        Field("what", "characteristic"),
        # "in_", because a group could have the name of another column.
        *(Field(f"in_{group}", group, hint=HINTS[KEY]["cell"]) for group in comparison.groups),
        Field("test", "test"),
        Field("p", "p"),
    ]
    if table["missing"].any():
        fields.append(Field("missing", "not known", "count"))
    caption = "Table 1: the groups before anything was learned"
    return make_table(KEY, caption, shown, fields, searched=False)
