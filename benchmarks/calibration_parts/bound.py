"""Test whether the bound of stability selection holds.

The network is known. Many samples of half the size give the probability that a half sample joins a
pair. The bound is about pairs of low probability: it must exceed the mean number of them that
stability selection chooses in other samples.
"""

from typing import NamedTuple

import numpy as np

from sgbn.core.equivalence import skeleton
from sgbn.inference.confidence import edge_confidence
from sgbn.learn.confidence import selection_bound
from sgbn.learn.sgbn import SGBN

from .cohorts import draw
from .score import quiet

N_PAIRS = 50  # pairs of halves per cohort
DRAWS = 200  # samples for the probabilities; a probability of 0.1 has a standard error of 0.02
THRESHOLDS = (0.6, 0.75, 0.9)
MEAN = "mean"  # the mean probability of all pairs, as in `EdgeConfidence.bound` by default
THETAS = (MEAN, 0.1, 0.3)
ROUND_OFF = 1e-9  # round-off of a share of halves


class Selected(NamedTuple):
    """Pairs that stability selection chooses at one threshold, and the bound.

    Attributes
    ----------
    low, low_false : float
        Number of pairs of low probability, and of those that are not joined in truth.
    all, all_false : float
        The same numbers for pairs of any probability.
    bound, stated : float
        The bound from the pairs of low probability that halves join, and from all pairs that they
        join. A user has the second one (`EdgeConfidence.bound`).
    """

    low: float
    low_false: float
    all: float
    all_false: float
    bound: float
    stated: float


def score_bound(design, cohort, seed, n_pairs=N_PAIRS, draws=DRAWS):
    """Return `Selected` of each theta and threshold on one cohort."""
    pair = draw(design, cohort, seed)
    network, rows = pair.networks[0], pair.rows[0]
    rng = np.random.default_rng([seed, cohort, 1])  # not the stream of the rows

    def score():
        probability = joined_share(network, len(rows) // 2, draws, rng)
        confidence = edge_confidence(rows, SGBN(n_kicks=0), n_pairs=n_pairs, random_state=cohort)
        scores = {}
        for theta in THETAS:
            for threshold in THRESHOLDS:
                given = confidence, probability, skeleton(network.coef), theta, threshold
                selected = count(*given)
                excess = {"excess": selected.low - selected.bound}
                scores[method_name(theta, threshold)] = selected._asdict() | excess
        return scores

    return quiet(score)


def method_name(theta, threshold):
    """Return the name of the row of one theta and threshold."""
    return f"theta = {theta}, threshold = {threshold}"


def bound_methods():
    """Return the names of all rows."""
    return [method_name(theta, threshold) for theta in THETAS for threshold in THRESHOLDS]


def joined_share(network, n, draws, rng):
    """Return the share of samples of n rows whose networks join each pair."""
    learner = SGBN(n_kicks=0)
    joined = [skeleton(learner.fit(network.sample(n, rng)).coef_) for _ in range(draws)]
    return np.mean(joined, axis=0)


def count(confidence, probability, joined, theta, threshold):
    """Count the pairs that are selected at one threshold. `joined` has the true pairs."""
    pairs = np.triu(np.ones_like(joined), 1)  # each pair once
    limit = None if theta == MEAN else theta  # the mean is the default of the bound
    highest = float(probability[pairs].mean()) if limit is None else limit
    low = pairs & (probability <= highest)
    # A share of exactly the threshold may be a little less in floating point.
    chosen = pairs & (confidence.adjacency_ >= threshold - ROUND_OFF)
    return Selected(
        int((chosen & low).sum()),
        int((chosen & low & ~joined).sum()),
        int(chosen.sum()),
        int((chosen & ~joined).sum()),
        # This bound uses the pairs of low probability, which are known only in a simulation.
        selection_bound(threshold, highest, float(confidence.adjacency_[low].sum())),
        confidence.bound(threshold, limit),
    )
