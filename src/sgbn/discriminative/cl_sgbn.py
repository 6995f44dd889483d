"""CL-SGBN: networks moved so that the probability of the true classes grows."""

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
    """Networks of a large conditional likelihood, in a ball around the start.

    As `MMSGBNClassifier`, but the mean log-probability of the true classes grows: a smooth
    objective to which every subject counts, and which cannot collapse. Not in the paper.

    Parameters
    ----------
    learner : estimator, optional
        It learns the networks at the start; `SGBN` by default.
    edges : int or "present"
        Edges and biases to move, see `MMSGBNClassifier`.
    slack : float
        Size of the ball, as a share of the fitting error at the start.
    anchor : {"start", "fit"}
        See `MMSGBNClassifier`.
    sharpness : float
        Factor of the log-likelihoods in the objective. Those of many regions differ by tens:
        without it few subjects would count.
    variances, pool, priors, temperature, random_state
        As in `SGBNClassifier`.
    max_iter : int

    Attributes
    ----------
    networks_, classes_, priors_, temperature_, n_features_in_, feature_names_in_
        As in `SGBNClassifier`.
    fitting_errors_ : dict of class to (before, after, limit)
        With ``anchor="start"`` the limit follows from the ball, and is above ``1 + slack`` times
        the error before.
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
        # the kernel wants floats and ints: another type would compile it anew
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
        # the objective multiplies them by the sharpness, as it does the log-likelihoods
        return super()._log_priors() / self.sharpness
