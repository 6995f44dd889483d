"""Tables for the experiments: the real ones, which are not part of the package, and digests."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError
from sgbn.io import read_table

COVARIATES = {
    "cobre_scz": ("age", "sex", "eTIV"),
    "ixi_age": ("age", "sex", "eTIV", "euler_mean"),
    "abide1_asd": ("age", "sex", "fiq", "eTIV"),
}


def data_folder() -> Path | None:
    """Folder of real tables: SGBN_DATA, which must exist, else ../shared/data, if it does."""
    named = os.environ.get("SGBN_DATA")
    folder = Path(named) if named else Path("..", "shared", "data")
    if named and not folder.is_dir():
        raise InputError(f"SGBN_DATA names {named!r}, which is no folder. Correct or unset it.")
    return folder if folder.is_dir() else None


def read_neuro(folder: Path, name: str) -> Cohort:
    """One of the real tables: a key of COVARIATES."""
    return read_table(
        folder / "neuro" / f"{name}.csv",
        group="group",
        site="site",
        covariates=COVARIATES[name],
        regions="all",
    )


def most_different(cohort: Cohort, n_regions: int = 40) -> Cohort:
    """Keep the regions that differ most between two groups, by Welch's t.

    The choice sees all subjects, as the paper's did. That is of no concern where nothing is
    predicted.
    """
    first, second = (cohort.of_group(group) for group in cohort.groups)
    spread = np.sqrt(first.var(axis=0) / len(first) + second.var(axis=0) / len(second))
    t = np.abs(first.mean(axis=0) - second.mean(axis=0)) / spread
    chosen = np.sort(np.argsort(-t, kind="stable")[:n_regions])
    return cohort.subset(regions=[cohort.regions[k] for k in chosen])
