"""Measure when `compare_models` warns of hidden factors, and what it says of real tables.

python benchmarks/factors.py     # writes benchmarks/results/factors.json and .md

``--only`` repeats one part and keeps the stored results of the other parts.
"""

import warnings

import numpy as np
from output import number, options, stored_runs, timed, write_parts

import sgbn
from sgbn.cohort.rows import residual_rows
from sgbn.cohort.simulate import NETWORKS, load_network, simulate_sem
from sgbn.core.equivalence import skeleton
from sgbn.inference.models import compare_models, edges_beside_factors
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.sgbn import SGBN
from sgbn.paper.experiments.experiment import data_folder

SEED = 23
N, M = 200, 40
OTHER_SIZES = ((60, 40), (1000, 20), (200, 15))
N_OTHER = 10  # data sets of each other size
ARROWS = ((1, 200, 30), (2, 500, 30), (1, 1000, 20))  # numbers of factors, rows and columns
N_ARROWS = 5  # data sets of each; few, because each fit is an ensemble
TABLES = {
    "ABIDE controls": ("abide1_asd", "CTR", ["fiq", "eTIV"]),
    "IXI YOUNG": ("ixi_age", "YOUNG", ["eTIV", "euler_mean"]),
    "IXI MID": ("ixi_age", "MID", ["eTIV", "euler_mean"]),
    "IXI OLD": ("ixi_age", "OLD", ["eTIV", "euler_mean"]),
    "COBRE controls": ("cobre_scz", "CTR", ["eTIV"]),
}
KEYS = ("network", "factors", "lasso", "independence")
SHARES = ("true_stay", "false_stay")


def factor_rows(k, n, m, which):
    """Draw rows from k hidden factors. No column acts on another."""
    # The second number of the seed is 0 here, and 1 for networks.
    rng = np.random.default_rng([SEED, 0, k, n, m, which])
    loadings = rng.uniform(0.5, 1, (k, m)) * rng.choice([-1.0, 1.0], (k, m))
    return rng.standard_normal((n, k)) @ loadings + rng.standard_normal((n, m))


def dag_rows(network, which):
    """Return standardised, shuffled columns of one of the nine networks, and the true pairs."""
    rng = np.random.default_rng([SEED, 1, NETWORKS.index(network), which])
    X, truth = simulate_sem(load_network(network), N, random_state=rng)
    order = rng.permutation(X.shape[1])
    X = ((X - X.mean(axis=0)) / X.std(axis=0))[:, order]
    return X, skeleton(truth.coef)[np.ix_(order, order)]


def measure(X, true_pairs=None):
    """Return the verdict on one data set, likelihoods, and the shares of edges that stay."""
    compared = compare_models(X)
    learned = SGBN().fit(X)
    stays = edges_beside_factors(X, learned, compared.leading_factors).stays
    # Without true pairs every edge is false, because only factors made the rows.
    true = np.zeros(len(stays), bool)
    if true_pairs is not None:
        true = true_pairs[learned.coef_ != 0]
    return [
        compared.edges_may_be_shadows,
        *compared.table.log_likelihood,
        compared.n_factors,
        stays[true].mean() if true.any() else np.nan,
        stays[~true].mean() if (~true).any() else np.nan,
    ]


def summary(name, n, m, results):
    results = np.array(results, float)
    with warnings.catch_warnings():
        # numpy warns if no data set has a false edge.
        warnings.simplefilter("ignore", RuntimeWarning)
        means = np.nanmean(results, axis=0)
    fields = ("warned", *KEYS, "n_factors", *SHARES)
    values = {
        field: None if np.isnan(mean) else round(float(mean), 4)
        for field, mean in zip(fields, means, strict=True)
    }
    print(name, n, m, values, flush=True)
    return {"data": name, "n": n, "m": m, "data_sets": len(results)} | values


def simulated(n_factor_sets, n_dag_sets):
    runs = []
    for n, m in ((N, M), *OTHER_SIZES):
        count = n_factor_sets if (n, m) == (N, M) else N_OTHER
        for k in (1, 2, 3):
            results = [measure(factor_rows(k, n, m, which)) for which in range(count)]
            runs.append(summary(f"{k} hidden factor{'s' if k > 1 else ''}", n, m, results))
    for network in NETWORKS:
        drawn = [dag_rows(network, which) for which in range(n_dag_sets)]
        results = [measure(X, true_pairs) for X, true_pairs in drawn]
        runs.append(summary(network, N, drawn[0][0].shape[1], results))
    return runs


def arrows(k, n, m):
    """Count the arrows that half samples support, although no column acts on another."""
    counts = []
    for which in range(N_ARROWS):
        learner = SGBNEnsemble().fit(factor_rows(k, n, m, which))
        counts.append([int(learner.supported_.sum()), int(np.count_nonzero(learner.coef_))])
    print(k, n, m, counts, flush=True)
    return {"data": "arrows", "factors": k, "n": n, "m": m, "counts": counts}


def arrows_row(run):
    supported, edges = np.transpose(run["counts"])
    return run | {"least": min(supported), "most": max(supported), "edges": edges.mean()}


def real(folder, name):
    file, group, left_out = TABLES[name]
    cohort = sgbn.read_table(
        folder / "neuro" / f"{file}.csv",
        group="group",
        id="subject_id",
        covariates=["age", "sex"],
        site="site",
        exclude=left_out,
    )
    compared, cpu = timed(compare_models, cohort, group)
    # These are the rows that `compare_models` uses, without nuisance effects.
    rows = residual_rows(cohort, group)
    learned = SGBN().fit(rows.values)
    stays = edges_beside_factors(cohort, learned, compared.leading_factors, group=group).stays
    likelihoods = compared.table
    print(name, compared.verdict, flush=True)
    return {
        "data": name,
        "n": compared.n,
        "m": compared.m,
        **{
            key: round(float(value), 4)
            for key, value in zip(KEYS, likelihoods.log_likelihood, strict=True)
        },
        "difference": round(float(likelihoods.difference[1]), 4),
        "standard_error": round(float(likelihoods.standard_error[1]), 4),
        "n_factors": compared.n_factors,
        "stay": round(float(stays.mean()), 2),
        "cpu": round(cpu, 1),
        "verdict": compared.verdict,
    }


def rates(runs):
    """Yield the numbers of data sets with a warning and of all, by kind of data."""
    sparse = [run for run in runs if run["data"] in NETWORKS]
    hidden = [run for run in runs if run not in sparse and (run["n"], run["m"]) == (N, M)]
    for slot, chosen in (("hidden", hidden), ("sparse", sparse)):
        yield f"{slot}_warned", round(sum(run["warned"] * run["data_sets"] for run in chosen))
        yield f"{slot}_sets", sum(run["data_sets"] for run in chosen)


def slots(runs):
    simulated_runs, tables, supported = parts_of(runs)
    verdicts = [f"- {run['data']}: {run['verdict']}" for run in tables]
    return dict(rates(simulated_runs)) | {
        "simulated": simulated_runs,
        "arrows": list(map(arrows_row, supported)),
        "tables": tables,
        "verdicts": verdicts or "Not run: the tables were not found.",
    }


def parts_of(runs):
    """Return three lists of runs: simulated rows, real tables, and supported arrows."""
    kinds = {"arrows": 2} | dict.fromkeys(TABLES, 1)
    return [[run for run in runs if kinds.get(run["data"], 0) == kind] for kind in range(3)]


def main():
    given = options(
        __doc__,
        factor_sets=number(50, "of each number of factors"),
        dag_sets=number(20, "of each of the nine networks"),
        only={"choices": ("simulated", "tables", "arrows")},
    ).parse_args()
    SGBN().fit(factor_rows(1, 50, 5, 0))  # compiles
    runs, tables, supported = parts_of(stored_runs(given.out, "factors"))
    if given.only in (None, "simulated"):
        runs = simulated(given.factor_sets, given.dag_sets)
    folder = data_folder()
    # If the tables are not found, their stored results are kept.
    if given.only in (None, "tables") and folder is not None:
        tables = [real(folder, name) for name in TABLES]
    if given.only in (None, "arrows"):
        supported = [arrows(*size) for size in ARROWS]
    write_parts(given.out, "factors", SEED, [[*runs, *tables, *supported]], slots)


if __name__ == "__main__":
    main()
