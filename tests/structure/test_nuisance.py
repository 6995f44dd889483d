import numpy as np
import pytest

from sgbn.cohort.effects import nuisance_of, without_nuisance
from sgbn.core.exceptions import InputError


def test_residuals_are_those_of_least_squares(design):
    codes, covariates, sites = design
    Y = np.random.default_rng(1).normal(size=(40, 3))
    N = np.column_stack(
        [
            codes == 0,
            codes == 1,
            covariates["age"],
            covariates["sex"] == "M",
            sites == "b",
            sites == "c",
        ]
    ).astype(float)
    expected = Y - N @ np.linalg.lstsq(N, Y)[0]
    found = nuisance_of(codes, covariates, sites)
    np.testing.assert_allclose(found.residuals(Y), expected, atol=1e-10)
    assert found.rank == 6  # one indicator of the sites follows from those of the groups


@pytest.mark.parametrize(
    "useless",
    [
        {"constant": np.full(40, 0.1)},
        {"repeated": None},
        {"group": np.repeat([3.0, 5.0], 20)},
        {"level": np.repeat("a", 40)},
    ],
)
def test_a_column_that_others_determine_changes_nothing_wherever_it_stands(design, useless):
    codes, covariates, sites = design
    useless = {name: 7 + 2 * covariates["age"] if v is None else v for name, v in useless.items()}
    Y = np.random.default_rng(1).normal(size=(40, 3))
    expected = nuisance_of(codes, covariates, sites)
    for more in (useless | covariates, covariates | useless):
        found = nuisance_of(codes, more, sites)
        assert found.rank == expected.rank
        np.testing.assert_allclose(found.residuals(Y), expected.residuals(Y), atol=1e-10)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (np.where(np.arange(40) == 3, np.nan, 1.0), "'c' has 1 missing value, the first in row 3"),
        (np.array(["F", None] * 20, dtype=object), "20 missing values, the first in row 1"),
        (["F", np.nan] * 20, "20 missing values"),
        (np.array([""] * 40), "40 missing values"),
        ([1.0, None] * 20, "20 missing values"),
        (np.ones(39), r"'c' has shape \(39,\)"),
        (np.array([{}] * 40, dtype=object), "holds a dict"),
    ],
)
def test_covariates_that_cannot_be_used_are_named(design, column, message):
    with pytest.raises(InputError, match=message):
        nuisance_of(design[0], {"c": column})


def test_numbers_that_come_as_objects_are_numbers(design):
    codes, covariates, _ = design
    Y = np.random.default_rng(1).normal(size=(40, 3))
    plain, objects = (
        nuisance_of(codes, {"age": age})
        for age in (covariates["age"], covariates["age"].astype(object))
    )
    np.testing.assert_array_equal(plain.residuals(Y), objects.residuals(Y))


def test_nuisance_effects_are_gone_and_means_stay():
    rng = np.random.default_rng(0)
    N = np.column_stack([rng.standard_normal(50), np.ones(50), np.repeat([0.0, 1.0], 25)])
    X = rng.standard_normal((50, 2)) + N @ rng.standard_normal((3, 2))
    left, lost = without_nuisance(X, N)
    assert lost == 2
    assert np.allclose(left.mean(axis=0), X.mean(axis=0))
    assert np.allclose((N - N.mean(axis=0)).T @ left, 0, atol=1e-9)
    fitted = np.linalg.lstsq(np.column_stack([N, np.ones(50)]), X)[0]
    assert np.allclose(left - left.mean(axis=0), X - np.column_stack([N, np.ones(50)]) @ fitted)


@pytest.mark.parametrize("gap", [np.nan, np.inf])
def test_columns_with_a_gap_are_refused_and_not_taken_for_constant(gap):
    age = np.random.default_rng(0).normal(size=(40, 1))
    codes = np.resize([0, 1], 40)
    assert nuisance_of(codes, {"age": age}).rank == 3
    age[7] = gap
    with pytest.raises(InputError, match=r"'age' has 1 row with.* The first is row 7"):
        nuisance_of(codes, {"age": age})


def test_a_covariate_without_columns_is_refused():
    with pytest.raises(InputError, match=r"'age' has shape \(40, 0\)"):
        nuisance_of(np.resize([0, 1], 40), {"age": np.empty((40, 0))})
