"""Functions that read a cohort from the tables of a command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from sgbn.cli.arguments import OptionError
from sgbn.cli.options import COLUMNS, FILES, ROWS, SERIES, TABLE, TABLES, WHAT, add_options

if TYPE_CHECKING:
    from sgbn.cohort.cohort import Cohort

SUFFIXES = (".csv", ".tsv", ".txt", ".xlsx", ".xls", ".parquet", ".gz", ".npz")  # of tables
# Facts of the provenance that list columns which the reader left out.
LEFT_OUT = ("totals", "other_measures", "other_lobes", "excluded", "ignored")


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add the argument for tables, and the options that describe columns, rows and files.

    `check_tables` raises an error if no table is given.
    """
    add_options(parser, [TABLES])
    add_column_options(parser)
    add_options(parser.add_argument_group("time series"), SERIES)
    add_options(parser, [ROWS])


def add_column_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that describe columns, rows and files, without the argument for tables."""
    add_options(parser.add_argument_group("columns"), COLUMNS)
    add_options(parser.add_argument_group("rows and files"), FILES)


def check_tables(arguments: argparse.Namespace) -> None:
    """Raise OptionError if no table is named.

    If an option took the table as one of its values, the error names the option. If the table is a
    folder of subjects, the error names the command that makes a table of it.
    """
    if arguments.tables:
        for path in arguments.tables:
            _refuse_subjects(path, arguments.command)
        return
    # `in` is true if the command has an option --config, whether or not it was given.
    also = " Give one, or a --config that names it." if "config" in arguments else " Give one."
    # An option of several values takes a table that follows it.
    for option in (*TABLE, *WHAT):
        taken = getattr(arguments, option.dest, None)
        # Only an option of several values has a list.
        if isinstance(taken, list) and (tables := [name for name in taken if _is_table(str(name))]):
            raise OptionError(
                f"no table is named: --{option.name} took {tables[0]!r} as one of its values. Put "
                f"the table before the options, as in `sgbn {arguments.command} {tables[0]} "
                f"--{option.name} ...`."
            )
    raise OptionError(f"no table is named.{also}")


def _refuse_subjects(path: Path, command: str) -> None:
    if not path.is_dir():
        return
    from sgbn.read.subjects import is_subjects_folder

    if is_subjects_folder(path):
        raise OptionError(
            f"{path} is a folder of FreeSurfer, FastSurfer or CAT12 subjects. Make a table of it: "
            f"`sgbn read-subjects {path} --out FOLDER`, then `sgbn {command} "
            "FOLDER/regions.csv ...`."
        )


def _is_table(name: str) -> bool:
    return Path(name).suffix.lower() in SUFFIXES or Path(name).exists()


def show_cohort(arguments: argparse.Namespace) -> Cohort:
    """Read a cohort, and print what it holds and which columns were left out."""
    from sgbn.core.exceptions import listed

    cohort = read_cohort(arguments)
    print(cohort.summary())
    if len(cohort.groups) > 1:
        print(_reference_line(cohort.groups, arguments.reference))
    for name in LEFT_OUT:
        if cohort.provenance.get(name):
            print(f"columns left out, {name.replace('_', ' ')}: {listed(cohort.provenance[name])}")
    atlas_file = cohort.provenance.get("atlas_file")
    if atlas_file and arguments.atlas is None:
        print(f"atlas: {atlas_file}, written by sgbn extract (--atlas names another)")
    people = cohort.provenance.get("participants")
    # Printed, because the user did not name this file.
    if people and arguments.participants is None:
        print(f"participants: {people['source']}, found by sgbn (--participants names another)")
    if cohort.provenance.get("ids") == "row numbers":
        print("no column with subjects' names was found: rows are numbered (--id names a column)")
    print()
    return cohort


def _reference_line(groups: Sequence[str], asked: str | None) -> str:
    """Return a line that says which group is the reference, why, and how to change it."""
    from sgbn.cohort.design import choose_reference, why_reference

    change = "" if asked is not None else "; --reference GROUP names another"
    return f"reference: {choose_reference(groups, asked)} ({why_reference(groups, asked)}{change})"


def read_cohort(arguments: argparse.Namespace) -> Cohort:
    """Return the cohort that the options describe."""
    from sgbn.core.exceptions import InputError
    from sgbn.read.series import read_any
    from sgbn.read.table import read_freesurfer

    options = {option.dest: getattr(arguments, option.dest) for option in TABLE}
    for name, value in options.items():
        if isinstance(value, list):
            options[name] = list(dict.fromkeys(value))  # a name that is given twice counts once
    # Only options of both `read_freesurfer` and `read_any` stay in `options`.
    lobes = options.pop("lobes")  # used after reading, when the atlas is known
    sheet = options.pop("sheet")
    # None as default, because `sgbn reproduce` has no options for time series.
    series = {option.dest: getattr(arguments, option.dest, None) for option in SERIES}
    if options.pop("freesurfer") or len(arguments.tables) > 1:
        if sheet is not None:
            raise InputError(
                "--sheet is for one Excel table: FreeSurfer tables (--freesurfer, or several "
                "tables) have no sheets. Leave --sheet out."
            )
        given = [f"--{name}" for name, value in series.items() if value is not None]
        if given:
            raise InputError(
                f"{given[0]} is for time series, not for FreeSurfer tables. Leave {given[0]} out."
            )
        cohort = read_freesurfer(*arguments.tables, **options)
    else:
        cohort = read_any(arguments.tables[0], sheet=sheet, **options, **series)
    return cohort if lobes is None else _of_lobes(cohort, lobes)


def _of_lobes(cohort: Cohort, lobes: list[str]) -> Cohort:
    """Return the regions of these lobes; the provenance says which regions were left out."""
    part = cohort.subset(lobes=lobes)
    # Kept, so that a message about --edges or --among can say that --lobes left a region out.
    left_out = [name for name in cohort.regions if name not in set(part.regions)]
    return replace(part, provenance={**cohort.provenance, "lobes": lobes, "other_lobes": left_out})
