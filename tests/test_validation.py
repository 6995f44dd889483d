from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.exceptions import DataWarning, InputError
from sgbn.core.validation import check_classification
from sgbn.learn.classifier import SGBNClassifier
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.sgbn import SGBN
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.paper.tc import TC
from sgbn.prepare.pipeline import cohort_table, make_preparation
from sgbn.prepare.sites import SiteHarmonizer

LEARNERS = [ORSGBN, HSGBN]


def table(n=40, m=4, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, m))
    values[:, 1] += values[:, 0]
    return pd.DataFrame(values, columns=["hippocampus", "insula", "cuneus", "thalamus"][:m])


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(("cell", "kind"), [(np.nan, "NaN"), (np.inf, "inf"), (-np.inf, "inf")])
def test_cells_that_are_not_finite_are_named(learner, cell, kind):
    X = table()
    X.loc[7, "cuneus"] = cell
    with pytest.raises(InputError, match=rf"{kind}.*column 'cuneus', row 7 .*1 such cells"):
        learner().fit(X)


@pytest.mark.parametrize("learner", LEARNERS)
def test_text_columns_are_named(learner):
    X = table().assign(site=["Utrecht"] * 40)
    with pytest.raises(InputError, match=r"not numeric: column 'site'\. Drop it"):
        learner().fit(X)
    cells = table().to_numpy(object).copy()
    cells[3, 2] = "n/a"
    with pytest.raises(InputError, match=r"column 2, row 3 .* holds 'n/a'"):
        learner().fit(cells)


@pytest.mark.parametrize("learner", LEARNERS)
def test_duplicated_names_are_named(learner):
    X = table()
    X.columns = ["a", "b", "a", "c"]
    with pytest.raises(InputError, match=r"'a' is used more than once\. Rename"):
        learner().fit(X)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((1, 5), "1 sample"),
        ((5, 1), r"1 feature\(s\)"),
        ((0, 5), "0 sample"),
        ((5, 0), "0 feature"),
    ],
)
def test_too_few_rows_or_columns(learner, shape, message):
    with pytest.raises(ValueError, match=message):
        learner().fit(np.ones(shape))


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_constant_column_is_an_error(learner):
    with pytest.raises(InputError, match="constant column: 'cuneus'"):
        learner().fit(table().assign(cuneus=3.0))


def fit_and_catch(learner, X):
    with pytest.warns(DataWarning) as caught:
        fitted = learner.fit(X)
    assert np.isfinite(fitted.coef_).all()
    assert np.isfinite(fitted.score_samples(X)).all()
    return " / ".join(str(w.message) for w in caught)


@pytest.mark.parametrize("learner", [ORSGBN(), ORSGBN(refit=True), HSGBN(), ORSGBN(init="ols")])
def test_a_duplicated_column_warns_and_names_both(learner):
    X = table()
    X["copy"] = -2 * X["hippocampus"] + 1
    message = fit_and_catch(learner, X)
    assert "'copy'" in message
    assert "'hippocampus'" in message
    assert "Drop one" in message


@pytest.mark.parametrize("learner", [ORSGBN(0.01), ORSGBN(0.01, refit=True), HSGBN(0.01)])
def test_a_total_beside_its_parts_warns(learner):
    X = table()
    X["total"] = X.sum(axis=1)
    assert "collinear columns" in fit_and_catch(learner, X)


def test_more_columns_than_rows_is_no_reason_to_warn_of_collinearity(recwarn):
    X = np.random.default_rng(0).standard_normal((15, 30))
    ORSGBN(0.3).fit(X)
    assert not [w for w in recwarn if issubclass(w.category, DataWarning)]


@pytest.mark.parametrize("learner", [ORSGBN(), ORSGBN(standardize=False), HSGBN()])
def test_scales_far_apart_warn(learner):
    X = table().assign(thalamus=lambda t: t["thalamus"] * 1e8)
    message = fit_and_catch(learner, X)
    assert "'thalamus'" in message
    assert "Check their units" in message


def test_few_samples_warn_but_fit():
    X = np.random.default_rng(0).standard_normal((3, 5))
    assert "only 3 samples" in fit_and_catch(ORSGBN(), X)


def test_nullable_and_boolean_columns_are_numbers():
    X = table().astype("Float64").assign(flag=[True, False] * 20)
    assert ORSGBN().fit(X).coef_.shape == (5, 5)
    X.loc[0, "insula"] = pd.NA
    with pytest.raises(InputError, match="NaN: column 'insula', row 0"):
        ORSGBN().fit(X)


def test_other_columns_at_prediction_are_an_error():
    learner = ORSGBN().fit(table())
    with pytest.raises(ValueError, match="feature names"):
        learner.score(table().rename(columns={"insula": "putamen"}))
    with pytest.raises(ValueError, match="3 features"):
        learner.score(table().to_numpy()[:, :3])


def test_numbers_and_tuples_as_column_names_are_kept_as_text():
    X = table()
    X.columns = [2001, 2002, 17, 53]
    assert ORSGBN().fit(X).network_.names == ("2001", "2002", "17", "53")
    X.columns = pd.MultiIndex.from_product([["lh", "rh"], ["insula", "cuneus"]])
    assert ORSGBN().fit(X).network_.names[:2] == ("lh/insula", "lh/cuneus")


def test_warnings_point_at_the_line_that_called_sgbn():
    X = table().assign(copy=lambda t: t["insula"])
    with pytest.warns(DataWarning) as caught:
        ORSGBN(0.3, refit=True).fit(X)
    assert {w.filename for w in caught} == {__file__}


def test_values_too_large_to_square_are_named():
    with pytest.raises(InputError, match="column 'insula' are so large"):
        ORSGBN().fit(table().assign(insula=lambda t: t["insula"] * 1e200))


def test_a_correlated_pair_without_a_direction_is_named(simulate):
    rng = np.random.default_rng(0)
    X = table(500).assign(lh_hip=rng.standard_normal(500))
    X["rh_hip"] = X["lh_hip"] + 0.3 * rng.standard_normal(500)
    message = fit_and_catch(ORSGBN(0.2), X)
    assert "'lh_hip'" in message
    assert "'rh_hip'" in message
    assert "Both directions fit equally well" in message


def test_rows_and_classes_of_a_classifier():
    estimator = ORSGBN()
    values, labels, classes = check_classification(estimator, table(), ["b", "a"] * 20)
    np.testing.assert_array_equal(values, table().to_numpy())
    assert labels[:2].tolist() == ["b", "a"]
    assert classes.tolist() == ["a", "b"]
    assert estimator.n_features_in_ == 4
    with pytest.raises(InputError, match="requires y to be passed"):
        check_classification(estimator, table(), None)
    with pytest.raises(InputError, match=r"y has one class, 'a'.*at least two"):
        check_classification(estimator, table(), ["a"] * 40)


def with_covariates():
    cohort = simulate_cohort(20, regions=4, covariates=["age", "sex"], n_sites=2)
    return cohort, cohort_table(cohort)


@pytest.mark.parametrize("learner", [SGBN(), ORSGBN(), SGBNEnsemble(), TC(), SGBNClassifier()])
def test_covariates_and_site_of_a_cohort_never_become_regions(learner):
    cohort, X = with_covariates()
    with pytest.raises(InputError, match=r"'age', 'sex', 'site'.*group_network.*make_analysis"):
        learner.fit(X, cohort.group)


@pytest.mark.parametrize(
    "part",
    [
        lambda X: X[X["sex"] == "F"],
        lambda X: X.iloc[:10],
        lambda X: X.drop(columns=["sex", "site"]).copy(),
        lambda X: X.select_dtypes("number").dropna().reset_index(drop=True),
        lambda X: SiteHarmonizer("site", preserve="age").fit_transform(X.drop(columns="sex")),
    ],
)
def test_a_part_of_the_table_remembers_what_is_no_region(part):
    _, X = with_covariates()
    with pytest.raises(InputError, match="would become regions"):
        SGBN().fit(part(X))


def test_regions_alone_are_taken():
    cohort, X = with_covariates()
    assert SGBN().fit(X[list(cohort.regions)]).network_.names == cohort.regions
    prepared = make_preparation(cohort).fit_transform(X, cohort.group)
    assert SGBN().fit(prepared).network_.names == cohort.regions


def test_a_path_is_refused_with_what_reads_it():
    for path in ("table.csv", Path("table.csv")):
        with pytest.raises(InputError, match=r"X is the text 'table.csv'.*sgbn.read_table"):
            SGBN().fit(path)
