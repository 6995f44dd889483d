"""The class Cohort: a table of subjects and regions, with groups, covariates, sites and more."""

from sgbn.cohort.cohort import Cohort, check_cohort
from sgbn.cohort.fields import BLOCK, ID, LABELS, PAIR, PERSON, SITE, read_only

__all__ = [
    "BLOCK",
    "ID",
    "LABELS",
    "PAIR",
    "PERSON",
    "SITE",
    "Cohort",
    "check_cohort",
    "read_only",
]
