"""Words of the methods paragraph about the learner of the networks: its source and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sgbn.comparison.support import joined
from sgbn.learn.base import LearnedNetwork
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.posterior import GAMMA
from sgbn.learn.sgbn import SGBN
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.l1mb import L1MB
from sgbn.paper.markov import GS, IAMB
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.paper.penalised import PenalizedEstimator
from sgbn.paper.tc import TC

# Class of a learner -> key of the work that describes it; the first class that fits counts
SOURCES: dict[type[LearnedNetwork], str] = {
    ORSGBN: "zhou2016",
    HSGBN: "huang2013",
    GS: "margaritis1999",
    IAMB: "tsamardinos2003",
    L1MB: "schmidt2007",
    TC: "pellet2008",
}


def learned_by(learners: Sequence[LearnedNetwork], cite: Callable[..., str]) -> str:
    """Return words that say how the networks were learned, such as "by ORSGBN [1] with ...".

    Parameters
    ----------
    learners : sequence of LearnedNetwork
        The fitted learners, one per group, all of the same class.
    cite : callable
        A function that returns the number of a work in brackets, given the key of the work.
    """
    first = learners[0]
    if isinstance(first, SGBNEnsemble):
        # A fitted ensemble keeps its parameter as given, and None means this default.
        gamma = GAMMA if first.gamma is None else float(first.gamma)
        return (
            "by SGBNEnsemble, the consensus of networks drawn from posteriors over orders of the "
            f"regions {cite('friedman2003')} by {first.n_chains} chains. Each chain leaves out "
            "a tenth of the subjects. A priori the odds of an edge are (m - 1) to the power "
            f"of -{gamma:.3g}, with m regions. {_idea(cite)}"
        )
    if isinstance(first, SGBN):
        return (
            f"by SGBN, a search of this program over orders of the regions {cite('friedman2003')} "
            f"that minimises the extended BIC {cite('chen2008')} with gamma = "
            f"{_values(fitted.gamma_ for fitted in learners)}. {_idea(cite)}"  # type: ignore[attr-defined]
        )
    source = next((key for kind, key in SOURCES.items() if isinstance(first, kind)), "")
    text = f"by {type(first).__name__}{f' {cite(source)}' if source else ''}"
    if isinstance(first, PenalizedEstimator):
        chosen = f", chosen by {first.alpha}" if isinstance(first.alpha, str) else ""
        alphas = _values(fitted.alpha_ for fitted in learners)  # type: ignore[attr-defined]
        return f"{text} with the penalty alpha = {alphas}{chosen}"
    level = getattr(first, "significance", None)
    return text if level is None else f"{text} with tests at level {level:g}"


def _idea(cite: Callable[..., str]) -> str:
    """Cite the paper that proposed one network per group, and say that its search is different."""
    return (
        f"Sparse Gaussian Bayesian networks of groups were proposed in {cite('zhou2016')}, which "
        "learns them in another way"
    )


def weights_are(learner: LearnedNetwork) -> str:
    """Return the kind of weights that a learner gives."""
    lasso = getattr(learner, "weights", "refit") == "lasso"
    if isinstance(learner, PenalizedEstimator):
        lasso = not learner.refit
    return "lasso coefficients, which are shrunken" if lasso else "least-squares coefficients"


def _values(numbers: Iterable[Any]) -> str:
    # A value that several groups share is listed once.
    return joined(sorted({f"{number:.3g}" for number in numbers}))
