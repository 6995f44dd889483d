"""Functions that read cohorts of region time series from folders, archives and long tables."""

from sgbn.io.series.reader import read_series
from sgbn.io.series.recognition import is_series, read_any

__all__ = ["is_series", "read_any", "read_series"]
