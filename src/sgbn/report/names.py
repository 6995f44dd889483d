"""Names of groups for names of files, and readable names of regions for tables."""

from __future__ import annotations

import pandas as pd

from sgbn.comparison import Comparison

NAMES = ("source", "target", "region", "skewed_region", "heavy_region")  # columns with regions


def with_labels(comparison: Comparison, table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with readable names of regions."""
    readable = comparison.cohort.labels
    known = [name for name in NAMES if name in table]
    return table.assign(**{name: table[name].replace(readable) for name in known})
