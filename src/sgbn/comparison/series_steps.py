"""The steps of a comparison of time series, where they are not those of tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import cast

import numpy as np
from sklearn.base import clone

from sgbn.cohort import Cohort
from sgbn.comparison.accuracy import Accuracy
from sgbn.comparison.sensitivity import HALF, TWICE, Sensitivity, fewer_permutations
from sgbn.comparison.series_accuracy import cross_validate_series, permuted_series_accuracies
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps import Job, permuted_by
from sgbn.exceptions import InputError
from sgbn.inference import Differences, EdgeConfidence, series_differences
from sgbn.inference.exchange import Exchange
from sgbn.runs import Study
from sgbn.series_cohort import SeriesCohort
from sgbn.structure.base import LearnedNetwork
from sgbn.structure.group_warnings import warnings_about
from sgbn.structure.series import SeriesSGBN
from sgbn.structure.series.series_sgbn import MIN_SUBJECTS_TO_HALVE
from sgbn.types import Array

# Steps of tables that time series do not have, and why; those who ask for one get the reason.
NOT_FOR_SERIES = {
    "models": "hidden factors are compared with a network on one row per subject",
    "replication": "differences of time series are not yet tested in two parts of the subjects",
    "refinements": "they move networks that were learned from one row per subject",
    "deviations": "they are measured on one row per subject",
    "model": "sgbn predict reads tables, and no time series yet",
}
# Settings that ask for something else than the defaults of a step -> what there is instead
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
    with job.step("networks"):
        found: dict[str, LearnedNetwork] = {}
        for number, group in enumerate(job.groups):
            with warnings_about(f"group {group!r}"):
                part = job.study.part(f"networks-{number}")
                found[group] = series_network(job.learner, job.cohort, group, part)
        return found
    raise InputError(job.skipped["networks"])


def series_network(learner: LearnedNetwork, cohort: Cohort, group: str, study: Study) -> SeriesSGBN:
    """Learn the network of one group."""
    given = {name: getattr(learner, name) for name in ("n_jobs", "n_pairs")}
    part = cohort.subset(np.asarray(cohort.group) == group)
    fitted = clone(learner).set_params(n_jobs=study.n_jobs)
    if len(part if part.units is None else np.unique(part.units)) < MIN_SUBJECTS_TO_HALVE:
        fitted.set_params(n_pairs=0)  # `compare` says that there is no confidence, and why
    fitted.fit(part, folder=study.folder, progress=study.progress)
    # results do not depend on processes, and a client of a cluster cannot be kept in files
    return cast(SeriesSGBN, fitted.set_params(**given))


def confidence_of_series(
    job: Job, networks: Mapping[str, LearnedNetwork]
) -> dict[str, EdgeConfidence]:
    """Say how sure the edges are: from half samples of the subjects of each group."""
    own = {group: cast(SeriesSGBN, one).confidence_ for group, one in networks.items()}
    found = {group: one for group, one in own.items() if one is not None}
    if _learner(job).n_pairs and len(found) < len(networks):
        job.skipped["confidence"] = TOO_FEW
    return found


def tests_of_series(
    job: Job,
    networks: Mapping[str, LearnedNetwork],  # noqa: ARG001
) -> Differences | None:
    """Test which weights of the subjects differ between the groups."""
    if "differences" not in job.settings.steps:
        return None
    with job.step("differences"):
        return series_differences(
            _series(job),
            reference=job.settings.reference,
            learner=_learner(job),
            edges=job.settings.edges,
            among=job.settings.among,
            n_permutations=job.settings.n_permutations,
            random_state=job.settings.seed,
            **asdict(job.study.part("differences")),
        )
    return None


def sensitivity_of_series(
    job: Job,
    networks: Mapping[str, LearnedNetwork],  # noqa: ARG001
) -> Sensitivity | None:
    """Repeat the tests with half and twice the penalty on edges."""
    if "sensitivity" not in job.settings.steps or "differences" in job.skipped:
        return None
    with job.step("sensitivity"):
        found = {}
        for name, factor in ((HALF, 0.5), (TWICE, 2.0)):
            learner = clone(_learner(job))
            found[name] = series_differences(
                _series(job),
                reference=job.settings.reference,
                learner=learner.set_params(penalty=factor * learner.penalty),
                n_permutations=fewer_permutations(job.settings),
                random_state=job.settings.seed,
                **asdict(job.study.part(f"sensitivity-{name}")),
            )
        return Sensitivity(found)
    return None


def accuracy_of_series(job: Job) -> Accuracy | None:
    """Measure how well the groups are told apart in subjects that were left out."""
    if "accuracy" not in job.settings.steps:
        return None
    cohort, learner = cast(SeriesCohort, job.cohort), _learner(job)  # folds fill gaps in

    def permute(exchange: Exchange, study: Study) -> Array:
        return permuted_series_accuracies(cohort, exchange, job.settings, study, learner)

    with job.step("accuracy"):
        part = job.study.part("accuracy")
        found = cross_validate_series(cohort, job.settings, part, learner)
        return replace(found, permuted=permuted_by(job, permute))
    return None


def _series(job: Job) -> SeriesCohort:
    return cast(SeriesCohort, job.prepared)


def _learner(job: Job) -> SeriesSGBN:
    return cast(SeriesSGBN, job.learner)
