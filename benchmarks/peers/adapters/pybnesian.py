"""pybnesian: hill climbing, MMHC and PC."""

import numpy as np
import pandas as pd
import pybnesian as pb

MMHC_ALPHA = 0.05  # with BGe; 0.01, 0.001 and BIC came out within noise of it
PC_ALPHA = 0.01  # the default, 0.05, found worse graphs


def hc_bic(X):
    """Hill climbing from the empty graph, BIC."""
    return _hill_climbing(X, "bic")


def hc_bge(X):
    """Hill climbing from the empty graph, BGe with the library's prior."""
    return _hill_climbing(X, "bge")


def mmhc(X):
    """Max-min hill climbing: linear correlation tests, then BGe."""
    table = _table(X)
    network = pb.MMHC().estimate(
        pb.LinearCorrelation(table), pb.ArcOperatorSet(), pb.BGe(table), alpha=MMHC_ALPHA
    )
    return _matrix(X.shape[1], network.arcs())


def pc(X):
    """PC-stable with the majority rule; bidirected arcs, the default, made the graphs worse."""
    test = pb.LinearCorrelation(_table(X))
    graph = pb.PC().estimate(test, alpha=PC_ALPHA, allow_bidirected=False)
    return _matrix(X.shape[1], graph.arcs(), graph.edges())


def _hill_climbing(X, score):
    network = pb.hc(_table(X), bn_type=pb.GaussianNetworkType(), score=score, operators=["arcs"])
    return _matrix(X.shape[1], network.arcs())


def _table(X):
    return pd.DataFrame(X, columns=[str(k) for k in range(X.shape[1])])


def _matrix(m, arcs, edges=()):
    P = np.zeros((m, m), dtype=bool)
    # An edge without direction is set both ways.
    for i, j in (*arcs, *edges, *((j, i) for i, j in edges)):
        P[int(i), int(j)] = True
    return P
