r"""The choice of the edges whose Fisher components correlate most with the class.

The Fisher component of the edge i -> j is proportional to :math:`x_i r_j`, with the residual
:math:`r_j`. With the centred columns :math:`u_i = x_i - \bar x_i` and
:math:`v_j = r_j - \bar r_j`, it is a constant plus
:math:`\bar x_i v_j + \bar r_j u_i + u_i v_j`. Its variance and its class means are sums of entries
of :math:`U^T V`, :math:`U^T V^2`, :math:`(U^2)^T V` and :math:`(U^2)^T V^2`. So the code never
makes a vector of :math:`m^2` components, and a large mean does not cost precision. A correlation
does not depend on the scale of a component. So noise variances and Fisher-information scaling do
not matter here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import Whole, check_values
from sgbn.discriminative.fisher import aligned, labelled, two_classes
from sgbn.discriminative.network_score import parameters_of

ROUND_OFF = 1e-13  # a variance below this share of the terms it adds up is only round-off
TIE_DIGITS = 10  # decimal places; scores that agree in them are a tie, the rest is round-off


def edge_scores(X: Any, y: Any, networks: Any, signed: bool = False) -> Array:
    r"""Return how strongly each possible edge and bias of each network relates to the label.

    The score is the correlation ratio :math:`\sqrt{SS_{between} / SS_{total}}` of the Fisher
    component. With two classes, it is the absolute Pearson correlation with the label. An analysis
    of variance of each component would rank the components in the same way.

    Use training rows only. Scores that use test rows make the accuracy look better than it is.

    Parameters
    ----------
    X : array-like of shape (n_samples, m)
        The training rows. Columns of a table are found by name.
    y : array-like of shape (n_samples,)
        The class of each row. There must be at least two classes.
    networks : mapping of class to GaussianNetwork, sequence of networks, or one network
        The networks. There may be more or fewer networks than classes.
    signed : bool
        Whether to return the Pearson correlation itself, which needs two classes. It is positive
        if the component is larger in the class that sorts last.

    Returns
    -------
    ndarray of shape (n_networks, m + 1, m)
        ``[c, i, j]`` is the score of i -> j in the c-th network, and ``[c, m, j]`` is the score of
        the bias of j. Scores are zero for i = j and for components that do not vary.

    Paper: Section 3.3, Edge Selection.
    """
    values, names = check_values(X)
    classes, codes = two_classes(y, len(values), "scores of edges need")
    if signed and len(classes) > 2:
        raise InputError(
            f"signed=True needs two classes, and y has {len(classes)} classes. Set signed=False, "
            "or compare the classes in pairs."
        )
    given = aligned(networks, values.shape[1], names if hasattr(X, "columns") else None)
    for density in given.values():
        if not isinstance(density, GaussianNetwork):
            raise InputError(
                f"{type(density).__name__} is not a GaussianNetwork. Use scikit-learn's f_classif "
                "on the components of FisherVectors instead: it ranks them in the same way."
            )
    return component_scores(given.values(), values, codes, signed)


def select_edges(scores: ArrayLike, k: int, present: ArrayLike | None = None) -> Indices:
    """Return the k components with the largest absolute scores.

    Parameters
    ----------
    scores : array-like of shape (n_networks, m + 1, m)
        The result of `edge_scores`, computed on training rows only.
    k : int
        The number of components. If there are fewer candidates, all of them are returned.
    present : array-like of bool of shape (n_networks, m + 1, m), optional
        The candidates, such as the result of `present_edges`. By default, all components.

    Returns
    -------
    ndarray of shape (k, 3)
        The network, parent and child of each component, the best component first. Parent m is the
        bias. Ties are sorted by network, then by parent, then by child.
    """
    scores = np.asarray(scores, dtype=float)
    candidates = _candidates(scores, present)
    Whole(1).check("k", k)
    places = np.argwhere(candidates)
    # Rounding makes the choice independent of the order in which sums were added up.
    absolute = np.round(np.abs(scores[candidates]), TIE_DIGITS)
    return places[np.argsort(-absolute, kind="stable")[:k]]


def present_edges(networks: Any) -> Mask:
    """Mark the edges and biases of the networks, as candidates for `select_edges`.

    A move of only these parameters does not change any graph.

    Returns
    -------
    ndarray of bool of shape (n_networks, m + 1, m)
    """
    given = labelled(networks).values()
    return np.array([parameters_of(network, "present") for network in given])


def component_scores(
    networks: Iterable[GaussianNetwork], X: Array, codes: Indices, signed: bool = False
) -> Array:
    """Compute `edge_scores` for rows that were checked before, with classes numbered from 0."""
    Xb = np.column_stack([X, np.ones(len(X))])
    count = int(codes.max()) + 1
    return np.array(
        [
            _correlation_ratios(Xb, network.residuals(X), codes, count, signed)
            for network in networks
        ]
    )


def _correlation_ratios(Xb: Array, R: Array, codes: Indices, n_classes: int, signed: bool) -> Array:
    """Return the scores of one network's components; the last column of `Xb` is the constant 1."""
    n = len(Xb)
    x, r = Xb.sum(axis=0) / n, R.sum(axis=0) / n
    # The top of this file explains the products of centred columns below.
    U, V = Xb - x, R - r
    between, above = np.zeros((x.size, r.size)), np.zeros((x.size, r.size))
    total = np.dot(U.T, V) / n
    for c in range(n_classes):
        in_class = codes == c
        Uc, Vc = U[in_class], V[in_class]
        size = len(Uc)
        u, v = Uc.sum(axis=0) / size, Vc.sum(axis=0) / size
        # The mean of x_i r_j in the class minus its mean over all rows.
        above = x.reshape(-1, 1) * v + u.reshape(-1, 1) * r + np.dot(Uc.T, Vc) / size - total
        between += size / n * above**2
    variance = _variances(x.reshape(-1, 1), r, U, V, total)
    ratio = np.divide(between, variance, out=np.zeros_like(between), where=variance > 0.0)
    np.fill_diagonal(ratio, 0.0)  # no region is its own parent; biases are below the diagonal
    # By round-off, the ratio of two equal sums may exceed 1.
    unsigned: Array = np.sqrt(np.minimum(ratio, 1.0))
    # `above` holds the last class here, so a positive sign means larger in the second of two.
    return unsigned * np.sign(above) if signed else unsigned


def _variances(x: Array, r: Array, U: Array, V: Array, UV: Array) -> Array:
    """Return the variances of all products x_i r_j. A variance of only round-off becomes zero."""
    n = len(U)
    UU, VV = U**2, V**2
    UVV, UUV, UUVV = np.dot(U.T, VV) / n, np.dot(UU.T, V) / n, np.dot(UU.T, VV) / n
    spread = (UU.sum(axis=0) / n).reshape(-1, 1)
    squares = x**2 * (VV.sum(axis=0) / n) + r**2 * spread + UUVV
    variance = squares - UV**2 + 2 * (x * r * UV + x * UVV + r * UUV)
    # A constant column is not exactly zero after centring, because its mean is rounded.
    least = ROUND_OFF * squares + (ROUND_OFF * x * r) ** 2
    return np.where(variance > least, variance, 0.0)


def _candidates(scores: Array, present: ArrayLike | None) -> Mask:
    if scores.ndim != 3 or scores.shape[1] != scores.shape[2] + 1:
        raise InputError(
            f"scores has shape {scores.shape} instead of (n_networks, m + 1, m): give the result "
            "of edge_scores."
        )
    if not np.isfinite(scores).all():
        raise InputError("scores contains NaN or infinity: give the result of edge_scores.")
    places = np.arange(scores.shape[2])
    possible = np.ones(scores.shape, dtype=bool)
    possible[:, places, places] = False  # no region is its own parent
    if present is None:
        return possible
    chosen = np.asarray(present, dtype=bool)
    if chosen.shape != scores.shape:
        raise InputError(
            f"present has shape {chosen.shape}, but scores has shape {scores.shape}: give both for "
            "the same networks."
        )
    return possible & chosen
