"""Where sgbn meets tables and files."""

from sgbn.io.exports import edge_table

__all__ = ["edge_table"]
