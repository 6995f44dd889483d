"""sgbn: one directed network per group from continuous data.

The public names are listed in ``__init__.pyi``. They load on first use, so that ``import sgbn``
takes no time.
"""

import lazy_loader

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
