"""What Exp-II compares: simulated data from known networks, learners, and the paper's figures.

Every learner gets the same data, in raw units: those that standardise do so themselves, and the
tests of independence, L1MB and SGBN with unequal variances do not depend on units, so that they are
run once for both kinds of data.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from sgbn.datasets import NETWORKS, load_network, simulate_sem
from sgbn.experiments.experiment import Outcomes, Tasks, as_columns, gather, read_rows, repeats
from sgbn.graph import compare_graphs
from sgbn.runs import Arrays
from sgbn.structure import HSGBN, ORSGBN, SGBN
from sgbn.structure.base import NetworkEstimator
from sgbn.structure.baselines import GS, IAMB, L1MB, TC, IAMBnPC, InterIAMB, InterIAMBnPC, TCbw
from sgbn.types import Array, Graph

N_SAMPLES = 1000
BASELINES = {
    "L1MB": L1MB,
    "GS": GS,
    "TC-bw": TCbw,
    "TC": TC,
    "IAMB": IAMB,
    "IAMB1": InterIAMB,
    "IAMB2": IAMBnPC,
    "IAMB3": InterIAMBnPC,
}
METHODS = (*BASELINES, "OR-SGBN")  # those that the paper's tables have
BROKEN_ROW = "mildew"  # its total errors are not its own, so that sums leave it out
PAPER = {  # mean over the paper's 50 simulations, and the letter in exp2.md of what speaks against
    (row["measure"], row["network"], method): row[method]
    for row in read_rows("exp2_paper.csv")
    for method in METHODS
}
RAW = ", raw"  # ends the names of learners whose alpha, or assumption, is meant in raw units
BIC = " BIC"
PATHS = {"": "homotopy", " literal": "literal"}


@dataclass(frozen=True)
class Settings:
    """What makes one run of Exp-II differ from another.

    The paper does not give its one alpha. Of 31 values from 0.2 to 1.6 the defaults bring OR-SGBN
    nearest to the sums of the paper's total errors and false edges, in 30 simulations that are not
    evaluated; a run with another alpha and seed shows how near that one comes.
    """

    simulations: int = 50
    alpha: float = 0.32  # nearest of the homotopy on standardised data, started from L1MB
    alpha_raw: float = 0.36  # nearest of Algorithm 3 as printed on raw data, likewise
    seed: int = 0
    networks: tuple[str, ...] = NETWORKS

    def __post_init__(self) -> None:
        for network in self.networks:
            load_network(network)  # refuses a name that is none


def paper_figure(measure: str, network: str, method: str) -> float:
    """Figure of the paper's tables."""
    # A cell is a figure and perhaps, in brackets, letters of doubt: "12.3 [a]".
    return float(PAPER[measure, network, method].split()[0])


def in_doubt(measure: str, network: str, method: str) -> bool:
    """Whether something speaks against a figure of the paper."""
    return "[" in PAPER[measure, network, method]


def summed(networks: Iterable[str]) -> list[str]:
    """Networks that sums are taken over: all but Mildew."""
    return [network for network in networks if network != BROKEN_ROW]


def paper_sum(measure: str, method: str, networks: Iterable[str]) -> float:
    """Sum of the paper's figures over some networks, never with Mildew."""
    return sum(paper_figure(measure, network, method) for network in summed(networks))


def simulate(network: str, simulation: int, seed: int) -> tuple[Array, Graph]:
    """Rows and true graph of one simulation, the columns in random order.

    Weights are +-Uniform(0.5, 1), noise is standard normal. Every network has its own stream, so
    that a run of some networks repeats those of all.
    """
    # 0 begins the seeds of what is evaluated: the default alphas were chosen in those with a 1.
    rng = np.random.default_rng([0, seed, simulation, NETWORKS.index(network)])
    graph = load_network(network).graph
    order = rng.permutation(len(graph))
    # In five of the nine networks the published order is topological, which would help a method
    # that depends on the order of columns.
    graph = graph[np.ix_(order, order)]
    X, _ = simulate_sem(graph, N_SAMPLES, random_state=rng)
    return X, graph


def readings(settings: Settings) -> dict[str, ORSGBN]:
    """OR-SGBN with a fixed alpha, as the paper can be read.

    It starts from L1MB's first stage, as the paper says of this experiment, or from the lasso
    ("from lasso"); it is the homotopy that the paper's text means, or Algorithm 3 as printed
    ("literal"; see `ORSGBN`); the data are standardised or raw, which the paper does not say.
    """
    return {
        f"OR-SGBN{name}{start}{units}": ORSGBN(
            alpha, path=path, init=init, standardize=units != RAW
        )
        for units, alpha in (("", settings.alpha), (RAW, settings.alpha_raw))
        for start, init in (("", "l1mb"), (" from lasso", "lasso"))
        for name, path in PATHS.items()
    }


def learners(settings: Settings) -> dict[str, NetworkEstimator]:
    """All learners by name: with a fixed alpha, and with one that BIC chooses."""
    result = {name: make() for name, make in BASELINES.items()} | readings(settings)
    for units, fixed in (("", settings.alpha), (RAW, settings.alpha_raw)):
        common: dict[str, Any] = {"init": "l1mb", "standardize": units != RAW}
        for name, path in PATHS.items():
            result[f"OR-SGBN{name}{BIC}{units}"] = ORSGBN("bic", path=path, **common)
        result[f"H-SGBN{units}"] = HSGBN(fixed, **common)
        result[f"H-SGBN{BIC}{units}"] = HSGBN("bic", **common)
    return result | {"SGBN": SGBN(), f"SGBN equal{RAW}": SGBN(noise="equal")}


class Outcome(NamedTuple):
    """What one learner made of one simulation; counts are NaN where it failed.

    Where tests of independence contradict each other, the counts are those of the DAG that the
    learner settled on.
    """

    errors: float = np.nan
    false: float = np.nan
    pdag: float = np.nan
    edges: float = np.nan
    alpha: float = np.nan
    failure: str = ""
    warning: str = ""


def evaluate(learner: NetworkEstimator, X: Array, graph: Graph) -> Outcome:
    """Fit and compare with the truth; a failure is part of the result, not the end of the run."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            learner.fit(X)
    except Exception as error:
        return Outcome(failure=f"{type(error).__name__}: {error}")
    seen = compare_graphs(learner.coef_, graph)
    unconverged = [w.message for w in caught if issubclass(w.category, ConvergenceWarning)]
    return Outcome(
        errors=seen.errors,
        false=seen.false,
        pdag=seen.pdag_errors,
        edges=seen.n_learned,
        # Learners without a penalty have none, and those with BIC have the chosen one.
        alpha=getattr(learner, "alpha_", np.nan),
        warning=str(unconverged[0]) if unconverged else "",
    )


def tasks(settings: Settings, _: None) -> Tasks:
    """One task per simulation of each network."""
    return repeats(settings.networks, settings.simulations)


def work(settings: Settings, name: str, repeat: int) -> dict[str, Any]:
    """Outcome of every learner on one simulation."""
    X, graph = simulate(name, repeat, settings.seed)
    compared = learners(settings)
    return as_columns({name: evaluate(learner, X, graph) for name, learner in compared.items()})


def read(stored: dict[str, Arrays]) -> dict[str, Outcomes]:
    """Outcomes by network."""
    return gather(stored, Outcome._fields, NETWORKS)
