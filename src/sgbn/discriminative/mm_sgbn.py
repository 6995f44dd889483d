"""MM-SGBN: networks moved so that the worst margins of their likelihood ratios grow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.discriminative.moved import MovedClassifier, minimise
from sgbn.discriminative.moves import Moves
from sgbn.discriminative.objectives import MaxMarginObjective, Sample, margins_of
from sgbn.exceptions import InputError, warn
from sgbn.solvers.max_margin import max_margin
from sgbn.validation import is_number

Array = NDArray[np.float64]

# Widths of the smoothed hinge in standard deviations of the margins, and how well each is solved:
# the wide ones only lead the way.
WIDTHS = {1.0: 1e-2, 0.2: 1e-3, 0.04: 1e-6}


class MMSGBNClassifier(MovedClassifier):
    """Networks whose likelihood ratios have a large margin, at a bounded loss of fit.

    Starts from one network a class and moves the edges that tell the classes apart best, so that
    the mean of the worst share `nu` of the margins (own class against the strongest other) grows,
    while no class's fitting error exceeds ``1 + slack`` times that of the start. The graphs stay as
    they are.

    Parameters
    ----------
    learner : estimator, optional
        Of the networks at the start; `SGBN` by default.
    edges : int or "present"
        How many edges and biases of all classes together are moved: those whose Fisher components
        correlate most with the class. "present" moves all.
    slack : float
        Share of fitting error that may be added.
    anchor : {"fit", "start"}
        "fit" is the paper's constraint; it leaves the more room the more the start was shrunken.
        "start" allows a ball of that size around the start.
    nu : float
        Share of subjects that the margin may give up, 0 < nu <= 1: 1 / (n lambda) of the paper.
    variances, pool, priors, temperature, random_state
        As in `SGBNClassifier`; unit variances by default, as in the paper.
    max_iter : int
        Iterations at each of three widths of the smoothed hinge.

    Attributes
    ----------
    networks_, classes_, priors_, temperature_, n_features_in_, feature_names_in_
        As in `SGBNClassifier`.
    fitting_errors_ : dict of class to (before, after, limit)

    Notes
    -----
    Paper: Section 3.2, Algorithm 2 (MM-SGBN).
    """

    def __init__(
        self,
        learner: Any = None,
        *,
        edges: Any = 100,
        slack: float = 0.01,
        anchor: str = "fit",
        nu: float = 0.5,
        variances: str = "unit",
        pool: float = 0.0,
        priors: Any = "empirical",
        temperature: Any = "cv",
        max_iter: int = 200,
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
        self.nu = nu
        self.max_iter = max_iter

    def _optimise(self, sample: Sample, moves: Moves) -> tuple[Array, int]:
        def margins(u: Array) -> Array:
            return margins_of(sample.likelihoods(moves.thetas(u))[0], sample.codes)[0]

        best = moves.project(moves.u0)
        spread = float(margins(best).std()) or 1.0
        u, n_iter = best, 0
        for width, stall in WIDTHS.items():
            objective = MaxMarginObjective(sample, self.nu, width * spread)
            u, rounds = minimise(objective, moves, u, self.max_iter, stall)
            n_iter += rounds
            # the smoothed optimum is kept only if the margin itself gained
            best = min(best, u, key=lambda v: max_margin(margins(v), self.nu).value)
        if max_margin(margins(best), self.nu).collapsed:
            warn(
                f"the margin collapsed to zero: more than a share nu = {self.nu:g} of the subjects "
                "lie on the wrong side, and the objective no longer rewards any margin. Raise nu, "
                "or take CLSGBNClassifier, which has no such limit."
            )
        return best, n_iter

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not is_number(self.nu) or not 0 < self.nu <= 1:
            raise InputError(f"nu={self.nu!r}: give a number above 0, 1 at most.")
