"""Reading a cohort from the tables that a command names."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sgbn.cli.arguments import OptionError
from sgbn.cli.options import COLUMNS, FILES, ROWS, SERIES, TABLE, TABLES, WHAT, add_options

if TYPE_CHECKING:
    from sgbn.cohort import Cohort

SUFFIXES = (".csv", ".tsv", ".txt", ".xlsx", ".xls", ".parquet", ".gz", ".npz")  # of tables
# Columns that reading left out.
LEFT_OUT = ("totals", "other_measures", "other_lobes", "excluded", "ignored")


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add the tables, which `check_tables` asks for, and what their columns are."""
    add_options(parser, [TABLES])
    add_column_options(parser)
    add_options(parser.add_argument_group("time series"), SERIES)
    add_options(parser, [ROWS])


def add_column_options(parser: argparse.ArgumentParser) -> None:
    """Add what the columns of the tables are; the parser has its own argument `tables`."""
    add_options(parser.add_argument_group("columns"), COLUMNS)
    add_options(parser.add_argument_group("rows and files"), FILES)


def check_tables(arguments: argparse.Namespace) -> None:
    """Raise OptionError if no table is named, and name the option that took the table as a value.

    A folder of subjects is not a table either: the error names the command that makes one of it.
    """
    if arguments.tables:
        for path in arguments.tables:
            _refuse_subjects(path, arguments.command)
        return
    # `in` a Namespace asks whether the command has the option, not whether it was given.
    also = " Give one, or a --config that names it." if "config" in arguments else " Give one."
    # An option of many values takes a table that follows it.
    for option in (*TABLE, *WHAT):
        taken = getattr(arguments, option.dest, None)
        # Only lists can have swallowed it.
        if isinstance(taken, list) and (tables := [name for name in taken if _is_table(str(name))]):
            raise OptionError(
                f"no table is named: --{option.name} took {tables[0]!r} for one of its names. Put "
                f"the table before the options, as in `sgbn {arguments.command} {tables[0]} "
                f"--{option.name} ...`."
            )
    raise OptionError(f"no table is named.{also}")


def _refuse_subjects(path: Path, command: str) -> None:
    if not path.is_dir():
        return
    from sgbn.io.subjects import is_subjects_folder

    if is_subjects_folder(path):
        raise OptionError(
            f"{path} is a folder of FreeSurfer, FastSurfer or CAT12 subjects. Make a table of it: "
            f"`sgbn read-subjects {path} --out FOLDER`, then `sgbn {command} "
            "FOLDER/regions.csv ...`."
        )


def _is_table(name: str) -> bool:
    return Path(name).suffix.lower() in SUFFIXES or Path(name).exists()


def show_cohort(arguments: argparse.Namespace) -> Cohort:
    """Read a cohort, and print what it holds and which columns reading left out."""
    from sgbn.exceptions import listed

    cohort = read_cohort(arguments)
    print(cohort.summary())
    if len(cohort.groups) > 1:
        print(_reference_line(cohort.groups, arguments.reference))
    for name in LEFT_OUT:
        if cohort.provenance.get(name):
            print(f"columns left out, {name.replace('_', ' ')}: {listed(cohort.provenance[name])}")
    atlas_file = cohort.provenance.get("atlas_file")
    if atlas_file and arguments.atlas is None:
        print(f"atlas: {atlas_file}, as sgbn extract wrote it (found; --atlas takes another)")
    people = cohort.provenance.get("participants")
    # What was found beside the data needs a line: the user did not ask for it.
    if people and arguments.participants is None:
        print(f"participants: {people['source']} (found; --participants takes another)")
    if cohort.provenance.get("ids") == "row numbers":
        print("no column of subjects' names was found: rows are numbered (--id names one)")
    print()
    return cohort


def _reference_line(groups: Sequence[str], asked: str | None) -> str:
    """Which group the others are compared with, why, and how to change it."""
    from sgbn.reference import choose_reference, why_reference

    change = "" if asked is not None else "; --reference GROUP takes another"
    return f"reference: {choose_reference(groups, asked)} ({why_reference(groups, asked)}{change})"


def read_cohort(arguments: argparse.Namespace) -> Cohort:
    """Cohort that the options describe."""
    from sgbn.exceptions import InputError
    from sgbn.io import read_freesurfer
    from sgbn.io.series import read_any

    options = {option.dest: getattr(arguments, option.dest) for option in TABLE}
    for name, value in options.items():
        if isinstance(value, list):
            options[name] = list(dict.fromkeys(value))  # said twice is said once
    # What is given to `read_freesurfer` and `read_any` alike stays in `options`.
    lobes = options.pop("lobes")  # the reader finds the atlas first
    sheet = options.pop("sheet")
    # With a default: `sgbn reproduce` has no options of time series.
    series = {option.dest: getattr(arguments, option.dest, None) for option in SERIES}
    if options.pop("freesurfer") or len(arguments.tables) > 1:
        if sheet is not None:
            raise InputError(
                "--sheet is for one Excel table: FreeSurfer tables (--freesurfer, or several) "
                "have none. Leave it out."
            )
        given = [f"--{name}" for name, value in series.items() if value is not None]
        if given:
            raise InputError(f"{given[0]} is for time series, not for FreeSurfer tables.")
        cohort = read_freesurfer(*arguments.tables, **options)
    else:
        cohort = read_any(arguments.tables[0], sheet=sheet, **options, **series)
    return cohort if lobes is None else _of_lobes(cohort, lobes)


def _of_lobes(cohort: Cohort, lobes: list[str]) -> Cohort:
    """Regions of those lobes; the provenance says which were left out."""
    part = cohort.subset(lobes=lobes)
    # Kept, so that a region named in --edges or --among is said to be left out, not unknown.
    left_out = [name for name in cohort.regions if name not in set(part.regions)]
    return replace(part, provenance={**cohort.provenance, "lobes": lobes, "other_lobes": left_out})
