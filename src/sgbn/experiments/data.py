"""Real tables for the experiments; they are not part of the package."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.exceptions import InputError

NOT_REGIONS = ["subject_id", "group", "age", "sex", "site", "eTIV", "euler_mean", "fiq"]


class GroupedTable(NamedTuple):
    """Subjects x regions, with a group each."""

    values: NDArray[np.float64]
    regions: list[str]
    group: NDArray[np.str_]


def data_folder() -> Path | None:
    """Folder of real tables: SGBN_DATA, which must exist, else ../shared/data, if it does."""
    named = os.environ.get("SGBN_DATA")
    folder = Path(named) if named else Path("..", "shared", "data")
    if named and not folder.is_dir():
        raise InputError(f"SGBN_DATA names {named!r}, which is no folder. Correct or unset it.")
    return folder if folder.is_dir() else None


def read_cobre(folder: Path, n_regions: int = 40) -> GroupedTable:
    """COBRE (schizophrenia, controls): the regions that differ most between the groups.

    The choice sees all subjects, as the paper's did. That is of no concern to Exp-I, which
    predicts nothing.
    """
    table = pd.read_csv(folder / "neuro" / "cobre_scz.csv")
    regions = table.columns.drop(NOT_REGIONS, errors="ignore")
    values = table[regions].to_numpy(float)
    group = table["group"].to_numpy(str)
    first, second = (values[group == g] for g in np.unique(group))
    spread = np.sqrt(first.var(axis=0) / len(first) + second.var(axis=0) / len(second))
    t = np.abs(first.mean(axis=0) - second.mean(axis=0)) / spread
    chosen = np.sort(np.argsort(-t, kind="stable")[:n_regions])
    return GroupedTable(values[:, chosen], list(regions[chosen]), group)
