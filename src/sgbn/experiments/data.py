"""Tables for the experiments. The real tables are not part of the package."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from sgbn.cohort.cohort import Cohort
from sgbn.core.exceptions import InputError
from sgbn.read.table import read_table

COVARIATES = {
    "cobre_scz": ("age", "sex", "eTIV"),
    "ixi_age": ("age", "sex", "eTIV", "euler_mean"),
    "abide1_asd": ("age", "sex", "fiq", "eTIV"),
}
TABLE = "table"  # name of a table that the user gives


def data_folder() -> Path | None:
    """Return the folder of real tables, or None if there is no such folder.

    If the environment variable SGBN_DATA is set, it names the folder, which must exist. If it is
    not set, the folder is ../shared/data, if this exists.
    """
    named = os.environ.get("SGBN_DATA")
    folder = Path(named) if named else Path("..", "shared", "data")
    if named and not folder.is_dir():
        raise InputError(f"SGBN_DATA is {named!r}, which is not a folder. Correct or unset it.")
    return folder if folder.is_dir() else None


def read_neuro(folder: Path, name: str, exclude: str = "") -> Cohort:
    """Read one of the real tables.

    Parameters
    ----------
    folder : Path
        The folder of real tables.
    name : str
        Name of the table, a key of `COVARIATES`.
    exclude : str
        A covariate of the table to leave out, if any.
    """
    return read_table(
        folder / "neuro" / f"{name}.csv",
        group="group",
        site="site",
        covariates=[column for column in COVARIATES[name] if column != exclude],
        regions="all",  # also regions that no atlas has
        exclude=[exclude] if exclude else [],  # otherwise it would become a region
    )


def real_tables() -> dict[str, Cohort]:
    """Return the real tables by name, each with two groups. Without tables, the result is empty.

    The tables are COBRE, the largest site of ABIDE, and the oldest and the youngest third of IXI.
    One site of ABIDE is used, because 80 subjects of 20 sites would be only 4 per site. Covariates
    are age, sex and intracranial volume, and in IXI also the quality of the scans. Two covariates
    are left out: the age in IXI, because it defines the groups, and the IQ in ABIDE, because autism
    affects it.
    """
    folder = data_folder()
    if folder is None or not (folder / "neuro").is_dir():
        return {}
    abide = read_neuro(folder, "abide1_asd", exclude="fiq")
    ixi = read_neuro(folder, "ixi_age", exclude="age")
    return {
        "cobre": one_site(read_neuro(folder, "cobre_scz")),
        "abide": one_site(abide.subset(abide.site == "NYU")),
        "ixi": one_site(ixi.subset(groups=["OLD", "YOUNG"])),
    }


def one_site(cohort: Cohort) -> Cohort:
    """Return the cohort without its sites if there is only one site."""
    several = cohort.site is not None and len(np.unique(cohort.site)) > 1
    return cohort if several else replace(cohort, site=None)


def require_two_groups(cohort: Cohort) -> None:
    """Raise InputError unless the table has exactly two groups."""
    if len(cohort.groups) != 2:
        raise InputError(
            f"the table has {len(cohort.groups)} groups, {list(cohort.groups)}, but the experiment "
            "compares two. Name the column of the groups (--group), or two groups (--groups)."
        )


def most_different(cohort: Cohort, n_regions: int = 40) -> Cohort:
    """Keep the regions that differ most between two groups, by Welch's t.

    All subjects take part in the choice, as in the paper. This is no problem if nothing is
    predicted.
    """
    first, second = (cohort.of_group(group) for group in cohort.groups)
    spread = np.sqrt(first.var(axis=0) / len(first) + second.var(axis=0) / len(second))
    t = np.abs(first.mean(axis=0) - second.mean(axis=0)) / spread
    # A stable sort decides ties by the order of the table. The result is in that order too.
    chosen = np.sort(np.argsort(-t, kind="stable")[:n_regions])
    return cohort.subset(regions=[cohort.regions[k] for k in chosen])
