import warnings

import numpy as np
import pytest

from sgbn import Cohort, Settings, compare
from sgbn.core.exceptions import DataWarning
from sgbn.learn.base import warnings_about
from sgbn.learn.classifier import SGBNClassifier
from sgbn.learn.sgbn import SGBN
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.paper.penalised import ConvergenceWarning


def given(*said):
    """Messages of warnings that are given about the group CTR."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with warnings_about("group 'CTR'"):
            for message, category in said:
                warnings.warn(message, category, stacklevel=1)
    return [(str(one.message), one.category) for one in caught]


def test_what_is_about_the_data_begins_with_the_group():
    assert given(("few samples", DataWarning)) == [("group 'CTR': few samples", DataWarning)]
    assert given(("slow", ConvergenceWarning)) == [("group 'CTR': slow", ConvergenceWarning)]


def test_the_group_is_named_once_and_others_warnings_stay_as_they_are():
    said = [("in the group 'CTR', few samples", DataWarning), ("a new version", FutureWarning)]
    assert given(*said) == said


def test_the_same_about_two_groups_is_said_twice_by_default():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for group in ("CTR", "SCZ"):
            with warnings_about(group):
                warnings.warn("few samples", DataWarning, stacklevel=1)
    assert [str(one.message) for one in caught] == ["CTR: few samples", "SCZ: few samples"]


FEW_OF_SCZ = np.repeat(["CTR", "SCZ"], [40, 6])


def test_a_classifier_says_which_class_has_few_rows():
    rows = np.random.default_rng(0).normal(size=(46, 4))
    with pytest.warns(DataWarning, match="^class 'SCZ': only 6 samples"):
        SGBNClassifier().fit(rows, FEW_OF_SCZ)


@pytest.mark.parametrize("learner", [None, SGBN(), ORSGBN(0.1)])
def test_a_comparison_says_which_group_has_few_subjects(learner):
    values = np.random.default_rng(0).normal(size=(46, 4))
    cohort = Cohort(values, list("abcd"), range(46), group=FEW_OF_SCZ)
    with pytest.warns(DataWarning, match="^group 'SCZ': only 6 samples") as caught:
        found = compare(cohort, Settings.networks_only(), learner=learner)
    assert {one.filename for one in caught} == {__file__}
    few = [text for text in found.warnings if "samples" in text]
    assert all(text.startswith("group 'SCZ': only 6 samples") for text in few)
