"""From a table with covariates, sites and gaps to regions: transformers for a Pipeline.

X is a DataFrame whose covariates and site are named columns; every other column is a region. Each
transformer is fitted on the rows it is given and on nothing else, so that inside a Pipeline under
cross-validation no test subject reaches a training step.
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
