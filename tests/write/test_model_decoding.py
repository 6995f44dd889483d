import io
import json
import re
import struct
from contextlib import suppress
from copy import copy

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import sgbn
from sgbn.core.problems import InputError
from sgbn.write import model_decoding
from sgbn.write.model_decoding import (
    CLASSES,
    DTYPES,
    MAX_BYTES,
    MISFITS,
    SHARED,
    Decoder,
    build,
    check_object,
    class_named,
    from_npy,
    is_estimator,
    name_of,
    order_of,
    parameters,
    require,
    require_type,
    to_npy,
)

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


def test_the_table_of_classes_has_only_keys_and_shapes_that_are_read():
    for line in [*CLASSES.values(), {"shapes": " ".join(SHARED.values())}]:
        assert set(line) <= {"home", "class", "like", "shapes", "not_finite", "left_out"}
        assert line.get("like", "learner") in SHARED
        assert all(
            re.fullmatch(r"[\w.]+:\w+\??(<f)?", item) for item in line.get("shapes", "").split()
        )


def test_what_a_fit_leaves_fits_together(classifier, analysis):
    check_object("SGBNClassifier", classifier)
    check_object("SGBNClassifier", clone(classifier))  # not fitted: there is nothing to fit
    check_object("Pipeline", analysis)
    for _, step in analysis.steps:
        check_object(type(step).__name__, step)


@pytest.mark.parametrize(
    ("attribute", "value", "said"),
    [
        ("priors_", np.ones(3) / 3, "has the shape (3,), not (2,)"),
        ("priors_", np.array([2.0, -1.0]), "do not add up to 1"),
        ("priors_", [0.5, 0.5], "is not an array"),
        ("temperature_", -1.0, "not a number from 1e-06 to 1e+06"),
        ("temperature_", "hot", "not a number from"),
        ("temperature_", 1e308, "not a number from"),
        ("temperature_", 1e-320, "not a number from"),
        ("networks_", {}, "not have one network per class"),
        ("networks_", None, "not have one network per class"),
        ("n_features_in_", 7, "has the shape (6,), not (7,)"),
        ("n_features_in_", "six", "not a positive integer"),
        ("feature_names_in_", np.arange(6), "name of a feature is not text"),
        ("classes_", None, "is not an array"),
    ],
)
def test_a_classifier_of_parts_that_do_not_fit_is_refused(classifier, attribute, value, said):
    made = copy(classifier)
    setattr(made, attribute, value)
    with pytest.raises(InputError, match=re.escape(said)):
        check_object("SGBNClassifier", made)


def test_networks_of_other_variables_are_refused(classifier):
    small = sgbn.GaussianNetwork(np.zeros((2, 2)))
    made = copy(classifier)
    made.networks_ = dict.fromkeys(classifier.classes_.tolist(), small)
    with pytest.raises(InputError, match="one variable per feature"):
        check_object("SGBNClassifier", made)


@pytest.mark.parametrize(
    ("step", "attribute", "value", "said"),
    [
        (0, "_region_places", np.arange(7), "not hold positions|one median"),
        (0, "_kept_places", np.array([0, 99]), "not hold positions of columns"),
        (0, "_named_places", np.array([0.5]), "not hold positions of columns"),
        (0, "_names", [], "one name for each"),
        (0, "_centres", {None: np.zeros(3)}, "one median for each region"),
        (1, "location_", np.zeros((2, 5)), "has the shape (2, 5), not (2, 6)"),
        (1, "_fitted", None, "is not an array"),
        (2, "coef_", np.zeros((3, 6)), "(2,), not (3,)"),
        (3, "support_", np.ones(3, bool), "(3,), not (6,)"),
        (4, "mean_", np.zeros(2), "(2,), not (4,)"),
        (5, "coef_", np.zeros((2, 4)), "(2, 4), not (1, 4)"),
    ],
)
def test_steps_of_parts_that_do_not_fit_are_refused(analysis, step, attribute, value, said):
    made = copy(analysis[step])
    setattr(made, attribute, value)
    pattern = said if "|" in said else re.escape(said)
    with pytest.raises(InputError, match=pattern):
        check_object(type(made).__name__, made)


@pytest.mark.parametrize("steps", [[], None, [1], [("a",)], [("a", 1)], [(1, sgbn.SGBN())]])
def test_a_pipeline_has_steps(analysis, steps):
    made = clone(analysis)
    made.steps = steps
    with pytest.raises((InputError, *MISFITS)):
        check_object("Pipeline", made)


def test_the_column_of_sites_of_a_pipeline_is_a_name(analysis):
    made = clone(analysis)
    made.site_column_ = ["scanner"]
    with pytest.raises(InputError, match="site column"):
        check_object("Pipeline", made)


def test_a_pipeline_has_no_cache(analysis):
    made = clone(analysis)
    made.memory = "folder"
    with pytest.raises(InputError, match="cache"):
        check_object("Pipeline", made)


def test_variables_have_names():
    with pytest.raises(InputError, match="variable has no name"):
        check_object("GaussianNetwork", sgbn.GaussianNetwork(np.zeros((2, 2)), names=["a", ""]))


@pytest.mark.parametrize(
    ("attribute", "largest"), [("coef", 1e100), ("intercept", 1e100), ("noise_variance", 1e200)]
)
def test_networks_of_numbers_too_large_to_compute_with_are_refused(attribute, largest):
    edge = np.array([[0.0, 1.0], [0.0, 0.0]])
    parts = {"coef": edge, "intercept": np.ones(2), "noise_variance": np.ones(2)}
    at_most = parts | {attribute: largest * parts[attribute]}
    check_object("GaussianNetwork", sgbn.GaussianNetwork(**at_most))
    beyond = parts | {attribute: 1.01 * largest * parts[attribute]}
    with pytest.raises(InputError, match=f"{attribute} has an entry"):
        check_object("GaussianNetwork", sgbn.GaussianNetwork(**beyond))


@pytest.mark.parametrize("size", [1e-80, 1e80])
def test_a_fit_on_cells_of_any_size_that_is_taken_fits_together(regions, size):
    X, groups = regions
    fitted = sgbn.SGBNClassifier(sgbn.SGBN(n_kicks=0), temperature=1.0).fit(size * X, groups)
    for network in fitted.networks_.values():
        check_object("GaussianNetwork", network)


@pytest.mark.parametrize("name", CLASSES)
def test_every_class_of_the_table_is_there_and_known_by_its_name(name):
    cls = class_named(name)
    assert cls.__name__ == CLASSES[name].get("class", name)
    assert is_estimator(name) or parameters(name)


def test_names_of_a_file_import_nothing():
    for name in ("os", "system", "os.system", "LogisticRegression", "__import__", ""):
        with pytest.raises(InputError, match="not the name of a class"):
            class_named(name)


def test_only_the_class_itself_is_known_not_one_that_derives_from_it_or_is_called_so():
    class SGBN(sgbn.SGBN):
        pass

    assert name_of(sgbn.SGBN()) == "SGBN"
    assert name_of(SGBN()) is None
    assert name_of(LogisticRegression()) is None


@pytest.mark.parametrize("name", ["fit", "cpdag_", "__class__", "a b", "_store"])
def test_no_method_or_property_is_replaced(name):
    with pytest.raises(InputError, match="it has an attribute"):
        build("SGBN", {name: 1})


def test_a_parameter_that_an_older_version_lacked_has_its_default():
    assert build("SGBN", {"gamma": 0.5}).get_params() == sgbn.SGBN(0.5).get_params()


def test_an_attribute_has_the_name_it_has_now_whatever_an_older_version_called_it():
    made = build("SGBN", {"_arrows": "some"})
    assert made.arrows_ == "some"
    assert not hasattr(made, "_arrows")


shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


@settings(max_examples=settings().max_examples // 5)
@given(
    array=hnp.arrays(st.sampled_from(DTYPES).map(np.dtype), shapes),
    order=st.sampled_from("CF"),
)
def test_arrays_come_back_with_their_bits_and_their_order(array, order):
    array = np.asarray(array, order=order)
    back = from_npy(to_npy(array))
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.tobytes("A") == array.tobytes("A")
    assert order_of(back) == order_of(array)
    assert back.flags.writeable


def test_it_is_a_file_that_numpy_reads():
    array = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(np.load(io.BytesIO(to_npy(array)), allow_pickle=False), array)


def test_big_endian_numbers_are_written_as_all_others():
    assert to_npy(np.arange(3, dtype=">f8")) == to_npy(np.arange(3.0))


@pytest.mark.parametrize("dtype", [object, complex, "M8[s]", "U3", np.longdouble])
def test_what_is_no_plain_number_is_not_written(dtype):
    if np.dtype(dtype) == np.dtype(float):
        pytest.skip("this machine has no longer floats")
    with pytest.raises(InputError, match="cannot be saved"):
        to_npy(np.zeros(2, dtype))


def test_an_array_of_more_axes_than_are_read_is_not_written():
    assert from_npy(to_npy(np.zeros((1, 1, 1, 2)))).shape == (1, 1, 1, 2)
    with pytest.raises(InputError, match=r"with 5 axes cannot be saved.*at most 4"):
        to_npy(np.zeros((1, 1, 1, 1, 2)))


def headed(header, version=(1, 0), length=None):
    text = header.encode("latin1")
    size = len(text) if length is None else length
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H", size) + text


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (headed(HUGE % (2**62)), "size 0 into shape"),
        (headed(HUGE % "2**62"), "not an npy file"),
        (headed(HUGE % -1) + bytes(8), "not the shape"),
        (headed(HUGE % "True") + bytes(8), "not the shape"),
        (headed(HUGE.replace("<f8", "|O") % 1) + bytes(8), "not plain numbers"),
        (headed(HUGE.replace("<f8", ">f8") % 1) + bytes(8), "not plain numbers"),
        (headed(HUGE % 1) + bytes(9), "multiple of element size"),
        (headed(HUGE % "1, 1, 1, 1, 1") + bytes(8), "not the shape"),
        (headed(" " * 5000 + HUGE % 1) + bytes(8), "not an npy file"),
        (headed("[" * 900), "not an npy file"),
        (headed("{}", length=60000), "not an npy file"),
        (headed(HUGE % 1, version=(2, 0)), "version is not 1.0"),
        (b"", "not an npy file"),
    ],
)
def test_a_header_that_does_not_fit_is_refused_before_anything_is_made_of_it(content, said):
    with pytest.raises(InputError, match=said):
        from_npy(content)


def test_what_is_wrong_is_refused_with_its_message():
    require(True, "never said")
    with pytest.raises(InputError, match="it has no part"):
        require(False, "it has no part.")


def test_a_value_of_another_type_is_refused_and_shown_in_short():
    assert require_type([1], list) == [1]
    with pytest.raises(InputError, match="of another type") as caught:
        require_type("x" * 1000, list)
    assert len(str(caught.value)) < 120
