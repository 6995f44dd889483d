r"""Directions that a Gaussian equivalence class leaves open, by residuals that are not Gaussian.

In a linear model with independent non-Gaussian noise one member of the class alone leaves
residuals that are independent of the parents (Shimizu and others 2006). Members have the same
Gaussian likelihood, so they are compared by what non-Gaussian densities of their residuals gain,

.. math:: S(G) = \sum_j \sum_i \log \frac{p_j(u_{ij})}{\phi(u_{ij})}

(`density_gain`; :math:`u_j` is the standardised residual of j given its parents in G). An arrow of
the best member is decided if the best member that has it the other way round is worse by more than
`MIN_Z_DECIDED` standard errors of the difference, by its spread over the rows (Vuong 1989).

Bent relations leave such residuals, too. So an arrow stays open where a residual of the best
member depends on its parents, and where the best member is no better than the other one once bends
of the parents may explain part of each variable. Two estimates of a density may say that it is: the
same as before, or one by spacings, which alone sees sharp edges, but is rougher.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from sgbn.graph.equivalence import orient_known
from sgbn.graph.members import Member, Parents, best_each_way, open_components
from sgbn.moments import one_blas_thread
from sgbn.structure.residual_density import bent_residual, curvature, density_gain, spacing_gain
from sgbn.types import Array, Graph

# These three were chosen on simulations with other seeds than those of benchmarks/non_gaussian.py.
MIN_Z_DECIDED = 1.64  # standard errors; 1.3 adds wrong arrows on Gaussian data
CURVATURE_LEVEL = 0.01  # of the test whether a residual depends on its parents
MIN_Z_BENT = 0.5  # standard errors; with 0, wrong arrows of bent relations pass

MIN_NOISE_SHARE = 1e-10  # of a variable's variance: a smaller residual is round-off


def least_squares_residual(Z: Array, j: int, parents: Parents) -> Array:
    """Return what least squares on the parents leaves of column j, without an intercept."""
    X = Z[:, list(parents)]
    return Z[:, j] - X @ np.linalg.lstsq(X, Z[:, j], rcond=None)[0]


class Residuals:
    """What the residuals of variables given their parents tell; each is computed once.

    Parameters
    ----------
    Z : ndarray of shape (n, m)
        Columns with mean 0 and mean square 1.
    """

    def __init__(self, Z: Array) -> None:
        self.Z = Z
        # by (variable, parents): members of a class share most of these, and each costs a fit
        self._gain: dict[tuple[int, Parents], Array] = {}
        self._bent: dict[tuple[int, Parents], tuple[Array, Array]] = {}
        self._is_curved: dict[tuple[int, Parents], bool] = {}

    def residual(self, j: int, parents: Parents) -> Array:
        """Residual of least squares."""
        return least_squares_residual(self.Z, j, parents)

    def _target(self, j: int, parents: Parents) -> Array:  # noqa: ARG002
        """Return values of j that curved effects may explain; linear effects are still in them."""
        return self.Z[:, j]

    def gain(self, j: int, parents: Parents) -> Array:
        """Gain in log density of each row; 0 where the parents determine j."""
        if (j, parents) not in self._gain:
            r = self.residual(j, parents)
            variance = float(np.square(r).mean())
            # a residual of round-off has a shape, but it says nothing
            is_exact = variance < MIN_NOISE_SHARE
            self._gain[j, parents] = (
                np.zeros(len(r)) if is_exact else density_gain(r / variance**0.5)
            )
        return self._gain[j, parents]

    def score(self, j: int, parents: Parents) -> float:
        """Sum of the gain over the rows."""
        return float(self.gain(j, parents).sum())

    def bent(self, j: int, parents: Parents) -> tuple[Array, Array]:
        """Return log densities of j in each row, where its parents may have curved effects.

        The first is estimated by `density_gain`, the second by `spacing_gain`. The normal part is
        included, because with curves the members of a class differ in their noise variances.
        """
        if (j, parents) not in self._bent:
            r = bent_residual(self._target(j, parents), self.Z[:, list(parents)])
            variance = max(float(np.square(r).mean()), MIN_NOISE_SHARE)
            u = r / variance**0.5
            normal = -np.square(u) / 2 - np.log(variance) / 2
            self._bent[j, parents] = density_gain(u) + normal, spacing_gain(u) + normal
        return self._bent[j, parents]

    @staticmethod
    def exceeds(difference: Array, least: float) -> bool:
        """Whether a sum over rows exceeds 0 by more than `least` standard errors."""
        error = float(difference.std()) * len(difference) ** 0.5
        return bool(difference.sum() > least * error)

    def is_curved(self, j: int, parents: Parents) -> bool:
        """Whether the residual depends on a parent, at `CURVATURE_LEVEL` for all tests together."""
        if not parents:
            return False
        if (j, parents) not in self._is_curved:
            t = curvature(self.residual(j, parents), self.Z[:, list(parents)])
            # two-sided, and Bonferroni over the two bends of each parent
            bound = -ndtri(CURVATURE_LEVEL / 2 / len(t))
            self._is_curved[j, parents] = bool(np.abs(t).max() > bound)
        return self._is_curved[j, parents]


def decide_directions(residuals: Residuals, P: Graph) -> Graph:
    """Arrows of open edges that the residuals decide.

    Parameters
    ----------
    residuals : Residuals
    P : ndarray of bool, shape (m, m)
        The equivalence class, closed under Meek's rules (`cpdag`, `orient_known`).

    Returns
    -------
    ndarray of bool, shape (m, m)
        Set where i - j is open in P and i -> j is decided, by its own residuals or because arrows
        that are decided leave no other way. At least one DAG of the class has all of them.
    """
    directed = P
    with one_blas_thread():
        while True:  # every round leaves fewer edges open
            new = np.zeros_like(P)
            for nodes in open_components(directed):
                for i, j in _sure_arrows(residuals, directed, nodes):
                    new[i, j] = True
            if not new.any():
                break
            directed = orient_known(directed, new)
    # open before (both ways set), and directed now
    return directed & P.T & ~directed.T


def _sure_arrows(residuals: Residuals, P: Graph, nodes: list[int]) -> list[tuple[int, int]]:
    """Return the arrows of the best member that are sure.

    An arrow is sure if the best member with the opposite arrow is surely worse.
    """
    members = best_each_way(P, nodes, residuals.score)
    if members is None:
        return []
    best = members[0]
    arrows = [(i, j) for j in nodes for i in best.parents[j] if P[i, j] and P[j, i]]
    sure = []
    for i, j in arrows:
        # members are sorted by score, and at least one has each open edge the other way
        rival = next(member for member in members if member.has(j, i))
        if _is_better(residuals, best, rival):
            sure.append((i, j))
    return sure


def _is_better(residuals: Residuals, best: Member, rival: Member) -> bool:
    """Whether `best` is surely better than `rival`, and curved effects cannot explain it."""
    nodes = [j for j in best.parents if best.parents[j] != rival.parents[j]]
    # members differ in these variables alone: the terms of all others cancel
    terms = [((j, best.parents[j]), (j, rival.parents[j])) for j in nodes]
    gains = [residuals.gain(*better) - residuals.gain(*worse) for better, worse in terms]
    if not residuals.exceeds(np.sum(gains, axis=0), MIN_Z_DECIDED):
        return False
    if any(residuals.is_curved(*better) for better, _ in terms):
        return False
    # sharp edges may look like a bend to the smooth density: the rough one may overrule it, but
    # only if it is as sure as the first comparison has to be
    bent = [np.subtract(residuals.bent(*better), residuals.bent(*worse)) for better, worse in terms]
    smooth, rough = np.sum(bent, axis=0)
    return residuals.exceeds(smooth, MIN_Z_BENT) or residuals.exceeds(rough, MIN_Z_DECIDED)
