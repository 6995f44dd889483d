r"""Kernel learning for any density with a score function, shown on a Gaussian mixture.

The Fisher vectors :math:`\Phi` of a row are its scores under all densities, side by side. With the
kernel :math:`K = \Phi \Phi^T`, the radius-margin bound :math:`F = tr(S_T) J_0` of an L2-SVM on it
has the gradient

.. math:: \frac{\partial F}{\partial \Phi} = 2 A \Phi, \qquad
          A = J_0 (I - 1 1^T / n) - tr(S_T) \beta \beta^T / 2,

because the SVM's own solution drops out (envelope theorem). A density pulls it back to its
parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from sgbn.discriminative.fisher import labelled, two_classes
from sgbn.discriminative.network_score import HasScore
from sgbn.exceptions import InputError
from sgbn.parameters import POSITIVE, Whole
from sgbn.solvers.projected_gradient import spg
from sgbn.solvers.svm_primal import l2_svm_features
from sgbn.types import Array
from sgbn.validation import check_values

TOL = 1e-8  # largest projected gradient at the end, of an objective that starts at one
STALL = 1e-7  # the search ends when ten iterations gain a smaller share of the objective
ROUND_OFF = 1e-24  # scatter of scores that are all the same, as a share of their squares


@runtime_checkable
class ParametricDensity(HasScore, Protocol):
    """A density whose parameters can be moved: its score function has a derivative in them."""

    @property
    def parameters(self) -> Array:
        """Its p parameters as one vector."""

    def with_parameters(self, parameters: Array) -> Self:
        """Return the density with other parameters; the original stays."""

    def score(self, X: Array, parameters: Array) -> Array:
        """Gradient of the log-likelihood of every row at these parameters, shape (n, p)."""

    def pull(self, X: Array, parameters: Array, G: Array) -> Array:
        """Gradient of sum(G * score(X, parameters)) in the parameters, shape (p,)."""


@dataclass(frozen=True)
class MixtureMeans:
    """Mixture of Gaussians with diagonal covariances; the means of its parts are the parameters.

    Attributes
    ----------
    weights : ndarray of shape (parts,)
    means, precisions : ndarray of shape (parts, m)
    """

    weights: Array
    means: Array
    precisions: Array

    @classmethod
    def of(cls, mixture: Any) -> Self:
        """Take the parts of a fitted `sklearn.mixture.GaussianMixture`, diagonal or spherical."""
        if mixture.covariance_type not in ("diag", "spherical"):
            raise InputError(
                f"covariance_type={mixture.covariance_type!r}: give a mixture that is 'diag' or "
                "'spherical'."
            )
        # spherical: one number per part, which all variables share
        precisions = np.reshape(mixture.precisions_, (len(mixture.means_), -1))
        whole = np.broadcast_to(precisions, mixture.means_.shape)
        # Copies: a mixture that is fitted again must not change this density.
        return cls(mixture.weights_.copy(), mixture.means_.copy(), whole.copy())

    @property
    def parameters(self) -> Array:
        """Means, part after part."""
        return self.means.ravel()

    @property
    def score_names(self) -> Sequence[str]:
        """Names such as "part 0: mean of x2"."""
        parts, m = self.means.shape
        return [f"part {k}: mean of x{j}" for k in range(parts) for j in range(m)]

    def with_parameters(self, parameters: Array) -> Self:
        """Return the same mixture with other means."""
        return replace(self, means=np.reshape(parameters, self.means.shape))

    def scores(self, X: Array) -> Array:
        """Gradient of the log-likelihood of every row in the means."""
        return self.score(X, self.parameters)

    def score(self, X: Array, parameters: Array) -> Array:
        """Share of each part in a row, times how far the row is from its mean."""
        shares, pulls = self._shares_and_pulls(X, parameters)
        return (shares[:, :, None] * pulls).reshape(len(X), -1)

    def pull(self, X: Array, parameters: Array, G: Array) -> Array:
        """Gradient of sum(G * score) in the means: through the distances, and the shares."""
        shares, pulls = self._shares_and_pulls(X, parameters)
        G = G.reshape(pulls.shape)
        inner = np.einsum("nkj,nkj->nk", G, pulls)
        # derivative of a softmax: a share rises by how far its part is above the mean of all
        above = shares * (inner - (shares * inner).sum(axis=1, keepdims=True))
        through_shares = np.einsum("nk,nkj->kj", above, pulls)
        through_distances = np.einsum("nk,nkj->kj", shares, G) * self.precisions
        gradient: Array = (through_shares - through_distances).ravel()
        return gradient

    def _shares_and_pulls(self, X: Array, parameters: Array) -> tuple[Array, Array]:
        """Posterior of the parts (n, parts), and gradients of their log-densities in the means."""
        apart = X[:, None] - np.reshape(parameters, self.means.shape)
        pulls = self.precisions * apart
        # without the term of 2 pi, which is the same for all parts and drops out of the softmax
        constants = np.log(self.weights) + np.log(self.precisions).sum(axis=1) / 2
        shares = softmax(constants - np.einsum("nkj,nkj->nk", apart, pulls) / 2, axis=1)
        return shares, pulls


class SideBySide:
    """Scores of rows under several densities, as a function of a move u of all parameters."""

    def __init__(self, densities: Any, values: Array) -> None:
        self.values, self.densities = values, labelled(densities)
        for density in self.densities.values():
            if not isinstance(density, ParametricDensity):
                raise InputError(
                    f"a {type(density).__name__} cannot be used here: give a density with "
                    "parameters, with_parameters, score and pull (see ParametricDensity)."
                )
        parameters = [density.parameters for density in self.densities.values()]
        self.origin = np.concatenate(parameters)
        self.offsets = np.cumsum([0, *map(len, parameters)])

    def moved(self, u: Array) -> Iterator[tuple[tuple[Any, Any], Array]]:
        """Label and density at the start, and its parameters after the move."""
        # u is a move, not the parameters: the ball around 0 is then the one around the start
        parts = np.split(self.origin + u, self.offsets[1:-1])
        return zip(self.densities.items(), parts, strict=True)

    def scores(self, u: Array) -> Array:
        """Fisher vectors, shape (n, p)."""
        return np.column_stack(
            [density.score(self.values, at) for (_, density), at in self.moved(u)]
        )

    def pull(self, u: Array, G: Array) -> Array:
        """Gradient of sum(G * scores) in u."""
        parts = zip(self.moved(u), np.split(G, self.offsets[1:-1], axis=1), strict=True)
        return np.concatenate(
            [density.pull(self.values, at, part) for ((_, density), at), part in parts]
        )


class ScoreKernelObjective:
    """Radius-margin bound of L2-SVMs on the scores of rows, and its gradient in the scores.

    `FisherKernelObjective` for explicit scores. With several planes, one per class against the
    rest, their bounds are added. C is in units of n over the total scatter of the scores given
    first.
    """

    def __init__(self, signs: Sequence[Array], C: float, first: Array) -> None:
        scatter = float(np.square(first - first.mean(axis=0)).sum())
        if scatter <= ROUND_OFF * float(np.square(first).sum()):
            raise InputError(
                "the scores are the same for all rows, so that no kernel can separate them. Check "
                "X, or give other densities."
            )
        self.signs, self.C = signs, C * len(first) / scatter

    def __call__(self, Phi: Array) -> tuple[float, Array]:
        """Value and gradient."""
        n = len(Phi)
        centred = Phi - Phi.mean(axis=0)
        # An L2-SVM is a hard-margin SVM on the kernel K + I / C, which adds to the scatter.
        scatter = float(np.square(centred).sum()) + (n - 1) / self.C
        planes = [l2_svm_features(Phi, y, self.C) for y in self.signs]
        height = sum(plane.objective for plane in planes)
        B = np.array([plane.beta for plane in planes])
        gradient: Array = 2 * height * centred - scatter * B.T @ (B @ centred)
        return scatter * height, gradient


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

    Minimises the radius-margin bound of the SVM, solved anew at every step. `FisherVectors` and
    `FisherSVMClassifier` take the result.

    Parameters
    ----------
    densities : mapping of class to ParametricDensity, sequence of them, or one
        At the start. Their number need not be that of the classes.
    X : array-like of shape (n_samples, m)
        Training rows.
    y : array-like of shape (n_samples,)
    radius : float
        How far the parameters of each density may move, in their own units: it is what keeps a
        density a description of its class, as the limit on the fitting error does in KL-SGBN.
    C : float
        As in `KLSGBNClassifier`.
    max_iter : int

    Returns
    -------
    dict of class to ParametricDensity

    Notes
    -----
    Paper: Section 3.3, Generalization.
    """
    values, _ = check_values(X)
    classes, codes = two_classes(y, len(values), "a kernel needs")
    POSITIVE.check("radius", radius)
    POSITIVE.check("C", C)
    Whole(1).check("max_iter", max_iter)
    signs = [np.where(codes == c, 1.0, -1.0) for c in range(len(classes))]
    start = SideBySide(densities, values)
    u = np.zeros(start.offsets[-1])
    # Two classes need one plane; that of the other class is its mirror image.
    bound = ScoreKernelObjective(signs[1:] if len(signs) == 2 else signs, C, start.scores(u))
    # In units of the first value, `TOL` and `STALL` mean the same for all data.
    unit = bound(start.scores(u))[0]

    def value_and_gradient(u: Array) -> tuple[float, Array]:
        value, G = bound(start.scores(u))
        return value / unit, start.pull(u, G) / unit

    radii = np.full(len(start.densities), float(radius))
    offsets = start.offsets
    u = spg(value_and_gradient, offsets, radii, u, tol=TOL, max_iter=max_iter, stall=STALL).x
    return {label: density.with_parameters(at) for (label, density), at in start.moved(u)}
