"""sgbn: one directed network per group from continuous data.

The public names below load on first use, so that ``import sgbn`` takes no time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "alpha_grid": "sgbn.structure",
    "alpha_max": "sgbn.structure",
    "certifies_dag": "sgbn.graph",
    "CLSGBNClassifier": "sgbn.discriminative",
    "Cohort": "sgbn.cohort",
    "cohort_table": "sgbn.io",
    "compare": "sgbn.comparison",
    "compare_graphs": "sgbn.graph",
    "compare_models": "sgbn.inference",
    "Comparison": "sgbn.comparison",
    "consistent_extension": "sgbn.graph",
    "ConvergenceWarning": "sklearn.exceptions",
    "CovariateRegressor": "sgbn.preprocessing",
    "cpdag": "sgbn.graph",
    "CycleError": "sgbn.exceptions",
    "DataWarning": "sgbn.exceptions",
    "edge_kinds": "sgbn.graph",
    "edge_table": "sgbn.io",
    "export_network": "sgbn.io",
    "extract_regions": "sgbn.io",
    "extract_time_series": "sgbn.io",
    "FisherSVMClassifier": "sgbn.discriminative",
    "FisherVectors": "sgbn.discriminative",
    "fit_weights": "sgbn.structure",
    "GaussianNetwork": "sgbn.gaussian",
    "GS": "sgbn.structure.baselines",
    "HSGBN": "sgbn.structure",
    "IAMB": "sgbn.structure.baselines",
    "IAMBnPC": "sgbn.structure.baselines",
    "InputError": "sgbn.exceptions",
    "InterIAMB": "sgbn.structure.baselines",
    "InterIAMBnPC": "sgbn.structure.baselines",
    "KLSGBNClassifier": "sgbn.discriminative",
    "L1MB": "sgbn.structure.baselines",
    "load": "sgbn.io",
    "load_atlas": "sgbn.atlases",
    "load_network": "sgbn.datasets",
    "make_analysis": "sgbn.preprocessing",
    "make_preparation": "sgbn.preprocessing",
    "match_columns": "sgbn.atlases",
    "MMSGBNClassifier": "sgbn.discriminative",
    "Moments": "sgbn.moments",
    "NetworkPosterior": "sgbn.structure.posterior",
    "node_table": "sgbn.io",
    "orient_known": "sgbn.graph",
    "ORSGBN": "sgbn.structure",
    "pdag_errors": "sgbn.graph",
    "random_dag": "sgbn.graph",
    "read_atlas": "sgbn.atlases",
    "read_bif": "sgbn.io",
    "read_freesurfer": "sgbn.io",
    "read_table": "sgbn.io",
    "RegionImputer": "sgbn.preprocessing",
    "RegionSelector": "sgbn.preprocessing",
    "review": "sgbn.quality",
    "save": "sgbn.io",
    "Settings": "sgbn.comparison",
    "SGBN": "sgbn.structure",
    "SGBNClassifier": "sgbn.discriminative",
    "SGBNClassifierCV": "sgbn.discriminative",
    "SGBNEnsemble": "sgbn.structure.ensemble",
    "shd": "sgbn.graph",
    "simulate_cohort": "sgbn.datasets",
    "simulate_sem": "sgbn.datasets",
    "SiteHarmonizer": "sgbn.preprocessing",
    "StudyError": "sgbn.exceptions",
    "TC": "sgbn.structure.baselines",
    "TCbw": "sgbn.structure.baselines",
    "write_comparison": "sgbn.report",
    "write_report": "sgbn.report",
    "write_table": "sgbn.io",
}

__all__ = ["__version__", *_HOME]

if TYPE_CHECKING:
    from sklearn.exceptions import ConvergenceWarning as ConvergenceWarning

    from sgbn.atlases import load_atlas as load_atlas
    from sgbn.atlases import match_columns as match_columns
    from sgbn.atlases import read_atlas as read_atlas
    from sgbn.cohort import Cohort as Cohort
    from sgbn.comparison import Comparison as Comparison
    from sgbn.comparison import Settings as Settings
    from sgbn.comparison import compare as compare
    from sgbn.datasets import load_network as load_network
    from sgbn.datasets import simulate_cohort as simulate_cohort
    from sgbn.datasets import simulate_sem as simulate_sem
    from sgbn.discriminative import CLSGBNClassifier as CLSGBNClassifier
    from sgbn.discriminative import FisherSVMClassifier as FisherSVMClassifier
    from sgbn.discriminative import FisherVectors as FisherVectors
    from sgbn.discriminative import KLSGBNClassifier as KLSGBNClassifier
    from sgbn.discriminative import MMSGBNClassifier as MMSGBNClassifier
    from sgbn.discriminative import SGBNClassifier as SGBNClassifier
    from sgbn.discriminative import SGBNClassifierCV as SGBNClassifierCV
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
    from sgbn.inference import compare_models as compare_models
    from sgbn.io import cohort_table as cohort_table
    from sgbn.io import edge_table as edge_table
    from sgbn.io import export_network as export_network
    from sgbn.io import extract_regions as extract_regions
    from sgbn.io import extract_time_series as extract_time_series
    from sgbn.io import load as load
    from sgbn.io import node_table as node_table
    from sgbn.io import read_bif as read_bif
    from sgbn.io import read_freesurfer as read_freesurfer
    from sgbn.io import read_table as read_table
    from sgbn.io import save as save
    from sgbn.io import write_table as write_table
    from sgbn.moments import Moments as Moments
    from sgbn.preprocessing import CovariateRegressor as CovariateRegressor
    from sgbn.preprocessing import RegionImputer as RegionImputer
    from sgbn.preprocessing import RegionSelector as RegionSelector
    from sgbn.preprocessing import SiteHarmonizer as SiteHarmonizer
    from sgbn.preprocessing import make_analysis as make_analysis
    from sgbn.preprocessing import make_preparation as make_preparation
    from sgbn.quality import review as review
    from sgbn.report import write_comparison as write_comparison
    from sgbn.report import write_report as write_report
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
    from sgbn.structure.ensemble import SGBNEnsemble as SGBNEnsemble
    from sgbn.structure.posterior import NetworkPosterior as NetworkPosterior


_PARTS = (
    *("comparison", "datasets", "ensemble", "graph", "inference", "io", "posterior", "quality"),
    *("report", "runs", "viz"),
)


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    if name in _PARTS:
        return import_module(f"sgbn.{name}")
    raise AttributeError(f"module 'sgbn' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
