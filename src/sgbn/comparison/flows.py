"""The steps of a comparison, with one set for tables and one set for time series."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.series import SeriesCohort
from sgbn.comparison.accuracy import Accuracy
from sgbn.comparison.networks import default_ensemble, learn_network
from sgbn.comparison.sensitivity import Sensitivity
from sgbn.comparison.series_steps import (
    accuracy_of_series,
    confidence_of_series,
    networks_of_series,
    sensitivity_of_series,
    series_learner,
    series_network,
    series_settings,
    tests_of_series,
)
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps import (
    Job,
    accuracy_of,
    confidence_of,
    networks_of,
    sensitivity_of,
    tests_of,
)
from sgbn.core.exceptions import InputError
from sgbn.inference.difference_tables import Differences
from sgbn.learn.base import LearnedNetwork
from sgbn.learn.confidence import EdgeConfidence
from sgbn.learn.series import SeriesSGBN
from sgbn.prepare.findings import Finding
from sgbn.prepare.pipeline import fill_covariates, prepare
from sgbn.prepare.review import review_prepared
from sgbn.runs.study import Study

Networks = Mapping[str, LearnedNetwork]


@dataclass(frozen=True)
class Flow:
    """The functions that differ between tables and time series.

    Attributes
    ----------
    settings : callable
        It returns the settings without the steps that this kind of cohort cannot have. It raises
        InputError if a setting is not possible for this kind of cohort.
    learner : callable
        It returns the given learner of networks, or the default. It raises InputError if the
        learner is for the other kind of cohort.
    prepare : callable
        It returns the cohort from which networks are learned, and findings about it.
    network : callable
        It learns the network of one group.
    networks, confidence, tests, sensitivity, accuracy : callable
        They do the steps of these names.
    """

    settings: Callable[[Settings], Settings]
    learner: Callable[[LearnedNetwork | None, Settings], LearnedNetwork]
    prepare: Callable[[Cohort, Settings], tuple[Cohort, Iterable[Finding]]]
    network: Callable[[LearnedNetwork, Cohort, str, Study], LearnedNetwork]
    networks: Callable[[Job], Networks]
    confidence: Callable[[Job, Networks], Mapping[str, EdgeConfidence]]
    tests: Callable[[Job, Networks], Differences | None]
    sensitivity: Callable[[Job, Networks], Sensitivity | None]
    accuracy: Callable[[Job], Accuracy | None]


def flow_of(cohort: Cohort) -> Flow:
    """Return the functions for a cohort. Only this function asks for the kind of the cohort."""
    return SERIES if isinstance(cohort, SeriesCohort) else TABLES


def _table_learner(learner: LearnedNetwork | None, settings: Settings) -> LearnedNetwork:
    if isinstance(learner, SeriesSGBN):
        raise InputError(
            "the learner is a SeriesSGBN, which needs time series, but this cohort has one row per "
            "subject. Give another learner, or a SeriesCohort."
        )
    return default_ensemble(settings) if learner is None else learner


def _prepare_table(cohort: Cohort, settings: Settings) -> tuple[Cohort, Iterable[Finding]]:
    prepared = prepare(cohort)
    # A setting is None if the learner has no such parameter. Then only tests leave outliers out.
    how = settings.outliers or "tests", settings.transform or "none"
    return prepared, review_prepared(prepared, *how)


# All fields are required, so that no step of either kind of cohort can be forgotten.
TABLES = Flow(
    settings=lambda settings: settings,
    learner=_table_learner,
    prepare=_prepare_table,
    # This one is for `group_network`, which learns only one group.
    network=learn_network,
    networks=networks_of,
    confidence=confidence_of,
    tests=tests_of,
    sensitivity=sensitivity_of,
    accuracy=accuracy_of,
)
SERIES = Flow(
    settings=series_settings,
    learner=series_learner,
    prepare=lambda cohort, _: (fill_covariates(cohort), ()),  # the tests hold covariates fixed
    network=series_network,
    networks=networks_of_series,
    confidence=confidence_of_series,
    tests=tests_of_series,
    sensitivity=sensitivity_of_series,
    accuracy=accuracy_of_series,
)
