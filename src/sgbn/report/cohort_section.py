"""The section of the page on the data: sizes of the groups, findings of the review, and origin."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pandas as pd

from sgbn.cohort.atlas import UNKNOWN_LOBE
from sgbn.comparison import Comparison
from sgbn.comparison.left_out_words import NAMED_IN
from sgbn.report.origin import origin_words
from sgbn.report.privacy import WITHHELD, Veil
from sgbn.write.page import Field, Table, make_table


def cohort_section(comparison: Comparison, veil: Veil) -> dict[str, Any]:
    """Collect what the page says about the data; the veil hides names of subjects."""
    cohort = comparison.cohort
    # Gaps are counted in the cohort as it was read. In `comparison.prepared` they are filled.
    missing, findings = np.isnan(cohort.values), veil.findings(comparison)
    lobes = Counter(cohort.lobes)  # keeps the order of the regions
    return {
        "table": groups_table(comparison, veil),
        "findings": findings_table(findings),
        "withheld": findings["what"].str.contains(WITHHELD, regex=False).any(),
        "missing": f"{missing.sum()} of {missing.size} cells ({missing.mean():.1%})",
        "atlas": "" if cohort.atlas is None else cohort.atlas.title,
        "lobes": [f"{lobe} ({count})" for lobe, count in lobes.items() if has_lobes(comparison)],
        "source": origin_words(cohort.provenance),
    }


def has_lobes(comparison: Comparison) -> bool:
    """Return whether the lobe of at least one region is known."""
    # Without an atlas each region has the lobe "unknown", and a column of these tells nothing.
    return set(comparison.cohort.lobes) != {UNKNOWN_LOBE}


def lobe_fields(comparison: Comparison) -> tuple[Field, ...]:
    """Return the fields with the lobes of both regions of an edge, if any lobe is known."""
    if not has_lobes(comparison):
        return ()
    return Field("source_lobe", "from lobe"), Field("target_lobe", "to lobe")


def row_word(comparison: Comparison) -> str:
    """Return what the rows of the table are: "subjects", "visits" or just "rows"."""
    cohort = comparison.cohort
    if cohort.pair is not None:
        return "visits"
    return "subjects" if cohort.person is None else "rows"


def groups_table(comparison: Comparison, veil: Veil) -> Table:
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
    rows += _left_out_rows(comparison, veil)
    frame = pd.DataFrame([[name, *cells] for name, cells in rows])
    fields = [Field("0", "what")]
    # Names of columns are numbers, because a group could have the name of the first column.
    fields += [Field(str(k), name) for k, name in enumerate(comparison.groups, start=1)]
    frame.columns = pd.Index([field.source for field in fields])
    return make_table("cohort", "Rows of the groups", frame, fields, searched=False)


def _left_out_rows(comparison: Comparison, veil: Veil) -> list[tuple[str, list[str]]]:
    """Count the subjects that networks and tests leave out; name them if that is allowed."""
    far, tests = comparison.far_out, comparison.tests
    lists = {"outliers, left out": far}
    # If one row of a person is an outlier, the tests leave out all rows of this person.
    if tests is not None and tests.left_out != far and any(tests.left_out.values()):
        lists["left out of the tests, with all their rows"] = tests.left_out
    return [
        (what, [_who(left_out[group], veil) for group in comparison.groups])
        for what, left_out in lists.items()
        if any(left_out.values())
    ]


def _who(ids: tuple[Any, ...], veil: Veil) -> str:
    """Return the number of subjects, or their names if these may be shown."""
    if not ids:
        return "none"
    return ", ".join(map(str, ids)) if veil.lifted else f"{len(ids)} ({NAMED_IN} names them)"


def findings_table(findings: pd.DataFrame) -> Table:
    """Make a table of the findings of the review of the data, the most serious first."""
    fields = [
        Field("level", "level"),
        Field("what", "what was found"),
        Field("action", "what was done, or can be done"),
    ]
    caption = "Remarks on the data"
    return make_table(
        "findings", caption, findings, fields, mark=lambda row: str(row["level"]), searched=False
    )
