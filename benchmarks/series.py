"""Networks from time series: known truth, halves of real subjects, and CPU beside IMaGES.

python benchmarks/series.py --study netsim     # needs truth/netsim (SGBN_DATA)
python benchmarks/series.py --study harder     # simulated: what breaks
python benchmarks/series.py --study halves     # needs timeseries/abide_nyu_cc200.npz
python benchmarks/series.py --study speed      # needs pip install ".[peers]" as well
python benchmarks/series.py --study effective  # simulated: what filtered volumes are worth
python benchmarks/series.py --study cost       # a whole comparison of ABIDE NYU, two processes

All settings are the defaults. The length of the search was chosen by its scores on ABIDE, which see
no truth and no group; nothing else was tuned on these data.
Regions of ABIDE are every third (60) or all (200) of the CC200 atlas; subjects with an empty region
are left out.
"""

import resource
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from output import means_of, options, real_data, select, table, timed, write
from series_effective import COEFFICIENT, REGIONS, TR, effective_runs

from sgbn import (
    SGBN,
    SeriesCohort,
    SeriesSGBN,
    compare,
    consistent_extension,
    read_series,
    simulate_series,
    subject_moments,
)
from sgbn.exceptions import DataWarning
from sgbn.search.subjects import SubjectsProblem
from sgbn.structure.ensemble.splits import deal_rows
from sgbn.structure.series.subject_moments import filtered_series

SEED = 23
DRAWS, DRAWN_SUBJECTS = 20, 5  # small samples of NetSim
SPLITS = {60: 5, 200: 2}  # of the controls; one of 200 regions takes ten minutes
SIMULATED = 200  # subjects of each filter
SIMS = ("sim1", "sim2")
MAX_IMAGES_REGIONS = 60  # IMaGES takes more than ten minutes for 200


def pairs_and_arrows(P, truth):
    """Precision and recall of pairs, and how many arrows there are and are right."""
    joined, true_pairs = P | P.T, truth | truth.T
    arrows = P & ~P.T
    # Both counts hold each pair twice: shares are right.
    hits = (joined & true_pairs).sum()
    return {
        "precision": float(hits / max(joined.sum(), 1)),
        "recall": float(hits / true_pairs.sum()),
        "arrows": int(arrows.sum()),
        "right": int((arrows & truth).sum()),
    }


def read_netsim(name):
    """Series of 50 subjects, and the graph that they share."""
    with np.load(real_data() / "truth" / "netsim" / f"{name}.npz") as arrays:
        # An edge of all subjects; what NetSim has on the diagonal is no edge.
        truth = (arrays["net"] != 0).all(axis=0)
        np.fill_diagonal(truth, False)
        return list(arrays["ts"]), truth


def stacked(series):
    """All rows, standardised in each subject, as if they were independent."""
    rows = np.concatenate([(x - x.mean(axis=0)) / x.std(axis=0) for x in series])
    return SGBN(outliers="keep").fit(rows).cpdag_


def stacked_filtered(series):
    """Do the same after each subject's filter."""
    rows = np.concatenate([subject.rows for subject in filtered_series(SeriesCohort.of(series))])
    return SGBN(outliers="keep").fit(rows).cpdag_


def supported(series, **options):
    """Supported arrows, other edges as lines."""
    return SeriesSGBN(random_state=SEED, **options).fit(series).drawn_graph_


def common(series, **options):
    """Return the equivalence class of the common graph."""
    # Without half samples, which only supported arrows need.
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
    """Lines of a table, numbers with three digits."""
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
    """Break assumptions one at a time: 20 regions, 50 subjects, 200 volumes."""
    runs = []
    for name, changes in HARDER.items():
        figures = []
        for seed in range(SEEDS):
            given = {"n_per_group": 25, "regions": 20, "n_volumes": 200} | changes
            cohort = simulate_series(random_state=seed, n_changed=0, **given)  # groups alike
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


def effective(_):
    """Compare the effective number of volumes with the spread of correlations."""
    return effective_runs(SEED, SIMULATED)


def read_abide(m):
    """Series of subjects without an empty region, and who is a control."""
    folder = real_data() / "timeseries"
    about = pd.read_csv(folder / "abide_nyu_participants.csv", dtype={"subject_id": str})
    group = about.set_index("subject_id")["group"]
    with np.load(folder / "abide_nyu_cc200.npz") as arrays:
        whole = {name: arrays[name].astype(float) for name in arrays}
    series = {name: x[:, :: 200 // m][:, :m] for name, x in whole.items()}
    # An empty region has no correlation with any other.
    used = [name for name, x in series.items() if (x.std(axis=0) > 0).all()]
    return [series[name] for name in used], np.array([group[name] == "CTR" for name in used])


def halves(regions):
    """Two halves of the controls, each with a learner of its own."""
    runs = []
    for m in regions:
        series, is_control = read_abide(m)
        moments = subject_moments(series).take(is_control)
        for split in range(SPLITS[m]):
            rng = np.random.default_rng([SEED, split])
            part = deal_rows(rng, len(moments), 2)
            learners = [
                SeriesSGBN(n_pairs=25, random_state=SEED).fit_moments(moments.take(part == which))
                for which in range(2)
            ]
            runs.append({"regions": m, "split": split} | agreement(*learners))
            print(runs[-1], flush=True)
    return runs


def agreement(learner, other):
    """Return what comes back, each half taken as the first."""
    figures = []
    for first, second in ((learner, other), (other, learner)):
        joined = [(net.coef_ != 0) | (net.coef_ != 0).T for net in (first, second)]
        upper = np.triu(joined[0])
        # Joined in nearly all half samples.
        sure = upper & (first.adjacency_ >= 0.98)
        arrows = first.supported_ & joined[1]
        P = second.cpdag_
        # Arrows that both halves are sure of: the second may turn them.
        both = first.supported_ & (second.supported_ | second.supported_.T)
        again = second.supported_[both]
        figures.append(
            {
                "edges": int(upper.sum()),
                "pairs": float((joined[0] & joined[1]).sum() / np.mean([j.sum() for j in joined])),
                "sure": int(sure.sum()),
                "sure came back": float(joined[1][sure].mean()) if sure.any() else np.nan,
                "supported": int(first.supported_.sum()),
                "joined": int(arrows.sum()),
                "same": float((P & ~P.T)[arrows].mean()) if arrows.any() else np.nan,
                "reversed": float((P & ~P.T).T[arrows].mean()) if arrows.any() else np.nan,
                "both supported": int(both.sum()),
                "of these the same": float(again.mean()) if both.any() else np.nan,
            }
        )
    return means_of(figures)


def speed(regions):
    """Measure CPU of the common graph, beside IMaGES on the same filtered series of 60 regions."""
    sys.path.insert(0, str(Path(__file__).parent / "peers"))
    from adapters.tetrad import images

    images([np.random.default_rng(0).standard_normal((50, 4))] * 2)  # starts the virtual machine
    runs = []
    for m in regions:
        series, _ = read_abide(m)
        filtered = [subject.rows for subject in filtered_series(SeriesCohort.of(series))]
        moments = subject_moments(series)
        SeriesSGBN(n_pairs=0).fit_moments(moments.take(np.arange(2)))  # compiles
        # All, a half and a quarter of the subjects.
        for S in (43, 86, 172):
            part = moments.take(np.arange(S))
            learner, seconds = timed(partial(SeriesSGBN(n_pairs=0).fit_moments, part))
            run = {"regions": m, "subjects": S, "SeriesSGBN CPU s": seconds}
            run |= {"edges": learner.network_.n_edges, "score": learner.score_}
            if m <= MAX_IMAGES_REGIONS:
                P, peer_seconds = timed(partial(images, filtered[:S]))
                run |= {"IMaGES CPU s": peer_seconds, "ratio": peer_seconds / seconds}
                run |= {"edges of IMaGES": int((P | P.T).sum() // 2)}
                run |= {"score of IMaGES": score_of(part, P)}
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
        # Linux counts in kilobytes.
        run["GB of the main process"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        run |= {f"{name} s": seconds for name, seconds in comparison.seconds.items()}
        runs.append(run)
        print(run, flush=True)
    return runs


def abide_cohort(m):
    """Subjects with groups, age, sex and motion."""
    folder = real_data() / "timeseries"
    cohort = read_series(
        folder / "abide_nyu_cc200.npz",
        folder / "abide_nyu_participants.csv",
        group="group",
        covariates=["age", "sex", "mean_fd"],
        tr=2.0,
    )
    return cohort.subset(regions=cohort.regions[:: 200 // m][:m])


def score_of(moments, P):
    """Score of a member of a class, by the criterion of SeriesSGBN."""
    graph = consistent_extension(P)
    # Edges that IMaGES left undirected may have no DAG without a new collider.
    if graph is None:
        return float("nan")
    m = moments.m
    edges = ~np.eye(m, dtype=bool), np.zeros((m, m), bool)
    problem = SubjectsProblem.of_subjects(moments.R, moments.n, edges, 1.0, m - 1, moments.names)
    return problem.score(graph[np.ix_(problem.columns, problem.columns)].T)


STUDIES = {
    "netsim": netsim,
    "harder": harder,
    "effective": effective,
    "halves": halves,
    "speed": speed,
    "cost": cost,
}
COLUMNS = {  # of the tables; all that runs have, where none are named
    "netsim": ("data", "method", "precision", "recall", "arrows", "right"),
    "harder": (
        *("data", "edges", "precision", "recall", "arrows", "right / supported"),
        *("compelled", "right / compelled"),
    ),
}


def slots(study, runs):
    if study == "halves":  # means over the splits
        regions = dict.fromkeys(run["regions"] for run in runs)
        runs = [{"regions": m} | means_of(select(runs, regions=m)) for m in regions]
        runs = [{key: run[key] for key in run if key != "split"} for run in runs]
    figures = rows_of(runs, COLUMNS.get(study, runs[0]))
    sizes = {"coefficient": COEFFICIENT, "regions": REGIONS, "tr": TR, "simulated": SIMULATED}
    return sizes | {"seeds": SEEDS, "figures": figures}


def main():
    parser = options(__doc__)
    parser.add_argument("--study", choices=STUDIES, required=True)
    parser.add_argument("--regions", type=int, nargs="+", choices=(60, 200), default=(60, 200))
    given = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)
    runs = STUDIES[given.study](given.regions)
    results = {"seed": SEED, "runs": runs}
    write(given.out, f"series-{given.study}", results, slots(given.study, runs))


if __name__ == "__main__":
    main()
