"""Convert structured arrays, which the numeric core returns, to DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.core.exceptions import InputError, counted


def to_frame(records: NDArray[Any] | Mapping[Any, NDArray[Any]], *names: str) -> pd.DataFrame:
    """Return a DataFrame of records, such as `Differences.edges` or `GaussianNetwork.edges()`.

    Networks and the functions of `sgbn.inference` and `sgbn.discriminative` do not use pandas. They
    return records, which are NumPy's structured arrays.

    Parameters
    ----------
    records : structured array, or mapping of key to structured array
        Records to convert. The arrays of a mapping, such as `Differences.pairwise`, are stacked
        into one table.
    *names : str
        Names of the columns that hold the keys of a mapping, one per part of a key. Only for a
        mapping.

    Returns
    -------
    DataFrame
        One row per record. The columns of the keys come first.

    Examples
    --------
    >>> from sgbn import GaussianNetwork, to_frame
    >>> to_frame(GaussianNetwork([[0, 0.8], [0, 0]], names=["a", "b"]).edges())
      source target  weight
    0      a      b     0.8
    """
    if isinstance(records, Mapping):
        return _stacked(records, *names)
    if names:
        raise InputError(
            f"records is one array without keys, so the names {list(names)} cannot be used. "
            "Leave the names out, or give a mapping of key to records."
        )
    if getattr(getattr(records, "dtype", None), "names", None) is None:
        raise InputError(
            f"records is a {type(records).__name__}, not a structured array. Give the result of "
            "network.edges(), for example."
        )
    return pd.DataFrame.from_records(np.asarray(records))


def _stacked(parts: Mapping[Any, NDArray[Any]], *names: str) -> pd.DataFrame:
    """Stack the records of a mapping. Its keys become the first columns, called `names`."""
    for key in parts:
        # pandas would accept too few names without an error.
        n_parts = len(key) if isinstance(key, tuple) else 1
        if len(names) != n_parts:
            raise InputError(
                f"the key {key!r} of the records needs {counted(n_parts, 'name')}, but "
                f"{counted(len(names), 'is', 'are')} given. Give one column name per part of the "
                'key, as in to_frame(records, "group", "other").'
            )
    tables = {key: to_frame(records) for key, records in parts.items()}
    # pd.concat refuses an empty mapping.
    if not tables:
        return pd.DataFrame()
    # pd.concat puts the keys into the index; reset_index makes columns of them.
    return pd.concat(tables, names=[*names]).reset_index(level=names).reset_index(drop=True)
