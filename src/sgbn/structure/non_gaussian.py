r"""Directions that a Gaussian equivalence class leaves open, decided by non-Gaussian residuals.

In a linear model with independent non-Gaussian noise, only one member (DAG) of the class has
residuals that are independent of the parents (Shimizu and others 2006). All members have the same
Gaussian likelihood. So they are compared by the gain of non-Gaussian densities of their residuals,

.. math:: S(G) = \sum_j \sum_i \log \frac{p_j(u_{ij})}{\phi(u_{ij})}

where :math:`u_{ij}` is the standardised residual of variable j given its parents in G in row i,
:math:`p_j` its estimated density (`density_gain`), and :math:`\phi` the normal density. Take an
arrow of the best member, and the best member with the opposite arrow. The arrow is decided if this
other member is worse by more than `MIN_Z_DECIDED` standard errors of the difference. The standard
error comes from the spread of the difference over the rows (Vuong 1989).

Curved relations also leave non-Gaussian residuals. So the arrow stays open unless two further
conditions hold. First, no residual in the best member may depend on the parents of its variable.
Second, the best member must still be better when curved effects of the parents may explain a part
of each variable. For this comparison, one of two estimates of the densities is enough: the same
estimate as before, or an estimate by spacings. The second estimate is rougher, but only this one
follows sharp edges of a density.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from sgbn.core.equivalence import Member, Parents, best_each_way, open_components, orient_known
from sgbn.core.moments import one_blas_thread
from sgbn.core.types import Array, Graph
from sgbn.structure.residual_density import bent_residual, curvature, density_gain, spacing_gain

# These three were chosen on simulations with other seeds than benchmarks/non_gaussian.py.
MIN_Z_DECIDED = 1.64  # standard errors; 1.3 adds wrong arrows on Gaussian data
CURVATURE_LEVEL = 0.01  # level of the test whether a residual depends on its parents
MIN_Z_BENT = 0.5  # standard errors; with 0, wrong arrows of curved relations pass

MIN_NOISE_SHARE = 1e-10  # a smaller residual variance, as a share of the variable's, is round-off


def least_squares_residual(Z: Array, j: int, parents: Parents) -> Array:
    """Return the residual of column j of Z in a regression on its parents without intercept."""
    X = Z[:, list(parents)]
    return Z[:, j] - X @ np.linalg.lstsq(X, Z[:, j], rcond=None)[0]


class Residuals:
    """Residuals of variables given their parents, and the quantities that decide directions.

    Each quantity is computed once and remembered.

    Parameters
    ----------
    Z : ndarray of shape (n, m)
        The data, as columns with mean 0 and mean square 1.
    """

    def __init__(self, Z: Array) -> None:
        self.Z = Z
        # By (variable, parents): members of a class share most of these, and each needs a fit.
        self._gain: dict[tuple[int, Parents], Array] = {}
        self._bent: dict[tuple[int, Parents], tuple[Array, Array]] = {}
        self._is_curved: dict[tuple[int, Parents], bool] = {}

    def residual(self, j: int, parents: Parents) -> Array:
        """Return the least-squares residual of variable j given its parents."""
        return least_squares_residual(self.Z, j, parents)

    def _target(self, j: int, parents: Parents) -> Array:  # noqa: ARG002
        """Return the values of j from which `bent` takes out linear and curved effects."""
        return self.Z[:, j]

    def gain(self, j: int, parents: Parents) -> Array:
        """Return the gain in log density of each row; 0 if the parents determine j exactly."""
        if (j, parents) not in self._gain:
            r = self.residual(j, parents)
            variance = float(np.square(r).mean())
            # A residual that is only round-off has a shape, but the shape means nothing.
            is_exact = variance < MIN_NOISE_SHARE
            self._gain[j, parents] = (
                np.zeros(len(r)) if is_exact else density_gain(r / variance**0.5)
            )
        return self._gain[j, parents]

    def score(self, j: int, parents: Parents) -> float:
        """Return the sum of the gain over the rows."""
        return float(self.gain(j, parents).sum())

    def bent(self, j: int, parents: Parents) -> tuple[Array, Array]:
        """Return two log densities of j in each row, if its parents may have curved effects.

        The first is estimated by `density_gain`, the second by `spacing_gain`. Both include the
        normal part, because with curves the members of a class differ in their noise variances.
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
        """Return whether the sum of `difference` exceeds 0 by more than `least` standard errors."""
        error = float(difference.std()) * len(difference) ** 0.5
        return bool(difference.sum() > least * error)

    def is_curved(self, j: int, parents: Parents) -> bool:
        """Return whether the residual of j depends on a parent.

        All tests together have the level `CURVATURE_LEVEL`.
        """
        if not parents:
            return False
        if (j, parents) not in self._is_curved:
            t = curvature(self.residual(j, parents), self.Z[:, list(parents)])
            # Two-sided tests, with a Bonferroni correction for the two bends of each parent.
            bound = -ndtri(CURVATURE_LEVEL / 2 / len(t))
            self._is_curved[j, parents] = bool(np.abs(t).max() > bound)
        return self._is_curved[j, parents]


def decide_directions(residuals: Residuals, P: Graph) -> Graph:
    """Return the arrows of open edges that the residuals decide.

    Parameters
    ----------
    residuals : Residuals
        The residuals of the sample.
    P : ndarray of bool, shape (m, m)
        The equivalence class, closed under Meek's rules (`cpdag`, `orient_known`).

    Returns
    -------
    ndarray of bool, shape (m, m)
        True at ``[i, j]`` if i - j is open in P and i -> j is decided: by residuals, or because it
        follows from arrows that residuals decide. At least one DAG of the class has all decided
        arrows.
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
    # The edges that were open before (set both ways) and are directed now.
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
        # Members are sorted by score, and at least one has the opposite direction of each edge.
        rival = next(member for member in members if member.has(j, i))
        if _is_better(residuals, best, rival):
            sure.append((i, j))
    return sure


def _is_better(residuals: Residuals, best: Member, rival: Member) -> bool:
    """Return whether `best` is surely better than `rival`, and curved effects are not the cause."""
    nodes = [j for j in best.parents if best.parents[j] != rival.parents[j]]
    # The terms of all other variables are the same in both members, and cancel.
    terms = [((j, best.parents[j]), (j, rival.parents[j])) for j in nodes]
    gains = [residuals.gain(*better) - residuals.gain(*worse) for better, worse in terms]
    if not residuals.exceeds(np.sum(gains, axis=0), MIN_Z_DECIDED):
        return False
    if any(residuals.is_curved(*better) for better, _ in terms):
        return False
    # For the smooth estimate, sharp edges of a density may look like a curve. The rough estimate
    # may overrule it, but only with the same certainty that the first comparison needs.
    bent = [np.subtract(residuals.bent(*better), residuals.bent(*worse)) for better, worse in terms]
    smooth, rough = np.sum(bent, axis=0)
    return residuals.exceeds(smooth, MIN_Z_BENT) or residuals.exceeds(rough, MIN_Z_DECIDED)
