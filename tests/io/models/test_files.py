import json
import os
import re
import warnings
from contextlib import suppress
from pathlib import Path

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sgbn
from sgbn.cli.predict import predictions
from sgbn.core.exceptions import DataWarning, InputError
from sgbn.write.model_files import kind_of, load, model_of, model_parts, read_members, save

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
@pytest.mark.filterwarnings("ignore::sgbn.core.exceptions.DataWarning")
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


@pytest.mark.filterwarnings("ignore::sgbn.core.exceptions.DataWarning")
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
