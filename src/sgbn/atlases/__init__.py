"""Atlases: region -> hemisphere, lobe and MNI coordinates, and which columns are regions.

Columns are found by name only, tolerant of spelling; a column that is unknown is listed, never
guessed. Where the names and coordinates come from is said in ``README.md`` beside the tables. The
public names are listed in ``__init__.pyi``, and load on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
