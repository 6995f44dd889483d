"""Names of groups for names of files, and readable names of regions for tables."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pandas as pd

from sgbn.comparison import Comparison

NAMES = ("source", "target", "region", "skewed_region", "heavy_region")  # columns with regions


def file_names(groups: Iterable[str]) -> dict[str, str]:
    """Map each group to a name that is safe in a file name.

    Two names always differ in their letters and digits, even in lower case, because names in BIDS
    have only letters and digits.
    """
    names: dict[str, str] = {}
    for group in groups:
        # Nothing is left of a name that has no Latin letter or digit.
        safe = name = re.sub(r"[^A-Za-z0-9-]+", "_", group).strip("_") or "group"
        number = 2
        # Some file systems do not distinguish A from a.
        while _letters(name) in map(_letters, names.values()):
            name, number = f"{safe}_{number}", number + 1
        names[group] = name
    return names


def _letters(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())


def with_labels(comparison: Comparison, table: pd.DataFrame) -> pd.DataFrame:
    """Return the table with readable names of regions."""
    readable = comparison.cohort.labels
    known = [name for name in NAMES if name in table]
    return table.assign(**{name: table[name].replace(readable) for name in known})
