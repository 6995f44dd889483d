import numpy as np
import pytest

from sgbn import DataWarning, InputError, simulate_cohort
from sgbn.inference.differences import edge_differences


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (lambda X, y: (X, None), {}, "no groups"),
        (lambda X, y: (X, np.repeat("a", len(y))), {}, "one group"),
        (lambda X, y: (X[51:], y[51:]), {}, "'NC' has 9 subjects"),
        (lambda X, y: (X, y), {"n_permutations": 5}, "n_permutations=5"),
        (lambda X, y: (X, y), {"alternative": "more"}, "alternative='more'"),
        (lambda X, y: (X.assign(r1=X["r1"].where(y == "NC", 1.0)), y), {}, "r1.*group 'MCI'"),
        (lambda X, y: (X, np.arange(120) % 3), {"alternative": "less"}, "by pairs"),
    ],
)
def test_what_cannot_be_tested_is_refused(data, change, options, message):
    X, y = change(*data)
    with pytest.raises(InputError, match=message):
        edge_differences(X, y, **options)


def test_missing_cells_are_named():
    cohort = simulate_cohort(30, regions=6, missing=0.05)
    with pytest.raises(InputError, match="is missing in row"):
        edge_differences(cohort)


def test_very_unequal_groups_are_warned_about(two_groups):
    X, y = two_groups(70)
    with pytest.warns(DataWarning, match="decided by the smaller"):
        edge_differences(X[58:], y[58:], n_permutations=19)
