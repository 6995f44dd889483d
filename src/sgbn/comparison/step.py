"""The steps of a comparison, with one function per step.

`STEPS` lists them, and a `Job` holds what they share. The functions of tables come first. Those of
time series follow, with the steps and settings that time series do not have.

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
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import Exchange
from sgbn.cohort.rows import prepared_rows, rows_of_groups
from sgbn.cohort.series import SeriesCohort
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps.cross_validation import cross_validate, fit_model, permuted_accuracies
from sgbn.comparison.steps.deviations import kept_deviations
from sgbn.comparison.steps.networks import fast_learner, fit_with_halves, learn_network
from sgbn.comparison.steps.refinements import in_parallel, refine
from sgbn.comparison.steps.sensitivity import (
    FACTORS,
    Sensitivity,
    fewer_permutations,
    other_choices,
)
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
from sgbn.learn.ensemble import MIN_ROWS_TO_HALVE, SGBNEnsemble
from sgbn.learn.series import MIN_SUBJECTS_TO_HALVE, SeriesSGBN
from sgbn.learn.sgbn import SGBN
from sgbn.prepare.pipeline import impute, prepare, regions_table
from sgbn.runs.files import write_json
from sgbn.runs.study import Study

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.result import Comparison
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

    @property
    def test_searcher(self) -> SGBN | None:
        """Return the learner that finds the order for the tests, or None for the default."""
        return self.searcher if isinstance(self.searcher, SGBN) else None

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


def networks_of(job: Job) -> dict[str, LearnedNetwork]:
    """Learn one network per group."""
    if isinstance(job.learner, SGBNEnsemble):
        return networks_by(job, partial(learn_network, job.learner, job.prepared))

    def learn() -> dict[str, LearnedNetwork]:
        parts = [(group, job.table[job.prepared.group == group]) for group in job.groups]
        fitted = in_parallel(partial(_learned, job.learner), parts, job.study.n_jobs)
        return dict(zip(job.groups, fitted, strict=True))

    return _learn_networks(job, learn, is_kept=False)


def networks_by(
    job: Job, learn: Callable[[str, Study], LearnedNetwork]
) -> dict[str, LearnedNetwork]:
    """Learn one network per group by a learner that keeps its work in a study.

    The groups are learned one after the other, because their half samples run in parallel.
    """

    def learn_all() -> dict[str, LearnedNetwork]:
        networks = {}
        for number, group in enumerate(job.groups):
            with warnings_about(group):
                networks[group] = learn(group, job.study.part(f"networks-{number}"))
        return networks

    return _learn_networks(job, learn_all, is_kept=True)


def _learn_networks(
    job: Job, learn: Callable[[], dict[str, LearnedNetwork]], *, is_kept: bool
) -> dict[str, LearnedNetwork]:
    """Learn the networks. Raise InputError if it fails, as nothing can be compared without them."""
    networks = job.run("networks", learn, is_kept=is_kept)
    if networks is None:
        raise InputError(job.skipped["networks"])
    return networks


def _learned(learner: LearnedNetwork, part: tuple[str, pd.DataFrame]) -> LearnedNetwork:
    group, rows = part  # only the rows of this group, because they are sent to a process
    with warnings_about(group):
        return clone(learner).fit(rows)


def models_of(job: Job, comparison: Comparison) -> dict[str, Any]:
    """Compare each network with models without edges, and refit its edges with hidden factors.

    `compare_models` takes sites and covariates out in each training part, so it gets regions with
    these effects. The edges are refitted to the subjects from which the network was learned.
    """
    models: dict[str, ModelComparison] = {}
    refitted: dict[str, NDArray[Any]] = {}

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
                refitted[group] = edges_beside_factors(
                    comparison.kept(group),
                    comparison.learners[group],
                    models[group].leading_factors,
                )

    # If a group fails, the dictionaries keep the groups before it. `of_groups` names the others.
    job.run("models", compare_all)
    return {"models": models, "beside_factors": refitted}


def confidence_of(job: Job, networks: Mapping[str, LearnedNetwork]) -> dict[str, EdgeConfidence]:
    """Return the confidence of edges, from the ensembles or from half samples of each group."""
    if isinstance(job.learner, SGBNEnsemble):
        return learned_confidence(job, networks, MIN_ROWS_TO_HALVE)
    confidence: dict[str, EdgeConfidence] = {}

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


def learned_confidence(
    job: Job, networks: Mapping[str, LearnedNetwork], least: int
) -> dict[str, EdgeConfidence]:
    """Return the confidence of learners with half samples. If a group has none, note why."""
    known = {group: getattr(learner, "confidence_", None) for group, learner in networks.items()}
    confidence = {group: of_group for group, of_group in known.items() if of_group is not None}
    if getattr(job.learner, "n_pairs", 0) and len(confidence) < len(networks):
        job.skipped["confidence"] = Problem("halves.small-group", least=least).says(
            "a group of fewer than {least} subjects is too small for half samples"
        )
    return confidence


def tests_of(job: Job, networks: Mapping[str, LearnedNetwork]) -> Differences | None:
    """Test which edges differ between the groups."""
    return job.run(
        "differences",
        lambda: edge_differences(
            job.prepared,
            learner=job.test_searcher,
            outliers=_outliers(job, networks),
            edges=job.settings.edges,
            among=job.settings.among,
            **job.test_options("differences"),
        ),
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


def sensitivity_of(job: Job, networks: Mapping[str, LearnedNetwork]) -> Sensitivity | None:
    """Repeat the tests with other choices, unless the tests themselves could not be done."""
    searcher = job.test_searcher or SGBN(outliers="keep")
    test = partial(edge_differences, job.prepared, outliers=_outliers(job, networks))
    return sensitivity_by(job, test, lambda: other_choices(job.prepared, searcher))


def sensitivity_by(
    job: Job,
    test: Callable[..., Differences],
    choices: Callable[[], Mapping[str, Mapping[str, Any]]],
) -> Sensitivity | None:
    """Repeat the tests once per choice, with fewer permutations.

    `choices` returns the keywords of `test` that are different. Only the tests of all edges are
    repeated, not the tests of edges and regions that were named beforehand.
    """
    if "differences" in job.skipped:  # `skipped` has the reason of the tests themselves
        return None
    n_permutations = fewer_permutations(job.settings)

    def repeat() -> Sensitivity:
        tests = {}
        for name, choice in choices().items():  # called inside the step, as another order is slow
            options = job.test_options(f"sensitivity-{name}", n_permutations)
            tests[name] = test(**choice, **options)
        return Sensitivity(tests)

    return job.run("sensitivity", repeat)


def _outliers(job: Job, networks: Mapping[str, LearnedNetwork]) -> str | Mask:
    """Return a mask of the subjects that the networks, and so the tests, leave out.

    Return "keep" if no subject is left out, or "trim" if the tests must look for outliers, because
    the learner does not.
    """
    if job.settings.outliers == "keep":
        return "keep"
    labels, far = np.asarray(job.cohort.group), np.zeros(len(job.cohort), bool)
    for group, learner in networks.items():
        of_group = getattr(learner, "outliers_", None)
        if of_group is None:
            return "trim"
        far[labels == group] = of_group
    return far


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
    cohort, settings = job.cohort, job.settings
    return accuracy_by(
        job,
        lambda study: cross_validate(cohort, settings, study, job.searcher),
        lambda exchange, study: permuted_accuracies(cohort, exchange, settings, study),
    )


def accuracy_by(
    job: Job,
    validate: Callable[[Study], Accuracy],
    permute: Callable[[Exchange, Study], Array],
) -> Accuracy | None:
    """Cross-validate, also with exchanged labels if the settings ask for it.

    `permute` computes the accuracies, given the allowed exchanges and the study that keeps results.
    """

    def measure() -> Accuracy:
        accuracy = validate(job.study.part("accuracy"))
        return replace(accuracy, permuted=_permuted(job, permute))

    return job.run("accuracy", measure)


def _permuted(job: Job, permute: Callable[[Exchange, Study], Array]) -> Array:
    """Return accuracies with exchanged labels. Warn if the design allows too few exchanges."""
    if not job.settings.accuracy_permutations:
        return np.empty(0)
    try:
        # The design is the same as in the tests: which rows may be exchanged.
        design = rows_of_groups(job.prepared).design
        check_request(job.settings.accuracy_permutations, "two-sided", job.settings.seed, design)
        return permute(design.exchange(), job.study.part("accuracy-permuted"))
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


# Steps of tables that time series do not have, with the reason for messages.
NOT_FOR_SERIES = {
    "models": "the comparison of a network with hidden factors needs one row per subject",
    "replication": "differences of time series are not yet tested in two parts of the subjects",
    "refinements": "they need networks that were learned from one row per subject",
    "deviations": "they need one row per subject",
    "model": "sgbn predict reads tables, but not yet time series",
}
# Settings that time series cannot have, with the reason. A value without effect is allowed.
REFUSED = {
    "replicate": NOT_FOR_SERIES["replication"],
    "select": "classifiers of time series use all regions",
    "transform": "networks are learned from the filtered series without a transformation",
    "outliers": "networks keep all subjects, so outliers must be removed from the data beforehand",
}


def series_settings(settings: Settings) -> Settings:
    """Return the settings without the steps that time series do not have.

    Raises
    ------
    InputError
        If a setting asks for something that time series cannot have.
    """
    for name, why in REFUSED.items():
        value = getattr(settings, name)
        if value and (name, value) not in (("transform", "none"), ("outliers", "keep")):
            raise InputError("series.setting", argument=name, value=value, why=why).says(
                "{argument} {value} is not for time series: {why:s}", "Leave it out."
            )
    # These steps are on by default. They are left out without a message, as nobody asked for them.
    return replace(settings, models=False, refinements=(), deviations=False, model=False)


def series_learner(learner: LearnedNetwork | None, settings: Settings) -> LearnedNetwork:
    """Return the learner of the networks: the given `SeriesSGBN`, or one from the settings."""
    if learner is None:
        return SeriesSGBN(n_pairs=settings.n_pairs, random_state=settings.seed)
    if not isinstance(learner, SeriesSGBN):
        raise InputError("learner.table", learner=type(learner).__name__).says(
            "{learner:s} does not learn from time series", "Give SeriesSGBN(), or no learner."
        )
    return learner


def networks_of_series(job: Job) -> dict[str, LearnedNetwork]:
    """Learn one network per group. Half samples balance sites and keep persons together."""
    return networks_by(job, partial(series_network, job.learner, job.cohort))


def series_network(learner: LearnedNetwork, cohort: Cohort, group: str, study: Study) -> SeriesSGBN:
    """Learn the network of one group."""
    part = _series(cohort).subset(groups=[group])
    # Persons and families are counted instead of rows, because halves keep their rows together.
    can_halve = part.unit_counts[group] >= MIN_SUBJECTS_TO_HALVE
    return fit_with_halves(cast(SeriesSGBN, learner), can_halve, study, part)


def confidence_of_series(
    job: Job, networks: Mapping[str, LearnedNetwork]
) -> dict[str, EdgeConfidence]:
    """Return the confidence of edges, from half samples of the subjects of each group."""
    return learned_confidence(job, networks, MIN_SUBJECTS_TO_HALVE)


def tests_of_series(
    job: Job,
    networks: Mapping[str, LearnedNetwork],  # noqa: ARG001
) -> Differences | None:
    """Test which weights of the subjects differ between the groups."""
    return job.run(
        "differences",
        lambda: series_differences(
            _series(job.prepared),
            learner=_learner(job),
            edges=job.settings.edges,
            among=job.settings.among,
            **job.test_options("differences"),
        ),
    )


def sensitivity_of_series(
    job: Job,
    networks: Mapping[str, LearnedNetwork],  # noqa: ARG001
) -> Sensitivity | None:
    """Repeat the tests with half and twice the penalty on edges."""
    learner = _learner(job)
    choices = {
        name: {"learner": clone(learner).set_params(penalty=factor * learner.penalty)}
        for name, factor in FACTORS.items()
    }
    return sensitivity_by(job, partial(series_differences, _series(job.prepared)), lambda: choices)


def accuracy_of_series(job: Job) -> Accuracy | None:
    """Measure how well classifiers recognise the groups of subjects that they have not seen."""
    # This is not the prepared cohort, because each training part fills gaps in covariates itself.
    cohort, settings, learner = _series(job.cohort), job.settings, _learner(job)
    return accuracy_by(
        job,
        lambda study: cross_validate_series(cohort, settings, study, learner),
        lambda exchange, study: permuted_series_accuracies(
            cohort, exchange, settings, study, learner
        ),
    )


def _series(cohort: Cohort) -> SeriesCohort:
    return cast(SeriesCohort, cohort)  # `flow_of` calls these steps only for this kind


def _learner(job: Job) -> SeriesSGBN:
    return cast(SeriesSGBN, job.learner)


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
