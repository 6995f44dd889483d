"""What no parameter of the paper's estimators takes: values, and values that do not go together."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from tests.codes import refused

from sgbn.core.gaussian import GaussianNetwork
from sgbn.learn.sgbn import SGBN
from sgbn.paper.classifier_cv import SGBNClassifierCV
from sgbn.paper.fisher import FisherVectors
from sgbn.paper.fisher_svm import FisherSVMClassifier
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.kl_sgbn import KLSGBNClassifier
from sgbn.paper.markov import GS, IAMB, IAMBnPC, InterIAMB, InterIAMBnPC
from sgbn.paper.mm_sgbn import CLSGBNClassifier, MMSGBNClassifier
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.paper.tc import TC, TCbw

PENALISED = {
    "alpha": (0.0, -1, np.nan, "aic"),
    **{"alphas": ([-1],), "init": ("ridge",), "max_iter": (0, True)},
}
MOVED = {
    **{"edges": (0, "some"), "slack": (-1,), "max_iter": (0, 1.5), "anchor": ("end",)},
}
BAD = {
    HSGBN: PENALISED,
    ORSGBN: PENALISED | {"path": ("direct",)},
    KLSGBNClassifier: MOVED | {"C": (-1,), "radius": ("sphere",), "shared": ("no",)},
    MMSGBNClassifier: MOVED | {"nu": (2,)},
    CLSGBNClassifier: MOVED | {"sharpness": (0,)},
    FisherSVMClassifier: {"components": (0, 2.5, "all"), "C": (-1,)},
    FisherVectors: {"edges": ("some",), "scaling": ("fisher",), "variances": (1,)},
    SGBNClassifierCV: {
        **{"alphas": ((), (np.inf,)), "pools": ((2,),), "ridges": ((-0.1,), (1.0,))},
        **{"mean_shares": ((1.5,),), "slacks": (1, (0.0, np.inf))},
    },
    **{
        kind: {"significance": (0, 1, -0.1, "0.05", True, np.nan)}
        for kind in (GS, TC, TCbw, IAMB, IAMBnPC, InterIAMB, InterIAMBnPC)
    },
}
CONSTANT = GaussianNetwork(np.zeros((14, 14))).do({"x3": 1.0})


@pytest.mark.parametrize("kind", BAD)
def test_values_that_mean_nothing_are_refused(kind, cohort):
    for name, values in BAD[kind].items():
        for value in values:
            with refused("argument") as caught:
                kind(**{name: value}).fit(cohort.values, cohort.group)
            assert caught.value.problem.values["argument"] == name


@pytest.mark.parametrize(
    ("estimator", "code"),
    [
        *((kind(penalize_intercept=True), "intercept.centred") for kind in (HSGBN, ORSGBN)),
        (CLSGBNClassifier(edges="all", anchor="start"), "move.new-edges"),
        (FisherSVMClassifier(LogisticRegression()), "svm.no-networks"),
        (FisherVectors(StandardScaler()), "density.no-score"),
        (FisherVectors(SGBN(), networks=[CONSTANT]), "fisher.both"),
        (FisherVectors(networks=[CONSTANT]), "network.no-noise"),
        *((FisherVectors(networks=given), "networks.none") for given in ([], True, 3, "SGBN")),
    ],
)
def test_values_that_do_not_go_together_are_refused(estimator, code, cohort):
    with refused(code):
        estimator.fit(cohort.values, cohort.group)
