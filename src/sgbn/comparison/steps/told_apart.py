"""The steps that tell the groups apart: the accuracy of classifiers, and the one to keep."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sgbn.cohort.rows import rows_of_groups
from sgbn.cohort.series import SeriesCohort
from sgbn.comparison.names import joined
from sgbn.comparison.step import Job, Step, not_done
from sgbn.comparison.steps.accuracy import METRICS, Accuracy
from sgbn.comparison.steps.cross_validation import cross_validate, fit_model, permuted_accuracies
from sgbn.comparison.steps.differences import p_text
from sgbn.comparison.steps.series_accuracy import cross_validate_series, permuted_series_accuracies
from sgbn.core.problems import InputError, Problem, counted
from sgbn.core.types import Array
from sgbn.inference.difference_problem import check_request
from sgbn.learn.peers import COVARIATES_ALONE

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.result import Comparison


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

    def words(self, comparison: Comparison) -> dict[str, str]:
        """Say whether the groups can be told apart, and how well."""
        return {"Can the groups be told apart?": accuracy_words(comparison)}

    def tables(self, comparison: Comparison) -> dict[str, pd.DataFrame]:
        """Return the scores of all classifiers."""
        found, level = comparison.accuracy, comparison.settings.level
        return {"accuracy": found.table(level)} if found else {}


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


def accuracy_words(comparison: Comparison) -> str:
    """Say whether the groups can be told apart, and how well."""
    if comparison.accuracy is None:
        return not_done(comparison, "accuracy")
    table = comparison.tables.accuracy
    scores: dict[str, Any] = {
        row["method"]: row for row in table.to_dict("records") if row["metric"] == METRICS[0]
    }
    # What is left in `scores` are the peers: covariates alone do not classify by regions.
    ours, alone = scores.pop(comparison.accuracy.ours), scores.pop(COVARIATES_ALONE, None)
    chance = comparison.accuracy.chance
    text = (
        f"{_verdict(ours, chance, comparison.settings.level)}. The balanced accuracy in unseen "
        f"subjects is {_interval(ours)}; a guess has {chance:.2f}. It is the mean over "
        f"{_tested_parts(comparison.accuracy)}.{_best(scores)}"
    )
    if alone is None:
        return text
    # The columns that the classifier by covariates alone uses.
    known = [*comparison.cohort.covariates, *(["site"] * (comparison.n_sites > 0))]
    confounded = (
        f" The groups differ in {'it' if len(known) == 1 else 'them'}: an accuracy that is not "
        "higher says nothing about the regions."
    )
    return (
        f"{text} From {joined(known)} alone it is {_interval(alone)}."
        # This is said only if covariates alone are surely better than a guess.
        f"{confounded if alone['low'] > chance else ''}"
    )


def _tested_parts(accuracy: Accuracy) -> str:
    """Say over how many test folds an accuracy is averaged."""
    n_repeats, n_folds = len(accuracy.folds), int(accuracy.folds.max()) + 1
    how = f"{counted(n_repeats, 'repeat')} x {counted(n_folds, 'fold')}"
    return f"{n_repeats * n_folds} test folds ({how})"


def _verdict(ours: Mapping[str, float], chance: float, level: float) -> str:
    """Say whether the accuracy is better than a guess, by its p and its interval.

    p is one-sided and the interval is two-sided. So p may reach the level while the interval still
    includes a guess. The answer is "Yes" only if both are better than a guess. Without p, the
    interval alone decides.
    """
    above = ours["low"] > chance
    if np.isnan(ours["p"]):
        return "Yes" if above else "Not reliably"
    # The corrected t is an approximation, which is not reliable in its far tail.
    p = f"one-sided {p_text(ours['p']) if ours['p'] >= 0.001 else 'p < 0.001'}"
    if ours["p"] > level:
        return f"Not reliably ({p})"
    return f"Yes ({p})" if above else f"Perhaps ({p}, but the interval includes a guess)"


def _best(scores: Mapping[str, Any]) -> str:
    """Say how accurate the best of the other classifiers is; return "" if there are none."""
    if not scores:
        return ""
    # The best of several looks better than it is. So the text says that it is the best of several.
    best = max(scores.values(), key=lambda row: row["mean"])
    name = best["method"] if len(scores) == 1 else f"The best other classifier, {best['method']},"
    return f" {name[0].upper()}{name[1:]} has {_interval(best)}."


def _interval(row: Mapping[str, float]) -> str:
    return f"{row['mean']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
