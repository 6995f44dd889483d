"""The review of a cohort: what may be wrong with it, and what is done about it."""

from sgbn.quality.findings import Finding
from sgbn.quality.reviews import Review, review
from sgbn.quality.series_quality import series_quality
from sgbn.quality.shape import review_prepared
from sgbn.quality.values import robust_z

__all__ = ["Finding", "Review", "review", "review_prepared", "robust_z", "series_quality"]
