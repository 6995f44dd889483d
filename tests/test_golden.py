"""What eight fixed comparisons say, as a user reads it: tests/golden has one text for each.

A text has what the commands print, summary.txt, the report without its scripts and pictures, and
the first rows of all tables. If a change of the words or numbers is wanted, `pytest
tests/test_golden.py --update` writes the texts anew, and the diff of git shows the change.
"""

import csv
import difflib
import platform
import re
import shlex
import sys
from html.parser import HTMLParser
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sgbn.cli import main

GOLDEN = Path(__file__).parent / "golden"
REGIONS = ["Frontal_Sup_L", "Frontal_Sup_R", "Hippocampus_L", "Insula_L", "Temporal_Sup_L"]
THICKNESS = [f"{side}_{name}_thickness" for side in ("lh", "rh") for name in ("insula", "cuneus")]
VOLUMES = ["Left-Thalamus", "Left-Hippocampus", "Right-Hippocampus"]
# The permutations are not 19, 39 or 99: a p of 0.025 or 0.125 could be rounded either way.
FEW = "--permutations 40 --half-samples 3 --folds 2 --repeats 1 --workers 1 --out results"
QUICK = f"{FEW} --quick --refinements"
RUNS = {
    "every_step": [
        "check two.csv --group dx --covariates age sex eTIV",
        "compare two.csv --group dx --covariates age sex eTIV --site site --subjects-in-report "
        f"{FEW} --refinements KL-SGBN CL-SGBN",
        "predict results/model.sgbn new.csv --explain",
    ],
    "three_groups": [
        "compare groups.csv --group dx --reference mild --covariates age sex --edges "
        f"Frontal_Sup_R:Hippocampus_L Insula_L:Frontal_Sup_L --among frontal Insula_L {QUICK}",
    ],
    "pairs": [
        f"compare pairs.csv --group visit --pair person --covariates age {QUICK} --sensitivity",
    ],
    "persons": [
        "compare persons.csv --group dx --subject person --block family --site site --covariates "
        f"age {QUICK} --deviations --peers",
    ],
    "gaps": [
        "check gaps.csv --group dx --covariates age --missing -999",
        "compare gaps.csv --group dx --covariates age --smooth age --missing -999 --transform "
        f"normal-scores --outliers keep --select 3 {QUICK}",
    ],
    "replication": [
        f"compare two.csv --group dx --covariates age --replicate half {QUICK} --no-accuracy "
        "--permutations 200",
    ],
    "freesurfer": [
        "compare lh.txt rh.txt aseg.txt --participants people.tsv --group dx --covariates age "
        f"--learner ORSGBN {QUICK}",
    ],
    "series": ["check series --group dx", f"compare series --group dx --covariates age {FEW}"],
}
# These texts also have the explanations of columns and the BibTeX, which are alike in all reports.
WHOLE = ("every_step", "three_groups", "series")
# Earlier versions of scikit-learn deal other folds if rows belong together.
NEEDED = {"pairs": "1.8", "persons": "1.8"}
ROWS = 4  # of each table


def values(rng, flipped, m):
    """Rows of a chain; one of its weights has another sign in some rows."""
    X = rng.standard_normal((len(flipped), m))
    for j in range(1, m):
        X[:, j] += np.where(flipped & (j == 2), -0.9, 0.9) * X[:, j - 1]
    return X


def study(seed, n, groups=("control", "patient"), label="dx"):
    """Subjects with groups, covariates and regions, in numbers of few digits."""
    rng, dx = np.random.default_rng(seed), np.resize(groups, n)
    frame = pd.DataFrame({"subject_id": [f"sub-{k:03}" for k in range(n)], label: dx})
    frame["age"] = rng.integers(20, 70, n)
    frame["sex"] = rng.choice(["F", "M"], n)
    frame["eTIV"] = rng.integers(1300, 1700, n) * 1000
    X = values(rng, dx == groups[-1], len(REGIONS)) + 0.02 * frame[["age"]].to_numpy()
    return pd.concat([frame, pd.DataFrame((4000 + 400 * X).round(1), columns=REGIONS)], axis=1)


def write_two():
    frame = study(1, 100).assign(site=np.resize(["A", "B", "B", "A", "B"], 100))
    frame.loc[frame["site"] == "B", REGIONS] += 200
    frame.loc[7, REGIONS[:3]] *= 1.6
    frame.to_csv("two.csv", index=False)
    frame.iloc[::17].drop(columns="dx").to_csv("new.csv", index=False)


def write_groups():
    study(2, 90, ("control", "mild", "severe")).to_csv("groups.csv", index=False)


def write_pairs():
    frame = study(3, 60, ("before", "after"), "visit")
    frame.assign(person=[f"p{k // 2:02}" for k in range(60)]).to_csv("pairs.csv", index=False)


def write_persons():
    frame = study(4, 96)
    person = np.arange(96) // 4 * 2 + np.arange(96) % 2  # two sessions in one group
    frame["person"] = [f"p{k:02}" for k in person]
    frame["family"] = [f"f{k:02}" for k in person // 3]  # in both groups
    frame["site"] = np.array(["A", "B"])[person // 6 % 2]
    frame.to_csv("persons.csv", index=False)


def write_gaps():
    frame = study(5, 70)
    holes = np.random.default_rng(5).random((70, len(REGIONS)))
    curved = frame[REGIONS].add(600 * np.sin(frame["age"] / 10), axis=0).round(1)
    frame[REGIONS] = curved.mask(holes < 0.03).mask(holes > 0.99, -999)
    frame.to_csv("gaps.csv", index=False)


def write_freesurfer():
    people, rng = study(6, 60), np.random.default_rng(6)
    flipped = (people["dx"] == "patient").to_numpy()
    X = values(rng, flipped, len(THICKNESS + VOLUMES))
    table = pd.DataFrame((3 + 0.1 * X).round(3), columns=THICKNESS + VOLUMES)
    table[VOLUMES] *= 1000
    table["EstimatedTotalIntraCranialVol"] = people["eTIV"]
    for name, corner, columns in (
        ("lh", "lh.aparc.thickness", THICKNESS[:2]),
        ("rh", "rh.aparc.thickness", THICKNESS[2:]),
        ("aseg", "Measure:volume", [*VOLUMES, "EstimatedTotalIntraCranialVol"]),
    ):
        whole = pd.concat([people["subject_id"].rename(corner), table[columns].round(1)], axis=1)
        whole.to_csv(f"{name}.txt", sep="\t", index=False)
    people = people.rename(columns={"subject_id": "participant_id"})
    people[["participant_id", "dx", "age"]].to_csv("people.tsv", sep="\t", index=False)


def write_series():
    people, rng = study(7, 20), np.random.default_rng(7)
    Path("series").mkdir()
    for subject, group in zip(people["subject_id"], people["dx"], strict=True):
        for run in (1, 2):
            X = values(rng, np.full(50, group == "patient"), 4)
            X[1:] += 0.4 * X[:-1]
            table = pd.DataFrame(X.round(3), columns=[f"Region {k}" for k in range(4)])
            table.iloc[20:22] = np.nan  # censored volumes
            stem = f"series/{subject}_task-rest_run-{run}"
            table.to_csv(f"{stem}_timeseries.tsv", sep="\t", index=False, na_rep="n/a")
            motion = pd.DataFrame({"framewise_displacement": rng.gamma(2, 0.1, 50).round(3)})
            motion.to_csv(f"{stem}_motion.tsv", sep="\t", index=False)
    Path("series/task-rest_bold.json").write_text('{"RepetitionTime": 2}')
    people = people.rename(columns={"subject_id": "participant_id"})
    people.iloc[:, :4].to_csv("series/participants.tsv", sep="\t", index=False)


WRITERS = {
    "every_step": write_two,
    "three_groups": write_groups,
    "pairs": write_pairs,
    "persons": write_persons,
    "gaps": write_gaps,
    "replication": write_two,
    "freesurfer": write_freesurfer,
    "series": write_series,
}


class Page(HTMLParser):
    """The text of a report, with the first rows of its tables."""

    SKIPPED = ("script", "style", "svg", "select", "button")
    LINES = ("h1", "h2", "h3", "p", "li", "tr", "dt", "dd", "caption", "summary", "figcaption")
    LINES += ("pre", "div", "section", "table", "label", "ul", "ol", "nav", "header", "footer")

    def __init__(self, page, whole):
        super().__init__()
        self.whole, self.parts, self.skipped, self.rows = whole, [], [], 0
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        self.rows = 0 if tag == "table" else self.rows + (tag == "tr")
        skipped = (
            tag in self.SKIPPED
            or (tag == "table" and known.get("id") == "seconds")
            or (tag == "tr" and self.rows > ROWS + 1)  # the first one has the names of columns
            or (not self.whole and (known.get("class") == "hints" or known.get("id") == "bibtex"))
        )
        if skipped or self.skipped:
            self.skipped += [tag] if skipped or tag == self.skipped[-1] else []
        elif tag in ("td", "th"):
            self.parts.append(" | ")
        elif tag in self.LINES:
            self.parts.append("\n## " if tag == "h2" else "\n")

    def handle_endtag(self, tag):
        if self.skipped:
            del self.skipped[len(self.skipped) - (tag == self.skipped[-1]) :]
        elif tag in self.LINES:
            self.parts.append("\n")

    def handle_data(self, data):
        if not self.skipped:
            self.parts.append(data)

    def text(self):
        lines = (" ".join(line.split()) for line in "".join(self.parts).splitlines())
        return "\n".join(line for line in lines if line)


def rounded(text):
    """Round numbers to 3 digits or 3 decimals: machines and versions differ in later digits."""
    return re.sub(r"\d+\.\d{4,}(e[-+]?\d+)?", lambda found: _rounded(float(found[0])), text)


def _rounded(number):
    return f"{number:.3g}" if number >= 1 else f"{number:.3f}"


def without_versions(text):
    packages = ("sgbn", "numpy", "scipy", "scikit-learn", "numba")
    versions = [platform.python_version(), *(version(name) for name in packages)]
    pattern = "|".join(map(re.escape, versions))
    return re.sub(rf"(?<![\d.])({pattern})(?!\.?\d)", "VERSION", text)


def head(path):
    """The name, the columns and the first rows of a table."""
    with path.open(newline="", encoding="utf-8") as stream:
        rows = [rounded(" | ".join(row)) for row in islice(csv.reader(stream), ROWS + 1)]
    return "\n".join([f"## {path.name}", *rows])


def told(name, capsys, monkeypatch):
    """Run the commands of a golden text in this folder, and return the text."""
    WRITERS[name]()
    parts = []
    for words in RUNS[name]:
        monkeypatch.setattr(sys, "argv", ["sgbn", *shlex.split(words)])  # the report shows it
        assert main() == 0
        # What is drawn and written is counted, and the summary follows once more.
        printed = capsys.readouterr()
        shown = printed.out.partition("Drawing the figures")[0]
        parts += [f"# sgbn {words}", rounded(shown).rstrip(), rounded(printed.err).strip()]
    out = Path("results")
    parts += ["# summary.txt", (out / "summary.txt").read_text("utf-8").rstrip()]
    parts += ["# report.html", Page((out / "report.html").read_text("utf-8"), name in WHOLE).text()]
    parts += ["# tables", *map(head, sorted((out / "tables").glob("*.csv")))]
    text = without_versions("\n\n".join(filter(None, parts)))
    return text.replace(str(Path.cwd()), "FOLDER") + "\n"


@pytest.mark.parametrize("name", RUNS)
def test_a_comparison_says_what_its_golden_text_says(
    name, tmp_path, monkeypatch, capsys, no_figures, request
):
    pytest.importorskip("sklearn", NEEDED.get(name))
    monkeypatch.chdir(tmp_path)
    text, path = told(name, capsys, monkeypatch), GOLDEN / f"{name}.txt"
    if request.config.getoption("update"):
        path.write_text(text, "utf-8")
    golden = path.read_text("utf-8").splitlines() if path.exists() else []
    diff = difflib.unified_diff(golden, text.splitlines(), f"golden/{name}.txt", "now", lineterm="")
    changed = "\n".join(diff)
    if changed:
        hint = (
            "If this is wanted: pytest tests/test_golden.py --update, and look at the diff of git."
        )
        pytest.fail(f"{changed}\n\n{hint}", pytrace=False)
