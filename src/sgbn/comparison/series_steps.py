"""The steps of a comparison that are different for time series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import cast

from sklearn.base import clone

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.series import SeriesCohort
from sgbn.comparison.accuracy import Accuracy
from sgbn.comparison.networks import fit_with_halves
from sgbn.comparison.sensitivity import FACTORS, Sensitivity
from sgbn.comparison.series_accuracy import cross_validate_series, permuted_series_accuracies
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps import (
    Job,
    accuracy_by,
    learned_confidence,
    networks_by,
    sensitivity_by,
)
from sgbn.core.exceptions import InputError
from sgbn.inference.difference_tables import Differences
from sgbn.inference.series_differences import series_differences
from sgbn.learn.base import LearnedNetwork
from sgbn.learn.confidence import EdgeConfidence
from sgbn.learn.series import MIN_SUBJECTS_TO_HALVE, SeriesSGBN
from sgbn.runs.study import Study

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
TOO_FEW = f"a group of fewer than {MIN_SUBJECTS_TO_HALVE} subjects is too small for half samples."


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
            raise InputError(f"{name}={value!r} is not for time series: {why}. Leave it out.")
    # These steps are on by default. They are left out without a message, as nobody asked for them.
    return replace(settings, models=False, refinements=(), deviations=False, model=False)


def series_learner(learner: LearnedNetwork | None, settings: Settings) -> LearnedNetwork:
    """Return the learner of the networks: the given `SeriesSGBN`, or one from the settings."""
    if learner is None:
        return SeriesSGBN(n_pairs=settings.n_pairs, random_state=settings.seed)
    if not isinstance(learner, SeriesSGBN):
        raise InputError(
            f"the learner is {type(learner).__name__}, but the subjects have time series. Give "
            "SeriesSGBN(), or do not give a learner."
        )
    return learner


def networks_of_series(job: Job) -> dict[str, LearnedNetwork]:
    """Learn one network per group. Half samples balance sites and keep persons together."""
    return networks_by(job, partial(series_network, job.learner, job.cohort))


def series_network(learner: LearnedNetwork, cohort: Cohort, group: str, study: Study) -> SeriesSGBN:
    """Learn the network of one group."""
    part = cohort.subset(groups=[group])
    # Persons and families are counted instead of rows, because halves keep their rows together.
    can_halve = part.unit_counts[group] >= MIN_SUBJECTS_TO_HALVE
    return fit_with_halves(cast(SeriesSGBN, learner), can_halve, study, part)


def confidence_of_series(
    job: Job, networks: Mapping[str, LearnedNetwork]
) -> dict[str, EdgeConfidence]:
    """Return the confidence of edges, from half samples of the subjects of each group."""
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
