"""One network of a group from the time series of its subjects."""

from sgbn.cohort.series import SubjectMoments, subject_moments
from sgbn.structure.series.series_sgbn import SeriesSGBN
from sgbn.structure.series.subject_weights import edge_gains, subject_weights

__all__ = ["SeriesSGBN", "SubjectMoments", "edge_gains", "subject_moments", "subject_weights"]
