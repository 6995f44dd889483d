"""No file that may be passed on, and no line of the terminal, depends on the names of subjects.

The same commands run twice on data that differ only in these names: once with names that are
ordinary words, first names, digits, regions and groups, once with s00, s01, ... in the same order.
Whatever differs shows a name, however it is written.
"""

import json
import re
import sys
import zipfile
from pathlib import Path

import nibabel as nib
import numpy as np
import pandas as pd

from sgbn.cli import main
from sgbn.core import problems

REGIONS = ["Frontal_Sup_L", "Frontal_Sup_R", "Hippocampus_L", "Insula_L", "Temporal_Sup_L"]
NAMES = sorted(
    [
        *("the", "and", "left", "far", "edges", "subject", "row", "no", "age", "group", "site"),
        *("maria", "Ann", "Jürgen", "José", "Łukasz", "Maria Silva", "van der Berg", "李雷"),
        *("control", "patient", "A", "B1", "x", "12.5", "100%", *map(str, range(1, 10)), *REGIONS),
    ]
)
NEUTRAL = [f"s{k:02}" for k in range(len(NAMES))]
FEW = "--permutations 40 --half-samples 3 --folds 2 --repeats 1 --workers 1 --quick"
# Digests of the data, which hold the names too, and times
MASKS = r"\b[0-9a-f]{16,}\b|\d\d:\d\d:\d\d|\"seconds\": \{[^}]*\}|<table id=\"seconds\".*?</table>"


def study(ids):
    """A table with an outlier, gaps, repeated rows and a site of one subject."""
    rng, n = np.random.default_rng(0), len(ids)
    frame = pd.DataFrame({"subject_id": ids, "dx": np.resize(["control", "patient"], n)})
    frame["age"], frame["site"] = rng.integers(20, 70, n), np.resize(["P", "P", "Q", "Q"], n)
    frame.loc[5, "site"] = "R"
    X = rng.standard_normal((n, len(REGIONS)))
    X[:, 1] += np.where(frame["dx"] == "patient", -0.9, 0.9) * X[:, 0]
    frame[REGIONS] = (4000 + 400 * X).round(1)
    frame.loc[7, REGIONS] *= 3.0
    frame.loc[9, REGIONS[:4]] = np.nan
    frame.loc[[11, 14], REGIONS[2]] = np.nan
    frame.loc[21, REGIONS] = frame.loc[20, REGIONS]
    return frame


def write_inputs(ids):
    frame = study(ids)
    frame.to_csv("table.csv", index=False)
    new = frame.iloc[::9].drop(columns="dx")
    new.loc[new.index[0], REGIONS[0]] = 9e6
    new.to_csv("new.csv", index=False)
    frame.drop(columns=REGIONS).to_csv("participants.tsv", sep="\t", index=False)
    wrong = frame.assign(other=[f"{name} (again)" for name in ids])
    wrong.to_csv("second_id.csv", index=False)
    frame.set_index("subject_id").T.to_csv("transposed.csv")
    for folder in ("series", "short", "images"):
        Path(folder).mkdir()
    labels = np.repeat([1.0, 2.0], 32).reshape(4, 4, 4)
    nib.save(nib.Nifti1Image(labels, np.eye(4)), "atlas.nii")
    Path("names.csv").write_text("index,name\n1,insula\n2,cuneus\n")
    rng = np.random.default_rng(1)
    for k, name in enumerate(ids):
        noise = rng.standard_normal((60, 4))
        noise[:, 1] += noise[:, 0]
        noise = pd.DataFrame(noise.round(4), columns=list("abcd"))
        noise.to_csv(f"series/{name}.csv", index=False)
        noise[: 6 if k == 3 else 60].to_csv(f"short/{name}.csv", index=False)
        if NAMES[k].isascii() and NAMES[k].isalnum():
            image = nib.Nifti1Image(labels + 0.1 * rng.random((4, 4, 4)) + (k == 20), np.eye(4))
            nib.save(image, f"images/sub-{name}_probseg.nii")
    Path(f"images/sub-{ids[NAMES.index('maria')]}_probseg.nii").write_text("no image")


TABLE = (
    "HERE/table.csv --group dx --covariates age --site site --rows-are-subjects --model "
    f"--deviations {FEW} --out results"
)
RUNS = (
    "check table.csv --group dx --covariates age --site site",
    f"compare table.csv --group dx --covariates age --site site {FEW} --out results",
    f"compare {TABLE}",
    f"compare {TABLE}",  # again, from the note of the finished run
    "predict results/model.sgbn new.csv --out predicted.csv",
    "check short --participants participants.tsv --group dx",
    "check series --participants participants.tsv --group dx",
    "check second_id.csv --group dx --covariates age --regions all --exclude site",
    "check transposed.csv --group dx",
    "check table.csv --group dx --covariates age --exclude site --site subject_id",
    "check table.csv --group subject_id",
    "extract images --atlas atlas.nii --labels names.csv --workers 1 --on-error skip --out found",
    f"compare series --participants participants.tsv --group dx {FEW} --out of_series",
)


def run(ids, folder, runs, outs, monkeypatch, capsys):
    """What the commands print, and the contents of all files that may be passed on."""
    folder.mkdir()
    monkeypatch.chdir(folder)
    write_inputs(ids)
    shared = {}
    for number, words in enumerate(runs):
        typed = words.replace("HERE", str(folder)).split()
        monkeypatch.setattr(sys, "argv", ["sgbn", *typed])
        code = main(typed)
        printed = capsys.readouterr()
        shared[f"{number}: {words}"] = f"{printed.out}\n{printed.err}\n{code}"
    for out in map(Path, outs):
        private = json.loads((out / "about.json").read_text())["private"]
        assert "tables/subjects.csv" in private or out.name == "of_series"
        for path in sorted(out.rglob("*")):
            name = path.relative_to(out).as_posix()
            if path.is_file() and name not in private and not name.startswith("work/steps"):
                shared[path.as_posix()] = content(path)
                assert name.startswith("work/") or str(folder) not in shared[path.as_posix()]
    masks = rf"{re.escape(str(folder))}|{MASKS}"
    return {name: re.sub(masks, "…", text, flags=re.DOTALL) for name, text in shared.items()}


def content(path):
    if not zipfile.is_zipfile(path):
        return path.read_bytes().decode("latin-1")
    with zipfile.ZipFile(path) as parts:
        return "".join(parts.read(name).decode("latin-1") for name in parts.namelist())


def differing(folder, monkeypatch, capsys, runs=RUNS, outs=("results", "of_series")):
    """What differs between named and neutral subjects."""
    named = run(NAMES, folder / "named", runs, outs, monkeypatch, capsys)
    neutral = run(NEUTRAL, folder / "neutral", runs, outs, monkeypatch, capsys)
    assert named.keys() == neutral.keys()
    return {name for name, text in named.items() if text != neutral[name]}


def test_nothing_that_is_passed_on_depends_on_names(tmp_path, monkeypatch, capsys):
    assert differing(tmp_path, monkeypatch, capsys) == set()


def test_a_planted_leak_is_found(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(problems, "_people", lambda name, value, front: str(value))
    found = differing(tmp_path, monkeypatch, capsys, RUNS[2:3], ("results",))
    assert found >= {f"0: {RUNS[2]}", "results/report.html", "results/tables/findings.csv"}
