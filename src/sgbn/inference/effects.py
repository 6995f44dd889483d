r"""Total effects of one region on another, and their differences between groups.

The total effect of i on j is the change of the mean of j when i is changed by one unit from
outside. It is the sum over all directed paths from i to j of the products of their weights,

.. math:: T = (I - \Theta)^{-1} - I ,

where :math:`\Theta` holds the weights. The effect depends on directions. Gaussian data determine
directions only up to an equivalence class (`sgbn.inference.effects`). If the networks of
the class disagree about an effect, the range of its possible values is given instead of an
interval.

Simulated lesions: a region no longer varies, and other regions change.

The possible parents of a region in the networks of an equivalence class.

In a linear Gaussian network the total effect of a region s depends only on the parents of s. It is
the coefficient of s in a regression on s and its parents. So one network for each possible set of
parents of s shows every value that an effect of s can have over the class (Maathuis and others
2009).

A set of parents is possible if some DAG of the class has it. It consists of the known parents and
of neighbours whose edge to s has no direction in the class. These neighbours must be joined to each
other and to the known parents. Otherwise two parents without an edge between them would be a new
collision at s (a -> s <- b). No cycle and no collision elsewhere may follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.rows import Rows, region_index, residuals_by_group, warn_about_few
from sgbn.core.equivalence import (
    close_orientations,
    consistent_extension,
    cpdag,
    skeleton,
    v_structures,
)
from sgbn.core.gaussian import GaussianNetwork, NetworkLike
from sgbn.core.graph import GraphLike, adjacency, reachable, topological_order
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Graph, Indices
from sgbn.core.validation import NONE, SHARE, Number
from sgbn.inference.difference_tables import records
from sgbn.inference.intervals import (
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
    >>> from sgbn.inference.effects import total_effects
    >>> total_effects(GaussianNetwork([[0, 2, 1], [0, 0, 3], [0, 0, 0]])).tolist()
    [[0.0, 2.0, 7.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]]
    """
    network = network_of(network)
    return network._total_effects - np.eye(network.m)


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
    >>> from sgbn.inference.effects import effect_difference
    >>> rng = np.random.default_rng(0)
    >>> groups = {"NC": rng.standard_normal((200, 3)), "AD": rng.standard_normal((200, 3))}
    >>> groups["NC"][:, 2] += groups["NC"][:, 0] + groups["NC"][:, 1]
    >>> groups["AD"][:, 2] += groups["AD"][:, 1]
    >>> collider = [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    >>> found = effect_difference(groups, collider, "x0", "x2").differences["NC", "AD"]
    >>> found.identified, found.high < 0
    (True, True)
    """
    rows = residuals_by_group(groups)
    SHARE.check("level", level)
    names = next(iter(rows.values())).names
    s, t = (region_index(name, names) for name in (source, target))
    if s == t:
        raise InputError("effects.one-region", region=source).says(
            "source and target are both {region}", "Give two regions."
        )
    graph_of = dict.fromkeys(rows, graphs)
    if isinstance(graphs, Mapping):
        graph_of = {str(name): graph for name, graph in graphs.items()}
    missing = [name for name in rows if name not in graph_of]
    if missing:
        raise InputError("graphs.missing", groups=missing).says(
            "there is no graph of {groups}", "Give one graph per group ({graphs=})."
        )
    for name in rows:
        warn_about_few(rows[name].design.n_units)
    draws = {
        name: _draw(rows[name], graph_of[name], s, t, n_resamples, [random_state, place])
        for place, name in enumerate(rows)
    }
    effects = {name: _effect([draw], draw.possible, level) for name, draw in draws.items()}
    differences = {}
    for a, b in combinations(rows, 2):
        # With one graph for all groups, an unknown direction is the same in all of them.
        if isinstance(graphs, Mapping):
            pairs = product(draws[a].possible, draws[b].possible)
            possible = np.array([second - first for first, second in pairs])
        else:
            possible = draws[b].possible - draws[a].possible
        differences[a, b] = _effect([draws[a], draws[b]], possible, level)
    return EffectDifference(source, target, effects, differences)


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


def _draw(rows: Rows, graph: Any, s: int, t: int, n_resamples: int, seed: list[int]) -> _Draws:
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
    leads = reachable(support)
    to_target = leads[:, t].copy()
    to_target[t] = True
    on_path = leads[s] & to_target
    sd = rows.values.std(axis=0)
    return _Draws(
        rows.design.n_units,
        int(support.sum(axis=0)[on_path].max(initial=0)) + 1 + rows.effects.shape[1],
        float(sd[t] / sd[s]),
        float(path_effects(weights[None], support, s)[0, t]),
        path_effects(drawn, support, s)[:, t],
        np.array(possible),
    )


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


DIGITS = 12  # decimals of a divergence; further digits are round-off


@dataclass(frozen=True)
class Lesion:
    """A network before and after one of its regions was fixed from outside.

    Attributes
    ----------
    region : str
        Name of the region.
    before, after : GaussianNetwork
        The two networks. After the lesion no edge leads into the region, and it passes no variation
        on to others.
    """

    region: str
    before: GaussianNetwork
    after: GaussianNetwork

    @property
    def mean_change(self) -> Array:
        """Change of the mean of every region, in the units of the data."""
        return self.after.mean - self.before.mean

    @property
    def variance_change(self) -> Array:
        """Change of the variance of every region, as a share of its variance before."""
        return np.diag(self.after.covariance) / np.diag(self.before.covariance) - 1

    @property
    def covariance_change(self) -> Array:
        """Change of the covariance of every two regions."""
        return self.after.covariance - self.before.covariance

    def ranking(self) -> np.recarray[Any, Any]:
        r"""Return the other regions as a record array, the most affected first.

        Returns
        -------
        record array
            - `region`: name of the region
            - `divergence`: Kullback-Leibler divergence of the region's distribution after the
              lesion from its distribution before, in nats; regions are ranked by it
            - `mean_change`: change of the mean, in standard deviations
            - `variance_change`: change of the variance, as a share
            - `coupling_change`: root of the sum of the squared changes of the region's correlations
              with the remaining regions
        """
        rest = np.delete(np.arange(self.before.m), self.before.names.index(self.region))
        shift = (self.mean_change / np.sqrt(np.diag(self.before.covariance)))[rest]
        change = self.variance_change[rest]
        # The divergence of two Gaussians depends on the ratio of variances and the shift of means.
        divergence = (change - np.log1p(change) + shift**2) / 2
        coupling = _correlation(self.after, rest) - _correlation(self.before, rest)
        coupling = np.sqrt(np.square(coupling).sum(axis=1))
        columns = {
            "region": np.asarray(self.before.names)[rest],
            "divergence": divergence,
            "mean_change": shift,
            "variance_change": change,
            "coupling_change": coupling,
        }
        # Rounded divergences have the same ties on every machine. Changes of coupling break ties.
        ranked = np.lexsort((-coupling, -np.round(divergence, DIGITS)))
        return records(columns)[ranked].view(np.recarray)


def lesion(network: NetworkLike, region: str, value: float | None = None) -> Lesion:
    """Fix a region from outside, and return the network before and after.

    The edges into the region are cut, and it takes the same value in all subjects
    (`GaussianNetwork.do`). So it passes no variation on to other regions. By default the value is
    the mean of the region. Then no mean changes, and variances and covariances lose the part that
    came through the region.

    Parameters
    ----------
    network : GaussianNetwork or fitted learner
        The network before the lesion.
    region : str
        The region that is fixed.
    value : float, optional
        The value at which it is fixed, such as a low volume. Means then change too.

    Returns
    -------
    Lesion

    Examples
    --------
    >>> from sgbn.core.gaussian import GaussianNetwork
    >>> from sgbn.inference.effects import lesion
    >>> chain = GaussianNetwork([[0, 1, 0], [0, 0, 1], [0, 0, 0]], names=["a", "b", "c"])
    >>> lesion(chain, "b").ranking()[["region", "variance_change"]].tolist()
    [('c', -0.6666...), ('a', 0.0)]
    """
    network = network_of(network)
    (NONE | Number()).check("value", value)
    place = region_index(region, network.names)
    # Without noise a region may have no variance, and its share of change would be 0 / 0.
    network.check_noise()
    at = float(network.mean[place]) if value is None else value
    return Lesion(region, network, network.do({region: at}))


def _correlation(network: GaussianNetwork, rest: Indices) -> Array:
    covariance = network.covariance[np.ix_(rest, rest)]
    sd = np.sqrt(np.diag(covariance))
    return covariance / np.outer(sd, sd)


MOST_SETS = 4096  # largest number of sets of parents that are tried


def possible_graphs(P: ArrayLike, node: int) -> list[Graph]:
    """Return one DAG of the class for each possible set of parents of a node.

    Parameters
    ----------
    P : array-like of shape (m, m)
        CPDAG, or a PDAG in which prior knowledge directs more edges. An edge i - j without
        direction has both ``P[i, j]`` and ``P[j, i]`` set.
    node : int
        Number of the region.

    Raises
    ------
    InputError
        If there are more sets than can be tried.
    """
    pdag = adjacency(P)
    # All members of a class have the same collisions. Graphs with other collisions are not in it.
    collisions = v_structures(pdag)
    cliques = list(_cliques(pdag, node))
    graphs = (_with_parents(pdag, node, chosen, collisions) for chosen in cliques)
    return [graph for graph in graphs if graph is not None]


def _cliques(P: Graph, node: int) -> Iterator[tuple[int, ...]]:
    """Yield each set of undirected neighbours that are joined to each other and to all parents."""
    joined = skeleton(P)
    known = np.flatnonzero(P[:, node] & ~P[node])
    neighbours = [
        int(k) for k in np.flatnonzero(P[:, node] & P[node]) if joined[np.ix_([k], known)].all()
    ]
    # An explicit stack, so that the number of sets that are tried is bounded.
    stack: list[tuple[int, ...]] = [()]
    for _ in range(MOST_SETS):
        if not stack:
            return
        chosen = stack.pop()
        yield chosen
        # Numbers rise within a set, so that each set comes once.
        later = [k for k in neighbours if not chosen or k > chosen[-1]]
        stack += [(*chosen, k) for k in later if joined[k, list(chosen)].all()]
    if stack:
        raise InputError("effects.many-sets", most=MOST_SETS).says(
            "there are more than {most} possible sets of parents", "Direct some edges by {tiers=}."
        )


def _with_parents(
    P: Graph, node: int, chosen: tuple[int, ...], collisions: list[tuple[int, int, int]]
) -> Graph | None:
    """Return a DAG of the class in which, of the undirected neighbours, only `chosen` are parents.

    Return None if the class has no such DAG.
    """
    directed = P.copy()
    open_ends = P[:, node] & P[node]
    directed[open_ends, node] = False
    directed[list(chosen), node] = True
    directed[node, list(chosen)] = False
    # Further directions follow from these. Without them an extension may add a collision.
    graph = consistent_extension(close_orientations(directed))
    # By the last condition, edges that prior knowledge directs keep their direction.
    if graph is None or v_structures(graph) != collisions or not np.all(graph <= directed):
        return None
    return graph
