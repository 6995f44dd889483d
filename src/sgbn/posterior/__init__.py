"""The posterior over networks, for those who believe the model."""

from sgbn.posterior.consensus import consensus
from sgbn.posterior.sampling import ChainPlan, Sampled, sample_networks

__all__ = ["ChainPlan", "Sampled", "consensus", "sample_networks"]
