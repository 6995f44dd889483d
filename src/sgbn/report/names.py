"""Names of groups that are safe in names of files, and short names of regions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile

SHARED = re.compile(r".*[\s_.:-]", re.DOTALL)  # up to the last separator


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


def short_names(names: Sequence[str]) -> list[str]:
    """Names without the words that all of them begin or end with, such as a measure."""
    backwards = [name[::-1] for name in _without_beginning(names)]
    return [name[::-1] for name in _without_beginning(backwards)]


def _without_beginning(names: Sequence[str]) -> list[str]:
    """Names without what all begin with, up to a separator, unless nothing were left of one."""
    if len(set(names)) < 2:
        return list(names)
    pairs = zip(min(names), max(names), strict=False)  # all others lie between these two
    shared = "".join(first for first, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    found = SHARED.match(shared)
    cut = [name[found.end() :] if found else name for name in names]
    return cut if all(cut) else list(names)
