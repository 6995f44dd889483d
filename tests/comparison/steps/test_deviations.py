import warnings

import numpy as np
import pytest

from sgbn.comparison.settings import Settings
from sgbn.comparison.step import Job
from sgbn.comparison.steps.deviations import NAMES, OF_SUBJECTS, DeviationsStep
from sgbn.inference.deviation import NormativeDeviation
from sgbn.learn.sgbn import SGBN
from sgbn.prepare.pipeline import regions_table
from sgbn.runs.study import Study


def deviations(cohort, study):
    settings, learner = Settings(reference="control", seed=1), SGBN()
    found = {}
    DeviationsStep().run(Job(cohort, cohort, settings, learner, learner, study, print), found)
    return found["deviations"]


def test_they_are_those_of_the_estimator_and_are_read_the_second_time(
    small_cohort, tmp_path, monkeypatch
):
    study = Study(tmp_path)
    found = deviations(small_cohort, study)
    rows = regions_table(small_cohort)
    reference = np.asarray(small_cohort.group) == "control"
    norm = NormativeDeviation(SGBN(), random_state=1).fit(rows[reference])
    for name in OF_SUBJECTS:
        values = getattr(found, name)
        assert np.array_equal(values[reference], getattr(norm.reference_, name))
        assert np.array_equal(values[~reference], getattr(norm.deviations(rows[~reference]), name))

    def fail(*_, **__):
        raise AssertionError("computed again")

    monkeypatch.setattr(NormativeDeviation, "fit", fail)
    again = deviations(small_cohort, study)
    for name in (*OF_SUBJECTS, *NAMES):
        assert np.array_equal(getattr(again, name), getattr(found, name))
        assert type(getattr(again, name)) is type(getattr(found, name))


def test_warnings_come_again_with_what_is_read(small_cohort, tmp_path, monkeypatch):
    fit = NormativeDeviation.fit

    def warns(norm, rows, **more):
        warnings.warn("a look is needed", stacklevel=2)
        return fit(norm, rows, **more)

    monkeypatch.setattr(NormativeDeviation, "fit", warns)
    for _ in range(2):
        with pytest.warns(UserWarning, match="a look is needed"):
            deviations(small_cohort, Study(tmp_path))
