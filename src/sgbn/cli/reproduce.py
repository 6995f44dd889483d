"""`sgbn reproduce`: the paper's experiments."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from sgbn.cli.arguments import at_least

Run = Callable[[argparse.Namespace], None]


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
    exp1.add_argument("--permutations", type=at_least(1), default=100, help="random orders (100)")
    exp1.add_argument("--alpha", type=float, default=0.1, help="sparsity (0.1)")
    _add_common(exp1, "exp1", run_exp1)
    exp2 = experiments.add_parser(
        "exp2",
        help="how well are known networks recovered?",
        description="Exp-II: the eight methods that the paper compares with, OR-SGBN, H-SGBN and "
        "SGBN on simulated data from nine published networks.",
        epilog="example: sgbn reproduce exp2 --workers 2 --out exp2",
    )
    exp2.add_argument(
        "--simulations", type=at_least(2), help="data sets a network (50; 30 to calibrate)"
    )
    exp2.add_argument(
        "--networks", type=str.lower, nargs="+", metavar="NAME", help="some of the nine (all)"
    )
    exp2.add_argument("--alpha", type=float, help="sparsity on standardised data (as calibrated)")
    exp2.add_argument("--alpha-raw", type=float, help="sparsity on raw data (as calibrated)")
    exp2.add_argument(
        "--calibrate",
        action="store_true",
        help="instead of the experiment, search the alpha that comes nearest to the paper's tables "
        "on other simulations; the report of the same folder shows it from then on",
    )
    _add_common(exp2, "exp2", run_exp2)


def _add_common(parser: argparse.ArgumentParser, name: str, run: Run) -> None:
    """Add what all experiments have."""
    out = Path(f"sgbn-{name}")
    parser.add_argument("--out", type=Path, default=out, help=f"folder to write to ({out})")
    parser.add_argument("--seed", type=at_least(0), default=0, help="seed of what is random (0)")
    parser.add_argument("--workers", type=at_least(1), default=1, help="processes (1)")
    parser.set_defaults(
        run=run,
        after_interrupt="What was finished is kept: the same command goes on from there.",
    )


def run_exp1(arguments: argparse.Namespace) -> None:
    """Run Exp-I, print its tables, draw its figure."""
    from sgbn.experiments import exp1

    settings = exp1.Settings(arguments.permutations, arguments.alpha, arguments.seed)
    exp1.run(arguments.out, settings, n_jobs=arguments.workers)
    if not any(name.startswith("cobre") for name in exp1.samples()):
        print("No COBRE table: set SGBN_DATA to a folder that holds neuro/cobre_scz.csv.\n")
    _show(arguments.out / "exp1.md", exp1.report(arguments.out), [exp1.draw(arguments.out)])


def run_exp2(arguments: argparse.Namespace) -> None:
    """Run Exp-II or its calibration, print its tables, draw its figures."""
    from sgbn.experiments import exp2, exp2_calibration, exp2_figure, exp2_report

    chosen = {name: getattr(arguments, name) for name in ("simulations", "alpha", "alpha_raw")}
    given = {name: value for name, value in chosen.items() if value is not None}
    settings = exp2.Settings(**given, seed=arguments.seed)
    if arguments.networks:
        settings = replace(settings, networks=tuple(arguments.networks))
    if arguments.calibrate:
        n = arguments.simulations or exp2_calibration.SIMULATIONS
        folder = arguments.out / "calibration"
        exp2_calibration.run(folder, replace(settings, simulations=n), n_jobs=arguments.workers)
        _show(folder / "calibration.md", exp2_calibration.report(folder), [])
        return
    exp2.run(arguments.out, settings, n_jobs=arguments.workers)
    _show(
        arguments.out / "exp2.md",
        exp2_report.report(arguments.out),
        exp2_figure.draw(arguments.out),
    )


def _show(path: Path, text: str, figures: Sequence[Path]) -> None:
    """Write and print a report, and say where its figures are."""
    path.write_text(text)
    print(text)
    for figure in figures:
        print(f"Wrote {figure}.")
