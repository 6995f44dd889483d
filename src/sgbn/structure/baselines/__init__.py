"""Methods to compare with; one method per file. Eight of them are those of the paper's Exp-II.

A method is registered by its line in ``__init__.pyi``: model files, ``sgbn compare --learner`` and
the tests that all methods share take `__all__` from there. Methods load on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
