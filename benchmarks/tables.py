"""Read one group of a real table: its regions, nuisance columns and sites."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from output import real_data

# All other columns are regions. If a table gets a new column, name it here.
NOT_REGIONS = ("subject_id", "group", "age", "sex", "site", "fiq", "eTIV", "euler_mean")
ALL = "all groups"


class Rows(NamedTuple):
    """Regions, nuisance columns (age, sex, sites) and site labels, with one row per subject."""

    regions: pd.DataFrame
    nuisance: np.ndarray
    site: np.ndarray

    def take(self, rows):
        """Return some of the rows."""
        return Rows(self.regions.iloc[rows], self.nuisance[rows], self.site[rows])


def read(name, group):
    """Read one group of a table, or all groups if `group` is ALL."""
    rows = pd.read_csv(real_data() / "neuro" / f"{name}.csv")
    rows = rows[(rows["group"] == group) | (group == ALL)].reset_index(drop=True)
    # The code is 1 for the sex of the first row: the fit does not depend on which sex is 1.
    sex = (rows["sex"].astype(str) == str(rows["sex"].iloc[0])).astype(float)
    # The first site is dropped: otherwise the columns of sites would add up to the constant.
    sites = pd.get_dummies(rows["site"].astype(str), drop_first=True).astype(float)
    nuisance = np.column_stack([rows["age"].astype(float), sex, sites])
    regions = rows.drop(columns=[column for column in NOT_REGIONS if column in rows])
    # Half samples are drawn within sites.
    return Rows(regions, nuisance, rows["site"].astype(str).to_numpy())
