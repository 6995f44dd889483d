"""Write networks as tables and as files that other programs read. Each module has one format."""

from sgbn.io.exports.csv_files import write_csv
from sgbn.io.exports.whole import export_network

__all__ = ["export_network", "write_csv"]
