import numpy as np
import pytest

from sgbn.cohort.series import SeriesCohort
from sgbn.core.exceptions import DataWarning
from sgbn.read.series import settle_motion


@pytest.fixture
def cohort(signals):
    def made(fd, **about):
        covariates = {"mean_fd": np.array(fd), "age": np.array([20.0, 30.0, 40.0, 50.0])}
        return SeriesCohort.of([signals(k) for k in range(4)], covariates=covariates, **about)

    return made


def test_motion_of_participants_that_nobody_named_is_a_fact_and_no_covariate(cohort):
    known = cohort([0.1, 0.11, 0.3, 0.32], group=list("AABB"))
    left = settle_motion(known, ["age"], beside=False)
    assert list(left.covariates) == ["age"]
    found = left.provenance["unnamed_motion"]["mean_fd"]
    assert found["means"] == pytest.approx({"A": 0.105, "B": 0.31})
    assert found["p"] < 0.05
    assert "unnamed_motion" not in settle_motion(known, ["age", "mean_fd"], beside=False).provenance


def test_motion_is_known_without_groups_too(cohort):
    left = settle_motion(cohort([0.1, 0.2, 0.3, 0.4]), ["age"], beside=False)
    fact = left.provenance["unnamed_motion"]["mean_fd"]
    assert fact == {"p": None, "means": {"mean": pytest.approx(0.25)}, "missing": 0}


def test_motion_beside_all_series_is_taken_and_this_is_a_fact(cohort):
    known = cohort([0.1, 0.2, 0.3, 0.4], group=list("AABB"))
    taken = settle_motion(known, ["age"], beside=True)
    assert [*taken.covariates] == ["mean_fd", "age"]
    assert taken.provenance["taken_motion"] == "mean_fd"
    assert "taken_motion" not in settle_motion(known, ["age", "mean_fd"], beside=True).provenance


def test_motion_beside_some_series_is_left_out_and_subjects_are_named(cohort):
    known = cohort([0.1, np.nan, 0.3, np.nan], group=list("AABB"))
    with pytest.warns(DataWarning, match=r"series of 2 of 4 subjects: 's1', 's3'.*Add these"):
        left = settle_motion(known, ["age"], beside=True)
    assert [*left.covariates] == ["age"]
    assert left.provenance["unnamed_motion"]["mean_fd"]["missing"] == 2
    named = settle_motion(known, ["age", "mean_fd"], beside=True)  # who names it takes the gaps
    assert [*named.covariates] == ["mean_fd", "age"]
