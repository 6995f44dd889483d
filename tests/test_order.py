"""The order of subjects, the order of regions and the units of regions do not change a result.

Each design is compared three times: as it is, with its rows in another order, and with its rows and
regions in another order and every region in other units.
"""

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import zscore
from sklearn.base import BaseEstimator

import sgbn
from sgbn.comparison.report import PRIVATE
from sgbn.comparison.tables import Tables

REGIONS = tuple(f"r{k}" for k in range(8))
FACTORS = dict(zip(REGIONS, (1000, 0.01, 1, 7, 0.001, 3.3, 100, 0.1), strict=True))
SHIFTS = {"r2": 50.0}  # in the other units
NAMED = {"edges": (("r1", "r2"), ("r4", "r3")), "among": ("r1", "r2", "r3")}
FEW = {"n_permutations": 39, "n_pairs": 3, "n_folds": 3, "n_repeats": 1, "seed": 3, "peers": False}
SETTINGS = {
    "plain": sgbn.Settings(**FEW, **NAMED, replicate="half", accuracy_permutations=19),
    **dict.fromkeys(("pairs", "persons", "three"), sgbn.Settings(**FEW, **NAMED, replicate="half")),
    "series": sgbn.Settings(**FEW, **NAMED),
}


def chain(rng, flipped, m):
    """Rows of a chain; two of its weights have another sign in some rows."""
    X = rng.standard_normal((len(flipped), m))
    for j in range(1, m):
        X[:, j] += np.where(flipped & (j in (2, 5)), -0.9, 0.9) * X[:, j - 1]
    return X


def table(name):
    """The cohort of a design, with an outlier, and with gaps if its rows are subjects."""
    n, rng = 90 if name == "three" else 88, np.random.default_rng(5)
    group = np.resize(["control", "mild", "severe"][:: 1 if name == "three" else 2], n)
    number = np.arange(n)
    person = number // 4 * 2 + number % 2  # two rows in one group
    about = {
        "plain": {"site": np.resize(["A", "B", "B", "A", "B"], n)},
        "pairs": {"pair": number // 2},
        "persons": {"person": person, "block": person // 2, "site": person // 6 % 2},
        "three": {},
    }[name]
    age = rng.integers(20, 70, n).astype(float)
    X = chain(rng, group == "severe", len(REGIONS)) + 0.02 * age[:, None]
    X[7, :3] *= 3
    if name == "plain":
        X[about["site"] == "B"] += 0.5
        X[[3, 4, 30], [0, 5, 7]] = age[12] = np.nan
    labels = {key: np.char.add(key, labels.astype(str)) for key, labels in about.items()}
    ids = tuple(f"s{k:02}" for k in number)
    return sgbn.Cohort(X, REGIONS, ids, group=group, covariates={"age": age}, **labels)


def series_of(n, m, n_volumes):
    rng, group = np.random.default_rng(0), np.resize(["control", "patient"], n)
    series = [chain(rng, np.full(n_volumes, own == "patient"), m) for own in group]
    about = {"group": group, "covariates": {"age": rng.uniform(20, 60, n)}}
    return [one + 0.3 * np.roll(one, 1, axis=0) for one in series], about


def design(name):
    if name != "series":
        return table(name)
    series, about = series_of(40, 6, 120)
    ids, site = tuple(f"s{k:02}" for k in range(40)), np.repeat(["A", "B"], 20)
    return sgbn.SeriesCohort.of(series, REGIONS[:6], ids, site=site, **about)


def in_other_units(cohort):
    factor = np.array([FACTORS[region] for region in cohort.regions], float)
    shift = np.array([SHIFTS.get(region, 0.0) for region in cohort.regions])
    if isinstance(cohort, sgbn.SeriesCohort):
        series = tuple(one * factor + shift for one in cohort.series)
        return replace(cohort, series=series, values=cohort.values * factor)
    return replace(cohort, values=cohort.values * factor + shift)


class Compared(NamedTuple):
    """The comparisons of a design: as it is, in another order of rows, and in other units too."""

    name: str
    first: sgbn.Comparison
    rows: sgbn.Comparison
    all: sgbn.Comparison


@pytest.fixture(scope="module", params=SETTINGS)
def compared(request):
    cohort, rng = design(request.param), np.random.default_rng(1)
    rows, regions = rng.permutation(len(cohort)), rng.permutation(cohort.regions).tolist()
    moved = in_other_units(cohort.subset(rows, regions=regions))
    run = partial(sgbn.compare, settings=SETTINGS[request.param])
    return Compared(request.param, run(cohort), run(cohort.subset(rows)), run(moved))


def written(comparison, folder):
    """The texts of a comparison. Lines about subjects are in the order of the subjects' names."""
    sgbn.write_comparison(comparison, folder)
    files = [folder / "summary.txt", *folder.glob("tables/*.csv"), *folder.glob("networks/**/*.*")]
    texts = {file.relative_to(folder).as_posix(): file.read_text("utf-8") for file in files}
    return texts | {name: sorted(texts[name].split("\n")) for name in PRIVATE & texts.keys()}


def test_subjects_in_another_order_give_the_same_files(compared, tmp_path, no_figures):
    first = written(compared.first, tmp_path / "first")
    moved = written(compared.rows, tmp_path / "rows")
    assert list(first) == list(moved)
    assert [name for name in first if first[name] != moved[name]] == []


@pytest.mark.parametrize("how", ["first", "rows", "all"])
def test_tables_of_subjects_have_their_order(compared, how):
    comparison = getattr(compared, how)
    for name in ("subjects", "series"):
        known = getattr(comparison.tables, name)
        assert known.empty or tuple(known["subject"]) == comparison.given


def test_subjects_in_another_order_give_the_same_model(compared):
    if compared.name != "series":
        rows = sgbn.cohort_table(compared.first.cohort)
        first, moved = (one.model.predict_proba(rows) for one in (compared.first, compared.rows))
        np.testing.assert_array_equal(first, moved)


# The columns that identify a row, and those with weights in units of the data.
KEYS = ("subject", "group", "other", "method", "metric", "class", "model", "source", "target")
KEYS += ("region", "kind")
WEIGHTS = re.compile(r"weight(?!_std)(_.*)?|difference")
IN_UNITS = ("edges", "differences", "pairwise", "named", "among")
# Continuous numbers: round-off changes their last digits. All others must be equal: p, q, counts,
# shares of half samples, ranks and texts.
CONTINUOUS = re.compile(
    r"weight.*|difference.*|low|high|standard_error|statistic|hedges_g|t|df|z|strength|skewness|"
    r"kurtosis|before|after|log_likelihood|probability_.*|farthest_z|autocorrelation|"
    r"effective_volumes|.*_power|mean"
)
WITHOUT_PERMUTATIONS = {"regional": ("p", "p_holm", "q"), "accuracy": ("p",)}
CLOSE = 1e-9  # relative to the largest number of a column
# The ratios of variances of persons come from a golden section, which has half the digits.
CLOSE_OF = {"persons": 1e-7}


def in_first_units(name, known):
    if "source" in known and name in IN_UNITS:
        scale = known["target"].map(FACTORS) / known["source"].map(FACTORS)
        columns = [column for column in known if WEIGHTS.fullmatch(column)]
        columns += ["low", "high"] if name == "edges" else []
        known = known.assign(**{column: known[column] / scale for column in columns})
    if name == "regional" and len(known):
        known = known.assign(difference=known["difference"] / known["region"].map(FACTORS))
    return known


def sorted_rows(known):
    keys = [name for name in KEYS if name in known]
    return known.sort_values(keys, kind="stable", ignore_index=True) if keys else known


def differs(name, column, first, moved, close):
    if not (CONTINUOUS.fullmatch(column) or column in WITHOUT_PERMUTATIONS.get(name, ())):
        return first.astype(str).tolist() != moved.astype(str).tolist()
    size = np.nan_to_num(first.abs().max())
    return not np.allclose(first, moved, rtol=0, atol=close * size, equal_nan=True)


# Refinements stop at a point that depends on the order of regions in the fifth digit.
@pytest.mark.parametrize("name", sorted({*Tables._fields} - {"refinements"}))
def test_order_and_units_do_not_change_a_table(compared, name):
    first, moved = (getattr(one.tables, name) for one in (compared.first, compared.all))
    if compared.name != "series":
        moved = in_first_units(name, moved)
    first, moved = sorted_rows(first), sorted_rows(moved)
    assert list(first) == list(moved)
    assert len(first) == len(moved)
    close = CLOSE_OF.get(compared.name, CLOSE)
    assert [key for key in first if differs(name, key, first[key], moved[key], close)] == []


def words(comparison):
    """The words of a summary, sorted, since ties of edges may be named in another order."""
    # The value of an outlier is in units of the data.
    return sorted(re.findall(r"[\w.−]*\w", re.sub(r"(\(r\d): \S+\)", r"\1)", comparison.summary())))


def test_order_and_units_do_not_change_the_words(compared):
    assert words(compared.first) == words(compared.all)


class Rows(NamedTuple):
    """Rows without ids, and what is known about them."""

    X: np.ndarray
    group: np.ndarray
    site: np.ndarray
    person: np.ndarray
    age: np.ndarray


N, N_SERIES = 67, 31  # rows and series; no other axis of a result has these lengths


def rows_of(kind):
    rng, number = np.random.default_rng(2), np.arange(N)
    X, person = chain(rng, number % 2 == 1, 5), number // 4 * 2 + number % 2
    if kind == "whole numbers":
        X = np.round(2 * X)
        X[8:16] = X[:8]  # two groups of the same rows
    return Rows(X, number % 2, number % 3, person, rng.integers(20, 30, N).astype(float))


def classified(rows):
    fitted = sgbn.SGBNClassifierCV().fit(rows.X, rows.group)
    return fitted, fitted.predict_proba(rows.X)


def deviated(rows):
    norm = sgbn.inference.NormativeDeviation
    fitted = norm().fit(rows.X)
    return fitted, fitted.deviations(rows.X), norm().fit(rows.X, persons=rows.person)


FITS = {
    "SGBN": lambda rows: sgbn.SGBN().fit(rows.X),
    "SGBNEnsemble": lambda rows: sgbn.SGBNEnsemble(n_chains=10, n_pairs=5).fit(
        rows.X, nuisance=rows.age[:, None], strata=rows.site, persons=rows.person
    ),
    "SGBNClassifierCV": classified,
    "edge_differences": lambda rows: sgbn.inference.edge_differences(
        rows.X, rows.group, sites=rows.site, n_permutations=39
    ),
    "edge_differences, age held fixed": lambda rows: sgbn.inference.edge_differences(
        rows.X, rows.group, covariates={"age": rows.age}, n_permutations=39
    ),
    "FisherSVMClassifier": lambda rows: sgbn.paper.FisherSVMClassifier().fit(rows.X, rows.group),
    "JointSGBN": lambda rows: sgbn.inference.JointSGBN().fit(rows.X, rows.group).networks_,
    "weight_intervals": lambda rows: sgbn.inference.weight_intervals(
        rows.X, np.eye(5, k=1), n_resamples=20
    ),
    "edge_confidence": lambda rows: sgbn.inference.edge_confidence(rows.X, n_pairs=5),
    "compare_models": lambda rows: sgbn.compare_models(rows.X),
    "NormativeDeviation": deviated,
}


def leaves(thing, path=""):
    """Yield the path and the array of each public part of a result."""
    if isinstance(thing, BaseEstimator):
        public = {k: v for k, v in vars(thing).items() if k.endswith("_") and k[0] != "_"}
    elif isinstance(thing, sgbn.GaussianNetwork):
        public = vars(thing)
    elif is_dataclass(thing):
        public = {part.name: getattr(thing, part.name) for part in fields(thing)}
    elif isinstance(thing, np.ndarray) and thing.dtype.names:
        public = {name: thing[name] for name in thing.dtype.names}
    elif isinstance(thing, list | tuple):
        public = dict(enumerate(thing))
    elif isinstance(thing, Mapping):
        public = thing
    else:
        yield path, np.asarray(thing)
        return
    for name, part in public.items():
        yield from leaves(part, f"{path}.{name}")


def check_equal(first, moved, order):
    """Assert that two results are equal. An axis of the length of `order` has rows."""
    first, moved = dict(leaves(first)), dict(leaves(moved))
    assert list(first) == list(moved)
    put_back = {k: in_order(v, order) for k, v in first.items()}
    assert [k for k, v in put_back.items() if not _equal(v, moved[k])] == []


def in_order(array, order):
    for axis in range(array.ndim):
        array = array.take(order, axis) if array.shape[axis] == len(order) else array
    return array


def _equal(first, second):
    if first.dtype == object:
        return first.tolist() == second.tolist()
    return np.array_equal(first, second, equal_nan=first.dtype.kind == "f")


@pytest.mark.parametrize("kind", ["numbers", "whole numbers"])
@pytest.mark.parametrize("name", FITS)
def test_a_result_does_not_depend_on_the_order_of_rows(name, kind):
    rows, order = rows_of(kind), np.random.default_rng(4).permutation(N)
    if name == "NormativeDeviation" and kind == "whole numbers":
        # Of two equal subjects, nobody knows which is which.
        order = np.concatenate([np.arange(16), 16 + np.argsort(order[16:])])
    moved = Rows(*(part[order] for part in rows))
    check_equal(FITS[name](rows), FITS[name](moved), order)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("name", ["SeriesSGBN", "series_differences"])
def test_a_result_does_not_depend_on_the_order_of_series(name, scaled):
    series, about = series_of(N_SERIES, 2 if scaled else 4, 80)
    series = [zscore(one) for one in series] if scaled else series
    group, order = about["group"], np.random.default_rng(4).permutation(N_SERIES)

    def fit(rows):
        own = [series[row] for row in rows]
        if name == "SeriesSGBN":
            return sgbn.SeriesSGBN(n_pairs=3).fit(own, strata=group[rows])
        return sgbn.inference.series_differences(own, group[rows], n_permutations=39)

    check_equal(fit(np.arange(N_SERIES)), fit(order), order)


# What a result says of each pair of columns. Results without ids must keep this property too.
OF_PAIRS = {
    "SGBNEnsemble": lambda rows: FITS["SGBNEnsemble"](rows).confidence_.arrow_,
    "edge_confidence": lambda rows: FITS["edge_confidence"](rows).arrow_,
    "edge_differences": lambda rows: p_of_pairs(FITS["edge_differences"](rows)),
}


def p_of_pairs(tested):
    ends = [[tested.regions.index(name) for name in tested.edges[k]] for k in ("source", "target")]
    p = np.full((len(tested.regions), len(tested.regions)), np.nan)
    p[tuple(ends)] = tested.edges["p"]
    return p


@pytest.mark.parametrize("kind", ["numbers", "whole numbers"])
@pytest.mark.parametrize("name", OF_PAIRS)
@pytest.mark.parametrize("too", ["", "and rows"])
def test_a_result_does_not_depend_on_columns_and_units(name, kind, too):
    rows, rng = rows_of(kind), np.random.default_rng(4)
    columns, order = rng.permutation(rows.X.shape[1]), rng.permutation(N)
    first = OF_PAIRS[name](rows)[np.ix_(columns, columns)]
    changed = rows._replace(X=(rows.X * [1000, 0.01, 1, 7, 0.001] + [0, 0, 50, 0, 0])[:, columns])
    changed = Rows(*(part[order] for part in changed)) if too else changed
    np.testing.assert_array_equal(first, OF_PAIRS[name](changed))
