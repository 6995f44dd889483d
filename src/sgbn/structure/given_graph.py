"""Weights, intercepts and noise variances for parents that are already known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sgbn.exceptions import InputError, warn
from sgbn.gaussian import GaussianNetwork
from sgbn.graph.acyclicity import GraphLike, adjacency
from sgbn.moments import Moments, moments_of
from sgbn.solvers.lasso import refit_column, residual_variances
from sgbn.types import Array, Mask
from sgbn.validation import check_values

COLLINEAR = 1e-10  # share of the largest singular value below which one is round-off
NOISE_FLOOR = 1e-12  # share of a variable's variance below which its noise is round-off


class Weights(NamedTuple):
    """A network's numbers in the user's column order: standardised weights, and user's units."""

    coef_std: Array
    coef: Array
    intercept: Array
    noise_variance: Array


def fit_weights(
    X: ArrayLike, graph: GraphLike, names: Sequence[str] | None = None
) -> GaussianNetwork:
    """Least-squares network on a given DAG.

    Each variable is regressed on its parents with an intercept. Noise variances divide the
    residual sum of squares by n - k, k counting the parents and the intercept.

    Parameters
    ----------
    X : array-like of shape (n, m)
    graph : array-like of shape (m, m), or GaussianNetwork
        ``graph[i, j] != 0`` is the edge i -> j. Where X and the graph both have names, they are
        matched by name.
    names : sequence of str, optional
        The columns of X if it is a DataFrame, else ``x0, x1, ...``.

    Raises
    ------
    CycleError
        If the graph has a directed cycle.
    """
    values, columns = check_values(X)
    if names is not None and hasattr(X, "columns") and list(names) != columns:
        raise InputError("names differ from the columns of X: leave them out.")
    names = list(columns if names is None else names)
    support = _support_on(graph, names, labelled=hasattr(X, "columns"))
    if support.shape != (values.shape[1], values.shape[1]):
        raise InputError(
            f"X has {values.shape[1]} columns, but the graph's shape is {support.shape}: give the "
            "columns that are its nodes."
        )
    GaussianNetwork(support, names=names)  # a cycle or a wrong name stops here
    moments = moments_of(values, names)
    B = least_squares(moments, moments.to_canonical(support.astype(float)), names)
    weights = user_weights(moments, B, names)
    return GaussianNetwork(weights.coef, weights.intercept, weights.noise_variance, names)


def _support_on(graph: Any, names: Sequence[str], labelled: bool) -> Mask:
    """Edges of a graph among the variables `names`; labels, where both sides have them, decide."""
    support = adjacency(graph)
    if hasattr(graph, "columns"):
        nodes = [str(column) for column in graph.columns]
    elif hasattr(graph, "names"):
        nodes = list(graph.names)
    else:
        return support
    # a plain array has no names: its columns are taken to be in the order of the graph
    if not labelled:
        return support
    if sorted(nodes) != sorted(names):
        raise InputError("the graph's variables are not the columns of X: rename one of them.")
    place = [nodes.index(name) for name in names]
    return support[np.ix_(place, place)]


def least_squares(moments: Moments, B: Array, names: Sequence[str]) -> Array:
    """Refit the weights that are not zero in `B` (canonical order) by least squares."""
    refitted = B.copy()
    # any number but zero marks a weight that is to be refitted
    refitted[:, moments.m :] = 1.0  # a bias is always refitted
    bad = [j for j in range(moments.m) if not refit_column(moments.R, j, refitted[j])]
    for j in bad:
        parents = np.flatnonzero(refitted[j])
        gram, target = moments.R[np.ix_(parents, parents)], moments.R[parents, j]
        # the least norm: which of two copies gets the weight must not depend on round-off
        refitted[j, parents] = np.linalg.lstsq(gram, target, rcond=COLLINEAR)[0]
    if bad:
        warn(
            f"the parents of {names[moments.columns[bad[0]]]!r} are collinear: many weights fit "
            "equally well, and the smallest are used. Drop one of these parents, or ask for fewer "
            "edges (a larger alpha or gamma)."
        )
    return refitted


def user_weights(moments: Moments, B: Array, names: Sequence[str]) -> Weights:
    """Weights in the user's order and units from rows `B` in canonical order.

    The noise variance is the residual sum of squares divided by n - k, as bnlearn has it.
    """
    coef_std = moments.to_user(B)
    if moments.has_bias:
        # with a bias, columns were divided by their root mean square and not by their spread
        ratio = moments.scale / moments.sd
        coef_std = coef_std * ratio / ratio[:, None]
    coef = coef_std * moments.sd / moments.sd[:, None]
    inverse = np.argsort(moments.columns)
    if moments.has_bias:
        intercept = B[inverse, -1] * moments.scale
    else:  # in canonical order, where a product has the same bits for any order of the columns
        centre = (moments.mean / moments.scale)[moments.columns]
        intercept = moments.mean - (B @ centre)[inverse] * moments.scale
    n_parents = np.count_nonzero(coef, axis=0)
    # at least 1: with as many parents as rows the variance is small, but no division fails
    degrees = np.maximum(moments.n - n_parents - 1, 1)
    residual = residual_variances(moments.R, B)[inverse] * moments.scale**2
    noise = residual * moments.n / degrees
    floor = NOISE_FLOOR * moments.sd**2
    exact = np.flatnonzero(noise < floor)
    if exact.size:
        warn(
            f"{names[exact[0]]!r} is an exact linear function of its parents ({exact.size} such "
            "columns); its noise variance is set to a small positive number. Drop it, or ask for "
            "fewer edges (a larger alpha or gamma)."
        )
    return Weights(coef_std, coef, intercept, np.maximum(noise, floor))
