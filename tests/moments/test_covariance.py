import numpy as np
import pandas as pd
import pytest

from sgbn.core.exceptions import InputError
from sgbn.core.moments import Moments


def test_a_table_names_the_variables_of_its_covariance_matrix():
    S = pd.DataFrame([[1, 0.5], [0.5, 1]], index=["b", "a"], columns=["b", "a"])
    assert Moments.from_covariance(S, 10).names == ("b", "a")
    assert Moments.from_covariance(S.to_numpy(), 10).names is None
    with pytest.raises(InputError, match="names differ from the columns"):
        Moments.from_covariance(S, 10, ["x", "y"])
    with pytest.raises(InputError, match="have different names"):
        Moments.from_covariance(S.iloc[::-1], 10)


def _with(change):
    S = np.eye(3)
    change(S)
    return S


@pytest.mark.parametrize(
    ("S", "more", "message"),
    [
        (np.eye(3)[:2], {}, r"shape \(2, 3\). Give a square matrix"),
        (np.eye(1), {}, "two or more"),
        (3.0, {}, "shape"),
        ([["a", "b"], ["b", "a"]], {}, "not numbers"),
        (np.eye(3), {"names": ["a", "b"]}, "2 names for 3 variables"),
        (np.eye(3), {"names": ["a", "b", "a"]}, "'a' is used more than once"),
        (np.eye(3), {"n": 1}, "n is 1; give a whole number from 2 upwards"),
        (np.eye(3), {"n": 10.5}, "n is 10.5"),
        (np.eye(3), {"n": True}, "n is True"),
        (np.eye(3), {"ddof": 2}, "ddof is 2"),
        (np.eye(3), {"mean": [1, 2]}, "mean must contain 3 finite numbers"),
        (np.diag([1, np.nan, 1]), {}, "covariance of 'b' and 'b' is nan"),
        (np.diag([1, 1, 0]), {}, "variance of 'c' is 0, but it must be positive"),
        (
            _with(lambda S: S.__setitem__((0, 2), 0.5)),
            {},
            "not symmetric: 0.5 and 0 for 'a' and 'c'",
        ),
        (
            [[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]],
            {},
            "not positive semidefinite .* of -0.8",
        ),
    ],
)
def test_what_is_no_covariance_matrix_is_refused_by_name(S, more, message):
    with pytest.raises(InputError, match=message):
        Moments.from_covariance(S, **({"n": 10, "names": ["a", "b", "c"]} | more))
