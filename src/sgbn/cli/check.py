"""`sgbn check`: what a table holds, and what a comparison would do about it."""

from __future__ import annotations

import argparse

from sgbn.cli.tables import add_table_options, read_cohort


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `check` to the subcommands."""
    parser = commands.add_parser(
        "check",
        help="read a table as `sgbn compare` will, and say what is in it",
        description="Reads a table as `sgbn compare` will and prints what it found: groups, "
        "covariates, sites, missing, constant, copied and outlying values, and what would be done "
        "about each. Exit code 1 if the groups could not be compared.",
        epilog="example: sgbn check table.csv --group diagnosis --covariates age sex --site site",
    )
    add_table_options(parser)
    parser.set_defaults(run=run, after_interrupt="Nothing was written.")


def run(arguments: argparse.Namespace) -> None:
    """Read, review, print."""
    from sgbn.exceptions import InputError
    from sgbn.quality import review

    cohort = read_cohort(arguments)
    print(cohort.summary())
    _print_provenance(cohort.provenance)
    reviewed = review(cohort)
    print()
    for finding in reviewed.findings:
        print(finding)
    if reviewed.stops:
        raise InputError(
            f"the groups cannot be compared: see the {len(reviewed.stops)} lines that begin with "
            "'stop' above."
        )
    print("Nothing stands in the way of `sgbn compare` with the same options and --out FOLDER.")


def _print_provenance(provenance) -> None:  # type: ignore[no-untyped-def]
    """Print what reading left out."""
    for name in ("totals", "ignored", "excluded"):
        columns = provenance.get(name)
        if columns:
            more = ", ..." if len(columns) > 8 else ""
            print(f"columns {name}: {', '.join(map(str, columns[:8]))}{more}")
