"""One network from one sample; one method a file."""

from sklearn.exceptions import ConvergenceWarning

from sgbn.structure.given_graph import fit_weights
from sgbn.structure.h_sgbn import HSGBN
from sgbn.structure.or_sgbn import ORSGBN
from sgbn.structure.selection import alpha_grid, alpha_max
from sgbn.structure.sgbn import SGBN

__all__ = [
    "HSGBN",
    "ORSGBN",
    "SGBN",
    "ConvergenceWarning",
    "alpha_grid",
    "alpha_max",
    "fit_weights",
]
