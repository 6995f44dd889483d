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
from tests.codes import refused, warned

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
    few_values,
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


def with_cell(X, cell):
    X.iloc[7, 2] = cell
    return X


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda X: with_cell(X, np.nan), "cells.gaps"),
        (lambda X: with_cell(X, np.inf), "cells.gaps"),
        (lambda X: with_cell(X, -np.inf), "cells.gaps"),
        (lambda X: with_cell(X.astype("Float64"), pd.NA), "cells.gaps"),
        (lambda X: X.assign(site="Utrecht"), "columns.text"),
        (lambda X: with_cell(X.astype(object), "n/a").to_numpy(), "cells.text"),
        (lambda X: X.set_axis(["a", "b", "a", "c"], axis=1), "names.twice"),
        (lambda X: X.assign(cuneus=3.0), "columns.constant"),
        (lambda X: X.assign(insula=X["insula"] * 1e200), "columns.overflow"),
        (lambda _: "table.csv", "table.path"),
        (lambda _: Path("table.csv"), "table.path"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(learner, change, code):
    with refused(code):
        learner().fit(change(table()))


def tied_pair():
    rng = np.random.default_rng(0)
    X = table(500).assign(lh_hip=rng.standard_normal(500))
    return X.assign(rh_hip=X["lh_hip"] + 0.3 * rng.standard_normal(500))


COPY = table().assign(copy=lambda X: 1 - 2 * X["hippocampus"])
TOTAL = table().assign(total=lambda X: X.sum(axis=1))
SCALED = table().assign(thalamus=lambda X: X["thalamus"] * 1e8)


@pytest.mark.parametrize(
    ("learner", "X", "code"),
    [
        *((learner, COPY, "columns.copies") for learner in (ORSGBN(), ORSGBN(refit=True))),
        *((learner, COPY, "columns.copies") for learner in (HSGBN(), ORSGBN(init="ols"))),
        *((learner, TOTAL, "columns.collinear") for learner in (ORSGBN(0.01), HSGBN(0.01))),
        (ORSGBN(0.01, refit=True), TOTAL, "columns.collinear"),
        *((learner, SCALED, "columns.scale") for learner in (ORSGBN(), HSGBN())),
        (ORSGBN(standardize=False), SCALED, "columns.scale"),
        (ORSGBN(), np.random.default_rng(0).standard_normal((3, 5)), "rows.few-for-columns"),
        (ORSGBN(0.2), tied_pair(), "edges.tied"),
        (ORSGBN(), table().assign(flag=[True, False] * 20), "cells.few-values"),
        (SGBN(), table().assign(score=[1, 2, 3, 4, 5] * 8), "cells.few-values"),
        (SGBNEnsemble(n_pairs=0), table().assign(sex=[0, 1] * 20), "cells.few-values"),
    ],
)
def test_doubtful_columns_warn_but_are_fitted(learner, X, code):
    with warned(code):
        fitted = learner.fit(X)
    assert np.isfinite(fitted.coef_).all()
    assert np.isfinite(fitted.score_samples(X)).all()


def test_few_values_are_two_to_five_in_twenty_rows_or_more():
    X = np.arange(40)[:, None] % [1, 2, 5, 6, 40]
    assert few_values(X).tolist() == [False, True, True, False, False]
    assert not few_values(X[:19]).any()
    X = np.where(np.arange(40) < 4, np.nan, np.arange(40) % 3)[:, None]
    assert few_values(X).tolist() == [True]
    assert not few_values(np.where(X < 2, X, np.arange(40)[:, None])).any()


def test_more_columns_than_rows_is_no_reason_to_warn_of_collinearity(recwarn):
    X = np.random.default_rng(0).standard_normal((15, 30))
    ORSGBN(0.3).fit(X)
    assert not [w for w in recwarn if issubclass(w.category, DataWarning)]


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


def test_rows_and_classes_of_a_classifier():
    estimator = ORSGBN()
    values, labels, classes = check_classification(estimator, table(), ["b", "a"] * 20)
    np.testing.assert_array_equal(values, table().to_numpy())
    assert labels[:2].tolist() == ["b", "a"]
    assert classes.tolist() == ["a", "b"]
    assert estimator.n_features_in_ == 4
    for labels, code in ((None, "labels.none"), (["a"] * 40, "classes.one")):
        with refused(code):
            check_classification(estimator, table(), labels)


def with_covariates():
    cohort = simulate_cohort(20, regions=4, covariates=["age", "sex"], n_sites=2)
    return cohort, cohort_table(cohort)


@pytest.mark.parametrize("learner", [SGBN(), ORSGBN(), SGBNEnsemble(), TC(), SGBNClassifier()])
def test_covariates_and_site_of_a_cohort_never_become_regions(learner):
    cohort, X = with_covariates()
    with refused("columns.covariates"):
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
    with refused("columns.covariates"):
        SGBN().fit(part(X))


def test_regions_alone_are_taken():
    cohort, X = with_covariates()
    assert SGBN().fit(X[list(cohort.regions)]).network_.names == cohort.regions
    prepared = make_preparation(cohort).fit_transform(X, cohort.group)
    assert SGBN().fit(prepared).network_.names == cohort.regions


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
        with refused("argument"):
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
        with refused("argument") as caught:
            constraint.check("alpha", value)
        told = caught.value.problem.values
        assert (told["argument"], told["value"]) == ("alpha", f"{value!r:.100}")


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
            raise InputError("together")


def test_a_subclass_adds_to_the_table_of_its_parent_and_checks_what_goes_together_last():
    check_parameters(Child(None))
    for bad in (Parent(None), Child(b=1), Child(0, False)):
        with refused("argument"):
            check_parameters(bad)
    with refused("together"):
        check_parameters(Child(None, False))
