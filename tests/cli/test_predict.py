import io

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.codes import refused

import sgbn
from sgbn.cli.predict import predictions


@pytest.fixture(scope="module")
def table():
    """Six regions with a gap, age and scanner, group and id."""
    cohort = sgbn.simulate_cohort(30, regions=6)
    frame = pd.DataFrame(cohort.values.copy(), columns=list(cohort.regions))
    frame.iloc[3, 2] = np.nan
    frame.insert(0, "scanner", list("AABB") * 15)
    frame.insert(0, "age", np.linspace(20, 60, 60).round(1))
    frame.insert(0, "group", cohort.group)
    frame.insert(0, "subject_id", [f"s{k:02}" for k in range(60)])
    return frame


@pytest.fixture(scope="module")
def model(table):
    """The analysis that `sgbn compare` fits, in small."""
    X = table.drop(columns=["subject_id", "group"]).rename(columns={"scanner": "site"})
    classifier = sgbn.SGBNClassifierCV(alphas=(0.7,), ridges=(0.2,))
    analysis = sgbn.make_analysis(covariates=["age"], site="site", classifier=classifier)
    return analysis.fit(X, table["group"])


@pytest.fixture
def predict(tmp_path, typed, model):
    """Function (table, options) -> exit code, what was printed, codes of the messages."""

    def run(frame, *options, saved=model):
        frame.to_csv(tmp_path / "new.csv", index=False)
        file = sgbn.save(saved, tmp_path / "model.sgbn")
        told = typed(f"predict {file} {tmp_path}/new.csv", *options)
        return told.code, told.out, told.codes

    return run


SITE = ("--site", "scanner")


def test_it_prints_what_the_model_predicts(predict, table, model):
    code, out, codes = predict(table, *SITE)
    assert code == 0
    assert "predict.gaps" in codes
    found = pd.read_csv(io.StringIO(out), dtype=str)  # pandas 2 rounds what it reads as numbers
    assert list(found) == ["id", "predicted", "probability_control", "probability_patient"]
    assert found["id"].tolist() == table["subject_id"].tolist()
    X = table.drop(columns=["subject_id", "group"]).rename(columns={"scanner": "site"})
    assert found["predicted"].tolist() == model.predict(X).tolist()
    assert np.array_equal(found.iloc[:, 2:].astype(float).to_numpy(), model.predict_proba(X))


def test_it_writes_a_file_and_explains(predict, table, tmp_path):
    path = tmp_path / "out.csv"
    code, out, _ = predict(table, *SITE, "--explain", "--out", str(path))
    assert code == 0
    assert "60 predictions" in out
    found = pd.read_csv(path)
    assert list(found.columns[4:6]) == ["part_1", "value_1"]
    regions = set(table.columns[4:])
    for part in found["part_1"]:
        assert set(part.split(" -> ")) <= regions
    sizes = found[[f"value_{k}" for k in range(1, 6)]].abs().to_numpy()
    assert (np.diff(sizes, axis=1) <= 0).all()


def test_one_row_is_enough(predict, table):
    code, out, _ = predict(table.iloc[[7]], *SITE)
    assert code == 0
    assert out.splitlines()[1].startswith("s07,")


def test_other_columns_and_their_order_play_no_part(predict, table):
    _, first, _ = predict(table, *SITE)
    other = table[[*table.columns[::-1]]].drop(columns="group").assign(note="x", iq=100.0)
    _, second, _ = predict(other, *SITE)
    assert second == first


@pytest.mark.parametrize(
    ("change", "code", "problem"),
    [
        (lambda table: table.assign(**{table.columns[-1]: np.nan}), 0, "predict.empty-columns"),
        (lambda table: table.assign(**{table.columns[-1]: 1e9}), 0, "predict.far"),
        (lambda table: table.assign(scanner="new"), 0, "sites.unseen"),
        (lambda table: table.rename(columns={"age": "Age_years"}), 1, "model.columns"),
        (lambda table: table.T.reset_index(), 1, "columns.transposed"),
    ],
)
def test_what_a_table_lacks_or_cannot_mean_is_said(predict, table, change, code, problem):
    found, out, codes = predict(change(table), *SITE)
    assert (found, problem in codes, bool(out)) == (code, True, not code)


@pytest.mark.parametrize("column", ["scanner", "site"])
def test_the_column_of_sites_is_found_as_training_or_the_model_call_it(
    predict, table, model, monkeypatch, column
):
    _, expected, _ = predict(table, *SITE)
    monkeypatch.setattr(model, "site_column_", "scanner", raising=False)
    assert predict(table.rename(columns={"scanner": column}))[:2] == (0, expected)
    code, _, codes = predict(table.rename(columns={"scanner": "place"}))
    assert (code, "model.columns" in codes) == (1, True)


def test_a_classifier_without_probabilities_predicts(predict, table):
    X = table[table.columns[4:]].fillna(0.0)
    svm = sgbn.FisherSVMClassifier(sgbn.SGBNClassifier(temperature=1.0), components=3)
    svm.fit(X, table["group"])
    code, out, _ = predict(table.fillna(0.0), saved=svm)
    assert code == 0
    assert out.splitlines()[0] == "id,predicted"
    code, _, codes = predict(table.fillna(0.0), "--explain", saved=svm)
    assert (code, "predict.unexplained" in codes) == (1, True)


def test_what_is_no_classifier_or_damaged_is_refused(tmp_path, model, typed):
    path, table = sgbn.save(model, tmp_path / "model.sgbn"), tmp_path / "new.csv"
    assert "out.folder" in typed(f"predict {path} {table} --out {tmp_path}").codes
    path.write_bytes(path.read_bytes()[:-1])
    assert "model.unreadable" in typed(f"predict {path} {table}").codes
    path = sgbn.save(sgbn.GaussianNetwork([[0.0]]), path)
    told = typed(f"predict {path} {table}")
    assert (told.code, "model.no-classifier" in told.codes) == (1, True)


def test_formulas_are_inert_when_printed(predict, table):
    groups = np.where(table["group"] == "control", "=1+1", "b")
    model = sgbn.SGBNClassifier(temperature=1.0)
    model.fit(table[table.columns[4:]].fillna(0.0), groups)
    _, out, _ = predict(table.fillna(0.0), saved=model)
    assert ",'=1+1," in out
    assert ",=1+1," not in out


@pytest.fixture(scope="module")
def regions(table):
    """Regions without gaps by subject; the row of "s07" has a cell that is too large."""
    good = table[table.columns[4:]].fillna(0.0).set_axis(table["subject_id"])
    bad = good.copy()
    bad.loc["s07", bad.columns[2]] = 1e300
    return good, bad


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    "classifier",
    [
        sgbn.SGBNClassifier(temperature=1.0),
        sgbn.FisherSVMClassifier(sgbn.SGBNClassifier(temperature=1.0)),
    ],
)
def test_a_subject_whose_prediction_is_not_finite_is_named(classifier, regions, table):
    good, bad = regions
    fitted = clone(classifier).fit(good, table["group"])
    assert len(predictions(fitted, good)) == 60
    with refused("predict.infinite") as caught:
        predictions(fitted, bad)
    assert caught.value.problem.values["subjects"] == ["s07"]


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
def test_the_classifier_itself_names_the_row(regions, table, method):
    good, bad = regions
    of_tables = sgbn.SGBNClassifier(temperature=1.0).fit(good, table["group"])
    with refused("scores.overflow"):
        getattr(of_tables, method)(bad)
    of_arrays = sgbn.SGBNClassifier(temperature=1.0).fit(good.to_numpy(), table["group"])
    with refused("scores.overflow"):
        getattr(of_arrays, method)(bad.to_numpy())


def test_a_step_of_huge_numbers_gives_no_empty_probabilities(predict, regions, table):
    scaled = make_pipeline(StandardScaler(), LinearDiscriminantAnalysis())
    scaled.fit(regions[0], table["group"])
    scaled[-1].coef_[:] = [[1e308, -1e308] * 3]
    scaled[0].scale_[:] = 1e-10
    code, out, codes = predict(table.fillna(0.0), saved=scaled)
    assert (code, out, "predict.infinite" in codes) == (1, "", True)
