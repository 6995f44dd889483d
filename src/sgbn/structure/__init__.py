"""One network from one sample; one method per file.

The public names are listed in ``__init__.pyi``. They load on first use, so that the command can
list its learners without loading numerical libraries.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
