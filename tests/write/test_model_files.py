"""Model files that earlier releases wrote still answer as they did."""

import json
import os
import struct
import warnings
import zipfile
from contextlib import suppress
from copy import deepcopy
from functools import partial, reduce
from operator import getitem
from pathlib import Path
from random import Random

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.codes import refused, warned
from tests.write.reasons import wrong

import sgbn
from sgbn.cli.predict import predictions
from sgbn.core.problems import InputError
from sgbn.write import model_files
from sgbn.write.model_decoding import Decoder
from sgbn.write.model_files import (
    Encoder,
    inputs_of,
    kind_of,
    load,
    model_of,
    model_parts,
    parse_json,
    read_inputs,
    read_members,
    save,
    to_json,
    write_members,
)

HERE = Path(__file__).parent
# The other baselines are saved by the same lines as L1MB.
LEARNERS = ["SGBN", "ORSGBN", "HSGBN", "L1MB"]
OTHER_LEARNERS = ["GS", "TC", "TCbw", "IAMB", "InterIAMB", "IAMBnPC", "InterIAMBnPC"]
on_disk = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=settings().max_examples // 10,  # each writes files
)


def there_and_back(model, folder):
    """Model from its file; saved again it gives the same bytes."""
    path = save(model, folder / "model.sgbn")
    back = load(path)
    content = path.read_bytes()
    assert save(back, folder / "again.sgbn").read_bytes() == content
    return back


def test_parts_without_a_file_give_the_model_again(analysis):
    parts = model_parts(analysis)
    assert model_parts(model_of(parts)) == parts


def equal(first, second):
    first, second = np.asarray(first), np.asarray(second)
    assert first.dtype == second.dtype
    assert np.array_equal(first, second, equal_nan=first.dtype.kind == "f")


ANSWERS = ("predict_proba", "decision_function", "predict", "score_samples")
FITTED = (
    *("coef_", "coef_std_", "order_", "cpdag_", "edge_kinds_", "feature_names_in_"),
    *("candidates_", "components_"),
)


def assert_comes_back(fitted, X, folder):
    """The model from its file has its parameters, is fitted alike and gives the same answers."""
    back = there_and_back(fitted, folder)
    assert type(back) is type(fitted)
    assert repr(back.get_params()) == repr(fitted.get_params())
    for name in filter(partial(hasattr, fitted), FITTED):
        equal(getattr(back, name), getattr(fitted, name))
    for name in filter(partial(hasattr, fitted), ANSWERS):
        equal(getattr(back, name)(X), getattr(fitted, name)(X))
    return back


# Networks


@st.composite
def networks(draw):
    m = draw(st.integers(1, 6))
    numbers = st.floats(-1e6, 1e6, allow_nan=False)
    weights = draw(hnp.arrays(float, (m, m), elements=numbers))
    place = np.array(draw(st.permutations(range(m))))
    coef = np.triu(weights, 1)[np.ix_(place, place)]
    names = draw(st.lists(st.text(min_size=1), min_size=m, max_size=m, unique=True))
    return sgbn.GaussianNetwork(
        np.asarray(coef, order=draw(st.sampled_from("CF"))),
        draw(hnp.arrays(float, m, elements=numbers)),
        draw(hnp.arrays(float, m, elements=st.floats(0, 1e6))),
        names,
    )


@on_disk
@given(network=networks())
def test_networks_come_back_bit_by_bit(network, tmp_path):
    back = there_and_back(network, tmp_path)
    assert back.names == network.names
    for field in ("coef", "intercept", "noise_variance"):
        assert getattr(back, field).tobytes() == getattr(network, field).tobytes()
        assert not getattr(back, field).flags.writeable
    equal(back.sample(3, 0), network.sample(3, 0))


def test_a_large_network_has_its_arrays_in_files(tmp_path):
    rng = np.random.default_rng(0)
    network = sgbn.GaussianNetwork(np.triu(rng.normal(size=(40, 40)), 1))
    back = there_and_back(network, tmp_path)
    rows = network.sample(20, 1)
    equal(back.log_likelihood(rows), network.log_likelihood(rows))


# Learners, classifiers, analyses


@pytest.mark.parametrize(
    "name", LEARNERS + [pytest.param(name, marks=pytest.mark.long) for name in OTHER_LEARNERS]
)
def test_learners_come_back(name, regions, tmp_path):
    X, _ = regions
    assert_comes_back(getattr(sgbn, name)().fit(X), X, tmp_path)


def test_prior_knowledge_comes_back(regions, tmp_path):
    X, _ = regions
    names = list(X.columns)
    learner = sgbn.SGBN(tiers=[names[:3], names[3:]], forbidden={(names[0], names[4])}).fit(X)
    back = assert_comes_back(learner, X, tmp_path)
    equal(back.fit(X).coef_, learner.coef_)


def test_directions_by_residuals_come_back(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(300, 3))
    X[:, 1] += X[:, 0]
    learner = sgbn.SGBN(non_gaussian="orient").fit(X)
    assert learner.edge_kinds_.tolist() == ["non-Gaussian"]
    assert_comes_back(learner, X, tmp_path)


@pytest.mark.parametrize(
    "classifier",
    [
        sgbn.SGBNClassifier(sgbn.ORSGBN(0.2), priors={"control": 0.9, "patient": 0.1}),
        sgbn.SGBNClassifierCV(alphas=(0.7,), ridges=(0.2,)),
        sgbn.KLSGBNClassifier(temperature=1.0),
        sgbn.MMSGBNClassifier(temperature=1.0),
        sgbn.CLSGBNClassifier(temperature=1.0, edges="all", anchor="fit"),
    ],
    ids=lambda classifier: type(classifier).__name__,
)
def test_classifiers_come_back(classifier, regions, tmp_path):
    X, y = regions
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = classifier.fit(X, y)
    back = assert_comes_back(fitted, X, tmp_path)
    equal(back.explain(X).edges, fitted.explain(X).edges)
    if hasattr(fitted, "edge_changes"):
        assert back.edge_changes().tolist() == fitted.edge_changes().tolist()
        assert back.fitting_errors_ == fitted.fitting_errors_
        assert back.n_iter_ == fitted.n_iter_


@pytest.mark.parametrize("labels", [np.array([3, 7]), np.array([False, True]), ["x", "yy"]])
def test_labels_keep_their_type(labels, regions, tmp_path):
    X, y = regions
    groups = np.asarray(labels)[(y == "patient").astype(int)]
    fitted = sgbn.SGBNClassifier(temperature=1.0).fit(X, groups)
    back = assert_comes_back(fitted, X, tmp_path)
    assert list(back.networks_) == list(fitted.networks_)


@pytest.mark.parametrize(
    "classifier",
    [
        sgbn.FisherSVMClassifier(),
        sgbn.FisherSVMClassifier(components=5),
        sgbn.FisherSVMClassifier(sgbn.KLSGBNClassifier(shared=True, temperature=1.0)),
    ],
)
def test_the_svm_comes_back(classifier, regions, tmp_path):
    X, y = regions
    assert_comes_back(classifier.fit(X, y), X, tmp_path)


@pytest.mark.parametrize("impute", ["median", "knn", "iterative"])
@pytest.mark.filterwarnings("ignore::sgbn.core.problems.DataWarning")
def test_whole_analyses_come_back(impute, analysis, table, tmp_path):
    X, y = table
    fitted = analysis  # its imputer takes medians
    if impute != "median":
        fitted = sgbn.make_analysis(covariates=["age", "sex"], site="site", k=4, impute=impute)
        fitted.fit(X, y)
    new = X.iloc[::-1].copy()
    new.iloc[0, :3] = np.nan
    new.loc[new.index[1], "site"] = "C"
    new.loc[new.index[2], "age"] = np.nan
    assert_comes_back(fitted, new, tmp_path)


def test_an_analysis_with_networks_comes_back(table, tmp_path):
    X, y = table
    classifier = sgbn.SGBNClassifierCV(alphas=(0.7,), ridges=(0.2,))
    used = X.drop(columns=["sex", "site"])
    fitted = sgbn.make_analysis(covariates=["age"], classifier=classifier).fit(used, y)
    assert_comes_back(fitted, used, tmp_path)


def test_preparations_come_back(table, tmp_path):
    X, y = table
    fitted = sgbn.make_preparation(covariates=["age", "sex"], site="site").fit(X, y)
    back = there_and_back(fitted, tmp_path)
    pd.testing.assert_frame_equal(back.transform(X), fitted.transform(X), check_exact=True)


def test_models_of_arrays_come_back(table, tmp_path):
    X, y = table
    values = X.iloc[:, :6].to_numpy()
    assert_comes_back(sgbn.make_analysis(k=3).fit(values, y), values, tmp_path)


# What cannot be saved


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda X, y: GaussianNB().fit(X, y), "model.unsaved"),
        (lambda X, y: make_pipeline(StandardScaler(), GaussianNB()).fit(X, y), "model.unsaved"),
        (lambda X, y: {"a": [1]}, "model.unsaved"),
        (lambda X, y: X, "model.unsaved"),
        (lambda X, y: sgbn.SGBN(), "model.not-fitted"),
    ],
)
def test_what_is_no_model_is_refused(make, code, regions, tmp_path):
    with refused(code):
        save(make(*regions), tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_what_could_not_be_read_is_not_written(regions, tmp_path):
    learner = sgbn.SGBN().fit(regions[0])
    learner.coef_ = learner.coef_[:2]
    with wrong("coef_"):
        save(learner, tmp_path / "x")


def test_rows_of_subjects_in_a_file_are_said(table, tmp_path):
    X, y = table
    fitted = sgbn.make_analysis(covariates=["age", "sex", "site"], impute="knn").fit(X, y)
    with warned("model.rows"):
        save(fitted, tmp_path / "x")


# Manifest and schemas


def test_the_manifest_says_what_is_inside(analysis, saved):
    about, _ = read_members(saved.read_bytes())
    assert (about["class"], about["kind"]) == ("Pipeline", "classifier")
    assert about["classes"] == ["control", "patient"]
    assert about["features"] == list(analysis.feature_names_in_)
    assert about["versions"]["sgbn"] == sgbn.__version__


def test_kinds(analysis, regions):
    assert kind_of(sgbn.GaussianNetwork([[0.0]])) == "network"
    assert kind_of(sgbn.SGBN()) == "learner"
    assert kind_of(analysis) == "classifier"
    assert kind_of(analysis[:-1]) == "preparation"


@pytest.mark.filterwarnings("ignore::sgbn.core.problems.DataWarning")
def test_a_file_of_schema_1_stays_readable():
    expected = json.loads((HERE / "schema_1.json").read_text())
    model = load(HERE / "schema_1.sgbn")
    rows = pd.DataFrame(expected["rows"])
    assert model.predict(rows).tolist() == expected["predicted"]
    np.testing.assert_allclose(model.predict_proba(rows), expected["probabilities"], rtol=1e-9)


def test_parts_of_another_scikit_learn_are_warned_of(saved, forge):
    def older(about):
        about["versions"]["scikit-learn"] = "1.2.3"

    with warned("model.version"):
        load(forge(saved, lambda parts: None, manifest=older))


# Damaged and hostile files


@pytest.mark.parametrize(
    ("name", "code"), [("", "file.folder"), ("absent", "file.absent"), ("a\0b", "file.unreadable")]
)
def test_paths_that_are_not_a_file_are_refused(tmp_path, name, code):
    with refused(code):
        load(f"{tmp_path}/{name}")


def test_a_huge_sparse_file_is_not_read(tmp_path):
    path = tmp_path / "huge"
    with path.open("wb") as stream:
        os.truncate(stream.fileno(), 2**40)
    with wrong("model.large"):
        load(path)


def test_another_class_than_the_manifest_says_is_refused(saved, forge):
    other = forge(saved, lambda parts: None, manifest=lambda about: about.update({"class": "SGBN"}))
    with wrong("class"):
        load(other)


@pytest.mark.parametrize("name", ["arrays/0099.npy", "../evil.py", "/etc/passwd", "evil.pkl"])
def test_parts_that_the_model_does_not_use_are_refused(saved, forge, name):
    with wrong("files"):
        load(forge(saved, lambda parts: parts.update({name: b"hidden"})))


@pytest.mark.parametrize("content", [3, [1], "text", {"is": "tuple", "items": []}])
def test_what_is_no_model_inside_is_refused(saved, forge_model, content):
    with refused("model.unreadable"):
        load(forge_model(saved, lambda _: content))


@pytest.mark.parametrize(
    ("attribute", "value", "part"),
    [
        ("covariates", [None], "names of columns"),
        ("_fillings", {"is": "dict", "items": [["site", 3]]}, "AttributeError"),
    ],
)
def test_names_and_labels_of_columns_are_checked_when_a_model_is_loaded(
    saved, forge_model, attribute, value, part
):
    def change(model):
        model["state"]["steps"][0]["items"][1]["state"][attribute] = value

    with wrong(part):
        load(forge_model(saved, change))


def loaded(path):
    """Model of a file; None if it is refused by its name."""
    message = path.name
    model = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = load(path)
        except InputError as error:
            message = str(error)
    assert path.name in message
    return model


def everything(value, path=()):
    """Paths of all values in a piece of JSON."""
    yield path
    is_list = isinstance(value, list)
    items = value.items() if isinstance(value, dict) else enumerate(value if is_list else ())
    for key, part in items:
        yield from everything(part, (*path, key))


ODD = [
    *(None, True, -1, 10**30, 0.5, "", "x", "\udc80", [], {}, [[]], {"is": "tuple", "items": []}),
    *({"is": "float", "value": "nan"}, {"is": "object", "class": "SGBN", "state": {}}),
    *({"is": "dict", "items": [["a", 1]]}, {"is": "slice", "of": [None, None, None]}),
    {"is": "array", "dtype": "float64", "shape": [2], "order": "C", "of": [1, 2]},
]


def change_somewhere(model, rng):
    """Replace, drop, repeat, rename or move one part of the JSON of a model."""
    paths = [path for path in everything(model) if path]
    (*path, key), other = rng.choice(paths), rng.choice(paths)
    parent = reduce(getitem, path, model)
    how = rng.randrange(6)
    if how == 0:
        del parent[key]
    elif how == 1:
        parent[key] = deepcopy(reduce(getitem, other, model))
    elif how == 2 and isinstance(parent[key], list):
        parent[key] = parent[key][1:] + parent[key]
    elif how == 3 and isinstance(parent, dict):
        parent[f"{key}_"] = parent.pop(key)
    else:
        parent[key] = deepcopy(rng.choice(ODD))


def change_bytes(content, rng):
    content = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(content))
        content[place : place + rng.randrange(3)] = rng.randbytes(rng.randrange(3))
    return bytes(content)


@pytest.mark.parametrize("kind", ["network", "classifier", "analysis", "preparation"])
def test_a_model_changed_at_random_is_used_or_refused(kind, request, table, forge, tmp_path):
    network = sgbn.GaussianNetwork(np.triu(np.ones((3, 3)), 1), names=list("abc"))
    analysis, classifier = map(request.getfixturevalue, ("analysis", "classifier"))
    models = {"network": network, "classifier": classifier, "analysis": analysis}
    path = save(models.get(kind, analysis[:-1]), tmp_path / "model.sgbn")
    n_loaded = 0
    for seed in range(150):
        rng = Random(seed)

        def change(parts, rng=rng):
            model = json.loads(parts["model.json"])
            change_somewhere(model, rng)
            parts["model.json"] = json.dumps(model).encode()
            if rng.random() < 0.2:
                name = rng.choice(sorted(parts))
                parts[name] = change_bytes(parts[name], rng)

        model = loaded(forge(path, change))
        n_loaded += model is not None
        if model is None or kind == "network":
            continue
        with warnings.catch_warnings(), suppress(InputError):
            warnings.simplefilter("ignore")
            rows = read_inputs(model, table[0])
            with suppress(ValueError, RuntimeError):
                predictions(model, rows) if hasattr(model, "predict") else None
    assert 3 < n_loaded < 100  # both ends are reached


@on_disk
@given(data=st.data())
def test_any_damaged_byte_gives_an_equal_model_or_an_error(saved, analysis, table, data):
    content = bytearray(saved.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= data.draw(st.integers(1, 255))
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content)))]
    damaged = saved.with_name("damaged.sgbn")
    damaged.write_bytes(content)
    back = loaded(damaged)
    if back is not None:
        equal(back.predict_proba(table[0]), analysis.predict_proba(table[0]))


@on_disk
@given(content=st.binary(max_size=300), zipped=st.booleans())
def test_any_bytes_give_an_error(tmp_path, content, zipped):
    path = tmp_path / "bytes.sgbn"
    path.write_bytes(b"PK" + content + b"PK\x05\x06" + content[:18] if zipped else content)
    with refused("model.unreadable"):
        load(path)


PARTS = {"model.json": b'{"a":1}', "arrays/0000.npy": b"numbers"}


@pytest.fixture
def path(tmp_path):
    return write_members(tmp_path / "model.sgbn", {"class": "SGBN"}, PARTS)


def rewrite(path, change, **options):
    """Write the members of a file again, after a change, as a plain zip."""
    with zipfile.ZipFile(path) as archive:
        parts = change([(name, archive.read(name)) for name in archive.namelist()])
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in parts:
            archive.writestr(name, content)


def test_members_come_back_with_a_manifest(path):
    manifest, members = read_members(path.read_bytes())
    assert members == PARTS
    assert manifest["schema"] == 1
    assert manifest["class"] == "SGBN"


def test_the_same_members_give_the_same_bytes_that_other_programs_can_read(path, tmp_path):
    again = write_members(tmp_path / "b", {"class": "SGBN"}, dict(reversed(PARTS.items())))
    assert again.read_bytes() == path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == sorted(archive.namelist())
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def put(name, content):
    """Return a change that replaces or adds a part; None removes it."""

    def change(parts):
        kept = {**dict(parts), name: content}
        return [pair for pair in kept.items() if pair[1] is not None]

    return change


def with_schema(schema):
    def change(parts):
        about = json.loads(dict(parts)["manifest.json"]) | {"schema": schema}
        return put("manifest.json", to_json(about))(parts)

    return change


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("change", "part"),
    [
        *((put(name, b""), "checksum") for name in ("../evil.py", "/etc/passwd", "C:\\evil")),
        *((put(name, b""), "checksum") for name in ("arrays/../../x.npy", "evil.pkl", "arrays/")),
        (put("arrays/0000.npy", b"other"), "checksum"),
        (lambda parts: [*parts, parts[0]], "BadZipFile"),
        *((put(name, None), "model.lacks") for name in ("manifest.json", "model.json")),
        *((put("manifest.json", text), "manifest.json") for text in (b"[]", b"{}", b'{"a": 1}')),
        (with_schema(2), "model.newer"),
        *((with_schema(schema), "schema") for schema in (0, "1", True)),
    ],
)
def test_parts_that_are_not_those_of_a_model_are_refused(path, change, part):
    rewrite(path, change)
    with wrong(part):
        read_members(path.read_bytes())


def patched(content, place, layout, *values):
    """The bytes of a file with other numbers at one place."""
    content = bytearray(content)
    struct.pack_into(layout, content, place, *values)
    return bytes(content)


def in_directory(content, place, layout, *values):
    """The bytes of a file with other numbers at one place of every entry of its directory."""
    for k in range(len(content)):
        if content[k : k + 4] == b"PK\x01\x02":
            content = patched(content, k + place, layout, *values)
    return content


LOCATOR = struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1)  # of zip64: it would replace the count


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: in_directory(content, 20, "<LL", len(content), len(content)),  # overlap
        lambda content: in_directory(content, 8, "<B", 1),  # encrypted
        lambda content: patched(content, len(content) - 10, "<L", 2**31),  # a long directory
        lambda content: content[:-22] + LOCATOR + content[-22:],
        lambda content: b"no zip at all" * 10,
        lambda content: b"PK",
    ],
)
def test_a_damaged_archive_is_refused(path, damage):
    content = path.read_bytes()
    with refused("model.damaged"):
        read_members(damage(content))


def test_compressed_members_are_refused_whatever_they_unpack_to(path):
    bomb = ("arrays/0001.npy", bytes(10**6))
    rewrite(path, lambda parts: [*parts, bomb], compression=zipfile.ZIP_DEFLATED)
    with refused("model.damaged"):
        read_members(path.read_bytes())


def test_a_truncated_file_is_refused_wherever_it_ends(path):
    content = path.read_bytes()
    for end in range(0, len(content), 29):
        with refused("model.damaged"):
            read_members(content[:end])


@pytest.mark.parametrize(
    ("limit", "most", "code"),
    [("MAX_MEMBERS", 2, "model.part"), ("MAX_FILE_BYTES", 100, "model.large")],
)
def test_what_is_too_large_is_refused_before_it_is_listed(path, monkeypatch, limit, most, code):
    monkeypatch.setattr(model_files, "ZipFile", None)  # not to be reached
    monkeypatch.setattr(model_files, limit, most)
    with refused(code):
        read_members(path.read_bytes())


def test_what_would_be_too_large_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(model_files, "MAX_FILE_BYTES", 100)
    with refused("model.large"):
        write_members(tmp_path / "x", {}, PARTS)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "content", [b"[" * 10**6, b'{"a":1,"a":2}', b"1" * 5000, b"\xff\xfe\x00", b""]
)
def test_json_that_is_deep_or_odd_is_refused(content):
    with refused("model.json"):
        parse_json(content, "model.json")


def test_json_that_is_too_large_is_not_parsed(monkeypatch):
    monkeypatch.setattr(model_files, "MAX_JSON_BYTES", 10)
    with refused("model.large"):
        parse_json(b"[1,2,3,4,5,6,7]", "model.json")


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
keys = st.none() | st.booleans() | st.integers() | st.text()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(keys, inner),
    max_leaves=20,
)


def encoding_there_and_back(value, finite=False):
    encoder = Encoder()
    text = json.dumps(encoder.encode(value), allow_nan=False)
    return Decoder(encoder.members).decode(json.loads(text), finite)


@settings(max_examples=settings().max_examples // 10)
@given(value=values)
def test_plain_values_come_back_with_their_types(value):
    back = encoding_there_and_back(value)
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
    back = encoding_there_and_back(array)
    assert back.dtype == array.dtype
    assert back.shape == array.shape
    assert back.flags.f_contiguous == array.flags.f_contiguous
    assert back.tolist().__repr__() == array.tolist().__repr__()


def test_what_pandas_and_numpy_hold_beside_comes_back():
    index = pd.Index(["a", "b"])
    pd.testing.assert_index_equal(encoding_there_and_back(index), index)
    pd.testing.assert_index_equal(encoding_there_and_back(pd.RangeIndex(3)), pd.RangeIndex(3))
    series = pd.Series([1, 2], index=index)
    pd.testing.assert_series_equal(encoding_there_and_back(series), series)
    assert encoding_there_and_back(np.dtype("float64")) == np.dtype("float64")
    assert encoding_there_and_back(slice(None, 3)) == slice(None, 3)
    assert encoding_there_and_back({("a", "b"), ("a", "c")}) == {("a", "b"), ("a", "c")}
    assert encoding_there_and_back(np.float64(0.1)) == 0.1


def test_arrays_that_are_alike_are_there_once():
    encoder = Encoder()
    first, second = np.linspace(0, 1, 500), np.linspace(0, 2, 500)
    encoder.encode([first, first.copy(), second])
    assert list(encoder.members) == ["arrays/0000.npy", "arrays/0001.npy"]


@pytest.mark.parametrize("value", [np.nan, [np.inf], np.array([1.0, np.nan]), {"a": -np.inf}])
def test_what_is_not_finite_is_refused_where_it_must_be(value):
    with wrong("model.nan"):
        encoding_there_and_back(value, finite=True)


def test_what_cannot_be_saved_is_named_by_its_place():
    with refused("model.unsaved") as caught:
        Encoder().encode(sgbn.SGBNClassifier(sgbn.SGBN(cv=KFold(3))))
    assert caught.value.problem.values["place"] == "SGBN.cv"


def test_what_holds_itself_is_refused():
    endless = []
    endless.append(endless)
    with wrong("RecursionError"):
        Encoder().encode(endless)


def test_a_model_says_which_columns_it_reads(analysis, table, classifier, regions):
    inputs = inputs_of(analysis)
    assert inputs.columns == tuple(table[0].columns)
    assert inputs.covariates == ("age", "sex")
    assert inputs.site == "site"
    assert inputs.regions == tuple(table[0].columns[:6])
    assert inputs.levels == {"sex": ("F", "M"), "site": ("A", "B")}
    alone = inputs_of(classifier)
    assert alone.regions == alone.columns == tuple(regions[0].columns)


@pytest.mark.parametrize(
    ("model", "change", "options", "code"),
    [
        ("analysis", lambda X: X.rename(columns={"site": "scanner"}), {}, "model.columns"),
        ("analysis", lambda X: X, {"site": "centre"}, "model.columns"),
        ("analysis", lambda X: X.assign(**{X.columns[1]: "abc"}), {}, "cells.text"),
        ("classifier", lambda X: X, {"site": "site"}, "model.no-site"),
        ("unnamed", lambda X: X, {}, "model.no-names"),
    ],
)
def test_a_table_that_does_not_suit_the_model_is_refused(
    request, regions, table, model, change, options, code
):
    if model == "unnamed":
        fitted = sgbn.ORSGBN().fit(regions[0].to_numpy())
    else:
        fitted = request.getfixturevalue(model)
    with refused(code):
        read_inputs(fitted, change(table[0]), **options)


def test_a_table_gives_what_the_model_was_fitted_on(analysis, table, tmp_path):
    X, _ = table
    shuffled = X[[*X.columns[::-1]]].assign(comment="none", score=1.5)
    shuffled.insert(0, "subject_id", [f"s{k}" for k in range(60)])
    path = tmp_path / "new.csv"
    shuffled.to_csv(path, index=False)
    rows = read_inputs(analysis, path)
    assert list(rows.columns) == list(X.columns)
    assert rows.index[0] == "s0"
    assert np.array_equal(analysis.predict_proba(rows), analysis.predict_proba(X))


def test_all_missing_columns_are_named_at_once(analysis, table):
    X, _ = table
    region = X.columns[0]
    other = X.rename(columns={region: region.upper() + "x"}).drop(columns=["age"])
    with refused("model.columns") as caught:
        read_inputs(analysis, other)
    assert caught.value.problem.values["names"] == [region, "age"]


def test_a_region_of_an_own_atlas_may_be_called_like_a_total(regions, tmp_path):
    X, y = regions
    total = "Left-Cerebral-Cortex"
    X = X.rename(columns={X.columns[0]: total})
    own = tmp_path / "mine.csv"
    own.write_text("region,lobe\n" + "".join(f"{name},mine\n" for name in X.columns))
    read = sgbn.read_table(X, atlas=own)
    assert read.regions[0] == total
    model = sgbn.SGBNClassifier(temperature=1.0).fit(X, y)
    sgbn.save(model, tmp_path / "model.sgbn")
    own.unlink()
    rows = read_inputs(sgbn.load(tmp_path / "model.sgbn"), X)
    assert list(rows.columns) == list(X.columns)


def test_a_site_of_another_name_is_found(analysis, table):
    X, _ = table
    rows = read_inputs(analysis, X.rename(columns={"site": "scanner"}), site="scanner")
    assert rows["site"].tolist() == X["site"].tolist()


def test_labels_become_those_of_training_that_read_alike(table):
    X, y = table
    numbered = X.assign(site=np.where(X["site"] == "A", 1, 2), sex=X["sex"] == "M")
    model = sgbn.make_analysis(covariates=["age", "sex"], site="site").fit(numbered, y)
    rows = read_inputs(model, numbered)
    assert np.array_equal(model.predict_proba(rows), model.predict_proba(numbered))


def test_covariates_may_come_from_participants(analysis, table):
    X, _ = table
    ids = [f"sub-{k:02}" for k in range(60)]
    people = X[["age", "sex", "site"]].assign(participant_id=ids)
    regions = X.iloc[:, :6].assign(subject_id=ids)
    rows = read_inputs(analysis, regions, participants=people)
    assert np.array_equal(analysis.predict_proba(rows), analysis.predict_proba(X))


def test_gaps_and_new_levels_are_dealt_with_as_in_the_steps(analysis, table):
    X, _ = table
    other = X.copy()
    other.iloc[0, 0] = np.nan
    other["sex"] = pd.Series([None] * 60, dtype=object)
    other.loc[5, "site"] = "Z"
    rows = read_inputs(analysis, other)
    with warned("sites.unseen"):
        probabilities = analysis.predict_proba(rows)
    assert np.isfinite(probabilities).all()


# Made by sgbn 0.1.0 from 60 rows of 6 columns in two groups; answers are those of 0.1.0 to five
# other rows: probabilities, else decision values, else log-likelihoods.
FOLDER = Path(__file__).parent / "version_0_1"
FROZEN = json.loads((FOLDER / "answers.json").read_text())


def test_every_frozen_file_has_answers():
    assert {path.stem for path in FOLDER.glob("*.sgbn")} == set(FROZEN["answers"])


@pytest.mark.parametrize("name", FROZEN["answers"])
def test_a_model_of_0_1_gives_the_answers_that_it_gave(name):
    model = load(FOLDER / f"{name}.sgbn")
    assert type(model).__name__ == name
    methods = ("predict_proba", "decision_function", "score_samples")
    answer = next(getattr(model, method) for method in methods if hasattr(model, method))
    np.testing.assert_allclose(answer(FROZEN["rows"]), FROZEN["answers"][name], rtol=1e-9)
