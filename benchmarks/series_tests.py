"""Whether the tests of groups with time series hold their level, and what they find.

python benchmarks/series_tests.py               # writes benchmarks/results/series_tests.json, .md
python benchmarks/series_tests.py --cohorts 20  # fewer cohorts of each setting

Finished cohorts are kept in series_tests_runs beside the results: a second start does only what is
missing.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import re
import sys
import warnings
from dataclasses import asdict, dataclass

import numpy as np
from output import RESULTS, write
from series_peers import (
    LEVEL,
    correlations,
    ends_of,
    false_discoveries,
    network_based_statistic,
    pairs_of,
    partial_correlations,
    stacked_rows,
)

from sgbn import simulate_series
from sgbn.experiments.markdown import table
from sgbn.inference import series_differences
from sgbn.inference.power import wilson
from sgbn.inference.series_differences import TESTED_PENALTY
from sgbn.runs import Study
from sgbn.series_cohort import SeriesCohort

SEED, PENALTY_SEED = 21, 1021  # the penalty was set on other cohorts
NAME = "series_tests"
VOLUMES, CHANGED = (150, 300), 10
SHORT, LONG = 100, 300  # volumes, where groups differ in them
FEW, MANY = 25, 40  # regions, of nulls and of what is to be found
HETEROGENEITY = 0.1  # standard deviation of a weight between subjects; 0.11 in ABIDE's controls
NEW_WEIGHTS = 0.05, 0.25  # of edges that only patients have; in ABIDE the middle one is about 0.2
N_PERMUTATIONS, STACKED_PERMUTATIONS = 199, 99
MOTION_GAP, MOTION_EFFECT = 0.8, 0.15
PENALTIES = (0.25, 0.35, 0.5, 1.0)
MATRICES = {"correlations": correlations, "partial correlations": partial_correlations}
TESTS = {
    "SGBN, family-wise": "p_fwer",
    "SGBN, FDR": "q",
    "SGBN, family-wise, both ways": "p_fwer_both",
    "SGBN, FDR, both ways": "q_both",
}
TESTED = "SGBN, edges that are tested"
TITLES = {
    "level": "Nothing differs: cohorts in which anything is found",
    "broken": "Motion differs and is not held fixed as it acts",
    "stacked": "Volumes of all subjects as if each were a subject",
    "power": "Recall of edges that differ",
    "penalty": "Recall by the penalty of the graph that is tested",
}
INTRODUCTION = f"""# Tests of groups with time series

Series of `simulate_series`: {MANY} regions ({FEW} where nothing differs), {VOLUMES[0]} to
{VOLUMES[1]} volumes per subject, autocorrelations as in ABIDE (NYU), weights that vary between
subjects (standard deviation {HETEROGENEITY}; 0.11 in ABIDE's controls).
{N_PERMUTATIONS} permutations, level {LEVEL:.0%}.

"Changed edges": {CHANGED} edges are lost, halved or stronger in patients. "New edges": {CHANGED}
edges of weight {NEW_WEIGHTS[0]} to {NEW_WEIGHTS[1]}, of either sign, that only patients have.
"Motion differs": patients' log mean FD is larger by {MOTION_GAP} standard deviations, one of which
changes each weight by {MOTION_EFFECT:.0%} of itself; no weight differs for another reason. FDR:
Benjamini and Hochberg at 5 %. NBS: components of pairs with t beyond 3, by their size. "Of these
changed edges" is the share of all finds that are pairs whose edge differs; where an edge differs,
correlations of other pairs truly differ as well, so that for them the rest is no error. "{SHORT}
volumes against {LONG}": all controls have the one, all patients the other."""


@dataclass(frozen=True)
class Setting:
    """Subjects per group, what differs, what is held fixed, and which tests are done.

    `changed` edges are lost, weaker or stronger in patients; `new` ones only patients have. Motion
    that `moves` weights is larger in patients. `held` is the form in which it is a covariate.
    """

    n: int | tuple[int, int]
    changed: int = 0
    new: int = 0
    moves: bool = False
    held: str = ""
    regions: int = FEW
    penalties: tuple[float, ...] = ()
    peers: bool = False
    stacked: bool = False
    seed: int = SEED


@dataclass(frozen=True)
class UnequalVolumes(Setting):
    """Volumes of each control and of each patient; `n` holds the subjects of both groups."""

    volumes: tuple[int, int] = (SHORT, LONG)


NULLS = {f"{n} per group": Setting(n) for n in (30, 60)}
MOVING = {
    f"{n} per group, motion differs, log FD held fixed": Setting(n, moves=True, held="log")
    for n in (30, 60)
}
UNEQUAL = {
    f"{SHORT} volumes against {LONG}, {controls} against {patients} subjects": UnequalVolumes(
        (controls, patients)
    )
    for controls, patients in ((12, 48), (30, 30))
}
BROKEN = {
    "60 per group, motion differs, FD held fixed": Setting(60, moves=True, held="raw"),
    "60 per group, motion differs, not held fixed": Setting(60, moves=True),
}
STACKED = {"30 per group, volumes as subjects": Setting(30, stacked=True)}
KINDS = {"changed edges": (CHANGED, 0), "new edges": (0, CHANGED)}
POWER = {
    f"{n} per group, {kind}": Setting(n, *counts, regions=MANY, peers=True)
    for kind, counts in KINDS.items()
    for n in (30, 60)
}
TRIED = {
    f"30 per group, {kind}, other cohorts": Setting(
        30, *counts, regions=MANY, penalties=PENALTIES, seed=PENALTY_SEED
    )
    for kind, counts in KINDS.items()
}
PARTS = {  # settings, and cohorts of each
    "penalty": (TRIED, 25),
    "power": (POWER, 20),
    "stacked": (STACKED, 20),
    "level": (NULLS | MOVING | UNEQUAL, 500),
    "broken": (BROKEN, 20),
}


def draw(setting, cohort):
    """Simulate one cohort, and give the pairs of regions whose edge differs between the groups."""
    rng = np.random.default_rng([setting.seed, cohort])
    drawn = simulate_series(
        setting.n,
        rng,
        regions=setting.regions,
        n_volumes=LONG if isinstance(setting, UnequalVolumes) else VOLUMES,
        n_changed=setting.changed,
        heterogeneity=HETEROGENEITY,
        motion_gap=MOTION_GAP * setting.moves,
        motion_effect=MOTION_EFFECT * setting.moves,
    )
    if setting.new:
        return with_new_edges(drawn, setting.new, rng)
    if isinstance(setting, UnequalVolumes):
        return cut(drawn, setting.volumes), pairs_of((), drawn.regions)
    return drawn, pairs_of(drawn.changed["patient"], drawn.regions)


def cut(drawn, volumes):
    """Keep the first volumes of each subject, as many as its group has."""
    kept = dict(zip(("control", "patient"), volumes, strict=True))
    series = [own[: kept[group]] for own, group in zip(drawn.series, drawn.group, strict=True)]
    return SeriesCohort.of(
        series, drawn.regions, drawn.ids, group=drawn.group, covariates=drawn.covariates
    )


def with_new_edges(drawn, count, rng):
    """Add edges that only patients have, into regions that drive no other."""
    coef = drawn.networks["control"].coef
    ends = np.flatnonzero(~coef.any(axis=1))
    free = [(i, j) for j in ends for i in np.flatnonzero(coef[:, j] == 0) if i not in ends]
    chosen = np.array(free)[rng.choice(len(free), count, replace=False)]
    weights = rng.uniform(*NEW_WEIGHTS, count) * rng.choice([-1, 1], count)
    series = []
    for one, group in zip(drawn.series, drawn.group, strict=True):
        scaled = (one - one.mean(axis=0)) / one.std(axis=0)
        own = scaled.copy()
        if group == "patient":
            subject_weights = weights + HETEROGENEITY * rng.normal(size=count)
            for (i, j), weight in zip(chosen, subject_weights, strict=True):
                own[:, j] += weight * scaled[:, i]
        series.append(own)
    cohort = SeriesCohort.of(
        series, drawn.regions, drawn.ids, group=drawn.group, covariates=drawn.covariates
    )
    names = np.array(drawn.regions)
    return cohort, pairs_of(names[chosen].tolist(), drawn.regions)


def held_fixed(setting, cohort):
    """Covariates of the tests."""
    motion = cohort.covariates["mean_fd"]
    return {"": {}, "raw": {"motion": motion}, "log": {"motion": np.log(motion)}}[setting.held]


def score(setting, cohort):
    """Figures of each method on one cohort."""
    drawn, truth = draw(setting, cohort)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = finds_of(setting, drawn, cohort)
    return {
        "methods": np.array(list(found)),
        "figures": np.array([figures(pairs, truth) for pairs in found.values()]),
    }


def finds_of(setting, drawn, cohort):
    """Pairs that each method finds; a test that names no pairs gives whether it finds anything."""
    if setting.stacked:
        return {"stacked rows, family-wise": stacked_rows(drawn, STACKED_PERMUTATIONS)}
    fixed = held_fixed(setting, drawn)
    if setting.penalties:
        return {
            f"{method}, penalty {penalty:g}": pairs
            for penalty in setting.penalties
            for method, pairs in own_finds(drawn, fixed, penalty).items()
            if pairs.ndim
        }
    found = own_finds(drawn, fixed, TESTED_PENALTY)
    rng = np.random.default_rng([setting.seed, cohort, 1])
    for name, make in MATRICES.items() if setting.peers else ():
        matrices = make(drawn)
        found[f"{name}, NBS"] = network_based_statistic(matrices, drawn, fixed, N_PERMUTATIONS, rng)
        found[f"{name}, FDR"] = false_discoveries(matrices, drawn, fixed)
    return found


def own_finds(drawn, fixed, penalty):
    """Pairs that `series_differences` finds, and whether its other tests find anything."""
    tests = series_differences(
        drawn, covariates=fixed, penalty=penalty, n_permutations=N_PERMUTATIONS
    )
    edges = {method: tests.significant(LEVEL, by=by) for method, by in TESTS.items()} | {
        TESTED: tests.edges
    }
    any_of = {
        "networks as a whole": tests.global_p <= LEVEL,
        "networks as a whole, both ways": tests.global_p_both <= LEVEL,
        "components": any(p <= LEVEL for _, p, _ in tests.components),
        "hubs": (tests.hubs["p_fwer"] <= LEVEL).any(),
        "lobes": (tests.lobes["p_fwer"] <= LEVEL).any(),
    }
    found = {method: pairs_of(ends_of(own), tests.regions) for method, own in edges.items()}
    return found | {f"SGBN, {name}": np.array(finds) for name, finds in any_of.items()}


def figures(pairs, truth):
    """Whether anything is found, how many pairs, how many that differ, and of how many."""
    if not pairs.ndim:
        return [float(pairs), np.nan, np.nan, np.nan]
    upper = np.triu(pairs, 1)
    return [upper.any(), upper.sum(), (upper & truth).sum(), np.triu(truth, 1).sum()]


def run(folder, parts, cohorts, n_jobs):
    """Run what the folder does not hold yet; yield one row per setting and method."""
    for part in parts:
        settings, most = PARTS[part]
        for name, setting in settings.items():
            tasks = {
                f"{k:04d}": {"setting": setting, "cohort": k} for k in range(min(most, cohorts))
            }
            kept = Study(folder / re.sub(r"[^a-z0-9]+", "-", name.lower()), n_jobs)
            results = list(kept.run(score, tasks, asdict(setting)).values())
            for k, method in enumerate(results[0]["methods"].tolist()):
                own = np.array([result["figures"][k] for result in results])
                yield {"part": part, "setting": name, "method": method} | summary(own)


def summary(own):
    """Cohorts with a find, of how many; mean recall and its error; share of finds that differ."""
    count, differ = own[:, 1], own[:, 3]
    row = {"cohorts": len(own), "with_a_find": int(own[:, 0].sum()), "found": count.mean()}
    if not differ.any() or np.isnan(differ).any():
        return {name: value for name, value in row.items() if value == value}
    recall = own[:, 2] / differ
    error = recall.std(ddof=1) / np.sqrt(len(own))
    right = own[:, 2].sum() / max(count.sum(), 1)
    return row | {"recall": recall.mean(), "recall_error": error, "right": right}


def lines_of(rows):
    """Yield the lines of the report."""
    yield INTRODUCTION
    for part, title in TITLES.items():
        own = [row for row in rows if row["part"] == part]
        if not own:
            continue
        yield f"\n## {title}\n"
        if part in ("penalty", "power"):
            yield from table(
                ("setting", "method", "cohorts", "recall", "found", "of these changed edges"),
                [power_cells(row) for row in own if "recall" in row],
            )
        else:
            yield from table(
                ("setting", "method", "cohorts", "with a find", "share and 95 % interval"),
                [level_cells(row) for row in own if not row["method"].startswith(TESTED)],
            )


def power_cells(row):
    """Cells of a row of recall."""
    reach = f"{row['recall']:.2f} ± {1.96 * row['recall_error']:.2f}"
    shown = f"{row['found']:.1f}", f"{row['right']:.2f}"
    return row["setting"], row["method"], row["cohorts"], reach, *shown


def level_cells(row):
    """Cells of a row of cohorts with a find, where there is nothing to be found."""
    n, hits = row["cohorts"], row["with_a_find"]
    low, high = wilson(hits / n, n)
    share = f"{hits / n:.3f} ({low:.3f} to {high:.3f})"
    return row["setting"], row["method"], n, hits, share


def main():
    """Run the parts that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--cohorts", type=int, default=500, help="most of each setting")
    parser.add_argument("--workers", type=int, default=1)
    asked = parser.parse_args()
    folder = RESULTS / f"{NAME}_runs"
    rows = list(run(folder, asked.parts, asked.cohorts, asked.workers))
    words = [f"benchmarks/{NAME}.py", *sys.argv[1:]]
    write(RESULTS, NAME, {"seed": SEED, "runs": rows}, list(lines_of(rows)), words)


if __name__ == "__main__":
    main()
