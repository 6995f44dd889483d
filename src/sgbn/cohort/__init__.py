"""Subjects with their groups and regions: what enters every analysis, real or simulated.

In: values, labels and names, as a reader or a simulation gives them. Out: a `Cohort` (one row per
subject) or a `SeriesCohort` (one array per subject), atlases, and which rows belong together. Start
reading at ``cohort.py``. The names of ``__init__.pyi`` load on first use, so that the
command can name the atlases without numpy.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
