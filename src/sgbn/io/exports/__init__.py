"""Networks as tables, and as files that other programs read; one format per module."""

from sgbn.io.exports.csv_files import write_csv
from sgbn.io.exports.whole import export_network

__all__ = ["export_network", "write_csv"]
