import shlex

import pandas as pd
import pytest
from tests.read.written import (
    REGIONS,
    SIDES,
    nuclei,
    write,
    write_cat12,
    write_freesurfer,
    write_seg_only,
)

from sgbn.cli.main import main, parser
from sgbn.cli.options import options_of
from sgbn.read.freesurfer import SEGMENTATIONS


@pytest.fixture
def study(tmp_path):
    for k in range(12):
        write_freesurfer(tmp_path / "subjects", f"sub-{k:02}")
    (tmp_path / "subjects" / "fsaverage" / "stats").mkdir(parents=True)
    people = pd.DataFrame({"participant_id": [f"sub-{k:02}" for k in range(13)]})
    people["dx"] = [("AD", "CTR")[k % 2] for k in range(13)]
    people.to_csv(tmp_path / "participants.tsv", sep="\t", index=False)
    return tmp_path


def command(*words):
    return main(["read-subjects", *map(str, words)])


def test_tables_are_written_and_the_next_command_runs(study, capsys):
    (study / "subjects" / "sub-03" / "stats" / "aseg.stats").unlink()
    people, out = study / "participants.tsv", study / "out"
    assert command(study / "subjects", "--out", out, "--participants", people) == 0
    printed = capsys.readouterr().out
    assert "sub-" not in printed.rpartition("Next:")[0].replace(str(study), "")
    assert "Read 79 regions of 11 subjects: thickness of aparc; volumes of aseg.stats." in printed
    assert "Software: FreeSurfer 7.4.1 (11)." in printed
    assert "Skipped templates: 'fsaverage'." in printed
    assert "2 subjects are not in the table (see failed.csv)." in printed
    assert command(study / "subjects", "--out", out, "--participants", people, "--names") == 0
    assert "\n  sub-03: " in capsys.readouterr().out
    table = pd.read_csv(out / "regions.csv")
    assert len(table) == 11
    assert {"lh_bankssts_thickness", "Left-Thalamus", "eTIV"} < set(table)
    quality = pd.read_csv(out / "quality.csv")
    assert list(quality["subject_id"]) == list(table["subject_id"])
    assert (quality["mean_euler"] == -47).all()
    failed = pd.read_csv(out / "failed.csv")
    assert list(failed["subject_id"]) == ["sub-03", "sub-12"]
    assert "stats/aseg.stats" in failed["reason"][0]
    assert "participants.tsv" in failed["reason"][1]
    words = shlex.split(printed.splitlines()[-1])
    assert words[:2] == ["sgbn", "check"]
    words[words.index("COLUMN")] = "dx"
    assert main(words[1:]) == 0
    assert "groups: AD 6, CTR 5" in capsys.readouterr().out


def test_the_same_folder_gives_the_same_bytes(study):
    for name in ("a", "b"):
        assert command(study / "subjects", "--out", study / name) == 0
    for name in ("regions.csv", "quality.csv", "failed.csv"):
        assert (study / "a" / name).read_bytes() == (study / "b" / name).read_bytes()


def test_a_failed_subject_ends_the_run_if_asked(study, typed):
    (study / "subjects" / "sub-03" / "stats" / "aseg.stats").unlink()
    words = f"read-subjects {study}/subjects --out {study}/out --on-error raise"
    told = typed(words)
    assert (told.code, "sub-03" in told.err) == (1, False)
    assert "subject 'sub-03'" in typed(f"{words} --names").err
    assert not (study / "out" / "regions.csv").exists()
    assert typed(f"{words} --no-aseg").code == 0
    assert "Left-Caudate" not in pd.read_csv(study / "out" / "regions.csv")


def test_regions_that_no_atlas_knows_are_asked_for_in_the_next_command(study, capsys):
    for folder in (study / "subjects").glob("sub-*"):
        for side in SIDES:
            text = nuclei(f"{folder.name} {side}", ["AV", "LGN"], "Thalamic nuclei")
            write(folder / "stats" / f"thalamic-nuclei.{side}.v13.T1.stats", text)
    options = ("--segmentations", "thalamus", "--measure", "area", "--out", study / "out")
    assert command(study / "subjects", *options) == 0
    assert capsys.readouterr().out.endswith("--covariates eTIV --regions all\n")
    columns = pd.read_csv(study / "out" / "regions.csv").columns
    assert {"thalamus_Left-LGN", "lh_insula_area", "lh_WhiteSurfArea_area"} < set(columns)


def test_the_next_command_names_an_atlas_that_names_do_not_tell(tmp_path, capsys):
    dkt = [name for name in REGIONS if name not in ("bankssts", "frontalpole", "temporalpole")]
    for k in range(3):
        write_freesurfer(tmp_path / "whole", f"s{k}", "aparc.DKTatlas", dkt)
        write_freesurfer(tmp_path / "part", f"s{k}", "aparc.DKTatlas", dkt[1:])
    assert command(tmp_path / "whole", "--out", tmp_path / "out") == 0
    assert "--atlas" not in capsys.readouterr().out
    assert command(tmp_path / "part", "--out", tmp_path / "out") == 0
    assert capsys.readouterr().out.endswith("--covariates eTIV --atlas dkt\n")


def test_what_fastsurfer_without_surfaces_lacks_is_printed(tmp_path, capsys):
    for k in range(3):
        write_seg_only(tmp_path / "subjects", f"s{k}")
    assert command(tmp_path / "subjects", "--out", tmp_path / "out") == 0
    printed = capsys.readouterr().out
    assert "volume of aseg+DKT.VINN" in printed
    assert "3 subjects have no eTIV" in printed
    assert "--covariates" not in printed


def test_cat12_is_read_by_the_same_command(tmp_path, capsys):
    for k in range(3):
        write_cat12(tmp_path / "data", f"sub-{k}_T1w")
    write_cat12(tmp_path / "data", "avg_sub-0_T1w", surfaces=False)
    options = ("--parcellation", "neuromorphometrics", "--measure", "Vwm")
    assert command(tmp_path / "data", *options, "--out", tmp_path / "out") == 0
    printed = capsys.readouterr().out
    assert "Vwm of neuromorphometrics" in printed
    assert "There are also 'aparc_DK40'" in printed
    assert "Skipped averages of longitudinal runs: 1." in printed
    table = pd.read_csv(tmp_path / "out" / "regions.csv")
    assert list(table)[:3] == ["subject_id", "TIV", "Right Hippocampus"]
    assert (pd.read_csv(tmp_path / "out" / "quality.csv")["IQR"] == 2.25).all()


@pytest.fixture
def visits(tmp_path):
    """24 visits of 12 persons."""
    for k in range(24):
        write_freesurfer(tmp_path / "subjects", f"sub-{k // 2:02}/ses-{k % 2}")
    return tmp_path / "subjects"


def write_people(path, ids):
    people = pd.DataFrame({"participant_id": ids})
    people["dx"] = [("AD", "CTR")[k % 2] for k in range(len(ids))]
    people.to_csv(path, sep="\t" if path.suffix == ".tsv" else ",", index=False)
    return path


def run_next(printed):
    """Run the last line of what was printed."""
    words = shlex.split(printed.splitlines()[-1].replace("COLUMN", "dx"))
    return main(words[1:])


def test_participants_of_persons_are_written_for_each_visit(visits, tmp_path, capsys):
    path = write_people(tmp_path / "participants.tsv", [f"{k:02}" for k in range(12)])
    out = tmp_path / "out"
    assert command(visits, "--out", out, "--participants", path) == 0
    printed = capsys.readouterr().out
    assert pd.read_csv(out / "failed.csv").empty
    table = pd.read_csv(out / "participants_visits.csv")
    assert list(table) == ["participant_id", "dx"]
    assert list(table["participant_id"])[:2] == ["sub-00_ses-0", "sub-00_ses-1"]
    assert list(table["dx"])[:4] == ["AD", "AD", "CTR", "CTR"]
    assert "failed.csv and participants_visits.csv (participants, one row per visit)." in printed
    assert printed.rstrip().endswith("--subject person")
    assert run_next(printed) == 0
    assert "groups: AD 12, CTR 12" in capsys.readouterr().out


def test_the_participants_are_never_replaced(visits, tmp_path, capsys):
    study = tmp_path / "study"
    study.mkdir()
    path = write_people(study / "participants.csv", [f"{k:02}" for k in range(12)])
    before = path.read_bytes()
    assert command(visits, "--out", study, "--participants", path) == 0
    assert path.read_bytes() == before
    assert run_next(capsys.readouterr().out) == 0
    path = path.rename(study / "quality.csv")
    assert command(visits, "--out", study, "--participants", path) == 1
    assert path.read_bytes() == before


def test_participants_by_visit_may_lack_one(visits, tmp_path, capsys):
    ids = [f"sub-{k % 12:02}_ses-{k // 12}" for k in range(23)]
    path = write_people(tmp_path / "participants.tsv", ids)
    assert command(visits, "--out", tmp_path / "out", "--participants", path) == 0
    printed = capsys.readouterr().out
    assert not (tmp_path / "out" / "participants_visits.csv").exists()
    assert f"1 subject is not listed in {path}." in printed
    assert "--participants-missing drop" in printed
    assert run_next(printed) == 0
    assert "groups: AD 12, CTR 11" in capsys.readouterr().out


def test_persons_who_are_not_listed_have_no_visits(visits, tmp_path, capsys):
    path = write_people(tmp_path / "participants.tsv", [f"{k:02}" for k in range(11)])
    assert command(visits, "--out", tmp_path / "out", "--participants", path) == 0
    printed = capsys.readouterr().out
    assert len(pd.read_csv(tmp_path / "out" / "participants_visits.csv")) == 22
    assert "2 subjects are not listed" in printed
    assert run_next(printed) == 0
    assert "groups: AD 12, CTR 10" in capsys.readouterr().out


def test_other_commands_say_how_a_subjects_folder_becomes_a_table(study, typed):
    told = typed(f"check {study / 'subjects'} --group dx")
    assert (told.code, "table.subjects-folder" in told.codes) == (2, True)


def test_choices_are_those_of_the_library():
    (named,) = [one for one in options_of("read-subjects") if one.name == "segmentations"]
    assert set(named.kind["choices"]) == set(SEGMENTATIONS)
    assert ", ".join(named.kind["choices"]) in named.help
    chosen = parser().parse_args(["read-subjects", "x", "--out", "y"])
    assert (chosen.aseg, chosen.on_error, chosen.stream) == (True, "skip", None)


def test_a_command_that_fails_leaves_no_folder(study):
    out = study / "new" / "out"
    assert command(study / "subjects", "--out", out, "--parcellation", "no such") == 1
    assert not (study / "new").exists()
