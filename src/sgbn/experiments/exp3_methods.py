"""The networks of Exp-III, the rules that classify by them, and the settings that are varied.

One factor is varied at a time, as in the paper's figure: the sparsity; the number of edges that are
moved; and, for the paper's last claim, the fitting error that may be added.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from sgbn.discriminative import (
    CLSGBNClassifier,
    KLSGBNClassifier,
    MMSGBNClassifier,
    SGBNClassifier,
    SGBNClassifierCV,
)
from sgbn.discriminative.fisher_svm import FisherSVMClassifier
from sgbn.structure import HSGBN, ORSGBN

NETWORKS = ("H-SGBN", "OR-SGBN", "KL-SGBN", "MM-SGBN", "CL-SGBN")
MOVED = {
    "KL-SGBN": KLSGBNClassifier,
    "MM-SGBN": MMSGBNClassifier,
    "CL-SGBN": CLSGBNClassifier,
}
BIASES = ("free", "penalised")
LIKELIHOOD, SVM, SVM_100 = "likelihood", "SVM", "SVM 100"
RULES = (LIKELIHOOD, SVM, SVM_100)
COMPONENTS = 100  # of the Fisher vectors, as in the paper

DENSE = (0.03, 0.1)
SPARSE = (0.3, 0.5, 0.7)
ALPHA, N_EDGES, SLACK = 0.2, 100, 0.01  # of what is not varied; the slack is the paper's
ALPHAS = (*DENSE, ALPHA, *SPARSE)
EDGES = (25, 50, N_EDGES, 200, "present")
SLACKS = (0.001, SLACK, 0.05, 0.2)

RECOMMENDED = "SGBNClassifierCV"


class Method(NamedTuple):
    """A network, how its biases are learned, a rule, and their settings."""

    network: str
    bias: str
    rule: str = LIKELIHOOD
    alpha: float = ALPHA
    edges: Any = N_EDGES
    slack: float = SLACK

    @property
    def label(self) -> str:
        """Name in the results; edges and slack belong to networks that are moved."""
        text = f"{self.network}, {self.bias} bias, {self.rule}, alpha {self.alpha:g}"
        if self.network not in MOVED:
            return text
        return f"{text}, edges {self.edges}, slack {self.slack:g}"

    def make(self) -> Any:
        """Unfitted classifier, with unit variances and equal priors as in the paper."""
        classifier = self._likelihood()
        if self.rule == LIKELIHOOD:
            return classifier
        components = None if self.rule == SVM else COMPONENTS
        return FisherSVMClassifier(classifier, components=components)

    def _likelihood(self) -> SGBNClassifier:
        # The classifiers standardise over both groups: to standardise again within each would
        # leave no mean for the penalty to act on.
        literal: dict[str, Any] = {"standardize": False, "penalize_intercept": True}
        learns = HSGBN if self.network == "H-SGBN" else ORSGBN
        learner = learns(self.alpha, **(literal if self.bias == "penalised" else {}))
        common: dict[str, Any] = {"variances": "unit", "priors": "equal", "temperature": 1.0}
        if self.network not in MOVED:
            return SGBNClassifier(learner, **common)
        made: SGBNClassifier = MOVED[self.network](
            learner, edges=self.edges, slack=self.slack, anchor="fit", **common
        )
        return made


def over_sparsity(bias: str, rules: Iterable[str] = RULES) -> list[Method]:
    """List every network and rule at every sparsity: rows 1, 3 and 4 of the figure."""
    return [
        Method(network, bias, rule, alpha)
        for rule in rules
        for network in NETWORKS
        for alpha in ALPHAS
    ]


def over_edges(bias: str) -> list[Method]:
    """List the moved networks by the number of edges moved: row 2 of the figure."""
    return [Method(network, bias, edges=edges) for network in MOVED for edges in EDGES]


def over_slack(bias: str) -> list[Method]:
    """List the moved networks by the fitting error that may be added: claim vi."""
    return [Method(network, bias, slack=slack) for network in MOVED for slack in SLACKS]


def grid() -> list[Method]:
    """All methods, each once."""
    every = [
        method
        for bias in BIASES
        for method in (*over_sparsity(bias), *over_edges(bias), *over_slack(bias))
    ]
    return list(dict.fromkeys(every))


def at_base() -> list[Method]:
    """Every network, bias and rule at the settings that the others are varied around."""
    return [
        Method(network, bias, rule) for bias in BIASES for rule in RULES for network in NETWORKS
    ]


def defaults() -> dict[str, Any]:
    """Classifiers of the package as a user gets them."""
    return {
        RECOMMENDED: SGBNClassifierCV(),
        "SGBNClassifier": SGBNClassifier(),
        "KLSGBNClassifier": KLSGBNClassifier(),
        "MMSGBNClassifier": MMSGBNClassifier(),
        "CLSGBNClassifier": CLSGBNClassifier(),
    }
