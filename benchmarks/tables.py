"""One group of a real table: its regions, what is taken out of them, and sites."""

from typing import NamedTuple

import numpy as np
import pandas as pd
from output import real_data

# All other columns are regions: a new column of a table must be named here.
NOT_REGIONS = ("subject_id", "group", "age", "sex", "site", "fiq", "eTIV", "euler_mean")
ALL = "all groups"


class Rows(NamedTuple):
    """Regions, what is taken out of them (age, sex, sites), and sites; one row per subject."""

    regions: pd.DataFrame
    nuisance: np.ndarray
    site: np.ndarray

    def take(self, rows):
        """Return some of the rows."""
        return Rows(self.regions.iloc[rows], self.nuisance[rows], self.site[rows])


def read(name, group):
    """Read one group of a table, or ALL of them."""
    rows = pd.read_csv(real_data() / "neuro" / f"{name}.csv")
    rows = rows[(rows["group"] == group) | (group == ALL)].reset_index(drop=True)
    # Coded by the first row's sex, whatever the table calls the two: a slope has the same fit
    # either way.
    sex = (rows["sex"].astype(str) == str(rows["sex"].iloc[0])).astype(float)
    # Without the first, or the columns of sites would add up to the constant.
    sites = pd.get_dummies(rows["site"].astype(str), drop_first=True).astype(float)
    nuisance = np.column_stack([rows["age"].astype(float), sex, sites])
    regions = rows.drop(columns=[column for column in NOT_REGIONS if column in rows])
    # Half samples are drawn within these.
    return Rows(regions, nuisance, rows["site"].astype(str).to_numpy())
