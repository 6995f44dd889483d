import numpy as np
import pytest

from sgbn import SGBN
from sgbn.comparison.refined import REFINED_BY, refine
from sgbn.exceptions import StudyError
from sgbn.preprocessing.preparation import regions_table
from sgbn.runs import Study


def changes(cohort, study, data="data"):
    labels = np.asarray(cohort.group)
    return refine(["CL-SGBN"], SGBN(), regions_table(cohort), labels, study, data)


def test_changes_are_those_of_the_classifier_and_are_read_the_second_time(
    small_cohort, tmp_path, monkeypatch
):
    classifier = REFINED_BY["CL-SGBN"](SGBN(), temperature=1.0)
    direct = classifier.fit(
        regions_table(small_cohort), np.asarray(small_cohort.group)
    ).edge_changes()
    found = changes(small_cohort, Study(tmp_path))
    assert len(direct)
    for kept in (changes(small_cohort, Study()), found):
        assert kept["CL-SGBN"].dtype == direct.dtype
        assert kept["CL-SGBN"].tolist() == direct.tolist()

    def fail(*_, **__):
        raise AssertionError("computed again")

    monkeypatch.setattr(REFINED_BY["CL-SGBN"], "fit", fail)
    assert changes(small_cohort, Study(tmp_path))["CL-SGBN"].tolist() == direct.tolist()


def test_other_data_are_refused(small_cohort, tmp_path):
    changes(small_cohort, Study(tmp_path))
    with pytest.raises(StudyError, match="the data are not the same"):
        changes(small_cohort, Study(tmp_path), "other data")


def test_damaged_changes_are_named(small_cohort, tmp_path):
    changes(small_cohort, Study(tmp_path))
    (path,) = (tmp_path / "tasks").glob("*.npz")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(StudyError, match=r"CL-SGBN.npz cannot be read .* Delete it"):
        changes(small_cohort, Study(tmp_path))
