import numpy as np
import pandas as pd
import pytest

import sgbn
from sgbn.core.exceptions import DataWarning, InputError
from sgbn.write.model_files import inputs_of, read_inputs


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
