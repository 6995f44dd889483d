"""Tables as structured arrays, without pandas; `sgbn.to_frame` makes DataFrames of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray


def records(columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return a structured array with one field per column, in their order."""
    fields = [(name, column.dtype) for name, column in columns.items()]
    table = np.empty(len(next(iter(columns.values()))), dtype=fields)
    for name, column in columns.items():
        table[name] = column
    return table
