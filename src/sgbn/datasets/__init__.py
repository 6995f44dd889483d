"""Networks and simulated data with a known truth."""

from sgbn.datasets.benchmarks import NETWORKS, BenchmarkNetwork, load_network
from sgbn.datasets.cohort import SimulatedCohort, simulate_cohort
from sgbn.datasets.sem import random_weights, simulate_sem

__all__ = [
    "NETWORKS",
    "BenchmarkNetwork",
    "SimulatedCohort",
    "load_network",
    "random_weights",
    "simulate_cohort",
    "simulate_sem",
]
