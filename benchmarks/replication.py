"""Test whether networks are found again in the other half of a table, and on the same rows.

python benchmarks/replication.py --study halves     # needs the real tables (SGBN_DATA)
python benchmarks/replication.py --study same-rows
python benchmarks/replication.py --study posterior

Settings were tuned on simulations and on splits 0 to 4 of the controls of ABIDE. Other splits are
run here, and each was run once after that. Everything that is fitted to rows is fitted inside each
half and each half sample. "Simulated" are Gaussian rows of a random sparse network, a table of the
same size as ABIDE.
"""

import subprocess
import warnings

import numpy as np
import pandas as pd
import replication_report as report
import tables
from output import options, real_data, stored_runs, write_parts
from replication_report import ADJACENCY_BINS, DIRECTION_BINS, SURE, THRESHOLDS
from sklearn.covariance import graphical_lasso

from sgbn.cohort.design import Design
from sgbn.cohort.effects import without_nuisance
from sgbn.cohort.simulate import simulate_sem
from sgbn.core.graph import random_dag
from sgbn.core.problems import DataWarning
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.posterior import NetworkPosterior
from sgbn.learn.sgbn import SGBN

SEED = 17
SPLITS = range(5, 15)  # splits 0 to 4 were used to choose the settings
TABLES = (
    ("abide1_asd", "CTR"),
    ("ixi_age", "YOUNG"),
    ("ixi_age", "MID"),
    ("ixi_age", "OLD"),
    ("ixi_age", tables.ALL),
    ("cobre_scz", "CTR"),
    ("simulated", "network"),
)
JOINED = 0.5  # the other half joins a pair if a larger share of its half samples joins it
# With more regions (COBRE has 173), the graphical lasso takes minutes.
MAX_LASSO_REGIONS = 100
# The size of the controls of ABIDE.
SIMULATED = {"m": 93, "degree": 4.0, "n": 530}


def read(name, group):
    return simulated() if name == "simulated" else tables.read(name, group)


def simulated():
    rng = np.random.default_rng(SEED)
    graph = random_dag(SIMULATED["m"], SIMULATED["degree"], rng)
    X, _ = simulate_sem(graph, SIMULATED["n"], noise="unequal", random_state=rng)
    names = [f"x{k}" for k in range(X.shape[1])]
    # There are no nuisance columns, and there is one site.
    none = np.empty((len(X), 0))
    return tables.Rows(pd.DataFrame(X, columns=names), none, np.zeros(len(X), int))


def ensemble(rows, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        learner = SGBNEnsemble(**settings)
        return learner.fit(rows.regions, nuisance=rows.nuisance, strata=rows.site)


def learn(rows):
    """Return the results of one half that are compared with the other half."""
    learner = ensemble(rows)
    values, _ = without_nuisance(rows.regions.to_numpy(float), rows.nuisance)
    # Rows that the ensemble left out are dropped, so that all methods have the same rows.
    values = values[~learner.outliers_]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        single = SGBN(outliers="keep").fit(values)
    return {
        "arrow": learner.arrow_,
        "supported": [learner.confidence_.supported(learner.coef_, *least) for least in THRESHOLDS],
        "graph": learner.coef_ != 0,
        "single": single.coef_ != 0,
        "single_class": single.cpdag_,
        "correlation": np.corrcoef(values.T),
    }


def compare_halves(first, second):
    """Return the counts of one split. Each half is the first half once."""
    # All rankings have the same number of pairs: with fewer pairs, agreement would be easier.
    k = round((first["single"].sum() + second["single"].sum()) / 2)
    counts = {
        "k": k,
        "adjacency": np.zeros((len(ADJACENCY_BINS) - 1, 2)),
        "direction": np.zeros((len(DIRECTION_BINS) - 1, 2)),
        "supported": np.zeros((len(THRESHOLDS), 4)),
        "compelled": np.zeros(3),
        "agreement": {name: agreement(name, first, second, k) for name in RANKINGS},
    }
    for half, other in ((first, second), (second, first)):
        add_counts(counts, half, other)
    return counts


def add_counts(counts, half, other):
    """Add counts of the pairs and arrows of one half that the other half has as well."""
    share, other_share = (learned["arrow"] + learned["arrow"].T for learned in (half, other))
    joined = other_share > JOINED
    same = joined & (other["arrow"] > other["arrow"].T)
    pairs = np.triu(np.ones(share.shape, bool), 1)
    counts["adjacency"] += binned(share, pairs, joined, ADJACENCY_BINS)
    # The share of a direction among the networks that join the pair.
    direction = half["arrow"] / np.maximum(share, 1e-12)
    counts["direction"] += binned(direction, joined & (share > JOINED), same, DIRECTION_BINS)
    for k, arrows in enumerate(half["supported"]):
        # Arrows that the other half supports in the opposite direction.
        back = other["supported"][k].T
        counts["supported"][k] += [(arrows & what).sum() for what in (arrows, joined, same, back)]
    compelled, again = (
        learned["single_class"] & ~learned["single_class"].T for learned in (half, other)
    )
    counts["compelled"] += [(compelled & what).sum() for what in (compelled, again, again.T)]


def binned(share, shown, came_back, bins):
    """Count the entries of each bin, and those of them that were found again."""
    place = np.digitize(share[shown], bins) - 1
    # A share of 1, up to round-off, belongs to the last bin.
    place[share[shown] >= bins[-1] - 1e-9] = len(bins) - 2
    back = came_back[shown]
    return np.array([[(place == b).sum(), back[place == b].sum()] for b in range(len(bins) - 1)])


def agreement(name, first, second, k):
    chosen = [RANKINGS[name](learned, k) for learned in (first, second)]
    # The halves may choose different numbers of pairs: the divisor is their mean.
    n = (chosen[0].sum() + chosen[1].sum()) / 2
    return float((chosen[0] & chosen[1]).sum() / n) if n else None


def strongest(share, k):
    """Return a mask of the k pairs with the largest entries."""
    i, j = np.triu_indices(len(share), 1)
    best = np.argsort(-share[i, j], kind="stable")[:k]
    chosen = np.zeros(share.shape, bool)
    chosen[i[best], j[best]] = True
    return chosen


def lasso_pairs(R, k):
    """Return the pairs of a graphical lasso with about k pairs. Wide tables give no pairs."""
    if len(R) > MAX_LASSO_REGIONS:
        return np.zeros(R.shape, bool)
    # Bisection: a larger penalty gives fewer pairs. After seven steps the error is below 0.006.
    low, high = 0.2, 0.9
    for _ in range(7):
        alpha = (low + high) / 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # A low accuracy is enough, because only the joined pairs are used.
            _, precision = graphical_lasso(R, alpha, max_iter=50, tol=1e-3)
        joined = np.triu(np.abs(precision) > 1e-8, 1)
        low, high = (alpha, high) if joined.sum() > k else (low, alpha)
    return joined


RANKINGS = {
    "ensemble, by half samples": lambda half, k: strongest(half["arrow"] + half["arrow"].T, k),
    "ensemble, its network": lambda half, _: np.triu(half["graph"] | half["graph"].T, 1),
    "SGBN, its network": lambda half, _: np.triu(half["single"] | half["single"].T, 1),
    "marginal correlation": lambda half, k: strongest(np.abs(half["correlation"]), k),
    "graphical lasso": lambda half, k: lasso_pairs(half["correlation"], k),
}


def split_rows(name, group, split):
    """Return the two halves of the rows of a table, balanced over sites."""
    rows = read(name, group)
    # Rows are dealt within sites, so that scanners are the same in both halves.
    part = Design(len(rows.site), site=rows.site).deal(np.random.default_rng([SEED, split]))
    return [rows.take(np.flatnonzero(part == k)) for k in range(2)]


def halves(name, group, split):
    counts = compare_halves(*map(learn, split_rows(name, group, split)))
    agreed = counts.pop("agreement")
    facts = {key: np.asarray(count).tolist() for key, count in counts.items()}
    return {"table": name, "group": group, "split": split, **facts, "agreement": agreed}


def posterior(name, group, split):
    """Count the arrows that are nearly certain in the posterior of one half.

    The counts are of all such arrows, and of those that the other half has in the same direction,
    in the opposite direction, or does not join.
    """
    shares = []
    for half in split_rows(name, group, split):
        values, _ = without_nuisance(half.regions.to_numpy(float), half.nuisance)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shares.append(NetworkPosterior().fit(values).arrow_probability_)
    counts = np.zeros(4)
    for half, other in (shares, shares[::-1]):
        sure, joined = half > SURE, other + other.T > JOINED
        same = joined & (other > other.T)
        counts += [(sure & what).sum() for what in (sure, same, joined & ~same, ~joined)]
    return {"table": name, "group": group, "split": split, "arrows": counts.tolist()}


def jaccard(first, second):
    return float((first & second).sum() / (first | second).sum())


def same_rows(name, group, number):
    """Return Jaccard indices of networks with another seed, and without 5 % of the subjects."""
    rows = read(name, group)
    whole = ensemble(rows, random_state=2 * number)
    again = ensemble(rows, random_state=2 * number + 1)
    rng = np.random.default_rng([SEED, number, 1])
    # One of twenty parts, which is 5 %, is left out.
    kept = np.flatnonzero(Design(len(rows.site), site=rows.site).deal(rng, 20) > 0)
    # The seed is that of `whole`, so that only the subjects differ.
    fewer = ensemble(rows.take(kept), random_state=2 * number)
    facts = {"edges": int((whole.coef_ != 0).sum()), "supported": int(whole.supported_.sum())}
    agreement = whole.confidence_.agreement
    facts |= {"halves agree on edges": agreement.edges}
    facts |= {"on directions that one is sure of": agreement.arrows}
    for label, other in (("other seed", again), ("5 % less", fewer)):
        facts[f"pairs, {label}"] = jaccard(
            *(learner.coef_ + learner.coef_.T != 0 for learner in (whole, other))
        )
        facts[f"drawn, {label}"] = jaccard(whole.drawn_graph_, other.drawn_graph_)
    return {"table": name, "group": group, "number": number, **facts}


STUDIES = {
    "halves": (halves, SPLITS, report.halves, "replication"),
    "same-rows": (same_rows, range(2), report.same_rows, "replication_same_rows"),
    "posterior": (posterior, SPLITS[:5], report.posterior, "replication_posterior"),
}


def main():
    given = options(
        __doc__,
        study={"choices": STUDIES, "default": "halves"},
        tables={"nargs": "+", "help": "names of tables; by default all"},
    ).parse_args()
    real_data()
    function, numbers, slots, file = STUDIES[given.study]
    runs = stored_runs(given.out, file)
    number = "number" if given.study == "same-rows" else "split"
    done = {(run["table"], run["group"], run[number]) for run in runs}
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip()
    # Runs of two versions must not be mixed in one table.
    if {run["commit"] for run in runs} - {commit}:
        raise SystemExit(
            f"{file}.json has runs of another commit. Move the file, or check out that commit."
        )
    for name, group in TABLES:
        if given.tables and name not in given.tables:
            continue
        # The other studies are about single groups of real subjects.
        if given.study != "halves" and (group == tables.ALL or name == "simulated"):
            continue
        for k in numbers:
            if (name, group, k) not in done:
                new = function(name, group, k) | {"commit": commit}
                write_parts(given.out, file, SEED, [[new]], slots, runs)
                runs.append(new)


if __name__ == "__main__":
    main()
