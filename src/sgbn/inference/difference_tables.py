"""Tables of the differences between groups, with p from permutations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.inference.difference_input import GroupData
from sgbn.inference.difference_summaries import corrected, reached
from sgbn.inference.joint import Graph, GroupWeights
from sgbn.runs import Arrays

Array = NDArray[np.float64]


def signed_statistic(statistic: Array, alternative: str) -> Array:
    """Statistic that is the larger the more it speaks for the alternative."""
    if alternative == "two-sided":
        return np.abs(statistic)
    return statistic if alternative == "greater" else -statistic


def edge_table(
    data: GroupData,
    parents: Graph,
    weights: list[GroupWeights],
    sd: Array,
    statistic: Array,
    null: Arrays,
    alternative: str,
) -> NDArray[Any]:
    """One row an edge, the most different first."""
    sources, targets = np.nonzero(parents)
    signed = signed_statistic(statistic, alternative)[sources, targets]
    in_units = sd[targets] / sd[sources]
    own = [group.weights[sources, targets] * in_units for group in weights]
    tests = np.sort(null["tests"])
    above = len(tests) - np.searchsorted(tests, signed)
    fwer = np.array([reached(value, null["highest"]) for value in signed])
    count = len(null["highest"])
    table = {
        "source": np.array(data.regions, dtype=object)[sources],
        "target": np.array(data.regions, dtype=object)[targets],
        **{f"weight_{name}": w for name, w in zip(data.groups, own, strict=True)},
        "difference": own[-1] - own[0],
        "statistic": statistic[sources, targets],
        "p": (1 + above) / (1 + len(tests)),
        "p_fwer": fwer,
        "q": discovery_rates(signed, above, count),
        "error": np.sqrt(fwer * (1 - fwer) / (count + 1)),
    }
    return _records(table)[np.lexsort((targets, sources, -signed))]


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


def sum_tables(
    data: GroupData, sums: dict[str, Array], null: Array
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Hubs and lobes, with their corrected p."""
    family = np.repeat(np.arange(4), [len(part) for part in sums.values()])
    family[family == 1] = 0  # in- and out-strength are one family
    observed = np.concatenate(list(sums.values()))
    z, p = corrected(observed, null, family)
    m, lobes = len(data.regions), sorted(set(data.lobes))
    regions = np.array(data.regions, dtype=object)
    hubs = {
        "region": np.tile(regions, 2),
        "kind": np.repeat(np.array(["in", "out"], dtype=object), m),
    }
    names = np.array(lobes, dtype=object)
    pairs = {
        "source": np.tile(np.repeat(names, len(names)), 2),
        "target": np.tile(names, 2 * len(names)),
        "kind": np.repeat(np.array(["strength", "number"], dtype=object), len(names) ** 2),
    }
    values = {"difference": observed, "z": z, "p_fwer": p}
    first, second = (
        {name: column[part] for name, column in values.items()}
        for part in (slice(0, 2 * m), slice(2 * m, None))
    )
    return _records(hubs | first), _records(pairs | second)


def _records(columns: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    kinds = [(name, column.dtype) for name, column in columns.items()]
    table = np.empty(len(next(iter(columns.values()))), dtype=kinds)
    for name, column in columns.items():
        table[name] = column
    return table
