"""`sgbn compare`: a network per group from a table."""

from __future__ import annotations

import argparse
from pathlib import Path

from sgbn.cli.arguments import at_least, make_folder, number_from
from sgbn.cli.check import print_cohort
from sgbn.cli.tables import add_table_options, read_cohort


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `compare` to the subcommands."""
    parser = commands.add_parser(
        "compare",
        help="learn a network per group from a table",
        description="Checks a table, imputes missing cells, harmonises sites, regresses covariates "
        "out, learns a network per group and writes tables of edges and pictures.",
        epilog="example: sgbn compare table.csv --group diagnosis --covariates age --out results",
    )
    add_table_options(parser)
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument(
        "--gamma",
        type=number_from(0),
        help="sparsity, 0 or more, the same for all groups; smaller gives more edges (1 up to 100 "
        "subjects in the largest group, half the decimal logarithm of their number beyond)",
    )
    parser.add_argument("--workers", type=at_least(1), default=1, help="processes (1)")
    parser.set_defaults(run=run, after_interrupt="Start the same command again.")


def run(arguments: argparse.Namespace) -> None:
    """Read, compare, write, print."""
    from sgbn.comparison import compare, write_comparison
    from sgbn.structure import SGBN

    cohort = read_cohort(arguments)
    print_cohort(cohort)
    make_folder(arguments.out)
    learner = None if arguments.gamma is None else SGBN(arguments.gamma)
    comparison = compare(cohort, learner=learner, n_jobs=arguments.workers)
    print()
    for finding in comparison.review.findings:
        print(finding)
    print()
    for group, fitted in comparison.learners.items():
        kinds = fitted.edge_kinds_.tolist()
        counted = ", ".join(f"{kinds.count(kind)} {kind}" for kind in sorted(set(kinds)))
        print(f"Network of group '{group}': {len(kinds)} edges ({counted}).")
    for path in write_comparison(comparison, arguments.out):
        print(f"Wrote {path}.")
    print("A difference between two learned networks is no finding by itself.")
