"""The comparison of the groups of a cohort, from a table to networks, tests and a summary."""

from sgbn.comparison.accuracy import Accuracy
from sgbn.comparison.compare import compare
from sgbn.comparison.group_network import group_network
from sgbn.comparison.result import Comparison
from sgbn.comparison.sensitivity import Sensitivity
from sgbn.comparison.settings import Settings
from sgbn.comparison.summary import Words
from sgbn.comparison.tables import Tables

__all__ = [
    "Accuracy",
    "Comparison",
    "Sensitivity",
    "Settings",
    "Tables",
    "Words",
    "compare",
    "group_network",
]
