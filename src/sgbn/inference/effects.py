r"""What a region does to another: total effects, and their difference between groups.

The total effect of i on j is what a unit change of i, made from outside, changes of the mean of j:
the sum over all directed paths of the products of their weights,

.. math:: T = (I - \Theta)^{-1} - I .

It depends on directions, and Gaussian data decide these up to an equivalence class only
(`sgbn.inference.possible_parents`): where networks of the class disagree about an effect, the
range of its possible values is given instead of an interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError
from sgbn.gaussian import NetworkLike
from sgbn.graph.acyclicity import GraphLike, reachable, topological_order
from sgbn.graph.equivalence import cpdag
from sgbn.inference.possible_parents import possible_graphs
from sgbn.inference.resampling import (
    N_RESAMPLES,
    fixed_weights,
    interval,
    resampled_weights,
    resamples,
)
from sgbn.inference.rows import network_of, read_groups, region_index, warn_about_few
from sgbn.parameters import SHARE
from sgbn.structure.samples import Sample
from sgbn.types import Array, Graph

SAME_EFFECT = 1e-8  # per standard deviation: smaller differences of effects are round-off


@dataclass(frozen=True)
class Effect:
    """An effect, or a difference of effects.

    Attributes
    ----------
    estimate : float
        With the graphs as they were given.
    low, high : float
        If `identified`, a bootstrap interval. If not, the smallest and the largest of the
        `possible` values, without sampling error.
    identified : bool
        Whether all networks of the equivalence class have the same effect.
    possible : tuple of float
        Its distinct values over the equivalence class, rising.
    """

    estimate: float
    low: float
    high: float
    identified: bool
    possible: tuple[float, ...]


@dataclass(frozen=True)
class EffectDifference:
    """Total effect of one region on another in each group.

    Attributes
    ----------
    source, target : str
    effects : dict of group to Effect
        Change of the target per unit of the source, in the units of the data.
    differences : dict of (group, other group) to Effect
        Effect in the second minus effect in the first.
    """

    source: str
    target: str
    effects: dict[str, Effect]
    differences: dict[tuple[str, str], Effect]


@dataclass(frozen=True)
class _Draws:
    """The effect in one group under each possible graph; resampled under the given one.

    `unit` is an effect of one standard deviation per standard deviation.
    """

    n: int
    n_coefficients: int
    unit: float
    given: float
    resampled: Array
    possible: Array


def total_effects(network: NetworkLike) -> Array:
    """Return the total effect of every region on every other, ``[i, j]`` of i on j.

    Parameters
    ----------
    network : GaussianNetwork or fitted learner
        The network whose weights are taken.

    Examples
    --------
    >>> from sgbn import GaussianNetwork
    >>> from sgbn.inference import total_effects
    >>> total_effects(GaussianNetwork([[0, 2, 1], [0, 0, 3], [0, 0, 0]])).tolist()
    [[0.0, 2.0, 7.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]]
    """
    network = network_of(network)
    effects: Array = network._total_effects - np.eye(network.m)
    return effects


def effect_difference(
    groups: Cohort | Mapping[Any, ArrayLike],
    graphs: GraphLike | Mapping[Any, GraphLike],
    source: str,
    target: str,
    *,
    n_resamples: int = N_RESAMPLES,
    level: float = 0.95,
    random_state: int = 0,
) -> EffectDifference:
    """Return the total effect of one region on another in each group, and the differences.

    Weights are fitted to each group's rows on its graph. Intervals resample the rows and leave the
    graphs as they are; they are right if the graphs were not learned from the same rows.

    Parameters
    ----------
    groups : Cohort, or mapping of group to array-like of shape (n, m)
        Two or more groups with the same regions. What sites and covariates of a Cohort do to them
        is taken out within each group before; rows of a mapping are taken as they are.
    graphs : graph, or mapping of group to graph
        A DAG as an array, a GaussianNetwork or a fitted learner. One graph stands for all groups,
        and what is not known of its directions is then the same in all of them. A learner's own
        `cpdag_` says what is known, prior knowledge included.
    source, target : str
        Names of the regions: the effect is that of the first on the second.
    n_resamples : int
        Number of bootstrap samples.
    level : float
        Share of intervals that hold the true value, such as 0.95.
    random_state : int
        Seed of the bootstrap samples.

    Returns
    -------
    EffectDifference

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.inference import effect_difference
    >>> rng = np.random.default_rng(0)
    >>> groups = {"NC": rng.standard_normal((200, 3)), "AD": rng.standard_normal((200, 3))}
    >>> groups["NC"][:, 2] += groups["NC"][:, 0] + groups["NC"][:, 1]
    >>> groups["AD"][:, 2] += groups["AD"][:, 1]
    >>> collider = [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    >>> found = effect_difference(groups, collider, "x0", "x2").differences["NC", "AD"]
    >>> found.identified, found.high < 0
    (True, True)
    """
    rows = read_groups(groups)
    SHARE.check("level", level)
    names = next(iter(rows.values())).names
    s, t = (region_index(name, names) for name in (source, target))
    if s == t:
        raise InputError(f"source and target are both {source!r}: give two regions.")
    graph_of = _graph_of_each(graphs, list(rows))
    for name in rows:
        warn_about_few(rows[name].n_units, f"the group {name!r}")
    draws = {
        name: _draw(rows[name], graph_of[name], s, t, n_resamples, [random_state, place])
        for place, name in enumerate(rows)
    }
    # one graph for all groups: what is unknown of its directions is the same in all of them
    shared = not isinstance(graphs, Mapping)
    return EffectDifference(
        source,
        target,
        {name: _effect([draw], draw.possible, level) for name, draw in draws.items()},
        {
            (a, b): _effect(
                [draws[a], draws[b]], _possible_differences(draws[a], draws[b], shared), level
            )
            for a, b in combinations(rows, 2)
        },
    )


def path_effects(weights: Array, support: Graph, source: int) -> Array:
    """Total effects of one region on all, for many sets of weights on one DAG.

    Parameters
    ----------
    weights : ndarray of shape (n_sets, n_edges)
        In the order of ``np.argwhere(support)``.
    support : ndarray of bool, shape (m, m)
    source : int

    Returns
    -------
    ndarray of shape (n_sets, m)
        One for the source itself.
    """
    # Place of the edge i -> j in the list of weights.
    place = np.full(support.shape, -1)
    place[support] = np.arange(support.sum())
    effects = np.zeros((len(weights), len(support)))
    effects[:, source] = 1.0
    # Parents come first, so that one pass adds up all paths.
    for j in topological_order(support):
        parents = np.flatnonzero(support[:, j])
        if j != source and len(parents):
            effects[:, j] = (effects[:, parents] * weights[:, place[parents, j]]).sum(axis=1)
    return effects


def _draw(rows: Sample, graph: Any, s: int, t: int, n_resamples: int, seed: list[int]) -> _Draws:
    weights, support = fixed_weights(rows, graph)
    # Prior knowledge directs more edges than the data can.
    known = graph.cpdag_ if hasattr(graph, "cpdag_") else cpdag(support)
    # The given graph is resampled only: over the class the range of effects is reported, without
    # sampling error.
    counts = resamples(rows, n_resamples, seed)
    drawn = resampled_weights(rows.values, support, counts)
    possible = []
    for other in possible_graphs(known, s):
        fitted, _ = fixed_weights(rows, other)
        possible.append(path_effects(fitted[None], other, s)[0, t])
    # The interval allows for the coefficients of the largest regression on the way.
    on_path = _on_a_path(support, s, t)
    sd = rows.values.std(axis=0)
    return _Draws(
        rows.n_units,
        int(support.sum(axis=0)[on_path].max(initial=0)) + 1 + rows.nuisance.shape[1],
        float(sd[t] / sd[s]),
        float(path_effects(weights[None], support, s)[0, t]),
        path_effects(drawn, support, s)[:, t],
        np.array(possible),
    )


def _on_a_path(support: Graph, s: int, t: int) -> Graph:
    """Regions behind `s` on a directed path to `t`."""
    leads = reachable(support)
    to_target = leads[:, t].copy()
    to_target[t] = True
    on_path: Graph = leads[s] & to_target
    return on_path


def _possible_differences(first: _Draws, second: _Draws, shared: bool) -> Array:
    """Return all possible differences; with a shared graph both groups have the same DAG."""
    if shared:
        return second.possible - first.possible
    return np.array([b - a for a, b in product(first.possible, second.possible)])


def _effect(draws: list[_Draws], possible: Array, level: float) -> Effect:
    """Effect in one group, or the difference between two."""
    # Resamples of two groups are independent, so that any pairing of them is a sample of the
    # difference.
    signs = (1.0,) if len(draws) == 1 else (-1.0, 1.0)
    estimate = float(sum(sign * d.given for sign, d in zip(signs, draws, strict=True)))
    values = _distinct(possible, max(d.unit for d in draws))
    if len(values) > 1:
        return Effect(estimate, values[0], values[-1], False, values)
    resampled = np.sum([sign * d.resampled for sign, d in zip(signs, draws, strict=True)], axis=0)
    # The interval of a difference is as wide as the smaller group asks for.
    fewest = min(draws, key=lambda d: d.n - d.n_coefficients)
    low, high = interval(resampled, fewest.n, fewest.n_coefficients, level)
    return Effect(estimate, low, high, True, values)


def _distinct(values: Array, unit: float) -> tuple[float, ...]:
    """Return the values in rising order; values that differ only by round-off appear once."""
    # Values of the class that differ by round-off are one value: the effect is identified then.
    ordered = np.sort(values)
    apart = np.diff(ordered) > SAME_EFFECT * max(unit, float(np.abs(ordered).max()))
    return tuple(ordered[np.concatenate([[True], apart])].tolist())


def _graph_of_each(graphs: Any, groups: list[str]) -> dict[str, Any]:
    if not isinstance(graphs, Mapping):
        return dict.fromkeys(groups, graphs)
    given = {str(name): graph for name, graph in graphs.items()}
    missing = [name for name in groups if name not in given]
    if missing:
        raise InputError(f"graphs has no graph of the group {missing[0]!r}. Give one per group.")
    return given
