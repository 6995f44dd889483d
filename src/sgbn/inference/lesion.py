"""Simulated lesions: a region no longer varies, and other regions change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sgbn.cohort.rows import region_index
from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork, NetworkLike
from sgbn.core.types import Array, Indices
from sgbn.core.validation import NONE, Number
from sgbn.inference.records import records
from sgbn.learn.base import network_of

DIGITS = 12  # decimals of a divergence; further digits are round-off


@dataclass(frozen=True)
class Lesion:
    """A network before and after one of its regions was fixed from outside.

    Attributes
    ----------
    region : str
        Name of the region.
    before, after : GaussianNetwork
        The two networks. After the lesion no edge leads into the region, and it passes no variation
        on to others.
    """

    region: str
    before: GaussianNetwork
    after: GaussianNetwork

    @property
    def mean_change(self) -> Array:
        """Change of the mean of every region, in the units of the data."""
        return self.after.mean - self.before.mean

    @property
    def variance_change(self) -> Array:
        """Change of the variance of every region, as a share of its variance before."""
        change: Array = np.diag(self.after.covariance) / np.diag(self.before.covariance) - 1
        return change

    @property
    def covariance_change(self) -> Array:
        """Change of the covariance of every two regions."""
        return self.after.covariance - self.before.covariance

    def ranking(self) -> np.recarray[Any, Any]:
        r"""Return the other regions as a record array, the most affected first.

        Returns
        -------
        record array
            - `region`: name of the region
            - `divergence`: Kullback-Leibler divergence of the region's distribution after the
              lesion from its distribution before, in nats; regions are ranked by it
            - `mean_change`: change of the mean, in standard deviations
            - `variance_change`: change of the variance, as a share
            - `coupling_change`: root of the sum of the squared changes of the region's correlations
              with the remaining regions
        """
        lesioned = self.before.names.index(self.region)
        rest = np.delete(np.arange(self.before.m), lesioned)
        shift = (self.mean_change / np.sqrt(np.diag(self.before.covariance)))[rest]
        change = self.variance_change[rest]
        # The divergence of two Gaussians depends on the ratio of variances and the shift of means.
        divergence = (change - np.log1p(change) + shift**2) / 2
        coupling = _correlation(self.after, rest) - _correlation(self.before, rest)
        coupling = np.sqrt(np.square(coupling).sum(axis=1))
        columns = {
            "region": np.asarray(self.before.names)[rest],
            "divergence": divergence,
            "mean_change": shift,
            "variance_change": change,
            "coupling_change": coupling,
        }
        # Rounded divergences have the same ties on every machine. Changes of coupling break ties.
        ranked = np.lexsort((-coupling, -np.round(divergence, DIGITS)))
        return records(columns)[ranked].view(np.recarray)


def lesion(network: NetworkLike, region: str, value: float | None = None) -> Lesion:
    """Fix a region from outside, and return the network before and after.

    The edges into the region are cut, and it takes the same value in all subjects
    (`GaussianNetwork.do`). So it passes no variation on to other regions. By default the value is
    the mean of the region. Then no mean changes, and variances and covariances lose the part that
    came through the region.

    Parameters
    ----------
    network : GaussianNetwork or fitted learner
        The network before the lesion.
    region : str
        The region that is fixed.
    value : float, optional
        The value at which it is fixed, such as a low volume. Means then change too.

    Returns
    -------
    Lesion

    Examples
    --------
    >>> from sgbn.core.gaussian import GaussianNetwork
    >>> from sgbn.inference import lesion
    >>> chain = GaussianNetwork([[0, 1, 0], [0, 0, 1], [0, 0, 0]], names=["a", "b", "c"])
    >>> lesion(chain, "b").ranking()[["region", "variance_change"]].tolist()
    [('c', -0.6666...), ('a', 0.0)]
    """
    network = network_of(network)
    (NONE | Number()).check("value", value)
    place = region_index(region, network.names)
    # Without noise a region may have no variance, and its share of change would be 0 / 0.
    still = np.flatnonzero(network.noise_variance == 0)
    if still.size:
        raise InputError(
            f"{network.names[still[0]]!r} has no noise, as after do(). Give the network as it was "
            "learned."
        )
    at = float(network.mean[place]) if value is None else value
    return Lesion(region, network, network.do({region: at}))


def _correlation(network: GaussianNetwork, rest: Indices) -> Array:
    """Return the correlations between some regions of a network."""
    covariance = network.covariance[np.ix_(rest, rest)]
    sd = np.sqrt(np.diag(covariance))
    correlation: Array = covariance / np.outer(sd, sd)
    return correlation
