"""Test whether intervals cover the truth if it is identified, and ranges contain it if not.

The graph is the true one, because intervals assume that it was not learned from the same rows.
Effects are those of a region on another one to which a directed path leads.

A range has no sampling error. It is certain to contain the truth only if the rows have the moments
of the population. So ranges are judged on such rows, and also on drawn rows.
"""

from typing import NamedTuple

import numpy as np

from sgbn.core.graph import reachable
from sgbn.inference.effects import effect_difference, total_effects
from sgbn.inference.intervals import weight_intervals

from .cohorts import draw
from .score import EQUAL, quiet

KINDS = ("weight of an edge", "total effect", "difference of total effects")
EFFECTS = 3  # pairs of regions per cohort
COVERAGE = 0.95
GROUPS = ("first", "second")


class Counts(NamedTuple):
    """The numbers of intervals and ranges, and of those that contain the truth.

    Attributes
    ----------
    intervals, covered : int
        Number of intervals of identified effects, and of those that cover the truth.
    ranges, contained, contained_exactly : int
        Number of ranges of effects that are not identified, and of those that contain the truth: in
        drawn rows, and in rows with the population's moments.
    """

    intervals: int = 0
    covered: int = 0
    ranges: int = 0
    contained: int = 0
    contained_exactly: int = 0


def score_intervals(design, cohort, seed):
    """Count intervals and ranges of each kind on one cohort."""
    rng = np.random.default_rng([seed, cohort, 1])  # not the stream of the rows
    pair = draw(design, cohort, seed)
    graph = pair.networks[0].coef != 0  # it includes the edges of the second group

    def score():
        counts = [count_weights(pair, graph), *count_effects(pair, graph, rng)]
        return {kind: of_kind._asdict() for kind, of_kind in zip(KINDS, counts, strict=True)}

    return quiet(score)


def count_weights(pair, graph):
    """Count the weights of both groups that their intervals cover."""
    covered = 0
    for rows, network in zip(pair.rows, pair.networks, strict=True):
        intervals = weight_intervals(rows, graph, level=COVERAGE, random_state=pair.seed)
        truth = network.coef[graph]
        covered += int(((intervals.low <= truth) & (truth <= intervals.high)).sum())
    return Counts(2 * int(graph.sum()), covered)


def count_effects(pair, graph, rng):
    """Count the total effects in the groups, and their differences."""
    # Without a path there is no effect, and an interval would be trivially right.
    chosen = rng.permutation(np.argwhere(reachable(graph)))[:EFFECTS]
    truths = [total_effects(network) for network in pair.networks]
    drawn = dict(zip(GROUPS, pair.rows, strict=True))
    exact = {
        name: rows_with_moments(network, len(rows), rng)
        for (name, rows), network in zip(drawn.items(), pair.networks, strict=True)
    }
    effects, differences = [], []
    for s, t in chosen.tolist():
        ends = graph, f"x{s}", f"x{t}"
        drawn_effects = effect_difference(drawn, *ends, level=COVERAGE, random_state=pair.seed)
        ideal = effect_difference(exact, *ends, n_resamples=2)  # its intervals are not used
        first, second = (float(truth[s, t]) for truth in truths)
        for name, truth in zip(GROUPS, (first, second), strict=True):
            effects.append(judge(drawn_effects.effects[name], ideal.effects[name], truth))
        between = drawn_effects.differences[GROUPS], ideal.differences[GROUPS]
        differences.append(judge(*between, second - first))
    return _sum(effects), _sum(differences)


def judge(drawn, ideal, truth):
    """Return the counts of one effect. `ideal` is from rows with the population's moments."""
    inside = drawn.low <= truth <= drawn.high
    if drawn.identified:
        return Counts(intervals=1, covered=inside)
    # `possible` is used, because values that differ in drawn rows may be equal in the population.
    exactly = ideal.possible[0] - EQUAL <= truth <= ideal.possible[-1] + EQUAL
    return Counts(ranges=1, contained=inside, contained_exactly=exactly)


def rows_with_moments(network, n, rng):
    """Return n > m rows whose mean and covariance are those of the network, up to round-off."""
    Z = rng.standard_normal((n, network.m))
    Z -= Z.mean(axis=0)
    # QR of centred rows gives orthogonal columns with mean 0.
    orthonormal = np.linalg.qr(Z)[0] * np.sqrt(n)
    return network.mean + orthonormal @ np.linalg.cholesky(network.covariance).T


def _sum(counts):
    return Counts(*(int(sum(column)) for column in zip(*counts, strict=True)))
