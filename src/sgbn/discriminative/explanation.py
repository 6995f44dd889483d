r"""The part of each region and edge in the log-likelihood ratio of a subject.

A network's log-likelihood is a sum over regions. For region j, :math:`u_j` is its distance from its
mean under the network, :math:`e_{ij} = \Theta_{ij} (x_i - \mu_i)` is the prediction by its parent
i, and :math:`r_j = u_j - \sum_i e_{ij}` is the residual. Then exactly

.. math:: -\frac{r_j^2}{2 \sigma_j^2} = -\frac{u_j^2}{2 \sigma_j^2}
          + \sum_i \frac{e_{ij} (u_j + r_j)}{2 \sigma_j^2}.

The first term is the part of the region itself. Each of the other terms is the part of one edge
into the region.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.types import Array, Indices


@dataclass(frozen=True)
class Explanation:
    """A log-likelihood ratio as a sum of parts in nats. A positive part favours the first class.

    Attributes
    ----------
    ratio : ndarray of shape (n,)
        The log-likelihood ratio of each subject.
    own : ndarray of shape (n, m)
        The part of each region itself. It depends on the distance from the mean of each class.
    edges : ndarray of shape (n, p)
        The part of each edge that at least one of the two networks has.
    names : tuple of str
        The names of the m regions.
    sources, targets : tuple of str
        The region at the start and at the end of each of the p edges.
    """

    ratio: Array
    own: Array
    edges: Array
    names: tuple[str, ...]
    sources: tuple[str, ...]
    targets: tuple[str, ...]

    @property
    def regions(self) -> Array:
        """Return the part of each region plus the parts of the edges into it.

        The sum over the regions is the ratio.
        """
        total = self.own.copy()
        place = {name: k for k, name in enumerate(self.names)}
        # An indexed `+=` would count only one of several edges with the same target. So: a loop.
        for edge, target in enumerate(self.targets):
            total[:, place[target]] += self.edges[:, edge]
        return total


def explain_ratio(first: GaussianNetwork, second: GaussianNetwork, values: Array) -> Explanation:
    """Split the log-likelihood ratio of each row under two networks into regions and edges."""
    # If only one network has the edge, the part of the other network is zero.
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
    """Split the log-likelihood of each row into the parts of regions and of edges i -> j."""
    variance = network.noise_variance
    u = values - network.mean
    r = network.residuals(values)
    by_region = -(u**2) / (2 * variance) - np.log(2 * np.pi * variance) / 2
    # u^2 - r^2 = (u - r)(u + r), and u - r is the sum of what the parents predict.
    predicted = network.coef[i, j] * u[:, i]
    return by_region, predicted * (u + r)[:, j] / (2 * variance[j])
