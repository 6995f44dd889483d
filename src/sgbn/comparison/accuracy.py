"""How well the groups can be told apart, in subjects that the classifiers had not seen."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import stdtr
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score, roc_curve

from sgbn.comparison.intervals import Estimate, estimate
from sgbn.types import Array, Indices, Labels, Mask

OURS = "networks (SGBN)"  # names of methods are those in the tables
REFINED = "refined networks (CL-SGBN)"
METRICS = ("balanced accuracy", "AUC", "log-loss")  # the first is the one that is tested
ROUND_OFF = 1e-12  # of an accuracy: sums of the same folds in another order differ by less
SENSITIVITY, SPECIFICITY, RECALL = "sensitivity", "specificity", "recall"


@dataclass(frozen=True)
class Accuracy:
    """What classifiers did on subjects that they had not seen.

    Attributes
    ----------
    groups : tuple of str
        Columns of the probabilities.
    labels : ndarray of shape (n,)
        True group of each subject.
    folds : ndarray of shape (n_repeats, n)
        In which fold each subject was tested.
    probabilities : mapping of method to ndarray of shape (n_repeats, n, n_groups)
    gammas, edges : ndarray of shape (k,)
        Sparsities that were tried in the first repeat, and mean edges of a network; see `sparsity`.
    by_gamma : ndarray of shape (k, n, n_groups)
    explanations : ndarray of shape (n, SHOWN), structured
        Parts of the log-likelihood ratio of the likeliest group over the next in the first repeat,
        the largest first: source ("" for a region by itself), target, value.
    explained : ndarray of shape (n, 2)
        Places of these two groups.
    reference : str, optional
        The group whose recognised share is the specificity, of two; by default the first.
    permuted : ndarray of shape (n_permutations,)
        Balanced accuracy of our classifier where the labels were exchanged; see
        `permuted_accuracies`. Empty if that was not asked for.
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
        """Means over the folds, with intervals that allow for the overlap of training parts.

        Columns method, metric, mean, low, high and p. Of two groups, sensitivity is the share of
        the second that is recognised, and specificity that of the first, the reference; of more,
        each group has its recall. p is that of balanced accuracy only: see `p_value`.
        """
        rows = [
            (method, metric, *self._mean(repeats, metric, level), self._p(method, metric))
            for method, repeats in self.probabilities.items()
            for metric in (*METRICS, *self.recalls)
        ]
        return pd.DataFrame(rows, columns=["method", "metric", "mean", "low", "high", "p"])

    @cached_property
    def recalls(self) -> dict[str, str]:
        """Name of the share of each group that is recognised -> the group."""
        if len(self.groups) > 2:
            return {f"{RECALL}, {group}": group for group in self.groups}
        # Two groups are read as a diagnosis: the reference are those without it.
        reference = self.groups[0] if self.reference is None else self.reference
        (other,) = (group for group in self.groups if group != reference)
        return {SENSITIVITY: other, SPECIFICITY: reference}

    @property
    def ours(self) -> str:
        """Name of our classifier, which comes first."""
        return next(iter(self.probabilities))

    def p_value(self, method: str | None = None) -> float:
        """One-sided p of the accuracy against a guess; by default for our classifier.

        Of our classifier by permutations, where these were asked for: the share of `permuted`, and
        the first repeat itself, that reach the accuracy of the first repeat. Else by the corrected
        resampled t of Nadeau and Bengio over the folds, as the intervals are. A permutation of
        labels against predictions that stay as they are would be too sure: the predictions depend
        on the labels of the other subjects, and repeats on each other
        (benchmarks/accuracy_level.py).
        """
        method = self.ours if method is None else method
        if method == self.ours and len(self.permuted):
            first_repeat = np.nanmean(self._scores(self.probabilities[method][:1], METRICS[0]))
            reached = np.count_nonzero(self.permuted >= first_repeat - ROUND_OFF)
            # the labels as they are count as one of the permutations, so that p is never 0
            return float((1 + reached) / (1 + len(self.permuted)))
        over_folds = estimate(self._scores(self.probabilities[method], METRICS[0]), self._overlap)
        if not over_folds.error > 0:
            return np.nan  # one fold has no spread, nor have folds that all score the same
        return float(stdtr(over_folds.df, (self.chance - over_folds.mean) / over_folds.error))

    def roc(self, method: str | None = None) -> pd.DataFrame:
        """Curve of a classifier: sensitivity over 1 - specificity, of two groups.

        The probabilities of each subject are averaged over the repeats. Columns threshold, the
        least probability of the group that is called so, sensitivity and specificity.
        """
        if len(self.groups) > 2:
            return pd.DataFrame(columns=["threshold", SENSITIVITY, SPECIFICITY])
        group = self.recalls[SENSITIVITY]
        place = self.groups.index(group)
        mean = self.probabilities[self.ours if method is None else method].mean(axis=0)[:, place]
        # The first threshold is infinite: nobody is called so.
        wrong, right, threshold = roc_curve(self.labels == group, mean)
        return pd.DataFrame({"threshold": threshold, SENSITIVITY: right, SPECIFICITY: 1 - wrong})

    def _p(self, method: str, metric: str) -> float:
        return self.p_value(method) if metric == METRICS[0] else np.nan

    def sparsity(self, level: float = 0.05) -> pd.DataFrame:
        """Balanced accuracy over the sparsity of the networks: gamma, edges, mean, low, high."""
        tried = zip(self.gammas, self.edges, self.by_gamma, strict=True)
        rows = [
            # Of one repeat, whose axis `_mean` expects.
            (gamma, edges, *self._mean(probabilities[None], METRICS[0], level))
            for gamma, edges, probabilities in tried
        ]
        return pd.DataFrame(rows, columns=["gamma", "edges", "mean", "low", "high"])

    def difference(self, method: str, other: str) -> Estimate:
        """How much more balanced accuracy a method has than another, on the same folds."""
        return estimate(
            # Fold by fold: what makes a fold easy or hard for both cancels.
            self._scores(self.probabilities[method], METRICS[0])
            - self._scores(self.probabilities[other], METRICS[0]),
            self._overlap,
        )

    @property
    def chance(self) -> float:
        """Balanced accuracy of a guess."""
        return 1 / len(self.groups)

    @cached_property
    def _overlap(self) -> float:
        # test rows per training row: one fold to the n_folds - 1 others, numbered from 0
        return 1 / int(self.folds.max())

    def _mean(self, repeats: Array, metric: str, level: float) -> tuple[float, float, float]:
        """Mean over the folds and its interval, which is cut at the bounds of the score."""
        over_folds = estimate(self._scores(repeats, metric), self._overlap)
        low, high = over_folds.interval(1 - level)
        # A log-loss has no upper end.
        return over_folds.mean, max(low, 0.0), high if metric == "log-loss" else min(high, 1.0)

    def _scores(self, repeats: Array, metric: str) -> Array:
        """Score of every fold of every repeat; `repeats` may be the first ones alone."""
        return np.array(
            [
                self._score(metric, self.labels[test], probabilities[test])
                for fold_of, probabilities in zip(self.folds, repeats, strict=False)
                for test in parts_of(fold_of)
            ]
        )

    def _score(self, metric: str, labels: Labels, probabilities: Array) -> float:
        """Score of one fold; NaN where it has no subject of a group that is needed."""
        if metric not in self.recalls:
            return fold_score(metric, labels, probabilities, self.groups)
        of_group = labels == self.recalls[metric]
        predicted = np.array(self.groups)[probabilities.argmax(axis=1)]
        return float((predicted == labels)[of_group].mean()) if of_group.any() else np.nan


def parts_of(fold_of: Indices) -> list[Mask]:
    """Mark the subjects of each fold of a repeat."""
    return [fold_of == fold for fold in range(int(fold_of.max()) + 1)]


def fold_score(metric: str, labels: Labels, probabilities: Array, groups: tuple[str, ...]) -> float:
    """Score the subjects of one fold; NaN for an AUC where the fold lacks a group."""
    if metric == "balanced accuracy":
        with warnings.catch_warnings():
            # A small fold may lack a group that is predicted; its balanced accuracy is then the
            # mean recall of the groups that it has.
            warnings.simplefilter("ignore")
            predicted = np.array(groups)[probabilities.argmax(axis=1)]
            return float(balanced_accuracy_score(labels, predicted))
    if metric == "log-loss":
        return float(log_loss(labels, probabilities, labels=list(groups)))
    if len(np.unique(labels)) < len(groups):
        return np.nan
    if len(groups) == 2:
        # scikit-learn wants one column for two classes, and all columns for more
        return float(roc_auc_score(labels == groups[1], probabilities[:, 1]))
    return float(roc_auc_score(labels, probabilities, multi_class="ovr", labels=list(groups)))
