"""The summary of a cohort: a few lines of text about what it holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sgbn.cohort.fields import label_counts
from sgbn.core.exceptions import counted
from sgbn.core.types import Labels, Mask

if TYPE_CHECKING:
    from sgbn.cohort.cohort import Cohort

MAX_LISTED_LEVELS = 24  # labels of a column that are listed; further labels are only counted


def size_text(cohort: Cohort) -> str:
    """Return the number of subjects as text.

    If a person may have several rows, return the number of rows and the number of persons.
    """
    # `pair` is not counted here, because it has its own line in the summary.
    if cohort.person is None:
        return counted(len(cohort), "subject")
    n_persons = len(np.unique(cohort.person))
    return f"{counted(len(cohort), 'row')} of {counted(n_persons, 'person')}"


def summary_text(cohort: Cohort) -> str:
    """Return the summary, one line per kind of content."""
    lines = [f"{size_text(cohort)}, {counted(len(cohort.regions), 'region')}"]
    if cohort.atlas is not None:
        unknown = cohort.places.count(None)
        lines[0] += f" ({cohort.atlas.title}{f', {unknown} unknown there' if unknown else ''})"
    if cohort.group is not None:
        lines.append("groups: " + counts_text(cohort.sizes))
    if cohort.site is not None:
        lines.append(f"sites: {_column_text(cohort, cohort.site)}")
    if cohort.pair is not None:
        lines.append(f"pairs: {_pairs_text(cohort, cohort.pair)}")
    if cohort.block is not None:
        sizes = label_counts(cohort.block)
        # default=0, because a cohort may have no rows.
        most = counted(max(sizes.values(), default=0), "row")
        lines.append(f"blocks: {len(sizes)}, the largest with {most}")
    for name, column in cohort.covariates.items():
        curve = " (a curve)" if name in cohort.smooth else ""
        lines.append(f"covariate {name}{curve}: {_column_text(cohort, column)}")
    missing = np.isnan(cohort.values)
    if missing.any():
        lines.append(
            f"missing cells: {missing.sum()} ({missing.mean():.1%}) of "
            f"{counted(missing.any(axis=1).sum(), 'subject')} and "
            f"{counted(missing.any(axis=0).sum(), 'region')}"
        )
    return "\n".join(lines)


def counts_text(counts: Mapping[str, int]) -> str:
    """Return the first names with their counts, and how many more names there are."""
    texts = [f"{name} {count}" for name, count in counts.items()]
    n_more = len(texts) - MAX_LISTED_LEVELS
    more = f" and {n_more} more" if n_more > 0 else ""
    return ", ".join(texts[:MAX_LISTED_LEVELS]) + more


def _column_text(cohort: Cohort, column: NDArray[Any]) -> str:
    """Return a text about the values of a column in each group."""
    parts = {"": np.full(len(cohort), True)}
    if cohort.group is not None:
        parts = {f"{name} ": cohort.group == name for name in cohort.groups}
    # Decided for the whole column, so that all groups show means, or all show counts.
    few = len(np.unique(column[~_missing(column)])) <= 2  # such as a sex of 0 and 1
    return "; ".join(name + _values_text(column[rows], few) for name, rows in parts.items())


def _values_text(column: NDArray[Any], few: bool) -> str:
    """Return the mean (sd) of numbers, or the counts of labels, and how many are missing.

    If `few`, the numbers are counted like labels.
    """
    numeric, missing = column.dtype.kind == "f", _missing(column)
    present = column[~missing]
    if not present.size:
        return "none"
    if numeric and not few:
        # The standard deviation of one value is 0 / 0.
        spread = present.std(ddof=1) if len(present) > 1 else 0.0
        text = f"{present.mean():.4g} ({spread:.3g})"
    else:
        counts = label_counts(present)
        text = counts_text({f"{name:g}" if numeric else name: k for name, k in counts.items()})
    return text + (f", {missing.sum()} missing" if missing.any() else "")


def _missing(column: NDArray[Any]) -> Mask:
    return np.asarray(np.isnan(column) if column.dtype.kind == "f" else column == "")


def _pairs_text(cohort: Cohort, pair: Labels) -> str:
    """Return the number of persons, and of persons without exactly one row in each group."""
    text = counted(len(np.unique(pair)), "person")
    # With one group there are no pairs.
    if len(cohort.groups) < 2:
        return text
    incomplete = len(np.unique(pair[~cohort.complete]))
    if incomplete:
        return f"{text}, {incomplete} of them without exactly one row in each group"
    return f"{text}, each in {'both' if len(cohort.groups) == 2 else 'all'} groups"
