"""DAGMA for linear models."""

from dagma.linear import DagmaLinear

L1_PENALTY = 0.02  # of the library's own example
THRESHOLD = 0.3  # the default


def linear(X):
    """Least squares with the log-determinant penalty. It centres X in place: the worker's copy."""
    model = DagmaLinear(loss_type="l2")
    return model.fit(X, lambda1=L1_PENALTY, w_threshold=THRESHOLD) != 0
