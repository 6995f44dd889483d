r"""Which edges tell classes apart: correlation of the Fisher components with the label.

With centred columns :math:`u_i = x_i - \bar x_i`, :math:`v_j = r_j - \bar r_j`, the component
:math:`x_i r_j` varies by :math:`\bar x_i v_j + \bar r_j u_i + u_i v_j`. Its variance and its class
means are sums of entries of :math:`U^T V`, :math:`U^T V^2`, :math:`(U^2)^T V` and
:math:`(U^2)^T V^2`: no vector of :math:`m^2` components is ever made, and nothing is lost to a
large mean. A correlation does not depend on the scale of a component, so that neither noise
variances nor Fisher-information scaling matter here.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgbn.discriminative.fisher import aligned, labelled, two_classes
from sgbn.discriminative.network_score import parameters_of
from sgbn.exceptions import InputError
from sgbn.gaussian import GaussianNetwork
from sgbn.parameters import Whole
from sgbn.types import Array, Indices, Mask
from sgbn.validation import check_values

ROUND_OFF = 1e-13  # a variance below this share of its terms is nothing but round-off
TIE_DIGITS = 10  # scores that agree to this many digits are a tie: the rest is round-off


def edge_scores(X: Any, y: Any, networks: Any, signed: bool = False) -> Array:
    r"""How each possible edge and bias of each network relates to the label.

    The correlation ratio :math:`\sqrt{SS_{between} / SS_{total}}` of its Fisher component; at two
    classes this is the absolute Pearson correlation with the label. It ranks components as an
    analysis of variance of each does.

    Select inside the training part only: scores that saw the test part flatter the accuracy.

    Parameters
    ----------
    X : array-like of shape (n_samples, m)
        Training rows. Columns of a table are found by name.
    y : array-like of shape (n_samples,)
        Classes, two or more.
    networks : mapping of class to GaussianNetwork, sequence of them, or one
        Their number need not be that of the classes.
    signed : bool
        At two classes, the Pearson correlation itself: positive where the component is larger in
        the class that sorts last.

    Returns
    -------
    ndarray of shape (n_networks, m + 1, m)
        ``[c, i, j]`` for i -> j in the c-th network and ``[c, m, j]`` for the bias of j. Zero for
        i = j and for components that do not vary.

    Paper: Section 3.3, Edge Selection.
    """
    values, names = check_values(X)
    classes, codes = two_classes(y, len(values), "edges need")
    if signed and len(classes) > 2:
        raise InputError(
            f"signed=True with {len(classes)} classes: a correlation has a sign only with two "
            "classes. Set signed=False, or compare classes by pairs."
        )
    given = aligned(networks, values.shape[1], names if hasattr(X, "columns") else None)
    for density in given.values():
        if not isinstance(density, GaussianNetwork):
            raise InputError(
                f"{type(density).__name__} is not a GaussianNetwork. Score the components of "
                "FisherVectors by scikit-learn's f_classif instead: it ranks them the same way."
            )
    return component_scores(given.values(), values, codes, signed)


def select_edges(scores: ArrayLike, k: int, present: ArrayLike | None = None) -> Indices:
    """Pick the k components of largest score, whatever its sign.

    Parameters
    ----------
    scores : array-like of shape (n_networks, m + 1, m)
        From `edge_scores`, computed on the training part only.
    k : int
        All candidates if there are no more.
    present : array-like of bool of shape (n_networks, m + 1, m), optional
        Candidates, such as `present_edges`. By default all.

    Returns
    -------
    ndarray of shape (k, 3)
        Network, parent and child of each, best first; parent m is the bias. Ties go to the first
        network, then parent, then child.
    """
    scores = np.asarray(scores, dtype=float)
    candidates = _candidates(scores, present)
    Whole(1).check("k", k)
    places = np.argwhere(candidates)
    # Rounded, so that the choice does not depend on the order in which sums were added up.
    heights = np.round(np.abs(scores[candidates]), TIE_DIGITS)
    return places[np.argsort(-heights, kind="stable")[:k]]


def present_edges(networks: Any) -> Mask:
    """Mark the edges and biases of the networks, as candidates for `select_edges`.

    Moving only these keeps every graph as it is.

    Returns
    -------
    ndarray of shape (n_networks, m + 1, m)
    """
    given = labelled(networks).values()
    return np.array([parameters_of(network, "present") for network in given])


def component_scores(
    networks: Iterable[GaussianNetwork], X: Array, codes: Indices, signed: bool = False
) -> Array:
    """`edge_scores` on checked rows, with the classes numbered from 0."""
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
    # All that follows is in products of centred columns: see the top of this file.
    U, V = Xb - x, R - r
    between, above = np.zeros((x.size, r.size)), np.zeros((x.size, r.size))
    total = np.dot(U.T, V) / n
    for c in range(n_classes):
        in_class = codes == c
        Uc, Vc = U[in_class], V[in_class]
        size = len(Uc)
        u, v = Uc.sum(axis=0) / size, Vc.sum(axis=0) / size
        # mean over the class of what x_i r_j is above its mean over all
        above = x.reshape(-1, 1) * v + u.reshape(-1, 1) * r + np.dot(Uc.T, Vc) / size - total
        between += size / n * above**2
    variance = _variances(x.reshape(-1, 1), r, U, V, total)
    ratio = np.divide(between, variance, out=np.zeros_like(between), where=variance > 0.0)
    np.fill_diagonal(ratio, 0.0)  # no region is its own parent; the row of biases is below
    # Round-off may take a ratio of two equal sums above 1.
    size_of_ratio: Array = np.sqrt(np.minimum(ratio, 1.0))
    # `above` is that of the last class, so that positive means larger in the second of two
    return size_of_ratio * np.sign(above) if signed else size_of_ratio


def _variances(x: Array, r: Array, U: Array, V: Array, UV: Array) -> Array:
    """Variance of x_i r_j; zero where it is round-off."""
    n = len(U)
    UU, VV = U**2, V**2
    UVV, UUV, UUVV = np.dot(U.T, VV) / n, np.dot(UU.T, V) / n, np.dot(UU.T, VV) / n
    spread = (UU.sum(axis=0) / n).reshape(-1, 1)
    squares = x**2 * (VV.sum(axis=0) / n) + r**2 * spread + UUVV
    variance = squares - UV**2 + 2 * (x * r * UV + x * UVV + r * UUV)
    # Centring leaves the last digits of a mean behind: a constant column is not exactly zero.
    least = ROUND_OFF * squares + (ROUND_OFF * x * r) ** 2
    return np.where(variance > least, variance, 0.0)


def _candidates(scores: Array, present: ArrayLike | None) -> Mask:
    if scores.ndim != 3 or scores.shape[1] != scores.shape[2] + 1:
        raise InputError(
            f"scores have shape {scores.shape}, and not (n_networks, m + 1, m): give the result of "
            "edge_scores."
        )
    if not np.isfinite(scores).all():
        raise InputError("scores contain NaN or infinity: give the result of edge_scores.")
    places = np.arange(scores.shape[2])
    possible = np.ones(scores.shape, dtype=bool)
    possible[:, places, places] = False  # no region is its own parent
    if present is None:
        return possible
    chosen = np.asarray(present, dtype=bool)
    if chosen.shape != scores.shape:
        raise InputError(
            f"present has shape {chosen.shape}, and scores {scores.shape}: give both for the "
            "same networks."
        )
    return possible & chosen
