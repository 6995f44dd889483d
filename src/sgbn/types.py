"""Names of the arrays that pass between functions, by what they hold."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]  # numbers: data, weights, covariances
Mask = NDArray[np.bool_]  # which rows, columns or pairs
Graph = NDArray[np.bool_]  # A[i, j] is True if i -> j
Indices = NDArray[np.intp]  # numbers of rows, columns, groups
Order = NDArray[np.int64]  # variables, causes first
Labels = NDArray[np.str_]  # groups, sites, persons
