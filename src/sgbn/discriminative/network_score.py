r"""Gradient of the log-likelihood of a network in its edge weights and biases, row by row.

.. math:: g_{ij}(x) = \partial L(x) / \partial \Theta_{ij} = x_i r_j / \sigma_j^2, \qquad
          g_{0j}(x) = r_j / \sigma_j^2

with residuals :math:`r_j`. Edge weights and biases are stored as (m + 1, m): one column per child,
the bias in the last row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from sgbn.exceptions import InputError
from sgbn.gaussian import GaussianNetwork
from sgbn.types import Array, Indices, Mask

BIAS = "bias"  # what the names of components call the parent of all variables


@runtime_checkable
class HasScore(Protocol):
    """Any density that knows the gradient of its log-likelihood in its parameters."""

    score_names: Sequence[str]  # of the p parameters

    def scores(self, X: Array) -> Array:
        """Gradient for every row of X, shape (n_samples, p)."""


class NetworkScore:
    """Gradient of a network's log-likelihood in its edge weights and biases, row by row.

    Works on plain arrays with the columns in the order of the network's variables. `edges` and
    `scaling` are those of `FisherVectors`.

    Attributes
    ----------
    taken : ndarray of shape (m + 1, m), bool
        Components that count: ``taken[i, j]`` for i -> j, and ``taken[m, j]`` for the bias.
    scale : ndarray of shape (m + 1, m)
        What they are multiplied by.
    """

    def __init__(
        self, network: GaussianNetwork, edges: str = "all", scaling: str | None = None
    ) -> None:
        if not network.noise_variance.all():
            raise InputError(
                f"{network.names[network.noise_variance.argmin()]!r} has no noise, so that the "
                "network has no density. Leave it out, or set variances='unit'."
            )
        self.network, self.edges, self.scaling = network, edges, scaling
        self.taken = parameters_of(network, edges)
        information = 1.0 if scaling is None else fisher_information(network)
        # Broadcast: without scaling, a matrix of ones takes no memory.
        self.scale = np.broadcast_to(1 / np.sqrt(information), self.taken.shape)

    def names(self, variables: Sequence[str] | None = None) -> list[str]:
        """Names of the components, edges before biases; `variables` renames the network's."""
        variables = self.network.names if variables is None else variables
        parents = [*variables, bias_name(variables)]
        # np.argwhere goes row by row, and the last row has the biases.
        return [f"{parents[i]} -> {variables[j]}" for i, j in np.argwhere(self.taken)]

    def scores(self, X: ArrayLike) -> Array:
        r"""Gradient for every row: :math:`x_i r_j / \sigma_j^2`, :math:`r_j / \sigma_j^2`.

        Paper: Eq. 3.2, with the sign put right.
        """
        return self._components(*self._rows(X), np.argwhere(self.taken))

    def kernel(self, X: ArrayLike, Z: ArrayLike | None = None) -> Array:
        r"""Inner products of the gradients at the rows of X and of Z, without the gradients.

        For all edges, unscaled, :math:`(\tilde R \tilde R^T) \circ (X X^T + 1) - Q Q^T` with
        :math:`\tilde R = R / \sigma^2` and :math:`Q = \tilde R \circ X`; else a sum over a few
        components at a time. Memory is that of the kernel and of the rows.

        Paper: Section 3.1.1, the Fisher kernel with U the identity, or (scaled) its diagonal.
        """
        X, R = self._rows(X)
        Z, S = (X, R) if Z is None else self._rows(Z)
        if self.edges == "all" and self.scaling is None:
            # X X' + 1 would count i = j as an edge: Q Q' takes these components off again
            Q = R * X
            P = Q if Z is X else S * Z
            return np.subtract((R @ S.T) * (X @ Z.T + 1), Q @ P.T)
        K: Array = np.zeros((len(X), len(Z)))
        places = np.argwhere(self.taken)
        # m + 1 components at a time need as much memory as the rows themselves
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
        """Rows, and their residuals divided by the noise variance."""
        X = np.asarray(X, dtype=float)
        return X, self.network.residuals(X) / self.network.noise_variance


def bias_name(variables: Sequence[str]) -> str:
    """Return what the bias is called: "bias", in brackets where a variable has that name."""
    name = BIAS
    while name in variables:
        name = f"({name})"
    return name


def fisher_information(network: GaussianNetwork) -> Array:
    r"""Compute the expectation of each squared gradient component under the network itself.

    .. math:: E[x_i^2 r_j^2] / \sigma_j^4 =
              (E[x_i]^2 + Var(x_i)) / \sigma_j^2 + 2\, Cov(x_i, r_j)^2 / \sigma_j^4

    by Isserlis' theorem, and :math:`1 / \sigma_j^2` for the biases. The last term is zero unless i
    descends from j, in which case the edge would close a cycle. This is the diagonal of the Fisher
    information; the rest is not used. Shape (m + 1, m); entries i = j belong to no edge.

    Paper: Section 3.1.1, the diagonal of the metric U.
    """
    C, variance = network.covariance, network.noise_variance
    across = C - C @ network.coef  # covariances of variables (rows) with residuals (columns)
    squares = network.mean**2 + np.diag(C)
    edges = squares[:, None] / variance + 2 * (across / variance) ** 2
    return np.vstack([edges, 1 / variance])


def parameters_of(network: GaussianNetwork, edges: str = "all") -> Mask:
    """Mark the (parent, child) that are parameters: biases, and all or present edges.

    The shape is (m + 1, m), with the biases in the last row.
    """
    m = network.m
    possible = network.coef != 0 if edges == "present" else ~np.eye(m, dtype=bool)
    return np.vstack([possible, np.ones(m, dtype=bool)])
