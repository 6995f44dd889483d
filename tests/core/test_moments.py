import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.codes import refused
from threadpoolctl import threadpool_info

from sgbn.core import moments as module
from sgbn.core.moments import Moments, constant_columns, moments_of, one_blas_thread


def names(X):
    return [f"region{k}" for k in range(X.shape[1])]


def test_the_gram_matrix_is_the_correlation_matrix_of_the_sorted_columns(simulate):
    X, _ = simulate(7, 50, 0)
    moments = moments_of(X, names(X))
    expected = np.corrcoef(X[:, moments.columns].T)
    np.testing.assert_allclose(moments.R, expected, atol=1e-13)
    np.testing.assert_allclose(moments.mean, X.mean(axis=0))
    np.testing.assert_allclose(moments.sd, X.std(axis=0))
    assert (moments.n, moments.m, moments.has_bias) == (50, 7, False)


@given(seed=st.integers(0, 10_000))
def test_permuting_columns_does_not_change_a_bit_of_the_gram_matrix(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 9)) @ rng.standard_normal((9, 9))
    order = rng.permutation(9)
    first, second = moments_of(X, names(X)), moments_of(X[:, order], names(X))
    assert np.array_equal(first.R, second.R)
    assert np.array_equal(first.columns, order[second.columns])


def test_columns_whose_first_rows_tie_are_sorted_by_later_rows_and_equal_ones_by_name():
    column = np.array([0.0, 1.0, 2.0, 5.0])
    other = np.array([0.0, 1.0, 5.0, 2.0])
    X = np.column_stack([column, other, column])
    assert moments_of(X, ["b", "z", "a"]).columns.tolist() == [2, 0, 1]
    assert moments_of(X, ["a", "z", "b"]).columns.tolist() == [0, 2, 1]


def test_a_large_mean_costs_no_digits():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    np.testing.assert_allclose(
        moments_of(X + 1e7, names(X)).R, moments_of(X, names(X)).R, atol=1e-8
    )


def test_with_a_bias_nothing_is_centred_and_the_correlation_is_the_same(simulate):
    X, _ = simulate(5, 60, 1)
    X = X + np.array([3.0, -1.0, 0.0, 2.0, 0.5])
    moments = moments_of(X, names(X), bias=True)
    Z = np.column_stack([X[:, moments.columns], np.ones(60)])
    Z /= np.sqrt((Z**2).mean(axis=0))
    np.testing.assert_allclose(moments.R, Z.T @ Z / 60, atol=1e-13)
    np.testing.assert_allclose(
        moments.correlation, np.corrcoef(X[:, moments.columns].T), atol=1e-12
    )


def test_weights_go_to_the_users_order_and_back(simulate):
    X, network = simulate(6, 40, 2)
    moments = moments_of(X, names(X))
    np.testing.assert_array_equal(moments.to_user(moments.to_canonical(network.coef)), network.coef)


@pytest.mark.parametrize("value", [0.0, 1.0, 1e9, 0.1])
def test_a_constant_column_is_refused_by_name(value):
    X = np.random.default_rng(0).standard_normal((30, 3))
    X[:, 1] = value
    with refused("columns.constant"):
        moments_of(X, names(X))


def test_the_callers_array_is_not_changed(simulate):
    X, _ = simulate(4, 30, 3)
    copy = X.copy()
    X.setflags(write=False)
    moments_of(X, names(X), bias=True)
    assert np.array_equal(X, copy)


@pytest.mark.parametrize("bias", [False, True])
def test_rows_that_are_worked_on_in_blocks_give_the_same(simulate, monkeypatch, bias):
    X, _ = simulate(6, 100, 2)
    X = X + np.arange(6) * 1e4
    order = np.random.default_rng(0).permutation(6)
    whole = moments_of(X, names(X), bias=bias)
    monkeypatch.setattr(module, "ROWS_PER_BLOCK", 32)
    parts = moments_of(X, names(X), bias=bias)
    for field in ("mean", "sd", "scale", "columns"):
        assert np.array_equal(getattr(parts, field), getattr(whole, field))
    np.testing.assert_allclose(parts.R, whole.R, atol=1e-12)
    assert np.array_equal(moments_of(X[:, order], names(X), bias=bias).R, parts.R)


@given(seed=st.integers(0, 10_000), power=st.integers(-3, 12))
def test_constant_columns_are_those_without_a_spread_beyond_round_off(seed, power):
    rng = np.random.default_rng(seed)
    X = 10.0**power + rng.standard_normal((30, 4)) * 10.0 ** -np.array([0, 3, 5, 7])
    X[:, 0] = 10.0**power
    bound = len(X) * np.finfo(float).eps * np.abs(X).max(axis=0)
    assert np.array_equal(constant_columns(X), X.std(axis=0) <= bound)
    largest = np.finfo(float).max
    assert constant_columns(np.array([[largest, 1.0], [-largest, 1.0]])).tolist() == [False, True]


def covariance_of(rng, n=60, m=6):
    return np.cov(rng.standard_normal((n, m)) @ rng.uniform(-1, 1, (m, m)), rowvar=False)


@pytest.mark.parametrize("ddof", [0, 1])
def test_moments_of_a_covariance_matrix_are_those_of_its_rows(ddof):
    rng = np.random.default_rng(0)
    X = 5 + rng.standard_normal((50, 4)) @ rng.uniform(-1, 1, (4, 4))
    rows = moments_of(X, list("abcd"))
    S = np.cov(X, rowvar=False, ddof=ddof)
    given = Moments.from_covariance(S, 50, list("abcd"), X.mean(axis=0), ddof=ddof)
    np.testing.assert_allclose(given.sd, rows.sd, rtol=1e-12)
    np.testing.assert_allclose(given.mean, rows.mean, rtol=1e-12)
    np.testing.assert_allclose(given.to_user(given.R), rows.to_user(rows.R), atol=1e-12)
    assert (given.n, given.names) == (50, tuple("abcd"))


@given(seed=st.integers(0, 10**6))
def test_variables_of_a_covariance_matrix_are_sorted_whatever_their_order(seed):
    rng = np.random.default_rng(seed)
    S = covariance_of(rng)
    order = rng.permutation(6)
    first, second = (Moments.from_covariance(M, 60) for M in (S, S[np.ix_(order, order)]))
    assert np.array_equal(first.R, second.R)
    assert np.array_equal(first.columns, order[second.columns])


def test_variables_with_the_same_correlations_are_sorted_by_name():
    S = np.full((3, 3), 0.5) + np.eye(3) / 2
    sorted_by_name = Moments.from_covariance(S, 10, ["c", "a", "b"])
    assert [sorted_by_name.names[k] for k in sorted_by_name.columns] == ["a", "b", "c"]


def test_a_table_names_the_variables_of_its_covariance_matrix():
    S = pd.DataFrame([[1, 0.5], [0.5, 1]], index=["b", "a"], columns=["b", "a"])
    assert Moments.from_covariance(S, 10).names == ("b", "a")
    assert Moments.from_covariance(S.to_numpy(), 10).names is None
    with refused("names.differ"):
        Moments.from_covariance(S, 10, ["x", "y"])
    with refused("matrix.names"):
        Moments.from_covariance(S.iloc[::-1], 10)


def _with(change):
    S = np.eye(3)
    change(S)
    return S


@pytest.mark.parametrize(
    ("S", "more", "code"),
    [
        (np.eye(3)[:2], {}, "matrix.shape"),
        (np.eye(1), {}, "matrix.shape"),
        (3.0, {}, "matrix.shape"),
        ([["a", "b"], ["b", "a"]], {}, "covariance.text"),
        (np.eye(3), {"names": ["a", "b"]}, "argument.shape"),
        (np.eye(3), {"names": ["a", "b", "a"]}, "names.twice"),
        (np.eye(3), {"n": 1}, "argument"),
        (np.eye(3), {"ddof": 2}, "argument"),
        (np.eye(3), {"mean": [1, 2]}, "mean.shape"),
        (np.diag([1, np.nan, 1]), {}, "covariance.gaps"),
        (np.diag([1, 1, 0]), {}, "covariance.variance"),
        (_with(lambda S: S.__setitem__((0, 2), 0.5)), {}, "covariance.symmetry"),
        ([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]], {}, "covariance.indefinite"),
    ],
)
def test_what_is_no_covariance_matrix_is_refused(S, more, code):
    with refused(code):
        Moments.from_covariance(S, **({"n": 10, "names": ["a", "b", "c"]} | more))


def blas_threads():
    return {
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    }


def test_one_blas_thread_holds_while_any_thread_is_inside():
    before = blas_threads()
    second_is_in, first_is_out = threading.Event(), threading.Event()
    seen = []

    def second():
        with one_blas_thread():
            second_is_in.set()
            first_is_out.wait(60)
            seen.append(blas_threads())

    thread = threading.Thread(target=second)
    with one_blas_thread():
        with one_blas_thread():
            thread.start()
            second_is_in.wait(60)
        assert blas_threads() == {1}
    first_is_out.set()
    thread.join()
    assert seen == [{1}]
    assert blas_threads() == before
