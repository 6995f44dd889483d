"""KL-SGBN moves networks so that an SVM on their Fisher vectors generalises."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.types import Array
from sgbn.core.validation import POSITIVE, TRUTH, Label, OneOf, Parameters
from sgbn.discriminative.fisher_objective import RADII, PairwiseFisherKernels
from sgbn.discriminative.moved import Edges, MovedClassifier, Optimum, minimise
from sgbn.discriminative.objectives import MovingLikelihoods
from sgbn.learn.base import NetworkLearner
from sgbn.learn.classifier import Explanation, Priors, Temperature


class KLSGBNClassifier(MovedClassifier):
    """A classifier that moves networks so that an SVM separates their Fisher vectors well.

    It moves the edges that tell the classes apart best, so that the radius-margin bound of an
    L2-SVM on the Fisher vectors falls. With ``anchor="fit"``, the fitting error of each class is
    then at most ``1 + slack`` times its value at the start. With more than two classes, the bounds
    of all pairs are added. The likelihood of the moved networks predicts the class. To predict by
    the SVM on their Fisher vectors, give this classifier to `FisherSVMClassifier`.

    Parameters
    ----------
    learner : estimator, optional
        The estimator that learns the networks at the start. By default, it is `SGBN`.
    edges : int, "present" or "all"
        The edges and biases to move, see `MMSGBNClassifier`.
    slack : float
        The share of the fitting error that the move may add.
    anchor : {"fit", "start"}
        The centre of the ball in which the networks may move, see `MMSGBNClassifier`.
    shared : bool
        Whether all classes have one network, learned from all rows (the paper's footnote 1). Its
        Fisher vectors tell the classes apart, but its likelihoods cannot. Predict by
        `FisherSVMClassifier` in this case.
    C : float
        The penalty of the SVM's slacks, in units of n over the total scatter of the Fisher vectors
        at the start. So it does not depend on their scale.
    radius : {"scatter", "ball"}
        How the bound measures the radius. "scatter" is the total scatter of the Fisher vectors, as
        in the paper. "ball" is the smallest ball around them, which a few subjects may determine.
    variances, pool, priors, temperature, random_state
        As in `SGBNClassifier`. Variances are "unit" by default, as in the paper.
    max_iter : int
        The largest number of iterations.

    Attributes
    ----------
    networks_, classes_, priors_, temperature_, n_features_in_, feature_names_in_
        As in `SGBNClassifier`.
    fitting_errors_ : dict of class to (before, after, limit)
        The fitting error of each class before and after the move, and the largest error allowed.

    Notes
    -----
    Paper: Section 3.1, Algorithm 1 (KL-SGBN), on Eq. 3.5 in the form of Eq. 3.7. The multipliers
    of the SVM are solved again at each step.
    """

    _parameters: ClassVar[Parameters] = {
        "shared": TRUTH,
        "C": POSITIVE,
        "radius": OneOf(*RADII),
    }

    def __init__(
        self,
        learner: NetworkLearner | None = None,
        *,
        edges: Edges = 100,
        slack: float = 0.01,
        anchor: str = "fit",
        shared: bool = False,
        C: float = 1.0,
        radius: str = "scatter",
        variances: str = "unit",
        pool: float = 0.0,
        priors: Priors = "empirical",
        temperature: Temperature = "cv",
        max_iter: int = 100,
        random_state: int = 0,
    ) -> None:
        super().__init__(learner, variances=variances, pool=pool, priors=priors)
        self.temperature, self.random_state = temperature, random_state
        self.edges, self.slack, self.anchor = edges, slack, anchor
        self.shared = shared
        self.C = C
        self.radius = radius
        self.max_iter = max_iter

    def _optimise(self, likelihoods: MovingLikelihoods) -> Optimum:
        # In later rounds the start has lost its light edges, and may be outside the ball.
        u0 = likelihoods.moves.project(likelihoods.moves.u0)
        bound = PairwiseFisherKernels(likelihoods, self.C, u0, self.radius)
        return minimise(bound, likelihoods.moves, u0, self.max_iter)

    def _standardised_networks(
        self, Z: Array, labels: NDArray[Any], names: list[str]
    ) -> dict[Any, GaussianNetwork]:
        if not self.shared:
            return super()._standardised_networks(Z, labels, names)
        # With one label for all rows, the learner gets a single class.
        [network] = super()._standardised_networks(Z, np.zeros(len(Z)), names).values()
        return dict.fromkeys(self.classes_.tolist(), network)

    def _fit_temperature(self, values: Array, labels: NDArray[Any], names: list[str]) -> float:
        # With a shared network all log-odds are equal, and there is nothing to scale.
        return 1.0 if self.shared else super()._fit_temperature(values, labels, names)

    def explain(
        self, X: ArrayLike, of: Label | None = None, against: Label | None = None
    ) -> Explanation:
        """Explain as in `SGBNClassifier`. Raise InputError if all classes share one network."""
        self._check_not_shared()
        return super().explain(X, of, against)

    def _scores(self, X: ArrayLike) -> Array:
        self._check_not_shared()
        return super()._scores(X)

    def _check_not_shared(self) -> None:
        if self.shared:
            raise InputError(
                "with shared=True all classes have one network, and so the same likelihood. "
                "Predict by FisherSVMClassifier(KLSGBNClassifier(shared=True))."
            )
