"""What results depend on beside their settings: versions, and how two of them differ."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

LIBRARIES = ("sgbn", "numpy", "scipy", "scikit-learn", "numba")
DATA = "data"  # setting that tells the data by a hash, which means nothing to a reader


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that numbers depend on."""
    return dict(_versions())


@cache  # a lookup reads files, and every study asks for it
def _versions() -> Mapping[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}}


def differences(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """One line per entry that differs; the hashes of data are not shown."""
    names = sorted(set(stored) | set(now))
    return [
        "  the data are not the same (cells, labels, names, or the lobes of the regions)"
        if name == DATA
        else f"  {name}: {stored.get(name, '(not set)')} there, {now.get(name, '(not set)')} now"
        for name in names
        if stored.get(name) != now.get(name)
    ]
