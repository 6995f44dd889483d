"""Score the tests of differences on one cohort.

A find is false if the weights of the population, given the tested parents, are equal in both
groups. Both ways, each region of a pair is regressed on the other region and on the parents of
both. The pair counts as changed only if both weights and the partial correlation differ.
"""

import warnings
from typing import NamedTuple

import numpy as np

from sgbn.core.moments import one_blas_thread
from sgbn.core.problems import DataWarning
from sgbn.inference.differences import edge_differences
from sgbn.inference.joint import regressions
from sgbn.inference.power import wilson
from sgbn.learn.sgbn import SGBN

from .cohorts import draw, in_lobes

LEVEL = 0.05
N_PERMUTATIONS = 199  # the smallest p is 1 / 200, which is enough for a level of 5 %
EQUAL = 1e-6  # weights and correlations of the population that differ by less are equal
ONE_WAY, BOTH_WAYS, NAMED = "one way", "both ways", "named beforehand"
SUFFIX = {ONE_WAY: "", BOTH_WAYS: "_both"}  # way of testing -> ending of the column names
SHARES = {"any_family", "false_family", "any_q", "global"}  # of cohorts; other figures are means
SUMS = ("hubs", "lobes", "components")


class Columns(NamedTuple):
    """The results of one way of testing: places of the edges, their p, and the global p."""

    i: np.ndarray
    j: np.ndarray
    p: np.ndarray
    p_fwer: np.ndarray
    q: np.ndarray
    in_pool: np.ndarray
    global_p: float


def read_columns(tests, way):
    """Return the columns of one way of testing. Only this function knows their names."""
    edges, end = tests.edges, SUFFIX[way]
    place = {name: k for k, name in enumerate(tests.regions)}
    i, j = (np.array([place[name] for name in edges[at]], int) for at in ("source", "target"))
    values = (edges[f"{name}{end}"] for name in ("p", "p_fwer", "q"))
    return Columns(i, j, *values, edges["from_pool"], getattr(tests, f"global_p{end}"))


def run_tests(values, pair, **options):
    """Test one cohort as all studies do."""
    return edge_differences(
        values,
        **pair.options,
        learner=SGBN(n_kicks=0),
        n_permutations=N_PERMUTATIONS,
        random_state=pair.seed,
        **options,
    )


def score_tests(pair, values=None):
    """Return the figures of each method: one way, both ways, named edges, sums of edges."""
    tests = run_tests(in_lobes(pair.values) if values is None else values, pair)
    scores = {}
    for way in SUFFIX:
        columns = read_columns(tests, way)
        parents = np.zeros(pair.changed.shape, bool)
        parents[columns.i, columns.j] = True
        same = EQUALS[way](pair, parents)[columns.i, columns.j] if pair.known else None
        scores[way] = way_figures(pair, columns, same)
    # Rows are counted once, because both ways leave out the same rows.
    scores[ONE_WAY]["left_out"] = sum(map(len, tests.left_out.values()))
    if "edges" in pair.options:
        p = tests.named["p"]
        scores[NAMED] = {"low_p": np.mean(p <= LEVEL), "tested": len(p)}
    components = np.array([p for _, p, _ in tests.components])
    sums = dict(zip(SUMS, (tests.hubs["p_fwer"], tests.lobes["p_fwer"], components), strict=True))
    return scores | {name: {"any_family": np.any(p <= LEVEL)} for name, p in sums.items()}


def way_figures(pair, columns, same):
    """Return the figures of one way of testing. `same` marks unchanged edges, if known."""
    graph = np.zeros(pair.changed.shape, bool)
    by_rate, family = columns.q <= LEVEL, columns.p_fwer <= LEVEL
    graph[columns.i[by_rate], columns.j[by_rate]] = True
    low = columns.p <= LEVEL
    figures = {
        "tested": len(low),
        "any_family": family.any(),
        "global": columns.global_p <= LEVEL,
        "low_p": share(low),
        "low_p_pool": share(low[columns.in_pool]),
        "low_p_group": share(low[~columns.in_pool]),
        **against_truth(pair, graph),
    }
    if same is not None:
        figures |= {
            "unequal": np.sum(~same),
            "false_family": np.any(family & same),
            "false_share": np.sum(by_rate & same) / max(by_rate.sum(), 1),
            # If the truth is known, only unchanged edges count for the level.
            "low_p": share(low[same]),
        }
    return figures


def against_truth(pair, graph):
    """Compare finds with the edges that were changed. Each pair counts once."""
    either, changed = (np.triu(edges | edges.T, 1) for edges in (graph, pair.changed))
    hits, count = int((either & changed).sum()), int(either.sum())
    figures = {"any_q": count > 0, "found": count}
    if changed.any():
        figures |= {
            "changed": int(changed.sum()),
            "hits": hits,
            "recall": hits / changed.sum(),
            "beside": (count - hits) / max(count, 1),
            # `hits` also counts pairs that are found with the wrong direction.
            "right_way": (graph & pair.changed).sum() / hits if hits else np.nan,
        }
    return figures


def shown(part, n):
    """Return a share with Wilson's interval in brackets, as text."""
    low, high = wilson(part, n)
    return f"{part:.3f} [{low:.3f}, {high:.3f}]"


def share(marked):
    """Return the share of marked entries, or NaN if the array is empty."""
    return float(np.mean(marked)) if len(marked) else np.nan


def same_weights(pair, parents):
    """Return which weights, given these parents, are equal in the first and the last group."""
    m, parents = len(parents), np.ascontiguousarray(parents)
    first, last = (
        # Degrees of freedom do not matter, because only weights are used.
        regressions(np.ascontiguousarray(network.covariance), m + 1, m + 1.0, parents)[0]
        for network in (pair.networks[0], pair.networks[-1])
    )
    return np.abs(first - last) < EQUAL


def same_some_way(pair, parents):
    """Return which pairs have an equal weight in one direction, or equal partial correlations.

    Weights and correlations are given the parents of both regions.
    """
    same = np.ones(parents.shape, bool)
    covariances = [pair.networks[k].covariance for k in (0, -1)]
    for i, j in np.argwhere(parents):
        either = np.flatnonzero(parents[:, i] | parents[:, j])
        nodes = [i, j, *(k for k in either if k not in (i, j))]
        ways = []
        for S in covariances:
            # Weights and partial correlation are ratios of entries of the precision matrix K.
            K = np.linalg.inv(S[np.ix_(nodes, nodes)])
            size = np.sqrt(K[0, 0] * K[1, 1])
            ways.append(K[0, 1] / np.array([K[1, 1], K[0, 0], size]))
        same[i, j] = (np.abs(ways[0] - ways[1]) < EQUAL).any()
    return same


EQUALS = {ONE_WAY: same_weights, BOTH_WAYS: same_some_way}


def as_arrays(scores):
    """Return one array per figure, with one entry per method: NaN if it lacks the figure."""
    names = list(dict.fromkeys(name for figures in scores.values() for name in figures))
    # `summary` leaves NaN out.
    rows = [[float(of.get(name, np.nan)) for name in names] for of in scores.values()]
    return {"methods": list(scores), **dict(zip(names, np.array(rows).T, strict=True))}


def quiet(score):
    """Run a score in one thread, without warnings about the data. Return arrays."""
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)
        return as_arrays(score())


def score_null(design, cohort, seed):
    """Score one cohort without a difference."""
    return quiet(lambda: score_tests(draw(design, cohort, seed)))


def score_pairwise(design, cohort, seed):
    """Score the closed pairwise tests of several groups, of which only the last may differ."""
    return quiet(lambda: pairwise_figures(draw(design, cohort, seed)))


def pairwise_figures(pair):
    """Return the figures of tests between equal groups, and of tests with the last group."""
    tests = run_tests(pair.values, pair)
    scores = {"global": {"global": tests.global_p <= LEVEL}}
    for way, end in SUFFIX.items():
        by_kind = _pairwise_way(pair, tests, end)
        scores |= {f"{name}, {way}": figures for name, figures in by_kind.items()}
    return scores


def _pairwise_way(pair, tests, end):
    last = tests.groups[-1]
    place = {name: k for k, name in enumerate(tests.regions)}
    changed = pair.changed | pair.changed.T
    equal, other = [], []
    for groups, rows in tests.pairwise.items():
        (other if last in groups and changed.any() else equal).append(rows)
    # These groups are equal even if the last group differs.
    scores = {"equal groups": _any_find(equal, end)}
    if other:
        hits = [
            changed[place[row["source"]], place[row["target"]]]
            for rows in other
            for row in rows[rows[f"p_fwer{end}"] <= LEVEL]
        ]
        # Each pair of groups with the last one can find each changed edge.
        recall = np.sum(hits) / (pair.changed.sum() * len(other))
        beside = 1 - np.mean(hits) if hits else np.nan
        scores["with the group that differs"] = _any_find(other, end) | {
            "recall": recall,
            "beside": beside,
        }
    return scores


def _any_find(tables, end):
    return {
        "any_family": any((rows[f"p_fwer{end}"] <= LEVEL).any() for rows in tables),
        "any_q": any((rows[f"q{end}"] <= LEVEL).any() for rows in tables),
    }
