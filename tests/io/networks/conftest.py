import numpy as np
import pytest

from sgbn.core.gaussian import GaussianNetwork

# What names of regions look like, and what each format has trouble with.
NASTY = [
    *("7Networks_LH_Vis_1", "Left-Hippocampus", 'a "b"', "Köln", "a|b:c[d]", "NA", "graph", "a b"),
    *("x", "X", "日本", "end\\", "#c", "=cmd()", "1", "a;b,c", "e\u0301", "(f)", "-> y", " lead"),
]


@pytest.fixture
def nasty():
    """Network with awkward names, all sizes of numbers, and columns in no causal order."""
    rng = np.random.default_rng(0)
    m = len(NASTY)
    coef = np.triu(rng.standard_normal((m, m)) * (rng.random((m, m)) < 0.3), 1)
    coef *= 10.0 ** rng.integers(-8, 9, (m, m))
    order = rng.permutation(m)
    coef = coef[np.ix_(order, order)]
    variance = 10.0 ** rng.integers(-6, 7, m)
    return GaussianNetwork(coef, 1e3 * rng.standard_normal(m), variance, NASTY)


@pytest.fixture
def small():
    """a -> b <- c, b -> d e: one v-structure, so that all arrows are compelled."""
    coef = np.zeros((4, 4))
    coef[0, 1], coef[2, 1], coef[1, 3] = 0.5, -1 / 3, 2.0
    return GaussianNetwork(coef, [1, 2, 3, 4], [1.0, 0.5, 2.0, 0.25], ["a", "b", "c", "d e"])
