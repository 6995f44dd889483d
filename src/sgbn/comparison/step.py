"""The steps of a comparison of tables or of time series, with one function per step.

`STEPS` lists them, and a `Job` holds what they share.

A finished step writes ``steps/NAME.json`` in the folder of finished work, with the seconds that it
took. A later start reads the results of the step from the same folder, and reports the seconds of
the start that computed them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.rows import prepared_rows, rows_of_groups
from sgbn.cohort.series import SeriesCohort
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps.cross_validation import cross_validate, fit_model, permuted_accuracies
from sgbn.comparison.steps.deviations import kept_deviations
from sgbn.comparison.steps.networks import (
    fast_learner,
    fewest_to_halve,
    learn_network,
    rows_to_learn,
)
from sgbn.comparison.steps.refinements import in_parallel, refine
from sgbn.comparison.steps.sensitivity import Sensitivity, fewer_permutations, other_choices
from sgbn.comparison.steps.series_accuracy import cross_validate_series, permuted_series_accuracies
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Mask
from sgbn.inference.confidence import sample_confidence
from sgbn.inference.deviation import Deviations, NormativeDeviation
from sgbn.inference.difference_problem import check_request
from sgbn.inference.difference_tables import Differences
from sgbn.inference.differences import edge_differences
from sgbn.inference.models import ModelComparison, compare_models, edges_beside_factors
from sgbn.inference.replication import Replication, replicate_differences
from sgbn.inference.series_differences import series_differences
from sgbn.learn.base import LearnedNetwork, warnings_about
from sgbn.learn.confidence import EdgeConfidence
from sgbn.learn.ensemble import ConfidentNetwork
from sgbn.learn.series import SeriesSGBN
from sgbn.learn.sgbn import SGBN
from sgbn.prepare.outliers import trimmed
from sgbn.prepare.pipeline import impute, prepare, regions_table
from sgbn.runs.files import write_json
from sgbn.runs.study import Study

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.steps.accuracy import Accuracy


STEPS = {  # the steps in their order, with the text of the terminal when a step begins
    "networks": "One network per group",
    "models": "Is a network the right picture?",
    "confidence": "Confidence of edges, from half samples",
    "differences": "Tests of differences, by permutations",
    "replication": "Do the differences come back in other subjects?",
    "sensitivity": "Do the differences depend on the choices made?",
    "refinements": "Discriminative refinement",
    "deviations": "Deviation of each subject",
    "accuracy": "Telling the groups apart, cross-validated",
    "model": "The classifier, fitted to all subjects",
}
# Steps after the first report. `models` comes before it, as it decides which arrows are supported.
SLOW = ("replication", "sensitivity", "refinements", "deviations", "accuracy", "model")

Result = TypeVar("Result")


@dataclass
class Job:
    """The data, settings and notes that all steps of a comparison share."""

    cohort: Cohort  # the reviewed cohort
    prepared: Cohort  # the same subjects, imputed, harmonised and with covariates taken out
    settings: Settings
    learner: LearnedNetwork  # the learner of the networks, not fitted
    searcher: Any  # the learner of all other steps, not fitted
    study: Study
    on_step: Callable[[str], None]  # it gets the title of each step that begins
    skipped: dict[str, Problem] = field(default_factory=dict)  # the reasons, by step
    seconds: dict[str, float] = field(default_factory=dict)  # by step

    @property
    def groups(self) -> list[str]:
        """Return the reference, and then the other groups by name."""
        reference = self.settings.reference  # False sorts before True
        return sorted(self.cohort.groups, key=lambda group: (group != reference, group))

    @cached_property
    def table(self) -> pd.DataFrame:
        """Return the prepared regions as a table."""
        return regions_table(self.prepared)

    @cached_property
    def outliers(self) -> Mask:
        """Return a mask of the subjects that the networks leave out."""
        labels, far = np.asarray(self.cohort.group), np.zeros(len(self.cohort), bool)
        # A setting of None means that the learner does not look for outliers.
        if self.settings.outliers == "trim":
            for group in self.groups:
                far[labels == group] = trimmed(rows_to_learn(self.learner, self.prepared, group))
        return far

    @property
    def test_searcher(self) -> Any:
        """Return the learner that finds the order for the tests, or None for the default."""
        return self.searcher if isinstance(self.searcher, SGBN | SeriesSGBN) else None

    def test_options(self, part: str, n_permutations: int | None = None) -> dict[str, Any]:
        """Return the keywords of all tests of differences. `part` names their part of the study."""
        settings = self.settings
        return {
            "reference": settings.reference,
            "n_permutations": settings.n_permutations if n_permutations is None else n_permutations,
            "random_state": settings.seed,
            **asdict(self.study.part(part)),
        }

    def run(self, name: str, work: Callable[[], Result], *, is_kept: bool = True) -> Result | None:
        """Return the result of a step, or None if it is not requested or the data do not allow it.

        If the data do not allow the step, `skipped` gets the reason. If the results of the step are
        not kept in the study folder (`is_kept` is False), the step is not noted as finished.
        """
        if name not in self.settings.steps:
            return None
        self.on_step(STEPS[name])
        begin, result = time.perf_counter(), None
        try:
            result = work()
        except InputError as error:
            self.skipped[name] = error.problem
        except Exception as error:
            # This is an error of the program, so the traceback is shown, with the step.
            error.add_note(f"in the step: {STEPS[name]}")
            raise
        took = time.perf_counter() - begin
        folder = self.study.folder if is_kept and name not in self.skipped else None
        self.seconds[name] = seconds_of_step(folder, name, took)
        return result


def first_steps(job: Job) -> dict[str, Any]:
    """Do the steps of a first report. The keys of the results are attributes of `Comparison`."""
    networks = networks_of(job)
    return {
        "learners": networks,
        "outliers": job.outliers,
        **models_of(job, networks),
        "confidence": confidence_of(job, networks),
        "tests": tests_of(job),
    }


def slow_steps(job: Job) -> dict[str, Any]:
    """Do the steps in `SLOW`, which come after the first report; see `first_steps`."""
    done: dict[str, Any] = {
        "replication": replication_of(job),
        "sensitivity": sensitivity_of(job),
        "refinements": refinements_of(job),
        "deviations": deviations_of(job),
        "accuracy": accuracy_of(job),
    }
    # This is the last step, because the model is fitted only if its accuracy is known.
    return done | {"model": model_of(job, done["accuracy"])}


def networks_of(job: Job) -> dict[str, LearnedNetwork]:
    """Learn one network per group. Raise InputError if it fails: nothing can be compared then."""

    def one_by_one() -> dict[str, LearnedNetwork]:
        networks = {}
        for number, group in enumerate(job.groups):
            with warnings_about(group):
                part = job.study.part(f"networks-{number}")
                networks[group] = learn_network(job.learner, job.prepared, group, part)
        return networks

    def in_processes() -> dict[str, LearnedNetwork]:
        parts = [(group, job.table[job.prepared.group == group]) for group in job.groups]
        fitted = in_parallel(partial(_learned, job.learner), parts, job.study.n_jobs)
        return dict(zip(job.groups, fitted, strict=True))

    # Learners with half samples keep their work, and their half samples run in parallel.
    is_kept = isinstance(job.learner, ConfidentNetwork)
    networks = job.run("networks", one_by_one if is_kept else in_processes, is_kept=is_kept)
    if networks is None:
        raise InputError(job.skipped["networks"])
    return networks


def _learned(learner: LearnedNetwork, part: tuple[str, pd.DataFrame]) -> LearnedNetwork:
    group, rows = part  # only the rows of this group, because they are sent to a process
    with warnings_about(group):
        return clone(learner).fit(rows)


def models_of(job: Job, networks: Mapping[str, LearnedNetwork]) -> dict[str, Any]:
    """Compare each network with models without edges, and refit its edges with hidden factors.

    `compare_models` takes sites and covariates out in each training part, so it gets regions with
    these effects. The edges are refitted to the subjects from which the network was learned.
    """
    models: dict[str, ModelComparison] = {}
    refitted: dict[str, NDArray[Any]] = {}
    labels = np.asarray(job.prepared.group)

    def compare_all() -> None:
        cohort = impute(job.cohort)  # unlike `prepared`, it has the effects of site and covariates
        for number, group in enumerate(job.groups):
            with warnings_about(group):
                models[group] = compare_models(
                    cohort,
                    group,
                    job.searcher,
                    random_state=job.settings.seed,
                    **asdict(job.study.part(f"models-{number}")),
                )
                kept = job.prepared.subset((labels == group) & ~job.outliers)
                refitted[group] = edges_beside_factors(
                    kept, networks[group], models[group].leading_factors
                )

    # If a group fails, the dictionaries keep the groups before it. `of_groups` names the others.
    job.run("models", compare_all)
    return {"models": models, "beside_factors": refitted}


def confidence_of(job: Job, networks: Mapping[str, LearnedNetwork]) -> dict[str, EdgeConfidence]:
    """Return the confidence of edges, from the learners or from half samples of each group."""
    confidence: dict[str, EdgeConfidence] = {}
    if isinstance(job.learner, ConfidentNetwork):
        known = {
            group: getattr(learner, "confidence_", None) for group, learner in networks.items()
        }
        confidence = {group: of_group for group, of_group in known.items() if of_group is not None}
        if getattr(job.learner, "n_pairs", 0) and len(confidence) < len(networks):
            least = fewest_to_halve(job.learner)
            job.skipped["confidence"] = Problem("halves.small-group", least=least).says(
                "a group of fewer than {least} subjects is too small for half samples"
            )
        return confidence

    def learn_halves() -> None:
        for number, group in enumerate(job.groups):
            rows = prepared_rows(job.prepared, group)
            with warnings_about(group):
                confidence[group] = sample_confidence(
                    rows,
                    fast_learner(job.learner),
                    job.settings.n_pairs,
                    job.settings.seed,
                    job.study.part(f"confidence-{number}"),
                )

    job.run("confidence", learn_halves)  # if a group fails, the groups before it are kept
    return confidence


def _test(job: Job, part: str, n_permutations: int, **options: Any) -> Differences:
    """Test which edges differ between the groups. `part` names the part of the study."""
    # Options may replace the learner.
    options = {"learner": job.test_searcher} | options | job.test_options(part, n_permutations)
    if isinstance(job.prepared, SeriesCohort):
        return series_differences(job.prepared, **options)
    # A learner that does not look for outliers has no such setting. The tests then find them.
    outliers = "trim" if job.settings.outliers is None else job.outliers
    return edge_differences(job.prepared, outliers=outliers, **options)


def tests_of(job: Job) -> Differences | None:
    """Test which edges differ between the groups, or which weights of subjects of time series."""
    settings = job.settings
    named = {"edges": settings.edges, "among": settings.among}
    return job.run(
        "differences", lambda: _test(job, "differences", settings.n_permutations, **named)
    )


def replication_of(job: Job) -> Replication | None:
    """Test the differences of one part of the subjects again in the other part."""
    return job.run(
        "replication",
        lambda: replicate_differences(
            job.cohort,
            job.settings.replicate or "",
            prepare=prepare,  # each part is prepared by itself
            learner=job.test_searcher,
            # Each part finds its own outliers, as the networks' outliers come from all subjects.
            outliers="keep" if job.settings.outliers == "keep" else "trim",
            level=job.settings.level,
            **job.test_options("replication"),
        ),
    )


def sensitivity_of(job: Job) -> Sensitivity | None:
    """Repeat the tests with other choices, and with fewer permutations.

    Only the tests of all edges are repeated, not the tests of edges and regions that were named
    beforehand. Nothing is repeated if the tests themselves could not be done.
    """
    if "differences" in job.skipped:  # `skipped` has the reason of the tests themselves
        return None
    n_permutations = fewer_permutations(job.settings)

    def repeat() -> Sensitivity:
        searcher = job.test_searcher or SGBN(outliers="keep")
        choices = other_choices(job.prepared, searcher)
        return Sensitivity(
            {
                name: _test(job, f"sensitivity-{name}", n_permutations, **choice)
                for name, choice in choices.items()
            }
        )

    return job.run("sensitivity", repeat)


def refinements_of(job: Job) -> dict[str, NDArray[Any]]:
    """Refine the networks so that they tell the groups apart."""
    labels, part = np.asarray(job.cohort.group), job.study.part("refinements")
    methods, data = job.settings.refinements, job.cohort.fingerprint
    changes = job.run(
        "refinements", lambda: refine(methods, job.searcher, job.table, labels, part, data)
    )
    return changes or {}


def deviations_of(job: Job) -> Deviations | None:
    """Measure how far each subject is from the network of the reference."""
    reference = np.asarray(job.cohort.group) == job.groups[0]

    def measure() -> Deviations:
        # The folds of the reference keep persons and families (`units`) together.
        norm = NormativeDeviation(
            clone(job.searcher), random_state=job.settings.seed, n_jobs=job.study.n_jobs
        )
        part, data = job.study.part("deviations"), job.cohort.fingerprint
        return kept_deviations(norm, job.table, reference, job.cohort.units, part, data)

    return job.run("deviations", measure)


def accuracy_of(job: Job) -> Accuracy | None:
    """Measure how well classifiers recognise the groups of subjects that they have not seen."""
    # This is not the prepared cohort, because each training part is prepared by itself.
    cohort, settings, learner = job.cohort, job.settings, job.searcher

    def measure() -> Accuracy:
        part = job.study.part("accuracy")
        if isinstance(cohort, SeriesCohort):
            accuracy = cross_validate_series(cohort, settings, part, learner)
        else:
            accuracy = cross_validate(cohort, settings, part, learner)
        return replace(accuracy, permuted=_permuted(job))

    return job.run("accuracy", measure)


def _permuted(job: Job) -> Array:
    """Return accuracies with exchanged labels. Warn if the design allows too few exchanges."""
    cohort, settings = job.cohort, job.settings
    if not settings.accuracy_permutations:
        return np.empty(0)
    try:
        # The design is the same as in the tests: which rows may be exchanged.
        design = rows_of_groups(job.prepared).design
        check_request(settings.accuracy_permutations, "two-sided", settings.seed, design)
        # Exchanges of the rows of the cohort, which are in another order than those of the tests.
        exchange, part = job.prepared.design.exchange(), job.study.part("accuracy-permuted")
        if isinstance(cohort, SeriesCohort):
            return permuted_series_accuracies(cohort, exchange, settings, part, job.searcher)
        return permuted_accuracies(cohort, exchange, settings, part)
    except InputError as error:
        Problem("accuracy.untested", cause=error).warn(
            "the accuracy was not tested by exchanging the labels", "{cause}"
        )
        return np.empty(0)


def model_of(job: Job, accuracy: Accuracy | None) -> Pipeline | None:
    """Fit the classifier to all subjects, unless its accuracy is unknown."""
    if accuracy is None:
        return None
    return job.run("model", lambda: fit_model(job.cohort, job.settings, job.study.part("model")))


FOLDER, SECONDS = "steps", "seconds"  # the folder of the notes, and their only entry


def finished_steps(folder: str | Path | None) -> dict[str, float]:
    """Return the seconds of each finished step in a folder, by the name of the step."""
    notes = [] if folder is None else sorted((Path(folder) / FOLDER).glob("*.json"))
    noted = {path.stem: _seconds(path) for path in notes}
    return {name: seconds for name, seconds in noted.items() if seconds is not None}


def seconds_of_step(folder: str | Path | None, name: str, seconds: float) -> float:
    """Note the seconds of a finished step, unless a note exists. Return the seconds noted."""
    if folder is None:
        return seconds
    path = Path(folder) / FOLDER / f"{name}.json"
    noted = _seconds(path)
    if noted is None:  # the note of the first start stays, as later starts only read results
        path.parent.mkdir(exist_ok=True)
        write_json(path, {SECONDS: seconds})
    return seconds if noted is None else noted


def _seconds(path: Path) -> float | None:
    """Return the seconds of a note, or None if the note is missing or broken.

    A broken note must not stop a run, because it only loses the time of an earlier start.
    """
    try:
        return float(json.loads(path.read_text(encoding="utf-8"))[SECONDS])
    except (OSError, ValueError, TypeError, KeyError):
        return None
