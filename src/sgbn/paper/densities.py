r"""Kernel learning for any density with a score function, with a Gaussian mixture as the example.

The Fisher vector of a row holds its scores under all densities, side by side. The matrix
:math:`\Phi` has one Fisher vector per row. An L2-SVM on the kernel :math:`K = \Phi \Phi^T` has the
radius-margin bound :math:`F = tr(S_T) J_0`, with the gradient

.. math:: \frac{\partial F}{\partial \Phi} = 2 A \Phi, \qquad
          A = J_0 (I - 1 1^T / n) - tr(S_T) \beta \beta^T / 2.

Here :math:`S_T` is the total scatter matrix of the Fisher vectors, :math:`J_0` is the objective of
the SVM at its optimum, and :math:`\beta` are its dual weights. The derivative of the SVM's solution
drops out (envelope theorem). Each density turns this gradient into a gradient in its parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from sgbn.core.problems import InputError
from sgbn.core.types import Array
from sgbn.core.validation import POSITIVE, Whole, check_values, two_classes
from sgbn.paper.descent import spg
from sgbn.paper.fisher import HasScore, labelled
from sgbn.paper.fisher_svm import l2_svm_features, scaled_penalty

TOL = 1e-8  # largest projected gradient at the end; the objective is 1 at the start
STALL = 1e-7  # share of the objective; the search ends when ten iterations gain less
ROUND_OFF = 1e-24  # share of the squared scores; a smaller scatter means that all are the same


@runtime_checkable
class ParametricDensity(HasScore, Protocol):
    """A density whose score function has a derivative, so that its parameters can be moved."""

    @property
    def parameters(self) -> Array:
        """Return the p parameters as one vector."""

    def with_parameters(self, parameters: Array) -> Self:
        """Return a copy of the density with other parameters."""

    def score(self, X: Array, parameters: Array) -> Array:
        """Return the gradient of each row's log-likelihood at these parameters, shape (n, p)."""

    def pull(self, X: Array, parameters: Array, G: Array) -> Array:
        """Return the gradient of sum(G * score(X, parameters)) in the parameters, shape (p,)."""


@dataclass(frozen=True)
class MixtureMeans:
    """A mixture of Gaussians with diagonal covariances, whose parameters are the means.

    Attributes
    ----------
    weights : ndarray of shape (parts,)
        The probability of each part of the mixture.
    means, precisions : ndarray of shape (parts, m)
        The mean and the inverse variance of each variable in each part.
    """

    weights: Array
    means: Array
    precisions: Array

    @classmethod
    def of(cls, mixture: Any) -> Self:
        """Copy a fitted `sklearn.mixture.GaussianMixture` that is diagonal or spherical."""
        if mixture.covariance_type not in ("diag", "spherical"):
            raise InputError("mixture.type", kind=mixture.covariance_type).says(
                "covariance_type of the mixture is {kind}", "Give one with 'diag' or 'spherical'."
            )
        # A spherical mixture has one number per part, which all variables share.
        per_part = np.reshape(mixture.precisions_, (len(mixture.means_), -1))
        precisions = np.broadcast_to(per_part, mixture.means_.shape)
        # Copies, because a later fit of the mixture must not change this density.
        return cls(mixture.weights_.copy(), mixture.means_.copy(), precisions.copy())

    @property
    def parameters(self) -> Array:
        """Return the means, part after part."""
        return self.means.ravel()

    @property
    def score_names(self) -> Sequence[str]:
        """Return names of the parameters, such as "part 0: mean of x2"."""
        parts, m = self.means.shape
        return [f"part {k}: mean of x{j}" for k in range(parts) for j in range(m)]

    def with_parameters(self, parameters: Array) -> Self:
        """Return the same mixture with other means."""
        return replace(self, means=np.reshape(parameters, self.means.shape))

    def scores(self, X: Array) -> Array:
        """Return the gradient of each row's log-likelihood in the means."""
        return self.score(X, self.parameters)

    def score(self, X: Array, parameters: Array) -> Array:
        """Return the gradient of each row's log-likelihood in the means at `parameters`.

        It is the share of each part in the row, times the scaled distance of the row from the mean
        of this part.
        """
        shares, pulls = self._shares_and_pulls(X, parameters)
        return (shares[:, :, None] * pulls).reshape(len(X), -1)

    def pull(self, X: Array, parameters: Array, G: Array) -> Array:
        """Return the gradient of sum(G * score) in the means.

        The means change both the distances of the rows and the shares of the parts.
        """
        shares, pulls = self._shares_and_pulls(X, parameters)
        G = G.reshape(pulls.shape)
        inner = np.einsum("nkj,nkj->nk", G, pulls)
        # The derivative of a softmax: each share times the inner product minus its mean.
        in_logits = shares * (inner - (shares * inner).sum(axis=1, keepdims=True))
        through_shares = np.einsum("nk,nkj->kj", in_logits, pulls)
        through_distances = np.einsum("nk,nkj->kj", shares, G) * self.precisions
        gradient: Array = (through_shares - through_distances).ravel()
        return gradient

    def _shares_and_pulls(self, X: Array, parameters: Array) -> tuple[Array, Array]:
        """Return the posterior of each part, and the gradient of its log-density in its mean.

        The shapes are (n, parts) and (n, parts, m).
        """
        distances = X[:, None] - np.reshape(parameters, self.means.shape)
        pulls = self.precisions * distances
        # The term of 2 pi is left out: it is the same for all parts and drops out of the softmax.
        constants = np.log(self.weights) + np.log(self.precisions).sum(axis=1) / 2
        shares = softmax(constants - np.einsum("nkj,nkj->nk", distances, pulls) / 2, axis=1)
        return shares, pulls


class SideBySide:
    """The scores of rows under several densities, as a function of the change u of parameters."""

    def __init__(self, densities: Any, values: Array) -> None:
        self.values, self.densities = values, labelled(densities)
        for density in self.densities.values():
            if not isinstance(density, ParametricDensity):
                raise InputError("density.parameters", kind=type(density).__name__).says(
                    "{kind:s} is not a ParametricDensity",
                    "Give a density with parameters, with_parameters, score and pull.",
                )
        parameters = [density.parameters for density in self.densities.values()]
        self.origin = np.concatenate(parameters)
        self.offsets = np.cumsum([0, *map(len, parameters)])

    def moved(self, u: Array) -> Iterator[tuple[tuple[Any, Any], Array]]:
        """Return the label and density at the start, and its parameters after the change u."""
        # u is a change, so that the ball around 0 is the ball around the parameters at the start.
        parts = np.split(self.origin + u, self.offsets[1:-1])
        return zip(self.densities.items(), parts, strict=True)

    def scores(self, u: Array) -> Array:
        """Return the Fisher vectors, shape (n, p)."""
        return np.column_stack(
            [density.score(self.values, at) for (_, density), at in self.moved(u)]
        )

    def pull(self, u: Array, G: Array) -> Array:
        """Return the gradient of sum(G * scores) in u."""
        parts = zip(self.moved(u), np.split(G, self.offsets[1:-1], axis=1), strict=True)
        return np.concatenate(
            [density.pull(self.values, at, part) for ((_, density), at), part in parts]
        )


class ScoreKernelObjective:
    """The radius-margin bound of L2-SVMs on the scores of rows, and its gradient in the scores.

    This is `FisherKernelObjective` for explicit scores. Each plane separates one class from the
    rest, and the bounds of all planes are added.

    Parameters
    ----------
    signs : sequence of ndarray of shape (n,)
        The side of each row, 1 or -1, for every plane.
    C : float
        The penalty of the SVM's slacks, in units of n over the total scatter of `start`.
    start : ndarray of shape (n, p)
        The scores before any parameter is moved.
    """

    def __init__(self, signs: Sequence[Array], C: float, start: Array) -> None:
        scatter = float(np.square(start - start.mean(axis=0)).sum())
        least = ROUND_OFF * float(np.square(start).sum())
        self.signs, self.C = signs, scaled_penalty(C, len(start), scatter, least)

    def __call__(self, Phi: Array) -> tuple[float, Array]:
        """Return the value and the gradient at the scores `Phi`."""
        n = len(Phi)
        centred = Phi - Phi.mean(axis=0)
        # An L2-SVM is a hard-margin SVM on the kernel K + I / C, so I / C adds to the scatter.
        scatter = float(np.square(centred).sum()) + (n - 1) / self.C
        planes = [l2_svm_features(Phi, y, self.C) for y in self.signs]
        objective = sum(plane.objective for plane in planes)
        B = np.array([plane.beta for plane in planes])
        gradient: Array = 2 * objective * centred - scatter * B.T @ (B @ centred)
        return scatter * objective, gradient


def learn_kernel(
    densities: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    radius: float,
    C: float = 1.0,
    max_iter: int = 100,
) -> dict[Any, Any]:
    """Move the parameters of densities so that an L2-SVM on their scores generalises.

    The function minimises the radius-margin bound of the SVM, and solves the SVM again at every
    step. `FisherVectors` and `FisherSVMClassifier` accept the result.

    Parameters
    ----------
    densities : mapping of class to ParametricDensity, sequence of densities, or one density
        The densities at the start. There may be more or fewer densities than classes.
    X : array-like of shape (n_samples, m)
        The training rows.
    y : array-like of shape (n_samples,)
        The class of each row.
    radius : float
        The largest distance that the parameters of each density may move, in their own units. This
        limit keeps a density a description of its class, like the limit on the fitting error in
        KL-SGBN.
    C : float
        The penalty of the SVM's slacks, as in `KLSGBNClassifier`.
    max_iter : int
        The largest number of iterations.

    Returns
    -------
    dict of class to ParametricDensity
        The densities after the move.

    Notes
    -----
    Paper: Section 3.3, Generalization.
    """
    values, _ = check_values(X)
    classes, codes = two_classes(y, len(values))
    POSITIVE.check("radius", radius)
    POSITIVE.check("C", C)
    Whole(1).check("max_iter", max_iter)
    signs = [np.where(codes == c, 1.0, -1.0) for c in range(len(classes))]
    start = SideBySide(densities, values)
    u = np.zeros(start.offsets[-1])
    # Two classes need only one plane: the plane of the other class is its mirror image.
    bound = ScoreKernelObjective(signs[1:] if len(signs) == 2 else signs, C, start.scores(u))
    # Divided by the first value, the objective starts at 1, as `TOL` and `STALL` expect.
    unit = bound(start.scores(u))[0]

    def value_and_gradient(u: Array) -> tuple[float, Array]:
        value, G = bound(start.scores(u))
        return value / unit, start.pull(u, G) / unit

    radii = np.full(len(start.densities), float(radius))
    offsets = start.offsets
    u = spg(value_and_gradient, offsets, radii, u, tol=TOL, max_iter=max_iter, stall=STALL).x
    return {label: density.with_parameters(at) for (label, density), at in start.moved(u)}
