"""Whether chains have found the same networks."""

from __future__ import annotations

import numpy as np

from sgbn.types import Array


def split_r_hat(traces: Array) -> float:
    r"""R-hat of halves of chains (Gelman and others 2013).

    .. math:: \hat R = \sqrt{\frac{(n - 1) / n \, W + B / n}{W}}

    with W the mean variance within the halves of the chains, each of n values, and B / n the
    variance of their means. Near 1 if the chains have forgotten where they began.

    Parameters
    ----------
    traces : ndarray of shape (n_chains, n_kept)
        Values of a number, such as the log posterior, along each chain.
    """
    n = traces.shape[1] // 2
    # halves, so that a chain that drifts disagrees with itself; an odd middle value is left out
    halves = np.concatenate([traces[:, :n], traces[:, -n:]])
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    # chains that never moved agree only if all are at one place
    if within <= 0:
        return 1.0 if between <= 0 else float("inf")
    return float(np.sqrt(((n - 1) / n * within + between) / within))


def largest_difference(arrows: Array) -> float:
    """Largest difference of a probability between two chains; `arrows` has one matrix for each."""
    return float(np.max(np.ptp(arrows, axis=0), initial=0.0))
