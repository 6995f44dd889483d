r"""L2-SVM on explicit features, with one unknown per feature and without an n x n matrix.

.. math:: \min_{w, b} \tfrac12 \|w\|^2 + \tfrac{C}{2} \sum_i \max(0, s_i)^2, \qquad
          s_i = 1 - y_i (w^T \phi_i + b),

is the problem of `sgbn.solvers.svm` in its primal variables. It is convex, and quadratic on each
piece on which the same samples have a slack s_i > 0. Each iteration solves the linear system of the
present piece. If the solution is not the optimum, the iteration moves towards it, to the exact
minimum along the line. The objective falls in every step and the number of pieces is finite, so
that the method ends.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg import get_lapack_funcs
from scipy.sparse.linalg import LinearOperator, cg

from sgbn.core.exceptions import InputError
from sgbn.core.types import Array, Mask
from sgbn.solvers.svm import L2SVM, l2_svm

TOL = 1e-9  # violation, in units of the margin
MAX_ITER = 200  # linear systems; 3 to 10 are usual
CG_TOL = 1e-6  # limit of the relative gradient; its square is the order of the objective's error
FORCING = 0.1  # a truncated Newton step may leave this share of the gradient

(_posv,) = get_lapack_funcs(("posv",), dtype=np.float64)


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


def l2_svm_primal(
    Phi: Array, y: Array, C: float, *, tol: float = TOL, max_iter: int = MAX_ITER
) -> L2SVM:
    """Return the L2-SVM by Newton's method in the weights of the features.

    Parameters
    ----------
    Phi : ndarray of shape (n, p)
        Features, one row per sample.
    y : ndarray of shape (n,)
        Classes -1 and 1, with at least one sample each.
    C : float
        Price of half a squared slack.
    tol : float, default=1e-9
        Limit of `violation`, in units of the margin.
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
        goal, goal_b = _optimum_on(F, y, C, inside, b)
        reached = 1.0 - y * (F @ goal + goal_b)
        violation = max(float(np.where(inside, -weight * reached, reached).max()), 0.0)
        if violation <= tol or n_iter == max_iter:
            break
        step = _line_minimum(w, goal - w, slack, reached - slack, C)
        w, b = w + step * (goal - w), b + step * (goal_b - b)
        slack = 1.0 - y * (F @ w + b)
    taken = np.where(inside, np.maximum(reached, 0.0), 0.0)
    objective = 0.5 * goal @ goal + 0.5 * C * taken @ taken
    return L2SVM(
        C * y * taken,
        goal_b - float(means @ goal),
        float(objective),
        np.flatnonzero(taken),
        n_iter,
        violation,
        violation <= tol,
    )


def _optimum_on(F: Array, y: Array, C: float, inside: Mask, b: float) -> tuple[Array, float]:
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
        raise InputError(
            f"Phi'Phi + I/C with C = {C:g} is not positive definite to working precision. Use a "
            "smaller C."
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
    Phi: Features,
    y: Array,
    C: float,
    start: tuple[Array, float] | None = None,
    *,
    tol: float = CG_TOL,
    max_iter: int = MAX_ITER,
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
    max_iter : int, default=200
        Largest number of truncated Newton steps.

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
        if violation <= tol or n_iter == max_iter:
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
