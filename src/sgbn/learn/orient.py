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

Densities of residuals that need not be Gaussian, and tests for curves left in residuals.

`density_gain` fits a density of maximum entropy, relative to the normal density :math:`\phi`
(Hyvärinen 1998),

.. math:: p(u) = \phi(u) \exp(\theta^T g(u) - A(\theta)).

Four functions g measure skewness and heavy or light tails, theta holds their four weights, and A
makes the density integrate to one. The likelihood is concave in theta, and few rows are enough.
`spacing_gain` uses the distances between neighbouring values instead (Vasicek 1976). It is rougher,
but follows densities with sharp edges.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri
from scipy.stats import rankdata

from sgbn.core.equivalence import Member, Parents, best_each_way, open_components, orient_known
from sgbn.core.moments import one_blas_thread
from sgbn.core.types import Array, Graph

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
            gain = np.zeros(len(r)) if is_exact else density_gain(r / variance**0.5)
            self._gain[j, parents] = gain
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


GRID = np.linspace(-9.0, 9.0, 721)  # outside of this range a normal density is below 1e-18
WEIGHT = np.exp(-np.square(GRID) / 2) / np.exp(-np.square(GRID) / 2).sum()
MAX_ITER = 50  # Newton steps; a few are enough, because the likelihood is concave
TOL = 1e-9  # Newton decrement at which to stop, in units of log-likelihood per row
MIN_STEP = 1e-6  # share of a Newton step; with less, the likelihood changes only by round-off
NEIGHBOURS_PER_ROOT_N = 0.5  # neighbours on each side, divided by sqrt(n); 1.0 blurs tails
MIN_Z_BEND = 2.0  # standard errors; a bend with a larger effect is taken out


def _functions(u: Array) -> Array:
    """Return four columns for a skew centre, a peak, heavy tails, and a skew of the two sides."""
    bell = np.exp(-np.square(u) / 2)
    return np.stack([u * bell, bell, np.log1p(np.square(u)), np.tanh(u)], axis=1)


# The functions get mean 0 and variance 1 under the normal density, so that one prior suits all.
_AT_GRID = _functions(GRID)
_MEAN = WEIGHT @ _AT_GRID
_SD = np.sqrt(WEIGHT @ np.square(_AT_GRID - _MEAN))
_G = (_AT_GRID - _MEAN) / _SD


def density_gain(u: Array) -> Array:
    r"""Return the log density of each value minus its normal log density.

    This is :math:`\log p(u_i) - \log \phi(u_i)`, with the density p of the module's docstring.

    Parameters
    ----------
    u : ndarray of shape (n,)
        Standardised values: mean 0, mean square 1.

    Returns
    -------
    ndarray of shape (n,)
        The gains at the theta that maximises the sum of the gains minus :math:`|\theta|^2 / 2`. The
        second term is a standard normal prior, which keeps theta finite if there are few values.
    """
    g = (_functions(u) - _MEAN) / _SD
    mean = g.mean(axis=0)
    # The prior counts like one row: in the mean over n rows its share is 1 / n.
    theta, ridge = np.zeros(len(mean)), 1.0 / len(u)
    value = 0.0
    for _ in range(MAX_ITER):
        p, expected, _ = _tilted(theta)
        gradient = mean - expected - ridge * theta
        hessian = (_G * p[:, None]).T @ _G - np.outer(expected, expected)
        step = np.linalg.solve(hessian + ridge * np.eye(len(mean)), gradient)
        decrement = float(gradient @ step)
        if decrement <= TOL:
            break
        theta, value = _line_search(theta, step, mean, ridge, value, decrement)
    return g @ theta - _tilted(theta)[2]


def _tilted(theta: Array) -> tuple[Array, Array, float]:
    """Return the density on the grid, the mean of g under this density, and A(theta)."""
    exponent = _G @ theta
    # The largest exponent is subtracted, so that no exponential overflows.
    largest = exponent.max()
    p = WEIGHT * np.exp(exponent - largest)
    total = p.sum()
    p /= total
    return p, p @ _G, float(np.log(total) + largest)


def _line_search(
    theta: Array, step: Array, mean: Array, ridge: float, value: float, decrement: float
) -> tuple[Array, float]:
    """Halve the step until the penalised likelihood rises enough (Armijo's condition).

    Return the new theta, and the penalised likelihood there.
    """
    size = 1.0
    while True:
        trial = theta + size * step
        reached = float(mean @ trial) - _tilted(trial)[2] - ridge / 2 * float(trial @ trial)
        if reached >= value + 1e-4 * size * decrement or size < MIN_STEP:
            return trial, reached
        size /= 2


def spacing_gain(u: Array) -> Array:
    r"""Return the log density of each value, from distances of neighbours, minus the normal one.

    .. math:: \log \frac{2 k}{n (u_{(i + k)} - u_{(i - k)})} + u_{(i)}^2 / 2

    Here :math:`u_{(i)}` is the i-th smallest value, and a constant is left out. Values near the
    ends have fewer neighbours on one side. Distances are at least 1 / n, also between equal values.

    Parameters
    ----------
    u : ndarray of shape (n,)
        Standardised values.
    """
    n = len(u)
    k = max(1, round(NEIGHBOURS_PER_ROOT_N * n**0.5))
    order = np.argsort(u, kind="stable")
    place = np.arange(n)
    last, first = np.minimum(place + k, n - 1), np.maximum(place - k, 0)
    # At least 1 / n, because equal values would have an infinite density.
    width = np.maximum(u[order][last] - u[order][first], 1.0 / n)
    gain = np.empty(n)
    gain[order] = np.log((last - first) / n / width)
    return gain + np.square(u) / 2


def bends(parents: Array) -> Array:
    """Return two bends of each column: Hermite polynomials of its normal scores.

    The polynomials of degree 2 of all columns come first, then those of degree 3.
    """
    # Ranks are used, so that one extreme value does not decide whether a relation is curved.
    z = ndtri((rankdata(parents, axis=0) - 0.5) / len(parents))
    return np.hstack([np.square(z) - 1, z**3 - 3 * z])


def _without(parents: Array, Y: Array) -> Array:
    """Return the residuals of the columns of Y in a regression on the parents and a constant."""
    design = np.hstack([np.ones((len(parents), 1)), parents])
    return Y - design @ np.linalg.lstsq(design, Y, rcond=None)[0]


def curvature(residual: Array, parents: Array) -> Array:
    r"""Return statistics of the curved effects of parents on a residual, one per bend of a parent.

    The bends of a parent with normal scores z are the Hermite polynomials :math:`z^2 - 1` and
    :math:`z^3 - 3 z`. Let h be the residual of a bend after a regression on the parents, and r the
    given residual. The statistic is

    .. math:: t = \sum_i r_i h_i / \sqrt{\textstyle\sum_i r_i^2 h_i^2}

    It is approximately standard normal if there is no curved effect.

    Parameters
    ----------
    residual : ndarray of shape (n,)
        Residual of a regression on the parents, with an intercept.
    parents : ndarray of shape (n, k)
        Columns of the k parents.

    Returns
    -------
    ndarray of shape (2 k,)
        The statistics, in the order of `bends`.
    """
    bent = _without(parents, bends(parents))
    product = residual[:, None] * bent
    spread = np.sqrt(np.square(product).sum(axis=0))
    return product.sum(axis=0) / np.maximum(spread, np.finfo(float).tiny)


def bent_residual(y: Array, parents: Array) -> Array:
    """Return the residual of y given its parents and the `bends` that clearly affect y."""
    if not parents.shape[1]:
        return y - y.mean()
    residual = _without(parents, y[:, None])
    # All bends of many parents would overfit: only bends with a clear effect are taken out.
    seen = np.abs(curvature(residual[:, 0], parents)) > MIN_Z_BEND
    return _without(np.hstack([parents, bends(parents)[:, seen]]), y[:, None])[:, 0]
