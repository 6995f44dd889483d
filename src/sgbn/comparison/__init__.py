"""The main job: from the table of a study to networks, tests, an accuracy, and the report.

In: a `Cohort` or a table, and `Settings`. Out: a `Comparison` with its tables and words, the HTML
page and the folder of results. Start reading at ``compare.py``, then ``step.py``, which says what a
step is. ``steps/`` has the steps: what they compute beyond `sgbn.inference`, their words, and their
sections of the page.
"""

from sgbn.comparison.compare import compare, group_network
from sgbn.comparison.figures import figures
from sgbn.comparison.methods import describe_methods
from sgbn.comparison.report import render_report, write_comparison, write_figures, write_report
from sgbn.comparison.result import Comparison
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps.accuracy import Accuracy
from sgbn.comparison.steps.sensitivity import Sensitivity
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
    "describe_methods",
    "figures",
    "group_network",
    "render_report",
    "write_comparison",
    "write_figures",
    "write_report",
]
