"""Weights, intercepts and noise variances for parents that are already known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sgbn.core.exceptions import InputError, counted, warn
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import GraphLike, adjacency
from sgbn.core.moments import Moments, moments_of
from sgbn.core.types import Array, Mask
from sgbn.core.validation import check_values
from sgbn.solvers.lasso import refit_column, residual_variances

COLLINEAR = 1e-10  # smaller singular values, relative to the largest, are round-off
NOISE_FLOOR = 1e-12  # smaller noise variances, relative to the variable's variance, are round-off


class Weights(NamedTuple):
    """The numbers of a network in the user's order of columns.

    `coef_std` holds weights per standard deviation. The others are in the units of the data.
    """

    coef_std: Array
    coef: Array
    intercept: Array
    noise_variance: Array


def fit_weights(
    X: ArrayLike, graph: GraphLike, names: Sequence[str] | None = None
) -> GaussianNetwork:
    """Return the network with the edges of a given DAG and least-squares weights.

    Each variable is regressed on its parents with an intercept. A noise variance is the residual
    sum of squares divided by n - k, where k counts the parents and the intercept.

    Parameters
    ----------
    X : array-like of shape (n, m)
        One row per subject, one column per variable.
    graph : array-like of shape (m, m), or GaussianNetwork
        The DAG: ``graph[i, j] != 0`` is the edge i -> j. If X and the graph both have names,
        variables are matched by name.
    names : sequence of str, optional
        Names of the variables; by default the columns of a DataFrame X, else ``x0, x1, ...``.

    Raises
    ------
    CycleError
        If the graph has a directed cycle.
    """
    values, columns = check_values(X)
    if names is not None and hasattr(X, "columns") and list(names) != columns:
        raise InputError("names differ from the columns of X. Leave names out.")
    names = list(columns if names is None else names)
    support = _support_on(graph, names, labelled=hasattr(X, "columns"))
    if support.shape != (values.shape[1], values.shape[1]):
        raise InputError(
            f"X has {values.shape[1]} columns, but the graph has shape {support.shape}: give one "
            "column per node of the graph."
        )
    GaussianNetwork(support, names=names)  # raises if there is a cycle or a wrong name
    moments = moments_of(values, names)
    B = least_squares(moments, moments.to_canonical(support.astype(float)), names)
    weights = user_weights(moments, B, names)
    return GaussianNetwork(weights.coef, weights.intercept, weights.noise_variance, names)


def _support_on(graph: Any, names: Sequence[str], labelled: bool) -> Mask:
    """Return the edges of a graph, with its nodes in the order of `names`.

    `labelled` tells whether the data have names. If the data or the graph have none, the nodes of
    the graph are assumed to be in the order of the columns.
    """
    support = adjacency(graph)
    if hasattr(graph, "columns"):
        nodes = [str(column) for column in graph.columns]
    elif hasattr(graph, "names"):
        nodes = list(graph.names)
    else:
        return support
    if not labelled:
        return support
    if sorted(nodes) != sorted(names):
        raise InputError(
            "the variables of the graph are not the columns of X: rename the variables or the "
            "columns."
        )
    place = [nodes.index(name) for name in names]
    return support[np.ix_(place, place)]


def least_squares(moments: Moments, B: Array, names: Sequence[str]) -> Array:
    """Return `B` with the weights that are not zero replaced by least squares.

    Row ``B[j]`` holds the weights of the parents of j, in the canonical order. The function warns
    if parents are collinear.
    """
    refitted = B.copy()
    # A weight that is not zero is refitted, whatever its value. This includes every bias.
    refitted[:, moments.m :] = 1.0
    bad = [j for j in range(moments.m) if not refit_column(moments.R, j, refitted[j])]
    for j in bad:
        parents = np.flatnonzero(refitted[j])
        gram, target = moments.R[np.ix_(parents, parents)], moments.R[parents, j]
        # The solution of least norm: round-off must not decide which of two copies gets the weight.
        refitted[j, parents] = np.linalg.lstsq(gram, target, rcond=COLLINEAR)[0]
    if bad:
        warn(
            f"the parents of {names[moments.columns[bad[0]]]!r} are collinear, so that many "
            "weights fit equally well. The smallest weights are used. Drop one of these parents, "
            "or ask for fewer edges (a larger alpha or gamma)."
        )
    return refitted


def user_weights(moments: Moments, B: Array, names: Sequence[str]) -> Weights:
    """Return the weights in the user's order and units, from rows `B` in the canonical order.

    The noise variance is the residual sum of squares divided by n - k, as in bnlearn; k counts the
    parents and the intercept.
    """
    coef_std = moments.to_user(B)
    if moments.has_bias:
        # With a bias, columns are divided by their root mean square, not by their spread.
        ratio = moments.scale / moments.sd
        coef_std = coef_std * ratio / ratio[:, None]
    coef = coef_std * moments.sd / moments.sd[:, None]
    inverse = np.argsort(moments.columns)
    if moments.has_bias:
        intercept = B[inverse, -1] * moments.scale
    else:  # in the canonical order, so that rounding does not depend on the order of the columns
        centre = (moments.mean / moments.scale)[moments.columns]
        intercept = moments.mean - (B @ centre)[inverse] * moments.scale
    n_parents = np.count_nonzero(coef, axis=0)
    # At least 1, so that a variable with as many parents as rows causes no division by zero.
    degrees = np.maximum(moments.n - n_parents - 1, 1)
    residual = residual_variances(moments.R, B)[inverse] * moments.scale**2
    noise = residual * moments.n / degrees
    floor = NOISE_FLOOR * moments.sd**2
    exact = np.flatnonzero(noise < floor)
    if exact.size:
        warn(
            f"{names[exact[0]]!r} is an exact linear function of its parents "
            f"({counted(exact.size, 'such column')}). Its noise variance is set to a small "
            "positive number. Drop the column, or ask for fewer edges (a larger alpha or gamma)."
        )
    return Weights(coef_std, coef, intercept, np.maximum(noise, floor))
