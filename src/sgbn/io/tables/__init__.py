"""Functions that read cohorts from tables of subjects x regions, and write them to tables."""

from sgbn.io.tables.cohorts import read_table, write_table
from sgbn.io.tables.freesurfer import read_freesurfer

__all__ = ["read_freesurfer", "read_table", "write_table"]
