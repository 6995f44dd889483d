import math

import pytest
from tests.codes import refused

from sgbn.read.subject_folders import SubjectRow, find_folders, kind_of, roi_files, whole_rows

from .written import write, write_cat12, write_freesurfer


def ids(found):
    return [one.id for one in found.subjects]


def make(folder, *names):
    for name in names:
        (folder / name / "stats").mkdir(parents=True)


def test_templates_and_other_folders_are_no_subjects(tmp_path):
    make(tmp_path, "sub-02", "sub-01", "fsaverage", "fsaverage5", "lh.EC_average", "V1_average")
    (tmp_path / "logs").mkdir()
    (tmp_path / ".cache" / "stats").mkdir(parents=True)
    write(tmp_path / "README", "")
    found = find_folders(tmp_path)
    assert ids(found) == ["sub-01", "sub-02"]
    assert found.templates == ("V1_average", "fsaverage", "fsaverage5", "lh.EC_average")
    assert found.others == ("logs",)


def test_an_empty_folder_of_a_subject_is_one(tmp_path):
    make(tmp_path, "sub-01")
    (tmp_path / "sub-02").mkdir()
    (tmp_path / "patient7" / "mri").mkdir(parents=True)
    assert ids(find_folders(tmp_path)) == ["patient7", "sub-01", "sub-02"]


def test_sessions_are_visits_of_a_person_nested_or_in_the_name(tmp_path):
    make(tmp_path, "sub-01/ses-1", "sub-01/ses-2", "sub-02_ses-1")
    found = find_folders(tmp_path)
    assert ids(found) == ["sub-01_ses-1", "sub-01_ses-2", "sub-02_ses-1"]
    assert [one.person for one in found.subjects] == ["sub-01", "sub-01", "sub-02"]


def test_longitudinal_runs_are_taken_where_every_visit_has_one(tmp_path):
    runs = ("a_1.long.a", "a_2.long.a")
    make(tmp_path, "a", "a_1", "a_2", *runs)
    write(tmp_path / "a" / "base-tps", "a_1\na_2\n")
    found = find_folders(tmp_path)
    assert [one.path.name for one in found.subjects] == list(runs)
    assert ids(found) == ["a_1", "a_2"]
    assert {one.person for one in found.subjects} == {"a"}
    assert (found.bases, found.other_stream) == (("a",), ("a_1", "a_2"))
    cross = find_folders(tmp_path, "cross")
    assert [one.path.name for one in cross.subjects] == ["a_1", "a_2"]


@pytest.mark.parametrize("said_by", ["runs", "bases"])
def test_cross_sectional_runs_keep_the_persons_of_the_longitudinal_stream(tmp_path, said_by):
    visits = [f"{person}{visit}" for person in ("S01", "S02") for visit in "ab"]
    make(tmp_path, *visits, "S03a")
    for person in ("S01", "S02"):
        if said_by == "runs":
            make(tmp_path, *(f"{person}{visit}.long.{person}" for visit in "ab"))
        else:
            make(tmp_path, person)
            write(tmp_path / person / "base-tps", f"{person}a\n{person}b\n")
    found = find_folders(tmp_path, "cross")
    assert ids(found) == [*visits, "S03a"]
    assert [one.person for one in found.subjects] == ["S01", "S01", "S02", "S02", "S03a"]


def test_streams_are_not_mixed(tmp_path):
    make(tmp_path, "a", "a_1", "a_1.long.a", "b_1")
    assert ids(find_folders(tmp_path, "long")) == ["a_1"]
    assert ids(find_folders(tmp_path, "cross")) == ["a_1", "b_1"]


@pytest.mark.parametrize(
    ("names", "options", "code"),
    [
        (["a", "a_1", "a_1.long.a", "b_1"], {}, "stream.mixed"),
        (["a_1", "b_1"], {"stream": "long"}, "stream.absent"),
        (["a_1"], {"stream": "both"}, "argument"),
        (["sub-01/ses-1", "sub-01_ses-1"], {}, "subject.twice"),
        (["p", "q", "a_1", "a_2"], {}, "visit.bases"),
    ],
)
def test_folders_whose_visits_cannot_be_told_are_refused(tmp_path, names, options, code):
    make(tmp_path, *names)
    for base in {"p", "q"} & set(names):
        write(tmp_path / base / "base-tps", "a_1\na_2\n")
    with refused(code):
        find_folders(tmp_path, **options)


def test_a_base_of_fastsurfer_is_no_subject(tmp_path):
    make(tmp_path, "a", "a_1")
    write(tmp_path / "a" / "base-tps.fastsurfer", "a_1\n")
    found = find_folders(tmp_path)
    assert (ids(found), found.bases) == (["a_1"], ("a",))


def test_the_folder_of_one_subject_is_pointed_out(tmp_path):
    write_freesurfer(tmp_path, "sub-01")
    with refused("folder.one-subject"):
        find_folders(tmp_path / "sub-01")


def test_kinds_of_folders(tmp_path):
    assert kind_of(tmp_path) is None
    write_cat12(tmp_path / "cat", "a", surfaces=True)
    assert kind_of(tmp_path / "cat") == "cat12"
    write_freesurfer(tmp_path / "fs", "sub-01/ses-1")
    assert kind_of(tmp_path / "fs") == "freesurfer"
    write(tmp_path / "series" / "sub-01" / "func" / "sub-01_timeseries.tsv", "a\n")
    assert kind_of(tmp_path / "series") is None


def test_region_files_are_found_in_any_layout(tmp_path):
    write_cat12(tmp_path, "a")
    write_cat12(tmp_path / "sub-01" / "ses-1" / "anat", "sub-01_ses-1_T1w", surfaces=False)
    write(tmp_path / "mri" / "catROI_no.xml", "")
    names = [path.name for path in roi_files(tmp_path)]
    assert names == ["catROI_a.xml", "catROIs_a.xml", "catROI_sub-01_ses-1_T1w.xml"]


def row(name, **regions):
    return SubjectRow(name, name, f"folder/{name}", regions, {})


def names(rows):
    return [one.id for one in rows]


def test_subjects_with_the_usual_regions_are_kept():
    whole = whole_rows([row("a", x=1, y=2), row("b", y=3, x=4), row("c", x=5)])
    assert names(whole.rows) == ["a", "b"]
    assert whole.regions == ("x", "y")
    assert [(one.id, one.source) for one in whole.failures] == [("c", "folder/c")]
    assert whole.failures[0].reason.values == {"names": ["y"], "m": 1, "k": 0}


def test_regions_that_most_others_lack_are_a_failure_too():
    whole = whole_rows([row("a", x=1), row("b", x=4), row("c", x=5, z=1), row("d", z=1)])
    assert names(whole.rows) == ["a", "b"]
    assert [failure.reason.values["k"] for failure in whole.failures] == [1, 1]


def test_of_as_many_the_cut_off_ones_fail_and_others_are_an_error():
    for rows in ([row("a", x=1), row("b", x=1, y=1)], [row("a", x=1, y=1), row("b", x=1)]):
        assert whole_rows(rows).regions == ("x", "y")
    with refused("regions.two-sets"):
        whole_rows([row("a", x=1), row("b", y=1, z=1)])


def test_nothing_measured_in_most_leaves_out_the_region_else_the_subject():
    rows = [row("a", x=1, wall=math.nan), row("b", x=0, wall=math.nan), row("c", x=2, wall=1)]
    whole = whole_rows(rows, frozenset({"x"}))
    assert names(whole.rows) == ["a", "c"]
    assert (whole.regions, whole.unmeasured) == (("x",), ("wall",))
    assert whole.failures[0].reason.values == {"names": ["x"]}


def test_a_volume_may_be_zero_but_in_most_it_is_no_region():
    assert whole_rows([]).rows == ()
    assert names(whole_rows([row("a", x=0), row("b", x=1)]).rows) == ["a", "b"]
    whole = whole_rows([row("a", x=1, cc=0), row("b", x=1, cc=0), row("c", x=2, cc=3)])
    assert names(whole.rows) == ["a", "b", "c"]
    assert (whole.regions, whole.unmeasured) == (("x",), ("cc",))
