"""The comparison of groups: one network per group, tests of differences, and classifiers.

`compare` checks and prepares the cohort, and then does the steps in their order. `group_network`
learns the network of one group as `compare` does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import choose_reference
from sgbn.cohort.rows import cohort_order
from sgbn.cohort.series import SeriesCohort
from sgbn.cohort.simulate import SimulatedCohort, standardised
from sgbn.cohort.simulate_series import SimulatedSeries
from sgbn.comparison.result import Comparison
from sgbn.comparison.settings import Settings, check_settings, read_source
from sgbn.comparison.step import Job
from sgbn.comparison.steps import STEPS, TITLES
from sgbn.comparison.steps.networks import default_ensemble, learn_network, searcher_of
from sgbn.core.problems import (
    DataWarning,
    InputError,
    Problem,
    did_you_mean,
    give,
    problem_of,
)
from sgbn.core.types import Array
from sgbn.inference.replication import replication_rows
from sgbn.learn.base import LearnedNetwork
from sgbn.learn.series import SeriesSGBN
from sgbn.prepare.findings import check_groups, check_reference
from sgbn.prepare.outliers import OutlierWarning
from sgbn.prepare.pipeline import fill_covariates, prepare
from sgbn.prepare.review import Review, review, review_prepared
from sgbn.read.files import Source
from sgbn.runs.dask import ClusterWarning
from sgbn.runs.study import Study

ROBUST = {"outliers": "outliers", "transform": "column_transform"}  # setting: parameter of SGBN


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

    Missing cells are imputed, sites are harmonised and covariates are regressed out. The effects
    are estimated from all subjects, within the groups, so that a difference between the groups is
    not mistaken for an effect of a covariate. Then come these steps:

    1. Learn one network per group.
    2. Compare how well each network, and hidden factors without edges, predict unseen subjects.
    3. Count how often networks of half samples contain the edges of the network.
    4. Test every edge for a difference between the groups.
    5. Refine the networks so that they distinguish the groups better, and show what changes.
    6. Measure how far each subject is from the reference group.
    7. Cross-validate classifiers. `make_analysis` prepares each training part by itself.

    Networks, half samples and tests of differences leave out subjects that lie far from the others
    of their group, unless ``settings.outliers`` is "keep". `Comparison.left_out` and
    `Differences.left_out` name these subjects. Refinements and classifiers use all subjects. Only
    networks and half samples use transformed values. Time series (`SeriesCohort`) have their own
    steps; see the notes below.

    Parameters
    ----------
    cohort : Cohort, DataFrame or path
        A cohort with two or more groups. A table or a path is read by `read_table`, or by
        `read_series` if it holds time series.
    settings : Settings, optional
        Which steps are done, and how thoroughly. Use ``Settings.quick()`` for a first look.
    learner : estimator, optional
        The learner of the networks, which may be any learner of sgbn. By default it is an
        `SGBNEnsemble` with `n_pairs` and the seed of the settings. If you give an ensemble, it
        keeps its own `n_pairs`. An ensemble also learns which directions are supported. For any
        other learner, networks of half samples are learned in a separate step (an `SGBN` uses
        its fast search for them).

        The other steps learn hundreds of networks with the same learner. An ensemble would take too
        long, so these steps replace it by `SGBN` with the ensemble's prior knowledge. All groups
        then have one gamma, the default of the largest group. (The gamma of an ensemble belongs to
        a prior and has another meaning.) The tests always use `SGBN` to search for a common order.
        The first classifier, `SGBNClassifierCV`, chooses its own sparsity. Other networks of the
        cross-validation are learned by `SGBN` with ``effort="fast"``.
    n_jobs : int, optional
        The number of processes. Results do not depend on it.
    folder : path, optional
        The folder that keeps finished work. A second start computes only what is missing.
    progress : bool
        Whether to show progress bars with the time left. A log file gets lines in place of bars.
    on_step : callable, optional
        A function that is called at the beginning of each step with a short text that names it.
    on_found : callable, optional
        A function that is called once, as soon as the networks, their confidence and the tests are
        computed, if slower steps follow. It gets a `Comparison`, whose `pending` names these steps.
    **reading
        Keywords of `read_table` or `read_series`, if a table is given: ``group="dx"``,
        ``covariates=["age"]``, ``site="scanner"``, ...

    Returns
    -------
    Comparison
        The results. `sgbn.write_comparison` writes a report, tables and pictures of them.

    Raises
    ------
    InputError
        If the groups cannot be compared at all. A step that the data do not allow is left out, and
        `Comparison.skipped` holds the reason.

    Notes
    -----
    In a cohort of time series (`SeriesCohort`), the subjects are the units of all statistics, not
    the volumes. Nothing is imputed in the series or regressed out of them. One `SeriesSGBN` per
    group learns the network, also from half samples of subjects. `series_differences` tests the
    weights of the subjects, with covariates and sites held fixed. Steps that need one row per
    subject are left out: `not_for_series` of each step has the reason.
    """
    settings = check_settings(settings)
    # All input is checked here, so that an error comes before the first slow step.
    cohort = read_source(cohort, reading)
    reviewed = review(cohort, rows_are_subjects=settings.rows_are_subjects)
    usable = reviewed.require()
    # Draws, folds and sums go by the places of rows, and results must not.
    given, usable = usable.ids, usable.subset(cohort_order(usable))
    reviewed = replace(reviewed, cohort=usable)
    reviewed = reviewed.with_findings(check_reference(usable, settings.reference))
    settings, learner = _settled(settings, learner, usable)
    messages: list[Problem] = []
    with _recorded(messages):
        prepared = _prepared(usable)
        if not isinstance(prepared, SeriesCohort):
            # A setting is None if the learner has no such parameter. Then only tests trim.
            how = settings.outliers or "tests", settings.transform or "none"
            reviewed = reviewed.with_findings(review_prepared(prepared, *how))
        job = Job(
            usable,
            prepared,
            settings,
            learner,
            searcher_of(learner, np.asarray(usable.group)),
            Study(folder, n_jobs, progress),
            on_step or (lambda _: None),
        )
        # The number of processes is not included, so that a run may continue with another number.
        job.study.require(asdict(settings) | {"learner": repr(learner), "data": usable.fingerprint})
        found: dict[str, Any] = {"searcher": job.searcher, "truth": _truth(usable), "given": given}
        for step in STEPS:
            if not step.still:
                job.run(step, found)
    # The first report is made outside of `_recorded`, because its warnings are not about the data.
    slow = [step for step in STEPS if step.still]
    pending = tuple(step.name for step in slow if step.name in settings.steps)
    if on_found is not None and pending:
        notes = _notes(job, messages) | {"pending": pending}
        on_found(Comparison(reviewed, settings, prepared, **found, **notes))
    with _recorded(messages):
        for step in slow:
            job.run(step, found)
    for message in dict.fromkeys(messages):
        give(DataWarning(message))
    return Comparison(reviewed, settings, prepared, **found, **_notes(job, messages))


def _notes(job: Job, messages: list[Problem]) -> dict[str, Any]:
    """Return the steps that were left out so far, the time that steps took, and the warnings."""
    return {
        # Networks may find out that there is no confidence, before the models are compared.
        "skipped": {name: job.skipped[name] for name in TITLES if name in job.skipped},
        "seconds": dict(job.seconds),
        "warnings": tuple({str(message): message for message in messages}.values()),
    }


def _settled(
    settings: Settings, learner: LearnedNetwork | None, cohort: Cohort
) -> tuple[Settings, LearnedNetwork]:
    """Return the settings and the learner that hold for a cohort, checked against it.

    Both have the same `outliers` and `transform`. A setting of None means the value of the learner.
    If the learner has no such parameter, it stays None.
    """
    settings = settings.for_cohort(cohort)
    settings = replace(settings, reference=choose_reference(cohort.groups, settings.reference))
    settings.check_names(cohort)
    if settings.replicate is not None:
        # The call is only for its errors. The step itself would raise them after hours.
        replication_rows(cohort, settings.replicate, settings.seed)
    learner = _learner(learner, settings, cohort)
    known = learner.get_params()
    for setting, parameter in ROBUST.items():
        value = getattr(settings, setting)
        if parameter not in known:
            # Such a learner always keeps all subjects. With "keep", the tests do it too.
            if value is not None and (setting, value) != ("outliers", "keep"):
                raise InputError(
                    "learner.setting", argument=setting, value=value, learner=type(learner).__name__
                ).says("{argument} {value} is for SGBN, not for {learner:s}", "Leave it out.")
        elif value is None:
            settings = replace(settings, **{setting: known[parameter]})
        else:
            learner.set_params(**{parameter: value})
    return settings, learner


def _truth(cohort: Cohort) -> dict[str, Array]:
    """Return the true standardised weights of each group of a simulated cohort, or {}."""
    if not isinstance(cohort, SimulatedCohort | SimulatedSeries):
        return {}
    weights = {}
    for group in cohort.groups:
        network = cohort.networks[group]
        # A subset of a simulated cohort may have its regions in another order.
        places = [network.names.index(region) for region in cohort.regions]
        if len(places) < network.m:
            return {}  # without some regions, these weights are not the truth for the others
        weights[group] = standardised(network)[np.ix_(places, places)]
    return weights


def _code(message: Warning | str) -> str:
    """Return the code of a warning, or of its cause if it is about one group."""
    problem = problem_of(message)
    return problem_of(problem.values.get("cause", problem)).code


@contextmanager
def _recorded(messages: list[Problem]) -> Iterator[None]:
    """Collect warnings in `messages`. At the end, `compare` gives each of them once."""
    show = warnings.showwarning

    def keep(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, ClusterWarning):
            # It is shown immediately, because the run waits until somebody acts.
            show(message, category, *where, **more)
        # The review says once what concerns all groups, and names these subjects.
        elif not (issubclass(category, OutlierWarning) or _code(message) == "cells.few-values"):
            messages.append(problem_of(message))

    with warnings.catch_warnings():
        # "default" would hide a warning of the second group that has the same text as the first.
        warnings.simplefilter("always")
        warnings.showwarning = keep
        yield


def _learner(learner: LearnedNetwork | None, settings: Settings, cohort: Cohort) -> LearnedNetwork:
    """Return a copy of the learner of the networks; raise InputError if it is for other data."""
    of_series = isinstance(cohort, SeriesCohort)
    if learner is None and of_series:
        return SeriesSGBN(n_pairs=settings.n_pairs, random_state=settings.seed)
    if learner is None:
        return default_ensemble(settings)
    if isinstance(learner, SeriesSGBN) and not of_series:
        raise InputError("learner.series").says(
            "SeriesSGBN needs time series, but this cohort has one row per subject",
            "Give another learner, or a SeriesCohort.",
        )
    if of_series and not isinstance(learner, SeriesSGBN):
        raise InputError("learner.table", learner=type(learner).__name__).says(
            "{learner:s} does not learn from time series", "Give SeriesSGBN(), or no learner."
        )
    return clone(learner)


def _prepared(cohort: Cohort) -> Cohort:
    """Return the cohort from which networks are learned."""
    # The tests of time series hold covariates fixed.
    return fill_covariates(cohort) if isinstance(cohort, SeriesCohort) else prepare(cohort)


def group_network(
    cohort: Cohort,
    group: str,
    learner: LearnedNetwork | None = None,
    *,
    rows_are_subjects: bool = False,
    n_jobs: int | None = None,
) -> LearnedNetwork:
    """Learn the network of one group of a cohort.

    Missing cells are imputed, sites are harmonised and covariates are regressed out as in
    `compare`. The effects are estimated from all subjects of the cohort, within the groups. Time
    series are not changed. `compare` learns the same network with the same learner. Covariates and
    sites are never regions of the network.

    Parameters
    ----------
    cohort : Cohort
        A cohort with groups. One group is enough. The effects of sites and covariates are learned
        from all groups. Leave out unrelated groups with ``subset``.
    group : str
        The name of the group.
    learner : estimator, optional
        Any learner of sgbn. It is copied and not changed. By default it is the learner of
        `compare`: `SGBNEnsemble`, or `SeriesSGBN` for time series.
    rows_are_subjects : bool
        Whether rows that look like several visits of a person, copies or points in time are
        accepted as subjects; see `Settings`.
    n_jobs : int, optional
        The number of processes of an ensemble. Results do not depend on it.

    Returns
    -------
    estimator
        A fitted copy of the learner. Its `network_` is the network. `sgbn.edge_table` lists edges.

    Examples
    --------
    >>> import sgbn
    >>> cohort = sgbn.simulate_cohort(60, regions=5, covariates=["age"])
    >>> sgbn.group_network(cohort, "control", sgbn.SGBN()).network_
    GaussianNetwork(5 variables, 2 edges)
    """
    reviewed = review(cohort, rows_are_subjects=rows_are_subjects)
    usable = _require(reviewed)
    if str(group) not in usable.groups:  # labels of a cohort are text
        near = did_you_mean(group, usable.groups)
        raise InputError("groups.unknown", group=group, near=near).says(
            "no group is called {group}", "{near}"
        )
    learner = _learner(learner, Settings(), usable)
    return learn_network(learner, _prepared(usable), str(group), Study(None, n_jobs))


def _require(reviewed: Review) -> Cohort:
    """Return the usable cohort, or raise InputError. One group is enough here."""
    if len(reviewed.cohort.groups) != 1:
        return reviewed.require()
    # Findings that only matter for a comparison of groups are ignored.
    for_pairs = tuple(check_groups(reviewed.cohort))
    relevant = tuple(finding for finding in reviewed.findings if finding not in for_pairs)
    return Review(relevant, reviewed.cohort).require()
