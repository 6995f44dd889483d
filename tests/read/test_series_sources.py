import json

import numpy as np
import pandas as pd
import pytest
from tests.codes import refused, warned

from sgbn.read.series import read_series
from sgbn.read.series_files import Marks
from sgbn.read.series_sources import (
    SeriesName,
    check_kinds,
    entities,
    find_in_folder,
    find_participants,
    headers_in,
    motion_in,
    read_names,
    run_order,
    series_files,
    stored_motion,
    stored_tr,
)


def found(folder, files=None, **given):
    return find_in_folder(folder, files, Marks(), **given)


def test_series_of_nested_folders_are_found_and_nothing_else(bids, write):
    for name in ("sub-01_task-rest_motion.tsv", "sub-01_task-rest_desc-confounds_timeseries.tsv"):
        write(f"sub-01/func/{name}")
    write(".hidden/sub-09_timeseries.tsv")
    names = [run.name for run in found(bids).runs]
    assert [name.subject for name in names] == ["sub-01", "sub-02", "sub-03", "sub-04"]
    assert {name.kind for name in names} == {"task-rest_seg-A"}


def test_the_folder_names_the_subject_where_the_file_does_not(write):
    for k in (1, 2):
        write(f"s{k}/signals.txt", k)
    folder = write("s3/signals.txt", 3).parent.parent
    assert [run.name.subject for run in found(folder).runs] == ["s1", "s2", "s3"]


def test_a_folder_of_bids_names_the_subject_too(write):
    folder = write("sub-1/ses-a/func/signals.csv").parents[3]
    assert found(folder).runs[0].name[:2] == ("sub-1", "ses-a")


def test_what_extract_wrote_has_ids_and_tr(write, tmp_path):
    folder = write("p_1_timeseries.tsv").parent
    table = {"subject_id": ["p 1"], "file": ["p_1_timeseries.tsv"], "step": [2.5]}
    pd.DataFrame(table).to_csv(folder / "quality_subjects.csv", index=False)
    (run,) = found(folder).runs
    assert (run.name.subject, run.tr) == ("p 1", 2.5)


@pytest.mark.parametrize(
    "content",
    [b"", b'subject_id,file,step\n"p,1', b"subject_id,file,step\np,p.tsv,x\n", b"\xff\xfe\x00a"],
)
def test_a_damaged_list_of_extracted_series_is_named_with_what_to_do(write, content):
    folder = write("p_1_timeseries.tsv").parent
    (folder / "quality_subjects.csv").write_bytes(content)
    with refused("series.list"):
        found(folder)


def test_a_pattern_chooses_files(bids, write):
    write("sub-01/func/sub-01_task-rest_seg-B_timeseries.tsv")
    write("sub-01/func/sub-01_task-rest_seg-A_stat-pearson_relmat.tsv")
    assert len(found(bids, "*seg-A*").runs) == 4
    with refused("series.pattern"):
        found(bids, "*seg-C*")


@pytest.mark.parametrize(
    ("names", "code"),
    [
        (["sub-1_seg-A_timeseries.tsv", "sub-1_seg-B_timeseries.tsv"], "series.mixed"),
        (["s1.csv", "s1.tsv"], "series.twice"),
        (["s1_bold.tsv"], "series.none"),
    ],
)
def test_a_folder_without_one_series_a_subject_is_refused(write, names, code):
    folders = {write(name).parent for name in names}
    with refused(code):
        found(*folders)


def test_names_that_speak_against_series_can_be_overruled(write):
    folder = write("s1_bold.tsv").parent
    assert len(found(folder, "*_bold.tsv").runs) == 1


def test_participants_are_found_above(bids):
    assert find_participants(bids / "sub-01" / "func") == (bids / "participants.tsv").resolve()
    assert find_participants(bids.parent) is None
    assert find_participants(None) is None


def test_a_table_that_holds_something_else_is_no_series(write):
    folder = write("s1.tsv").parent
    other = write("mine.tsv")
    assert [path.name for path in series_files(folder, None, [other])] == ["s1.tsv"]


@pytest.fixture
def long(signals):
    def made(subjects=("s1", "s2", "s3"), volumes=15, **columns):
        parts = []
        for k, name in enumerate(subjects):
            part = pd.DataFrame(signals(k, volumes), columns=["left", "right", "front"])
            part.insert(0, "volume", range(volumes))
            part.insert(0, "dx", "AB"[k % 2])
            part.insert(0, "subject", name)
            parts.append(part)
        return pd.concat(parts, ignore_index=True).assign(**columns)

    return made


def test_each_subject_has_its_volumes(long, signals):
    cohort = read_series(long(), group="dx")
    assert cohort.ids == ("s1", "s2", "s3")
    assert cohort.group.tolist() == ["A", "B", "A"]
    assert cohort.regions == ("left", "right", "front")
    assert np.array_equal(cohort.series[2], signals(2, 15))


def test_volumes_are_sorted_by_time(long):
    frame = long()
    shuffled = frame.sample(frac=1, random_state=0)
    found, expected = read_series(shuffled, group="dx"), read_series(frame, group="dx")
    assert all(
        np.array_equal(found.series[found.ids.index(name)], one)
        for name, one in zip(expected.ids, expected.series, strict=True)
    )


def test_runs_and_sessions_have_columns(long):
    frame = long(run=[*([1] * 45)])
    both = pd.concat([frame, frame.assign(run=2)], ignore_index=True)
    assert read_series(both, group="dx").run_lengths == ((15, 15),) * 3
    visits = pd.concat([frame.assign(session="pre"), frame.assign(session="post")])
    cohort = read_series(visits, group="session", pair="subject")
    assert cohort.sizes == {"post": 3, "pre": 3}
    assert cohort.design.complete.all()
    one_group = read_series(visits, group="dx", subject="subject")
    assert one_group.ids[:2] == ("s1_pre", "s2_pre")
    assert one_group.person.tolist() == ["s1", "s2", "s3"] * 2


def test_covariates_are_constant_columns(long):
    frame = long(age=np.repeat([20, 30, 40], 15), scanner="one", note="x")
    cohort = read_series(frame, group="dx", covariates="age", exclude="note")
    assert cohort.covariates["age"].tolist() == [20.0, 30.0, 40.0]
    assert cohort.regions == ("left", "right", "front")


def test_numbers_that_are_the_same_in_all_volumes_are_no_regions(long, tmp_path):
    frame = long(age=np.repeat([20, 30, 40], 15), empty=np.nan)
    frame.loc[frame["subject"] == "s1", "left"] = 0.0  # an empty region of one subject stays
    frame.to_csv(tmp_path / "long.csv", index=False)
    for source in (frame, tmp_path / "long.csv"):
        with warned("series.constant"):
            cohort = read_series(source, group="dx")
        assert cohort.regions == ("left", "right", "front", "empty")
        assert cohort.provenance["constant"] == ["age"]
    named = read_series(frame, group="dx", covariates="age")
    assert named.covariates["age"].tolist() == [20.0, 30.0, 40.0]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda frame: frame.drop(columns="subject"), "series.no-subjects"),
        (lambda frame: frame.assign(volume=1), "series.no-time"),
        (lambda frame: frame.assign(dx=["A", "B"] * 22 + ["A"]), "series.label"),
    ],
)
def test_what_is_wrong_is_said(long, change, code):
    with refused(code):
        read_series(change(long()), group="dx")


@pytest.fixture
def archive(tmp_path, signals):
    def written(**arrays):
        path = tmp_path / "all.npz"
        np.savez(path, **({"s1": signals(1), "s2": signals(2)} | arrays))
        return path

    return written


def test_one_array_is_one_subject(archive, signals):
    cohort = read_series(archive())
    assert cohort.ids == ("s1", "s2")
    assert cohort.regions == ("r1", "r2", "r3")
    assert np.array_equal(cohort.series[1], signals(2))


def test_names_of_regions_and_tr_may_be_arrays(archive):
    cohort = read_series(archive(regions=np.array(["a", "b", "c"]), tr=np.array(2.0)))
    assert (cohort.regions, cohort.tr) == (("a", "b", "c"), 2.0)


def test_runs_are_told_by_the_names_of_arrays(tmp_path, signals):
    path = tmp_path / "runs.npz"
    np.savez(path, **{f"sub-1_run-{k}": signals(k, 20 + k) for k in (2, 1)})
    assert read_series(path).run_lengths == ((21, 22),)


@pytest.mark.parametrize(
    ("arrays", "code"),
    [
        ({"regions": np.zeros(3)}, "series.names"),
        ({"tr": np.array(-1.0)}, "series.tr"),
    ],
)
def test_a_wrong_array_is_named(archive, arrays, code):
    with refused(code):
        read_series(archive(**arrays))


def test_what_is_no_archive_of_numbers_is_refused(tmp_path):
    path = tmp_path / "all.npz"
    np.savez(path, s1=np.array([{}], dtype=object))
    with refused("series.archive"):
        read_series(path)
    with refused("series.files"):
        read_series(path, files="*")


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
            [SeriesName(s, "", r) for s, r in (("s1", "run1"), ("s1", "run2"), ("s2", "run1"))],
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


def test_subjects_with_other_kinds_of_series_are_a_warning():
    labels = ["sub-1_task-rest_timeseries", "sub-2_task-rest_timeseries", "sub-3_task-x_timeseries"]
    with warned("series.kinds"):
        check_kinds("'folder'", read_names(labels), labels)


def test_runs_of_one_kind_are_fine():
    labels = [f"sub-1_task-rest_run-{k}_timeseries" for k in (1, 2)]
    check_kinds("'folder'", read_names(labels), labels)


@pytest.fixture
def series(bids):
    return bids / "sub-01" / "func" / "sub-01_task-rest_seg-A_timeseries.tsv"


@pytest.mark.parametrize(
    ("name", "said", "tr"),
    [
        ("sub-01/func/sub-01_task-rest_seg-A_timeseries.json", {"RepetitionTime": 0.8}, 0.8),
        ("sub-01/func/sub-01_task-rest_seg-A_timeseries.json", {"SamplingFrequency": 0.5}, 2.0),
        ("sub-01/func/sub-01_task-rest_bold.json", {"RepetitionTime": 3}, 3.0),
        ("task-rest_bold.json", {"RepetitionTime": 1.5}, 1.5),
        ("task-nback_bold.json", {"RepetitionTime": 1.5}, None),
        ("sub-02/func/sub-02_task-rest_bold.json", {"RepetitionTime": 3}, None),
        ("task-rest_bold.json", {"RepetitionTime": "soon"}, None),
        ("task-rest_bold.json", {"RepetitionTime": 2000}, None),
        ("task-rest_bold.json", [1], None),
    ],
)
def test_the_tr_is_that_of_the_scan(bids, series, name, said, tr):
    (bids / name).write_text(json.dumps(said))
    assert stored_tr(series, headers_in(bids)) == tr


@pytest.mark.parametrize(
    "name", ["sub-01_task-rest_motion.tsv", "sub-01_task-rest_desc-confounds_timeseries.tsv"]
)
def test_motion_is_the_mean_over_known_volumes(series, bids, name):
    cells = pd.DataFrame({"framewise_displacement": ["n/a", 0.1, 0.3]})
    cells.to_csv(series.parent / name, sep="\t", index=False)
    assert stored_motion(series, motion_in(bids)) == pytest.approx(0.2)
    other = bids / "sub-02" / "func" / "sub-02_task-rest_seg-A_timeseries.tsv"
    assert stored_motion(other, motion_in(bids)) is None


def test_a_table_without_displacement_says_nothing(series, bids):
    (series.parent / "sub-01_task-rest_motion.tsv").write_text("trans_x\n1\n")
    assert stored_motion(series, motion_in(bids)) is None
