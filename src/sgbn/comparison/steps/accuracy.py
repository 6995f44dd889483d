"""The accuracy of classifiers for subjects that they have not seen.

The section of the page that shows how well the classifiers tell the groups apart.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score, roc_curve

from sgbn.core.types import Array, Indices, Labels, Mask
from sgbn.inference.intervals import Estimate, estimate
from sgbn.learn.peers import COVARIATES_ALONE
from sgbn.write.page import Field, Table, interval_text, make_table, mark_by, p_value
from sgbn.write.tables import frame_of

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.result import Comparison


OURS = "networks (SGBN)"  # the names of the methods in tables
REFINED = "refined networks (CL-SGBN)"
METRICS = ("balanced accuracy", "AUC", "log-loss")  # the first one is tested against chance
ROUND_OFF = 1e-12  # accuracies that differ by less are equal, as sums depend on their order
SENSITIVITY, SPECIFICITY, RECALL = "sensitivity", "specificity", "recall"


@dataclass(frozen=True)
class Accuracy:
    """The results of a cross-validation: probabilities of subjects that a model has not seen.

    Attributes
    ----------
    groups : tuple of str
        The names of the groups, in the order of the columns of the probabilities.
    labels : ndarray of shape (n,)
        The true group of each of the n subjects.
    folds : ndarray of shape (n_repeats, n)
        The number of the fold in which each subject was tested.
    probabilities : mapping of method to ndarray of shape (n_repeats, n, n_groups)
        The probability of each group for each subject, by a model that has not seen the subject.
    gammas : ndarray of shape (k,)
        The values of gamma (the penalty per edge) that were tried in the first repeat.
    edges : ndarray of shape (k,)
        The mean number of edges of a network, for each of the gammas.
    by_gamma : ndarray of shape (k, n, n_groups)
        The probabilities of the first repeat, for each of the gammas; see `sparsity`.
    explanations : ndarray of shape (n, SHOWN), structured
        The largest contributions to the log-likelihood ratio of the likeliest group to the second
        likeliest group, in the first repeat. The fields are source ("" for a region itself), target
        and value.
    explained : ndarray of shape (n, 2)
        The positions in `groups` of the likeliest and the second likeliest group.
    reference : str, optional
        With two groups, the group whose recall is the specificity. By default, it is the first
        group.
    permuted : ndarray of shape (n_permutations,)
        The balanced accuracy of our classifier after each exchange of the labels; see
        `permuted_accuracies`. It is empty if there were no exchanges.
    """

    groups: tuple[str, ...]
    labels: Labels
    folds: Indices
    probabilities: Mapping[str, Array]
    gammas: Array
    edges: Array
    by_gamma: Array
    explanations: NDArray[Any]
    explained: Indices
    reference: str | None = None
    permuted: Array = field(default_factory=lambda: np.empty(0))

    def table(self, level: float = 0.05) -> pd.DataFrame:
        """Return the mean of each score over the folds, with its interval.

        The intervals cover ``1 - level`` and allow for the overlap of training parts. The columns
        are method, metric, mean, low, high and p. With two groups, specificity is the recognised
        share of the reference, and sensitivity is the recognised share of the other group. With
        more groups, each group has its own recall. Only balanced accuracy has a p; see `p_value`.
        """
        rows = [
            (method, metric, *self._mean(repeats, metric, level), self._p(method, metric))
            for method, repeats in self.probabilities.items()
            for metric in (*METRICS, *self.recalls)
        ]
        return frame_of(rows, ["method", "metric", "mean", "low", "high", "p"])

    @cached_property
    def recalls(self) -> dict[str, str]:
        """Return the group of each recall by the name of the recall.

        A recall is the recognised share of a group.
        """
        if len(self.groups) > 2:
            return {f"{RECALL}, {group}": group for group in self.groups}
        # Two groups are treated like a diagnosis, which the reference does not have.
        reference = self.groups[0] if self.reference is None else self.reference
        (other,) = (group for group in self.groups if group != reference)
        return {SENSITIVITY: other, SPECIFICITY: reference}

    @property
    def ours(self) -> str:
        """Return the name of our classifier, which is the first of the methods."""
        return next(iter(self.probabilities))

    def p_value(self, method: str | None = None) -> float:
        """Return the one-sided p of the balanced accuracy of a method against chance.

        By default the method is our classifier. If `permuted` holds accuracies, the p of our
        classifier is the share of these accuracies that reach the accuracy of the first repeat,
        which counts as one of them. For other methods, and without `permuted`, p comes from the
        corrected resampled t test of Nadeau and Bengio over the folds, like the intervals.

        A permutation of the labels that keeps the predictions would give a p that is too small,
        because the predictions depend on the labels of the other subjects, and the repeats depend
        on each other (benchmarks/accuracy_level.py).
        """
        method = self.ours if method is None else method
        if method == self.ours and len(self.permuted):
            first_repeat = np.nanmean(self._scores(self.probabilities[method][:1], METRICS[0]))
            reached = np.count_nonzero(self.permuted >= first_repeat - ROUND_OFF)
            # The observed labels count as one of the permutations, so p is never 0.
            return float((1 + reached) / (1 + len(self.permuted)))
        over_folds = estimate(self._scores(self.probabilities[method], METRICS[0]), self._overlap)
        if not over_folds.error > 0:
            return np.nan  # one fold, or folds with equal scores, have no spread for a test
        return float(stdtr(over_folds.df, (self.chance - over_folds.mean) / over_folds.error))

    def roc(self, method: str | None = None) -> pd.DataFrame:
        """Return the ROC curve of a classifier of two groups: sensitivity over 1 - specificity.

        The probabilities of each subject are averaged over the repeats. A subject is assigned to
        the group that is not the reference if its probability reaches `threshold`. The columns are
        threshold, sensitivity and specificity. The table is empty for more than two groups.
        """
        if len(self.groups) > 2:
            return frame_of(columns=["threshold", SENSITIVITY, SPECIFICITY])
        group = self.recalls[SENSITIVITY]
        place = self.groups.index(group)
        mean = self.probabilities[self.ours if method is None else method].mean(axis=0)[:, place]
        # The first threshold is infinite: no subject reaches it.
        wrong, right, threshold = roc_curve(self.labels == group, mean)
        return frame_of({"threshold": threshold, SENSITIVITY: right, SPECIFICITY: 1 - wrong})

    def _p(self, method: str, metric: str) -> float:
        return self.p_value(method) if metric == METRICS[0] else np.nan

    def sparsity(self, level: float = 0.05) -> pd.DataFrame:
        """Return a table of the balanced accuracy at each gamma.

        The columns are gamma, edges (the mean number of edges of a network), mean, low and high.
        """
        tried = zip(self.gammas, self.edges, self.by_gamma, strict=True)
        rows = [
            # [None] adds the axis of repeats that `_mean` expects: there is one repeat.
            (gamma, edges, *self._mean(probabilities[None], METRICS[0], level))
            for gamma, edges, probabilities in tried
        ]
        return frame_of(rows, ["gamma", "edges", "mean", "low", "high"])

    def difference(self, method: str, other: str) -> Estimate:
        """Estimate the difference in balanced accuracy, `method` minus `other`."""
        return estimate(
            # The difference is taken fold by fold, so that the difficulty of a fold cancels.
            self._scores(self.probabilities[method], METRICS[0])
            - self._scores(self.probabilities[other], METRICS[0]),
            self._overlap,
        )

    @property
    def chance(self) -> float:
        """Return the balanced accuracy of guessing, which is 1 / number of groups."""
        return 1 / len(self.groups)

    @cached_property
    def _overlap(self) -> float:
        # Test rows per training row: one fold is tested, and the n_folds - 1 other folds train.
        return 1 / int(self.folds.max())

    def _mean(self, repeats: Array, metric: str, level: float) -> tuple[float, float, float]:
        """Return the mean over the folds and its interval, cut at the bounds of the score."""
        over_folds = estimate(self._scores(repeats, metric), self._overlap)
        low, high = over_folds.interval(1 - level)
        # A log-loss has no upper bound.
        return over_folds.mean, max(low, 0.0), high if metric == "log-loss" else min(high, 1.0)

    def _scores(self, repeats: Array, metric: str) -> Array:
        """Return the score of every fold. `repeats` may hold only the first repeats."""
        return np.array(
            [
                self._score(metric, self.labels[test], probabilities[test])
                for fold_of, probabilities in zip(self.folds, repeats, strict=False)
                for test in parts_of(fold_of)
            ]
        )

    def _score(self, metric: str, labels: Labels, probabilities: Array) -> float:
        """Return the score of one fold; NaN if the fold lacks a group that the score needs."""
        if metric not in self.recalls:
            return fold_score(metric, labels, probabilities, self.groups)
        of_group = labels == self.recalls[metric]
        predicted = np.array(self.groups)[probabilities.argmax(axis=1)]
        return float((predicted == labels)[of_group].mean()) if of_group.any() else np.nan


def parts_of(fold_of: Indices) -> list[Mask]:
    """Return one mask per fold of a repeat, which marks the subjects that are tested in it."""
    return [fold_of == fold for fold in range(int(fold_of.max()) + 1)]


def fold_score(metric: str, labels: Labels, probabilities: Array, groups: tuple[str, ...]) -> float:
    """Return the score of one fold; NaN for an AUC if the fold lacks a group."""
    if metric == "balanced accuracy":
        with warnings.catch_warnings():
            # A small fold may lack a group that is predicted. scikit-learn then warns, and returns
            # the mean recall of the groups that the fold has.
            warnings.simplefilter("ignore")
            predicted = np.array(groups)[probabilities.argmax(axis=1)]
            return float(balanced_accuracy_score(labels, predicted))
    if metric == "log-loss":
        return float(log_loss(labels, probabilities, labels=list(groups)))
    if len(np.unique(labels)) < len(groups):
        return np.nan
    if len(groups) == 2:
        # scikit-learn expects one column for two classes, and all columns for more classes.
        return float(roc_auc_score(labels == groups[1], probabilities[:, 1]))
    return float(roc_auc_score(labels, probabilities, multi_class="ovr", labels=list(groups)))


def accuracy_section(comparison: Comparison) -> dict[str, Any] | None:
    """Collect the scores of the classifiers; return None if no classifier was tried."""
    accuracy = comparison.accuracy
    if accuracy is None:
        return None
    p, gain_text = accuracy.p_value(), None
    if COVARIATES_ALONE in accuracy.probabilities:
        gain = accuracy.difference(accuracy.ours, COVARIATES_ALONE)
        gain_text = interval_text(gain.mean, *gain.interval(1 - comparison.settings.level))
    return {
        "table": accuracy_table(comparison),
        "recognised": recognised_table(comparison),
        "ours": accuracy.ours,
        # Only NaN differs from itself. In a sentence "below 0.001" reads better than "< 0.001".
        "p": "unknown" if p != p else p_value(p).replace("<", "below"),
        "n_permutations": len(accuracy.permuted),
        "sensitivity_of": accuracy.recalls.get(SENSITIVITY, ""),
        "chance": f"{accuracy.chance:.2f}",
        # `folds` has one row per repeat: the number of the test fold of each subject, from 0.
        "folds": int(accuracy.folds.max()) + 1,
        "repeats": len(accuracy.folds),
        "gain": gain_text,
        "interval": f"{1 - comparison.settings.level:.0%}",
        "covariates_alone": COVARIATES_ALONE,
    }


def accuracy_table(comparison: Comparison) -> Table:
    """Make a table of all scores with intervals: one row per classifier, the best first."""
    ours = "" if comparison.accuracy is None else comparison.accuracy.ours
    marks = {ours: "ours", COVARIATES_ALONE: "covariates"}
    return make_table(
        "accuracy-table",
        "Scores in subjects that were not seen in training",
        _by_method(comparison),
        [Field("method", "classifier"), *(Field(name, name) for name in METRICS)],
        mark=mark_by("method", marks),
        searched=False,
    )


def recognised_table(comparison: Comparison) -> Table:
    """Make a table of the share of each group that each classifier recognises."""
    recalls = [] if comparison.accuracy is None else comparison.accuracy.recalls
    return make_table(
        "recognised-table",
        "Shares of the groups that are recognised",
        _by_method(comparison),
        [
            Field("method", "classifier"),
            *(Field(name, name, hint="") for name in recalls),
            Field("p", "p of the balanced accuracy"),
        ],
        searched=False,
    )


def _by_method(comparison: Comparison) -> pd.DataFrame:
    """Return the scores as text and the p: one row per classifier, the best first."""
    table = comparison.tables.accuracy
    texts = [interval_text(*row) for row in table[["mean", "low", "high"]].itertuples(index=False)]
    wide = table.assign(text=texts).pivot(index="method", columns="metric", values="text")
    balanced = table[table["metric"] == METRICS[0]].set_index("method")
    # `pivot` has sorted the classifiers by name, so p must be sorted in the same way.
    wide["p"] = [p_value(p) for p in balanced["p"].reindex(wide.index)]
    best_first = balanced["mean"].sort_values(ascending=False, kind="stable").index
    return wide.loc[best_first].reset_index()
