import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold

import sgbn
from sgbn.core.exceptions import InputError
from sgbn.write.model_decoding import Decoder
from sgbn.write.model_files import Encoder

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
keys = st.none() | st.booleans() | st.integers() | st.text()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(keys, inner),
    max_leaves=20,
)


def there_and_back(value, finite=False):
    encoder = Encoder()
    text = json.dumps(encoder.encode(value), allow_nan=False)
    return Decoder(encoder.members).decode(json.loads(text), finite)


@settings(max_examples=settings().max_examples // 10)
@given(value=values)
def test_plain_values_come_back_with_their_types(value):
    back = there_and_back(value)
    assert back == value
    assert repr(back) == repr(value)  # which tells 1 from 1.0 and from True, and -0.0 from 0.0


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.linspace(0, 1, 1000).reshape(20, 50).T,
        np.array([np.nan, np.inf, -0.0]),
        np.array([True, False]),
        np.array(2.5),
        np.zeros((0, 3), np.intp),
        np.array(["a", "long label", ""]),
        np.array(["a", None, 1], dtype=object),
        np.array([(1.0, 2), (3.0, 4)], dtype=[("x", float), ("y", int)]),
        np.array([1.1, 2.2], np.float32),
    ],
)
def test_arrays_come_back(array):
    back = there_and_back(array)
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.flags.f_contiguous == array.flags.f_contiguous
    assert back.tolist().__repr__() == array.tolist().__repr__()


def test_what_pandas_and_numpy_hold_beside_comes_back():
    index = pd.Index(["a", "b"])
    pd.testing.assert_index_equal(there_and_back(index), index)
    pd.testing.assert_index_equal(there_and_back(pd.RangeIndex(3)), pd.RangeIndex(3))
    series = pd.Series([1, 2], index=index)
    pd.testing.assert_series_equal(there_and_back(series), series)
    assert there_and_back(np.dtype("float64")) == np.dtype("float64")
    assert there_and_back(slice(None, 3)) == slice(None, 3)
    assert there_and_back({("a", "b"), ("a", "c")}) == {("a", "b"), ("a", "c")}
    assert there_and_back(np.float64(0.1)) == 0.1


def test_arrays_that_are_alike_are_there_once():
    encoder = Encoder()
    first, second = np.linspace(0, 1, 500), np.linspace(0, 2, 500)
    encoder.encode([first, first.copy(), second])
    assert list(encoder.members) == ["arrays/0000.npy", "arrays/0001.npy"]


@pytest.mark.parametrize("value", [np.nan, [np.inf], np.array([1.0, np.nan]), {"a": -np.inf}])
def test_what_is_not_finite_is_refused_where_it_must_be(value):
    with pytest.raises(InputError, match="NaN or infinity"):
        there_and_back(value, finite=True)


def test_what_cannot_be_saved_is_named_by_its_place():
    learner = sgbn.SGBN(cv=KFold(3))
    with pytest.raises(InputError, match=r"^SGBN\.cv cannot be saved: it is a KFold"):
        Encoder().encode(sgbn.SGBNClassifier(learner))
    with pytest.raises(InputError, match="cannot be saved: it is a function"):
        Encoder().encode([test_arrays_come_back])


def test_what_holds_itself_is_refused():
    endless = []
    endless.append(endless)
    with pytest.raises(InputError, match="contains itself"):
        Encoder().encode(endless)
