"""Type names for arrays, named after what the arrays contain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]  # numbers: data, weights, covariances
Mask = NDArray[np.bool_]  # True for the chosen rows, columns or pairs
Graph = NDArray[np.bool_]  # A[i, j] is True if i -> j
Indices = NDArray[np.intp]  # positions of rows, columns or groups, from 0
Order = NDArray[np.int64]  # positions of variables, causes before effects
Labels = NDArray[np.str_]  # names of groups, sites or persons
