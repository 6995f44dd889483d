r"""Intervals of the weights of a fixed graph, by the halves of the rows.

With :math:`\hat\theta_h` the weight refitted to half h, the spread of the halves around the weight
of all rows is that of the weight itself (the delete-half jackknife of Shao and Wu 1989),

.. math:: s^2 = \frac{1}{H} \sum_h (\hat\theta_h - \hat\theta)^2, \qquad \hat\theta \pm 1.96 \, s,

because half of the rows have twice the variance, and share half of them with all rows.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from sgbn.moments import one_blas_thread
from sgbn.structure.ensemble.parts import HALVES, deal
from sgbn.structure.nuisance import without_nuisance
from sgbn.structure.samples import Sample
from sgbn.types import Array, Indices, Mask

LEVEL = 0.95  # of the intervals
RIDGE = 1e-10  # of a unit diagonal: parents that are copies in a half share their weight


def weight_limits(
    sample: Sample,
    graph: Mask,
    coef: Array,
    columns: Indices,
    n_pairs: int,
    seed: int,
) -> tuple[Array, Array]:
    """Lower and upper ends of 95 % intervals, zero where the graph has no edge.

    They are about the weights of this graph, and do not know that it was chosen in the same rows.
    NaN at the edges if there are no halves. `columns` are in canonical order, in which the weights
    are computed.
    """
    if not n_pairs:
        unknown = np.where(graph, np.nan, 0.0)
        return unknown, unknown.copy()
    canonical = np.ix_(columns, columns)
    squares = np.zeros(coef.shape)
    with one_blas_thread():
        for pair in range(n_pairs):
            # the same halves as those of the confidence: one stream of random numbers
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
    """Least-squares weights of a graph in the units of the data; zero for constant columns."""
    centred = values - values.mean(axis=0)
    sd = np.sqrt(np.square(centred).mean(axis=0))
    # a column that is constant in a half has the weight 0 there, and no division fails
    scale = np.where(sd > 0, sd, 1.0)
    R = (centred / scale).T @ (centred / scale) / len(values)
    weights = np.zeros(graph.shape)
    for j in np.flatnonzero(graph.any(axis=0)):
        P = np.flatnonzero(graph[:, j])
        gram = R[np.ix_(P, P)] + RIDGE * np.eye(len(P))
        weights[P, j] = np.linalg.solve(gram, R[P, j]) * scale[j] / scale[P]
    return weights
