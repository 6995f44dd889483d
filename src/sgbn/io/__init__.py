"""Readers and writers of tables, images, series, networks and model files.

The public names are listed in ``__init__.pyi``. Each name is loaded on first use, so that a command
that reads one table does not load the readers of images, series and models.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
