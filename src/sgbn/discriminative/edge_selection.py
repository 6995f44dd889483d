r"""Which edges tell classes apart: correlation of the Fisher components with the label.

With centred columns :math:`u_i = x_i - \bar x_i`, :math:`v_j = r_j - \bar r_j`, the component
:math:`x_i r_j` varies by :math:`\bar x_i v_j + \bar r_j u_i + u_i v_j`. Its variance and its class
means are sums of entries of :math:`U^T V`, :math:`U^T V^2`, :math:`(U^2)^T V` and
:math:`(U^2)^T V^2`: no vector of :math:`m^2` components is ever made, and nothing is lost to a
large mean. A correlation does not depend on the scale of a component, so that neither noise
variances nor Fisher-information scaling matter here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.discriminative.fisher import aligned, labelled, parameters_of, read_labels
from sgbn.exceptions import InputError, shown
from sgbn.gaussian import GaussianNetwork
from sgbn.validation import check_values

Array = NDArray[np.float64]

ROUND_OFF = 1e-13  # share of its terms below which a variance is nothing but round-off
TIE_DIGITS = 10  # scores that agree to so many digits are a tie: the rest is round-off


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
    classes, codes = np.unique(read_labels(y, len(values)), return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"y has one class, {shown(classes[0])}: edges need two to differ in.")
    if signed and len(classes) > 2:
        raise InputError(
            f"signed=True with {len(classes)} classes: a correlation has a sign at two only. Set "
            "signed=False, or compare classes by pairs."
        )
    given = aligned(networks, values.shape[1], names if hasattr(X, "columns") else None)
    return np.array([_scores_of(net, values, codes, signed) for net in given.values()])


def select_edges(
    scores: ArrayLike, k: int, present: ArrayLike | None = None, absolute: bool = True
) -> NDArray[np.intp]:
    """Pick the k components of highest score.

    Parameters
    ----------
    scores : array-like of shape (n_networks, m + 1, m)
        From `edge_scores`, computed on the training part only.
    k : int
        All candidates if there are no more.
    present : array-like of bool of shape (n_networks, m + 1, m) or (n_networks, m, m), optional
        Candidates, such as `present_edges`; without the last row no bias is one. By default all.
    absolute : bool
        Rank by size; else by value, negative correlations last.

    Returns
    -------
    ndarray of shape (k, 3)
        Network, parent and child of each, best first; parent m is the bias. Ties go to the first
        network, then parent, then child.
    """
    scores = np.asarray(scores, dtype=float)
    candidates = _candidates(scores, present)
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(f"k={k!r}: give how many edges to select, 1 or more.")
    places = np.argwhere(candidates)
    heights = np.round(np.abs(scores) if absolute else scores, TIE_DIGITS)[candidates]
    return places[np.argsort(-heights, kind="stable")[:k]]


def present_edges(networks: Any, biases: bool = True) -> NDArray[np.bool_]:
    """Edges of the networks, and biases or not, as candidates for `select_edges`.

    Moving only these keeps every graph as it is.

    Returns
    -------
    ndarray of shape (n_networks, m + 1, m)
    """
    given = labelled(networks).values()
    present = np.array([parameters_of(network, "present") for network in given])
    present[:, -1] = biases
    return present


class _Terms(NamedTuple):
    """Columns (the constant 1 last), residuals, their means, and both centred."""

    x: Array
    r: Array
    U: Array
    V: Array

    def mean_product(self, rows: Any = slice(None)) -> Array:
        """Mean over the rows of what x_i r_j is above the product of the means."""
        U, V = self.U[rows], self.V[rows]
        mean: Array = (
            np.outer(self.x, V.mean(axis=0)) + np.outer(U.mean(axis=0), self.r) + U.T @ V / len(U)
        )
        return mean

    def variance(self) -> Array:
        """Variance of x_i r_j; zero where it is round-off."""
        x, r, U, V = self.x[:, None], self.r, self.U, self.V
        n = len(U)
        UV, UVV, UUV, UUVV = (A.T @ B / n for A in (U, U**2) for B in (V, V**2))
        squares = x**2 * (V**2).mean(axis=0) + r**2 * (U**2).mean(axis=0)[:, None] + UUVV
        variance = squares - UV**2 + 2 * (x * r * UV + x * UVV + r * UUV)
        # centring leaves the last digits of a mean behind
        least = ROUND_OFF * squares + (ROUND_OFF * x * r) ** 2
        return np.where(variance > least, variance, 0.0)


def _scores_of(network: Any, X: Array, codes: NDArray[np.intp], signed: bool) -> Array:
    """Scores of one network's components."""
    if not isinstance(network, GaussianNetwork):
        raise InputError(
            f"{type(network).__name__} is no GaussianNetwork. Score the components of "
            "FisherVectors by scikit-learn's f_classif instead: it ranks them the same way."
        )
    terms = _terms(np.column_stack([X, np.ones(len(X))]), network.residuals(X))
    total, variance = terms.mean_product(), terms.variance()
    rows = [codes == c for c in range(codes.max() + 1)]
    above = np.array([terms.mean_product(own) - total for own in rows])
    between = np.einsum("c,cij->ij", [own.mean() for own in rows], above**2)
    ratio = np.divide(between, variance, out=np.zeros_like(between), where=variance > 0)
    scores: Array = np.sqrt(np.minimum(ratio, 1.0))
    np.fill_diagonal(scores, 0.0)
    return scores * np.sign(above[-1]) if signed else scores


def _terms(X: Array, R: Array) -> _Terms:
    x, r = X.mean(axis=0), R.mean(axis=0)
    return _Terms(x, r, X - x, R - r)


def _candidates(scores: Array, present: ArrayLike | None) -> NDArray[np.bool_]:
    if scores.ndim != 3 or scores.shape[1] != scores.shape[2] + 1:
        raise InputError(
            f"scores have shape {scores.shape}: give those of edge_scores, (n_networks, m + 1, m)."
        )
    if not np.isfinite(scores).all():
        raise InputError("scores contain NaN or infinity: give those of edge_scores.")
    count, _, m = scores.shape
    possible = np.ones(scores.shape, dtype=bool)
    possible[:, np.arange(m), np.arange(m)] = False
    if present is None:
        return possible
    chosen = np.asarray(present, dtype=bool)
    if chosen.shape == (count, m, m):
        chosen = np.concatenate([chosen, np.zeros((count, 1, m), dtype=bool)], axis=1)
    if chosen.shape != scores.shape:
        raise InputError(
            f"present has shape {chosen.shape}, and scores {scores.shape}: give one network a "
            "score, with or without the row of biases."
        )
    return possible & chosen
