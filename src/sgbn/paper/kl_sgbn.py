r"""KL-SGBN moves networks so that an SVM on their Fisher vectors generalises.

The radius-margin bound that KL-SGBN minimises, and its gradient.

.. math:: F = \rho(K) J_0(K), \qquad \rho(K) = s \left( \sum_i w_i K_{ii} - w^T K w
          + (1 - w^T w) / C \right)

K is the Fisher kernel of all parameters of the networks, :math:`J_0` is the objective of the L2-SVM
at its optimum, and :math:`\rho` measures the radius. There are two measures. The total scatter
:math:`tr(S_T)` of the augmented features has w = 1/n and s = n. The squared radius of the smallest
enclosing ball has s = 1, and w are the weights of its centre. The SVM and the ball are solved again
at every evaluation, so their derivatives drop out of the gradient (envelope theorem):

.. math:: \partial F / \partial K = A = s J_0 (\operatorname{diag}(w) - w w^T)
          - \rho \beta \beta^T / 2,

with the dual weights :math:`\beta` of the SVM. The kernel is
:math:`K = (R R^T) \circ H - Q Q^T`. Here R holds the residuals divided by the noise variance, one
column per child, :math:`H = \tilde X \tilde X^T`, and :math:`Q = R \circ X`. So no product with A
is larger than n x m.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import POSITIVE, TRUTH, Label, OneOf, allowed
from sgbn.learn.classifier import Explanation
from sgbn.paper.descent import pull, residuals_at
from sgbn.paper.fisher_svm import L2SVM, l2_svm, l2_svm_cg, radius, total_scatter
from sgbn.paper.moved import MovedClassifier, MovingLikelihoods, Optimum, minimise, with_bias

MAX_DENSE_ROWS = 1000  # rows; with more, products with the kernel are faster than the kernel itself
RADII = ("scatter", "ball")


class _Spread(NamedTuple):
    """The radius term rho, its weights w and their factor s, as at the top of this file."""

    value: float
    weights: Array
    factor: float


class FisherKernelObjective:
    """The radius-margin bound for two classes, as a function of the residuals that move.

    Parameters
    ----------
    X : ndarray of shape (n, m)
        The rows of the two classes.
    signs : ndarray of shape (n,)
        The class of each row, -1 or 1.
    children : ndarray of shape (blocks,)
        The column of X to which each moving residual belongs.
    still : pair of ndarray of shape (n, others) and ndarray of shape (others,)
        The residuals that do not move, divided by the noise variance, and their columns of X.
    C : float
        The penalty of the SVM's slacks.
    measure : {"scatter", "ball"}
        The measure of the radius.

    Paper: Eq. 3.8 and Eq. 3.9, with the multipliers optimal for every Theta; the ball is Eq. 3.4.
    """

    def __init__(
        self,
        X: Array,
        signs: Array,
        children: Indices,
        still: tuple[Array, Indices],
        C: float = 1.0,
        measure: str = "scatter",
    ) -> None:
        self.X, self.Xb, self.signs, self.C, self.measure = X, with_bias(X), signs, C, measure
        self.own = X[:, children]
        self.norms = np.square(self.Xb).sum(axis=1)
        self.dense = len(X) <= MAX_DENSE_ROWS or measure == "ball"  # the ball needs the kernel
        self.still, self.still_children, self.children = *still, children
        if self.dense:
            self.H = self.Xb @ self.Xb.T
            self.constant = self._kernel(still[0], X[:, still[1]])
        # The solutions at the last residuals, from which the solvers start the next time.
        self._support: Indices | None = None
        self._weights: tuple[Array, float] | None = None
        self._centre: Array | None = None

    def __call__(self, R: Array) -> tuple[float, Array]:
        """Return the value and the gradient in R.

        R holds the moving residuals divided by the noise variance, shape (n, blocks).
        """
        K = self.kernel(R) if self.dense else None
        if K is None:
            svm, self._weights = l2_svm_cg(self._features(R), self.signs, self.C, self._weights)
        else:
            svm = l2_svm(K, self.signs, self.C, self._support)
            self._support = svm.support
        spread = self._spread(R, K)
        return spread.value * svm.objective, self._gradient(R, svm, spread)

    def kernel(self, R: Array) -> Array:
        """Return the Fisher kernel of all parameters of the networks."""
        return self.constant + self._kernel(R, self.own)

    def scatter(self, R: Array) -> float:
        """Return the trace of the total scatter matrix of the Fisher vectors."""
        if self.dense:
            return total_scatter(self.kernel(R))
        features = self._features(R)
        squares = np.square(features.R).sum(axis=1) @ self.norms
        squares -= np.square(features.R * features.own).sum()
        return float(squares - np.square(features.rmatvec(np.ones(len(R)))).sum() / len(R))

    def _kernel(self, R: Array, of_children: Array) -> Array:
        Q = R * of_children
        K: Array = (R @ R.T) * self.H - Q @ Q.T
        return K

    def _features(self, R: Array) -> FisherFeatures:
        children = np.append(self.children, self.still_children)
        return FisherFeatures(self.Xb, np.hstack([R, self.still]), children)

    def _spread(self, R: Array, K: Array | None) -> _Spread:
        n = len(R)
        if self.measure == "ball" and K is not None:
            ball = radius(K + np.eye(n) / self.C, self._centre)
            self._centre = ball.weights
            return _Spread(ball.squared, ball.weights, 1.0)
        scatter = self.scatter(R) if K is None else total_scatter(K)
        return _Spread(scatter + (n - 1) / self.C, np.full(n, 1 / n), float(n))

    def _gradient(self, R: Array, svm: L2SVM, spread: _Spread) -> Array:
        # A = first * (diag(w) - w w') - second * beta beta', and dF/dR = 2 ((A o H) R - (A Q) o X).
        # A and H are never made. Only their products are computed, which are at most n x m.
        Xb, w, beta = self.Xb, spread.weights[:, None], svm.beta[:, None]
        Q = R * self.own
        first, second = svm.objective * spread.factor, spread.value / 2
        wR = w * R
        HR = Xb @ (Xb.T @ np.hstack([wR, beta * R]))  # both products in one pass over Xb
        k = R.shape[1]
        AHR = first * (self.norms[:, None] * wR - w * HR[:, :k]) - second * beta * HR[:, k:]
        AQ = first * w * (Q - w.T @ Q) - second * beta * (beta.T @ Q)
        gradient: Array = 2 * (AHR - AQ * self.own)
        return gradient


class FisherFeatures:
    """The products of vectors with the matrix Phi of Fisher vectors, which is never made.

    Component (b, k) of a row is R_b x_k, and 0 if k is the child of block b. The products and the
    shape are all that `sgbn.paper.fisher_svm.l2_svm_cg` needs.
    """

    def __init__(self, Xb: NDArray[Any], R: NDArray[Any], children: Indices) -> None:
        self.Xb, self.R, self.children = Xb, R, children
        self.own = Xb[:, children]
        self.places = np.arange(len(children)), children
        self.shape = len(R), R.shape[1] * Xb.shape[1]

    def matvec(self, w: Array) -> Array:
        """Return Phi w."""
        W = w.reshape(self.R.shape[1], -1).astype(self.R.dtype, copy=False)
        inner = self.Xb @ W.T - self.own * W[self.places]
        product: Array = np.einsum("ib,ib->i", self.R, inner)
        return product

    def rmatvec(self, v: Array) -> Array:
        """Return Phi' v."""
        W = (v.astype(self.R.dtype, copy=False)[:, None] * self.R).T @ self.Xb
        # No region is its own parent, so a Fisher vector has no such components.
        W[self.places] = 0.0
        return W.ravel()

    def subset(self, rows: Mask) -> FisherFeatures:
        """Return some rows in single precision, which is enough for search directions."""
        Xb, R = (array[rows].astype(np.float32) for array in (self.Xb, self.R))
        return FisherFeatures(Xb, R, self.children)


class PairwiseFisherKernels:
    """The sum of the radius-margin bounds of all pairs of classes, as a function of u.

    Parameters
    ----------
    likelihoods : MovingLikelihoods
        The residuals as functions of u.
    C : float
        The penalty of the SVM's slacks, in units of n over the total scatter at the start.
    u0 : ndarray of shape (p,)
        The coordinates at the start.
    measure : {"scatter", "ball"}
        The measure of the radius.
    """

    def __init__(
        self, likelihoods: MovingLikelihoods, C: float, u0: Array, measure: str = "scatter"
    ) -> None:
        self.likelihoods = likelihoods
        sample, owner = likelihoods.sample, likelihoods.residuals.owner
        R = self._residuals(u0)
        self.parts = []
        for pair in combinations(range(int(sample.codes.max()) + 1), 2):
            rows = (sample.codes == pair[0]) | (sample.codes == pair[1])
            networks = pair if len(sample.variances) > 1 else (0,)  # (0,): the shared network
            blocks = (owner == networks[0]) | (owner == networks[-1])
            still = np.hstack([likelihoods.still[c][rows] for c in networks])
            bound = FisherKernelObjective(
                sample.values[rows],
                np.where(sample.codes[rows] == pair[1], 1.0, -1.0),
                likelihoods.children[blocks],
                (still, np.concatenate([likelihoods.moves.classes[c].still for c in networks])),
                measure=measure,
            )
            # With two classes, a pair has all rows and blocks: `...` is a view, indices would copy.
            where: Any = np.ix_(rows, blocks) if not (rows.all() and blocks.all()) else ...
            # C is set here because its unit is a scatter that only the bound can compute.
            bound.C = C * int(rows.sum()) / bound.scatter(R[where])
            self.parts.append((bound, where))

    def __call__(self, u: Array) -> tuple[float, Array]:
        """Return the value and the gradient at u."""
        R = self._residuals(u)
        value, in_residuals = 0.0, np.zeros_like(R)
        for bound, where in self.parts:
            part, gradient = bound(R[where])
            value += part
            in_residuals[where] += gradient
        gradient = np.empty_like(u)
        # A contiguous copy, because numba would compile the kernel again for a view.
        pull(self.likelihoods.residuals, (in_residuals / self.likelihoods.sd).T.copy(), gradient)
        return value, gradient

    def _residuals(self, u: Array) -> Array:
        """Return the residuals divided by the noise variance, shape (n, blocks)."""
        R = np.empty_like(self.likelihoods.residuals.A)
        residuals_at(self.likelihoods.residuals, u, R)
        over: Array = R.T / self.likelihoods.sd
        return over


@dataclass(eq=False, repr=False, kw_only=True)
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

    shared: bool = allowed(False, TRUTH)
    C: float = allowed(1.0, POSITIVE)
    radius: str = allowed("scatter", OneOf(*RADII))
    max_iter: int = 100

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
            raise InputError("kl.shared").says(
                "with {shared=True}, all classes have the same likelihood",
                "Predict by FisherSVMClassifier(KLSGBNClassifier(shared=True)).",
            )
