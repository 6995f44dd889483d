"""Networks and simulated data with a known truth."""

from sgbn.datasets.benchmarks import NETWORKS, BenchmarkNetwork, load_network
from sgbn.datasets.cohort import SimulatedCohort, simulate_cohort
from sgbn.datasets.sem import random_weights, simulate_sem
from sgbn.datasets.series import SimulatedSeries, simulate_series

__all__ = [
    "NETWORKS",
    "BenchmarkNetwork",
    "SimulatedCohort",
    "SimulatedSeries",
    "load_network",
    "random_weights",
    "simulate_cohort",
    "simulate_sem",
    "simulate_series",
]
