r"""Total effects of one region on another, and their differences between groups.

The total effect of i on j is the change of the mean of j when i is changed by one unit from
outside. It is the sum over all directed paths from i to j of the products of their weights,

.. math:: T = (I - \Theta)^{-1} - I ,

where :math:`\Theta` holds the weights. The effect depends on directions. Gaussian data determine
directions only up to an equivalence class (`sgbn.inference.possible_parents`). If the networks of
the class disagree about an effect, the range of its possible values is given instead of an
interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import Sample
from sgbn.cohort.rows import read_groups, region_index, warn_about_few
from sgbn.core.equivalence import cpdag
from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import NetworkLike
from sgbn.core.graph import GraphLike, reachable, topological_order
from sgbn.core.types import Array, Graph
from sgbn.core.validation import SHARE
from sgbn.inference.possible_parents import possible_graphs
from sgbn.inference.resampling import (
    N_RESAMPLES,
    fixed_weights,
    interval,
    resampled_weights,
    resamples,
)
from sgbn.learn.base import network_of

SAME_EFFECT = 1e-8  # in standard deviations; smaller differences of effects are round-off


@dataclass(frozen=True)
class Effect:
    """An effect, or a difference of effects.

    Attributes
    ----------
    estimate : float
        Estimate with the graphs as they were given.
    low, high : float
        If `identified`, a bootstrap interval. If not, the smallest and the largest of the
        `possible` values, without sampling error.
    identified : bool
        Whether all networks of the equivalence class have the same effect.
    possible : tuple of float
        The distinct values of the effect over the equivalence class, in rising order.
    """

    estimate: float
    low: float
    high: float
    identified: bool
    possible: tuple[float, ...]


@dataclass(frozen=True)
class EffectDifference:
    """The total effect of one region on another in each group.

    Attributes
    ----------
    source, target : str
        Names of the two regions. The effect is the effect of the source on the target.
    effects : dict of group to Effect
        Change of the target per unit of the source, in the units of the data.
    differences : dict of (group, other group) to Effect
        Effect in the second group minus effect in the first.
    """

    source: str
    target: str
    effects: dict[str, Effect]
    differences: dict[tuple[str, str], Effect]


@dataclass(frozen=True)
class _Draws:
    """The effect in one group under the given graph and under each possible graph.

    Attributes
    ----------
    n : int
        Number of independent units (rows, persons or families).
    n_coefficients : int
        Number of coefficients of the largest regression on the paths.
    unit : float
        Standard deviation of the target divided by the standard deviation of the source.
    given : float
        Effect under the given graph.
    resampled : ndarray of shape (n_resamples,)
        Effect under the given graph in each bootstrap sample.
    possible : ndarray
        Effect under each possible graph.
    """

    n: int
    n_coefficients: int
    unit: float
    given: float
    resampled: Array
    possible: Array


def total_effects(network: NetworkLike) -> Array:
    """Return the total effect of every region on every other; ``[i, j]`` is the effect of i on j.

    Parameters
    ----------
    network : GaussianNetwork or fitted learner
        The network whose weights are used.

    Examples
    --------
    >>> from sgbn.core.gaussian import GaussianNetwork
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

    The weights of each group's graph are fitted to the group's rows. Intervals come from resampled
    rows, with the graphs kept fixed. They are right if the graphs were not learned from the same
    rows.

    Parameters
    ----------
    groups : Cohort, or mapping of group to array-like of shape (n, m)
        Two or more groups with the same regions. The effects of a Cohort's sites and covariates are
        taken out within each group first. Rows of a mapping are used as they are.
    graphs : graph, or mapping of group to graph
        Each graph is a DAG as an array, a GaussianNetwork or a fitted learner. A single graph is
        used for all groups, and its unknown directions are then the same in all of them. A
        learner's own `cpdag_` says which directions are known, including prior knowledge.
    source, target : str
        Names of the regions. The effect is the effect of the source on the target.
    n_resamples : int
        Number of bootstrap samples.
    level : float
        Coverage of the intervals, such as 0.95.
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
        raise InputError(f"source and target are both {source!r}. Give two regions.")
    graph_of = _graph_of_each(graphs, list(rows))
    for name in rows:
        warn_about_few(rows[name].n_units, f"the group {name!r}")
    draws = {
        name: _draw(rows[name], graph_of[name], s, t, n_resamples, [random_state, place])
        for place, name in enumerate(rows)
    }
    # With one graph for all groups, an unknown direction is the same in all of them.
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
    """Return the total effects of one region on all, for many sets of weights of one DAG.

    Parameters
    ----------
    weights : ndarray of shape (n_sets, n_edges)
        Sets of weights, in the order of ``np.argwhere(support)``.
    support : ndarray of bool, shape (m, m)
        The DAG; ``support[i, j]`` is i -> j.
    source : int
        Number of the region whose effects are returned.

    Returns
    -------
    ndarray of shape (n_sets, m)
        Effect on each region. It is 1 on the source itself.
    """
    # Position of the edge i -> j in the list of weights.
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
    """Return the effect of region `s` on region `t` in one group, with its bootstrap samples."""
    weights, support = fixed_weights(rows, graph)
    # The cpdag_ of a learner may direct more edges, by prior knowledge, than the data can.
    known = graph.cpdag_ if hasattr(graph, "cpdag_") else cpdag(support)
    # Only the given graph is resampled: for the other graphs of the class, the range of effects is
    # reported without sampling error.
    counts = resamples(rows, n_resamples, seed)
    drawn = resampled_weights(rows.values, support, counts)
    possible = []
    for other in possible_graphs(known, s):
        fitted, _ = fixed_weights(rows, other)
        possible.append(path_effects(fitted[None], other, s)[0, t])
    # The interval allows for the coefficients of the largest regression on the paths.
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
    """Mark the regions after `s` on the directed paths from `s` to `t`, including `t`."""
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
    """Return the effect in one group, or the difference between two groups."""
    # Resamples of two groups are independent. So any pairing of them is a sample of the difference.
    signs = (1.0,) if len(draws) == 1 else (-1.0, 1.0)
    estimate = float(sum(sign * d.given for sign, d in zip(signs, draws, strict=True)))
    values = _distinct(possible, max(d.unit for d in draws))
    if len(values) > 1:
        return Effect(estimate, values[0], values[-1], False, values)
    resampled = np.sum([sign * d.resampled for sign, d in zip(signs, draws, strict=True)], axis=0)
    # The group with the fewest degrees of freedom sets the width of the interval.
    fewest = min(draws, key=lambda d: d.n - d.n_coefficients)
    low, high = interval(resampled, fewest.n, fewest.n_coefficients, level)
    return Effect(estimate, low, high, True, values)


def _distinct(values: Array, unit: float) -> tuple[float, ...]:
    """Return the values in rising order; values that differ only by round-off appear once."""
    # If all values of the class differ only by round-off, the effect is identified.
    ordered = np.sort(values)
    apart = np.diff(ordered) > SAME_EFFECT * max(unit, float(np.abs(ordered).max()))
    return tuple(ordered[np.concatenate([[True], apart])].tolist())


def _graph_of_each(graphs: Any, groups: list[str]) -> dict[str, Any]:
    """Return the graph of each group; raise InputError if a group has none."""
    if not isinstance(graphs, Mapping):
        return dict.fromkeys(groups, graphs)
    given = {str(name): graph for name, graph in graphs.items()}
    missing = [name for name in groups if name not in given]
    if missing:
        raise InputError(f"graphs has no graph of the group {missing[0]!r}. Give one per group.")
    return given
