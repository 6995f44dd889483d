"""The paper: its learners, its classifiers, the eight baselines, and Exp-I to IV.

In: a table of numbers and, for classifiers, the groups of its rows. Out: a fitted learner or
classifier, or the report of an experiment. Start reading at ``or_sgbn.py``; ``experiments/``
repeats the paper's tables and figures. The names of ``__init__.pyi`` load on first use. `BASELINES`
names the methods to compare with: the command, model files and the tests of all methods read it.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

BASELINES = ("GS", "IAMB", "L1MB", "TC", "IAMBnPC", "InterIAMB", "InterIAMBnPC", "TCbw")
