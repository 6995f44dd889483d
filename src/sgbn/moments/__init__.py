"""Mean, scale and Gram matrix: solvers use these moments and never the rows of the data."""

from sgbn.moments.blas import one_blas_thread
from sgbn.moments.moments import (
    ROWS_PER_BLOCK,
    Moments,
    canonical_order,
    constant_columns,
    moments_of,
)

__all__ = [
    "ROWS_PER_BLOCK",
    "Moments",
    "canonical_order",
    "constant_columns",
    "moments_of",
    "one_blas_thread",
]
