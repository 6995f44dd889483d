"""The main job: one network per group, how sure it is, what differs, and who belongs where."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from sgbn.cohort import Cohort
from sgbn.comparison.accuracy import Accuracy
from sgbn.comparison.cross_validation import cross_validate, fit_model, permuted_accuracies
from sgbn.comparison.networks import default_ensemble, learn_ensemble, searcher_of
from sgbn.comparison.result import Comparison
from sgbn.comparison.sensitivity import Sensitivity, repeat_tests
from sgbn.comparison.settings import Settings
from sgbn.comparison.sources import check_settings, read_source
from sgbn.datasets.cohort import SimulatedCohort
from sgbn.datasets.group_networks import standardised
from sgbn.discriminative import CLSGBNClassifier, KLSGBNClassifier, MMSGBNClassifier
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
    replication_rows,
)
from sgbn.inference.confidence import sample_confidence
from sgbn.inference.difference_input import check_request, read_group_data
from sgbn.io.tables.files import Source
from sgbn.preprocessing import prepare
from sgbn.preprocessing.preparation import impute, regions_table
from sgbn.quality import review, review_prepared
from sgbn.quality.groups import check_reference
from sgbn.runs import ClusterWarning, Study, parallel
from sgbn.structure import SGBN
from sgbn.structure.base import NetworkEstimator
from sgbn.structure.ensemble import SGBNEnsemble
from sgbn.structure.ensemble.sgbn_ensemble import FEWEST_ROWS
from sgbn.structure.group_warnings import warnings_about
from sgbn.structure.robust import OutlierWarning
from sgbn.structure.samples import group_sample
from sgbn.types import Array, Labels, Mask

Learner = TypeVar("Learner", bound=NetworkEstimator)

REFINED_BY = {
    "KL-SGBN": KLSGBNClassifier,
    "MM-SGBN": MMSGBNClassifier,
    "CL-SGBN": CLSGBNClassifier,
}
ROBUST = {"outliers": "outliers", "transform": "column_transform"}  # setting -> parameter
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


TOO_FEW = f"halves of a group of fewer than {FEWEST_ROWS} subjects say nothing about edges."


@dataclass
class _Job:
    """What all steps of a comparison share."""

    cohort: Cohort  # as reviewed
    prepared: Cohort
    settings: Settings
    learner: NetworkEstimator  # of the networks
    searcher: NetworkEstimator  # of all other steps
    study: Study
    on_step: Callable[[str], None]
    skipped: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def groups(self) -> list[str]:
        reference = self.settings.reference
        return sorted(self.cohort.groups, key=lambda group: (group != reference, group))

    @cached_property
    def table(self) -> pd.DataFrame:
        """Prepared regions for learners that take tables."""
        return regions_table(self.prepared)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a step; one that the data do not allow is skipped, and its reason kept."""
        self.on_step(STEPS[name])
        begin = time.perf_counter()
        try:
            yield
        except InputError as error:
            self.skipped[name] = str(error)
        except Exception as error:
            error.add_note(f"in the step: {STEPS[name]}")
            raise
        self.seconds[name] = time.perf_counter() - begin


def compare(
    cohort: Cohort | Source,
    settings: Settings | None = None,
    *,
    learner: NetworkEstimator | None = None,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: bool = False,
    on_step: Callable[[str], None] | None = None,
    on_found: Callable[[Comparison], None] | None = None,
    **reading: Any,
) -> Comparison:
    """Compare the groups of a cohort, or of a table.

    Missing cells are imputed, sites harmonised and covariates regressed out over all subjects,
    within the groups, so that no difference between them is taken for an effect of age. Then: one
    network per group, whether hidden factors without edges predict unseen subjects better, how
    often half samples show its edges, tests of every edge for a difference,
    what moves when the networks are made to tell the groups apart, how far each subject is from the
    reference group, and the cross-validated accuracy of classifiers, for which `make_analysis`
    prepares each training part by itself.

    Networks, half samples and tests of differences leave out subjects that lie far from the others
    of their group, unless ``settings.outliers`` says otherwise; `Comparison.left_out` and
    `Differences.left_out` name them. Refinements and classifiers have all subjects. Only networks
    and half samples have transformed values.

    Parameters
    ----------
    cohort : Cohort, DataFrame or path
        With two or more groups. What is no cohort is read by `read_table`.
    settings : Settings, optional
        What is done, and how thoroughly; ``Settings.quick()`` for a first look.
    learner : estimator, optional
        Of the networks: any learner of sgbn; by default an `SGBNEnsemble` with `n_pairs` and the
        seed of the settings. An ensemble that is given is used as it is, with its own `n_pairs`.
        Only its networks come with a direction that is supported or not; of another learner,
        networks of half samples are learned in a step of their own (by an `SGBN` without kicks).

        The other steps learn hundreds of networks. They have the learner that is given, and in
        place of an ensemble `SGBN` with its prior knowledge and one gamma for all groups, that of
        the largest: an ensemble's own gamma is that of a prior. The tests search for a common order
        by `SGBN` in any case. The first classifier, `SGBNClassifierCV`, chooses its own sparsity.
    n_jobs : int, optional
        Processes. Results do not depend on it.
    folder : path, optional
        Keeps finished work; a second start does only what is missing.
    progress : bool
        Show bars with the time left; in a log file, lines.
    on_step : callable, optional
        Called with a few words at the beginning of each step.
    on_found : callable, optional
        Called once with networks, their confidence and the tests, as soon as these are there and if
        slower steps follow. `Comparison.pending` names the steps that are still to come.
    **reading
        Keywords of `read_table` where a table is given: ``group="dx"``, ``covariates=["age"]``,
        ``site="scanner"``, ...

    Returns
    -------
    Comparison
        `sgbn.report.write_comparison` makes a report, tables and pictures of it.

    Raises
    ------
    InputError
        If the groups cannot be compared at all. A single step that the data do not allow is left
        out; `Comparison.skipped` says why.
    """
    settings = check_settings(settings)
    own_keywords = tuple(inspect.signature(compare).parameters)[1:-1]  # no source, no **reading
    cohort = read_source(cohort, reading, own_keywords)
    reviewed = review(cohort, rows_are_subjects=settings.rows_are_subjects)
    usable = reviewed.require()
    reviewed = reviewed.with_findings(check_reference(usable, settings.reference))
    settings = settings.with_reference(usable.groups)
    settings.check_names(usable)
    if settings.replicate is not None:
        replication_rows(usable, settings.replicate, settings.seed)  # refused at once, not in hours
    learner = _robust(default_ensemble(settings) if learner is None else learner, settings)
    settings = _as_learned(settings, learner)
    messages: list[str] = []
    with _recorded(messages):
        prepared = prepare(usable)
        how = settings.outliers or "tests", settings.transform or "none"
        reviewed = reviewed.with_findings(review_prepared(prepared, *how))
        job = _Job(
            usable,
            prepared,
            settings,
            learner,
            _plain(searcher_of(learner, np.asarray(usable.group))),
            Study(folder, n_jobs, progress),
            on_step or (lambda _: None),
        )
        _begin(job)
        networks = _networks(job)
        found = Comparison(reviewed, settings, prepared, networks, truth=_truth(usable))
        found = replace(found, **_models(job, found))
        found = replace(
            found,
            searcher=job.searcher,
            confidence=_confidence(job, networks),
            tests=_differences(job, networks),
        )
    pending = tuple(name for name in settings.steps if name in SLOW)
    if on_found is not None and pending:
        on_found(replace(_with_notes(found, job, messages), pending=pending))
    with _recorded(messages):
        found = replace(
            found,
            replication=_replication(job),
            sensitivity=_sensitivity(job, networks),
            refinements=_refinements(job),
            deviations=_deviations(job),
            accuracy=_accuracy(job),
        )
        found = replace(found, model=_model(job, found.accuracy))
    for message in dict.fromkeys(messages):
        warn(message)
    return _with_notes(found, job, messages)


def _with_notes(found: Comparison, job: _Job, messages: list[str]) -> Comparison:
    """Add what was left out so far, how long the steps took, and warnings."""
    return replace(
        found,
        skipped=dict(job.skipped),
        seconds=dict(job.seconds),
        warnings=tuple(dict.fromkeys(messages)),
    )


def _networks(job: _Job) -> dict[str, NetworkEstimator]:
    with job.step("networks"):
        if isinstance(job.learner, SGBNEnsemble):
            found: dict[str, NetworkEstimator] = {}
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


def _learned(learner: NetworkEstimator, part: tuple[str, pd.DataFrame]) -> NetworkEstimator:
    group, rows = part
    with warnings_about(f"group {group!r}"):
        return clone(learner).fit(rows)


def _models(job: _Job, found: Comparison) -> dict[str, Any]:
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


def _confidence(job: _Job, networks: Mapping[str, NetworkEstimator]) -> dict[str, EdgeConfidence]:
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
                    _fast(job.learner),
                    job.settings.n_pairs,
                    job.settings.seed,
                    job.study.part(f"confidence-{number}"),
                )
    return found


def _differences(job: _Job, networks: Mapping[str, NetworkEstimator]) -> Differences | None:
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


def _replication(job: _Job) -> Replication | None:
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


def _sensitivity(job: _Job, networks: Mapping[str, NetworkEstimator]) -> Sensitivity | None:
    """Repeat the tests with other choices; not if the tests themselves could not be done."""
    if "sensitivity" not in job.settings.steps or "differences" in job.skipped:
        return None
    searcher = job.searcher if isinstance(job.searcher, SGBN) else SGBN(outliers="keep")
    with job.step("sensitivity"):
        outliers = _outliers(job, networks)
        return repeat_tests(job.prepared, job.settings, searcher, outliers, job.study)
    return None


def _outliers(job: _Job, networks: Mapping[str, NetworkEstimator]) -> str | Mask:
    """Say which subjects the tests leave out: those that the networks do without.

    Of learners that do not look for them, the tests find them by themselves.
    """
    if job.settings.outliers == "keep":
        return "keep"
    if not all(hasattr(learner, "outliers_") for learner in networks.values()):
        return "trim"
    labels, far = np.asarray(job.cohort.group), np.zeros(len(job.cohort), bool)
    for group, learner in networks.items():
        far[labels == group] = learner.outliers_
    return far


def _refinements(job: _Job) -> dict[str, NDArray[Any]]:
    found: dict[str, NDArray[Any]] = {}
    if "refinements" not in job.settings.steps:
        return found
    with job.step("refinements"):
        labels = np.asarray(job.cohort.group)
        refine = partial(_refined, learner=job.searcher, regions=job.table, labels=labels)
        refined = _in_parallel(refine, job.settings.refinements, job.study.n_jobs)
        found.update(zip(job.settings.refinements, refined, strict=True))
    return found


def _refined(
    name: str, learner: NetworkEstimator, regions: pd.DataFrame, labels: Labels
) -> NDArray[Any]:
    # the temperature scales probabilities only, and would cost most of the time
    return REFINED_BY[name](clone(learner), temperature=1.0).fit(regions, labels).edge_changes()


def _deviations(job: _Job) -> Deviations | None:
    if "deviations" not in job.settings.steps:
        return None
    reference = job.groups[0]
    with job.step("deviations"):
        own = np.asarray(job.cohort.group) == reference
        norm = NormativeDeviation(
            clone(job.searcher), random_state=job.settings.seed, n_jobs=job.study.n_jobs
        )
        units = job.cohort.units
        norm.fit(job.table[own], persons=None if units is None else units[own])
        return _merged(norm.reference_, norm.deviations(job.table[~own]), own)
    return None


def _merged(reference: Deviations, others: Deviations, own: Mask) -> Deviations:
    """Deviations of all subjects, in the order of the cohort."""
    merged: dict[str, Any] = {}
    for name in ("regions", "edges", "distance", "log_likelihood", "p_chi2", "p_reference"):
        first, second = getattr(reference, name), getattr(others, name)
        both = np.empty((len(own), *first.shape[1:]))
        both[own], both[~own] = first, second
        merged[name] = both
    return replace(reference, **merged)


def _accuracy(job: _Job) -> Accuracy | None:
    if "accuracy" not in job.settings.steps:
        return None
    with job.step("accuracy"):
        part = job.study.part("accuracy")
        found = cross_validate(job.cohort, job.settings, part, job.searcher)
        return replace(found, permuted=_permuted(job))
    return None


def _permuted(job: _Job) -> Array:
    """Accuracies with exchanged labels; none where the design allows too few, with a warning."""
    if not job.settings.accuracy_permutations:
        return np.empty(0)
    part = job.study.part("accuracy-permuted")
    try:
        data = read_group_data(job.prepared)
        check_request(job.settings.accuracy_permutations, "two-sided", job.settings.seed, data)
        return permuted_accuracies(job.cohort, data.exchange(), job.settings, part)
    except InputError as error:
        warn(f"the accuracy was not tested by exchanges of the labels: {error}")
        return np.empty(0)


def _model(job: _Job, accuracy: Accuracy | None) -> Pipeline | None:
    """Fit the classifier to all subjects; not if it is unknown how well it does."""
    if accuracy is None or "model" not in job.settings.steps:
        return None
    with job.step("model"):
        return fit_model(job.cohort, job.settings, job.study.part("model"))
    return None


def _robust(learner: NetworkEstimator, settings: Settings) -> NetworkEstimator:
    """Learner of networks and half samples: with what the settings say about its input."""
    asked = {
        parameter: getattr(settings, setting)
        for setting, parameter in ROBUST.items()
        if getattr(settings, setting) is not None
    }
    known = learner.get_params()
    if "outliers" not in known and asked.get("outliers") == "keep":
        del asked["outliers"]  # its networks keep all subjects in any case, and so do the tests
    for parameter, value in asked.items():
        if parameter not in known:
            raise InputError(
                f"{parameter}={value!r} is for SGBN, not for {type(learner).__name__}. Leave it "
                "out."
            )
    return clone(learner).set_params(**asked)


def _as_learned(settings: Settings, learner: NetworkEstimator) -> Settings:
    """Return the settings with what the learner has of its input, if it knows of it."""
    own = {
        setting: getattr(learner, parameter, getattr(settings, setting))
        for setting, parameter in ROBUST.items()
    }
    return replace(settings, **own)


def _plain(learner: Learner) -> Learner:
    """Learner for the other steps, which have all subjects and the values as they are."""
    if not set(ROBUST.values()) <= set(learner.get_params()):
        return learner
    return clone(learner).set_params(outliers="keep", column_transform="none")


def _fast(learner: NetworkEstimator) -> NetworkEstimator:
    """Learner for half samples: without kicks SGBN finds nearly as much there, much faster."""
    if not isinstance(learner, SGBN):
        return learner
    return clone(learner).set_params(effort="fast", n_kicks=0)


def _in_parallel(function: Callable[[Any], Any], tasks: Iterable[Any], n_jobs: int | None) -> Any:
    """Run tasks in parallel, and give their warnings here: those of a process are lost."""
    done = parallel(partial(_with_warnings, function), tasks, n_jobs)
    for message in dict.fromkeys(text for _, texts in done for text in texts):
        warn(message)
    return [result for result, _ in done]


def _with_warnings(function: Callable[[Any], Any], task: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(task)
    named = [one for one in caught if not issubclass(one.category, OutlierWarning)]
    return result, [str(one.message) for one in named]


def _begin(job: _Job) -> None:
    """Refuse a folder that was begun with other data or settings, before any work."""
    learned = {"learner": repr(job.learner), "data": job.cohort.fingerprint}
    job.study.require(asdict(job.settings) | learned)


def _truth(cohort: Cohort) -> dict[str, Array]:
    """Standardised weights that a simulated cohort was drawn with."""
    if not isinstance(cohort, SimulatedCohort):
        return {}
    found = {}
    for group in cohort.groups:
        network = cohort.networks[group]
        places = [network.names.index(region) for region in cohort.regions]
        if len(places) < network.m:
            return {}  # a part of a network is in general no network
        found[group] = standardised(network)[np.ix_(places, places)]
    return found


@contextmanager
def _recorded(messages: list[str]) -> Iterator[None]:
    """Collect warnings; `compare` gives them again when all is done, each once."""
    show = warnings.showwarning

    def keep(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, ClusterWarning):
            show(message, category, *where, **more)  # at once: the run waits for somebody to act
        elif not issubclass(category, OutlierWarning):  # the review names these subjects
            messages.append(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = keep
        yield
