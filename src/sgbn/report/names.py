"""Names of groups that are safe in names of files, and readable names of regions in tables."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas as pd

from sgbn.comparison import Comparison

NAMES = ("source", "target", "region", "skewed_region", "heavy_region")  # columns of regions


def file_names(groups: Iterable[str]) -> dict[str, str]:
    """Group -> a name that is safe in a file name.

    No two are the same in letters and digits, whatever the case: names after BIDS have only these.
    """
    names: dict[str, str] = {}
    for group in groups:
        # A name without any Latin letter or digit would leave nothing.
        safe = name = re.sub(r"[^A-Za-z0-9-]+", "_", group).strip("_") or "group"
        number = 2
        # Some file systems do not tell A from a: names differ in more than the case.
        while _letters(name) in map(_letters, names.values()):
            name, number = f"{safe}_{number}", number + 1
        names[group] = name
    return names


def _letters(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def with_labels(comparison: Comparison, table: pd.DataFrame) -> pd.DataFrame:
    """Table with readable names of regions in those of its columns that have any."""
    readable = comparison.cohort.labels
    known = [name for name in NAMES if name in table]
    return table.assign(**{name: table[name].replace(readable) for name in known})
