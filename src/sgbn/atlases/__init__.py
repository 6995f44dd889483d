"""Atlases: region -> hemisphere, lobe and MNI coordinates, and which columns are regions.

Columns are found by name only, tolerant of spelling; a column that is unknown is listed, never
guessed. Where the names and coordinates come from is said in ``README.md`` beside the tables.
"""

from sgbn.atlases.atlas import UNKNOWN_LOBE, Atlas, AtlasFile, Region
from sgbn.atlases.library import ATLASES, load_atlas
from sgbn.atlases.matching import AtlasMatch, ColumnMatch, match_columns
from sgbn.atlases.sources import AtlasLike, as_atlas
from sgbn.atlases.tables import read_atlas
from sgbn.atlases.totals import is_total

__all__ = [
    "ATLASES",
    "UNKNOWN_LOBE",
    "Atlas",
    "AtlasFile",
    "AtlasLike",
    "AtlasMatch",
    "ColumnMatch",
    "Region",
    "as_atlas",
    "is_total",
    "load_atlas",
    "match_columns",
    "read_atlas",
]
