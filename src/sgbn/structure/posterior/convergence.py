"""Measures of whether several chains have found the same networks."""

from __future__ import annotations

import numpy as np

from sgbn.core.types import Array


def split_r_hat(traces: Array) -> float:
    r"""Return the R-hat of chains that are each split into two halves (Gelman and others 2013).

    .. math:: \hat R = \sqrt{\frac{(n - 1) / n \, W + B / n}{W}}

    Each half has n values. W is the mean variance within the halves, and B / n is the variance of
    their means. R-hat is near 1 if the chains no longer depend on their starting points.

    Parameters
    ----------
    traces : ndarray of shape (n_chains, n_kept)
        Values of a quantity, such as the log posterior, along each chain.
    """
    n = traces.shape[1] // 2
    # The two halves of a chain that drifts differ. The middle of an odd number is left out.
    halves = np.concatenate([traces[:, :n], traces[:, -n:]])
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    # Chains that never moved agree only if all have the same value.
    if within <= 0:
        return 1.0 if between <= 0 else float("inf")
    return float(np.sqrt(((n - 1) / n * within + between) / within))


def largest_difference(arrows: Array) -> float:
    """Return the largest difference of an arrow's probability between two chains.

    `arrows` has one matrix of probabilities per chain.
    """
    return float(np.max(np.ptp(arrows, axis=0), initial=0.0))
