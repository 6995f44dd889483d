"""The report of a comparison: one HTML file, and a folder of tables, networks and figures."""

from sgbn.report.figures import figures
from sgbn.report.methods import describe_methods
from sgbn.report.page import render_report, write_report
from sgbn.report.write import write_comparison, write_figures

__all__ = [
    "describe_methods",
    "figures",
    "render_report",
    "write_comparison",
    "write_figures",
    "write_report",
]
