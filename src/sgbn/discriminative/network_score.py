r"""The gradient of the log-likelihood of a network in its edge weights and biases, row by row.

.. math:: g_{ij}(x) = \partial L(x) / \partial \Theta_{ij} = x_i r_j / \sigma_j^2, \qquad
          g_{0j}(x) = r_j / \sigma_j^2

Here :math:`r_j` is the residual of child j and :math:`\sigma_j^2` is its noise variance. Edge
weights and biases are stored in one array of shape (m + 1, m), with one column per child and the
biases in the last row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.types import Array, Indices, Mask

BIAS = "bias"  # the parent of a bias in the names of components


@runtime_checkable
class HasScore(Protocol):
    """Any density that can compute the gradient of its log-likelihood in its parameters."""

    score_names: Sequence[str]  # the names of the p parameters

    def scores(self, X: Array) -> Array:
        """Return the gradient for every row of X, shape (n_samples, p)."""


class NetworkScore:
    """The gradient of a network's log-likelihood in its edge weights and biases, row by row.

    It takes plain arrays with the columns in the order of the network's variables. `edges` and
    `scaling` are as in `FisherVectors`.

    Attributes
    ----------
    taken : ndarray of shape (m + 1, m), bool
        Which components to compute: ``taken[i, j]`` for i -> j, ``taken[m, j]`` for the bias of j.
    scale : ndarray of shape (m + 1, m)
        The factor of each component.
    """

    def __init__(
        self, network: GaussianNetwork, edges: str = "all", scaling: str | None = None
    ) -> None:
        if not network.noise_variance.all():
            raise InputError(
                f"{network.names[network.noise_variance.argmin()]!r} has no noise, so the network "
                "has no density. Leave it out, or set variances='unit'."
            )
        self.network, self.edges, self.scaling = network, edges, scaling
        self.taken = parameters_of(network, edges)
        information = 1.0 if scaling is None else fisher_information(network)
        # Without scaling, the broadcast matrix of ones takes no memory.
        self.scale = np.broadcast_to(1 / np.sqrt(information), self.taken.shape)

    def names(self, variables: Sequence[str] | None = None) -> list[str]:
        """Return the names of the components, edges before biases.

        `variables` replaces the names of the network's variables.
        """
        variables = self.network.names if variables is None else variables
        parents = [*variables, bias_name(variables)]
        # np.argwhere reads row by row, and the last row has the biases.
        return [f"{parents[i]} -> {variables[j]}" for i, j in np.argwhere(self.taken)]

    def scores(self, X: ArrayLike) -> Array:
        r"""Return the gradient for every row.

        Its components are :math:`x_i r_j / \sigma_j^2` and :math:`r_j / \sigma_j^2`.

        Paper: Eq. 3.2, with the sign corrected.
        """
        return self._components(*self._rows(X), np.argwhere(self.taken))

    def kernel(self, X: ArrayLike, Z: ArrayLike | None = None) -> Array:
        r"""Return the inner products of the gradients at the rows of X and at the rows of Z.

        Without Z, X takes its place. With all edges and no scaling, the kernel is
        :math:`(\tilde R \tilde R^T) \circ (X X^T + 1) - Q Q^T`, with the residuals R,
        :math:`\tilde R = R / \sigma^2` and :math:`Q = \tilde R \circ X`. Otherwise it is summed
        over a few components at a time, so that only the kernel and the rows need memory.

        Paper: Section 3.1.1, the Fisher kernel with U the identity, or (scaled) its diagonal.
        """
        X, R = self._rows(X)
        Z, S = (X, R) if Z is None else self._rows(Z)
        if self.edges == "all" and self.scaling is None:
            # X X' + 1 also counts i = j as an edge. Q Q' subtracts these components again.
            Q = R * X
            P = Q if Z is X else S * Z
            return np.subtract((R @ S.T) * (X @ Z.T + 1), Q @ P.T)
        K: Array = np.zeros((len(X), len(Z)))
        places = np.argwhere(self.taken)
        # m + 1 components at a time need about as much memory as the rows.
        for start in range(0, len(places), len(self.taken)):
            chunk = places[start : start + len(self.taken)]
            G = self._components(X, R, chunk)
            K += G @ (G if Z is X else self._components(Z, S, chunk)).T
        return K

    def _components(self, X: Array, R: Array, places: Indices) -> Array:
        parents, children = places.T
        components: Array = np.column_stack([X, np.ones(len(X))])[:, parents]
        components *= R[:, children] * self.scale[parents, children]
        return components

    def _rows(self, X: ArrayLike) -> tuple[Array, Array]:
        """Return the rows, and their residuals divided by the noise variance."""
        X = np.asarray(X, dtype=float)
        return X, self.network.residuals(X) / self.network.noise_variance


def bias_name(variables: Sequence[str]) -> str:
    """Return the name of the bias: "bias", or "(bias)" if a variable is called "bias"."""
    name = BIAS
    while name in variables:
        name = f"({name})"
    return name


def fisher_information(network: GaussianNetwork) -> Array:
    r"""Compute the expectation of each squared gradient component under the network itself.

    .. math:: E[x_i^2 r_j^2] / \sigma_j^4 =
              (E[x_i]^2 + Var(x_i)) / \sigma_j^2 + 2\, Cov(x_i, r_j)^2 / \sigma_j^4

    This follows from Isserlis' theorem. For the biases it is :math:`1 / \sigma_j^2`. The last term
    is zero unless i is a descendant of j, in which case the edge would close a cycle. The result is
    the diagonal of the Fisher information. The other entries are not used. The result has the shape
    (m + 1, m), with the biases in the last row. Entries i = j do not belong to any edge.

    Paper: Section 3.1.1, the diagonal of the metric U.
    """
    C, variance = network.covariance, network.noise_variance
    across = C - C @ network.coef  # the covariance of variable i with residual j
    squares = network.mean**2 + np.diag(C)
    edges = squares[:, None] / variance + 2 * (across / variance) ** 2
    return np.vstack([edges, 1 / variance])


def parameters_of(network: GaussianNetwork, edges: str = "all") -> Mask:
    """Mark the parameters of a network: the biases, and all possible or only the present edges.

    The shape is (m + 1, m), with the biases in the last row.
    """
    m = network.m
    possible = network.coef != 0 if edges == "present" else ~np.eye(m, dtype=bool)
    return np.vstack([possible, np.ones(m, dtype=bool)])
