"""CL-SGBN: edge weights are changed so that the true classes become more probable."""

from __future__ import annotations

from typing import ClassVar

from sgbn.discriminative.likelihood import Priors, Temperature
from sgbn.discriminative.linear_residuals import minimise_log_loss
from sgbn.discriminative.moved import STALL, TOL, Edges, MovedClassifier, Optimum
from sgbn.discriminative.objectives import MovingLikelihoods
from sgbn.parameters import POSITIVE, Parameters
from sgbn.structure.base import NetworkLearner
from sgbn.types import Array


class CLSGBNClassifier(MovedClassifier):
    """Networks of a large conditional likelihood, in a ball around the networks at the start.

    Like `MMSGBNClassifier`, but it maximises the mean log-probability of the true classes. This
    objective is smooth, depends on every subject and cannot collapse. It is not in the paper.

    Parameters
    ----------
    learner : estimator, optional
        Estimator that learns the networks at the start; `SGBN` by default.
    edges : int, "present" or "all"
        Edges and biases to move, see `MMSGBNClassifier`.
    slack : float
        Squared radius of the ball, as a share of the fitting error at the start.
    anchor : {"start", "fit"}
        Centre of the ball, see `MMSGBNClassifier`.
    sharpness : float
        Factor of the log-likelihoods in the objective. With many regions the log-likelihoods of
        two classes differ by tens, and a factor of 1 would let only a few subjects count.
    variances, pool, priors, temperature, random_state
        As in `SGBNClassifier`.
    max_iter : int
        Largest number of iterations.

    Attributes
    ----------
    networks_, classes_, priors_, temperature_, n_features_in_, feature_names_in_
        As in `SGBNClassifier`.
    fitting_errors_ : dict of class to (before, after, limit)
        Fitting error of each class before and after the move, and the largest error allowed. With
        ``anchor="start"`` this limit follows from the ball, and is above ``1 + slack`` times the
        error before.
    """

    _parameters: ClassVar[Parameters] = {"sharpness": POSITIVE}

    def __init__(
        self,
        learner: NetworkLearner | None = None,
        *,
        edges: Edges = "present",
        slack: float = 0.01,
        anchor: str = "start",
        sharpness: float = 0.2,
        variances: str = "class",
        pool: float = 0.0,
        priors: Priors = "empirical",
        temperature: Temperature = "cv",
        max_iter: int = 200,
        random_state: int = 0,
    ) -> None:
        super().__init__(learner, variances=variances, pool=pool, priors=priors)
        self.temperature, self.random_state = temperature, random_state
        self.edges, self.slack, self.anchor = edges, slack, anchor
        self.sharpness = sharpness
        self.max_iter = max_iter

    def _optimise(self, likelihoods: MovingLikelihoods) -> Optimum:
        moves = likelihoods.moves
        # Exactly floats and ints: for another type numba would compile the kernel again.
        u, n_iter, _ = minimise_log_loss(
            likelihoods.residuals,
            moves.offsets,
            moves.radii,
            moves.u0,
            float(self.sharpness),
            TOL,
            int(self.max_iter),
            STALL,
        )
        return Optimum(u, n_iter, n_iter < self.max_iter)

    def _log_priors(self) -> Array:
        # The objective multiplies log-priors by the sharpness, like log-likelihoods. Undo it here.
        return super()._log_priors() / self.sharpness
