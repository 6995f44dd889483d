r"""Intervals of the weights of a fixed graph, from half samples.

Let :math:`\hat\theta` be a weight fitted to all rows, and :math:`\hat\theta_h` the same weight
fitted to half h of H halves. The delete-half jackknife of Shao and Wu (1989) uses

.. math:: s^2 = \frac{1}{H} \sum_h (\hat\theta_h - \hat\theta)^2, \qquad \hat\theta \pm 1.96 \, s.

The weight of a half has twice the variance of the weight of all rows, and the rows of the half are
a part of all rows. So the difference of the two has the same variance as the weight of all rows.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from sgbn.cohort.design import Sample
from sgbn.cohort.effects import without_nuisance
from sgbn.core.moments import one_blas_thread
from sgbn.core.types import Array, Indices, Mask
from sgbn.structure.ensemble.parts import HALVES, deal

LEVEL = 0.95  # level of the intervals
# Added to a unit diagonal, so that parents that are copies of each other in a half share a weight.
RIDGE = 1e-10


def weight_limits(
    sample: Sample,
    graph: Mask,
    coef: Array,
    columns: Indices,
    n_pairs: int,
    seed: int,
) -> tuple[Array, Array]:
    """Return the lower and the upper ends of 95 % intervals of the weights of a graph.

    They are zero where the graph has no edge. The intervals do not include the uncertainty of the
    graph, which was chosen in the same rows. Without halves, the ends are NaN for all edges.

    Parameters
    ----------
    sample : Sample
        The rows.
    graph : ndarray of bool, shape (m, m)
        The graph: ``[i, j]`` is True for i -> j.
    coef : ndarray of shape (m, m)
        Its weights from all rows.
    columns : ndarray of shape (m,)
        The user's columns in the canonical order, in which the weights are computed.
    n_pairs : int
        Number of splits into halves. The halves are the same as for the confidence.
    seed : int
        Seed of the splits.
    """
    if not n_pairs:
        unknown = np.where(graph, np.nan, 0.0)
        return unknown, unknown.copy()
    canonical = np.ix_(columns, columns)
    squares = np.zeros(coef.shape)
    with one_blas_thread():
        for pair in range(n_pairs):
            # The same stream of random numbers, and so the same halves, as for the confidence.
            halves = deal(sample, seed, HALVES, pair, 2)
            for which in range(2):
                rows = np.flatnonzero(halves == which)
                values, _ = without_nuisance(sample.values[rows], sample.nuisance[rows])
                squares[canonical] += np.square(
                    _weights(values[:, columns], graph[canonical]) - coef[canonical]
                )
    reach = float(ndtri((1 + LEVEL) / 2)) * np.sqrt(squares / (2 * n_pairs))
    return np.where(graph, coef - reach, 0.0), np.where(graph, coef + reach, 0.0)


def _weights(values: Array, graph: Mask) -> Array:
    """Return the least-squares weights of a graph, in the units of the data."""
    centred = values - values.mean(axis=0)
    sd = np.sqrt(np.square(centred).mean(axis=0))
    # A column that is constant in a half gets the weight 0 there, without a division by zero.
    scale = np.where(sd > 0, sd, 1.0)
    R = (centred / scale).T @ (centred / scale) / len(values)
    weights = np.zeros(graph.shape)
    for j in np.flatnonzero(graph.any(axis=0)):
        P = np.flatnonzero(graph[:, j])
        gram = R[np.ix_(P, P)] + RIDGE * np.eye(len(P))
        weights[P, j] = np.linalg.solve(gram, R[P, j]) * scale[j] / scale[P]
    return weights
