"""Cohort: subjects x regions with everything that an analysis needs to know about them."""

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
