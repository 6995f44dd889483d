"""Options of the commands that read a cohort from tables."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sgbn.cohort import Cohort

OPTIONS = (
    *("group", "id", "covariates", "site", "pair", "subject", "block", "regions", "lobes"),
    *("exclude", "measure", "groups", "participants", "missing", "atlas", "delimiter", "decimal"),
)
SEVERAL = ("covariates", "regions", "exclude", "measure", "groups", "missing", "lobes")


def add_table_options(parser: argparse.ArgumentParser, needed: bool = True) -> None:
    """Add the tables, and what their columns are; not `needed` where a file may name them."""
    parser.add_argument(
        "tables",
        type=Path,
        nargs="+" if needed else "*",
        metavar="TABLE",
        help="CSV, TSV, Excel or Parquet file, one row a subject; several are taken for FreeSurfer "
        "tables and joined by subject",
    )
    add_column_options(parser)
    parser.add_argument(
        "--rows-are-subjects",
        action="store_true",
        help="rows that look like sessions of a person, copies or points in time are subjects all "
        "the same; the report repeats it",
    )


def add_column_options(parser: argparse.ArgumentParser) -> None:
    """Add what the columns of the tables are; the parser has its own argument `tables`."""
    _add_columns(parser.add_argument_group("columns"))
    _add_rows(parser.add_argument_group("rows and files"))


def _add_columns(columns: argparse._ArgumentGroup) -> None:
    columns.add_argument("--group", metavar="COLUMN", help="column of the groups")
    columns.add_argument("--id", metavar="COLUMN", help="column of the subjects' names")
    columns.add_argument(
        "--covariates",
        nargs="+",
        action="extend",
        metavar="COLUMN",
        help="such as age sex eTIV; this and other lists may be given in parts",
    )
    columns.add_argument("--site", metavar="COLUMN", help="column of the site or scanner")
    columns.add_argument(
        "--pair",
        metavar="COLUMN",
        help="column of the person behind each row, where each has a visit in every group; may be "
        "that of --id",
    )
    columns.add_argument(
        "--subject",
        metavar="COLUMN",
        help="column of the person behind each row, where a person has several rows in one group, "
        "such as sessions: they are exchanged, halved and cross-validated together",
    )
    columns.add_argument(
        "--block",
        metavar="COLUMN",
        help="column of the family of each row, or of another label of rows that are not "
        "independent; it may span groups",
    )
    columns.add_argument(
        "--regions",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="names or patterns such as 'lh_*' of the regions; 'all' takes every numeric column "
        "that is not named otherwise (those that an atlas knows)",
    )
    columns.add_argument(
        "--lobes",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="take the regions of these lobes only, such as frontal temporal; the atlas says which",
    )
    columns.add_argument(
        "--exclude",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="columns or patterns to leave out",
    )
    columns.add_argument(
        "--measure",
        nargs="+",
        action="extend",
        metavar="NAME",
        help="thickness, volume or area, where a table holds several of a region; of several names "
        "each region has the first that there is",
    )


def _add_rows(rows: argparse._ArgumentGroup) -> None:
    rows.add_argument(
        "--groups", nargs="+", action="extend", metavar="LABEL", help="take these groups only"
    )
    rows.add_argument(
        "--freesurfer",
        action="store_true",
        help="the table is one of aparcstats2table or asegstats2table (several always are)",
    )
    add_file_options(rows)
    rows.add_argument("--atlas", help="desikan_killiany, destrieux, aal, aal2 or aal3 (found)")
    rows.add_argument(
        "--sheet",
        help="sheet of an Excel file by name or number, the first is 1; not for FreeSurfer tables "
        "(the first)",
    )


def add_file_options(group: argparse._ArgumentGroup) -> None:
    """Add how the cells of a table are read, and what is joined to it."""
    group.add_argument(
        "--participants", type=Path, metavar="FILE", help="table to join, such as participants.tsv"
    )
    group.add_argument(
        "--missing",
        nargs="*",
        action="extend",
        metavar="VALUE",
        help="stands for a missing cell, such as -999, beside the usual marks; none: take such "
        "numbers as they are",
    )
    group.add_argument("--delimiter", help="between cells (found)")
    group.add_argument("--decimal", choices=(".", ","), help="decimal point or comma (found)")


def read_cohort(arguments: argparse.Namespace) -> Cohort:
    """Cohort that the options describe."""
    from sgbn.exceptions import InputError
    from sgbn.io import read_freesurfer, read_table

    options = {name: getattr(arguments, name) for name in OPTIONS}
    for name in SEVERAL:
        if options[name] is not None:
            options[name] = list(dict.fromkeys(options[name]))  # said twice is said once
    lobes = options.pop("lobes")  # the reader finds the atlas first
    if arguments.freesurfer or len(arguments.tables) > 1:
        if arguments.sheet is not None:
            raise InputError(
                "--sheet is for one Excel table: FreeSurfer tables (--freesurfer, or several) "
                "have none. Leave it out."
            )
        cohort = read_freesurfer(*arguments.tables, **options)
    else:
        cohort = read_table(arguments.tables[0], sheet=arguments.sheet, **options)
    return cohort if lobes is None else _of_lobes(cohort, lobes)


def _of_lobes(cohort: Cohort, lobes: list[str]) -> Cohort:
    """Regions of those lobes; the provenance says which were left out."""
    part = cohort.subset(lobes=lobes)
    others = [name for name in cohort.regions if name not in set(part.regions)]
    return replace(part, provenance={**cohort.provenance, "lobes": lobes, "other_lobes": others})
