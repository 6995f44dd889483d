"""KL-SGBN: networks moved so that an SVM on their Fisher vectors generalises."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.discriminative.moved import MovedClassifier, minimise
from sgbn.discriminative.moves import Moves
from sgbn.discriminative.objectives import FisherKernelObjective, Sample
from sgbn.exceptions import InputError
from sgbn.solvers.svm import total_scatter
from sgbn.validation import is_number

Array = NDArray[np.float64]


class KLSGBNClassifier(MovedClassifier):
    """Networks whose Fisher vectors an SVM separates well, at a bounded loss of fit.

    Moves the edges that tell the classes apart best, so that the radius-margin bound of an L2-SVM
    on the Fisher vectors falls, while no class's fitting error exceeds ``1 + slack`` times that of
    the start. The graphs stay as they are. With more than two classes the bounds of all pairs are
    added. Classes are predicted by the likelihood of the moved networks.

    Parameters
    ----------
    learner : estimator, optional
        Of the networks at the start; `SGBN` by default.
    edges : int or "present"
        Edges and biases to move, see `MMSGBNClassifier`.
    slack : float
        Share of fitting error that may be added.
    anchor : {"fit", "start"}
        See `MMSGBNClassifier`.
    C : float
        Penalty of the SVM's slacks, in units of n over the total scatter of the Fisher vectors at
        the start, so that it does not depend on their scale.
    variances, pool, priors, temperature, random_state
        As in `SGBNClassifier`; unit variances by default, as in the paper.
    max_iter : int

    Attributes
    ----------
    networks_, classes_, priors_, temperature_, n_features_in_, feature_names_in_
        As in `SGBNClassifier`.
    fitting_errors_ : dict of class to (before, after, limit)

    Notes
    -----
    Paper: Section 3.1, Algorithm 1 (KL-SGBN), with the multipliers solved anew at each step.
    """

    def __init__(
        self,
        learner: Any = None,
        *,
        edges: Any = 100,
        slack: float = 0.01,
        anchor: str = "fit",
        C: float = 1.0,
        variances: str = "unit",
        pool: float = 0.0,
        priors: Any = "empirical",
        temperature: Any = "cv",
        max_iter: int = 100,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            learner,
            variances=variances,
            pool=pool,
            priors=priors,
            temperature=temperature,
            random_state=random_state,
        )
        self.edges = edges
        self.slack = slack
        self.anchor = anchor
        self.C = C
        self.max_iter = max_iter

    def _optimise(self, sample: Sample, moves: Moves) -> tuple[Array, int]:
        u0 = moves.project(moves.u0)
        objective = PairwiseFisherKernels(sample, self.C, moves.thetas(u0))
        return minimise(objective, moves, u0, self.max_iter)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not is_number(self.C) or not 0 < self.C < np.inf:
            raise InputError(f"C={self.C!r}: give a positive number.")


class PairwiseFisherKernels:
    """Sum of the radius-margin bounds of all pairs of classes."""

    def __init__(self, sample: Sample, C: float, start: Sequence[Array]) -> None:
        self.pairs = list(combinations(range(len(start)), 2))
        self.bounds = []
        for a, b in self.pairs:
            objective = FisherKernelObjective(_pair(sample, a, b), 1.0)
            K, _ = objective.kernel([start[a], start[b]])
            objective.C = C * len(K) / total_scatter(K)
            self.bounds.append(objective)

    def __call__(self, thetas: Sequence[Array]) -> tuple[float, list[Array]]:
        """Value and gradients."""
        value, gradients = 0.0, [np.zeros_like(theta) for theta in thetas]
        for (a, b), bound in zip(self.pairs, self.bounds, strict=True):
            part, (first, second) = bound([thetas[a], thetas[b]])
            value += part
            gradients[a] += first
            gradients[b] += second
        return value, gradients


def _pair(sample: Sample, a: int, b: int) -> Sample:
    rows = np.isin(sample.codes, (a, b))
    return Sample(
        sample.values[rows],
        (sample.codes[rows] == b).astype(np.intp),
        sample.variances[[a, b]],
        sample.log_priors[[a, b]],
    )
