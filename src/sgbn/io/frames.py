"""Records of the numeric core as DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.exceptions import InputError


def to_frame(records: NDArray[Any] | Mapping[Any, NDArray[Any]], *names: str) -> pd.DataFrame:
    """Make a DataFrame of records, such as `Differences.edges` or `GaussianNetwork.edges()`.

    The functions of `sgbn.inference`, of `sgbn.discriminative` and the networks themselves give
    records, NumPy's structured arrays: they know nothing of pandas.

    Parameters
    ----------
    records : structured array, or mapping of key to structured array
        Those of a mapping, such as `Differences.pairwise`, are put below each other.
    *names : str
        Names of the columns that hold the keys of a mapping, one per part of a key.

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
            f"names {list(names)} name the keys of a mapping, but one array has no keys. Leave "
            "them out, or give a mapping of key to records."
        )
    if getattr(getattr(records, "dtype", None), "names", None) is None:
        raise InputError(
            f"records is a {type(records).__name__}: give a structured array, such as .edges of "
            "the tests of differences."
        )
    return pd.DataFrame.from_records(np.asarray(records))


def _stacked(parts: Mapping[Any, NDArray[Any]], *names: str) -> pd.DataFrame:
    """Put records below each other, with the keys of these names in the first columns."""
    for key in parts:
        # pandas would name too few levels without a word.
        if len(names) != (len(key) if isinstance(key, tuple) else 1):
            raise InputError(f"the records of {key!r} need names of their keys: give one per part.")
    tables = {key: to_frame(records) for key, records in parts.items()}
    # pd.concat refuses an empty mapping.
    if not tables:
        return pd.DataFrame()
    # The keys become an index, and that becomes the first columns.
    return pd.concat(tables, names=[*names]).reset_index(level=names).reset_index(drop=True)
