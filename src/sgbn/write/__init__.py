"""Writers: figures, tables, networks for other programs, model files, and the parts of a page.

In: networks, DataFrames, fitted models. Out: files, or their text. Nothing here knows what a
`Comparison` is. Start reading at ``tables.py`` or ``page.py``; ``draw/`` has one file per kind of
picture. The names of ``__init__.pyi`` load on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
