"""Do networks come back in other subjects? Halves of real tables, and the same rows twice.

python benchmarks/replication.py --study halves     # needs the real tables (SGBN_DATA)
python benchmarks/replication.py --study same-rows
python benchmarks/replication.py --study posterior

Settings were tuned on simulations and on splits 0 to 4 of the controls of ABIDE. The splits shown
are others, each run once after that. Everything that is fitted to rows is fitted inside each half
and each half sample. "Simulated" are Gaussian rows of a random sparse network, as large as ABIDE.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import json
import subprocess
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from output import RESULTS, write
from sklearn.covariance import graphical_lasso

from sgbn import SGBN, NetworkPosterior, SGBNEnsemble, random_dag, simulate_sem
from sgbn.exceptions import DataWarning
from sgbn.experiments.data import data_folder
from sgbn.experiments.markdown import table
from sgbn.structure.ensemble.splits import deal_rows
from sgbn.structure.nuisance import without_nuisance

SEED = 17
SPLITS = range(5, 15)  # 0 to 4 were used to choose the settings
ALL = "all groups"
TABLES = (
    ("abide1_asd", "CTR"),
    ("ixi_age", "YOUNG"),
    ("ixi_age", "MID"),
    ("ixi_age", "OLD"),
    ("ixi_age", ALL),
    ("cobre_scz", "CTR"),
    ("simulated", "network"),
)
NOT_REGIONS = ("subject_id", "group", "age", "sex", "site", "fiq", "eTIV", "euler_mean")
ADJACENCY_BINS = (0.2, 0.5, 0.7, 0.9, 0.98, 1.0)
DIRECTION_BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
JOINED = 0.5
SURE = 0.98  # probability of an arrow in a posterior
# Least shares of networks that join a pair, and of these with a direction, to support it. The first
# are the defaults. In a first run of these splits they were 0.8 and 0.8: too few directions came
# back, so that the 0.9 that was asked for beforehand was taken. Others are shown beside them.
THRESHOLDS = ((0.8, 0.9), (0.8, 0.8), (0.5, 0.9))
MOST_FOR_LASSO = 100  # regions: more take minutes
SIMULATED = {"m": 93, "degree": 4.0, "n": 530}


class Rows(NamedTuple):
    """Regions, what is taken out of them, and sites."""

    regions: pd.DataFrame
    nuisance: np.ndarray
    site: np.ndarray

    def take(self, rows):
        """Return some of the rows."""
        return Rows(self.regions.iloc[rows], self.nuisance[rows], self.site[rows])


def read(name, group):
    if name == "simulated":
        return simulated()
    found = pd.read_csv(data_folder() / "neuro" / f"{name}.csv")
    found = found[(found["group"] == group) | (group == ALL)].reset_index(drop=True)
    sex = (found["sex"].astype(str) == str(found["sex"].iloc[0])).astype(float)
    sites = pd.get_dummies(found["site"].astype(str), drop_first=True).astype(float)
    nuisance = np.column_stack([found["age"].astype(float), sex, sites])
    regions = found.drop(columns=[name for name in NOT_REGIONS if name in found])
    return Rows(regions, nuisance, found["site"].astype(str).to_numpy())


def simulated():
    rng = np.random.default_rng(SEED)
    graph = random_dag(SIMULATED["m"], SIMULATED["degree"], rng)
    X, _ = simulate_sem(graph, SIMULATED["n"], noise="unequal", random_state=rng)
    names = [f"x{k}" for k in range(X.shape[1])]
    none = np.empty((len(X), 0))
    return Rows(pd.DataFrame(X, columns=names), none, np.zeros(len(X), int))


def ensemble(rows, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        learner = SGBNEnsemble(**settings)
        return learner.fit(rows.regions, nuisance=rows.nuisance, strata=rows.site)


def learn(rows):
    """Return what is compared between two halves."""
    learner = ensemble(rows)
    values, _ = without_nuisance(rows.regions.to_numpy(float), rows.nuisance)
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
    """Return counts of one split, each half taken as the first once."""
    k = round((first["single"].sum() + second["single"].sum()) / 2)
    counts = {
        "k": k,
        "adjacency": np.zeros((len(ADJACENCY_BINS) - 1, 2)),
        "direction": np.zeros((len(DIRECTION_BINS) - 1, 2)),
        "supported": np.zeros((len(THRESHOLDS), 4)),
        "compelled": np.zeros(3),
        "agreement": {name: agreement(name, first, second, k) for name in RANKINGS},
    }
    for own, other in ((first, second), (second, first)):
        add_counts(counts, own, other)
    return counts


def add_counts(counts, own, other):
    here, there = (one["arrow"] + one["arrow"].T for one in (own, other))
    joined = there > JOINED
    same = joined & (other["arrow"] > other["arrow"].T)
    pairs = np.triu(np.ones(here.shape, bool), 1)
    counts["adjacency"] += binned(here, pairs, joined, ADJACENCY_BINS)
    direction = own["arrow"] / np.maximum(here, 1e-12)
    counts["direction"] += binned(direction, joined & (here > JOINED), same, DIRECTION_BINS)
    for k, arrows in enumerate(own["supported"]):
        back = other["supported"][k].T
        counts["supported"][k] += [(arrows & what).sum() for what in (arrows, joined, same, back)]
    compelled, there = (one["single_class"] & ~one["single_class"].T for one in (own, other))
    counts["compelled"] += [(compelled & what).sum() for what in (compelled, there, there.T)]


def binned(share, shown, came_back, bins):
    place = np.digitize(share[shown], bins) - 1
    place[share[shown] >= bins[-1] - 1e-9] = len(bins) - 2
    found = came_back[shown]
    return np.array([[(place == b).sum(), found[place == b].sum()] for b in range(len(bins) - 1)])


def agreement(name, first, second, k):
    chosen = [RANKINGS[name](one, k) for one in (first, second)]
    n = (chosen[0].sum() + chosen[1].sum()) / 2
    return float((chosen[0] & chosen[1]).sum() / n) if n else None


def strongest(share, k):
    """Mask of the k pairs with the largest entries."""
    i, j = np.triu_indices(len(share), 1)
    best = np.argsort(-share[i, j], kind="stable")[:k]
    chosen = np.zeros(share.shape, bool)
    chosen[i[best], j[best]] = True
    return chosen


def lasso_pairs(R, k):
    """Pairs of a graphical lasso whose penalty leaves about k of them; none for wide tables."""
    if len(R) > MOST_FOR_LASSO:
        return np.zeros(R.shape, bool)
    low, high = 0.2, 0.9
    for _ in range(7):
        alpha = (low + high) / 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, precision = graphical_lasso(R, alpha, max_iter=50, tol=1e-3)
        joined = np.triu(np.abs(precision) > 1e-8, 1)
        low, high = (alpha, high) if joined.sum() > k else (low, alpha)
    return joined


RANKINGS = {
    "ensemble, by half samples": lambda one, k: strongest(one["arrow"] + one["arrow"].T, k),
    "ensemble, its network": lambda one, _: np.triu(one["graph"] | one["graph"].T, 1),
    "SGBN, its network": lambda one, _: np.triu(one["single"] | one["single"].T, 1),
    "marginal correlation": lambda one, k: strongest(np.abs(one["correlation"]), k),
    "graphical lasso": lambda one, k: lasso_pairs(one["correlation"], k),
}


def halves(name, group, split):
    rows = read(name, group)
    rng = np.random.default_rng([SEED, split])
    part = deal_rows(rng, len(rows.regions), 2, rows.site)
    found = compare_halves(*(learn(rows.take(np.flatnonzero(part == k))) for k in range(2)))
    facts = {key: np.asarray(found[key]).tolist() for key in found if key != "agreement"}
    return {"table": name, "group": group, "split": split, **facts, "agreement": found["agreement"]}


def posterior(name, group, split):
    """Count arrows that the posterior of one half is sure of: all, same way, turned, not joined."""
    rows = read(name, group)
    part = deal_rows(np.random.default_rng([SEED, split]), len(rows.regions), 2, rows.site)
    shares = []
    for k in range(2):
        own = rows.take(np.flatnonzero(part == k))
        values, _ = without_nuisance(own.regions.to_numpy(float), own.nuisance)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shares.append(NetworkPosterior().fit(values).arrow_probability_)
    counts = np.zeros(4)
    for own, other in (shares, shares[::-1]):
        sure, joined = own > SURE, other + other.T > JOINED
        same = joined & (other > other.T)
        counts += [(sure & what).sum() for what in (sure, same, joined & ~same, ~joined)]
    return {"table": name, "group": group, "split": split, "arrows": counts.tolist()}


def posterior_lines(runs):
    rows = []
    for name, group in TABLES:
        counts = [run["arrows"] for run in runs if (run["table"], run["group"]) == (name, group)]
        if counts:
            n, *parts = np.sum(counts, axis=0)
            shown = (f"{part / n:.2f}" for part in parts)
            rows.append([f"{name} {group}", len(counts), f"{n / (2 * len(counts)):.0f}", *shown])
    head = ["", "splits", "arrows per half", "same way", "turned", "not joined"]
    text = f"Arrows with a probability above {SURE:g} in one half, and what the other half says."
    return ["# How sure is a posterior of real rows?", "", text, "", *table(head, rows)]


def jaccard(first, second):
    return float((first & second).sum() / (first | second).sum())


def same_rows(name, group, number):
    """Jaccard of what is drawn: other half samples and chains, and 5 % of the subjects less."""
    rows = read(name, group)
    whole = ensemble(rows, random_state=2 * number)
    again = ensemble(rows, random_state=2 * number + 1)
    rng = np.random.default_rng([SEED, number, 1])
    kept = np.flatnonzero(deal_rows(rng, len(rows.regions), 20, rows.site) > 0)
    fewer = ensemble(rows.take(kept), random_state=2 * number)
    facts = {"edges": int((whole.coef_ != 0).sum()), "supported": int(whole.supported_.sum())}
    agreement = whole.confidence_.agreement
    facts |= {"halves agree on edges": agreement.edges}
    facts |= {"on directions that one is sure of": agreement.arrows}
    for label, other in (("other seed", again), ("5 % less", fewer)):
        facts[f"pairs, {label}"] = jaccard(
            *(one.coef_ + one.coef_.T != 0 for one in (whole, other))
        )
        facts[f"drawn, {label}"] = jaccard(whole.drawn_graph_, other.drawn_graph_)
    return {"table": name, "group": group, "number": number, **facts}


def shares(counts):
    """Share that came back in each bin, its least and largest over the splits, and how many."""
    cells = []
    for of_bin in np.swapaxes(counts, 0, 1):
        n, back = of_bin.sum(axis=0)
        each = [one / of_one for of_one, one in of_bin if of_one]
        spread = f" [{min(each):.2f}, {max(each):.2f}]" if len(each) > 1 else ""
        cells.append(f"{back / n:.2f}{spread} ({int(n)})" if n else "-")
    return cells


def halves_lines(runs):
    of = {key: [run for run in runs if (run["table"], run["group"]) == key] for key in TABLES}
    of = {f"{name} {group}": found for (name, group), found in of.items() if found}
    heads = list(of)
    lines = [
        "# Do networks come back in other subjects?",
        "",
        __doc__.split("\n\n")[2].replace("\n", " "),
        "",
        "Halves share no subject; sites are balanced. A pair is joined in the other half if its "
        "share there is above 0.5. In brackets: the least and the largest share over the splits, "
        "and pairs of all splits; splits overlap, so that these are no independent cases.",
        "",
        "## Pairs: share in one half, and how many are joined in the other half",
        "",
    ]
    for key, bins in (("adjacency", ADJACENCY_BINS), ("direction", DIRECTION_BINS)):
        cells = [shares([run[key] for run in found]) for found in of.values()]
        rows = [
            [f"{bins[b]:g} to {bins[b + 1]:g}", *(column[b] for column in cells)]
            for b in range(len(bins) - 1)
        ]
        if key == "direction":
            lines += ["", "## Directions of pairs joined in both: how many point the same way", ""]
        lines += table([key, *heads], rows)
    for k, (adjacency, direction) in enumerate(THRESHOLDS):
        which = f"at least {adjacency:g} of the networks join the pair, {direction:g} of these so"
        which += " (default)" if k == 0 else ""
        lines += ["", f"## Supported arrows: {which}", "", *supported_table(of, k), ""]
    lines += ["## Compelled arrows of one SGBN network", "", *compelled_table(of), ""]
    lines += ["## Agreement of as many pairs as SGBN has edges", "", *agreement_table(of)]
    return lines


def supported_table(of, k):
    rows = []
    for head, found in of.items():
        each = [run["supported"][k] for run in found]
        n, joined, same, reversed_ = np.sum(each, axis=0)
        spread = [same / n for n, _, same, _ in each if n]
        low, high = (min(spread), max(spread)) if spread else (np.nan, np.nan)
        rows.append(
            [
                head,
                f"{n / (2 * len(found)):.1f}",
                f"{joined / n:.2f}" if n else "-",
                f"{same / joined:.2f}" if joined else "-",
                f"{same / n:.2f} ({low:.2f} to {high:.2f})" if n else "-",
                f"{reversed_ / n:.3f}" if n else "-",
            ]
        )
    names = [
        "",
        "per half",
        "joined there",
        "same way, of those joined",
        "same way, of all (splits)",
    ]
    return table([*names, "supported the other way"], rows)


def compelled_table(of):
    rows = []
    for head, found in of.items():
        n, same, reversed_ = np.sum([run["compelled"] for run in found], axis=0)
        rows.append(
            [head, f"{n / (2 * len(found)):.0f}", f"{same / n:.2f}", f"{reversed_ / n:.2f}"]
        )
    return table(["", "per half", "compelled the same way", "compelled the other way"], rows)


def agreement_table(of):
    rows = []
    for name in RANKINGS:
        cells = [[run["agreement"][name] for run in found] for found in of.values()]
        shown = [
            "-" if None in c else f"{np.mean(c):.3f} ({min(c):.2f} to {max(c):.2f})" for c in cells
        ]
        rows.append([name, *shown])
    return table(["", *of], rows)


def same_rows_lines(runs):
    keys = [key for key in runs[0] if key not in ("table", "group", "number", "commit")]
    rows = []
    for name, group in TABLES:
        found = [run for run in runs if (run["table"], run["group"]) == (name, group)]
        if found:
            means = [np.nanmean([run[key] for run in found]) for key in keys]
            rows.append([f"{name} {group}", *(f"{mean:.3g}" for mean in means)])
    lines = [
        "# The same rows twice",
        "",
        "Jaccard index of the pairs of two networks, and of what ",
    ]
    lines[-1] += "is drawn (arrows and lines): with other half samples and chains, and without a "
    lines[-1] += "twentieth of the subjects. Beside it how well complementary halves of the rows "
    lines[-1] += "agree, as every report says. Means over two repeats."
    return [*lines, "", *table(["", *keys], rows)]


STUDIES = {
    "halves": (halves, SPLITS, halves_lines, "replication"),
    "same-rows": (same_rows, range(2), same_rows_lines, "replication_same_rows"),
    "posterior": (posterior, SPLITS[:5], posterior_lines, "replication_posterior"),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", choices=STUDIES, default="halves")
    parser.add_argument("--tables", nargs="+", help="names of tables; by default all")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    if data_folder() is None:
        raise SystemExit("the real tables are not here: set SGBN_DATA to their folder.")
    function, numbers, lines, file = STUDIES[arguments.study]
    kept = arguments.out / f"{file}.json"
    runs = json.loads(kept.read_text())["runs"] if kept.exists() else []
    number = "number" if arguments.study == "same-rows" else "split"
    done = {(run["table"], run["group"], run[number]) for run in runs}
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], text=True).strip()
    if {run["commit"] for run in runs} - {commit}:
        raise SystemExit(f"{kept} has runs of another commit. Move it, or check that one out.")
    for name, group in TABLES:
        if arguments.tables and name not in arguments.tables:
            continue
        if arguments.study != "halves" and (group == ALL or name == "simulated"):
            continue
        for k in numbers:
            if (name, group, k) not in done:
                runs.append(function(name, group, k) | {"commit": commit})
                words = ["benchmarks/replication.py", "--study", arguments.study]
                write(arguments.out, file, {"seed": SEED, "runs": runs}, lines(runs), words)


if __name__ == "__main__":
    main()
