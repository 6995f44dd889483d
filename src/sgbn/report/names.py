"""Names of groups that are safe in names of files."""

from __future__ import annotations

import re
from collections.abc import Iterable


def file_names(groups: Iterable[str]) -> dict[str, str]:
    """Group -> a name that is safe in a file name; no two are the same, whatever the case."""
    names: dict[str, str] = {}
    for group in groups:
        safe = name = re.sub(r"[^A-Za-z0-9-]+", "_", group).strip("_") or "group"
        number = 2
        while name.lower() in (taken.lower() for taken in names.values()):
            name, number = f"{safe}_{number}", number + 1
        names[group] = name
    return names
