"""`sgbn check`: what a table holds, and what a comparison would do about it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from sgbn.cli.help import examples
from sgbn.cli.tables import add_table_options, show_cohort

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
    parser.set_defaults(run=run, after_interrupt="Nothing was written.")


def run(arguments: argparse.Namespace) -> None:
    """Read, review, print."""
    from sgbn.exceptions import InputError
    from sgbn.preprocessing import prepare
    from sgbn.quality import review, review_prepared

    cohort = show_cohort(arguments)
    reviewed = review(cohort, rows_are_subjects=arguments.rows_are_subjects)
    for finding in reviewed.findings:
        print(finding)
    if reviewed.stops:
        raise InputError("the groups cannot be compared: see what begins with 'stop' above.")
    prepared = prepare(reviewed.cohort)
    for finding in review_prepared(prepared):
        print(finding)
    reason = untestable(prepared)
    if reason:
        print(f"warning: differences of edges would not be tested: {reason}")
    print("Nothing stands in the way of `sgbn compare` with the same options and --out FOLDER.")


def untestable(cohort: Cohort) -> str:
    """Say why the design allows no permutation test of the groups; "" if it allows one."""
    from sgbn.exceptions import InputError
    from sgbn.inference.difference_input import FEWEST_PERMUTATIONS, check_request, read_group_data

    try:
        data = read_group_data(cohort)
        check_request(FEWEST_PERMUTATIONS, "two-sided", 0, data)
    except InputError as error:
        return str(error)
    return ""
