"""The steps of a comparison, one function each."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from sgbn.cohort import Cohort
from sgbn.comparison.accuracy import Accuracy
from sgbn.comparison.cross_validation import cross_validate, fit_model, permuted_accuracies
from sgbn.comparison.deviating import kept_deviations
from sgbn.comparison.finished_steps import seconds_of_step
from sgbn.comparison.networks import fast_learner, learn_ensemble
from sgbn.comparison.refined import refine, with_warnings
from sgbn.comparison.result import Comparison
from sgbn.comparison.sensitivity import Sensitivity, repeat_tests
from sgbn.comparison.settings import Settings
from sgbn.exceptions import InputError, warn
from sgbn.inference import (
    Deviations,
    Differences,
    EdgeConfidence,
    ModelComparison,
    NormativeDeviation,
    Replication,
    compare_models,
    edge_differences,
    edges_beside_factors,
    replicate_differences,
)
from sgbn.inference.confidence import sample_confidence
from sgbn.inference.difference_input import read_group_data
from sgbn.inference.difference_request import check_request
from sgbn.inference.exchange import Exchange
from sgbn.preprocessing import prepare
from sgbn.preprocessing.preparation import impute, regions_table
from sgbn.runs import Study, parallel
from sgbn.structure import SGBN
from sgbn.structure.base import LearnedNetwork
from sgbn.structure.ensemble import SGBNEnsemble
from sgbn.structure.ensemble.sgbn_ensemble import MIN_ROWS_TO_HALVE
from sgbn.structure.group_warnings import warnings_about
from sgbn.structure.samples import group_sample
from sgbn.types import Array, Mask

STEPS = {
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
# What follows the first report. `models` takes part of the networks' support away: it comes before.
SLOW = ("replication", "sensitivity", "refinements", "deviations", "accuracy", "model")
TOO_FEW = f"halves of a group of fewer than {MIN_ROWS_TO_HALVE} subjects say nothing about edges."


@dataclass
class Job:
    """What all steps of a comparison share."""

    cohort: Cohort  # as reviewed
    prepared: Cohort
    settings: Settings
    learner: LearnedNetwork  # of the networks
    searcher: Any  # of all other steps
    study: Study
    on_step: Callable[[str], None]
    skipped: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def groups(self) -> list[str]:
        """The reference first, then the others by name."""
        reference = self.settings.reference
        return sorted(self.cohort.groups, key=lambda group: (group != reference, group))

    @cached_property
    def table(self) -> pd.DataFrame:
        """Prepared regions for learners that take tables."""
        return regions_table(self.prepared)

    @contextmanager
    def step(self, name: str, *, is_kept: bool = True) -> Iterator[None]:
        """Time a step; one that the data do not allow is skipped, and its reason kept.

        A step whose results no study keeps (`is_kept`) is not noted as finished.
        """
        self.on_step(STEPS[name])
        begin = time.perf_counter()
        try:
            yield
        except InputError as error:
            self.skipped[name] = str(error)
        except Exception as error:
            error.add_note(f"in the step: {STEPS[name]}")
            raise
        took = time.perf_counter() - begin
        folder = self.study.folder if is_kept and name not in self.skipped else None
        self.seconds[name] = seconds_of_step(folder, name, took)


def networks_of(job: Job) -> dict[str, LearnedNetwork]:
    """Learn one network per group."""
    with job.step("networks", is_kept=isinstance(job.learner, SGBNEnsemble)):
        if isinstance(job.learner, SGBNEnsemble):
            found: dict[str, LearnedNetwork] = {}
            for number, group in enumerate(job.groups):
                study = job.study.part(f"networks-{number}")
                with warnings_about(f"group {group!r}"):
                    found[group] = learn_ensemble(job.learner, job.prepared, group, study)
            return found
        parts = [job.table[job.cohort.group == group] for group in job.groups]
        learn = partial(_learned, job.learner)
        fitted = _in_parallel(learn, zip(job.groups, parts, strict=True), job.study.n_jobs)
        return dict(zip(job.groups, fitted, strict=True))
    raise InputError(job.skipped["networks"])


def _learned(learner: LearnedNetwork, part: tuple[str, pd.DataFrame]) -> LearnedNetwork:
    group, rows = part
    with warnings_about(f"group {group!r}"):
        return clone(learner).fit(rows)


def models_of(job: Job, found: Comparison) -> dict[str, Any]:
    """Compare each network with models without edges, and refit its edges beside factors.

    `compare_models` takes sites and covariates out by each training part, so that it gets the
    regions with them. The edges are refitted to the subjects that the network was learned from.
    """
    models: dict[str, ModelComparison] = {}
    beside: dict[str, NDArray[Any]] = {}
    if "models" not in job.settings.steps:
        return {}
    with job.step("models"):
        cohort = impute(job.cohort)
        for number, group in enumerate(job.groups):
            with warnings_about(f"group {group!r}"):
                models[group] = compare_models(
                    cohort,
                    group,
                    job.searcher,
                    random_state=job.settings.seed,
                    **asdict(job.study.part(f"models-{number}")),
                )
                beside[group] = edges_beside_factors(
                    found.kept(group),
                    found.learners[group],
                    models[group].leading_factors,
                )
    return {"models": models, "beside_factors": beside}


def confidence_of(job: Job, networks: Mapping[str, LearnedNetwork]) -> dict[str, EdgeConfidence]:
    """Say how sure the edges are: from the ensembles, or from half samples of each group."""
    found: dict[str, EdgeConfidence] = {}
    if isinstance(job.learner, SGBNEnsemble):
        for group, learner in networks.items():
            own = getattr(learner, "confidence_", None)
            if own is not None:
                found[group] = own
            elif job.learner.n_pairs:
                job.skipped["confidence"] = TOO_FEW
        return found
    if "confidence" not in job.settings.steps:
        return found
    with job.step("confidence"):
        for number, group in enumerate(job.groups):
            sample = group_sample(job.prepared, group)
            with warnings_about(f"group {group!r}"):
                found[group] = sample_confidence(
                    # column by column in memory: the folder of a study has a hash of these bytes
                    sample._replace(values=np.asfortranarray(sample.values)),
                    fast_learner(job.learner),
                    job.settings.n_pairs,
                    job.settings.seed,
                    job.study.part(f"confidence-{number}"),
                )
    return found


def tests_of(job: Job, networks: Mapping[str, LearnedNetwork]) -> Differences | None:
    """Test which edges differ between the groups."""
    if "differences" not in job.settings.steps:
        return None
    with job.step("differences"):
        return edge_differences(
            job.prepared,
            reference=job.settings.reference,
            learner=job.searcher if isinstance(job.searcher, SGBN) else None,
            outliers=_outliers(job, networks),
            edges=job.settings.edges,
            among=job.settings.among,
            n_permutations=job.settings.n_permutations,
            random_state=job.settings.seed,
            **asdict(job.study.part("differences")),
        )
    return None


def replication_of(job: Job) -> Replication | None:
    """Test again what one part of the subjects shows; each part is prepared by itself."""
    if "replication" not in job.settings.steps:
        return None
    with job.step("replication"):
        return replicate_differences(
            job.cohort,
            job.settings.replicate or "",
            prepare=prepare,
            reference=job.settings.reference,
            learner=job.searcher if isinstance(job.searcher, SGBN) else None,
            outliers="keep" if job.settings.outliers == "keep" else "trim",
            level=job.settings.level,
            n_permutations=job.settings.n_permutations,
            random_state=job.settings.seed,
            **asdict(job.study.part("replication")),
        )
    return None


def sensitivity_of(job: Job, networks: Mapping[str, LearnedNetwork]) -> Sensitivity | None:
    """Repeat the tests with other choices; not if the tests themselves could not be done."""
    if "sensitivity" not in job.settings.steps or "differences" in job.skipped:
        return None
    searcher = job.searcher if isinstance(job.searcher, SGBN) else SGBN(outliers="keep")
    with job.step("sensitivity"):
        outliers = _outliers(job, networks)
        return repeat_tests(job.prepared, job.settings, searcher, outliers, job.study)
    return None


def _outliers(job: Job, networks: Mapping[str, LearnedNetwork]) -> str | Mask:
    """Say which subjects the tests leave out: those that the networks do without.

    Of learners that do not look for them, the tests find them by themselves.
    """
    if job.settings.outliers == "keep":
        return "keep"
    known = {group: getattr(learner, "outliers_", None) for group, learner in networks.items()}
    labels, far = np.asarray(job.cohort.group), np.zeros(len(job.cohort), bool)
    for group, own in known.items():
        if own is None:
            return "trim"
        far[labels == group] = own
    return far


def refinements_of(job: Job) -> dict[str, NDArray[Any]]:
    """Refine the networks so that they tell the groups apart."""
    found: dict[str, NDArray[Any]] = {}
    if "refinements" not in job.settings.steps:
        return found
    with job.step("refinements"):
        labels = np.asarray(job.cohort.group)
        part, data = job.study.part("refinements"), job.cohort.fingerprint
        methods = job.settings.refinements
        found.update(refine(methods, job.searcher, job.table, labels, part, data))
    return found


def deviations_of(job: Job) -> Deviations | None:
    """Say how far each subject is from the network of the reference."""
    if "deviations" not in job.settings.steps:
        return None
    with job.step("deviations"):
        own = np.asarray(job.cohort.group) == job.groups[0]
        norm = NormativeDeviation(
            clone(job.searcher), random_state=job.settings.seed, n_jobs=job.study.n_jobs
        )
        part, data = job.study.part("deviations"), job.cohort.fingerprint
        return kept_deviations(norm, job.table, own, job.cohort.units, part, data)
    return None


def accuracy_of(job: Job) -> Accuracy | None:
    """Measure how well the groups are told apart in subjects that were left out."""
    if "accuracy" not in job.settings.steps:
        return None
    with job.step("accuracy"):
        part = job.study.part("accuracy")
        found = cross_validate(job.cohort, job.settings, part, job.searcher)
        permute = partial(_permuted, job)
        return replace(found, permuted=permuted_by(job, permute))
    return None


def _permuted(job: Job, exchange: Exchange, study: Study) -> Array:
    return permuted_accuracies(job.cohort, exchange, job.settings, study)


def permuted_by(job: Job, permute: Callable[[Exchange, Study], Array]) -> Array:
    """Accuracies with exchanged labels; none where the design allows too few, with a warning.

    `permute` computes them, given what the design allows and where finished work is kept.
    """
    if not job.settings.accuracy_permutations:
        return np.empty(0)
    part = job.study.part("accuracy-permuted")
    try:
        data = read_group_data(job.prepared)
        check_request(job.settings.accuracy_permutations, "two-sided", job.settings.seed, data)
        return permute(data.exchange(), part)
    except InputError as error:
        warn(f"the accuracy was not tested by exchanges of the labels: {error}")
        return np.empty(0)


def model_of(job: Job, accuracy: Accuracy | None) -> Pipeline | None:
    """Fit the classifier to all subjects; not if it is unknown how well it does."""
    if accuracy is None or "model" not in job.settings.steps:
        return None
    with job.step("model"):
        return fit_model(job.cohort, job.settings, job.study.part("model"))
    return None


def _in_parallel(function: Callable[[Any], Any], tasks: Iterable[Any], n_jobs: int | None) -> Any:
    """Run tasks in parallel, and give their warnings here: those of a process are lost."""
    done = parallel(partial(with_warnings, function), tasks, n_jobs)
    for message in dict.fromkeys(text for _, texts in done for text in texts):
        warn(message)
    return [result for result, _ in done]
