import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold

from sgbn.cohort.design import MIN_TRAINING_ROWS, count_folds, inner_folds


@pytest.mark.parametrize("smallest", range(2, 12))
def test_every_fold_leaves_a_class_enough_rows_to_train_on(smallest):
    codes = np.repeat([0, 1], [60, smallest])
    n_folds = count_folds(codes)
    assert (n_folds > 0) == (smallest > MIN_TRAINING_ROWS)
    for train, _ in StratifiedKFold(n_folds).split(codes, codes) if n_folds else ():
        assert np.bincount(codes[train]).min() >= MIN_TRAINING_ROWS


@settings(max_examples=20)
@given(st.integers(0, 2**31), st.integers(2, 5))
def test_units_are_on_one_side_of_every_fold(seed, n_folds):
    rng = np.random.default_rng(seed)
    units = rng.permutation(np.arange(60) // 3)
    codes = rng.integers(0, 2, 20)[units]
    tested = np.zeros(60, int)
    for train, test in inner_folds(codes, units, n_folds, 2, 0):
        assert not set(units[train]) & set(units[test])
        tested[test] += 1
    assert (tested == 2).all()


def test_without_units_the_folds_are_those_of_scikit_learn():
    codes = np.random.default_rng(0).integers(0, 3, 50)
    own = list(inner_folds(codes, None, 4, 3, 7))
    splitter = RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=7)
    for fold, expected in zip(own, splitter.split(codes, codes), strict=True):
        np.testing.assert_array_equal(fold[0], expected[0])
        np.testing.assert_array_equal(fold[1], expected[1])


def test_folds_are_counted_in_units():
    codes = np.repeat([0, 1], 10)
    assert count_folds(codes) == 5
    assert count_folds(codes, np.arange(20) // 2) == 5
    assert count_folds(codes, np.where(codes == 0, np.arange(20), 20 + np.arange(20) // 2)) == 5
    assert count_folds(codes, np.arange(20) // 4) == 0
