import pytest

from sgbn.core.exceptions import DataWarning
from sgbn.read.series_sources import check_kinds, read_names


def test_subjects_with_other_kinds_of_series_are_a_warning():
    labels = ["sub-1_task-rest_timeseries", "sub-2_task-rest_timeseries", "sub-3_task-x_timeseries"]
    with pytest.warns(DataWarning, match=r"differ in kind: task-rest \(2\), task-x \(1\)"):
        check_kinds("'folder'", read_names(labels), labels)


def test_runs_of_one_kind_are_fine():
    labels = [f"sub-1_task-rest_run-{k}_timeseries" for k in (1, 2)]
    check_kinds("'folder'", read_names(labels), labels)
