"""Where sgbn meets tables and files."""

from sgbn.io.bif import read_bif
from sgbn.io.exports import edge_table

__all__ = ["edge_table", "read_bif"]
