"""What sentences and tables call groups, regions and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sgbn.cohort.atlas import UNKNOWN_LOBE
from sgbn.write.page import Field

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.result import Comparison


NAMES = ("source", "target", "region", "skewed_region", "heavy_region")  # columns with regions


def with_labels(comparison: Comparison, table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with readable names of regions."""
    readable = comparison.cohort.labels
    known = [name for name in NAMES if name in table]
    return table.assign(**{name: table[name].replace(readable) for name in known})


def called(group: str) -> str:
    """Return the name of a group in a sentence: "group 1" if the name is the number 1."""
    return f"group {group}" if group.replace(".", "", 1).isdigit() else group


def joined(names: Sequence[str]) -> str:
    """Join names with commas and "and", as in a sentence."""
    # `filter` drops the empty first part of a single name, so that it has no "and".
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


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


TRUE = "true_"  # the beginning of the names of columns with the truth of a simulation
