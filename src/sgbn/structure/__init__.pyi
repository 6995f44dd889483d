"""The public names of `sgbn.structure`. `__init__.py` loads each name when it is first used."""

from .given_graph import fit_weights as fit_weights
from .h_sgbn import HSGBN as HSGBN
from .or_sgbn import ORSGBN as ORSGBN
from .penalized import ConvergenceWarning as ConvergenceWarning
from .selection import alpha_grid as alpha_grid
from .selection import alpha_max as alpha_max
from .sgbn import SGBN as SGBN

__all__: list[str]
