"""Weights of each subject on a graph, and the gain of each edge in each subject."""

from __future__ import annotations

import numpy as np

from sgbn.cohort.series import SubjectMoments
from sgbn.core.moments import one_blas_thread
from sgbn.core.types import Array, Graph
from sgbn.search.path_regression import SMALLEST_RSS
from sgbn.search.subjects import residual_shares


def subject_weights(moments: SubjectMoments, graph: Graph) -> Array:
    """Return the least-squares weights of each subject on a DAG, per standard deviation.

    Parameters
    ----------
    moments : SubjectMoments
        Correlations of each of the S subjects.
    graph : ndarray of shape (m, m)
        The DAG: ``graph[i, j] != 0`` is the edge i -> j.

    Returns
    -------
    ndarray of shape (S, m, m)
        The weights; zero if the graph does not have the edge.
    """
    R, edges = moments.R, np.asarray(graph) != 0
    weights = np.zeros(R.shape)
    with one_blas_thread():
        for j in np.flatnonzero(edges.any(axis=0)):
            P = np.flatnonzero(edges[:, j])
            right = R[:, P, j][:, :, None]
            weights[:, P, j] = np.linalg.solve(R[:, P[:, None], P], right)[:, :, 0]
    return weights


def noise_shares(moments: SubjectMoments, graph: Graph) -> Array:
    """Return the residual variance of each region given its parents, in each subject.

    The result has the shape (S, m). It is 1 for a region without parents.
    """
    edges = np.asarray(graph) != 0
    shares = np.ones((len(moments), moments.m))
    with one_blas_thread():
        for j in np.flatnonzero(edges.any(axis=0)):
            shares[:, j] = residual_shares(moments.R, int(j), np.flatnonzero(edges[:, j]))
    return np.maximum(shares, SMALLEST_RSS)


def edge_gains(moments: SubjectMoments, graph: Graph, penalty: float) -> Array:
    r"""Return the gain of each edge i -> j in the score of each subject s.

    .. math:: n_s \log \frac{RSS_{s, PA_j \setminus i}}{RSS_{s, PA_j}} - c \log n_s

    Here :math:`PA_j` are all parents of j, :math:`n_s` is the effective number of volumes, and c is
    the `penalty`.

    Returns
    -------
    ndarray of shape (S, m, m)
        The gains: positive if the subject's own score supports the edge, and zero if there is no
        edge.
    """
    edges = np.asarray(graph) != 0
    with_all = np.log(noise_shares(moments, edges))
    gains = np.zeros((len(moments), *edges.shape))
    with one_blas_thread():
        for i, j in np.argwhere(edges).tolist():
            other_parents = np.flatnonzero(edges[:, j])
            other_parents = other_parents[other_parents != i]
            # Without other parents this is 1, because all of the variance is left.
            left = np.maximum(residual_shares(moments.R, j, other_parents), SMALLEST_RSS)
            better = np.log(left) - with_all[:, j]
            gains[:, i, j] = moments.n * better - penalty * np.log(moments.n)
    return gains
