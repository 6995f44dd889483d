from dataclasses import replace

import numpy as np
import pytest

from sgbn.comparison.settings import Settings
from sgbn.comparison.steps.accuracy import parts_of
from sgbn.comparison.steps.cross_validation import (
    exchanged_accuracy,
    fold_numbers,
    folds_of_repeats,
    inner_folds,
)
from sgbn.core.exceptions import InputError

FEW = Settings(n_folds=4, n_repeats=2)


class Stay:
    """An exchange that leaves all labels where they are."""

    def __init__(self, n):
        self.n = n

    def draw(self, rng):
        return np.arange(self.n)


def test_each_repeat_has_other_folds_with_a_like_share_of_both_groups(small_cohort):
    folds = folds_of_repeats(small_cohort, FEW)
    assert folds.shape == (2, 80)
    assert not np.array_equal(*folds)
    for test in parts_of(folds[0]):
        assert np.unique(small_cohort.group[test], return_counts=True)[1].tolist() == [10, 10]


@pytest.mark.parametrize("kind", ["pair", "block"])
def test_rows_of_one_person_or_family_are_in_one_fold(small_cohort, kind):
    unit = np.tile(np.arange(40), 2)
    folds = fold_numbers(replace(small_cohort, **{kind: unit}), FEW, 0)
    for number in range(40):
        assert len(set(folds[unit == number])) == 1


def test_small_groups_have_as_many_folds_as_subjects(small_cohort):
    few = small_cohort.subset(rows=np.r_[0:3, 40:80])
    assert fold_numbers(few, FEW, 0).max() == 2


def test_a_group_of_one_family_cannot_be_cross_validated(small_cohort):
    families = replace(small_cohort, block=np.asarray(small_cohort.group))
    with pytest.raises(InputError, match="all rows of a group belong to one person or family"):
        fold_numbers(families, FEW, 0)


@pytest.mark.parametrize(("n", "expected"), [(40, 5), (5, 3), (3, 2), (2, 1)])
def test_inner_folds_need_subjects_of_each_group_in_training(small_cohort, n, expected):
    few = small_cohort.subset(rows=np.r_[0:n, 40:80])
    assert inner_folds(few, FEW) == expected


def test_the_accuracy_of_exchanged_labels_is_the_mean_over_the_folds(small_cohort):
    tested = []

    def classify(exchanged, test):
        tested.append(test)
        return np.tile([1.0, 0.0], (test.sum(), 1))  # always the first group

    result = exchanged_accuracy(small_cohort, FEW, Stay(80), 0, classify)
    assert result["accuracy"] == 0.5
    assert (np.sum(tested, axis=0) == 1).all()
