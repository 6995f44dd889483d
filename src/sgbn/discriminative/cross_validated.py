"""The classifier that chooses its own sparsity, blend, radius and temperature."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.discriminative.cl_sgbn import CLSGBNClassifier
from sgbn.discriminative.likelihood import (
    Learned,
    SGBNClassifier,
    best_temperature,
    tempered_loss,
)
from sgbn.exceptions import DataWarning, InputError
from sgbn.structure import ORSGBN
from sgbn.validation import is_number

Array = NDArray[np.float64]


class Candidate(NamedTuple):
    """A classifier, and its log-loss on rows that it has not seen, at its best temperature."""

    loss: float
    temperature: float
    classifier: SGBNClassifier


class SGBNClassifierCV(SGBNClassifier):
    """One network a class, moved apart, with all that matters chosen by cross-validation.

    In five folds of the training rows, by the log-loss of rows that the networks have not seen:
    first the sparsity of the networks and the share of the pooled covariance in each class's own,
    then how far the networks are moved by `CLSGBNClassifier`, if at all. The temperature is that of
    the same rows.

    Parameters
    ----------
    alphas : sequence of float
        Sparsities of `ORSGBN` to try.
    pools : sequence of float
        Shares of the pooled covariance to try.
    slacks : sequence of float
        Radii of the move to try; 0 leaves the networks as they were learned.
    variances, priors, random_state
        As in `SGBNClassifier`.

    Attributes
    ----------
    alpha_, pool_, slack_ : float
        Those chosen.
    classes_, networks_, priors_, temperature_, n_features_in_, feature_names_in_
        As in `SGBNClassifier`.
    """

    def __init__(
        self,
        *,
        alphas: Any = (0.05, 0.1, 0.2, 0.3, 0.5),
        pools: Any = (0.0, 0.3, 0.6, 0.9, 1.0),
        slacks: Any = (0.0, 0.003, 0.01, 0.03, 0.1),
        variances: str = "class",
        priors: Any = "empirical",
        random_state: int = 0,
    ) -> None:
        super().__init__(variances=variances, priors=priors, random_state=random_state)
        self.alphas = alphas
        self.pools = pools
        self.slacks = slacks

    def _learn(self, values: Array, labels: NDArray[Any], names: list[str]) -> Learned:
        with warnings.catch_warnings():
            # of ties and few rows in a fold: there is nothing that a user could do about them
            warnings.simplefilter("ignore", DataWarning)
            self._chosen = self._choose(values, labels, names)
            best: Any = self._chosen.classifier
            learned = best._learn(values, labels, names)
        self.alpha_, self.pool_ = float(best.learner.alpha), float(best.pool)
        self.slack_ = float(getattr(best, "slack", 0.0))
        return learned

    def _fit_temperature(self, values: Array, labels: NDArray[Any], names: list[str]) -> float:  # noqa: ARG002
        return self._chosen.temperature

    def _choose(self, values: Array, labels: NDArray[Any], names: list[str]) -> Candidate:
        plain = [
            self._candidate(SGBNClassifier(ORSGBN(alpha), pool=pool), values, labels, names)
            for alpha, pool in product(self.alphas, self.pools)
        ]
        best = min(plain, key=lambda candidate: candidate.loss)
        learner, pool = best.classifier.learner, best.classifier.pool
        moved = [
            self._candidate(
                CLSGBNClassifier(learner, pool=pool, slack=slack, sharpness=best.temperature),
                values,
                labels,
                names,
            )
            for slack in self.slacks
            if slack > 0
        ]
        return min([best, *moved], key=lambda candidate: candidate.loss)

    def _candidate(
        self, classifier: SGBNClassifier, values: Array, labels: NDArray[Any], names: list[str]
    ) -> Candidate:
        classifier.set_params(variances=self.variances, random_state=self.random_state)
        classifier.classes_, classifier.priors_ = self.classes_, self.priors_
        unseen = classifier._unseen_likelihoods(values, labels, names)
        if unseen is None:  # too few rows to choose by: the first of each
            return Candidate(np.inf, 1.0, classifier)
        codes = np.searchsorted(self.classes_, labels)
        temperature = best_temperature(unseen, codes, self.priors_)
        loss = tempered_loss(unseen, codes, self.priors_, temperature)
        return Candidate(loss, temperature, classifier)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        for name, low, high in (("alphas", 0, np.inf), ("pools", 0, 1), ("slacks", 0, np.inf)):
            given = getattr(self, name)
            listed = list(given) if isinstance(given, Iterable) else []
            if not listed or not all(is_number(x) and low <= x <= high for x in listed):
                raise InputError(f"{name}={given!r}: give numbers from {low} to {high}.")
