"""Simulated data with a known truth."""

from sgbn.datasets.cohort import SimulatedCohort, load_regions, simulate_cohort
from sgbn.datasets.sem import random_weights, simulate_sem

__all__ = ["SimulatedCohort", "load_regions", "random_weights", "simulate_cohort", "simulate_sem"]
