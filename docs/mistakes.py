"""Mistakes that users make, and what `sgbn check` says about each.

python docs/mistakes.py     # writes docs/mistakes.md
"""

import contextlib
import io
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd

from sgbn.cli.main import main
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.problems import Problem

PAGE = Path(__file__).parent / "mistakes.md"
N = 40  # subjects per group
DX, AGE = ("--group", "dx"), ("--covariates", "age")
HEAD = """# Forty mistakes, and what sgbn says

What `sgbn check` and `sgbn compare` say when something is wrong with a table or a command. Exit
code 0 means that the command would run, and the line says what to look at. Exit code 1 means that
the data cannot be used in this form. Exit code 2 means that an option is wrong. Messages count
subjects; with `--names` they name them.

`python docs/mistakes.py` makes each mistake and writes this page. A test checks that the page is up
to date.

| mistake | exit code | what sgbn says |
|---|---|---|
"""


def good_table() -> pd.DataFrame:
    """Return a table without a mistake: id, group, age and eight regions."""
    cohort = simulate_cohort(N)
    frame = pd.DataFrame(cohort.values[:, :8].round(2), columns=cohort.regions[:8])
    frame.insert(0, "age", np.random.default_rng(0).uniform(20, 70, 2 * N).round(1))
    frame.insert(0, "dx", np.where(cohort.group == "control", "CTR", "AD"))
    frame.insert(0, "subject_id", [f"sub-{k:03}" for k in range(2 * N)])
    return frame


GOOD = good_table()
REGION, OTHER = GOOD.columns[3:5]
REGIONS = list(GOOD.columns[3:])


class Mistake(NamedTuple):
    """What a user does, the exit code, and the answer.

    The answer is the code of a problem, or words of the line if it is not about a problem.
    """

    make: Callable[[Path], object]  # writes into the folder; a DataFrame becomes table.csv
    options: tuple[str, ...]
    code: int
    answer: str
    tables: tuple[str, ...] = ("table.csv",)
    command: tuple[str, ...] = ("check",)


def with_cell(column: str, cell: object) -> pd.DataFrame:
    """Return the good table with another cell in the fourth row."""
    frame = GOOD.astype({column: object})
    frame.loc[3, column] = cell
    return frame


def text(content: str) -> Callable[[Path], None]:
    """Return a function that writes a file of this content."""
    return lambda folder: (folder / "table.csv").write_text(content) and None


def copied() -> pd.DataFrame:
    """Return the good table with twenty rows entered twice."""
    return pd.concat([GOOD, GOOD[:20].assign(subject_id=[f"x{k}" for k in range(20)])])


def stacked() -> pd.DataFrame:
    """Return time series of two persons below each other."""
    steps = np.random.default_rng(0).normal(size=(300, 8))
    series = pd.DataFrame(np.cumsum(steps, axis=0), columns=REGIONS)
    return series.assign(dx=["AD"] * 150 + ["CTR"] * 150)


def wide() -> pd.DataFrame:
    """Return 400 regions of 60 subjects."""
    values = np.random.default_rng(0).normal(size=(60, 400))
    return pd.DataFrame(values, columns=[f"roi_{k}" for k in range(400)]).assign(
        dx=["AD", "CTR"] * 30
    )


def two_tables(folder: Path) -> None:
    """Write tables of two hemispheres, of which one lacks a subject."""
    for side, rows in (("lh", slice(0, 60)), ("rh", slice(1, 60))):
        frame = GOOD.iloc[rows, 3:6].set_axis(["insula", "cuneus", "lingual"], axis=1)
        frame = frame.add_prefix(f"{side}_").add_suffix("_thickness")
        frame.insert(0, f"{side}.aparc.thickness", GOOD["subject_id"])
        frame.to_csv(folder / f"{side}.txt", sep="\t", index=False)


def participants(folder: Path) -> pd.DataFrame:
    """Write participants who lack two subjects, and return the regions."""
    GOOD.iloc[2:, :3].to_csv(folder / "participants.tsv", sep="\t", index=False)
    return GOOD.drop(columns=["dx", "age"])


def sheets(folder: Path) -> None:
    """Write a workbook whose second sheet is the table."""
    with pd.ExcelWriter(folder / "table.xlsx") as book:
        pd.DataFrame({"remark": ["data are in the next sheet"]}).to_excel(book, sheet_name="Info")
        GOOD.to_excel(book, sheet_name="Data", index=False)


IS_AD = (GOOD["dx"] == "AD").to_numpy()
SITE = np.resize(["Siemens", "GE", "Philips"], 2 * N)
MISTAKES = {
    "the group's column is misspelt": Mistake(
        lambda _: GOOD, ("--group", "Dx", *AGE), 1, "columns.unknown"
    ),
    "no column of the group is named": Mistake(lambda _: GOOD, AGE, 1, "groups.one"),
    "an age is named as the group": Mistake(lambda _: GOOD, ("--group", "age"), 1, "labels.many"),
    "dates of scans are named as the group": Mistake(
        lambda _: GOOD.assign(dx=[f"2020-01-{1 + k % 28:02}" for k in range(2 * N)]),
        (*DX, *AGE),
        1,
        "groups.many",
    ),
    "groups are 1 and 2, and nothing says who the controls are": Mistake(
        lambda _: GOOD.assign(dx=1 + IS_AD),
        (*DX, *AGE),
        0,
        "reference: 1 (",
    ),
    "groups are 0 and 1": Mistake(
        lambda _: GOOD.assign(dx=IS_AD.astype(int)),
        (*DX, *AGE),
        0,
        "reference: 0 (",
    ),
    "a group has 4 subjects": Mistake(lambda _: GOOD[36:], (*DX, *AGE), 0, "groups.small"),
    "a group has one subject": Mistake(
        lambda _: with_cell("dx", "MCI"), (*DX, *AGE), 1, "groups.one-subject"
    ),
    "a group is spelt in two ways": Mistake(
        lambda _: with_cell("dx", "ctr"), (*DX, *AGE), 1, "labels.spelling"
    ),
    "a subject has no group": Mistake(
        lambda _: with_cell("dx", None), (*DX, *AGE), 1, "labels.missing"
    ),
    "each scanner has one group, and is not named": Mistake(
        lambda _: GOOD.assign(scanner=np.where(IS_AD, "Siemens", "GE")),
        (*DX, *AGE),
        1,
        "sites.unnamed-groups",
    ),
    "each scanner has one group, and is named": Mistake(
        lambda _: GOOD.assign(scanner=np.where(IS_AD, "Siemens", "GE")),
        (*DX, *AGE, "--site", "scanner"),
        1,
        "sites.pure-all",
    ),
    "a column of sites is not named": Mistake(
        lambda _: GOOD.assign(site=SITE), (*DX, *AGE), 0, "sites.unnamed"
    ),
    "rows are entered twice": Mistake(lambda _: copied(), (*DX, *AGE), 1, "rows.copies"),
    "rows are sessions of persons": Mistake(
        lambda _: GOOD.assign(
            subject_id=[f"sub-{k // 2:02}_ses-{1 + k % 2}" for k in range(2 * N)],
            dx=["AD"] * N + ["CTR"] * N,
        ),
        (*DX, *AGE),
        1,
        "rows.sessions",
    ),
    "rows are points in time of two persons": Mistake(
        lambda _: stacked(), DX, 1, "rows.neighbours"
    ),
    "an id appears twice": Mistake(
        lambda _: with_cell("subject_id", "sub-000"),
        (*DX, *AGE),
        1,
        "ids.repeat",
    ),
    "all columns are taken as regions, with age, sex and a patient's number": Mistake(
        lambda _: GOOD.assign(sex=np.resize([0, 1, 1], 2 * N), MRN=np.arange(2 * N) + 4711),
        (*DX, "--regions", "all"),
        1,
        "regions.odd",
    ),
    "a column of numbers is neither a region nor named": Mistake(
        lambda _: GOOD,
        DX,
        1,
        "columns.numbers",
    ),
    "400 regions, 60 subjects": Mistake(
        lambda _: wide(),
        (*DX, "--regions", "all"),
        0,
        "regions.many",
    ),
    "numbers have decimal commas in a file with commas": Mistake(
        lambda _: GOOD.assign(**{REGION: GOOD[REGION].map(lambda x: f"{x:.2f}".replace(".", ","))}),
        (*DX, *AGE),
        1,
        "cells.marks",
    ),
    "a wrong delimiter is given": Mistake(
        lambda _: GOOD,
        (*DX, *AGE, "--delimiter", ";"),
        1,
        "columns.one",
    ),
    "the file has semicolons and decimal commas": Mistake(
        lambda folder: GOOD.to_csv(folder / "table.csv", sep=";", decimal=",", index=False),
        (*DX, *AGE),
        0,
        "No problem was found",
    ),
    "the file has tabs": Mistake(
        lambda folder: GOOD.to_csv(folder / "table.csv", sep="\t", index=False),
        (*DX, *AGE),
        0,
        "No problem was found",
    ),
    "the header is missing": Mistake(
        lambda folder: GOOD.to_csv(folder / "table.csv", header=False, index=False),
        (*DX, *AGE),
        1,
        "columns.no-header",
    ),
    "rows and columns are exchanged": Mistake(
        lambda _: GOOD.set_index("subject_id").T.reset_index(names="name"),
        (*DX, *AGE),
        1,
        "columns.transposed",
    ),
    "a region is the same in all subjects": Mistake(
        lambda _: GOOD.assign(**{REGION: 2.5}),
        (*DX, *AGE),
        0,
        "regions.constant",
    ),
    "a region is missing in all subjects": Mistake(
        lambda _: GOOD.assign(**{REGION: np.nan}),
        (*DX, *AGE),
        0,
        "regions.gaps",
    ),
    "-999 stands for a missing cell": Mistake(
        lambda _: with_cell(REGION, -999), (*DX, *AGE), 1, "cells.sentinel"
    ),
    "a cell of a region is text": Mistake(
        lambda _: with_cell(REGION, "n.b."), (*DX, *AGE), 1, "cells.text"
    ),
    "a date is named as a covariate": Mistake(
        lambda _: GOOD.assign(age=[f"{1 + k % 28}.03.{1940 + k}" for k in range(2 * N)]),
        (*DX, *AGE),
        1,
        "labels.many",
    ),
    "a covariate is the group": Mistake(
        lambda _: GOOD.assign(treated=IS_AD.astype(int)),
        (*DX, *AGE, "treated"),
        1,
        "covariate.is-group",
    ),
    "a covariate is twice another covariate": Mistake(
        lambda _: GOOD.assign(months=GOOD["age"] * 12),
        (*DX, *AGE, "months"),
        0,
        "covariate.collinear",
    ),
    "a region is named as a covariate": Mistake(
        lambda _: GOOD,
        (*DX, *AGE, REGION),
        0,
        "covariate.is-region",
    ),
    "a region is a copy of another region": Mistake(
        lambda _: GOOD.assign(**{OTHER: 2 * GOOD[REGION]}),
        (*DX, *AGE),
        1,
        "regions.copies",
    ),
    "a subject is in other units": Mistake(
        lambda _: GOOD.assign(
            **{
                name: [1000 * x if k == 0 else x for k, x in enumerate(GOOD[name])]
                for name in REGIONS
            }
        ),
        (*DX, *AGE),
        0,
        "subjects.outlying",
    ),
    "the table is in another sheet": Mistake(
        sheets, (*DX, *AGE), 1, "columns.sheet", ("table.xlsx",)
    ),
    "two tables have different subjects": Mistake(
        two_tables,
        DX,
        1,
        "ids.absent",
        ("lh.txt", "rh.txt"),
    ),
    "participants.tsv lacks subjects": Mistake(
        participants,
        (*DX, *AGE, "--participants", "participants.tsv"),
        1,
        "ids.absent",
    ),
    "the file is empty": Mistake(text(""), DX, 1, "file.empty"),
    "there is no such file": Mistake(lambda _: None, DX, 1, "file.absent"),
    "an option is misspelt": Mistake(
        lambda _: GOOD, ("--gruop", "dx"), 2, "there is no option --gruop"
    ),
    "an option with a list of names takes the table": Mistake(
        lambda _: GOOD,
        (*DX, "--exclude", "age", "table.csv"),
        2,
        "table.taken",
        (),
    ),
    "an edge is named without a colon": Mistake(
        lambda _: GOOD,
        (*DX, *AGE, "--out", "results", "--edges", "insula-cuneus"),
        2,
        "edges.colon",
        command=("compare",),
    ),
    "a level of 5 is given for 5 %": Mistake(
        lambda _: GOOD,
        (*DX, *AGE, "--out", "results", "--level", "5"),
        2,
        "--level",
        command=("compare",),
    ),
}


def outcome(mistake: Mistake) -> tuple[int, str, dict[str, str]]:
    """Make the mistake in a folder of its own: exit code, all that is printed, problem -> text."""
    printed, told, text = io.StringIO(), dict[str, str](), Problem.__str__

    def note(problem: Problem) -> str:
        told[problem.code] = text(problem)
        return told[problem.code]

    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        made = mistake.make(Path())
        if isinstance(made, pd.DataFrame):
            made.to_csv("table.csv", index=False)
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            patch.object(Problem, "__str__", note),
        ):
            try:
                code = main([*mistake.command, *mistake.tables, *mistake.options])
            except SystemExit as stop:
                code = int(stop.code or 0)
    return code, printed.getvalue(), told


def row(name: str, mistake: Mistake) -> str:
    """Row of the page: what was done, how it ended, and the line that answers it."""
    code, printed, told = outcome(mistake)
    answer = told.get(mistake.answer, mistake.answer)
    said = next(line for line in printed.splitlines() if answer in line)
    said = re.sub(r"^sgbn \w+: ", "", said)
    for mark in "|*_<":
        said = said.replace(mark, "\\" + mark)
    return f"| {name} | {code} | {said} |\n"


def page() -> str:
    """Text of docs/mistakes.md."""
    return HEAD + "".join(row(name, mistake) for name, mistake in MISTAKES.items())


if __name__ == "__main__":
    PAGE.write_text(page())
