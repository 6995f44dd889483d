"""What happens to a cohort before a network is learned: its review, its gaps, sites and covariates.

In: a `Cohort`, or X as a DataFrame. Out: findings (`review`), a prepared `Cohort` (`prepare`), or
columns of numbers from a transformer in a Pipeline. A transformer learns only from the rows that
its `fit` receives, so in a cross-validation of the whole Pipeline no test subject takes part in
training. Start reading at ``pipeline.py`` and ``review.py``.
"""

from sgbn.core.problems import Finding
from sgbn.prepare.balance import robust_z
from sgbn.prepare.covariates import CovariateRegressor
from sgbn.prepare.missing import RegionImputer
from sgbn.prepare.pipeline import cohort_table, make_analysis, make_preparation, prepare
from sgbn.prepare.review import Review, review, review_prepared
from sgbn.prepare.selection import RegionSelector
from sgbn.prepare.series_review import series_quality
from sgbn.prepare.sites import SiteHarmonizer

__all__ = [
    "CovariateRegressor",
    "Finding",
    "RegionImputer",
    "RegionSelector",
    "Review",
    "SiteHarmonizer",
    "cohort_table",
    "make_analysis",
    "make_preparation",
    "prepare",
    "review",
    "review_prepared",
    "robust_z",
    "series_quality",
]
