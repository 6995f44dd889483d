"""Regions from images: NIfTI maps and runs measured in the labels of an atlas."""

from sgbn.io.images.extraction import Extraction, extract_regions
from sgbn.io.images.time_series import TimeSeries, extract_time_series

__all__ = ["Extraction", "TimeSeries", "extract_regions", "extract_time_series"]
