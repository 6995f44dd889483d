"""What the paper's experiments have in common: settings, tasks, a report and figures.

An experiment stores the results of its tasks in a folder. Its report and figures are made from
that folder, so that they can be made again without running the tasks. The words of the report are
in the Markdown file ``NAME.md`` beside this file, with slots in braces for the results.

The comparison of classifiers: random splits, learning in one part, and scores in the other.

Exp-III, its canary and benchmarks/classifiers.py use this protocol.

Tables for the experiments. The real tables are not part of the package.

Functions that write parts of the experiments' reports as Markdown.
"""

from __future__ import annotations

import csv
import json
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image  # comes with matplotlib
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.model_selection import StratifiedShuffleSplit

from sgbn.cohort.cohort import Cohort
from sgbn.core.problems import InputError
from sgbn.core.types import Array
from sgbn.inference.intervals import Estimate, estimate
from sgbn.learn.peers import COVARIATES_ALONE, covariates_alone
from sgbn.prepare.pipeline import cohort_table, make_analysis
from sgbn.read.table import read_table
from sgbn.runs.files import Arrays, read_result, write_atomically
from sgbn.runs.study import Study

COLOURS = 256  # in a figure: enough for lines, and the file has a quarter of the size

Tasks = dict[str, dict[str, Any]]
Files = dict[str, Figure | str]


@dataclass(frozen=True)
class Experiment:
    """One experiment: the tasks that it runs, and what is made of their results.

    Attributes
    ----------
    name : str
        Name of the report and of its template.
    tasks : callable
        Takes settings and data, and returns the arguments of each task by the task's name.
    work : callable
        Does one task. It takes the settings, the data if there are any, and the arguments of the
        task. Data are samples by name, each with its `content` as bytes.
    read : callable
        Takes the results of the tasks by name, and returns the input of `report` and `files`.
    report : callable
        Takes the output of `read` and the settings as in study.json. Returns what fills each slot
        of the template: text, or a list of lines. A line that is not text is a row of a table.
    files : callable
        Takes the output of `read`, and returns further files by name: figures or text.
    check : Experiment, optional
        A second experiment, which `sgbn reproduce` runs if the option with its name is given. It
        has a subfolder with its name, and its report fills the slot with its name.
    """

    name: str
    tasks: Callable[[Any, Any], Tasks]
    work: Callable[..., Mapping[str, Any]]
    read: Callable[[dict[str, Arrays]], Any]
    report: Callable[[Any, Mapping[str, Any]], Mapping[str, Any]]
    files: Callable[[Any], Files] = lambda _: {}
    check: Experiment | None = None

    def run(self, study: Study, settings: Any, data: Any = None) -> dict[str, Arrays]:
        """Run the tasks that have no result in the study yet. Return the results of all tasks."""
        # Settings and data are shared, so that each worker gets them once and not with each task.
        shared = {"settings": settings} | ({} if data is None else {"data": data})
        # Two tables with the same subjects and regions may have different content.
        samples = {n: sha256(each.content).hexdigest()[:16] for n, each in (data or {}).items()}
        noted = asdict(settings) | {"experiment": self.name, "samples": samples}
        return study.run(self.work, self.tasks(settings, data), noted, shared=shared)

    def results(self, folder: Path) -> Any:
        """Return the results of a finished run, as `read` returns them."""
        # Numbers in the names have leading zeros, so that sorting brings repeats into their order.
        paths = sorted((folder / "tasks").glob("*.npz"))
        return self.read({path.stem: read_result(path) for path in paths})

    def text(self, folder: Path) -> str:
        """Return the report of a finished run, as Markdown."""
        study = json.loads((folder / "study.json").read_text())
        settings = study["settings"]
        slots = dict(self.report(self.results(folder), settings))
        if self.check is not None:
            inside = folder / self.check.name
            command = f"sgbn reproduce {self.name} --{self.check.name}"
            slots[self.check.name] = f"To see it here, run `{command}` with the same folder."
            if (inside / "study.json").exists():  # the report of the check, without its title
                slots[self.check.name] = self.check.text(inside).partition("\n\n")[2].rstrip()
        filled = {name: _joined(content) for name, content in slots.items()}
        template = _file(f"{self.name}.md")
        # A field such as {settings[seed]} in the template takes a setting by its name.
        return template.format(settings=settings, provenance=provenance(study), **filled)

    def finish(self, folder: Path) -> tuple[str, list[Path]]:
        """Write the report and all further files. Return the report's text and the files' paths."""
        text = self.text(folder)
        _write(folder / f"{self.name}.md", text)
        made = self.files(self.results(folder))
        for name, content in made.items():
            _write(folder / name, content)
        return text, [folder / name for name in made]


def _joined(content: str | Iterable[Any]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(line if isinstance(line, str) else row(line) for line in content)


def _file(name: str) -> str:
    return (files("sgbn.paper.experiments") / name).read_text(encoding="utf-8")


def read_rows(name: str) -> list[dict[str, str]]:
    """Read the rows of a CSV file beside this file, such as the paper's figures or claims."""
    return list(csv.DictReader(_file(name).splitlines()))


def _write(path: Path, content: Figure | str) -> None:
    """Write text, or a figure in its own resolution and with few colours."""
    stream = BytesIO()
    if isinstance(content, str):
        stream.write(content.encode())
    else:
        drawn = BytesIO()
        content.savefig(drawn, dpi="figure")
        # The octree keeps the colour of thin lines. The median cut turned orange into brown.
        few = Image.open(drawn).convert("RGB").quantize(COLOURS, Image.Quantize.FASTOCTREE)
        few.save(stream, "png", optimize=True)
    write_atomically(path, lambda file: file.write(stream.getvalue()))


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of every method in every repeat of one data set.

    Attributes
    ----------
    methods : list of str
        Names of the methods.
    values : mapping of field to array
        The outcomes, with one row per method and one column per repeat.
    noted : mapping
        All that the first task stored, for example sizes and overlap.
    """

    methods: list[str]
    values: Arrays
    noted: Arrays

    def of(self, method: str, field: str) -> NDArray[Any]:
        """Return one field of one method's outcomes, with one value per repeat."""
        return self.values[field][self.methods.index(method)]

    def mean(self, method: str, field: str) -> float:
        """Return the mean over the repeats that have the field, or NaN if none has it."""
        known = method in self.methods
        return self.estimate(self.of(method, field)).mean if known else np.nan

    def estimate(self, values: NDArray[Any]) -> Estimate:
        """Return the mean over the repeats, with a standard error that accounts for overlap."""
        return estimate(values, float(self.noted.get("overlap", 0.0)))


def messages(results: Mapping[str, Outcomes], fields: Iterable[str]) -> list[str]:
    """Return a table of messages such as failures, with the number of repeats that had each."""
    rows = [
        (field, name, method, count, text)
        for field in fields
        for name, outcomes in results.items()
        for method in outcomes.methods
        for text, count in Counter(outcomes.of(method, field).tolist()).items()
        if text
    ]
    header = ["kind", "data", "method", "fits", "message"]
    return table(header, rows) if rows else ["No fit of any method had such a message."]


def as_columns(outcomes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a task: names of methods, and one array per field of their outcomes."""
    fields = next(iter(outcomes.values()))._fields
    # There is one outcome per method. The result has one column per field instead.
    columns = zip(fields, zip(*outcomes.values(), strict=True), strict=True)
    return {"methods": list(outcomes), **{name: np.array(values) for name, values in columns}}


def repeats(names: Iterable[str], n_repeats: int) -> Tasks:
    """Make one task per repeat of each data set. Its name is DATA.REPEAT."""
    names = list(names)
    return {
        f"{name}.{repeat:04d}": {"name": name, "repeat": repeat}
        # The outer loop is over repeats, so that an interrupted run has similar numbers of them for
        # all data sets.
        for repeat in range(n_repeats)
        for name in names
    }


def gather(
    tasks: Mapping[str, Arrays], fields: Sequence[str], order: Iterable[str]
) -> dict[str, Outcomes]:
    """Return the outcomes of each data set, in this order. A task's name is DATA.REPEAT."""
    stored: dict[str, list[Arrays]] = {}
    for name, result in tasks.items():
        stored.setdefault(name.split(".")[0], []).append(result)
    return {
        name: Outcomes(
            stored[name][0]["methods"].tolist(),
            # Each task gives one row. The transposed array has the shape (methods, repeats).
            {field: np.array([task[field] for task in stored[name]]).T for field in fields},
            # Sizes and overlap are the same in all tasks of a data set.
            stored[name][0],
        )
        for name in order
        if name in stored
    }


Rows = tuple[NDArray[Any], NDArray[Any]]  # rows of the training part and of the test part


class Problem(NamedTuple):
    """One split: prepared regions, labels and covariates of the training and the test part."""

    train: Array
    y_train: NDArray[Any]
    test: Array
    y_test: NDArray[Any]
    covariates: Sequence[Any] = ()  # the tables of both parts
    smooth: tuple[str, ...] = ()  # covariates whose effects are curves


class Outcome(NamedTuple):
    """The scores of a classifier on one split.

    A score is NaN if the classifier failed, or does not have this score. `growth` is the largest
    relative increase of the fitting error of a network by moving its edges.
    """

    balanced: float = np.nan
    log_loss: float = np.nan
    growth: float = np.nan
    failure: str = ""


def splits(
    cohort: Cohort, sizes: tuple[int, int | None], random_state: int, n_splits: int = 1
) -> Iterable[Rows]:
    """Return rows for training and testing. Both parts have the same shares of the groups.

    `sizes` are the numbers of training and test rows. None takes all other rows for testing.
    """
    n_train, n_test = sizes
    splitter = StratifiedShuffleSplit(
        n_splits, train_size=n_train, test_size=n_test, random_state=random_state
    )
    return splitter.split(cohort.values, cohort.group)


def prepare(cohort: Cohort, y: NDArray[Any], rows: Rows, regions: int) -> Problem:
    """Prepare both parts by the steps of `make_analysis`, which learn from the training part."""
    train, test = rows
    table = cohort_table(cohort)
    # These are the steps of a user's pipeline, without the classifier.
    steps = make_analysis(cohort, k=regions)[:-1]
    with warnings.catch_warnings():
        # The steps warn of columns that are unusual in one of many splits.
        warnings.simplefilter("ignore")
        inside = steps.fit_transform(table.iloc[train], y[train]).to_numpy()
        outside = steps.transform(table.iloc[test]).to_numpy()
    beside = table[[column for column in table if column not in cohort.regions]]
    covariates = beside.iloc[train], beside.iloc[test]
    return Problem(inside, y[train], outside, y[test], covariates, cohort.smooth)


def evaluate_all(classifiers: Mapping[str, Any], problem: Problem) -> dict[str, Outcome]:
    """Return the outcome of each classifier, and of the covariates alone if there are any."""
    outcomes = {name: evaluate(method, problem) for name, method in classifiers.items()}
    if any(table.shape[1] for table in problem.covariates):
        alone = covariates_alone(problem.smooth)
        outcomes[COVARIATES_ALONE] = evaluate(alone, problem, on_covariates=True)
    return outcomes


def evaluate(classifier: Any, problem: Problem, on_covariates: bool = False) -> Outcome:
    """Fit and test a classifier. A failure is stored in the outcome, and the run goes on."""
    train, test = problem.covariates if on_covariates else (problem.train, problem.test)
    try:
        with warnings.catch_warnings():
            # Warnings of collapsed margins or rare classes are not needed: accuracies show them.
            warnings.simplefilter("ignore")
            classifier.fit(train, problem.y_train)
            predicted = classifier.predict(test)
    except Exception as error:
        return Outcome(failure=f"{type(error).__name__}: {error}")
    # Only discriminative classifiers have fitting errors before and after the moves.
    loss, errors = np.nan, getattr(classifier, "fitting_errors_", None) or {}
    if hasattr(classifier, "predict_proba"):
        probabilities = classifier.predict_proba(test)
        # Classes are named, because a small test part may lack one of them.
        loss = float(log_loss(problem.y_test, probabilities, labels=classifier.classes_))
    growth = max((after / before - 1 for before, after, _ in errors.values()), default=np.nan)
    return Outcome(balanced_accuracy_score(problem.y_test, predicted), loss, growth)


COVARIATES = {
    "cobre_scz": ("age", "sex", "eTIV"),
    "ixi_age": ("age", "sex", "eTIV", "euler_mean"),
    "abide1_asd": ("age", "sex", "fiq", "eTIV"),
}
TABLE = "table"  # name of a table that the user gives


def data_folder() -> Path | None:
    """Return the folder of real tables, or None if there is no such folder.

    If the environment variable SGBN_DATA is set, it names the folder, which must exist. If it is
    not set, the folder is ../shared/data, if this exists.
    """
    named = os.environ.get("SGBN_DATA")
    folder = Path(named) if named else Path("..", "shared", "data")
    if named and not folder.is_dir():
        raise InputError("data.folder", folder=named).says(
            "SGBN_DATA is {folder}, which is not a folder", "Correct or unset it."
        )
    return folder if folder.is_dir() else None


def read_neuro(folder: Path, name: str, exclude: str = "") -> Cohort:
    """Read one of the real tables.

    Parameters
    ----------
    folder : Path
        The folder of real tables.
    name : str
        Name of the table, a key of `COVARIATES`.
    exclude : str
        A covariate of the table to leave out, if any.
    """
    return read_table(
        folder / "neuro" / f"{name}.csv",
        group="group",
        site="site",
        covariates=[column for column in COVARIATES[name] if column != exclude],
        regions="all",  # also regions that no atlas has
        exclude=[exclude] if exclude else [],  # otherwise it would become a region
    )


def real_tables() -> dict[str, Cohort]:
    """Return the real tables by name, each with two groups. Without tables, the result is empty.

    The tables are COBRE, the largest site of ABIDE, and the oldest and the youngest third of IXI.
    One site of ABIDE is used, because 80 subjects of 20 sites would be only 4 per site. Covariates
    are age, sex and intracranial volume, and in IXI also the quality of the scans. Two covariates
    are left out: the age in IXI, because it defines the groups, and the IQ in ABIDE, because autism
    affects it.
    """
    folder = data_folder()
    if folder is None or not (folder / "neuro").is_dir():
        return {}
    abide = read_neuro(folder, "abide1_asd", exclude="fiq")
    ixi = read_neuro(folder, "ixi_age", exclude="age")
    return {
        "cobre": one_site(read_neuro(folder, "cobre_scz")),
        "abide": one_site(abide.subset(abide.site == "NYU")),
        "ixi": one_site(ixi.subset(groups=["OLD", "YOUNG"])),
    }


def one_site(cohort: Cohort) -> Cohort:
    """Return the cohort without its sites if there is only one site."""
    several = cohort.site is not None and len(np.unique(cohort.site)) > 1
    return cohort if several else replace(cohort, site=None)


def require_two_groups(cohort: Cohort) -> None:
    """Raise InputError unless the table has exactly two groups."""
    if len(cohort.groups) != 2:
        raise InputError("groups.not-two", groups=cohort.groups).says(
            "the experiment compares two groups, not {groups}", "Give {group=}, or two {groups=}."
        )


def most_different(cohort: Cohort, n_regions: int = 40) -> Cohort:
    """Keep the regions that differ most between two groups, by Welch's t.

    All subjects take part in the choice, as in the paper. This is no problem if nothing is
    predicted.
    """
    first, second = (cohort.of_group(group) for group in cohort.groups)
    spread = np.sqrt(first.var(axis=0) / len(first) + second.var(axis=0) / len(second))
    t = np.abs(first.mean(axis=0) - second.mean(axis=0)) / spread
    # A stable sort decides ties by the order of the table. The result is in that order too.
    chosen = np.sort(np.argsort(-t, kind="stable")[:n_regions])
    return cohort.subset(regions=[cohort.regions[k] for k in chosen])


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return the lines of a table."""
    return [row(header), "|" + "---|" * len(header), *map(row, rows)]


def row(cells: Iterable[Any]) -> str:
    """Return one line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def provenance(study: Mapping[str, Any]) -> str:
    """Return a sentence on the command and versions of a study, given its study.json."""
    versions = ", ".join(f"{name} {version}" for name, version in study["versions"].items())
    return f"Command: `{' '.join(study['command'])}`. Versions: {versions}."
