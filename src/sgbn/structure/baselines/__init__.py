"""Methods to compare with, one method per file. Eight of them are from the paper's Exp-II.

A line in ``__init__.pyi`` registers a method: model files, ``sgbn compare --learner`` and the tests
for all methods read the names from there. A method is loaded when it is first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
