from dataclasses import replace

import numpy as np
import pytest

from sgbn import Cohort
from sgbn.prepare.series_review import check_motion, motion_column


@pytest.mark.parametrize("name", ["mean_fd", "MeanFD", "func_mean_fd", "fd_mean", "mean_motion"])
def test_motion_is_known_by_its_name(name):
    assert motion_column(["age", name]) == name


def test_other_columns_are_no_motion():
    assert motion_column(["age", "fdg", "emotion", "motion_artefacts"]) is None


def cohort(p=None, missing=0, **covariates):
    facts = {"mean_fd": {"p": p, "means": {"A": 0.1, "B": 0.2}, "missing": missing}}
    provenance = {} if p is None else {"unnamed_motion": facts}
    return Cohort(
        np.zeros((2, 2)), ["x", "y"], ["s", "t"], covariates=covariates, provenance=provenance
    )


def test_motion_that_differs_between_groups_and_is_no_covariate_is_a_warning():
    (finding,) = check_motion(cohort(0.002))
    assert finding.level == "warning"
    assert "differ in motion ('mean_fd': A 0.1, B 0.2; p = 0.002)" in finding.what
    assert "--covariates mean_fd" in finding.action


def test_motion_that_does_not_differ_or_is_not_known_is_a_note():
    (alike,), (unknown,) = check_motion(cohort(0.5)), check_motion(cohort())
    assert (alike.level, unknown.level) == ("note", "note")
    assert "motion is known" in alike.what
    assert "nothing is known about motion" in unknown.what


def test_a_covariate_of_motion_is_enough():
    assert not [*check_motion(cohort(0.002, mean_fd=[0.1, 0.2]))]


def test_motion_that_is_not_known_of_all_says_of_how_many():
    (finding,) = check_motion(cohort(0.5, missing=3))
    assert "B 0.2; not known for 3 subjects" in finding.what


def test_motion_that_was_taken_without_being_named_is_said():
    taken = replace(cohort(mean_fd=[0.1, 0.2]), provenance={"taken_motion": "mean_fd"})
    (finding,) = check_motion(taken)
    assert "is held fixed as the covariate 'mean_fd'" in finding.what
    assert "--exclude mean_fd" in finding.action
