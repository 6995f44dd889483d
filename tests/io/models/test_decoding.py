import json
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgbn.core.exceptions import InputError
from sgbn.write import model_decoding
from sgbn.write.model_decoding import MAX_BYTES, Decoder, to_npy

SQUARE = {"is": "array", "dtype": "float64", "shape": [2, 2], "order": "C", "of": [0, 1, 1, 0]}
PAIR = {"is": "array", "dtype": "float64", "shape": [2], "order": "C", "of": [1, 1]}


def decode(value, **files):
    return Decoder(files).decode(value)


def deep(levels):
    value = None
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ({"is": "pickle", "of": "cos"}, "not a kind of value"),
        ({"items": []}, "of another type"),
        ({"is": ["list"]}, "of another type"),
        ({"is": "tuple", "items": [], "more": 1}, "a tuple has the parts"),
        ({"is": "tuple", "items": {"is": "tuple", "items": []}}, "of another type"),
        ({"is": "dict", "items": [[1, 2, 3]]}, "length 3; 2 is required"),
        ({"is": "dict", "items": [["a", 2], ["a", 3]]}, "twice"),
        ({"is": "float", "value": "nan"}, "NaN or infinity"),
        (json.loads("[NaN]"), "NaN or infinity"),
        (json.loads("[-1e999]"), "NaN or infinity"),
        (SQUARE | {"order": "K"}, "not an order"),
        ({"is": "labels", "cells": ["a"], "shape": [1], "kind": "list"}, "not a kind of labels"),
        ({"is": "float", "value": "__import__('os')"}, "could not convert"),
        (SQUARE | {"shape": [2, 3]}, "size 4 into shape"),
        (SQUARE | {"shape": [-2, -2]}, "not the shape"),
        (SQUARE | {"shape": [2**40, 2**40]}, "size 4 into|too big|too large"),
        (SQUARE | {"dtype": "object"}, "'object'"),
        (SQUARE | {"of": [0, 1, "a", 0]}, "float64 holds 'str'"),
        (SQUARE | {"of": [0, 1, True, 0]}, "float64 holds 'bool'"),
        (SQUARE | {"of": [0, 1, [], 0]}, "float64 holds 'list'"),
        (SQUARE | {"of": [0, 1, 0.5, 0], "dtype": "int64"}, "int64 holds 'float'"),
        (SQUARE | {"of": [1e30, 0, 0, 0], "dtype": "float16"}, "overflow"),
        (SQUARE | {"of": [0, 1, 1, 0], "dtype": "bool"}, "bool holds 'int'"),
        ({"is": "labels", "cells": ["a"], "shape": [2], "kind": "text"}, "size 1 into shape"),
        ({"is": "labels", "cells": [1], "shape": [1], "kind": "text"}, "of another type"),
        ({"is": "records", "fields": [["a", PAIR], ["b", SQUARE]]}, "several shapes"),
        ({"is": "records", "fields": [["b", SQUARE], ["a", PAIR]]}, "several shapes"),
        ({"is": "records", "fields": []}, "several shapes"),
        ({"is": "range", "length": 10**30}, "a range has"),
        ({"is": "range", "length": -1}, "a range has"),
        ({"is": "dict", "items": [{"is": "tuple", "items": [1, 2]}]}, "of another type"),
        ({"is": "slice", "of": ["a", 1, 2]}, "of another type"),
        ({"is": "object", "class": "os.system", "state": {}}, "not the name of a class"),
        ({"is": "object", "class": "Popen", "state": {"args": "ls"}}, "not the name of a class"),
        ({"is": "object", "class": "SGBN", "state": {"fit": 1}}, "attribute 'fit'"),
        ({"is": "object", "class": "Pipeline", "state": {"memory": None}}, "missing.*'steps'"),
        ({"is": "object", "class": "Scale", "state": {"mean": 1}}, "missing.*'sd'"),
        ({"is": "object", "class": "Scale", "state": {"mean": 1, "sd": 1, "size": 2}}, "'size'"),
        (deep(200), "nested"),
    ],
)
def test_what_is_not_as_it_is_written_is_refused(value, said):
    with pytest.raises(InputError, match=said):
        decode(value)


def network(**more):
    names = {"is": "tuple", "items": ["a", "b"]}
    state = {"coef": SQUARE, "intercept": PAIR, "noise_variance": PAIR, "names": names}
    return {"is": "object", "class": "GaussianNetwork", "state": state | more}


def test_a_network_with_a_cycle_is_refused():
    with pytest.raises(InputError, match="a -> b -> a"):
        decode(network())


def test_a_network_of_wrong_shapes_is_refused():
    with pytest.raises(InputError, match="square"):
        decode(network(coef=PAIR))
    edge, negative = SQUARE | {"of": [0, 1, 0, 0]}, PAIR | {"of": [1, -1]}
    with pytest.raises(InputError, match="is negative"):
        decode(network(coef=edge, noise_variance=negative))


def test_an_array_counts_as_often_as_it_is_used():
    n = 2**20
    content = to_npy(np.zeros(n))
    once = {"is": "file", "name": "big"}
    several = MAX_BYTES // (8 * n)
    assert len(decode([once] * several, big=content)) == several
    with pytest.raises(InputError, match="more than 512 MB"):
        decode([once] * (several + 1), big=content)


def test_values_are_counted_wherever_they_stand(monkeypatch):
    monkeypatch.setattr(model_decoding, "MAX_VALUES", 100)
    lists = [[]] * 50
    assert decode(lists) == lists
    with pytest.raises(InputError, match="more than 100 values"):
        decode([lists, {"is": "tuple", "items": lists}])


def test_an_attribute_that_no_fit_gives_is_kept():
    state = {"another_": [1]}
    assert decode({"is": "object", "class": "SGBN", "state": state}).another_ == [1]


def test_labels_of_one_long_and_many_short_texts_are_counted_with_the_room_they_take():
    cells = ["x" * 2**20] + ["y"] * 200
    with pytest.raises(InputError, match="more than 512 MB"):
        decode({"is": "labels", "cells": cells, "shape": [201], "kind": "text"})


def test_a_file_with_nan_is_refused_by_its_name():
    with pytest.raises(InputError, match="NaN"):
        decode({"is": "file", "name": "one"}, one=to_npy(np.array([np.nan])))
    with pytest.raises(InputError, match="it is not an npy file"):
        decode({"is": "file", "name": "one"}, one=b"nothing")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["is", "items", "of", "shape", "state"]), inner)
        | st.fixed_dictionaries({"is": st.sampled_from(["tuple", "set", "dict"]), "items": inner})
        | st.fixed_dictionaries({"is": st.just("slice"), "of": inner})
        | st.fixed_dictionaries(
            {"is": st.just("index"), "cells": inner, "object": inner, "name": st.none()}
        )
        | st.fixed_dictionaries(
            {
                "is": st.just("object"),
                "class": st.sampled_from(
                    ["GaussianNetwork", "Scale", "SGBN", "Pipeline", "Design"]
                ),
                "state": st.dictionaries(
                    st.sampled_from(["steps", "coef", "n_features_in_"]), inner
                ),
            }
        )
    ),
    max_leaves=8,
)


@settings(max_examples=settings().max_examples // 4)
@given(value=json_values)
def test_any_json_gives_a_value_or_is_refused(value):
    with suppress(InputError):
        decode(value)
