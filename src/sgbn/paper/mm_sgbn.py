"""MM-SGBN moves networks so that the worst margins of their likelihood ratios grow.

CL-SGBN changes edge weights so that the true classes become more probable.
"""

from __future__ import annotations

from dataclasses import dataclass

from sgbn.core.problems import Problem
from sgbn.core.types import Array
from sgbn.core.validation import POSITIVE, UP_TO_ONE, allowed
from sgbn.paper.descent import margins, minimise_log_loss, minimise_margin
from sgbn.paper.moved import (
    STALL,
    TOL,
    Edges,
    MovedClassifier,
    MovingLikelihoods,
    Optimum,
    exact_margin,
)

ROUND_OFF = 1e-6  # nats; a smaller spread means equal likelihood ratios, as with empty networks

# The smoothed hinge is wide at first, and narrow in the end. Widths are in standard deviations of
# the margins. A search ends when ten iterations gain less than the share `stall` of the objective.
WIDE_HINGE, WIDE_STALL = 0.05, 1e-3
NARROW_HINGE, NARROW_STALL = 0.02, 2e-4  # times nu, so as not to blur a share nu of the margins


@dataclass(eq=False, repr=False, kw_only=True)
class MMSGBNClassifier(MovedClassifier):
    """A classifier that moves networks so that their likelihood ratios have a large margin.

    It starts from one network per class and moves the edges that tell the classes apart best. The
    margin of a subject compares its true class with the strongest other class. The move raises the
    mean of the worst share `nu` of the margins. With ``anchor="fit"``, the fitting error of each
    class is then at most ``1 + slack`` times its value at the start.

    Parameters
    ----------
    learner : estimator, optional
        The estimator that learns the networks at the start. By default, it is `SGBN`.
    edges : int, "present" or "all"
        The edges and biases to move. If it is a number, this many of them move in all classes
        together. They are the ones whose Fisher components correlate most with the class. "present"
        moves all edges and biases of the networks. In both cases the graphs stay as they are. "all"
        is the paper's general form. It moves every pair that the order of a class allows, so edges
        may appear. The order is computed again from the new weights until it no longer changes, in
        at most five rounds. The graphs are then DAGs, but hardly sparse.
    slack : float
        The share of the fitting error that the move may add.
    anchor : {"fit", "start"}
        The centre of the ball in which the parameters of a class may move. "fit" is the paper's
        constraint, a ball around least squares: the more the learner shrinks weights, the farther
        they may move. "start" is a ball around the start, whose squared radius is `slack` times the
        fitting error at the start.
    nu : float
        The share of subjects that the margin may give up, 0 < nu <= 1. The paper's lambda is
        1 / (nu n).
    variances, pool, priors, temperature, random_state
        As in `SGBNClassifier`. Variances are "unit" by default, as in the paper.
    max_iter : int
        The largest number of iterations at each of two widths of the smoothed hinge.

    Attributes
    ----------
    networks_, classes_, priors_, temperature_, n_features_in_, feature_names_in_
        As in `SGBNClassifier`.
    fitting_errors_ : dict of class to (before, after, limit)
        The fitting error of each class before and after the move, and the largest error allowed.

    Notes
    -----
    Paper: Section 3.2, Algorithm 2 (MM-SGBN), on Eq. 3.11 under Eq. 3.11a, Eq. 3.11b, Eq. 3.11c
    and Eq. 3.11d.
    """

    nu: float = allowed(0.5, UP_TO_ONE)

    def _optimise(self, likelihoods: MovingLikelihoods) -> Optimum:
        moves = likelihoods.moves
        # The objective is not convex in u. So a result is kept only if its exact margin is better.
        u = best = moves.project(moves.u0)
        margin = exact_margin(likelihoods, best, self.nu)
        L = likelihoods.log_likelihoods(best)
        spread = float(margins(L, likelihoods.residuals.codes)[0].std())
        spread = spread if spread > ROUND_OFF else 1.0
        n_iter = 0
        narrow = (NARROW_HINGE * self.nu, NARROW_STALL * self.nu)
        problem = likelihoods.residuals, moves.offsets, moves.radii
        for width, stall in ((WIDE_HINGE, WIDE_STALL), narrow):
            end = TOL, int(self.max_iter), stall
            u, rounds, _ = minimise_margin(*problem, u, float(self.nu), width * spread, *end)
            n_iter += rounds
            reached = exact_margin(likelihoods, u, self.nu)
            if reached.value < margin.value:
                best, margin = u, reached
        if margin.collapsed:
            Problem("margin.collapsed", nu=self.nu).warn(
                "the margin collapsed: a share above nu = {nu:g} of subjects is on the wrong side",
                "Raise {nu=}, or use CLSGBNClassifier.",
            )
        return Optimum(best, n_iter, rounds < self.max_iter)


@dataclass(eq=False, repr=False, kw_only=True)
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

    edges: Edges = "present"
    anchor: str = "start"
    sharpness: float = allowed(0.2, POSITIVE)
    variances: str = "class"

    def _optimise(self, likelihoods: MovingLikelihoods) -> Optimum:
        moves = likelihoods.moves
        # Numba would compile the kernel again for any other types than float and int.
        problem = likelihoods.residuals, moves.offsets, moves.radii, moves.u0
        end = TOL, int(self.max_iter), STALL
        u, n_iter, _ = minimise_log_loss(*problem, float(self.sharpness), *end)
        return Optimum(u, n_iter, n_iter < self.max_iter)

    def _log_priors(self) -> Array:
        # The objective multiplies log-priors by the sharpness too. The division cancels this.
        return super()._log_priors() / self.sharpness
