"""Readers: from files to cohorts, series, regions of images, and networks.

In: paths or DataFrames, and which column is what. Out: a `Cohort`, a `SeriesCohort`, a table of
regions, or a `NamedGraph`. Start reading at ``table.py``, then ``roles.py``; ``text.py`` and
``cells.py`` are the way from bytes to cells. The names of ``__init__.pyi`` load on first use, so
that a command that reads a table does not load the readers of images.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
