"""Learners: one network from one sample, how sure its edges are, and classifiers made of networks.

In: a table of numbers, or the time series of subjects. Out: a fitted learner with `network_`, its
confidence, or class probabilities. Start reading at ``base.py``, which says what all learners
share, and go on with ``sgbn.py`` and ``search/``. The names of ``__init__.pyi`` load on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
