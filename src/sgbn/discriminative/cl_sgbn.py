"""CL-SGBN changes edge weights so that the true classes become more probable."""

from __future__ import annotations

from typing import ClassVar

from sgbn.core.types import Array
from sgbn.core.validation import POSITIVE, Parameters
from sgbn.discriminative.linear_residuals import minimise_log_loss
from sgbn.discriminative.moved import STALL, TOL, Edges, MovedClassifier, Optimum
from sgbn.discriminative.objectives import MovingLikelihoods
from sgbn.learn.base import NetworkLearner
from sgbn.learn.classifier import Priors, Temperature


class CLSGBNClassifier(MovedClassifier):
    """A classifier that moves edge weights so that the true classes become more probable.

    It works like `MMSGBNClassifier`, but it maximises the mean log-probability of the true classes.
    This objective is smooth, depends on every subject and cannot collapse. By default, the networks
    stay in a ball around the networks at the start. This method is not in the paper.

    Parameters
    ----------
    learner : estimator, optional
        The estimator that learns the networks at the start. By default, it is `SGBN`.
    edges : int, "present" or "all"
        The edges and biases to move, see `MMSGBNClassifier`.
    slack : float
        With ``anchor="start"``, this is the squared radius of the ball, as a share of the fitting
        error at the start. With ``anchor="fit"``, it is the share of the fitting error that the
        move may add.
    anchor : {"start", "fit"}
        The centre of the ball, see `MMSGBNClassifier`.
    sharpness : float
        The factor of the log-likelihoods in the objective. With many regions, the log-likelihoods
        of two classes differ by tens. With a factor of 1, only a few subjects would then count.
    variances, pool, priors, temperature, random_state
        As in `SGBNClassifier`.
    max_iter : int
        The largest number of iterations.

    Attributes
    ----------
    networks_, classes_, priors_, temperature_, n_features_in_, feature_names_in_
        As in `SGBNClassifier`.
    fitting_errors_ : dict of class to (before, after, limit)
        The fitting error of each class before and after the move, and the largest error allowed.
        With ``anchor="start"`` this limit follows from the ball. It is then above ``1 + slack``
        times the error before the move.
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
        # Numba would compile the kernel again for any other types than float and int.
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
        # The objective multiplies log-priors by the sharpness too. The division cancels this.
        return super()._log_priors() / self.sharpness
