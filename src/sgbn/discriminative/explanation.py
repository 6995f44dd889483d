r"""What each region and edge adds to a log-likelihood ratio of a subject.

A network's log-likelihood is a sum over regions. With :math:`u_j` the distance of region j from
its mean under the network, :math:`e_{ij} = \Theta_{ij} (x_i - \mu_i)` what its parent i predicts of
it and :math:`r_j = u_j - \sum_i e_{ij}` the residual,

.. math:: -\frac{r_j^2}{2 \sigma_j^2} = -\frac{u_j^2}{2 \sigma_j^2}
          + \sum_i \frac{e_{ij} (u_j + r_j)}{2 \sigma_j^2}

exactly: the first term is the region's own, the others are those of the edges into it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sgbn.gaussian import GaussianNetwork
from sgbn.types import Array, Indices


@dataclass(frozen=True)
class Explanation:
    """A log-likelihood ratio taken apart; every part in nats, positive for the first class.

    Attributes
    ----------
    ratio : ndarray of shape (n,)
        Log-likelihood ratio of each subject.
    own : ndarray of shape (n, m)
        Part of each region by itself: how far it is from the mean of either class.
    edges : ndarray of shape (n, p)
        Part of each edge, of either network.
    names : tuple of str
        The m regions.
    sources, targets : tuple of str
        The p edges.
    """

    ratio: Array
    own: Array
    edges: Array
    names: tuple[str, ...]
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    @property
    def regions(self) -> Array:
        """Part of each region: its own, and that of the edges into it. They sum to the ratio."""
        total = self.own.copy()
        place = {name: k for k, name in enumerate(self.names)}
        # In a loop: edges may share a target, which an indexed `+=` of all would count once.
        for edge, target in enumerate(self.targets):
            total[:, place[target]] += self.edges[:, edge]
        return total


def explain_ratio(first: GaussianNetwork, second: GaussianNetwork, values: Array) -> Explanation:
    """Take the log-likelihood ratio of the rows under two networks apart, by region and edge."""
    # an edge of either network: the other network's part of it is zero
    i, j = np.nonzero((first.coef != 0) | (second.coef != 0))
    own_first, edges_first = _parts(first, values, i, j)
    own_second, edges_second = _parts(second, values, i, j)
    by_region, edges = own_first - own_second, edges_first - edges_second
    return Explanation(
        by_region.sum(axis=1) + edges.sum(axis=1),
        by_region,
        edges,
        tuple(first.names),
        tuple(first.names[k] for k in i),
        tuple(first.names[k] for k in j),
    )


def _parts(network: GaussianNetwork, values: Array, i: Indices, j: Indices) -> tuple[Array, Array]:
    """Return the part of every region by itself, and of every edge i -> j, of a log-likelihood."""
    variance = network.noise_variance
    u = values - network.mean
    r = network.residuals(values)
    by_region = -(u**2) / (2 * variance) - np.log(2 * np.pi * variance) / 2
    # by the difference of squares, u^2 - r^2 = (u - r)(u + r), where u - r is what parents predict
    predicted = network.coef[i, j] * u[:, i]
    return by_region, predicted * (u + r)[:, j] / (2 * variance[j])
