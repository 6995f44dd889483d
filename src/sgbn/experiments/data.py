"""Tables for the experiments: the real ones are not part of the package."""

from __future__ import annotations

import os
from dataclasses import replace
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
TABLE = "table"  # name of a user's own


def data_folder() -> Path | None:
    """Folder of real tables: SGBN_DATA, which must exist, else ../shared/data, if it does."""
    named = os.environ.get("SGBN_DATA")
    folder = Path(named) if named else Path("..", "shared", "data")
    if named and not folder.is_dir():
        raise InputError(f"SGBN_DATA names {named!r}, which is not a folder. Correct or unset it.")
    return folder if folder.is_dir() else None


def read_neuro(folder: Path, name: str, exclude: str = "") -> Cohort:
    """One of the real tables, a key of COVARIATES; one of these may be left out."""
    return read_table(
        folder / "neuro" / f"{name}.csv",
        group="group",
        site="site",
        covariates=[column for column in COVARIATES[name] if column != exclude],
        regions="all",  # not only those that an atlas knows
        exclude=[exclude] if exclude else [],  # or it would be taken for a region
    )


def real_tables() -> dict[str, Cohort]:
    """Two groups of each real table; none where there is no folder of them.

    COBRE; ABIDE's largest site, since 80 subjects of 20 sites would be 4 per site; and the oldest
    and the youngest third of IXI. Covariates are age, sex and intracranial volume, and the quality
    of the scans in IXI; not IXI's age, which makes the groups, nor ABIDE's IQ, which autism
    affects.
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
    """Forget the site where there is only one."""
    several = cohort.site is not None and len(np.unique(cohort.site)) > 1
    return cohort if several else replace(cohort, site=None)


def require_two_groups(cohort: Cohort) -> None:
    """Raise InputError unless a table has two groups."""
    if len(cohort.groups) != 2:
        raise InputError(
            f"the table has {len(cohort.groups)} groups, {list(cohort.groups)}: the experiment "
            "compares two. Name the column of the groups (--group), or two of them (--groups)."
        )


def most_different(cohort: Cohort, n_regions: int = 40) -> Cohort:
    """Keep the regions that differ most between two groups, by Welch's t.

    The choice sees all subjects, as the paper's did. That is of no concern where nothing is
    predicted.
    """
    first, second = (cohort.of_group(group) for group in cohort.groups)
    spread = np.sqrt(first.var(axis=0) / len(first) + second.var(axis=0) / len(second))
    t = np.abs(first.mean(axis=0) - second.mean(axis=0)) / spread
    # Stable, so that ties do not depend on the sort; then in the order of the table.
    chosen = np.sort(np.argsort(-t, kind="stable")[:n_regions])
    return cohort.subset(regions=[cohort.regions[k] for k in chosen])
