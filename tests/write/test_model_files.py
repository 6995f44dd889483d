"""Model files that earlier releases wrote still answer as they did."""

import io
import json
import os
import re
import struct
import warnings
import zipfile
from contextlib import suppress
from pathlib import Path

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

import sgbn
from sgbn.cli.predict import predictions
from sgbn.core.problems import DataWarning, InputError
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
    learner = getattr(sgbn, name)().fit(X)
    back = there_and_back(learner, tmp_path)
    assert type(back) is type(learner)
    assert back.get_params() == learner.get_params()
    equal(back.score_samples(X), learner.score_samples(X))
    for attribute in ("coef_", "coef_std_", "order_", "cpdag_", "edge_kinds_"):
        equal(getattr(back, attribute), getattr(learner, attribute))
    equal(back.feature_names_in_, learner.feature_names_in_)


def test_prior_knowledge_comes_back(regions, tmp_path):
    X, _ = regions
    names = list(X.columns)
    learner = sgbn.SGBN(tiers=[names[:3], names[3:]], forbidden={(names[0], names[4])}).fit(X)
    back = there_and_back(learner, tmp_path)
    equal(back.edge_kinds_, learner.edge_kinds_)
    assert back.get_params() == learner.get_params()
    equal(back.fit(X).coef_, learner.coef_)


def test_directions_by_residuals_come_back(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(300, 3))
    X[:, 1] += X[:, 0]
    learner = sgbn.SGBN(non_gaussian="orient").fit(X)
    assert learner.edge_kinds_.tolist() == ["non-Gaussian"]
    back = there_and_back(learner, tmp_path)
    equal(back.edge_kinds_, learner.edge_kinds_)
    equal(back.cpdag_, learner.cpdag_)
    assert back.get_params() == learner.get_params()


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
    back = there_and_back(fitted, tmp_path)
    assert type(back) is type(fitted)
    equal(back.predict_proba(X), fitted.predict_proba(X))
    equal(back.predict(X), fitted.predict(X))
    equal(back.explain(X).edges, fitted.explain(X).edges)
    if hasattr(fitted, "edge_changes"):
        assert back.edge_changes().tolist() == fitted.edge_changes().tolist()
        assert back.fitting_errors_ == fitted.fitting_errors_
        assert back.n_iter_ == fitted.n_iter_
    if hasattr(fitted, "candidates_"):
        equal(back.candidates_, fitted.candidates_)


@pytest.mark.parametrize("labels", [np.array([3, 7]), np.array([False, True]), ["x", "yy"]])
def test_labels_keep_their_type(labels, regions, tmp_path):
    X, y = regions
    groups = np.asarray(labels)[(y == "patient").astype(int)]
    fitted = sgbn.SGBNClassifier(temperature=1.0).fit(X, groups)
    back = there_and_back(fitted, tmp_path)
    equal(back.predict(X), fitted.predict(X))
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
    fitted = classifier.fit(X, y)
    back = there_and_back(fitted, tmp_path)
    equal(back.decision_function(X), fitted.decision_function(X))
    equal(back.predict(X), fitted.predict(X))
    assert back.components_.tolist() == fitted.components_.tolist()


@pytest.mark.parametrize("impute", ["median", "knn", "iterative"])
@pytest.mark.filterwarnings("ignore::sgbn.core.problems.DataWarning")
def test_whole_analyses_come_back(impute, analysis, table, tmp_path):
    X, y = table
    fitted = analysis  # its imputer takes medians
    if impute != "median":
        fitted = sgbn.make_analysis(covariates=["age", "sex"], site="site", k=4, impute=impute)
        fitted.fit(X, y)
    back = there_and_back(fitted, tmp_path)
    new = X.iloc[::-1].copy()
    new.iloc[0, :3] = np.nan
    new.loc[new.index[1], "site"] = "C"
    new.loc[new.index[2], "age"] = np.nan
    equal(back.predict_proba(new), fitted.predict_proba(new))
    equal(back.predict(new), fitted.predict(new))


def test_an_analysis_with_networks_comes_back(table, tmp_path):
    X, y = table
    classifier = sgbn.SGBNClassifierCV(alphas=(0.7,), ridges=(0.2,))
    fitted = sgbn.make_analysis(covariates=["age"], classifier=classifier)
    fitted.fit(X.drop(columns=["sex", "site"]), y)
    back = there_and_back(fitted, tmp_path)
    used = X[list(back.feature_names_in_)]
    equal(back.predict_proba(used), fitted.predict_proba(used))


def test_preparations_come_back(table, tmp_path):
    X, y = table
    fitted = sgbn.make_preparation(covariates=["age", "sex"], site="site").fit(X, y)
    back = there_and_back(fitted, tmp_path)
    pd.testing.assert_frame_equal(back.transform(X), fitted.transform(X), check_exact=True)


def test_models_of_arrays_come_back(table, tmp_path):
    X, y = table
    values = X.iloc[:, :6].to_numpy()
    fitted = sgbn.make_analysis(k=3).fit(values, y)
    equal(there_and_back(fitted, tmp_path).predict_proba(values), fitted.predict_proba(values))


# What cannot be saved


def test_what_is_no_model_is_refused(regions, tmp_path):
    X, y = regions
    path = tmp_path / "x"
    alone = GaussianNB().fit(X, y)
    for model in (alone, make_pipeline(StandardScaler(), alone)):
        with pytest.raises(InputError, match="GaussianNB"):
            save(model, path)
    for model in (3, "text", None, {"a": 1}, [1], X):
        with pytest.raises(InputError, match="cannot be saved"):
            save(model, path)
    with pytest.raises(InputError, match="SGBN is not fitted"):
        save(sgbn.SGBN(), path)
    assert not path.exists()


def test_what_could_not_be_read_is_not_written(regions, tmp_path):
    learner = sgbn.SGBN().fit(regions[0])
    learner.coef_ = learner.coef_[:2]
    with pytest.raises(InputError, match="cannot be saved: SGBN does not fit: coef_ has the shape"):
        save(learner, tmp_path / "x")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError, match="absent"):
        save(sgbn.GaussianNetwork([[0.0]]), tmp_path / "absent" / "x.sgbn")


def test_rows_of_subjects_in_a_file_are_said(table, tmp_path):
    X, y = table
    fitted = sgbn.make_analysis(covariates=["age", "sex", "site"], impute="knn").fit(X, y)
    with pytest.warns(DataWarning, match="regions of all training subjects"):
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

    with pytest.warns(DataWarning, match=r"saved with scikit-learn 1\.2\.3"):
        load(forge(saved, lambda parts: None, manifest=older))


# Damaged and hostile files


def test_errors_name_the_file_and_what_to_do(tmp_path):
    path = tmp_path / "model.sgbn"
    path.write_bytes(b"PK nothing")
    with pytest.raises(
        InputError, match=r"model\.sgbn' cannot be read as a model.*Download or copy"
    ):
        load(path)


def test_paths_that_are_not_a_file_say_so(tmp_path, saved):
    with pytest.raises(InputError, match="is a folder"):
        load(tmp_path)
    with pytest.raises(InputError, match=r"no file '.*modl\.sgbn'. Did you mean 'model\.sgbn'"):
        load(saved.with_name("modl.sgbn"))
    with pytest.raises(InputError, match="is not a path"):
        load("a\0b")


def test_a_huge_sparse_file_is_not_read(tmp_path):
    path = tmp_path / "huge"
    with path.open("wb") as stream:
        os.truncate(stream.fileno(), 2**40)
    with pytest.raises(InputError, match=r"huge' cannot be read as a model: .*larger than 256 MB"):
        load(path)


def test_another_class_than_the_manifest_says_is_refused(saved, forge):
    other = forge(saved, lambda parts: None, manifest=lambda about: about.update({"class": "SGBN"}))
    with pytest.raises(InputError, match="another class than its manifest says"):
        load(other)


@pytest.mark.parametrize("name", ["arrays/0099.npy", "../evil.py", "/etc/passwd", "evil.pkl"])
def test_parts_that_the_model_does_not_use_are_refused(saved, forge, name):
    with pytest.raises(InputError, match=rf"{re.escape(name)}', which the model does not use"):
        load(forge(saved, lambda parts: parts.update({name: b"hidden"})))


def test_what_is_no_model_inside_is_refused(saved, forge_model):
    for content in (3, [1], "text", {"is": "tuple", "items": []}):
        with pytest.raises(InputError, match="cannot be read"):
            load(forge_model(saved, lambda _, content=content: content))


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [("coef", "x", "could not convert string"), ("names", 3, "'int' object is not iterable")],
)
def test_parts_that_no_network_is_made_of_are_refused(part, value, said, tmp_path, forge_model):
    path = save(sgbn.GaussianNetwork(np.zeros((2, 2))), tmp_path / "network.sgbn")

    def change(model):
        model["state"][part] = value

    message = rf"forged\.sgbn' cannot be read as a model: GaussianNetwork does not fit: {said}.*"
    with pytest.raises(InputError, match=rf"{message}Download or copy the file again"):
        load(forge_model(path, change))


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


ODD = st.sampled_from(
    [
        *(None, True, -1, 10**30, 0.5, "", "x", [], {}, [[]], {"is": "tuple", "items": []}),
        *({"is": "float", "value": "nan"}, {"is": "object", "class": "SGBN", "state": {}}),
    ]
)


@on_disk
@given(data=st.data(), value=ODD)
def test_a_model_with_any_part_replaced_loads_or_is_refused(saved, forge_model, data, value, table):
    def change(model):
        path = data.draw(st.sampled_from(list(everything(model))))
        for key in path[:-1]:
            model = model[key]
        if path:
            model[path[-1]] = value

    path = forge_model(saved, change)
    model = loaded(path)
    if model is not None:
        with warnings.catch_warnings(), suppress(ValueError):  # InputError among them
            warnings.simplefilter("ignore")
            predictions(model, table[0])


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
    with pytest.raises(InputError, match="bytes"):
        load(path)


PARTS = {"model.json": b'{"a":1}', "arrays/0000.npy": b"numbers"}


@pytest.fixture
def path(tmp_path):
    return write_members(tmp_path / "model.sgbn", {"class": "SGBN"}, PARTS)


def rewrite(path, change=lambda parts: None, **options):
    """Write the members of a file again, after a change, as a plain zip."""
    with zipfile.ZipFile(path) as archive:
        parts = [(name, archive.read(name)) for name in archive.namelist()]
    parts = change(parts) or parts
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, content in parts:
            archive.writestr(name, content)


def test_members_come_back_with_a_manifest(path):
    manifest, members = read_members(path.read_bytes())
    assert members == PARTS
    assert manifest["schema"] == 1
    assert manifest["class"] == "SGBN"


def test_the_same_members_give_the_same_bytes(path, tmp_path):
    again = write_members(tmp_path / "b", {"class": "SGBN"}, dict(reversed(PARTS.items())))
    assert again.read_bytes() == path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == sorted(archive.namelist())
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize(
    "name", ["../evil.py", "/etc/passwd", "C:\\evil", "arrays/../../x.npy", "evil.pkl", "arrays/"]
)
def test_a_member_of_another_name_is_refused(path, name):
    rewrite(path, lambda parts: [*parts, (name, b"")])
    with pytest.raises(InputError, match="lists other parts than the file has"):
        read_members(path.read_bytes())


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_is_there_twice_is_refused(path):
    rewrite(path, lambda parts: [*parts, parts[0]])
    with pytest.raises(InputError, match="twice"):
        read_members(path.read_bytes())


def test_compressed_members_are_refused_whatever_they_unpack_to(path):
    bomb = ("arrays/0001.npy", bytes(10**6))
    rewrite(path, lambda parts: [*parts, bomb], compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match="is compressed"):
        read_members(path.read_bytes())


def test_members_that_overlap_are_refused(path):
    content = bytearray(path.read_bytes())
    places = [k for k in range(len(content)) if content[k : k + 4] == b"PK\x01\x02"]
    for k in places:  # each says that it is as long as the whole file
        struct.pack_into("<LL", content, k + 20, len(content), len(content))
    path.write_bytes(content)
    with pytest.raises(InputError, match="larger than the file"):
        read_members(path.read_bytes())


def test_too_many_members_are_refused_before_they_are_listed(path, monkeypatch):
    monkeypatch.setattr(model_files, "ZipFile", None)  # not to be reached
    monkeypatch.setattr(model_files, "MAX_MEMBERS", 2)
    with pytest.raises(InputError, match="more than 2 parts"):
        read_members(path.read_bytes())


def test_a_long_directory_behind_a_small_count_is_refused(path):
    content = bytearray(path.read_bytes())
    struct.pack_into("<L", content, len(content) - 22 + 12, 2**31)
    path.write_bytes(content)
    with pytest.raises(InputError, match="damaged or incomplete"):
        read_members(path.read_bytes())


def test_a_zip64_locator_which_would_replace_the_count_is_refused(path):
    content = path.read_bytes()
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 0, 1)
    path.write_bytes(content[:-22] + locator + content[-22:])
    with pytest.raises(InputError, match="damaged or incomplete"):
        read_members(path.read_bytes())


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip at all" * 10, b"PK\x05\x06" + bytes(18)])
def test_what_is_no_zip_is_refused(tmp_path, content):
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a model"):
        read_members(path.read_bytes())


def test_a_truncated_file_is_refused_wherever_it_ends(path):
    content = path.read_bytes()
    for end in range(0, len(content), 29):
        path.write_bytes(content[:end])
        with pytest.raises(InputError, match="damaged or incomplete"):
            read_members(path.read_bytes())


def test_a_file_that_is_too_large_is_not_read(path, monkeypatch):
    monkeypatch.setattr(model_files, "MAX_FILE_BYTES", 100)
    with pytest.raises(InputError, match="it is larger than"):
        read_members(path.read_bytes())


def test_what_would_be_too_large_is_not_written(tmp_path, monkeypatch):
    monkeypatch.setattr(model_files, "MAX_FILE_BYTES", 100)
    with pytest.raises(InputError, match="too large for a file"):
        write_members(tmp_path / "x", {}, PARTS)
    assert not list(tmp_path.iterdir())


def test_a_changed_member_has_another_checksum(path):
    rewrite(path, lambda parts: [(n, b"other" if "npy" in n else c) for n, c in parts])
    with pytest.raises(InputError, match="another checksum"):
        read_members(path.read_bytes())


def test_the_manifest_lists_what_there_is(path):
    rewrite(path, lambda parts: [*parts, ("arrays/0001.npy", b"")])
    with pytest.raises(InputError, match="lists other parts"):
        read_members(path.read_bytes())


@pytest.mark.parametrize("name", ["manifest.json", "model.json"])
def test_a_part_that_all_have_is_needed(path, name):
    rewrite(path, lambda parts: [pair for pair in parts if pair[0] != name])
    with pytest.raises(InputError, match=f"has no part '{name}'"):
        read_members(path.read_bytes())


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (2, "Install a newer version of sgbn"),
        (0, "Download"),
        ("1", "Download"),
        (True, "Download"),
    ],
)
def test_other_schemas_say_what_to_do(path, schema, said):
    def change(parts):
        about = json.loads(dict(parts)["manifest.json"]) | {"schema": schema}
        return [(n, to_json(about) if n == "manifest.json" else c) for n, c in parts]

    rewrite(path, change)
    with pytest.raises(InputError, match=f"of schema .*{said}"):
        read_members(path.read_bytes())


@pytest.mark.parametrize("text", [b"[]", b"{}", b'{"format": "zip"}'])
def test_another_manifest_is_refused(path, text):
    rewrite(path, lambda parts: [(n, text if n == "manifest.json" else c) for n, c in parts])
    with pytest.raises(InputError, match="does not belong to a model"):
        read_members(path.read_bytes())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"[" * 10**6, "not JSON"),
        (b'{"a":' * 10**5, "not JSON"),
        (b'{"a":1,"a":2}', "key twice"),
        (b"1" * 5000, "not JSON"),
        (b"\xff\xfe\x00", "not JSON"),
        (b"", "not JSON"),
    ],
)
def test_json_that_is_deep_or_odd_is_refused(content, said):
    with pytest.raises(InputError, match=said):
        parse_json(content, "model.json")


def test_json_that_is_too_large_is_not_parsed(monkeypatch):
    monkeypatch.setattr(model_files, "MAX_JSON_BYTES", 10)
    with pytest.raises(InputError, match="larger than"):
        parse_json(b"[1,2,3,4,5,6,7]", "model.json")


def test_encrypted_members_are_refused(path):
    content = bytearray(path.read_bytes())
    for k in range(len(content)):
        if content[k : k + 4] == b"PK\x01\x02":
            content[k + 8] |= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match="is encrypted"):
        read_members(path.read_bytes())


def test_other_programs_can_look_into_it(path):
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        assert archive.testzip() is None


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
    with pytest.raises(InputError, match="NaN or infinity"):
        encoding_there_and_back(value, finite=True)


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


def test_a_pipeline_says_which_columns_it_reads(analysis, table):
    inputs = inputs_of(analysis)
    assert inputs.columns == tuple(table[0].columns)
    assert inputs.covariates == ("age", "sex")
    assert inputs.site == "site"
    assert inputs.regions == tuple(table[0].columns[:6])
    assert inputs.levels == {"sex": ("F", "M"), "site": ("A", "B")}


def test_a_classifier_alone_reads_regions(classifier, regions):
    inputs = inputs_of(classifier)
    assert inputs.regions == inputs.columns == tuple(regions[0].columns)


def test_columns_of_an_array_cannot_be_found(regions):
    learner = sgbn.ORSGBN().fit(regions[0].to_numpy())
    with pytest.raises(InputError, match="no names"):
        inputs_of(learner)


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


def test_all_missing_columns_are_named_at_once_with_near_ones(analysis, table):
    X, _ = table
    region = X.columns[0]
    other = X.rename(columns={region: region.upper() + "x"}).drop(columns=["age"])
    with pytest.raises(InputError, match=rf"lacks 2 of the 9 .*'{region}', 'age'\. Did you mean"):
        read_inputs(analysis, other)


def test_all_columns_are_listed_where_none_is_near(analysis, table):
    X, _ = table
    region = X.columns[0]
    other = X.drop(columns=[region]).assign(zzz=1.0)
    with pytest.raises(InputError, match=rf"lacks 1 .*Its columns are '{X.columns[1]}'"):
        read_inputs(analysis, other)


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


def test_a_site_of_another_name_is_named(analysis, table):
    X, _ = table
    other = X.rename(columns={"site": "scanner"})
    with pytest.raises(InputError, match="--site"):
        read_inputs(analysis, other)
    rows = read_inputs(analysis, other, site="scanner")
    assert rows["site"].tolist() == X["site"].tolist()
    with pytest.raises(InputError, match=r"lacks 1 .*'centre'.*--site"):
        read_inputs(analysis, other, site="centre")


def test_a_site_for_a_model_without_sites_is_refused(classifier, regions):
    with pytest.raises(InputError, match="without sites"):
        read_inputs(classifier, regions[0], site="site")


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
    with pytest.warns(DataWarning, match="training did not have these sites.*'Z'"):
        probabilities = analysis.predict_proba(rows)
    assert np.isfinite(probabilities).all()


def test_text_in_a_region_is_named(analysis, table):
    X, _ = table
    other = X.astype({X.columns[1]: object})
    other.loc[4, X.columns[1]] = "abc"
    with pytest.raises(InputError, match=f"{X.columns[1]}.*'abc'"):
        read_inputs(analysis, other)


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
