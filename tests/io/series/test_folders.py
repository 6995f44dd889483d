import pandas as pd
import pytest

from sgbn.core.exceptions import InputError
from sgbn.read.series_files import Marks
from sgbn.read.series_sources import find_in_folder, find_participants, series_files


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
    with pytest.raises(InputError, match=r"quality_subjects\.csv' is damaged .*Extract the series"):
        found(folder)


def test_a_pattern_chooses_files(bids, write):
    write("sub-01/func/sub-01_task-rest_seg-B_timeseries.tsv")
    with pytest.raises(
        InputError,
        match=r"subject 'sub-01' has 2 kinds of series, which differ in "
        r"'seg-A', 'seg-B'.*files='\*seg-A\*'",
    ):
        found(bids)
    assert len(found(bids, "*seg-A*").runs) == 4
    write("sub-01/func/sub-01_task-rest_seg-A_stat-pearson_relmat.tsv")
    assert len(found(bids, "*seg-A*").runs) == 4
    with pytest.raises(InputError, match=r"no series that match '\*seg-C\*' \(files=, --files\)"):
        found(bids, "*seg-C*")


def test_two_files_of_a_subject_are_refused(write):
    folder = write("s1.csv").parent
    write("s1.tsv")
    with pytest.raises(InputError, match=r"two series of subject 's1': s1\.csv and s1\.tsv"):
        found(folder)


def test_a_folder_without_series_says_what_it_holds(tmp_path):
    (tmp_path / "image.nii").touch()
    with pytest.raises(InputError, match=r"holds no series. It holds 1 file: 'image.nii'. Give"):
        found(tmp_path)


def test_names_that_speak_against_series_can_be_overruled(write):
    folder = write("s1_bold.tsv").parent
    with pytest.raises(InputError, match=r"If some are series, choose them by a pattern"):
        found(folder)
    assert len(found(folder, "*_bold.tsv").runs) == 1


def test_participants_are_found_above(bids):
    assert find_participants(bids / "sub-01" / "func") == (bids / "participants.tsv").resolve()
    assert find_participants(bids.parent) is None
    assert find_participants(None) is None


def test_a_table_that_holds_something_else_is_no_series(write):
    folder = write("s1.tsv").parent
    other = write("mine.tsv")
    assert [path.name for path in series_files(folder, None, [other])] == ["s1.tsv"]
