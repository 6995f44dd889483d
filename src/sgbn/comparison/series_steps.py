"""The steps of a comparison that are different for time series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np
from sklearn.base import clone

from sgbn.cohort import Cohort
from sgbn.comparison.accuracy import Accuracy
from sgbn.comparison.sensitivity import HALF, TWICE, Sensitivity, fewer_permutations
from sgbn.comparison.series_accuracy import cross_validate_series, permuted_series_accuracies
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps import Job, accuracy_by, learned_confidence, networks_by
from sgbn.exceptions import InputError
from sgbn.inference import Differences, EdgeConfidence, series_differences
from sgbn.runs import Study
from sgbn.series_cohort import SeriesCohort
from sgbn.structure.base import LearnedNetwork
from sgbn.structure.series import SeriesSGBN
from sgbn.structure.series.series_sgbn import MIN_SUBJECTS_TO_HALVE

# Steps of tables that time series do not have, and why; those who ask for one get the reason.
NOT_FOR_SERIES = {
    "models": "hidden factors are compared with a network on one row per subject",
    "replication": "differences of time series are not yet tested in two parts of the subjects",
    "refinements": "they move networks that were learned from one row per subject",
    "deviations": "they are measured on one row per subject",
    "model": "sgbn predict reads tables, and no time series yet",
}
# Setting that time series cannot have -> why; a value that changes nothing is allowed.
REFUSED = {
    "replicate": NOT_FOR_SERIES["replication"],
    "select": "classifiers of time series have all regions",
    "transform": "networks are learned from the filtered series as they are",
    "outliers": "no subject is left out of networks by its values; leave it out beforehand",
}
TOO_FEW = (
    f"halves of a group of fewer than {MIN_SUBJECTS_TO_HALVE} subjects say nothing about edges."
)


def series_settings(settings: Settings) -> Settings:
    """Leave out the steps that time series do not have.

    Raises
    ------
    InputError
        If something was asked for that time series cannot have.
    """
    for name, why in REFUSED.items():
        value = getattr(settings, name)
        if value and (name, value) not in (("transform", "none"), ("outliers", "keep")):
            raise InputError(f"{name}={value!r} is not for time series: {why}. Leave it out.")
    # These are on by default: left out in silence, as nobody asked for them.
    return replace(settings, models=False, refinements=(), deviations=False, model=False)


def series_learner(learner: LearnedNetwork | None, settings: Settings) -> LearnedNetwork:
    """Return the learner of the networks: a `SeriesSGBN`, by default one of the settings."""
    if learner is None:
        return SeriesSGBN(n_pairs=settings.n_pairs, random_state=settings.seed)
    if not isinstance(learner, SeriesSGBN):
        raise InputError(
            f"the learner is {type(learner).__name__}, and the subjects have time series. Give "
            "SeriesSGBN(), or leave it out."
        )
    return learner


def networks_of_series(job: Job) -> dict[str, LearnedNetwork]:
    """Learn one network per group; sites are balanced between halves, persons stay together."""
    return networks_by(job, partial(series_network, job.learner, job.cohort))


def series_network(learner: LearnedNetwork, cohort: Cohort, group: str, study: Study) -> SeriesSGBN:
    """Learn the network of one group."""
    # Set for this fit alone, and put back: the report shows the learner as it was given.
    given = {name: getattr(learner, name) for name in ("n_jobs", "n_pairs")}
    part = cohort.subset(np.asarray(cohort.group) == group)
    fitted = clone(learner).set_params(n_jobs=study.n_jobs)
    # Persons and families count, not their rows: halves keep these together.
    if len(part if part.units is None else np.unique(part.units)) < MIN_SUBJECTS_TO_HALVE:
        fitted.set_params(n_pairs=0)  # `compare` says that there is no confidence, and why
    fitted.fit(part, folder=study.folder, progress=study.progress)
    # results do not depend on processes, and a client of a cluster cannot be kept in files
    return cast(SeriesSGBN, fitted.set_params(**given))


def confidence_of_series(
    job: Job, networks: Mapping[str, LearnedNetwork]
) -> dict[str, EdgeConfidence]:
    """Say how sure the edges are: from half samples of the subjects of each group."""
    return learned_confidence(job, networks, TOO_FEW)


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
    if "differences" in job.skipped:
        return None

    def repeat() -> Sensitivity:
        tests = {}
        for name, factor in ((HALF, 0.5), (TWICE, 2.0)):
            learner = clone(_learner(job))
            # Without edges= and among=: only the tests of all edges are repeated.
            tests[name] = series_differences(
                _series(job.prepared),
                learner=learner.set_params(penalty=factor * learner.penalty),
                **job.test_options(f"sensitivity-{name}", fewer_permutations(job.settings)),
            )
        return Sensitivity(tests)

    return job.run("sensitivity", repeat)


def accuracy_of_series(job: Job) -> Accuracy | None:
    """Measure how well the groups are told apart in subjects that were left out."""
    # not the prepared cohort: each training part fills gaps of covariates by itself
    cohort, settings, learner = _series(job.cohort), job.settings, _learner(job)
    return accuracy_by(
        job,
        lambda study: cross_validate_series(cohort, settings, study, learner),
        lambda exchange, study: permuted_series_accuracies(
            cohort, exchange, settings, study, learner
        ),
    )


def _series(cohort: Cohort) -> SeriesCohort:
    return cast(SeriesCohort, cohort)  # `flow_of` gives these steps no other kind


def _learner(job: Job) -> SeriesSGBN:
    return cast(SeriesSGBN, job.learner)
