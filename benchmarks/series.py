"""Test networks from time series on known truth, and measure the cost of a comparison.

python benchmarks/series.py --study netsim     # needs truth/netsim (SGBN_DATA)
python benchmarks/series.py --study harder     # simulated: violations of the assumptions
python benchmarks/series.py --study effective  # simulated: the effective number of volumes
python benchmarks/series.py --study cost       # ABIDE NYU (timeseries of SGBN_DATA), two processes

All settings are the defaults. The length of the search was chosen by its scores on ABIDE, without
any truth or group. Nothing else was tuned on these data. The regions of ABIDE are every third (60)
or all (200) of the CC200 atlas.
"""

import resource
import time
import warnings
from functools import partial

import numpy as np
from output import constants_of, means_of, options, real_data, table, write
from series_effective import effective_runs

from sgbn import compare
from sgbn.cohort.series import SeriesCohort, filtered_series
from sgbn.cohort.simulate_series import simulate_series
from sgbn.core.problems import DataWarning
from sgbn.learn.series import SeriesSGBN
from sgbn.learn.sgbn import SGBN
from sgbn.read.series import read_series

SEED = 23
DRAWS, DRAWN_SUBJECTS = 20, 5  # number and size of small samples of NetSim
SIMULATED = 200  # subjects for each filter
SIMS = ("sim1", "sim2")


def pairs_and_arrows(P, truth):
    """Return precision and recall of pairs, the number of arrows, and how many are right."""
    joined, true_pairs = P | P.T, truth | truth.T
    arrows = P & ~P.T
    # All counts have each pair twice, so that shares are right.
    hits = (joined & true_pairs).sum()
    return {
        "precision": float(hits / max(joined.sum(), 1)),
        "recall": float(hits / true_pairs.sum()),
        "arrows": int(arrows.sum()),
        "right": int((arrows & truth).sum()),
    }


def read_netsim(name):
    """Return the series of 50 subjects, and their common graph."""
    with np.load(real_data() / "truth" / "netsim" / f"{name}.npz") as arrays:
        # An edge must be in all subjects. NetSim's entries on the diagonal are not edges.
        truth = (arrays["net"] != 0).all(axis=0)
        np.fill_diagonal(truth, False)
        return list(arrays["ts"]), truth


def stacked(series):
    """Learn from all rows, standardised in each subject, as if they were independent."""
    rows = np.concatenate([(x - x.mean(axis=0)) / x.std(axis=0) for x in series])
    return SGBN(outliers="keep").fit(rows).cpdag_


def stacked_filtered(series):
    """Learn from all rows after the filter of each subject, as if they were independent."""
    rows = np.concatenate([subject.rows for subject in filtered_series(SeriesCohort.of(series))])
    return SGBN(outliers="keep").fit(rows).cpdag_


def supported(series, **options):
    """Return the supported arrows, and all other edges as lines."""
    return SeriesSGBN(random_state=SEED, **options).fit(series).drawn_graph_


def common(series, **options):
    """Return the equivalence class of the common graph."""
    # Half samples are left out, because only supported arrows need them.
    return SeriesSGBN(n_pairs=0, random_state=SEED, **options).fit(series).cpdag_


METHODS = {
    "all rows stacked, SGBN": stacked,
    "the same, each subject filtered": stacked_filtered,
    "SeriesSGBN, supported arrows": supported,
    "SeriesSGBN, compelled arrows": common,
    "the same, penalty 0.5": partial(common, penalty=0.5),
    "the same, penalty 2": partial(common, penalty=2.0),
    "the same, residuals orient": partial(common, non_gaussian="orient"),
}


def netsim(_):
    runs = []
    for name in SIMS:
        series, truth = read_netsim(name)
        for method, learn in METHODS.items():
            runs.append({"data": name, "method": method} | pairs_and_arrows(learn(series), truth))
        alone = [pairs_and_arrows(common([subject]), truth) for subject in series]
        runs.append({"data": name, "method": "one subject at a time"} | means_of(alone))
        rng = np.random.default_rng(SEED)
        # NetSim has 50 subjects.
        samples = [rng.choice(50, DRAWN_SUBJECTS, replace=False) for _ in range(DRAWS)]
        few = [pairs_and_arrows(common([series[s] for s in drawn]), truth) for drawn in samples]
        method = f"{DRAWN_SUBJECTS} subjects, mean of {DRAWS}"
        runs.append({"data": name, "method": method} | means_of(few))
    return runs


def rows_of(runs, names):
    """Return the lines of a table, with three digits for numbers below 1000."""
    return table(list(names), [[digits(run.get(name, "")) for name in names] for run in runs])


def digits(cell):
    return f"{cell:.3g}" if isinstance(cell, float) and abs(cell) < 1000 else str(cell)


HARDER = {
    "as ABIDE (autocorrelation; weights vary by 0.1)": {},
    "no noise of the measurement": {"noise": 0.0},
    "weights vary by 0.2": {"heterogeneity": 0.2},
    "weights vary by 0.3": {"heterogeneity": 0.3},
    "three times the noise of the measurement": {"noise": 0.3},
    "delays differ by 0.5 s": {"delay_sd": 0.5},
    "delays differ by 1 s, all is smoothed": {"delay_sd": 1.0, "smoothed": 1.0},
    "two unmeasured inputs": {"n_hidden": 2},
    "five unmeasured inputs": {"n_hidden": 5},
    "100 volumes": {"n_volumes": 100},
    "10 subjects": {"n_per_group": 5},
}
SEEDS = 10


def harder(_):
    """Violate one assumption at a time, with 20 regions, 50 subjects and 200 volumes."""
    runs = []
    for name, changes in HARDER.items():
        figures = []
        for seed in range(SEEDS):
            given = {"n_per_group": 25, "regions": 20, "n_volumes": 200} | changes
            # With n_changed=0, the groups have the same network.
            cohort = simulate_series(random_state=seed, n_changed=0, **given)
            truth = cohort.networks["control"].coef != 0
            learner = SeriesSGBN(n_pairs=15, random_state=SEED).fit(cohort)
            drawn = pairs_and_arrows(learner.drawn_graph_, truth)
            compelled = pairs_and_arrows(learner.cpdag_, truth)
            drawn |= {"compelled": compelled["arrows"], "compelled right": compelled["right"]}
            figures.append(drawn | {"edges": int(truth.sum())})
        run = {"data": name} | means_of(figures)
        run["right / supported"] = run["right"] / max(run["arrows"], 1e-9)
        run["right / compelled"] = run["compelled right"] / max(run["compelled"], 1e-9)
        runs.append(run)
        print(run, flush=True)
    return runs


def cost(regions):
    """Time whole comparisons of ABIDE NYU at default settings, with two processes."""
    runs = []
    for m in regions:
        cohort = abide_cohort(m)
        begin = time.perf_counter()
        comparison = compare(cohort, n_jobs=2)
        run = {"regions": m, "wall s": time.perf_counter() - begin}
        # The unit of ru_maxrss is a kilobyte on Linux.
        run["GB of the main process"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        run |= {f"{name} s": seconds for name, seconds in comparison.seconds.items()}
        runs.append(run)
        print(run, flush=True)
    return runs


def abide_cohort(m):
    """Return the subjects of ABIDE NYU with groups, age, sex and motion, and m regions."""
    folder = real_data() / "timeseries"
    cohort = read_series(
        folder / "abide_nyu_cc200.npz",
        folder / "abide_nyu_participants.csv",
        group="group",
        covariates=["age", "sex", "mean_fd"],
        tr=2.0,
    )
    return cohort.subset(regions=cohort.regions[:: 200 // m][:m])


STUDIES = {
    "netsim": netsim,
    "harder": harder,
    "effective": lambda _: effective_runs(SEED, SIMULATED),
    "cost": cost,
}
COLUMNS = {  # study -> columns of its table; other studies show all fields of their runs
    "netsim": ("data", "method", "precision", "recall", "arrows", "right"),
    "harder": (
        *("data", "edges", "precision", "recall", "arrows", "right / supported"),
        *("compelled", "right / compelled"),
    ),
}


def slots(study, runs):
    # The text of the study "effective" names constants of series_effective.py.
    sizes = constants_of(effective_runs)
    return sizes | {"figures": rows_of(runs, COLUMNS.get(study, runs[0]))}


def main():
    given = options(
        __doc__,
        study={"choices": STUDIES, "required": True},
        regions={"type": int, "nargs": "+", "choices": (60, 200), "default": (60, 200)},
    ).parse_args()
    warnings.simplefilter("ignore", DataWarning)
    runs = STUDIES[given.study](given.regions)
    filling = constants_of(main) | slots(given.study, runs)
    write(given.out, f"series-{given.study}", {"seed": SEED, "runs": runs}, filling)


if __name__ == "__main__":
    main()
