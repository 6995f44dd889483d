"""Test whether the tests of groups with time series hold their level, and what they find.

python benchmarks/series_tests.py               # writes benchmarks/results/series_tests.json, .md
python benchmarks/series_tests.py --cohorts 20  # fewer cohorts of each setting

Finished cohorts are kept in series_tests_runs beside the results: a second start runs only missing
cohorts.
"""

import re
import warnings
from dataclasses import asdict, dataclass

import numpy as np
from output import main, number, select, table
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

from sgbn.cohort.series import SeriesCohort
from sgbn.cohort.simulate_series import simulate_series
from sgbn.inference.power import wilson
from sgbn.inference.series_differences import TESTED_PENALTY, series_differences
from sgbn.runs.study import Study

SEED, PENALTY_SEED = 21, 1021  # the penalty was chosen on other cohorts
NAME = "series_tests"
VOLUMES, CHANGED = (150, 300), 10  # range of a subject's volumes, number of changed edges
SHORT_VOLUMES, LONG_VOLUMES = 100, 300  # if the groups differ in the number of volumes
NULL_REGIONS, POWER_REGIONS = 25, 40  # regions if nothing differs, and if edges differ
HETEROGENEITY = 0.1  # standard deviation of a weight between subjects; 0.11 in ABIDE's controls
NEW_WEIGHTS = 0.05, 0.25  # range for edges that only patients have; the median of ABIDE is near 0.2
# The smallest p is 1 / 200, and 1 / 100 if all volumes are rows.
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


@dataclass(frozen=True)
class Setting:
    """Subjects per group, what differs, what is held fixed, and which tests are done.

    `changed` is the number of edges that are lost, weaker or stronger in patients, and `new` the
    number of edges that only patients have. With `moves`, motion changes weights and is larger in
    patients. `held` says in which form motion is a covariate: "", "raw" or "log".
    """

    n: int | tuple[int, int]
    changed: int = 0
    new: int = 0
    moves: bool = False
    held: str = ""
    regions: int = NULL_REGIONS
    penalties: tuple[float, ...] = ()
    peers: bool = False
    stacked: bool = False
    seed: int = SEED


@dataclass(frozen=True)
class UnequalVolumes(Setting):
    """A setting in which `volumes` are the numbers of volumes of controls and of patients.

    `n` has the number of subjects of both groups.
    """

    volumes: tuple[int, int] = (SHORT_VOLUMES, LONG_VOLUMES)


NULLS = {f"{n} per group": Setting(n) for n in (30, 60)}
MOVING = {
    f"{n} per group, motion differs, log FD held fixed": Setting(n, moves=True, held="log")
    for n in (30, 60)
}
AGAINST = f"{SHORT_VOLUMES} volumes against {LONG_VOLUMES}"
UNEQUAL = {
    f"{AGAINST}, {sizes[0]} against {sizes[1]} subjects": UnequalVolumes(sizes)
    for sizes in ((12, 48), (30, 30))
}
BROKEN = {
    "60 per group, motion differs, FD held fixed": Setting(60, moves=True, held="raw"),
    "60 per group, motion differs, not held fixed": Setting(60, moves=True),
}
STACKED = {"30 per group, volumes as subjects": Setting(30, stacked=True)}
KINDS = {"changed edges": (CHANGED, 0), "new edges": (0, CHANGED)}
POWER = {
    f"{n} per group, {kind}": Setting(n, *counts, regions=POWER_REGIONS, peers=True)
    for kind, counts in KINDS.items()
    for n in (30, 60)
}
TRIED = {
    f"30 per group, {kind}, other cohorts": Setting(
        30, *counts, regions=POWER_REGIONS, penalties=PENALTIES, seed=PENALTY_SEED
    )
    for kind, counts in KINDS.items()
}
PARTS = {  # part -> settings, and largest number of cohorts of each
    "penalty": (TRIED, 25),
    "power": (POWER, 20),
    "stacked": (STACKED, 20),
    "level": (NULLS | MOVING | UNEQUAL, 500),
    "broken": (BROKEN, 20),
}


def draw(setting, cohort):
    """Simulate one cohort. Return it, and the pairs of regions whose edge differs."""
    rng = np.random.default_rng([setting.seed, cohort])
    drawn = simulate_series(
        setting.n,
        rng,
        regions=setting.regions,
        n_volumes=LONG_VOLUMES if isinstance(setting, UnequalVolumes) else VOLUMES,
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
    """Keep the first volumes of each subject. Their number depends on the group."""
    kept = dict(zip(("control", "patient"), volumes, strict=True))
    series = [x[: kept[group]] for x, group in zip(drawn.series, drawn.group, strict=True)]
    return with_series(drawn, series)


def with_series(drawn, series):
    """Return the same subjects with other series."""
    return SeriesCohort.of(
        series, drawn.regions, drawn.ids, group=drawn.group, covariates=drawn.covariates
    )


def with_new_edges(drawn, count, rng):
    """Add edges that only patients have, into regions without children."""
    coef = drawn.networks["control"].coef
    # A change of such a region affects no other region, so that only the new edges differ.
    ends = np.flatnonzero(~coef.any(axis=1))
    free = [(i, j) for j in ends for i in np.flatnonzero(coef[:, j] == 0) if i not in ends]
    chosen = np.array(free)[rng.choice(len(free), count, replace=False)]
    weights = rng.uniform(*NEW_WEIGHTS, count) * rng.choice([-1, 1], count)
    series = []
    for x, group in zip(drawn.series, drawn.group, strict=True):
        # Weights are per standard deviation. Controls are scaled as well, so that scaling is not a
        # difference between the groups.
        scaled = (x - x.mean(axis=0)) / x.std(axis=0)
        changed = scaled.copy()
        if group == "patient":
            # New edges vary between subjects like the other edges.
            subject_weights = weights + HETEROGENEITY * rng.normal(size=count)
            for (i, j), weight in zip(chosen, subject_weights, strict=True):
                changed[:, j] += weight * scaled[:, i]
        series.append(changed)
    names = np.array(drawn.regions)
    return with_series(drawn, series), pairs_of(names[chosen].tolist(), drawn.regions)


def held_fixed(setting, cohort):
    """Return the covariates of the tests."""
    motion = cohort.covariates["mean_fd"]
    # Weights change with the logarithm of motion. Raw motion removes this effect only in part.
    return {"": {}, "raw": {"motion": motion}, "log": {"motion": np.log(motion)}}[setting.held]


def score(setting, cohort):
    """Return the figures of each method on one cohort."""
    drawn, truth = draw(setting, cohort)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        finds = finds_of(setting, drawn, cohort)
    return {
        "methods": np.array(list(finds)),
        "figures": np.array([figures(pairs, truth) for pairs in finds.values()]),
    }


def finds_of(setting, drawn, cohort):
    """Return the pairs that each method finds.

    A test that does not name pairs gives only whether it finds anything.
    """
    if setting.stacked:
        return {"stacked rows, family-wise": stacked_rows(drawn, STACKED_PERMUTATIONS)}
    fixed = held_fixed(setting, drawn)
    if setting.penalties:
        return {
            f"{method}, penalty {penalty:g}": pairs
            for penalty in setting.penalties
            for method, pairs in sgbn_finds(drawn, fixed, penalty).items()
            # Tests that do not name pairs have no recall.
            if pairs.ndim
        }
    finds = sgbn_finds(drawn, fixed, TESTED_PENALTY)
    # The 1 makes this stream differ from the stream of the rows.
    rng = np.random.default_rng([setting.seed, cohort, 1])
    for name, make in MATRICES.items() if setting.peers else ():
        matrices = make(drawn)
        finds[f"{name}, NBS"] = network_based_statistic(matrices, drawn, fixed, N_PERMUTATIONS, rng)
        finds[f"{name}, FDR"] = false_discoveries(matrices, drawn, fixed)
    return finds


def sgbn_finds(drawn, fixed, penalty):
    """Return the pairs that `series_differences` finds, and whether its other tests find any."""
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
    finds = {method: pairs_of(ends_of(rows), tests.regions) for method, rows in edges.items()}
    return finds | {f"SGBN, {name}": np.array(is_any) for name, is_any in any_of.items()}


def figures(pairs, truth):
    """Return four figures of the pairs that a method finds.

    They are whether anything is found, the number of found pairs, how many of these differ, and the
    number of pairs that differ.
    """
    # Some tests only say whether anything was found.
    if not pairs.ndim:
        return [float(pairs), np.nan, np.nan, np.nan]
    upper = np.triu(pairs, 1)
    return [upper.any(), upper.sum(), (upper & truth).sum(), np.triu(truth, 1).sum()]


def measure(given):
    """Run the cohorts that the folder does not have yet. Yield one row per setting and method."""
    for part in given.parts:
        settings, most = PARTS[part]
        for name, setting in settings.items():
            cohorts = range(min(most, given.cohorts))
            tasks = {f"{k:04d}": {"setting": setting, "cohort": k} for k in cohorts}
            folder = given.out / f"{NAME}_runs" / re.sub(r"[^a-z0-9]+", "-", name.lower())
            stored = Study(folder, given.workers).run(score, tasks, asdict(setting))
            results = list(stored.values())
            for k, method in enumerate(results[0]["methods"].tolist()):
                figures_of = np.array([result["figures"][k] for result in results])
                yield {"part": part, "setting": name, "method": method} | summary(figures_of)


def summary(by_cohort):
    """Return the counts of cohorts and finds and, if edges differ, recall and share of hits."""
    any_find, count, hits, differ = by_cohort.T
    row = {"cohorts": len(count), "with_a_find": int(any_find.sum()), "found": count.mean()}
    # If nothing differs, there is no recall.
    if not differ.any() or np.isnan(differ).any():
        return {name: value for name, value in row.items() if value == value}
    recall = hits / differ
    error = recall.std(ddof=1) / np.sqrt(len(recall))
    right = hits.sum() / max(count.sum(), 1)
    return row | {"recall": recall.mean(), "recall_error": error, "right": right}


def sections(rows):
    """Yield the lines of one section per part that was run."""
    for part, title in TITLES.items():
        of_part = select(rows, part=part)
        if not of_part:
            continue
        yield f"\n## {title}\n"
        if part in ("penalty", "power"):
            yield from table(
                ("setting", "method", "cohorts", "recall", "found", "of these changed edges"),
                [power_cells(row) for row in of_part if "recall" in row],
            )
        else:
            yield from table(
                ("setting", "method", "cohorts", "with a find", "share and 95 % interval"),
                [level_cells(row) for row in of_part if not row["method"].startswith(TESTED)],
            )


def slots(rows):
    return {"sections": list(sections(rows))}


def power_cells(row):
    """Return the cells of a row of recall."""
    reach = f"{row['recall']:.2f} ± {1.96 * row['recall_error']:.2f}"
    shown = f"{row['found']:.1f}", f"{row['right']:.2f}"
    return row["setting"], row["method"], row["cohorts"], reach, *shown


def level_cells(row):
    """Return the cells of a row of cohorts with a find, for settings in which nothing differs."""
    n, hits = row["cohorts"], row["with_a_find"]
    low, high = wilson(hits / n, n)
    share = f"{hits / n:.3f} ({low:.3f} to {high:.3f})"
    return row["setting"], row["method"], n, hits, share


if __name__ == "__main__":
    main(
        measure,
        slots,
        parts={"nargs": "+", "choices": PARTS, "default": list(PARTS)},
        cohorts=number(500, "largest number of cohorts per setting"),
        workers=number(1),
    )
