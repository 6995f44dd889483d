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

import numpy as np
import pandas as pd

from sgbn.cli.main import main
from sgbn.cohort.simulate import simulate_cohort

PAGE = Path(__file__).parent / "mistakes.md"
N = 40  # subjects per group
DX, AGE = ("--group", "dx"), ("--covariates", "age")
MOST = 260  # characters of a message that the page shows
HEAD = """# Forty mistakes, and what sgbn says

After this page you know what `sgbn check` and `sgbn compare` say when something is wrong with a
table or a command. `python docs/mistakes.py` makes each mistake and writes this page. A test checks
that the page is up to date. Exit code 0 means that the command would run, and the line says what to
look at. Exit code 1 means that the data cannot be used in this form. Exit code 2 means that an
option is wrong.

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
    """What a user does, the exit code, and words that the answer must have."""

    make: Callable[[Path], object]  # writes into the folder; a DataFrame becomes table.csv
    options: tuple[str, ...]
    code: int
    words: tuple[str, ...]
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
        lambda _: GOOD, ("--group", "Dx", *AGE), 1, ("has no column 'Dx'", "Did you mean 'dx'?")
    ),
    "no column of the group is named": Mistake(
        lambda _: GOOD, AGE, 1, ("no group column", "--group")
    ),
    "an age is named as the group": Mistake(
        lambda _: GOOD, ("--group", "age"), 1, ("78 different labels in 80 rows", "--group")
    ),
    "dates of scans are named as the group": Mistake(
        lambda _: GOOD.assign(dx=[f"2020-01-{1 + k % 28:02}" for k in range(2 * N)]),
        (*DX, *AGE),
        1,
        ("28 groups", "Dates, ages and scores cannot be groups"),
    ),
    "groups are 1 and 2, and nothing says who the controls are": Mistake(
        lambda _: GOOD.assign(dx=1 + IS_AD),
        (*DX, *AGE),
        0,
        ("reference: 1 (the first by name: no name looks like controls", "--reference"),
    ),
    "groups are 0 and 1": Mistake(
        lambda _: GOOD.assign(dx=IS_AD.astype(int)),
        (*DX, *AGE),
        0,
        ("reference: 0 (its name looks like controls", "--reference"),
    ),
    "a group has 4 subjects": Mistake(
        lambda _: GOOD[36:], (*DX, *AGE), 0, ("'CTR' has only 4 subjects", "warnings above")
    ),
    "a group has one subject": Mistake(
        lambda _: with_cell("dx", "MCI"), (*DX, *AGE), 1, ("'MCI' has one subject", "--groups")
    ),
    "a group is spelt in two ways": Mistake(
        lambda _: with_cell("dx", "ctr"), (*DX, *AGE), 1, ("differ only in spelling",)
    ),
    "a subject has no group": Mistake(
        lambda _: with_cell("dx", None), (*DX, *AGE), 1, ("the group is missing", "--groups")
    ),
    "each scanner has one group, and is not named": Mistake(
        lambda _: GOOD.assign(scanner=np.where(IS_AD, "Siemens", "GE")),
        (*DX, *AGE),
        1,
        ("'scanner' looks like sites", "--site scanner", "--exclude scanner"),
    ),
    "each scanner has one group, and is named": Mistake(
        lambda _: GOOD.assign(scanner=np.where(IS_AD, "Siemens", "GE")),
        (*DX, *AGE, "--site", "scanner"),
        1,
        ("every site has subjects of one group only", "cannot be separated"),
    ),
    "a column of sites is not named": Mistake(
        lambda _: GOOD.assign(site=SITE), (*DX, *AGE), 0, ("'site' looks like sites", "--site site")
    ),
    "rows are entered twice": Mistake(
        lambda _: copied(), (*DX, *AGE), 1, ("20 pairs of rows are copies", "Keep only one")
    ),
    "rows are sessions of persons": Mistake(
        lambda _: GOOD.assign(
            subject_id=[f"sub-{k // 2:02}_ses-{1 + k % 2}" for k in range(2 * N)],
            dx=["AD"] * N + ["CTR"] * N,
        ),
        (*DX, *AGE),
        1,
        ("80 rows seem to be sessions of 40 persons", "--subject"),
    ),
    "rows are points in time of two persons": Mistake(
        lambda _: stacked(), DX, 1, ("each row resembles the next row", "rows are read as series")
    ),
    "an id appears twice": Mistake(
        lambda _: with_cell("subject_id", "sub-000"),
        (*DX, *AGE),
        1,
        ("the id 'sub-000' is in row 2 and row 5", "--pair"),
    ),
    "all columns are taken as regions, with age, sex and a patient's number": Mistake(
        lambda _: GOOD.assign(sex=np.resize([0, 1, 1], 2 * N), MRN=np.arange(2 * N) + 4711),
        (*DX, "--regions", "all"),
        1,
        ("'age' (by its name)", "'sex'", "'MRN'", "--exclude MRN"),
    ),
    "a column of numbers is neither a region nor named": Mistake(
        lambda _: GOOD,
        DX,
        1,
        ("hold numbers, but they are not known regions", "'age'", "--covariates"),
    ),
    "400 regions, 60 subjects": Mistake(
        lambda _: wide(),
        (*DX, "--regions", "all"),
        0,
        ("400 regions are more than half the number of subjects", "at most 15 regions"),
    ),
    "numbers have decimal commas in a file with commas": Mistake(
        lambda _: GOOD.assign(**{REGION: GOOD[REGION].map(lambda x: f"{x:.2f}".replace(".", ","))}),
        (*DX, *AGE),
        1,
        ("which is not a number", "--decimal ,"),
    ),
    "a wrong delimiter is given": Mistake(
        lambda _: GOOD,
        (*DX, *AGE, "--delimiter", ";"),
        1,
        ("only one column", "--delimiter"),
    ),
    "the file has semicolons and decimal commas": Mistake(
        lambda folder: GOOD.to_csv(folder / "table.csv", sep=";", decimal=",", index=False),
        (*DX, *AGE),
        0,
        ("80 subjects, 8 regions", "No problem was found"),
    ),
    "the file has tabs": Mistake(
        lambda folder: GOOD.to_csv(folder / "table.csv", sep="\t", index=False),
        (*DX, *AGE),
        0,
        ("80 subjects, 8 regions", "No problem was found"),
    ),
    "the header is missing": Mistake(
        lambda folder: GOOD.to_csv(folder / "table.csv", header=False, index=False),
        (*DX, *AGE),
        1,
        ("The first row seems to hold data",),
    ),
    "rows and columns are exchanged": Mistake(
        lambda _: GOOD.set_index("subject_id").T.reset_index(names="name"),
        (*DX, *AGE),
        1,
        ("rows and columns seem to be exchanged", "Transpose"),
    ),
    "a region is the same in all subjects": Mistake(
        lambda _: GOOD.assign(**{REGION: 2.5}),
        (*DX, *AGE),
        0,
        (f"1 region has the same value in all subjects of a group: '{REGION}'", "It is left out"),
    ),
    "a region is missing in all subjects": Mistake(
        lambda _: GOOD.assign(**{REGION: np.nan}),
        (*DX, *AGE),
        0,
        (f"1 region is missing in more than 20% of the subjects of a group: '{REGION}'",),
    ),
    "-999 stands for a missing cell": Mistake(
        lambda _: with_cell(REGION, -999), (*DX, *AGE), 1, ("-999 lies far", "--missing -999")
    ),
    "a cell of a region is text": Mistake(
        lambda _: with_cell(REGION, "n.b."), (*DX, *AGE), 1, ("'n.b.', which is not a number",)
    ),
    "a date is named as a covariate": Mistake(
        lambda _: GOOD.assign(age=[f"{1 + k % 28}.03.{1940 + k}" for k in range(2 * N)]),
        (*DX, *AGE),
        1,
        ("'age'", "different labels"),
    ),
    "a covariate is the group": Mistake(
        lambda _: GOOD.assign(treated=IS_AD.astype(int)),
        (*DX, *AGE, "treated"),
        1,
        ("'treated' is the group under another name",),
    ),
    "a covariate is twice another covariate": Mistake(
        lambda _: GOOD.assign(months=GOOD["age"] * 12),
        (*DX, *AGE, "months"),
        0,
        ("'age', 'months' determine each other", "1 warning above"),
    ),
    "a region is named as a covariate": Mistake(
        lambda _: GOOD,
        (*DX, *AGE, REGION),
        0,
        (f"the covariate '{REGION}' has the name",),
    ),
    "a region is a copy of another region": Mistake(
        lambda _: GOOD.assign(**{OTHER: 2 * GOOD[REGION]}),
        (*DX, *AGE),
        1,
        ("regions are copies of each other", "--exclude"),
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
        ("1 subject is outlying in more than 10% of the regions: 'sub-000'",),
    ),
    "the table is in another sheet": Mistake(
        sheets, (*DX, *AGE), 1, ("has no column", "sheets are 'Data'", "--sheet"), ("table.xlsx",)
    ),
    "two tables have different subjects": Mistake(
        two_tables,
        DX,
        1,
        ("1 subject is in", "but not in", "'sub-000'"),
        ("lh.txt", "rh.txt"),
    ),
    "participants.tsv lacks subjects": Mistake(
        participants,
        (*DX, *AGE, "--participants", "participants.tsv"),
        1,
        ("no row for 2 of 80 subjects", "--participants-missing drop"),
    ),
    "the file is empty": Mistake(text(""), DX, 1, ("is empty", "header")),
    "there is no such file": Mistake(
        lambda _: None, DX, 1, ("there is no file 'table.csv'", "Check the path")
    ),
    "an option is misspelt": Mistake(
        lambda _: GOOD, ("--gruop", "dx"), 2, ("no option --gruop", "Did you mean '--group'")
    ),
    "an option with a list of names takes the table": Mistake(
        lambda _: GOOD,
        (*DX, "--exclude", "age", "table.csv"),
        2,
        ("--exclude took 'table.csv'", "before the options"),
        (),
    ),
    "an edge is named without a colon": Mistake(
        lambda _: GOOD,
        (*DX, *AGE, "--out", "results", "--edges", "insula-cuneus"),
        2,
        ("--edges 'insula-cuneus' has no colon", "SOURCE:TARGET"),
        command=("compare",),
    ),
    "a level of 5 is given for 5 %": Mistake(
        lambda _: GOOD,
        (*DX, *AGE, "--out", "results", "--level", "5"),
        2,
        ("--level: 5 is not a number above 0 and below 1",),
        command=("compare",),
    ),
}


def outcome(mistake: Mistake) -> tuple[int, str]:
    """Make the mistake in a folder of its own: exit code, and all that is printed."""
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        made = mistake.make(Path())
        if isinstance(made, pd.DataFrame):
            made.to_csv("table.csv", index=False)
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            try:
                code = main([*mistake.command, *mistake.tables, *mistake.options])
            except SystemExit as stop:
                code = int(stop.code or 0)
    return code, printed.getvalue()


def row(name: str, mistake: Mistake) -> str:
    """Row of the page: what was done, how it ended, and the line that answers it."""
    code, printed = outcome(mistake)
    lines = printed.splitlines()
    said = next(line for line in lines if mistake.words[0] in line)
    said = re.sub(r"^sgbn \w+: ", "", said)
    short = said if len(said) <= MOST else said[:MOST].rsplit(" ", 1)[0] + " ..."
    for mark in "|*_<":
        short = short.replace(mark, "\\" + mark)
    return f"| {name} | {code} | {short} |\n"


def page() -> str:
    """Text of docs/mistakes.md."""
    return HEAD + "".join(row(name, mistake) for name, mistake in MISTAKES.items())


if __name__ == "__main__":
    PAGE.write_text(page())
