import shutil
from dataclasses import replace

import numpy as np
import pytest
from tests.codes import refused

from sgbn.comparison.settings import Settings
from sgbn.comparison.step import Job
from sgbn.comparison.steps.refinements import REFINED_BY, RefinementsStep
from sgbn.core.problems import StudyError
from sgbn.learn.sgbn import SGBN
from sgbn.prepare.pipeline import regions_table
from sgbn.runs.study import Study


def changes(cohort, folder):
    settings, learner = Settings(refinements=("CL-SGBN",)), SGBN()
    found = {}
    job = Job(cohort, cohort, settings, learner, learner, Study(folder), print)
    RefinementsStep().run(job, found)
    return found["refinements"]["CL-SGBN"]


@pytest.fixture(scope="module")
def kept(small_cohort, tmp_path_factory):
    """Folder of a finished refinement, and what it changed."""
    folder = tmp_path_factory.mktemp("refined")
    return folder, changes(small_cohort, folder)


def test_changes_are_those_of_the_classifier_and_are_read_the_second_time(
    small_cohort, kept, monkeypatch
):
    classifier = REFINED_BY["CL-SGBN"](SGBN(), temperature=1.0)
    direct = classifier.fit(
        regions_table(small_cohort), np.asarray(small_cohort.group)
    ).edge_changes()
    folder, computed = kept
    assert len(direct)
    assert computed.dtype == direct.dtype
    assert computed.tolist() == direct.tolist()

    def fail(*_, **__):
        raise AssertionError("computed again")

    monkeypatch.setattr(REFINED_BY["CL-SGBN"], "fit", fail)
    assert changes(small_cohort, folder).tolist() == direct.tolist()


def test_other_data_are_refused(small_cohort, kept):
    with refused("study.settings", kind=StudyError):
        changes(replace(small_cohort, values=small_cohort.values + 1), kept[0])


def test_damaged_changes_are_named(small_cohort, kept, tmp_path):
    damaged = shutil.copytree(kept[0], tmp_path / "copy")
    (path,) = (damaged / "refinements" / "tasks").glob("*.npz")
    path.write_bytes(path.read_bytes()[:100])
    with refused("result.damaged", kind=StudyError):
        changes(small_cohort, damaged)
