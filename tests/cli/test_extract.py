import argparse
import shlex

import nibabel as nib
import numpy as np
import pandas as pd
import pytest
from tests.codes import refused

from sgbn.cli import extract
from sgbn.cli.main import main

AFFINE = np.diag([-2.0, 2, 2, 1])


def command(*words):
    top = argparse.ArgumentParser(prog="sgbn")
    extract.add_extract(top.add_subparsers(dest="command"))
    chosen = top.parse_args(["extract", *map(str, words)])
    chosen.run(chosen)


def save(path, data):
    path.parent.mkdir(exist_ok=True)
    nib.save(nib.Nifti1Image(data.astype(np.float32), AFFINE), path)


@pytest.fixture
def study(tmp_path):
    labels = np.zeros((8, 8, 8))
    labels[:3], labels[3:6], labels[6:] = 1, 2, 3
    save(tmp_path / "atlas.nii.gz", labels)
    (tmp_path / "names.csv").write_text("index,name\n1,L hippocampus\n2,G&S\n3,insula\n")
    rng = np.random.default_rng(0)
    for k in range(12):
        data = 0.5 + 0.01 * rng.random((8, 8, 8)) + 0.02 * rng.random()
        save(tmp_path / "data" / f"sub-{k:02d}_probseg.nii.gz", data * (3 if k == 5 else 1))
    return tmp_path


def test_the_table_the_sheets_and_the_picture_are_written(study, capsys):
    out = study / "out"
    options = ("--atlas", study / "atlas.nii.gz", "--labels", study / "names.csv", "--out", out)
    command(study / "data", "--workers", 2, *options)
    printed = capsys.readouterr().out
    assert "Measured 3 regions in 12 images (volumes in mm^3)." in printed
    assert "1 subject needs a look: 'sub-05'." in printed
    table = pd.read_csv(out / "regions.csv")
    assert table.columns.tolist() == ["subject_id", "L hippocampus", "G&S", "insula"]
    assert len(table) == 12
    subjects = pd.read_csv(out / "quality_subjects.csv")
    assert subjects.loc[subjects["flagged"], "subject_id"].tolist() == ["sub-05"]
    assert pd.read_csv(out / "quality_regions.csv")["voxels"].tolist() == [192, 192, 128]
    assert (out / "quality.png").stat().st_size > 10_000
    places = pd.read_csv(out / "atlas.csv", keep_default_na=False)
    assert places["region"].tolist() == ["L hippocampus", "G&S", "insula"]
    assert places["x"].tolist() == [-2, -8, -13]
    assert places["volume_mm3"].tolist() == [1536, 1536, 1024]
    last = printed.splitlines()[-1]
    assert last.startswith(f"  sgbn compare {out / 'regions.csv'} --participants participants.tsv")
    first = (out / "regions.csv").read_bytes()
    kept = {path: path.stat().st_mtime_ns for path in (out / "images").rglob("*.npz")}
    command(study / "data", *options)
    assert (out / "regions.csv").read_bytes() == first
    again = {path: path.stat().st_mtime_ns for path in (out / "images").rglob("*.npz")}
    assert again == kept


def test_the_atlas_in_the_folder_of_images_is_no_subject(study, capsys):
    command(study, "--atlas", study / "atlas.nii.gz", "--measure", "mean", "--out", study / "out")
    assert "Measured 3 regions in 12 images (means)." in capsys.readouterr().out


def test_bad_images_are_reported_and_tried_again(study, capsys, typed):
    bad = study / "data" / "sub-03_probseg.nii.gz"
    good = bad.read_bytes()
    bad.write_bytes(good[:60])
    words = (f"{study}/data/sub-*.nii.gz", "--atlas", study / "atlas.nii.gz")
    words += ("--out", study / "out")
    with refused("image.unreadable"):
        command(*words)
    told = typed("extract --on-error skip", *words)
    assert "1 image was left out" in told.out
    assert "sub-0" not in told.out + told.err
    assert told.err.endswith("Add --names to see the names.\n")
    told = typed("extract --on-error skip --names", *words)
    assert "\n  sub-03: " in told.out
    assert "1 subject needs a look: 'sub-05'." in told.out
    assert pd.read_csv(study / "out" / "failures.csv")["subject_id"].tolist() == ["sub-03"]
    bad.write_bytes(good)
    command(*words)
    assert "in 12 images" in capsys.readouterr().out
    assert not (study / "out" / "failures.csv").exists()


def test_time_series_are_one_table_per_subject(study, capsys):
    rng = np.random.default_rng(0)
    for k in range(2):
        data = rng.random((8, 8, 8, 5 + k))
        data[0, :4] = 1 - k  # outside the mask of the second run
        save(study / "runs" / f"sub-{k}_bold.nii.gz", data)
    words = (study / "runs", "--atlas", study / "atlas.nii.gz", "--labels", study / "names.csv")
    command(*words, "--time-series", "--out", study / "series")
    printed = capsys.readouterr().out
    assert "2 tables of 5 to 6 volumes" in printed
    assert "1 subject needs a look: 'sub-1'." in printed
    table = pd.read_csv(study / "series" / "sub-1_timeseries.tsv", sep="\t")
    assert table.columns.tolist() == ["L hippocampus", "G&S", "insula"]
    assert len(table) == 6
    assert pd.read_csv(study / "series" / "quality_subjects.csv")["volumes"].tolist() == [5, 6]


@pytest.mark.parametrize("kind", ["regions", "series"])
def test_the_command_that_is_printed_reads_what_was_extracted(study, capsys, kind):
    rng = np.random.default_rng(0)
    words = [study / "data"]
    if kind == "series":
        for k in range(12):
            save(study / "runs" / f"sub-{k:02d}_bold.nii.gz", rng.random((8, 8, 8, 30)))
        words = [study / "runs", "--time-series"]
    options = ("--atlas", study / "atlas.nii.gz", "--out", study / "my out")
    command(*words, *options)
    printed = shlex.split(capsys.readouterr().out.splitlines()[-1])
    people = study / "participants.tsv"
    groups = [f"sub-{k:02d}\t{'ab'[k % 2]}\n" for k in range(12)]
    people.write_text("participant_id\tdx\n" + "".join(groups))
    given = {"compare": "check", "participants.tsv": str(people), "GROUP": "dx"}
    asked = [given.get(word, word) for word in printed[1 : printed.index("--out")]]
    main(asked)
    said = capsys.readouterr().out
    assert "12 subjects, 3 regions (atlas.nii.gz)" in said
    assert f"atlas: {study / 'my out' / 'atlas.csv'}, written by sgbn extract" in said


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("--atlas aal --out {0}/out", "atlas.download"),
        ("--atlas {0} --out {0}/out", "atlas.no-file"),
        ("--atlas {0}/gone.nii --out {0}/names.csv", "out.unwritable"),
        ("--atlas {0}/gone.nii --out {0}/names.csv --time-series", "out.unwritable"),
    ],
)
def test_what_cannot_be_read_or_written_is_refused_before_any_work(study, words, problem):
    with refused(problem):
        command(study / "data", *words.format(study).split())
