"""Tables of the differences between groups, with p from permutations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.graph import edge_kinds
from sgbn.inference.difference_fit import Fit, Problem
from sgbn.inference.difference_summaries import (
    corrected,
    monte_carlo_error,
    nearly,
    reached,
    strength_statistics,
    strengths,
)
from sgbn.runs import Arrays

Array = NDArray[np.float64]


def signed_statistic(statistic: Array, alternative: str) -> Array:
    """Statistic that is the larger the more it speaks for the alternative."""
    if alternative == "two-sided":
        return np.abs(statistic)
    return statistic if alternative == "greater" else -statistic


def edge_table(problem: Problem, fit: Fit, null: Arrays) -> NDArray[Any]:
    """One row an edge, the most different first."""
    data, sd = problem.data, problem.sd
    sources, targets = np.nonzero(fit.parents)
    signed = signed_statistic(fit.statistic, problem.alternative)[sources, targets]
    in_units = sd[targets] / sd[sources]
    own = [group.weights[sources, targets] * in_units for group in fit.weights]
    first, *_, last = (group.variances[sources, targets] for group in fit.weights)
    p = own_class_p(signed, fit.pooled[sources, targets], null["tests"], null["in_pool"])
    fwer = np.array([reached(value, null["highest"]) for value in signed])
    count = len(null["highest"])
    table = {
        "source": np.array(data.regions, dtype=object)[sources],
        "target": np.array(data.regions, dtype=object)[targets],
        **{f"weight_{name}": w for name, w in zip(data.groups, own, strict=True)},
        "difference": own[-1] - own[0],
        "difference_std": (own[-1] - own[0]) / in_units,
        "standard_error": np.sqrt(first + last),
        "statistic": fit.statistic[sources, targets],
        "p": p,
        "p_error": monte_carlo_error(p, count),
        "p_fwer": fwer,
        "q": discovery_rates(signed, count_reaching(signed, null["tests"]), count),
        "error": monte_carlo_error(fwer, count),
        "graph_direction": edge_kinds(fit.parents).astype(object),
    }
    return _records(table)[np.lexsort((targets, sources, -signed))]


def own_class_p(
    signed: Array, in_pool: NDArray[np.bool_], null: Array, null_in_pool: NDArray[np.bool_]
) -> Array:
    """P of each edge by itself, among null edges that were chosen as it was.

    An edge that a group chose and the pooled rows did not is there because the groups look
    different: it must be compared with such edges only.
    """
    p = np.empty(len(signed))
    for chosen in (False, True):
        own, tests = in_pool == chosen, null[null_in_pool == chosen]
        p[own] = (1 + count_reaching(signed[own], tests)) / (1 + len(tests))
    return p


def count_reaching(signed: Array, null: Array) -> NDArray[np.intp]:
    """How many null statistics reach each statistic."""
    return len(null) - np.searchsorted(np.sort(null), nearly(signed))


def discovery_rates(signed: Array, above: NDArray[np.intp], n_permutations: int) -> Array:
    """Estimate the false discovery rate of all edges with at least each statistic.

    `above` counts null statistics of all permutations that reach it. One more than counted makes
    the estimate of a statistic that no permutation reached other than zero.
    """
    expected = (above + 1) / (n_permutations + 1)
    order = np.argsort(-signed, kind="stable")
    found = np.searchsorted(np.sort(-signed), -signed, side="right")
    rates = np.minimum(expected / np.maximum(found, 1), 1.0)
    lowest = np.minimum.accumulate(rates[order][::-1])[::-1]
    q = np.empty_like(rates)
    q[order] = lowest
    return q


def sum_tables(problem: Problem, fit: Fit, null: Array) -> tuple[NDArray[Any], NDArray[Any]]:
    """Hubs and lobes, with their corrected p."""
    data = problem.data
    differences, statistics = (
        np.concatenate(list(sums(fit.weights, problem.lobes).values()))
        for sums in (strengths, strength_statistics)
    )
    m, names = len(data.regions), np.array(sorted(set(data.lobes)), dtype=object)
    in_lobes = np.arange(len(statistics)) >= 2 * m
    counts = np.arange(len(statistics)) >= 2 * m + len(names) ** 2
    z, p = corrected(statistics, null, in_lobes.astype(np.intp), counts, len(data.groups) == 2)
    hubs = {
        "region": np.tile(np.array(data.regions, dtype=object), 2),
        "kind": np.repeat(np.array(["in", "out"], dtype=object), m),
    }
    pairs = {
        "source": np.tile(np.repeat(names, len(names)), 2),
        "target": np.tile(names, 2 * len(names)),
        "kind": np.repeat(np.array(["strength", "number"], dtype=object), len(names) ** 2),
    }
    error = monte_carlo_error(p, len(null))
    values = {"difference": differences, "z": z, "p_fwer": p, "error": error}
    first, second = (
        {name: column[part] for name, column in values.items()} for part in (~in_lobes, in_lobes)
    )
    return _records(hubs | first), _records(pairs | second)


def _records(columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    kinds = [(name, column.dtype) for name, column in columns.items()]
    table = np.empty(len(next(iter(columns.values()))), dtype=kinds)
    for name, column in columns.items():
        table[name] = column
    return table
