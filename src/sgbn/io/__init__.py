"""Where sgbn meets tables, images and other files.

The public names are listed in ``__init__.pyi``. They load on first use, so that a command which
reads one table does not load the readers of images, series and models.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
