"""Where sgbn meets tables, images and other files."""

from sgbn.io.bif import read_bif
from sgbn.io.exports import edge_table
from sgbn.io.images import Extraction, extract_regions, extract_time_series
from sgbn.io.tables import cohort_table, read_freesurfer, read_table, write_table

__all__ = [
    "Extraction",
    "cohort_table",
    "edge_table",
    "extract_regions",
    "extract_time_series",
    "read_bif",
    "read_freesurfer",
    "read_table",
    "write_table",
]
