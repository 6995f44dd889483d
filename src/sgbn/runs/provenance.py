"""The versions of libraries that results depend on, and how two records differ."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

LIBRARIES = ("sgbn", "numpy", "scipy", "scikit-learn", "numba")
DATA = "data"  # the setting with the hash of the data, which means nothing to a reader


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that results depend on."""
    return dict(_versions())


@cache  # finding a version reads files, and every study needs the versions
def _versions() -> Mapping[str, str]:
    return {"python": platform.python_version(), **{name: version(name) for name in LIBRARIES}}


def differences(stored: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return one line per entry that differs. Hashes of data are not shown."""
    names = sorted(set(stored) | set(now))
    return [
        "  the data are not the same (cells, labels, names, or the lobes of the regions)"
        if name == DATA
        else f"  {name}: {stored.get(name, '(not set)')} there, {now.get(name, '(not set)')} now"
        for name in names
        if stored.get(name) != now.get(name)
    ]
