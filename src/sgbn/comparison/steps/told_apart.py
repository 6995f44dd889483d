"""The steps that tell the groups apart: the accuracy of classifiers, and the one to keep."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sgbn.cohort.rows import rows_of_groups
from sgbn.cohort.series import SeriesCohort
from sgbn.comparison.step import Job, Step
from sgbn.comparison.steps.cross_validation import cross_validate, fit_model, permuted_accuracies
from sgbn.comparison.steps.series_accuracy import cross_validate_series, permuted_series_accuracies
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array
from sgbn.inference.difference_problem import check_request


class AccuracyStep(Step):
    """Measure how well classifiers recognise the groups of subjects that they have not seen."""

    name, title = "accuracy", "Telling the groups apart, cross-validated"
    still = "how well the groups can be told apart (accuracy)"
    # With None, the sizes of the groups decide the number of repeats.
    setting, off = "n_repeats", 0

    def run(self, job: Job, found: dict[str, Any]) -> None:
        """Cross-validate the classifiers, and exchange the labels if that is asked for."""
        # This is not the prepared cohort, because each training part is prepared by itself.
        cohort, part = job.cohort, job.study.part(self.name)
        if isinstance(cohort, SeriesCohort):
            accuracy = cross_validate_series(cohort, job.settings, part, job.searcher)
        else:
            accuracy = cross_validate(cohort, job.settings, part, job.searcher)
        found["accuracy"] = replace(accuracy, permuted=_permuted(job))


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


class ModelStep(Step):
    """Fit the classifier to all subjects, unless its accuracy is unknown."""

    name, title = "model", "The classifier, fitted to all subjects"
    still = "the classifier for new subjects"
    setting, needs = "model", "accuracy"
    not_for_series = "sgbn predict reads tables, but not yet time series"

    def run(self, job: Job, found: dict[str, Any]) -> None:
        """Fit the classifier."""
        found["model"] = fit_model(job.cohort, job.settings, job.study.part(self.name))
