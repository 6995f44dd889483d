"""The main job: one network per group, how sure it is, what differs, and who belongs where."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from sklearn.base import clone

from sgbn.cohort import Cohort
from sgbn.comparison.flows import Flow, flow_of
from sgbn.comparison.networks import searcher_of
from sgbn.comparison.result import Comparison
from sgbn.comparison.settings import Settings
from sgbn.comparison.sources import check_settings, read_source
from sgbn.comparison.steps import (
    SLOW,
    Job,
    deviations_of,
    model_of,
    models_of,
    refinements_of,
    replication_of,
)
from sgbn.datasets.cohort import SimulatedCohort
from sgbn.datasets.group_networks import standardised
from sgbn.datasets.series import SimulatedSeries
from sgbn.exceptions import InputError, warn
from sgbn.inference import replication_rows
from sgbn.io.tables.files import Source
from sgbn.quality import Review, review
from sgbn.quality.groups import check_reference
from sgbn.runs import ClusterWarning, Study
from sgbn.structure.base import LearnedNetwork
from sgbn.structure.robust import OutlierWarning
from sgbn.types import Array

Learner = TypeVar("Learner", bound=LearnedNetwork)

ROBUST = {"outliers": "outliers", "transform": "column_transform"}  # setting -> parameter of SGBN


def compare(
    cohort: Cohort | Source,
    settings: Settings | None = None,
    *,
    learner: LearnedNetwork | None = None,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: bool = False,
    on_step: Callable[[str], None] | None = None,
    on_found: Callable[[Comparison], None] | None = None,
    **reading: Any,
) -> Comparison:
    """Compare the groups of a cohort, or of a table.

    Time series (`SeriesCohort`) have steps of their own, see the notes below.

    Missing cells are imputed, sites harmonised and covariates regressed out over all subjects,
    within the groups, so that no difference between them is taken for an effect of age. The steps
    are then: one network per group; whether hidden factors without edges predict unseen subjects
    better; how often half samples show its edges; tests of every edge for a difference; what moves
    when the networks are made to tell the groups apart; how far each subject is from the reference
    group; and the cross-validated accuracy of classifiers, for which `make_analysis` prepares each
    training part by itself.

    Networks, half samples and tests of differences leave out subjects that lie far from the others
    of their group, unless ``settings.outliers`` says otherwise; `Comparison.left_out` and
    `Differences.left_out` name them. Refinements and classifiers have all subjects. Only networks
    and half samples have transformed values.

    Parameters
    ----------
    cohort : Cohort, DataFrame or path
        With two or more groups. A table or a path is read by `read_table`.
    settings : Settings, optional
        What is done, and how thoroughly; ``Settings.quick()`` for a first look.
    learner : estimator, optional
        It learns the networks: any learner of sgbn, by default an `SGBNEnsemble` with `n_pairs` and
        the seed of the settings. An ensemble that is given is used as it is, with its own
        `n_pairs`. It learns at the same time which directions are supported. For another learner,
        networks of half samples are learned in a step of their own (by an `SGBN` without kicks).

        The other steps learn hundreds of networks. They use the learner that is given. In place of
        an ensemble they use `SGBN` with its prior knowledge and one gamma for all groups, that of
        the largest group: an ensemble's own gamma is that of a prior. The tests search for a common
        order by `SGBN` in any case. The first classifier, `SGBNClassifierCV`, chooses its own
        sparsity; other networks of the cross-validation are learned with the fast effort of `SGBN`.
    n_jobs : int, optional
        Number of processes. Results do not depend on it.
    folder : path, optional
        It keeps finished work; a second start does only what is missing.
    progress : bool
        Show bars with the time left; in a log file, lines.
    on_step : callable, optional
        Called with a few words at the beginning of each step.
    on_found : callable, optional
        Called once with networks, their confidence and the tests, as soon as these are computed, if
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
        If the groups cannot be compared at all. A step that the data do not allow is left out;
        `Comparison.skipped` says why.

    Notes
    -----
    In time series (`SeriesCohort`), subjects are counted, never volumes. Nothing is imputed or
    regressed out of the series. One `SeriesSGBN` per group learns the networks, from half samples
    of subjects. `series_differences` tests the weights of each subject, with covariates and sites
    held fixed. Steps that need one row per subject are left out;
    `sgbn.comparison.series_steps.NOT_FOR_SERIES` says which and why.
    """
    settings = check_settings(settings)
    own_keywords = tuple(inspect.signature(compare).parameters)[1:-1]  # no source, no **reading
    # Everything that can be refused is refused here, before the first slow step.
    cohort = read_source(cohort, reading, own_keywords)
    reviewed = review(cohort, rows_are_subjects=settings.rows_are_subjects)
    usable = reviewed.require()
    reviewed = reviewed.with_findings(check_reference(usable, settings.reference))
    flow = flow_of(usable)
    settings = flow.settings(settings).with_reference(usable.groups).with_repeats(usable)
    settings.check_names(usable)
    if settings.replicate is not None:
        # Only for its errors: the step itself finds the rows again, after hours.
        replication_rows(usable, settings.replicate, settings.seed)
    learner = _robust(flow.learner(learner, settings), settings)
    settings = _as_learned(settings, learner)
    messages: list[str] = []
    with _recorded(messages):
        prepared, findings = flow.prepare(usable, settings)
        reviewed = reviewed.with_findings(findings)
        job = Job(
            usable,
            prepared,
            settings,
            learner,
            _plain(searcher_of(learner, np.asarray(usable.group))),
            Study(folder, n_jobs, progress),
            on_step or (lambda _: None),
        )
        _begin(job)
        comparison = _first_steps(flow, job, reviewed)
    # The first report is drawn outside of `_recorded`: its warnings are not those of the data.
    pending = tuple(name for name in settings.steps if name in SLOW)
    if on_found is not None and pending:
        on_found(replace(_with_notes(comparison, job, messages), pending=pending))
    with _recorded(messages):
        comparison = _slow_steps(flow, job, comparison)
    for message in dict.fromkeys(messages):
        warn(message)
    return _with_notes(comparison, job, messages)


def _first_steps(flow: Flow, job: Job, reviewed: Review) -> Comparison:
    """Do what a first report shows: networks, what speaks for them, and the tests."""
    networks = flow.networks(job)
    # incomplete at first: `models_of` asks it who the networks were learned from
    comparison = Comparison(
        reviewed, job.settings, job.prepared, networks, truth=_truth(job.cohort)
    )
    return replace(
        comparison,
        **models_of(job, comparison),
        searcher=job.searcher,
        confidence=flow.confidence(job, networks),
        tests=flow.tests(job, networks),
    )


def _slow_steps(flow: Flow, job: Job, comparison: Comparison) -> Comparison:
    """Do the steps of `SLOW`, which follow the first report."""
    comparison = replace(
        comparison,
        replication=replication_of(job),
        sensitivity=flow.sensitivity(job, comparison.learners),
        refinements=refinements_of(job),
        deviations=deviations_of(job),
        accuracy=flow.accuracy(job),
    )
    # Last: it is fitted only where its accuracy is known.
    return replace(comparison, model=model_of(job, comparison.accuracy))


def _with_notes(comparison: Comparison, job: Job, messages: list[str]) -> Comparison:
    """Add what was left out so far, how long the steps took, and warnings."""
    return replace(
        comparison,
        skipped=dict(job.skipped),
        seconds=dict(job.seconds),
        warnings=tuple(dict.fromkeys(messages)),
    )


def _robust(learner: LearnedNetwork, settings: Settings) -> LearnedNetwork:
    """Return the learner of networks and half samples, with outliers and transform as set."""
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


def _as_learned(settings: Settings, learner: LearnedNetwork) -> Settings:
    """Return the settings with the values of `outliers` and `transform` that the learner uses.

    A setting of None means the learner's own value; the report must name that value.
    """
    used = {
        setting: getattr(learner, parameter, getattr(settings, setting))
        for setting, parameter in ROBUST.items()
    }
    return replace(settings, **used)


def _plain(learner: Learner) -> Learner:
    """Return the learner for the other steps, with all subjects and the values as they are."""
    if not set(ROBUST.values()) <= set(learner.get_params()):
        return learner
    return clone(learner).set_params(outliers="keep", column_transform="none")


def _begin(job: Job) -> None:
    """Raise StudyError if the folder was begun with other data or settings."""
    # Neither processes nor progress: a run may go on with more of them.
    learned = {"learner": repr(job.learner), "data": job.cohort.fingerprint}
    job.study.require(asdict(job.settings) | learned)


def _truth(cohort: Cohort) -> dict[str, Array]:
    """Return the standardised weights that a simulated cohort was drawn with."""
    if not isinstance(cohort, SimulatedCohort | SimulatedSeries):
        return {}
    weights = {}
    for group in cohort.groups:
        network = cohort.networks[group]
        # A subset of a simulated cohort may have its regions in another order.
        places = [network.names.index(region) for region in cohort.regions]
        if len(places) < network.m:
            return {}  # without some regions the rest is no longer drawn from this network
        weights[group] = standardised(network)[np.ix_(places, places)]
    return weights


@contextmanager
def _recorded(messages: list[str]) -> Iterator[None]:
    """Collect warnings. `compare` gives them again when all is done, each once."""
    show = warnings.showwarning

    def keep(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, ClusterWarning):
            show(message, category, *where, **more)  # at once: the run waits for somebody to act
        elif not issubclass(category, OutlierWarning):  # the review names these subjects
            messages.append(str(message))

    with warnings.catch_warnings():
        # "default" would show the warning of the second group only if its text differs
        warnings.simplefilter("always")
        warnings.showwarning = keep
        yield
