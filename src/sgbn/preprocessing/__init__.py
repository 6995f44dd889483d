"""Transformers for a Pipeline: they fill gaps, and remove the effects of sites and covariates.

X is a DataFrame. Parameters name the columns that hold covariates and the site, and every other
column is a region. Each transformer learns only from the rows that its `fit` receives. In a
cross-validation of the whole Pipeline, no test subject therefore takes part in training.
"""

from sgbn.preprocessing.analysis import make_analysis, make_preparation
from sgbn.preprocessing.covariates import CovariateRegressor
from sgbn.preprocessing.missing import RegionImputer
from sgbn.preprocessing.preparation import cohort_table, prepare
from sgbn.preprocessing.selection import RegionSelector
from sgbn.preprocessing.sites import SiteHarmonizer

__all__ = [
    "CovariateRegressor",
    "RegionImputer",
    "RegionSelector",
    "SiteHarmonizer",
    "cohort_table",
    "make_analysis",
    "make_preparation",
    "prepare",
]
