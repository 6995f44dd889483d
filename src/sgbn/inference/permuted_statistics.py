"""Statistics of every permutation of the rows, for all groups and for sets of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import chdtri, ndtr

from sgbn.core.exceptions import listed, warn
from sgbn.core.moments import one_blas_thread
from sgbn.core.types import Array
from sgbn.inference.closed_tests import MOST_GROUPS, Members, sets_of_groups
from sgbn.inference.difference_input import GroupData
from sgbn.inference.difference_problem import Fit, Problem
from sgbn.inference.difference_request import MIN_EXCHANGES
from sgbn.inference.difference_summaries import Component, components_of, strength_statistics
from sgbn.runs.files import Arrays
from sgbn.runs.study import Study

PERMUTATIONS_PER_TASK = 50  # a folder keeps finished tasks, which are not computed again
# By chance, one of 370 edges exceeds this limit. Usually one or two hundred edges are tested, so
# that none or one exceeds it. So a set of several edges is rare by chance.
COMPONENT_T = 3.0


def permuted_statistics(
    problem: Problem, n_permutations: int, seed: int, settings: dict[str, Any], study: Study
) -> dict[Members, Arrays]:
    """Return the statistics of all permutations, for each set of groups that is compared.

    All groups together come first, then the sets that closed tests need. The study keeps finished
    permutations, and uses them again only if `settings` and the arguments here are the same.
    """
    sets = _compared_sets(problem.data)
    tasks = _tasks(n_permutations, seed, sets)
    asked = {"n_permutations": n_permutations, "alternative": problem.alternative, "seed": seed}
    parts = study.run(permute, tasks, asked | settings, shared={"problem": problem})
    by_members: dict[Members, list[Arrays]] = {members: [] for members in sets}
    for name, task in tasks.items():
        by_members[task["members"]].append(parts[name])
    return {
        members: {name: np.concatenate([part[name] for part in results]) for name in results[0]}
        for members, results in by_members.items()
    }


def _compared_sets(data: GroupData) -> list[Members]:
    """Return all groups together, and then the sets of groups that closed tests need.

    A set is left out if its groups have no rows to exchange, for example because they share no
    site.
    """
    n_groups = len(data.groups)
    every = tuple(range(n_groups))
    if n_groups > MOST_GROUPS:
        warn(
            f"{n_groups} groups are only compared all together. Pairs of groups are compared only "
            f"if there are at most {MOST_GROUPS} groups. To compare pairs, give fewer groups."
        )
        return [every]
    # A set without exchanges has no null distribution. `difference_tables` gives it a p of 1.
    sets: list[Members] = [every]
    stuck: list[Members] = []
    for members in sets_of_groups(n_groups)[1:]:
        can_move = data.exchange(members).log_exchanges(data.codes) > np.log(MIN_EXCHANGES)
        (sets if can_move else stuck).append(members)
    pairs = [
        " and ".join(data.groups[c] for c in members) for members in stuck if len(members) == 2
    ]
    if pairs:
        warn(
            "these groups have no rows that can be exchanged, so that they are not compared with "
            f"each other: {listed(pairs)}. Leave out sites=, or groups that share no site."
        )
    return sets


def _tasks(n_permutations: int, seed: int, sets: Sequence[Members]) -> dict[str, dict[str, Any]]:
    """Return the arguments of `permute` for each task, by the name of the task."""
    tasks = {}
    for members in sets:
        subset = () if members == sets[0] else members
        name = "-".join(["permutations", *map(str, subset)])
        for k in range(-(-n_permutations // PERMUTATIONS_PER_TASK)):
            count = min(PERMUTATIONS_PER_TASK, n_permutations - k * PERMUTATIONS_PER_TASK)
            # The seed depends on the task alone. So results do not depend on the number of
            # processes or on the tasks that a folder already has.
            task = {"seed": (seed, k, *subset), "count": count, "members": members}
            tasks[f"{name}-{k:05d}"] = task
    return tasks


def permute(problem: Problem, seed: tuple[int, ...], count: int, members: Members) -> Arrays:
    """Return the statistics of `count` permutations that exchange rows between these groups."""
    rng = np.random.default_rng(seed)
    exchange = problem.data.exchange(members)
    with one_blas_thread():
        # `refit` computes once what all permutations of the set share.
        refit = problem.refit(members)
        drawn = [statistics_of(problem, refit(exchange.draw(rng)), members) for _ in range(count)]
    return {
        name: np.concatenate([statistics[name] for statistics in drawn])
        if drawn[0][name].ndim
        else np.array([statistics[name] for statistics in drawn])
        for name in drawn[0]
    }


def statistics_of(problem: Problem, fit: Fit, members: Members) -> Arrays:
    """Return all statistics of one permutation, or of the data, as arrays."""
    t, ways = fit.weights.statistic(members), fit.ways.statistics(members)
    kept: dict[str, Any] = {
        "counts": len(t),
        "in_pool": fit.in_pool,
        "tests": signed_statistic(t, problem.alternative),
        "ways": signed_statistic(ways, problem.alternative),
    }
    # Closed tests are only for edges. Hubs, lobes and components are tested over all groups.
    if len(members) < len(problem.data.groups):
        return {name: np.asarray(values) for name, values in kept.items()}
    strongest = changed_components(fit, t)
    kept |= {
        "totals": np.square(t).sum(),
        # The leading axis lets permutations be concatenated.
        "totals_ways": np.square(ways).sum(axis=0)[None],
        "components": strongest[0].strength if strongest else 0.0,
        "sums": _sums(problem, fit)[None],
    }
    if problem.among is not None:
        inside = problem.among[tuple(fit.edges.T)]
        kept |= {"inside": inside, "totals_inside": np.square(t[inside]).sum()}
    if fit.named is not None:
        kept["named"] = fit.named.statistics(members)[None]
    return {name: np.asarray(values) for name, values in kept.items()}


def signed_statistic(statistic: Array, alternative: str) -> Array:
    """Return statistics that are larger if they are stronger evidence for the alternative."""
    if alternative == "two-sided":
        return np.abs(statistic)
    return statistic if alternative == "greater" else -statistic


def _sums(problem: Problem, fit: Fit) -> Array:
    """Return the statistics of hubs and lobes in one array."""
    weights = fit.weights.matrices(fit.edges, len(problem.data.regions))
    return np.concatenate(list(strength_statistics(weights, problem.lobes).values()))


def changed_components(fit: Fit, statistic: Array) -> list[Component]:
    """Find connected sets of changed edges.

    The threshold has the same tail probability for any number of groups.
    """
    n_groups = len(fit.weights.weights)
    if n_groups == 2:
        return components_of(statistic, fit.edges, COMPONENT_T)
    # With more groups the root of Q is larger by chance. So the threshold is larger too.
    threshold = float(np.sqrt(chdtri(n_groups - 1, 2 * ndtr(-COMPONENT_T))))
    return components_of(statistic, fit.edges, threshold, signs=(0,))
