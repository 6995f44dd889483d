import io
import json
import re
import struct
from copy import copy

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from tests.codes import refused
from tests.write.reasons import wrong

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
    to_npy,
)

SQUARE = {"is": "array", "dtype": "float64", "shape": [2, 2], "order": "C", "of": [0, 1, 1, 0]}
EDGE = SQUARE | {"of": [0, 1, 0, 0]}
PAIR = {"is": "array", "dtype": "float64", "shape": [2], "order": "C", "of": [1, 1]}


def network(**more):
    names = {"is": "tuple", "items": ["a", "b"]}
    state = {"coef": SQUARE, "intercept": PAIR, "noise_variance": PAIR, "names": names}
    return {"is": "object", "class": "GaussianNetwork", "state": state | more}


def decode(value, **files):
    return Decoder(files).decode(value)


LONG = ["x" * 2**20] + ["y"] * 200  # numpy stores each with the length of the longest


def deep(levels):
    value = None
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({"is": "pickle", "of": "cos"}, "kind"),
        ({"items": []}, "type of a value"),
        ({"is": ["list"]}, "type of a value"),
        ({"is": "tuple", "items": [], "more": 1}, "parts"),
        ({"is": "tuple", "items": {"is": "tuple", "items": []}}, "type of a value"),
        ({"is": "dict", "items": [[1, 2, 3]]}, "ValueError"),
        ({"is": "dict", "items": [["a", 2], ["a", 3]]}, "keys"),
        ({"is": "float", "value": "nan"}, "model.nan"),
        (json.loads("[NaN]"), "model.nan"),
        (json.loads("[-1e999]"), "model.nan"),
        (SQUARE | {"order": "K"}, "order"),
        ({"is": "labels", "cells": ["a"], "shape": [1], "kind": "list"}, "kind"),
        ({"is": "float", "value": "__import__('os')"}, "ValueError"),
        (SQUARE | {"shape": [2, 3]}, "ValueError"),
        (SQUARE | {"shape": [-2, -2]}, "shape"),
        (SQUARE | {"shape": [2**40, 2**40]}, "ValueError"),
        (SQUARE | {"dtype": "object"}, "KeyError"),
        (SQUARE | {"of": [0, 1, "a", 0]}, "cells"),
        (SQUARE | {"of": [0, 1, True, 0]}, "cells"),
        (SQUARE | {"of": [0, 1, [], 0]}, "cells"),
        (SQUARE | {"of": [0, 1, 0.5, 0], "dtype": "int64"}, "cells"),
        (SQUARE | {"of": [1e30, 0, 0, 0], "dtype": "float16"}, "FloatingPointError"),
        (SQUARE | {"of": [0, 1, 1, 0], "dtype": "bool"}, "cells"),
        ({"is": "labels", "cells": ["a"], "shape": [2], "kind": "text"}, "ValueError"),
        ({"is": "labels", "cells": [1], "shape": [1], "kind": "text"}, "type of a value"),
        ({"is": "labels", "cells": LONG, "shape": [201], "kind": "text"}, "model.large"),
        ({"is": "records", "fields": [["a", PAIR], ["b", SQUARE]]}, "fields"),
        ({"is": "records", "fields": [["b", SQUARE], ["a", PAIR]]}, "fields"),
        ({"is": "records", "fields": []}, "fields"),
        ({"is": "range", "length": 10**30}, "length"),
        ({"is": "range", "length": -1}, "length"),
        ({"is": "dict", "items": [{"is": "tuple", "items": [1, 2]}]}, "type of a value"),
        ({"is": "slice", "of": ["a", 1, 2]}, "type of a value"),
        ({"is": "object", "class": "os.system", "state": {}}, "model.class"),
        ({"is": "object", "class": "Popen", "state": {"args": "ls"}}, "model.class"),
        ({"is": "object", "class": "SGBN", "state": {"fit": 1}}, "fit"),
        ({"is": "object", "class": "Pipeline", "state": {"memory": None}}, "TypeError"),
        ({"is": "object", "class": "Scale", "state": {"mean": 1}}, "TypeError"),
        ({"is": "object", "class": "Scale", "state": {"mean": 1, "sd": 1, "size": 2}}, "TypeError"),
        (deep(200), "depth"),
        (network(), "graph.cycle"),
        (network(coef=PAIR), "matrix.shape"),
        (network(coef=EDGE, noise_variance=PAIR | {"of": [1, -1]}), "network.negative-noise"),
        (network(coef=EDGE, names={"is": "tuple", "items": ["a", ""]}), "names"),
    ],
)
def test_what_is_not_as_it_is_written_is_refused(value, part):
    with wrong(part):
        decode(value)


def test_an_array_counts_as_often_as_it_is_used():
    n = 2**20
    content = to_npy(np.zeros(n))
    once = {"is": "file", "name": "big"}
    several = MAX_BYTES // (8 * n)
    assert len(decode([once] * several, big=content)) == several
    with wrong("model.large"):
        decode([once] * (several + 1), big=content)


def test_values_are_counted_wherever_they_stand(monkeypatch):
    monkeypatch.setattr(model_decoding, "MAX_VALUES", 100)
    lists = [[]] * 50
    assert decode(lists) == lists
    with wrong("number of values"):
        decode([lists, {"is": "tuple", "items": lists}])


def test_an_attribute_that_no_fit_gives_is_kept():
    state = {"another_": [1]}
    assert decode({"is": "object", "class": "SGBN", "state": state}).another_ == [1]


def test_a_file_of_other_content_than_numbers_is_refused():
    with wrong("model.nan"):
        decode({"is": "file", "name": "one"}, one=to_npy(np.array([np.nan])))
    with wrong("ValueError"):
        decode({"is": "file", "name": "one"}, one=b"nothing")
    with wrong("model.lacks"):
        decode({"is": "file", "name": "one"})


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


OTHER = dict.fromkeys(["control", "patient"], sgbn.GaussianNetwork(np.zeros((2, 2))))


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("priors_", np.ones(3) / 3),
        ("priors_", np.array([2.0, -1.0])),
        ("priors_", [0.5, 0.5]),
        ("temperature_", -1.0),
        ("temperature_", "hot"),
        ("temperature_", 1e308),
        ("temperature_", 1e-320),
        ("networks_", {}),
        ("networks_", None),
        ("networks_", OTHER),
        ("n_features_in_", "six"),
        ("feature_names_in_", np.arange(6)),
        ("feature_names_in_", np.array(list("abc"))),
        ("classes_", None),
    ],
)
def test_a_classifier_of_parts_that_do_not_fit_is_refused(classifier, attribute, value):
    made = copy(classifier)
    setattr(made, attribute, value)
    with wrong(attribute):
        check_object("SGBNClassifier", made)


@pytest.mark.parametrize(
    ("step", "attribute", "value", "part"),
    [
        (0, "_region_places", np.arange(7), "_region_places|_centres"),
        (0, "_kept_places", np.array([0, 99]), "_kept_places"),
        (0, "_named_places", np.array([0.5]), "_named_places"),
        (0, "_names", [], "_names"),
        (0, "_centres", {None: np.zeros(3)}, "_centres"),
        (1, "location_", np.zeros((2, 5)), "location_"),
        (1, "_fitted", None, "_fitted.location"),
        (2, "coef_", np.zeros((3, 6)), "design_mean_|_design.means|coef_"),
        (3, "support_", np.ones(3, bool), "support_"),
        (4, "mean_", np.zeros(2), "mean_"),
        (5, "coef_", np.zeros((2, 4)), "coef_"),
    ],
)
def test_steps_of_parts_that_do_not_fit_are_refused(analysis, step, attribute, value, part):
    made = copy(analysis[step])
    setattr(made, attribute, value)
    with refused("model.part") as caught:
        check_object(type(made).__name__, made)
    assert re.fullmatch(part, caught.value.problem.values["part"])


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        *(("steps", steps) for steps in ([], None, [1], [("a",)], [("a", 1)], [(1, sgbn.SGBN())])),
        ("site_column_", ["scanner"]),
        ("memory", "folder"),  # a cache of pickles
    ],
)
def test_a_pipeline_of_parts_that_do_not_fit_is_refused(analysis, attribute, value):
    made = clone(analysis)
    setattr(made, attribute, value)
    with pytest.raises((InputError, *MISFITS)):
        check_object("Pipeline", made)


@pytest.mark.parametrize(
    ("attribute", "largest"), [("coef", 1e100), ("intercept", 1e100), ("noise_variance", 1e200)]
)
def test_networks_of_numbers_too_large_to_compute_with_are_refused(attribute, largest):
    edge = np.array([[0.0, 1.0], [0.0, 0.0]])
    parts = {"coef": edge, "intercept": np.ones(2), "noise_variance": np.ones(2)}
    at_most = parts | {attribute: largest * parts[attribute]}
    check_object("GaussianNetwork", sgbn.GaussianNetwork(**at_most))
    beyond = parts | {attribute: 1.01 * largest * parts[attribute]}
    with wrong(attribute):
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
        with refused("model.class"):
            class_named(name)


def test_only_the_class_itself_is_known_not_one_that_derives_from_it_or_is_called_so():
    class SGBN(sgbn.SGBN):
        pass

    assert name_of(sgbn.SGBN()) == "SGBN"
    assert name_of(SGBN()) is None
    assert name_of(LogisticRegression()) is None


@pytest.mark.parametrize("name", ["fit", "cpdag_", "__class__", "a b", "_store"])
def test_no_method_or_property_is_replaced(name):
    with refused("model.part"):
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


def test_it_is_a_file_that_numpy_reads_with_big_endian_numbers_as_all_others():
    array = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(np.load(io.BytesIO(to_npy(array)), allow_pickle=False), array)
    assert to_npy(np.arange(3, dtype=">f8")) == to_npy(np.arange(3.0))


@pytest.mark.parametrize("dtype", [object, complex, "M8[s]", "U3", np.longdouble])
def test_what_is_no_plain_number_is_not_written(dtype):
    if np.dtype(dtype) == np.dtype(float):
        pytest.skip("this machine has no longer floats")
    with refused("array.type"):
        to_npy(np.zeros(2, dtype))


def test_an_array_of_more_axes_than_are_read_is_not_written():
    assert from_npy(to_npy(np.zeros((1, 1, 1, 2)))).shape == (1, 1, 1, 2)
    with refused("array.type"):
        to_npy(np.zeros((1, 1, 1, 1, 2)))


def headed(header, version=(1, 0), length=None):
    text = header.encode("latin1")
    size = len(text) if length is None else length
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H", size) + text


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }\n"


@pytest.mark.parametrize(
    "content",
    [
        headed(HUGE % (2**62)),
        headed(HUGE % "2**62"),
        headed(HUGE % -1) + bytes(8),
        headed(HUGE % "True") + bytes(8),
        headed(HUGE.replace("<f8", "|O") % 1) + bytes(8),
        headed(HUGE.replace("<f8", ">f8") % 1) + bytes(8),
        headed(HUGE % 1) + bytes(9),
        headed(HUGE % "1, 1, 1, 1, 1") + bytes(8),
        headed(" " * 5000 + HUGE % 1) + bytes(8),
        headed("[" * 900),
        headed("{}", length=60000),
        headed(HUGE % 1, version=(2, 0)),
        b"",
    ],
)
def test_a_header_that_does_not_fit_is_refused_before_anything_is_made_of_it(content):
    with refused("model.npy"):
        from_npy(content)
