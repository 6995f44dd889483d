from fractions import Fraction
from math import inf, isfinite, nan
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.model_selection import ShuffleSplit

import sgbn
from sgbn import inference
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.problems import DataWarning, InputError
from sgbn.core.validation import (
    FOLDS,
    JOBS,
    NONE,
    RANDOM_STATE,
    TRUTH,
    Constraint,
    ListOf,
    Number,
    OneOf,
    Whole,
    check_classification,
    check_parameters,
    declared_parameters,
)
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


ESTIMATORS = sorted(
    {
        found
        for home in (sgbn, inference)
        for name in home.__all__
        if isinstance(found := getattr(home, name), type) and issubclass(found, BaseEstimator)
    },
    key=lambda kind: kind.__name__,
)
VALUES = st.one_of(
    st.integers(),
    st.floats(),
    st.booleans(),
    st.sampled_from(["", "a", "3", "1.5", "None", "é"]),
    st.none(),
    st.fractions(),
    st.integers(-9, 9).map(np.int64),
    st.integers(-9, 9).map(float),
    st.booleans().map(np.bool_),
    st.lists(st.integers(), max_size=2),
)


NUMBERS = [  # class, and its parameters that are a number, or one beside other things
    (kind, name, constraint)
    for kind in ESTIMATORS
    for name, constraint in declared_parameters(kind).items()
    if any(one.startswith(("a number", "a whole number")) for one in constraint.words)
    and name in kind().get_params(deep=False)
]


def test_the_public_estimators_are_found():
    assert len(ESTIMATORS) >= 26
    assert len(NUMBERS) >= 30


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_parameter_is_declared_and_its_default_allowed(kind):
    estimator = kind()
    assert set(estimator.get_params(deep=False)) <= set(declared_parameters(kind))
    check_parameters(estimator)


@pytest.mark.parametrize(("kind", "name", "constraint"), NUMBERS)
def test_what_is_not_a_number_is_refused_by_name(kind, name, constraint):
    X = np.random.default_rng(0).standard_normal((30, 3))
    for bad in (True, "3", nan, inf, -1, 3.5j, [[1]]):
        if (bad == -1 and constraint is JOBS) or (bad == [[1]] and constraint is FOLDS):
            continue  # it means something
        with pytest.raises(InputError, match=rf"^{name} is .*; give "):
            kind(**{name: bad}).fit(X, np.arange(30) % 2)


@given(VALUES, st.integers(-5, 5), st.integers(-5, 5))
def test_whole_numbers_have_limits(value, least, most):
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    assert Whole(least).allows(value) == (whole and value >= least)
    assert Whole(most=most).allows(value) == (whole and value <= most)
    assert Whole(least, most).allows(value) == (whole and least <= value <= most)


@given(VALUES)
def test_numbers_are_finite_and_have_limits(value):
    kinds = int | float | np.integer | Fraction
    number = isinstance(value, kinds) and not isinstance(value, bool) and isfinite(value)
    assert Number(least=0).allows(value) == (number and value >= 0)
    assert Number(above=0).allows(value) == (number and value > 0)
    assert Number(least=0, most=1).allows(value) == (number and 0 <= value <= 1)
    assert Number(above=0, below=1).allows(value) == (number and 0 < value < 1)


@given(VALUES)
def test_either_allows_what_one_of_both_does(value):
    both = NONE | Whole(1)
    assert both.allows(value) == (value is None or Whole(1).allows(value))


@given(VALUES)
def test_a_value_that_is_refused_is_named_with_what_is_allowed(value):
    constraint = OneOf("cv") | Number(above=0)
    if constraint.allows(value):
        assert constraint.check("alpha", value) == value
    else:
        with pytest.raises(InputError) as caught:
            constraint.check("alpha", value)
        assert str(caught.value).startswith(f"alpha is {value!r:.100}; give 'cv' or a number above")


@pytest.mark.parametrize(
    ("constraint", "words"),
    [
        (Whole(1), "a whole number from 1 upwards"),
        (Whole(1, 18), "a whole number from 1 up to 18"),
        (JOBS, "None, a number of processes from 1 upwards or -1 for one per processor"),
        (Number(least=0), "a number from 0 upwards"),
        (Number(above=0, most=1), "a number above 0 up to 1"),
        (Number(least=0, below=1), "a number from 0 to below 1"),
        (OneOf("a", "b", "c"), "'a', 'b' or 'c'"),
        (ListOf(Number(above=0)), "a list in which each value is a number above 0"),
        (TRUTH, "True or False"),
    ],
)
def test_messages_say_what_to_give(constraint, words):
    with pytest.raises(InputError, match=rf"^it is nan; give {words}\.$"):
        constraint.check("it", nan)


def test_checked_numbers_are_pythons_own():
    assert type(Whole(1).check("k", np.int64(3))) is int
    assert type(Number(above=0).check("x", np.float32(0.5))) is float


def test_lists_are_not_empty_and_can_be_read_twice():
    numbers = ListOf(Number(above=0))
    assert numbers.allows([1, 2.5])
    assert numbers.allows(np.array([0.5]))
    for bad in ([], [1, True], "12", 3, iter([1.0]), np.ones((2, 2))):
        assert not numbers.allows(bad)


def test_folds_are_a_number_a_splitter_or_a_list():
    for good in (5, np.int64(2), ShuffleSplit(3), [([0, 1], [2])]):
        assert FOLDS.allows(good)
    for bad in (1, True, 2.0, "5", None):
        assert not FOLDS.allows(bad)


def test_random_states_are_none_a_seed_or_a_generator_of_scikit_learn():
    for good in (None, 0, 2**32 - 1, np.random.RandomState(0)):
        assert RANDOM_STATE.allows(good)
    for bad in (-1, 2**32, 1.0, True, np.random.default_rng(0)):
        assert not RANDOM_STATE.allows(bad)


class Parent:
    _parameters: ClassVar[dict[str, Constraint]] = {"a": Whole(1), "b": TRUTH}

    def __init__(self, a=1, b=True):
        self.a, self.b = a, b


class Child(Parent):
    _parameters: ClassVar[dict[str, Constraint]] = {"a": NONE | Whole(1)}

    def _check_together(self):
        if self.a is None and not self.b:
            raise InputError("a is None, and b is False. Give one of them.")


def test_a_subclass_adds_to_the_table_of_its_parent():
    with pytest.raises(InputError, match="a is None"):
        check_parameters(Parent(None))
    with pytest.raises(InputError, match="b is 1; give True or False"):
        check_parameters(Child(b=1))
    check_parameters(Child(None))


def test_parameters_that_do_not_go_together_are_refused_last():
    with pytest.raises(InputError, match="Give one of them"):
        check_parameters(Child(None, False))
    with pytest.raises(InputError, match="a is 0; give None"):
        check_parameters(Child(0, False))
