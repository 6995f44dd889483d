"""`sgbn check`: what a table holds, and what a comparison would do about it."""

from __future__ import annotations

import argparse
import warnings
from typing import TYPE_CHECKING

from sgbn.cli.help import examples
from sgbn.cli.options import REFERENCE, add_options
from sgbn.cli.tables import add_table_options, check_tables, show_cohort
from sgbn.exceptions import InputError, counted

if TYPE_CHECKING:
    from sgbn.cohort import Cohort


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `check` to the subcommands."""
    parser = commands.add_parser(
        "check",
        help="read a table as `sgbn compare` will, and say what is in it",
        description="Reads a table as `sgbn compare` will and prints what it found: groups, "
        "covariates, sites, missing, constant, copied and outlying values, rows that are no "
        "subjects of their own, subjects that lie far out, whether normal scores would help, and "
        "what would be done about each. Exit code 1 if the groups could not be compared.",
        epilog=examples(
            {
                "sgbn check table.csv --group diagnosis --covariates age sex --site site": "a CSV "
                "file",
                "sgbn check lh.txt rh.txt --participants participants.tsv --group diagnosis": "two "
                "FreeSurfer tables, joined by subject",
            }
        ),
    )
    add_table_options(parser)
    add_options(parser, [REFERENCE])
    parser.set_defaults(run=run, after_interrupt="Nothing was written.")


def run(arguments: argparse.Namespace) -> None:
    """Read, review, print."""
    from sgbn.preprocessing import prepare
    from sgbn.quality import review, review_prepared

    check_tables(arguments)
    cohort = show_cohort(arguments)
    reviewed = review(cohort, rows_are_subjects=arguments.rows_are_subjects)
    for finding in reviewed.findings:
        print(finding)
    if reviewed.stops:
        stops = counted(len(reviewed.stops), "finding that begins", "findings that begin")
        raise InputError(f"the groups cannot be compared: see the {stops} with 'stop' above.")
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        prepared = prepare(reviewed.cohort)
        later = review_prepared(prepared)
        reason = untestable(prepared)
    said = [f"warning: {text}" for text in dict.fromkeys(str(one.message) for one in raised)]
    if reason:
        said.append(f"warning: differences of edges would not be tested: {reason}")
    for line in (*later, *said):
        print(line)
    n_warnings = sum(one.level == "warning" for one in (*reviewed.findings, *later)) + len(said)
    print(verdict(n_warnings, tested=not reason))


def verdict(n_warnings: int, tested: bool) -> str:
    """Sum up what was found, in one line that agrees with it."""
    command = "`sgbn compare` with the same options and --out FOLDER"
    if not n_warnings:
        return f"Nothing stands in the way of {command}."
    seen = counted(n_warnings, "warning")
    but = "" if tested else ", but would not test which edges differ"
    return f"{seen} above: read {'it' if n_warnings == 1 else 'them'} first. {command} runs{but}."


def untestable(cohort: Cohort) -> str:
    """Say why the design allows no permutation test of the groups; "" if it allows one."""
    from sgbn.inference.difference_input import FEWEST_PERMUTATIONS, check_request, read_group_data

    try:
        data = read_group_data(cohort)
        check_request(FEWEST_PERMUTATIONS, "two-sided", 0, data)
    except InputError as error:
        return str(error)
    return ""
