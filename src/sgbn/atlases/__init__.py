"""Atlases: hemisphere, lobe and MNI coordinates of regions, and which columns are regions.

Columns are matched by name only, in many spellings. An unknown column is listed and never guessed.
``README.md`` beside the tables lists the sources of names and coordinates. ``__init__.pyi`` lists
the public names, which load on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
