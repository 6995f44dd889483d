from fractions import Fraction
from math import inf, isfinite, nan
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.model_selection import ShuffleSplit

import sgbn
from sgbn import inference
from sgbn.core.exceptions import InputError
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
    check_parameters,
    declared_parameters,
)

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
