"""Functions that measure the regions of a label atlas in NIfTI maps and four-dimensional runs."""

from sgbn.io.images.extraction import Extraction, extract_regions
from sgbn.io.images.time_series import TimeSeries, extract_time_series

__all__ = ["Extraction", "TimeSeries", "extract_regions", "extract_time_series"]
