"""sgbn: one directed network per group from continuous data.

The public names below load on first use, so that ``import sgbn`` takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "ConvergenceWarning": "sklearn.exceptions",
    "CycleError": "sgbn.exceptions",
    "DataWarning": "sgbn.exceptions",
    "GaussianNetwork": "sgbn.gaussian",
    "GS": "sgbn.structure.baselines",
    "HSGBN": "sgbn.structure",
    "IAMB": "sgbn.structure.baselines",
    "IAMBnPC": "sgbn.structure.baselines",
    "InputError": "sgbn.exceptions",
    "InterIAMB": "sgbn.structure.baselines",
    "InterIAMBnPC": "sgbn.structure.baselines",
    "L1MB": "sgbn.structure.baselines",
    "ORSGBN": "sgbn.structure",
    "SGBN": "sgbn.structure",
    "StudyError": "sgbn.exceptions",
    "TC": "sgbn.structure.baselines",
    "TCbw": "sgbn.structure.baselines",
    "alpha_grid": "sgbn.structure",
    "alpha_max": "sgbn.structure",
    "certifies_dag": "sgbn.graph",
    "compare_graphs": "sgbn.graph",
    "consistent_extension": "sgbn.graph",
    "cpdag": "sgbn.graph",
    "edge_kinds": "sgbn.graph",
    "edge_table": "sgbn.io",
    "fit_weights": "sgbn.structure",
    "load_network": "sgbn.datasets",
    "orient_known": "sgbn.graph",
    "pdag_errors": "sgbn.graph",
    "random_dag": "sgbn.graph",
    "read_bif": "sgbn.io",
    "shd": "sgbn.graph",
    "simulate_cohort": "sgbn.datasets",
    "simulate_sem": "sgbn.datasets",
}

__all__ = ["__version__", *_HOME]

if TYPE_CHECKING:
    from sklearn.exceptions import ConvergenceWarning as ConvergenceWarning

    from sgbn.datasets import load_network as load_network
    from sgbn.datasets import simulate_cohort as simulate_cohort
    from sgbn.datasets import simulate_sem as simulate_sem
    from sgbn.exceptions import CycleError as CycleError
    from sgbn.exceptions import DataWarning as DataWarning
    from sgbn.exceptions import InputError as InputError
    from sgbn.exceptions import StudyError as StudyError
    from sgbn.gaussian import GaussianNetwork as GaussianNetwork
    from sgbn.graph import certifies_dag as certifies_dag
    from sgbn.graph import compare_graphs as compare_graphs
    from sgbn.graph import consistent_extension as consistent_extension
    from sgbn.graph import cpdag as cpdag
    from sgbn.graph import edge_kinds as edge_kinds
    from sgbn.graph import orient_known as orient_known
    from sgbn.graph import pdag_errors as pdag_errors
    from sgbn.graph import random_dag as random_dag
    from sgbn.graph import shd as shd
    from sgbn.io import edge_table as edge_table
    from sgbn.io import read_bif as read_bif
    from sgbn.structure import HSGBN as HSGBN
    from sgbn.structure import ORSGBN as ORSGBN
    from sgbn.structure import SGBN as SGBN
    from sgbn.structure import alpha_grid as alpha_grid
    from sgbn.structure import alpha_max as alpha_max
    from sgbn.structure import fit_weights as fit_weights
    from sgbn.structure.baselines import GS as GS
    from sgbn.structure.baselines import IAMB as IAMB
    from sgbn.structure.baselines import L1MB as L1MB
    from sgbn.structure.baselines import TC as TC
    from sgbn.structure.baselines import IAMBnPC as IAMBnPC
    from sgbn.structure.baselines import InterIAMB as InterIAMB
    from sgbn.structure.baselines import InterIAMBnPC as InterIAMBnPC
    from sgbn.structure.baselines import TCbw as TCbw


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'sgbn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
