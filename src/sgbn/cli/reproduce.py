"""`sgbn reproduce`: the paper's experiments."""

from __future__ import annotations

import argparse
from pathlib import Path

from sgbn.cli.arguments import at_least


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `reproduce` to the subcommands."""
    parser = commands.add_parser(
        "reproduce",
        help="run an experiment of the paper and show it beside the paper's figures",
        description="Runs an experiment of the paper. Every finished task is kept in the output "
        "folder: started again, the command does only what is missing.",
    )
    experiments = parser.add_subparsers(dest="experiment", metavar="EXPERIMENT", required=True)
    exp1 = experiments.add_parser(
        "exp1",
        help="does the order of the columns change the network?",
        description="Exp-I: OR-SGBN and H-SGBN on randomly permuted columns, on the simulated "
        "cohort and, where it is found, on the COBRE table (neuro/cobre_scz.csv in the folder that "
        "SGBN_DATA names, else in ../shared/data).",
        epilog="example: sgbn reproduce exp1 --workers 2 --out exp1",
    )
    exp1.add_argument("--out", type=Path, default=Path("sgbn-exp1"), help="folder to write to")
    exp1.add_argument("--permutations", type=at_least(1), default=100, help="random orders (100)")
    exp1.add_argument("--alpha", type=float, default=0.1, help="sparsity (0.1)")
    exp1.add_argument("--seed", type=at_least(0), default=0, help="seed of the permutations (0)")
    exp1.add_argument("--workers", type=at_least(1), default=1, help="processes (1)")
    exp1.set_defaults(
        run=run_exp1,
        after_interrupt="What was finished is kept: the same command goes on from there.",
    )


def run_exp1(arguments: argparse.Namespace) -> None:
    """Run Exp-I, print its tables, draw its figure."""
    from sgbn.experiments import exp1

    settings = exp1.Settings(arguments.permutations, arguments.alpha, arguments.seed)
    exp1.run(arguments.out, settings, n_jobs=arguments.workers)
    if not any(name.startswith("cobre") for name in exp1.samples()):
        print("No COBRE table: set SGBN_DATA to a folder that holds neuro/cobre_scz.csv.\n")
    text = exp1.report(arguments.out)
    (arguments.out / "exp1.md").write_text(text)
    print(text)
    print(f"Wrote {exp1.draw(arguments.out)}.")
