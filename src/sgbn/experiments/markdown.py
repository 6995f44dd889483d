"""Functions that write parts of the experiments' reports as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return the lines of a table."""
    ruler = "|" + "---|" * len(header)
    return [row(header), ruler, *map(row, rows)]


def row(cells: Iterable[Any]) -> str:
    """Return one line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def provenance(study: Mapping[str, Any]) -> str:
    """Return a sentence on the command and versions of a study, given its study.json."""
    versions = ", ".join(f"{name} {version}" for name, version in study["versions"].items())
    return f"Command: `{' '.join(study['command'])}`. Versions: {versions}."
