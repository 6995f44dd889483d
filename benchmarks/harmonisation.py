"""Measure what curves of age and intercepts of persons add to ComBat.

python benchmarks/harmonisation.py     # writes benchmarks/results/harmonisation.json and .md

All settings are those of `SiteHarmonizer` and `make_analysis`, and none was chosen on these data.
`sgbn.paper.experiments.experiment` finds the real tables. Without them, their part of the report is
empty.
"""

import warnings

import numpy as np
import pandas as pd
from output import main, select, values_of
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold

from sgbn.core.problems import DataWarning
from sgbn.paper.experiments.experiment import data_folder
from sgbn.prepare.pipeline import make_analysis
from sgbn.prepare.sites import SiteHarmonizer

SEED = 23
N_SETS, N_REGIONS, SIZES = 30, 40, (100, 400)
# Ranges of the ages at the three sites, in years. Without overlap, age and site could not be
# separated.
AGES = ((8, 45), (25, 65), (40, 90))
CURVES = {
    "straight": lambda age: age / 20,
    "arch": lambda age: -(((age - 45) / 20) ** 2),
    "rise and plateau": lambda age: 3 / (1 + np.exp(-(age - 25) / 5)),
}
WAYS = {
    "linear": {},
    "curve, 6 B-splines": {"smooth": ["age"]},
    "curve, 10 B-splines": {"smooth": ["age"], "smooth_df": 10},
}
RATIOS = (0.0, 1.0, 4.0)  # variance between persons, divided by the variance of the noise
N_PERSONS, N_FOLDS, N_REPEATS = 60, 5, 4
TABLES = ("abide1_asd", "ixi_age")
LEFT_OUT = ["subject_id", "group", "fiq", "eTIV", "euler_mean"]


def curved(rng, n, curve):
    """Return a table of regions, age and site, and the true shifts of the sites."""
    site = rng.integers(0, 3, n)
    age = np.array([rng.uniform(*ends) for ends in np.array(AGES)[site]])
    # As in ComBat's model, each region has a shift and a scale at each site.
    shift, stretch = rng.normal(size=(3, N_REGIONS)), rng.uniform(0.7, 1.4, (3, N_REGIONS))
    truth = curve(age)[:, None] * rng.uniform(0.5, 1.5, N_REGIONS)
    values = truth + shift[site] + stretch[site] * rng.normal(size=(n, N_REGIONS))
    return named(values).assign(age=age, site=site), shift


def named(values):
    return pd.DataFrame(values, columns=[f"region{k}" for k in range(values.shape[1])])


def error(X, harmonised, site, shift):
    """Return the root mean square of what is left of the shifts of sites."""
    regions = [f"region{k}" for k in range(N_REGIONS)]
    moved = (X[regions] - harmonised[regions]).to_numpy()
    removed = np.array([moved[site == k].mean(axis=0) for k in range(3)])
    # All sites may be shifted by the same constant per region, which is not an error.
    left = shift - removed
    return float(np.sqrt(np.mean((left - left.mean(axis=0)) ** 2)))


def curve_runs():
    for name, curve in CURVES.items():
        for n in SIZES:
            for k in range(N_SETS):
                X, shift = curved(np.random.default_rng([SEED, n, k]), n, curve)
                errors = {
                    way: error(
                        X,
                        SiteHarmonizer("site", preserve=["age"], **options).fit_transform(X),
                        X["site"].to_numpy(),
                        shift,
                    )
                    for way, options in WAYS.items()
                }
                yield {"part": "curve", "curve": name, "n": n, "set": k, "errors": errors}


def visit_runs():
    for crossed in (True, False):
        for ratio in RATIOS:
            for k in range(N_SETS):
                # All ratios have the same seed, so that only the variance of persons differs.
                rng = np.random.default_rng([SEED, k])
                person = np.repeat(np.arange(N_PERSONS), np.resize([2, 3, 4], N_PERSONS))
                # If nested, each person has a single site: visits do not separate persons and
                # sites.
                site = rng.integers(0, 3, len(person)) if crossed else person % 3
                shift = rng.normal(size=(3, N_REGIONS))
                stretch = rng.uniform(0.7, 1.4, (3, N_REGIONS))
                who = np.sqrt(ratio) * rng.normal(size=(N_PERSONS, N_REGIONS))[person]
                noise = stretch[site] * rng.normal(size=(len(person), N_REGIONS))
                X = named(who + shift[site] + noise).assign(site=site)
                long = SiteHarmonizer("site", subject="person")
                errors = {
                    "plain": error(X, SiteHarmonizer("site").fit_transform(X), site, shift),
                    "longitudinal": error(
                        X, long.fit_transform(X.assign(person=person)), site, shift
                    ),
                }
                yield {
                    **{"part": "visits", "crossed": crossed, "ratio": ratio},
                    **{"set": k, "errors": errors},
                }


def real_runs():
    folder = data_folder()
    tables = {} if folder is None else {name: read(folder, name) for name in TABLES}
    tables = {name: X for name, X in tables.items() if X is not None}
    if len(tables) > 1:
        # join="inner" keeps the regions that both tables have.
        both = pd.concat(tables.values(), join="inner", ignore_index=True)
        tables = {"abide1_asd": tables["abide1_asd"], "both tables": both}
    for name, X in tables.items():
        named = {"covariates": ["age", "sex"]}
        ways = {
            "not harmonised": make_analysis(**named),
            "linear": make_analysis(**named, site="site"),
            "curve of age": make_analysis(**named, site="site", smooth=["age"]),
        }
        for repeat in range(N_REPEATS):
            yield {"part": "real", "table": name, "repeat": repeat, **judge(X, ways, repeat)}


def read(folder, name):
    """Return regions, age, sex and site of a real table, or None if it is not found."""
    path = folder / "neuro" / f"{name}.csv"
    return pd.read_csv(path).drop(columns=LEFT_OUT, errors="ignore") if path.exists() else None


def judge(X, ways, repeat):
    """Return the balanced accuracy of the site, and the variance left in test subjects."""
    y = X["site"].to_numpy().astype(str)
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=repeat)
    predicted = {way: np.empty(len(y), y.dtype) for way in ways}
    left = {way: [] for way in ways}
    for train, test in folds.split(X, y):
        for way, analysis in ways.items():
            table = X if way != "not harmonised" else X.drop(columns="site")
            fitted = analysis.fit(table.iloc[train], y[train])
            predicted[way][test] = fitted.predict(table.iloc[test])
            rest = fitted[:-2].transform(table.iloc[test])  # before they are standardised
            before = table.iloc[test][list(rest)]
            left[way].append(float(np.mean(rest.var() / before.var())))
    accuracy = {way: balanced_accuracy_score(y, sites) for way, sites in predicted.items()}
    shares = {way: float(np.mean(of_folds)) for way, of_folds in left.items()}
    return {"accuracy": accuracy, "left": shares, "sites": len(np.unique(y)), "n": len(y)}


def interval(values):
    # A normal interval is good enough for 30 data sets.
    half = 1.96 * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):.3f} ± {half:.3f}"


def rows_of(runs, keys):
    """Yield one row per setting, with the mean error of each way."""
    for setting in dict.fromkeys(tuple(run[key] for key in keys) for run in runs):
        chosen = select(runs, **dict(zip(keys, setting, strict=True)))
        ways = chosen[0]["errors"]
        yield [*setting, *(interval([run["errors"][way] for run in chosen]) for way in ways)]


def real_rows(runs):
    for name in values_of(runs, "table"):
        chosen = select(runs, table=name)
        for way in chosen[0]["accuracy"]:
            accuracy = [run["accuracy"][way] for run in chosen]
            yield chosen[0] | {
                **{"way": way, "mean": np.mean(accuracy), "sd": np.std(accuracy, ddof=1)},
                "left": np.mean([run["left"][way] for run in chosen]),
            }


def slots(runs):
    curves, visits, real = (select(runs, part=part) for part in ("curve", "visits", "real"))
    visits = [run | {"crossed": "crossed" if run["crossed"] else "nested"} for run in visits]
    return {
        "ages": ", ".join(f"{low} to {high}" for low, high in AGES),
        "curves": list(rows_of(curves, ("curve", "n"))),
        "visits": list(rows_of(visits, ("crossed", "ratio"))),
        "real": list(real_rows(real)),
    }


def measure(_):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return [*curve_runs(), *visit_runs(), *real_runs()]


if __name__ == "__main__":
    main(measure, slots)
