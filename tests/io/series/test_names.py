import pytest

from sgbn.read.series_sources import SeriesName, entities, read_names, run_order


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (
            ["sub-01_ses-2_task-rest_dir-AP_run-1_seg-Gordon_stat-mean_timeseries"],
            [SeriesName("sub-01", "ses-2", "run-1_dir-AP", "task-rest_seg-Gordon_stat-mean")],
        ),
        (
            ["NYU_0050952_rois_cc200", "NYU_0050954_rois_cc200"],
            [SeriesName("NYU_0050952"), SeriesName("NYU_0050954")],
        ),
        (["s1_timeseries", "s2_timeseries"], [SeriesName("s1"), SeriesName("s2")]),
        (
            ["s1_run1_ts", "s1_run2_ts", "s2_run1_ts"],
            [
                SeriesName("s1", "", "run1"),
                SeriesName("s1", "", "run2"),
                SeriesName("s2", "", "run1"),
            ],
        ),
        (["s1_ses-b", "s2_ses-b"], [SeriesName("s1", "ses-b"), SeriesName("s2", "ses-b")]),
        (["runner", "session"], [SeriesName("runner"), SeriesName("session")]),
        (["001", "002"], [SeriesName("001"), SeriesName("002")]),
        (["a_01"], [SeriesName("a_01")]),
    ],
)
def test_names_say_subject_session_run_and_kind(labels, expected):
    assert read_names(labels) == expected


def test_entities_are_those_of_bids():
    assert entities("sub-01_task-rest_bold") == {"sub": "01", "task": "rest"}


def test_runs_are_sorted_by_number():
    assert sorted(["run-10", "run-2", ""], key=run_order) == ["", "run-2", "run-10"]
