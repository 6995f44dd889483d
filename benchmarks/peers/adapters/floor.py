"""What any learner from moments has to pay at least: no learner, a measure for the others' time."""

import numpy as np


def gram_and_inverse(X):
    """X'X and its inverse; there is no graph."""
    np.linalg.inv(X.T @ X)
