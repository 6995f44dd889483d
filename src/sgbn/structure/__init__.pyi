"""The public names of `sgbn.structure`. `__init__.py` loads each name when it is first used."""

from .h_sgbn import HSGBN as HSGBN
from .or_sgbn import ORSGBN as ORSGBN
from .penalized import ConvergenceWarning as ConvergenceWarning

__all__: list[str]
