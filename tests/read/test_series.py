import json
import warnings

import numpy as np
import pandas as pd
import pytest
from tests.codes import refused, warned

from sgbn.cohort.series import SeriesCohort
from sgbn.core.problems import speaking
from sgbn.read.extract import write_time_series
from sgbn.read.series import is_series, join_runs, mean_fd_of, read_series, settle_motion, tr_of
from sgbn.read.series_files import Volumes
from sgbn.read.series_sources import Run, SeriesName
from sgbn.read.table import read_table


def test_a_folder_of_bids_is_a_cohort_of_subjects(bids, signals):
    cohort = read_series(bids, group="dx", covariates="age", tr=2.0)
    assert cohort.ids == ("sub-01", "sub-02", "sub-03", "sub-04")
    assert cohort.group.tolist() == ["A", "B", "A", "B"]
    assert cohort.covariates["age"].tolist() == [20, 30, 40, 50]
    assert (cohort.regions, cohort.tr) == (("left", "right", "front"), 2.0)
    assert cohort.series[3] == pytest.approx(signals(4))
    assert cohort.run_lengths == ((30,),) * 4
    assert cohort.provenance["files"] == 4


SECOND = "sub-02/func/sub-02_task-rest_seg-A_timeseries.tsv"


def test_regions_are_aligned_by_name(bids, write, signals):
    write(SECOND, 2, change=lambda frame: frame[["front", "left", "right"]])
    aligned = read_series(bids)
    assert aligned.regions == ("left", "right", "front")
    assert aligned.series[1][0, 0] == pytest.approx(signals(2)[0, 0])


def test_runs_are_joined_in_their_order(write):
    folder = write("sub-01_run-2_timeseries.tsv", 1, 20).parent
    write("sub-01_run-10_timeseries.tsv", 2, 15)
    write("sub-01_run-1_timeseries.tsv", 3, 25)
    cohort = read_series(folder)
    assert cohort.run_lengths == ((25, 20, 15),)
    assert cohort.values == pytest.approx(1)


@pytest.fixture
def sessions(write, people, tmp_path):
    for k in range(1, 5):
        for name in ("ses-a", "ses-b"):
            path = f"sub-0{k}/{name}/func/sub-0{k}_{name}_timeseries.tsv"
            write(path, 10 * k + (name == "ses-b"))
    people.to_csv(tmp_path / "series" / "participants.tsv", sep="\t", index=False)
    return tmp_path / "series"


def test_sessions_are_asked_about(sessions):
    with refused("series.sessions") as error:
        read_series(sessions, group="dx")
    assert len(error.value.problem.values["subjects"]) == 4


def test_each_answer_about_sessions_works(sessions):
    persons = read_series(sessions, group="dx", covariates="age", subject="participant_id")
    assert persons.ids[:2] == ("sub-01_ses-a", "sub-01_ses-b")
    assert persons.person[:2].tolist() == ["sub-01", "sub-01"]
    assert persons.covariates["age"][:3].tolist() == [20, 20, 30]
    pairs = read_series(sessions, group="session_id", covariates="age", pair="participant_id")
    assert pairs.sizes == {"ses-a": 4, "ses-b": 4}
    assert pairs.design.complete.all()
    one = read_series(sessions, group="dx", files="*ses-a*")
    assert one.ids == ("sub-01", "sub-02", "sub-03", "sub-04")


def test_participants_without_series_and_series_without_them_are_named(bids, people, signals):
    more = pd.concat([people, people.iloc[:1].assign(participant_id="sub-09")])
    with warned("series.absent"):
        assert len(read_series(bids, more, group="dx")) == 4
    with warned("ids.dropped"):
        kept = read_series(bids, people.iloc[1:], group="dx", participants_missing="drop")
    assert kept.ids == ("sub-02", "sub-03", "sub-04")
    assert kept.series[0][0, 0] == pytest.approx(signals(2)[0, 0])


def test_ids_may_lack_the_prefix(bids, people):
    bare = people.assign(participant_id=["01", "02", "03", "04"])
    assert len(read_series(bids, bare, group="dx")) == 4


def test_groups_choose_subjects_and_their_series(bids, signals):
    cohort = read_series(bids, group="dx", groups=["B"])
    assert cohort.ids == ("sub-02", "sub-04")
    assert cohort.series[1][0, 0] == pytest.approx(signals(4)[0, 0])


def test_a_group_without_participants_is_asked_for(bids):
    (bids / "participants.tsv").unlink()
    with refused("series.participants"):
        read_series(bids, group="dx")
    assert read_series(bids).group is None


def write_motion(bids, values=(0.1, 0.2, 0.3, 0.4)):
    for k, value in enumerate(values, start=1):
        folder = bids / f"sub-0{k}" / "func"
        table = pd.DataFrame({"framewise_displacement": ["n/a", value, value]})
        table.to_csv(folder / f"sub-0{k}_task-rest_motion.tsv", sep="\t", index=False)


def test_motion_beside_the_series_is_a_covariate(bids):
    write_motion(bids)
    cohort = read_series(bids, group="dx")
    assert cohort.covariates["mean_fd"] == pytest.approx([0.1, 0.2, 0.3, 0.4])
    assert cohort.provenance["taken_motion"] == "mean_fd"
    assert not read_series(bids, group="dx", exclude="mean_fd").covariates


def test_motion_beside_some_series_is_no_covariate_unless_the_others_are_left_out(bids):
    write_motion(bids, (0.1, 0.2, 0.3))
    with warned("motion.absent"):
        assert not read_series(bids, group="dx").covariates
    assert [*read_series(bids, group="dx", groups=["A"]).covariates] == ["mean_fd"]


def test_motion_of_participants_goes_before_and_must_be_named(bids, people):
    write_motion(bids)
    known = people.assign(mean_fd=[0.5, 0.6, 0.7, 0.8])
    named = read_series(bids, known, group="dx", covariates=["age", "mean_fd"])
    assert named.covariates["mean_fd"].tolist() == [0.5, 0.6, 0.7, 0.8]
    unnamed = read_series(bids, known, group="dx")
    assert not unnamed.covariates
    assert unnamed.provenance["unnamed_motion"]["mean_fd"]["means"] == {"A": 0.6, "B": 0.7}


def test_a_column_of_motion_that_nobody_named_does_no_harm(bids, people):
    for cells in ([0.1, 0.2, 0.15, -999.0], ["low", "high", "low", "high"]):
        cohort = read_series(bids, people.assign(mean_fd=cells), group="dx")
        assert not cohort.covariates
    known = people.assign(mean_fd=[0.5, np.nan, 0.7, np.nan])
    facts = read_series(bids, known, group="dx").provenance["unnamed_motion"]["mean_fd"]
    assert facts == {"p": None, "means": {"A": 0.6}, "missing": 2}


def test_the_tr_is_found_in_sidecars(bids):
    (bids / "task-rest_bold.json").write_text(json.dumps({"RepetitionTime": 0.72}))
    assert read_series(bids).tr == 0.72
    with refused("argument"):
        read_series(bids, tr=2000)


def without(*rows):
    """Function that takes the values of volumes away."""

    def change(frame):
        frame.iloc[rows, :] = np.nan
        return frame

    return change


def test_censored_volumes_are_counted(bids, write):
    write(SECOND, 2, change=without(4, 5))
    cohort = read_series(bids)
    assert cohort.n_volumes == (30, 24, 30, 30)
    assert cohort.provenance["censored"] == {"volumes": 2, "short": 4, "subjects": 1}
    assert "censored" not in read_series(bids, group="dx", groups=["A"]).provenance


def test_censored_volumes_cut_a_run_in_two(bids, write, signals):
    write(SECOND, 2, change=without(14, 15))
    cohort = read_series(bids)
    assert cohort.run_lengths == ((30,), (14, 14), (30,), (30,))
    assert cohort.series[1] == pytest.approx(np.delete(signals(2), [14, 15], axis=0))


def test_a_region_that_is_empty_in_a_file_is_empty_in_the_cohort(bids, write):
    write(SECOND, 2, change=lambda frame: frame.assign(right=np.nan))
    assert np.isnan(read_series(bids).values).tolist()[1] == [False, True, False]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda frame: frame.assign(right=["oops", *frame["right"][1:]]), "cells.text"),
        (lambda frame: frame.iloc[:9], "series.short"),
        (without(*range(5, 30, 6)), "series.censored"),
        (lambda frame: frame.assign(back=1.0), "series.regions"),
    ],
)
def test_a_wrong_file_is_named_with_subject_and_region(bids, write, change, code):
    write("sub-03/func/sub-03_task-rest_seg-A_timeseries.tsv", 3, change=change)
    with refused(code) as caught:
        read_series(bids)
    assert "sub-03" in str(caught.value)
    with speaking(people=False):
        text = str(caught.value)
    assert "sub-03" not in text
    assert text.count("a subject") == 1
    assert str(bids) in text
    assert ("files=" in text) == (code != "series.censored")


def test_regions_can_be_chosen_and_left_out(bids):
    assert read_series(bids, regions=["front", "left"]).regions == ("front", "left")
    assert read_series(bids, exclude="r*").regions == ("left", "front")


def test_columns_of_time_are_no_regions(write):
    folder = write("s1.tsv", change=lambda frame: frame.assign(time=np.arange(30.0) * 2)).parent
    assert read_series(folder).regions == ("left", "right", "front")


def test_confounds_are_no_regions_and_may_differ_between_subjects(write):
    folder = write("s1.tsv", change=lambda frame: frame.assign(trans_x=0.1, rmsd=0.2)).parent
    write("s2.tsv", 1, change=lambda frame: frame.assign(rmsd=0.1, motion_outlier00=0.2))
    with warned("series.confounds"):
        cohort = read_series(folder)
    assert cohort.regions == ("left", "right", "front")
    assert cohort.provenance["confounds"] == ["trans_x", "rmsd", "motion_outlier00"]
    assert not cohort.provenance["ignored"]
    with warned("series.confounds"):
        assert read_series(folder, exclude=["trans*", "rmsd"]).regions == cohort.regions
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_series(folder, regions=["rmsd", "left"]).regions == ("rmsd", "left")


def test_a_first_row_that_may_be_names_or_a_volume_is_said_once(tmp_path):
    for name in ("s1", "s2"):
        text = "99 100 102\n" + "101.5 99.25 104\n99.5 101.25 98\n" * 6
        (tmp_path / f"{name}.txt").write_text(text)
    with warned("series.row-names"):
        assert read_series(tmp_path).n_volumes == (12, 12)
    for name in ("s1", "s2"):
        path = tmp_path / f"{name}.txt"
        path.write_text(path.read_text().replace("99 100 102", "103 100 102"))
    with warned("series.row-volume"):
        assert read_series(tmp_path).n_volumes == (13, 13)


def test_other_types_are_refused():
    with refused("series.type"):
        read_series([1, 2])


def test_what_extract_writes_is_read(tmp_path):
    nib = pytest.importorskip("nibabel")
    labels = np.zeros((6, 6, 6))
    labels[:3], labels[3:] = 1, 2
    rng = np.random.default_rng(0)
    images = {}
    for name in ("p 1", "p 2"):
        image = nib.Nifti1Image(rng.random((6, 6, 6, 15)) + 1, np.eye(4))
        image.header.set_xyzt_units("mm", "sec")
        image.header.set_zooms((1, 1, 1, 2.5))
        images[name] = tmp_path / f"{name}.nii.gz"
        nib.save(image, images[name])
    atlas = nib.Nifti1Image(labels.astype(np.int16), np.eye(4))
    nib.save(atlas, tmp_path / "atlas.nii.gz")
    given = {"labels": {1: "left", 2: "right"}, "n_jobs": 1, "progress": False}
    subjects, _ = write_time_series(images, tmp_path / "atlas.nii.gz", tmp_path / "out", **given)
    subjects.to_csv(tmp_path / "out" / "quality_subjects.csv", index=False)
    cohort = read_series(tmp_path / "out")
    assert (cohort.ids, cohort.regions) == (("p 1", "p 2"), ("left", "right"))
    assert (cohort.n_volumes, cohort.tr) == ((15, 15), 2.5)


def test_columns_of_participants_can_be_excluded(bids, people):
    """`check` advises it of a site that nobody named."""
    cohort = read_series(bids, people.assign(site=list("xxyy")), group="dx", exclude="site")
    assert cohort.regions == ("left", "right", "front")
    assert cohort.site is None


@pytest.fixture
def frame():
    ids = [f"s{k}" for k in range(3) for _ in range(12)]
    return pd.DataFrame({"id": ids, "volume": [*range(12)] * 3, "x": range(36), "y": range(36)})


def test_folders_and_archives_are_series(tmp_path):
    assert is_series(tmp_path)
    assert is_series(tmp_path / "any.npz")
    assert not is_series(None)
    assert not is_series(tmp_path / "absent.csv")


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.xlsx", "t.csv.gz"])
def test_a_long_table_is_known_by_its_columns(frame, tmp_path, name):
    path = tmp_path / name
    if path.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if "tsv" in name else ",")
    assert is_series(path)
    assert is_series(frame)


def test_covariates_of_a_long_table_have_the_marks_of_the_file(tmp_path):
    ids = [f"s{k}" for k in range(3) for _ in range(30)]
    x, y = np.random.default_rng(0).normal(size=(2, 90))
    path, frame = tmp_path / "long.csv", pd.DataFrame({"id": ids, "volume": [*range(30)] * 3})
    for mark, iq in (",", ["20,5", "21,5", "7"]), (".", ["1.875", "909", "7"]):
        whole = frame.assign(x=x, y=y, iq=np.repeat(iq, 30))
        whole.to_csv(path, sep=";", decimal=mark, index=False)
        cohort = read_series(path, decimal=mark, regions=["x", "y"], covariates="iq")
        assert cohort.covariates["iq"].tolist() == [float(cell.replace(",", ".")) for cell in iq]
    with refused("marks.point"):
        read_series(path, regions=["x", "y"], covariates="iq")


def test_visits_are_no_volumes(frame, tmp_path):
    visits = frame[frame["volume"] < 3].rename(columns={"volume": "time"})
    assert not is_series(visits)
    once = frame.assign(id=[f"s{k}" for k in range(36)])
    assert not is_series(once)
    assert not is_series(frame.drop(columns="volume"))
    assert not is_series(frame.assign(volume=1))
    once.to_csv(tmp_path / "t.csv", index=False)
    assert not is_series(tmp_path / "t.csv")
    assert len(read_table(once, regions="all", exclude="volume")) == 36


def test_columns_may_be_named(frame):
    named = frame.rename(columns={"id": "who"})
    assert not is_series(named)
    assert is_series(named, id="who")


def run(tr=None, mean_fd=None, where="'a.tsv'"):
    return Run(SeriesName("s1"), where, lambda: None, tr, mean_fd)


def volumes(array, empty=None, censored=0, lengths=None):
    empty = np.zeros(array.shape[1], bool) if empty is None else np.array(empty)
    return Volumes(array, lengths or (len(array),), empty, censored)


def test_one_run_stays_as_it_is(signals):
    joined = join_runs([volumes(signals())])
    assert np.array_equal(joined.series, signals())
    assert joined.lengths == (30,)


def test_runs_are_centred_and_scaled_each(signals):
    joined = join_runs([volumes(signals(1, 20)), volumes(50 * signals(2, 25), censored=3)])
    assert (joined.lengths, joined.censored) == ((20, 25), 3)
    for part in (joined.series[:20], joined.series[20:]):
        assert part.mean(axis=0) == pytest.approx(0, abs=1e-9)
        assert part.std(axis=0) == pytest.approx(1)


def test_a_region_that_is_empty_in_one_run_is_empty(signals):
    runs = [volumes(signals(1)), volumes(signals(2), [False, True, False])]
    joined = join_runs(runs)
    assert joined.series.any(axis=0).tolist() == [True, False, True]


def test_pieces_of_a_run_keep_the_scale_of_the_run(signals):
    cut = volumes(signals(1, 25), lengths=(10, 15), censored=2)
    assert np.array_equal(join_runs([cut]).series, signals(1, 25))
    joined = join_runs([cut, volumes(signals(2, 20))])
    assert (joined.lengths, joined.run_volumes) == ((10, 15, 20), (25, 20))
    assert joined.series[:25].std(axis=0) == pytest.approx(1)
    gone = Volumes(np.empty((0, 3)), (), np.ones(3, bool), 30)
    joined = join_runs([gone, cut])
    assert np.array_equal(joined.series, signals(1, 25))
    assert (joined.lengths, joined.run_volumes, joined.censored) == ((10, 15), (0, 25), 32)


def test_the_tr_is_that_of_the_files_if_they_agree():
    assert tr_of([run(2.0), run(2.001), run()], None) == 2.0
    assert tr_of([run()], 1.5) == 1.5
    assert tr_of([run()], None) is None
    with warned("tr.several"):
        assert tr_of([run(2.0, where="'a'"), run(0.8, where="'b'")], None) is None
    with warned("tr.differs"):
        assert tr_of([run(2.0)], 3.0) == 3.0


def test_motion_counts_all_volumes():
    assert mean_fd_of([run(mean_fd=0.1), run(mean_fd=0.4)], [30, 10]) == pytest.approx(0.175)
    assert np.isnan(mean_fd_of([run(mean_fd=0.1), run()], [30, 10]))


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
    left = settle_motion(cohort([0.1, 0.2, 0.3, 0.4]), ["age"], beside=False)
    fact = left.provenance["unnamed_motion"]["mean_fd"]
    assert fact == {"p": None, "means": {"mean": pytest.approx(0.25)}, "missing": 0}
    assert "unnamed_motion" not in settle_motion(known, ["age", "mean_fd"], beside=False).provenance


def test_motion_beside_all_series_is_taken_and_this_is_a_fact(cohort):
    known = cohort([0.1, 0.2, 0.3, 0.4], group=list("AABB"))
    taken = settle_motion(known, ["age"], beside=True)
    assert [*taken.covariates] == ["mean_fd", "age"]
    assert taken.provenance["taken_motion"] == "mean_fd"
    assert "taken_motion" not in settle_motion(known, ["age", "mean_fd"], beside=True).provenance


def test_motion_beside_some_series_is_left_out_and_subjects_are_named(cohort):
    known = cohort([0.1, np.nan, 0.3, np.nan], group=list("AABB"))
    with warned("motion.absent"):
        left = settle_motion(known, ["age"], beside=True)
    assert [*left.covariates] == ["age"]
    assert left.provenance["unnamed_motion"]["mean_fd"]["missing"] == 2
    named = settle_motion(known, ["age", "mean_fd"], beside=True)  # who names it takes the gaps
    assert [*named.covariates] == ["mean_fd", "age"]
