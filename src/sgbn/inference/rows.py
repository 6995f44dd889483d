"""Readers and checks of the rows, groups and networks that this package's functions take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sgbn.core.exceptions import InputError, listed
from sgbn.core.gaussian import GaussianNetwork
from sgbn.structure.base import NetworkEstimator


def network_of(network: Any, what: str = "network") -> GaussianNetwork:
    """Return a given network, or the network of a fitted learner. Messages call it `what`."""
    # Only a fitted estimator of one network has this attribute.
    candidate = getattr(network, "network_", network)
    if isinstance(candidate, GaussianNetwork):
        return candidate
    kind = type(network).__name__
    if isinstance(network, NetworkEstimator):
        raise InputError(f"{what} is {kind}(), which is not fitted: call its fit first.")
    if isinstance(getattr(network, "networks_", None), Mapping):
        raise InputError(
            f"{what} is a {kind}, which has a network for each of {listed(list(network.networks_))}"
            ": give one of its networks_"
            + (", or its parents_ if a graph is enough." if hasattr(network, "parents_") else ".")
        )
    raise InputError(
        f"{what} is a {kind}: give a GaussianNetwork, or a fitted learner of one network."
    )
