"""Exp-III: does discriminative learning help to tell groups apart? (Section 5.3).

Real tables are split at random into a training and a test part again and again; simulated cohorts
are drawn afresh each time. Everything that learns, the choice of 40 regions among it, sees the
training part alone. Then all methods (`exp3_methods`) and their peers (`sgbn.comparison.peers`)
classify the same test rows.
"""

from __future__ import annotations

import csv
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss
from sklearn.model_selection import StratifiedShuffleSplit

from sgbn.cohort import Cohort
from sgbn.comparison.intervals import Estimate, average, estimate
from sgbn.comparison.peers import COVARIATES_ALONE, covariates_alone, peers
from sgbn.datasets import simulate_cohort
from sgbn.exceptions import InputError
from sgbn.experiments.data import data_folder, read_neuro
from sgbn.experiments.exp3_methods import ALPHAS, EDGES, SLACKS, defaults, grid
from sgbn.preprocessing import cohort_table, make_analysis
from sgbn.runs import Arrays, Study, read_result, write_atomically
from sgbn.types import Array

SIMULATED = {"edges": "edges", "means": "means", "mixed": "both"}  # name -> what groups differ in
SIMULATED_TEST = 400  # rows; they cost nothing here
SMALLER = "-small"  # ends the names of data in the smaller sizes
TABLE = "table"  # name of a user's own


@dataclass(frozen=True)
class Settings:
    """What makes one run of Exp-III differ from another; the sizes are the paper's.

    `smaller` are the sizes of its PET data.
    """

    splits: int = 30
    seed: int = 0
    regions: int = 40
    sizes: tuple[int, int] = (80, 40)
    smaller: tuple[int, int] = (60, 43)


@dataclass(frozen=True)
class Sample:
    """A table to split, or what to simulate anew for every split; sizes of training and test."""

    sizes: tuple[int, int]
    cohort: Cohort | None = None
    differ: str = ""

    @property
    def overlap(self) -> float:
        """Test rows a training row of overlapping splits; 0 for independent cohorts."""
        return 0.0 if self.cohort is None else self.sizes[1] / self.sizes[0]

    @property
    def digest(self) -> str:
        """Short name of what is in it, to tell two tables apart."""
        known = b"" if self.cohort is None else self.cohort.content
        return f"{self.differ}{self.sizes[0]}/{self.sizes[1]} {sha256(known).hexdigest()[:16]}"


def samples(settings: Settings) -> dict[str, Sample]:
    """Real tables, where they are found, and what is simulated.

    COBRE; ABIDE's largest site, since 80 subjects of 20 sites would be 4 per site; and the oldest
    and the youngest third of IXI. Covariates are age, sex and intracranial volume, and the quality
    of the scans in IXI; not IXI's age, which makes the groups, nor ABIDE's IQ, which autism
    affects. COBRE and IXI are split in the sizes of the paper's PET data too.

    The benchmark of `SGBNClassifierCV` (benchmarks/classifiers.py) has other groups of IXI, the
    middle and the oldest third, and fewer covariates: its figures cannot be compared with these.
    """
    simulated = {
        name: Sample((settings.sizes[0], SIMULATED_TEST), differ=differ)
        for name, differ in SIMULATED.items()
    }
    folder = data_folder()
    if folder is None or not (folder / "neuro").is_dir():
        return simulated
    tables = _real_tables(folder)
    sizes = {name: (name, settings.sizes) for name in tables}
    sizes |= {f"{name}{SMALLER}": (name, settings.smaller) for name in ("cobre", "ixi")}
    real = {
        name: _to_split(tables[table], parts, f"the table {table!r}")
        for name, (table, parts) in sizes.items()
    }
    return real | simulated


def _real_tables(folder: Path) -> dict[str, Cohort]:
    abide = _without(read_neuro(folder, "abide1_asd"), "fiq")
    ixi = _without(read_neuro(folder, "ixi_age"), "age")
    return {
        "cobre": read_neuro(folder, "cobre_scz"),
        "abide": abide.subset(abide.site == "NYU"),
        "ixi": ixi.subset(groups=["OLD", "YOUNG"]),
    }


def _without(cohort: Cohort, covariate: str) -> Cohort:
    others = {name: one for name, one in cohort.covariates.items() if name != covariate}
    smooth = tuple(name for name in cohort.smooth if name in others)
    return replace(cohort, covariates=others, smooth=smooth)


def table_samples(cohort: Cohort, settings: Settings) -> dict[str, Sample]:
    """One sample: a user's table."""
    if len(cohort.groups) != 2:
        raise InputError(
            f"the table has {len(cohort.groups)} groups, {list(cohort.groups)}: the experiment "
            "compares two. Name the column of the groups (--group), or two of them (--groups)."
        )
    return {TABLE: _to_split(cohort, settings.sizes, "the table")}


def _to_split(cohort: Cohort, sizes: tuple[int, int], called: str) -> Sample:
    """Sample of a table that has subjects enough."""
    if sum(sizes) > len(cohort):
        raise InputError(
            f"{called} has {len(cohort)} subjects, fewer than {sizes[0]} for training and "
            f"{sizes[1]} for testing. Give smaller numbers (--train, --test)."
        )
    return Sample(sizes, one_site(cohort))


def one_site(cohort: Cohort) -> Cohort:
    """Forget the site where there is only one."""
    several = cohort.site is not None and len(np.unique(cohort.site)) > 1
    return cohort if several else replace(cohort, site=None)


def a_group(sizes: tuple[int, int]) -> int:
    """Subjects to simulate in each of two groups; an odd total leaves one over."""
    return (sum(sizes) + 1) // 2


class Problem(NamedTuple):
    """One split: regions ready to classify by, labels, and the covariates beside them."""

    train: Array
    y_train: NDArray[Any]
    test: Array
    y_test: NDArray[Any]
    covariates: tuple[pd.DataFrame, pd.DataFrame]


def draw(sample: Sample, split: int, seed: int) -> tuple[Cohort, NDArray[Any], NDArray[Any]]:
    """Cohort, and which of its rows are for training and for testing, in equal shares of groups."""
    rng = np.random.default_rng([seed, split])
    n_train, n_test = sample.sizes
    cohort = sample.cohort
    if cohort is None:
        cohort = simulate_cohort(a_group(sample.sizes), rng, differ=sample.differ)
    splitter = StratifiedShuffleSplit(
        1, train_size=n_train, test_size=n_test, random_state=int(rng.integers(2**31))
    )
    train, test = next(splitter.split(cohort.values, cohort.group))
    return cohort, train, test


def prepare(
    cohort: Cohort, y: NDArray[Any], train: NDArray[Any], test: NDArray[Any], regions: int
) -> Problem:
    """Impute, regress covariates out, choose regions and standardise, all by the training part."""
    table = cohort_table(cohort)
    steps = make_analysis(cohort, k=regions)[:-1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of columns that are odd in one of many splits
        inside = steps.fit_transform(table.iloc[train], y[train]).to_numpy()
        outside = steps.transform(table.iloc[test]).to_numpy()
    beside = table[[column for column in table if column not in cohort.regions]]
    return Problem(inside, y[train], outside, y[test], (beside.iloc[train], beside.iloc[test]))


class Outcome(NamedTuple):
    """What a classifier made of one split; NaN where it failed or has no such number.

    `growth` is the largest share of fitting error that moving a network added.
    """

    balanced: float = np.nan
    accuracy: float = np.nan
    log_loss: float = np.nan
    growth: float = np.nan
    failure: str = ""


def evaluate(classifier: Any, problem: Problem, on_covariates: bool = False) -> Outcome:
    """Fit and test; a failure is part of the result, not the end of the run."""
    train, test = problem.covariates if on_covariates else (problem.train, problem.test)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # collapsed margins, rare classes: see the accuracies
            classifier.fit(train, problem.y_train)
            predicted = classifier.predict(test)
    except Exception as error:
        return Outcome(failure=f"{type(error).__name__}: {error}")
    return Outcome(
        balanced_accuracy_score(problem.y_test, predicted),
        accuracy_score(problem.y_test, predicted),
        _log_loss(classifier, test, problem.y_test),
        _growth(classifier),
    )


def _log_loss(classifier: Any, test: Any, labels: NDArray[Any]) -> float:
    if not hasattr(classifier, "predict_proba"):
        return np.nan
    return float(log_loss(labels, classifier.predict_proba(test), labels=classifier.classes_))


def _growth(classifier: Any) -> float:
    errors = getattr(classifier, "fitting_errors_", None)
    return np.nan if not errors else max(after / before - 1 for before, after, _ in errors.values())


def pipelines(seed: int) -> dict[str, Any]:
    """Classifiers of the package at their defaults, and the peers."""
    return defaults() | peers(seed)


def run(study: Study, settings: Settings, data: Mapping[str, Sample]) -> dict[str, Arrays]:
    """Run what the study does not hold yet: a task is one split of one sample."""
    tasks = {
        f"{name}.{split:04d}": {"name": name, "split": split}
        for split in range(settings.splits)
        for name in data
    }
    digests = {name: sample.digest for name, sample in data.items()}
    varied = {"alphas": ALPHAS, "edges": EDGES, "slacks": SLACKS}
    described = asdict(settings) | varied | {"experiment": "exp3", "samples": digests}
    shared = {"data": dict(data), "settings": settings}
    return study.run(_task, tasks, described, shared=shared)


def _task(data: Mapping[str, Sample], settings: Settings, name: str, split: int) -> dict[str, Any]:
    sample = data[name]
    cohort, train, test = draw(sample, split, settings.seed)
    problem = prepare(cohort, np.asarray(cohort.group), train, test, settings.regions)
    outcomes = {name: evaluate(one, problem) for name, one in pipelines(split).items()}
    outcomes |= {method.label: evaluate(method.make(), problem) for method in grid()}
    if problem.covariates[0].shape[1]:
        outcomes[COVARIATES_ALONE] = evaluate(covariates_alone(), problem, on_covariates=True)
    regions = (len(cohort.regions), problem.train.shape[1])
    described = {"overlap": sample.overlap, "sizes": sample.sizes, "regions": regions}
    return described | as_columns(outcomes)


def as_columns(outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    """Names of methods, and an array for each field of their outcomes."""
    columns = zip(Outcome._fields, zip(*outcomes.values(), strict=True), strict=True)
    return {"methods": list(outcomes), **{name: np.array(values) for name, values in columns}}


@dataclass(frozen=True)
class Data:
    """All splits of one sample: ``values[field]`` has an axis for methods and one for splits.

    `regions` are those of the sample and how many were kept; empty in runs that did not note it.
    """

    methods: list[str]
    values: Arrays
    overlap: float
    sizes: tuple[int, int]
    regions: tuple[int, ...] = ()

    def of(self, method: str, field: str = "balanced") -> NDArray[Any]:
        """One field of the outcomes of a method, a split each."""
        column: NDArray[Any] = self.values[field][self.methods.index(method)]
        return column

    def mean(self, method: str, field: str = "balanced") -> float:
        """Mean over the splits that have the field; NaN where none has it."""
        found = self.of(method, field)
        return float(np.nanmean(found)) if np.isfinite(found).any() else np.nan

    def estimate(self, values: Array) -> Estimate:
        """Mean over the splits, with the error that fits how they were made."""
        return estimate(values, self.overlap)


@dataclass(frozen=True)
class Results:
    """A finished run, sample by sample."""

    data: dict[str, Data]

    @property
    def real(self) -> list[str]:
        """Tables in the larger split sizes, over which means are taken."""
        return [
            name
            for name, one in self.data.items()
            if one.overlap > 0 and not name.endswith(SMALLER)
        ]

    @property
    def simulated(self) -> list[str]:
        """Independent cohorts."""
        return [name for name, one in self.data.items() if one.overlap == 0]

    def over_real(self, values: Mapping[str, Array]) -> Estimate:
        """Mean over the real tables of the means of ``values[name]``."""
        return average([self.data[name].estimate(values[name]) for name in self.real])


def read(folder: Path) -> Results:
    """Results of a finished run."""
    stored: dict[str, list[Arrays]] = {}
    for path in sorted((folder / "tasks").glob("*.npz")):
        stored.setdefault(path.stem.split(".")[0], []).append(read_result(path))
    known = ("cobre", "abide", "ixi", f"cobre{SMALLER}", f"ixi{SMALLER}", TABLE, *SIMULATED)
    data = {}
    for name in (name for name in known if name in stored):
        tasks = stored[name]
        values = {field: np.array([task[field] for task in tasks]).T for field in Outcome._fields}
        first = tasks[0]
        n_train, n_test = first["sizes"].tolist()
        regions = tuple(first["regions"].tolist()) if "regions" in first else ()
        overlap = float(first["overlap"])
        data[name] = Data(first["methods"].tolist(), values, overlap, (n_train, n_test), regions)
    return Results(data)


def write_rows(folder: Path, results: Results) -> Path:
    """Write every outcome as a row: data, split, method, accuracies and log-loss."""
    path = folder / "exp3.csv"
    fields = ("balanced", "accuracy", "log_loss")
    text = StringIO()
    writer = csv.writer(text)
    writer.writerow(("data", "split", "method", *fields))
    for name, data in results.data.items():
        for method in data.methods:
            columns = [data.of(method, field) for field in fields]
            for split, row in enumerate(zip(*columns, strict=True)):
                writer.writerow((name, split, method, *(f"{x:.5f}" for x in row)))
    write_atomically(path, lambda stream: stream.write(text.getvalue().encode()))
    return path
