r"""An L2-SVM on all, or on the best, components of the Fisher vectors of the classes' networks.

A plane in the space of the Fisher vectors is :math:`f(x) = w^T \Phi(x) + b`. If all components are
used and there are at most as many rows as components, the SVM is solved on the kernel, which has a
closed form. Its weights :math:`w = \sum_i \beta_i \Phi(x_i)` are then added up, a few rows at a
time.

L2-SVM on a kernel, and the radius for its radius-margin bound (Section 3.1.2 of the paper).

.. math:: \min_{w, b, \xi} \tfrac12 \|w\|^2 + \tfrac{C}{2} \sum_i \xi_i^2, \qquad
          y_i (w^T \phi_i + b) \ge 1 - \xi_i

is a hard-margin SVM on the kernel K + I/C. (The paper writes C without the half. This would make it
K + I/(2C).) With the multipliers alpha and beta_i = alpha_i y_i, the optimality conditions are

.. math:: y_i ((K + I/C) \beta + b)_i = 1 \text{ or more}, \quad \alpha_i \ge 0, \quad
          \textstyle\sum_i \beta_i = 0,

with equality if alpha_i > 0. At the optimum, half the sum of alpha is half the squared norm of the
augmented w (the w of the kernel K + I/C). This is the paper's J_0.

The solver is Newton's method. Without xi the objective is 1/2 ||w||^2 + C/2 sum max(0, s_i)^2 with
the slacks s_i = 1 - y_i f_i. It is convex, and quadratic on each piece on which the same samples
have s_i > 0. Each iteration solves the linear system of the present piece. A few iterations are
almost always enough. If they are not, an active-set method continues on the dual. It moves towards
the solution of the system as far as alpha >= 0 allows, and drops the sample that blocks the move.
If no sample blocks it, the method adds the sample that violates the conditions most. The dual
objective rises in every step, so that the method cannot cycle.

Both problems in this file, SVM and ball, depend on the kernel only through distances. So the origin
may be moved to where round-off is smallest.

L2-SVM on explicit features, with one unknown per feature and without an n x n matrix.

.. math:: \min_{w, b} \tfrac12 \|w\|^2 + \tfrac{C}{2} \sum_i \max(0, s_i)^2, \qquad
          s_i = 1 - y_i (w^T \phi_i + b),

is the problem of `sgbn.paper.fisher_svm` in its primal variables. It is convex, and quadratic on
each piece on which the same samples have a slack s_i > 0. Each iteration solves the linear system
of the present piece. If the solution is not the optimum, the iteration moves towards it, to the
exact minimum along the line. The objective falls in every step and the number of pieces is finite,
so that the method ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import get_lapack_funcs
from scipy.sparse.linalg import LinearOperator, cg
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import _safe_indexing, gen_batches
from sklearn.utils.validation import check_is_fitted

from sgbn.cohort.rows import row_order
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.moments import one_blas_thread
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import (
    ESTIMATOR,
    NONE,
    POSITIVE,
    Whole,
    allowed,
    check_classification,
    check_data,
    check_parameters,
)
from sgbn.learn.classifier import Scale, SGBNClassifier
from sgbn.paper.fisher import TIE_DIGITS, Density, FisherVectors, edge_scores, parameters_of

ROWS_PER_BATCH = 256  # Fisher vectors in memory at once; each has m^2 components per class


class HasNetworks(Protocol):
    """An estimator that has one network, or another density, per class after `fit`."""

    @property
    def networks_(self) -> Mapping[Any, Density]:
        """Return the network of each class."""

    def fit(self, X: Any, y: Any, /) -> object:
        """Learn the networks."""


@dataclass(eq=False, repr=False)
class FisherSVMClassifier(ClassifierMixin, BaseEstimator):
    """A classifier with one network per class and an L2-SVM on their Fisher vectors.

    The vectors are the gradients in all edge weights and biases of all networks. The rows are
    divided by the standard deviations of all classes together, so units do not matter. A network
    that all classes share counts once.

    Parameters
    ----------
    classifier : estimator, optional
        An estimator that has `networks_` after `fit`. By default, it is `SGBNClassifier`. It may be
        `KLSGBNClassifier` or another classifier of sgbn, or `FisherVectors`. `FisherVectors` may
        contain other densities with a score function, which are used in the units of the data. A
        temperature has no effect here: it is set to 1.
    components : int, optional
        The number of components to use. These are the components that correlate most with the class
        in the training rows. As in the paper, they are not standardised. By default, all are used.
    C : float
        The penalty of the SVM's slacks, in units of n over the total scatter of the Fisher vectors.

    Attributes
    ----------
    classifier_ : estimator
        The fitted clone of `classifier`.
    classes_ : ndarray
        The classes, sorted.
    components_ : ndarray of str of shape (p,)
        The names of the components, such as "MCI: insula_L -> hippocampus_L".
    coef_ : ndarray of shape (1, p) or (classes, p)
        The weights of the components. With more than two classes, each class has one row, which
        separates it from the rest.
    beta_ : ndarray of shape (1, n_samples) or (classes, n_samples)
        The weights of the training rows. `coef_` is the sum of their Fisher vectors with these
        weights.
    intercept_ : ndarray of shape (1,) or (classes,)
        The intercept of each plane.
    n_features_in_, feature_names_in_
        The number and the names of the columns, as in scikit-learn.

    Notes
    -----
    Paper: Section 5, Exp-III, the SVM classifiers on all components and on 100 selected components.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.paper.fisher_svm import FisherSVMClassifier
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> y = np.repeat(["MCI", "NC"], 100)
    >>> X[:100, 1] += X[:100, 0]
    >>> X[100:, 1] -= X[100:, 0]
    >>> svm = FisherSVMClassifier(components=4).fit(X, y)
    >>> svm.components_[0]
    'MCI: x0 -> x1'
    """

    classifier: HasNetworks | None = allowed(None, NONE | ESTIMATOR)
    _: KW_ONLY
    components: int | None = allowed(None, NONE | Whole(1))
    C: float = allowed(1.0, POSITIVE)

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit the classifier, then the SVM on the Fisher vectors of the same rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One row per subject, one column per region.
        y : array-like of shape (n_samples,)
            The class of each row.
        """
        values, labels, self.classes_ = check_classification(self, X, y)
        check_parameters(self)
        codes = np.searchsorted(self.classes_, labels)
        order = row_order(values, None, codes)
        values, labels, codes = values[order], labels[order], codes[order]
        table = _safe_indexing(X, order) if hasattr(X, "columns") else values
        self.classifier_ = self._fitted(table, labels)
        networks, self._scale = standardised(self.classifier_.networks_, values)
        Z = self._scale.standardise(values)
        self._vectors = FisherVectors(networks=networks).fit(Z)
        self._columns: Any = slice(None)
        if self.components is not None:
            self._columns = best_components(self._vectors, Z, codes, int(self.components))
        self.components_ = self._vectors.get_feature_names_out()[self._columns]
        with one_blas_thread():
            self._fit_planes(Z, codes, order)
        return self

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the SVM score of the second class.

        With more than two classes, return one score per class.
        """
        check_is_fitted(self)
        Z = self._scale.standardise(check_data(self, X, reset=False))
        # Weights of components are used, because a kernel would need all training rows.
        sides = [Phi @ self.coef_.T for _, Phi in self._batches(Z)]
        decision: Array = np.vstack(sides) + self.intercept_
        return decision[:, 0] if len(self.classes_) == 2 else decision

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the class with the largest SVM score for every row."""
        decision = self.decision_function(X)
        # Two classes have only one plane, and its sign decides.
        best = decision.argmax(axis=1) if decision.ndim == 2 else (decision > 0).astype(np.intp)
        predicted: NDArray[Any] = self.classes_[best]
        return predicted

    def _fitted(self, table: Any, labels: NDArray[Any]) -> Any:
        classifier = clone(SGBNClassifier() if self.classifier is None else self.classifier)
        if "temperature" in classifier.get_params(deep=False):
            # "cv" would learn networks in folds for probabilities, which are not used here.
            classifier.set_params(temperature=1.0)
        classifier.fit(table, labels)
        if not isinstance(getattr(classifier, "networks_", None), Mapping):
            raise InputError("svm.no-networks", kind=type(classifier).__name__).says(
                "{kind:s} has no networks_", "Give a network classifier of sgbn, or FisherVectors."
            )
        return classifier

    def _fit_planes(self, Z: Array, codes: Indices, order: Indices) -> None:
        """Fit one plane for two classes. For more classes, fit one per class against the rest.

        `order` has the place of each row in the data.
        """
        signs = [np.where(codes == c, 1.0, -1.0) for c in range(len(self.classes_))]
        planes = self._planes(Z, signs[1:] if len(signs) == 2 else signs)
        if not all(plane.converged for plane in planes):
            worst = max(plane.violation for plane in planes)
            Problem("svm.not-optimal", error=worst).warn(
                "the SVM stopped {error:.1e} margins before its optimum", "Give a smaller {C=}."
            )
        beta = np.array([plane.beta for plane in planes])
        self.beta_ = beta[:, np.argsort(order)]
        self.intercept_ = np.array([plane.intercept for plane in planes])
        self.coef_ = np.zeros((len(planes), len(self.components_)))
        # w is the sum of beta_i Phi(x_i), no matter which of the two problems was solved.
        for rows, Phi in self._batches(Z):
            self.coef_ += beta[:, rows] @ Phi

    def _planes(self, Z: Array, signs: list[Array]) -> list[L2SVM]:
        n = len(Z)
        # Solve the smaller of two problems: n x n on the kernel, or n x p on the vectors.
        if self.components is None and n <= len(self.components_):
            K = self._vectors.kernel(Z)
            C = scaled_penalty(self.C, n, total_scatter(K))
            return [l2_svm(K, side, C) for side in signs]
        Phi = np.vstack([part for _, part in self._batches(Z)])
        C = scaled_penalty(self.C, n, n * float(Phi.var(axis=0).sum()))
        return [l2_svm_features(Phi, side, C) for side in signs]

    def _batches(self, Z: Array) -> Iterator[tuple[slice, Array]]:
        """Yield a few rows at a time, and the used components of their Fisher vectors."""
        for rows in gen_batches(len(Z), ROWS_PER_BATCH):
            yield rows, self._vectors.transform(Z[rows])[:, self._columns]


def standardised(networks: Mapping[Any, Any], values: Array) -> tuple[dict[Any, Any], Scale]:
    """Convert networks from the units of the data to standard deviations. Also return the scale.

    A network that all classes share is returned once, with the key None. Densities other than
    networks cannot change their units: if there is one, everything keeps the units of the data.
    """
    # The same network for several classes would count each component several times.
    first, *rest = networks.values()
    shared = bool(rest) and all(_same(first, other) for other in rest)
    distinct = {None: first} if shared else dict(networks)
    if not all(isinstance(network, GaussianNetwork) for network in distinct.values()):
        return distinct, Scale(np.zeros(values.shape[1]), np.ones(values.shape[1]))
    scale = Scale.of(values)
    # `in_units` converts from standardised rows to units. The inverse scale converts back.
    back = Scale(-scale.mean / scale.sd, 1.0 / scale.sd)
    return {label: back.in_units(network) for label, network in distinct.items()}, scale


def best_components(vectors: FisherVectors, Z: Array, codes: Indices, k: int) -> Indices:
    """Return the sorted column numbers of the k components that correlate most with the class."""
    networks = list(vectors.networks_.values())
    if all(isinstance(network, GaussianNetwork) for network in networks):
        # The Fisher vectors have the same order: network by network, then row by row.
        scores = edge_scores(Z, codes, networks)[:, parameters_of(networks[0])].ravel()
    else:
        scores = _ratios_of_vectors(vectors.transform(Z), codes)
    ranked = np.argsort(-np.round(scores, TIE_DIGITS), kind="stable")
    return np.sort(ranked[:k])


def _ratios_of_vectors(Phi: Array, codes: Indices) -> Array:
    """Compute correlation ratios from the vectors, for densities that `edge_scores` cannot use."""
    U = Phi - Phi.mean(axis=0)
    groups = [U[codes == c] for c in range(codes.max() + 1)]
    between = np.add.reduce([len(rows) * rows.mean(axis=0) ** 2 for rows in groups])
    total = (U**2).sum(axis=0)
    return np.sqrt(np.divide(between, total, out=np.zeros_like(total), where=total > 0))


def _same(first: Any, second: Any) -> bool:
    if not (isinstance(first, GaussianNetwork) and isinstance(second, GaussianNetwork)):
        return first is second
    fields = ("coef", "intercept", "noise_variance")
    return all(np.array_equal(getattr(first, f), getattr(second, f)) for f in fields)


def scaled_penalty(C: float, n: int, scatter: float, least: float = 0.0) -> float:
    """Return C in units of n over the total scatter, which must be above `least`."""
    if scatter <= least:
        raise InputError("scores.constant").says(
            "the scores are the same for all rows, so nothing separates the classes",
            "Check X, or give other densities.",
        )
    return C * n / scatter


TOL = 1e-9  # KKT violation, in units of the margin
MAX_ITER = 5000  # linear systems; 1 to 10 are usual
MAX_NEWTON_STEPS = 15  # afterwards the active-set method continues
GAP = 1e-10  # gap between the bounds on the squared radius, as a share of it
MAX_POINTS = 10_000  # how often a point may enter the support of the ball; n / 2 is usual
ROUND_OFF = 1e-15  # round-off of a sum, as a share of its terms
SINGULAR = 1e-12  # smaller pivots of the Gram matrix, as a share of the largest, are round-off

# LAPACK is called directly: for a hundred unknowns, scipy's checks take longer than the solution.
_posv, _potrf, _potrs = get_lapack_funcs(("posv", "potrf", "potrs"), dtype=np.float64)


class L2SVM(NamedTuple):
    """The separating plane f(x) = sum_i beta_i k(x, x_i) + intercept.

    Attributes
    ----------
    beta : ndarray of shape (n,)
        The coefficients alpha_i y_i. Their sum is zero.
    intercept : float
        The constant of the plane.
    objective : float
        J_0: half the squared norm of the augmented w.
    support : ndarray of int
        Samples with alpha > 0. They can be the `start` for a similar kernel.
    n_iter : int
        Number of linear systems solved.
    violation : float
        Largest violation of the optimality conditions, in units of the margin.
    converged : bool
        Whether `violation` is at most the tolerance, or at most round-off if round-off is larger.
    """

    beta: Array
    intercept: float
    objective: float
    support: Indices
    n_iter: int
    violation: float
    converged: bool


class Radius(NamedTuple):
    """The smallest ball around all points.

    Attributes
    ----------
    squared : float
        Lower bound of the squared radius. It is exact if the solver has converged.
    weights : ndarray of shape (n,)
        The centre as a convex combination of the points. They can be the `start` for a similar
        kernel. The derivative of `squared` with respect to K_ij is -weights_i weights_j, plus
        weights_i if i = j.
    n_iter : int
        How often a point entered the support.
    violation : float
        (d - `squared`) / d, where d is the squared distance of the farthest point.
    converged : bool
        Whether `violation` is at most the tolerance, or at most round-off if round-off is larger.
    """

    squared: float
    weights: Array
    n_iter: int
    violation: float
    converged: bool


class _Plane(NamedTuple):
    """A plane and its slacks. Slacks of samples in the linear system are exactly alpha / C."""

    beta: Array
    K_beta: Array
    intercept: float
    slack: Array


def total_scatter(K: Array) -> float:
    """Return the trace of the total scatter matrix, tr(K) - 1'K1 / n.

    It is the sum of the squared distances from the mean. For the augmented features, on K + I/C, it
    is larger by (n - 1) / C.

    Paper: Eq. 3.5, the trace that replaces the squared radius.
    """
    return max(float(np.trace(K) - K.sum() / K.shape[0]), 0.0)


def _lifted(K: Array) -> tuple[Array, Array, float]:
    """Return the kernel of the centred points plus a constant, the row means, and the constant."""
    # Centring keeps digits if a kernel is nearly constant. The constant lifts the points off the
    # origin, so that affinely independent points become linearly independent.
    means = K.mean(axis=0)
    means -= 0.5 * means.mean()
    lifted = K - (means + means[:, None])  # this form is symmetric to the last digit
    constant = float(np.diag(lifted).max())
    constant = constant if constant > 0.0 else 1.0
    lifted += constant
    return lifted, means, constant


def l2_svm(
    K: Array, y: Array, C: float, start: ArrayLike | None = None, *, max_iter: int = MAX_ITER
) -> L2SVM:
    """Return the L2-SVM with a bias on a kernel.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The kernel without I/C. It is symmetric and has no negative eigenvalues.
    y : ndarray of shape (n,)
        Classes, 1.0 or -1.0. If all are equal, the plane is f = y.
    C : float
        Price of half a squared slack.
    start : array of int or bool, optional
        First guess of the samples in the support. All samples by default.
    max_iter : int, default=5000
        Largest number of linear systems.

    Returns
    -------
    L2SVM
        The plane.

    Raises
    ------
    InputError
        If K + I/C is not positive definite to working precision.

    Notes
    -----
    Paper: Eq. 3.3, with half the price of a slack, by its dual, Eq. 3.9.
    """
    K, means, _ = _lifted(K)
    diagonal = np.diag(K) + 1.0 / C
    inside = np.zeros(y.size, bool)
    inside[slice(None) if start is None else np.asarray(start)] = True
    alpha, b = np.zeros(y.size), 0.0
    for n_iter in range(1, max_iter + 1):
        goal = _optimum_on(K, y, C, inside, b)
        noise = ROUND_OFF * diagonal.max() * float(np.abs(goal.beta).sum())
        violation = _violation(goal, y, C, diagonal)
        converged = violation <= max(TOL, noise)
        if converged:
            break
        # Newton's steps usually end soon, but may cycle. The active-set method always ends.
        if n_iter < MAX_NEWTON_STEPS:
            inside, b = goal.slack > 0.0, goal.intercept
        else:
            alpha = _feasible(goal.beta * y, y) if n_iter == MAX_NEWTON_STEPS else alpha
            alpha, inside = _ascend(alpha, goal, y, inside)
    beta = goal.beta
    # The dual objective: its error is of second order in the remaining violation.
    objective = beta @ y - 0.5 * beta @ (goal.K_beta + beta / C)
    b = goal.intercept - float(means @ beta)
    support = np.flatnonzero(beta * y > 0.0)
    return L2SVM(beta, b, float(objective), support, n_iter, violation, converged)


def _optimum_on(K: Array, y: Array, C: float, inside: Mask, b: float) -> _Plane:
    """Return the optimum of the piece on which exactly the samples `inside` have a slack.

    If there are no such samples, the bias is `b`.
    """
    # The system is (K + I/C) beta + b = y, where beta sums to zero. To eliminate the bias, it is
    # solved for two right sides, y and ones.
    places = np.flatnonzero(inside)
    beta = np.zeros(y.size)
    if places.size:
        A = K[np.ix_(places, places)]
        A.flat[:: places.size + 1] += 1.0 / C
        sides = np.ones((places.size, 2), order="F")
        sides[:, 0] = y[places]
        _, solved, failed = _posv(A, sides, lower=1, overwrite_a=1, overwrite_b=1)
        if failed:
            raise InputError("svm.indefinite", C=C).says(
                "K + I/C with C = {C:g} is not positive definite",
                "Use a kernel without negative eigenvalues, or a smaller C.",
            )
        b = float(solved[:, 0].sum() / solved[:, 1].sum())
        beta[places] = solved[:, 0] - b * solved[:, 1]
    K_beta = K @ beta
    slack = np.where(inside, y * beta / C, 1.0 - y * (K_beta + b))
    return _Plane(beta, K_beta, b, slack)


def _violation(plane: _Plane, y: Array, C: float, diagonal: Array) -> float:
    """Return the largest violation of the optimality conditions, in units of the margin."""
    # A negative alpha counts as the margin that it takes from its own sample. It does not count if
    # its slack is within the error of the linear system: copies of a sample can have such alphas.
    alpha = plane.beta * y
    missing = 1.0 - y * (plane.K_beta + plane.intercept) - alpha / C
    missing = np.where(alpha != 0.0, np.abs(missing), missing)
    noise = np.max(missing, where=alpha != 0.0, initial=0.0)
    negative = np.where(alpha < -C * noise, -alpha * diagonal, 0.0)
    return float(max(missing.max(), negative.max()))


def _feasible(alpha: Array, y: Array) -> Array:
    """Return the positive part of `alpha`, scaled down in one class to make both sums equal."""
    alpha = np.maximum(alpha, 0.0)
    sums = np.array([alpha[y > 0.0].sum(), alpha[y < 0.0].sum()])
    if sums.min() == 0.0:
        return np.zeros(y.size)
    shares = sums.min() / sums
    return alpha * np.where(y > 0.0, shares[0], shares[1])


def _ascend(alpha: Array, goal: _Plane, y: Array, inside: Mask) -> tuple[Array, Mask]:
    """Make one step of the active-set method; return the new alpha and the samples inside."""
    inside = inside.copy()
    towards = goal.beta * y - alpha
    falling = np.flatnonzero(inside & (goal.beta * y < 0.0))
    if not falling.size:  # no sample blocks the move: add the one with the largest slack
        inside[np.where(inside, -np.inf, goal.slack).argmax()] = True
        return goal.beta * y, inside
    reach = -alpha[falling] / towards[falling]
    blocking = falling[reach.argmin()]
    alpha = np.maximum(alpha + reach.min() * towards, 0.0)
    alpha[blocking] = 0.0
    inside[blocking] = False
    return alpha, inside


def radius(K: Array, start: Array | None = None, *, max_iter: int = MAX_POINTS) -> Radius:
    """Return the squared radius of the smallest ball around all points of a kernel.

    It is the largest value of sum_i p_i K_ii - p'Kp over weights p >= 0 that sum to one. This is an
    active-set method: in each step the farthest point enters the support, and points whose weight
    would become negative leave it. The objective at p is a lower bound of the squared radius. The
    squared distance of the farthest point is an upper bound.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        The kernel. For the augmented features of `l2_svm` it is K + I/C.
    start : ndarray of shape (n,), optional
        Weights to start from. By default the weight is on the point farthest from the mean.
    max_iter : int, default=10,000
        How often a point may enter the support.

    Returns
    -------
    Radius
        The ball.
    """
    G, _, constant = _lifted(K)
    d = np.diag(G) - constant
    p = np.zeros(d.size)
    p[d.argmax()] = 1.0
    if start is not None:
        p = np.maximum(start, 0.0) / np.maximum(start, 0.0).sum()
    noise = 100 * ROUND_OFF * float(np.abs(np.diag(K)).max())
    best = -np.inf
    for n_iter in range(max_iter + 1):
        G_p = G @ p
        distances = d + constant - 2.0 * G_p + p @ G_p
        lower, upper = float(p @ distances), float(distances.max())
        violation = (upper - lower) / upper if upper > noise else 0.0
        converged = upper - lower <= max(GAP * upper, noise)
        if converged or n_iter == max_iter or lower <= best:
            break
        best = lower
        p = _include(G, d, p, int(distances.argmax()))
    return Radius(max(lower, 0.0), p, n_iter, violation, converged)


def _include(G: Array, d: Array, p: Array, far: int) -> Array:
    """Return the weights of the smallest ball around `far` and a part of the support of `p`."""
    p = p.copy()
    places = np.append(np.flatnonzero((p > 0.0) & (np.arange(p.size) != far)), far)
    while True:
        towards, end = _direction(G, d, p, places)
        falling = np.flatnonzero(towards < 0.0)
        reach = -p[places[falling]] / towards[falling]
        if not falling.size or reach.min() >= end:
            p[places] += end * towards
            return p
        p[places] = np.maximum(p[places] + reach.min() * towards, 0.0)
        p[places[falling[reach.argmin()]]] = 0.0
        places = np.delete(places, falling[reach.argmin()])


def _direction(G: Array, d: Array, p: Array, places: Indices) -> tuple[Array, float]:
    """Return a direction in which the objective rises, and the step to its optimum.

    The step is 1, or infinite if a point is a combination of the points before it. Weights can then
    be shifted among these points without moving the centre, and the objective rises without limit.
    """
    L, failed = _potrf(G[np.ix_(places, places)], lower=1, clean=1)
    valid = failed - 1 if failed else places.size
    weak = np.flatnonzero(np.diag(L)[:valid] ** 2 <= SINGULAR * G[places, places].max())
    rank = int(weak[0]) if weak.size else valid
    L = L[:rank, :rank]
    if rank < places.size:
        towards = np.zeros(places.size)
        towards[rank] = 1.0
        towards[:rank] = -_solve(L, G[places[:rank], places[rank]])
        return np.copysign(1.0, towards @ d[places]) * towards, np.inf
    from_d, from_one = _solve(L, d[places]), _solve(L, np.ones(rank))
    multiplier = (from_d.sum() - 2.0) / from_one.sum()
    return 0.5 * (from_d - multiplier * from_one) - p[places], 1.0


def _solve(L: Array, side: Array) -> Array:
    """Return the solution of L L' x = side."""
    return _potrs(L, side, lower=1)[0]


MAX_ITER_PRIMAL = 200  # linear systems; 3 to 10 are usual
CG_TOL = 1e-6  # limit of the relative gradient; its square is the order of the objective's error
FORCING = 0.1  # a truncated Newton step may leave this share of the gradient


def l2_svm_features(Phi: Array, y: Array, C: float) -> L2SVM:
    """Return the L2-SVM on features: by `l2_svm_primal` if p < n, otherwise on the kernel.

    Parameters
    ----------
    Phi : ndarray of shape (n, p)
        Features, one row per sample.
    y : ndarray of shape (n,)
        Classes -1 and 1, with at least one sample each.
    C : float
        Price of half a squared slack.

    Returns
    -------
    L2SVM
        The weights of the features are ``Phi.T @ beta``.
    """
    n, p = Phi.shape
    if p < n:
        return l2_svm_primal(Phi, y, C)
    # Centring keeps digits if features are far from zero. The intercept makes up for it.
    centred = Phi - Phi.mean(axis=0)
    plane = l2_svm(centred @ centred.T, y, C)
    shift = float(Phi.mean(axis=0) @ (centred.T @ plane.beta))
    return plane._replace(intercept=plane.intercept - shift)


def l2_svm_primal(Phi: Array, y: Array, C: float, *, max_iter: int = MAX_ITER_PRIMAL) -> L2SVM:
    """Return the L2-SVM by Newton's method in the weights of the features.

    Parameters
    ----------
    Phi : ndarray of shape (n, p)
        Features, one row per sample.
    y : ndarray of shape (n,)
        Classes -1 and 1, with at least one sample each.
    C : float
        Price of half a squared slack.
    max_iter : int, default=200
        Largest number of linear systems.

    Returns
    -------
    L2SVM
        The same plane as `l2_svm` on ``Phi @ Phi.T``. `violation` is the largest slack whose sign
        differs between the linear system and its solution, in units of the margin.

    Raises
    ------
    InputError
        If the system is not positive definite to working precision. This happens if features are
        dependent and C is very large.
    """
    means = Phi.mean(axis=0)
    F = Phi - means  # keeps digits if features are far from zero; the intercept makes up for it
    weight = 1.0 + C * np.einsum("ij,ij->i", F, F)  # a negative slack counts by the margin it costs
    w, b = np.zeros(Phi.shape[1]), 0.0
    slack, n_iter = np.ones(y.size), 0
    while True:
        n_iter += 1
        inside = slack > 0.0
        goal, goal_b = _primal_optimum_on(F, y, C, inside, b)
        reached = 1.0 - y * (F @ goal + goal_b)
        violation = max(float(np.where(inside, -weight * reached, reached).max()), 0.0)
        if violation <= TOL or n_iter == max_iter:
            break
        step = _line_minimum(w, goal - w, slack, reached - slack, C)
        w, b = w + step * (goal - w), b + step * (goal_b - b)
        slack = 1.0 - y * (F @ w + b)
    taken = np.where(inside, np.maximum(reached, 0.0), 0.0)
    objective = 0.5 * goal @ goal + 0.5 * C * taken @ taken
    b = goal_b - float(means @ goal)
    support = np.flatnonzero(taken)
    return L2SVM(C * y * taken, b, float(objective), support, n_iter, violation, violation <= TOL)


def _primal_optimum_on(F: Array, y: Array, C: float, inside: Mask, b: float) -> tuple[Array, float]:
    """Return the optimal weights and bias if exactly the samples `inside` have a slack.

    If there are no such samples, all weights are zero and the bias is `b`.
    """
    p = F.shape[1]
    if not inside.any():
        return np.zeros(p), b
    G, target = (F, y) if inside.all() else (F[inside], y[inside])
    middle, share = G.mean(axis=0), target.mean()
    G = G - middle  # eliminates the bias
    H = G.T @ G
    H.flat[:: p + 1] += 1.0 / C
    _, w, failed = _posv(H, G.T @ (target - share), lower=1, overwrite_a=1, overwrite_b=1)
    if failed:
        raise InputError("svm.indefinite-primal", C=C).says(
            "Phi'Phi + I/C with C = {C:g} is not positive definite", "Use a smaller C."
        )
    return w, float(share - middle @ w)


def _line_minimum(w: Array, move: Array, slack: Array, change: Array, C: float) -> float:
    """Return the t that minimises 1/2 ||w + t move||^2 + C/2 sum max(0, slack + t change)^2."""
    # The derivative is piecewise linear and rising. Its pieces end where a slack changes its sign.
    active = (slack > 0.0) | ((slack == 0.0) & (change > 0.0))
    ends = np.divide(-slack, change, out=np.full(slack.size, np.inf), where=change != 0.0)
    order = np.flatnonzero((ends > 0.0) & np.isfinite(ends))
    order = order[np.argsort(ends[order], kind="stable")]
    turns = C * np.where(active, -1.0, 1.0)[order]
    heights = w @ move + C * (slack * change)[active].sum()
    slopes = move @ move + C * (change**2)[active].sum()
    heights = np.cumsum(np.append(heights, turns * (slack * change)[order]))
    slopes = np.cumsum(np.append(slopes, turns * (change**2)[order]))
    risen = heights[:-1] + ends[order] * slopes[:-1] >= 0.0
    piece = int(risen.argmax()) if risen.any() else len(order)
    return float(-heights[piece] / slopes[piece])


class Features(Protocol):
    """The features of samples, known only by their products with vectors."""

    shape: tuple[int, int]

    def matvec(self, w: Array) -> Array:
        """Return Phi w."""

    def rmatvec(self, v: Array) -> Array:
        """Return Phi' v."""

    def subset(self, rows: Mask) -> Features:
        """Return the features of some samples.

        Single precision is enough, because they are used only to find directions.
        """


def l2_svm_cg(
    Phi: Features, y: Array, C: float, start: tuple[Array, float] | None = None, tol: float = CG_TOL
) -> tuple[L2SVM, tuple[Array, float]]:
    """Return the L2-SVM on features that are known only by their products with vectors.

    Parameters
    ----------
    Phi : Features
        Features of shape (n, p).
    y : ndarray of shape (n,)
        Classes -1 and 1, with at least one sample each.
    C : float
        Price of half a squared slack.
    start : tuple of ndarray of shape (p,) and float, optional
        Weights and bias to start from, for example of a similar problem. Zero by default.
    tol : float, default=1e-6
        Limit of `violation`.

    Returns
    -------
    L2SVM
        The plane. `violation` is the norm of the gradient divided by the norm of the weights.
    tuple of ndarray of shape (p,) and float
        Weights and bias. They can be the `start` for a similar problem.
    """
    w, b = (np.zeros(Phi.shape[1]), 0.0) if start is None else start
    slack = 1.0 - y * (Phi.matvec(w) + b)
    n_iter = 0
    while True:
        n_iter += 1
        taken = np.maximum(slack, 0.0)
        beta = C * y * taken
        gradient = np.append(w - Phi.rmatvec(beta), -beta.sum())
        violation = float(np.linalg.norm(gradient)) / max(float(np.linalg.norm(w)), 1e-300)
        if violation <= tol or n_iter == MAX_ITER_PRIMAL:
            break
        move = _newton_direction(Phi.subset(slack > 0.0), C, gradient)
        change = -y * (Phi.matvec(move[:-1]) + move[-1])
        step = _line_minimum(w, move[:-1], slack, change, C)
        w, b, slack = w + step * move[:-1], b + step * float(move[-1]), slack + step * change
    objective = 0.5 * float(w @ w) + 0.5 * C * float(taken @ taken)
    support = np.flatnonzero(taken)
    return L2SVM(beta, b, objective, support, n_iter, violation, violation <= tol), (w, b)


def _newton_direction(Phi: Features, C: float, gradient: Array) -> Array:
    """Return Newton's direction in weights and bias, approximately, by conjugate gradients."""

    def hessian(v: Array) -> Array:
        product = C * (Phi.matvec(v[:-1]) + v[-1])
        return np.append(v[:-1] + Phi.rmatvec(product), product.sum())

    operator = LinearOperator((gradient.size, gradient.size), hessian)
    return cg(operator, -gradient, rtol=FORCING)[0]
