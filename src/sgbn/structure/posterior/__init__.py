"""The posterior distribution of networks, for users who believe that the model is true."""

from sgbn.structure.posterior.consensus import consensus
from sgbn.structure.posterior.network_posterior import Averaged, NetworkPosterior
from sgbn.structure.posterior.sampling import ChainPlan, Sampled, sample_networks

__all__ = [
    "Averaged",
    "ChainPlan",
    "NetworkPosterior",
    "Sampled",
    "consensus",
    "sample_networks",
]
