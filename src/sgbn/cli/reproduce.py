"""`sgbn reproduce`: the paper's experiments."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sgbn.cli.arguments import add_worker_options, at_least, workers
from sgbn.cli.help import examples
from sgbn.cli.options import TABLE
from sgbn.cli.tables import add_column_options, read_cohort

Run = Callable[[argparse.Namespace], None]


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `reproduce` to the subcommands."""
    parser = commands.add_parser(
        "reproduce",
        help="run an experiment of the paper and show it beside the paper's figures",
        description="Runs an experiment of the paper. Every finished task is kept in the output "
        "folder: started again, the command does only what is missing.",
        epilog=examples(
            {
                "sgbn reproduce exp1 --permutations 10 --out exp1": "a small run",
                "sgbn reproduce exp2 --help": "what an experiment can be told",
            }
        ),
    )
    experiments: argparse._SubParsersAction[argparse.ArgumentParser] = parser.add_subparsers(
        dest="experiment", metavar="EXPERIMENT", required=True
    )
    _add_exp1(experiments)
    _add_exp2(experiments)
    _add_exp3(experiments)
    _add_exp4(experiments)


def _add_exp1(experiments: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    exp1 = experiments.add_parser(
        "exp1",
        help="does the order of the columns change the network?",
        description="Exp-I: OR-SGBN and H-SGBN on randomly permuted columns, on the simulated "
        "cohort and, where it is found, on the COBRE table (neuro/cobre_scz.csv in the folder that "
        "SGBN_DATA names, else in ../shared/data).",
        epilog=examples({"sgbn reproduce exp1 --workers 2 --out exp1": "as in the paper"}),
    )
    exp1.add_argument("--permutations", type=at_least(1), default=100, help="random orders (100)")
    exp1.add_argument("--alpha", type=float, default=0.1, help="sparsity (0.1)")
    _add_common(exp1, "exp1", run_exp1)


def _add_exp2(experiments: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    exp2 = experiments.add_parser(
        "exp2",
        help="how well are known networks recovered?",
        description="Exp-II: the eight methods that the paper compares with, OR-SGBN, H-SGBN and "
        "SGBN on simulated data from nine published networks.",
        epilog=examples(
            {
                "sgbn reproduce exp2 --workers 2 --out exp2": "as in the paper",
                "sgbn reproduce exp2 --networks chain alarm --simulations 10 --out small": (
                    "some of it"
                ),
            }
        ),
    )
    exp2.add_argument(
        "--simulations", type=at_least(2), help="data sets per network (50; 30 to calibrate)"
    )
    exp2.add_argument(
        "--networks",
        type=str.lower,
        nargs="+",
        metavar="NAME",
        help="some of the nine, such as chain (all)",
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


def _add_exp3(experiments: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    exp3 = experiments.add_parser(
        "exp3",
        help="does discriminative learning help to tell groups apart?",
        description="Exp-III: the SGBN and the SVM classifiers for H-SGBN, OR-SGBN, KL-, MM- and "
        "CL-SGBN beside common classifiers, on simulated cohorts and, where they are found, on the "
        "real tables (neuro/*.csv in the folder that SGBN_DATA names, else in ../shared/data); or "
        "on a table of your own.",
        epilog=examples(
            {
                "sgbn reproduce exp3 --workers 2 --out exp3": "simulated and known tables",
                "sgbn reproduce exp3 --table table.csv --group diagnosis --covariates age sex "
                "--site site --out exp3": "a table of your own",
            }
        ),
    )
    exp3.add_argument(
        "--splits",
        type=at_least(2),
        help="splits, cohorts or shuffles (30; 50 with --canary); below 10 and 20 there are no "
        "verdicts",
    )
    exp3.add_argument(
        "--canary",
        action="store_true",
        help="instead of the experiment, shuffle the labels: every pipeline must then be right in "
        "half of the cases; the report of the same folder shows it from then on",
    )
    exp3.add_argument("--train", type=at_least(10), default=80, help="training subjects (80)")
    exp3.add_argument("--test", type=at_least(4), default=40, help="test subjects (40)")
    exp3.add_argument("--k", type=at_least(2), default=40, help="regions to choose (40)")
    _add_own_table(exp3)
    add_column_options(exp3)
    _add_common(exp3, "exp3", run_exp3)


def _add_exp4(experiments: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    exp4 = experiments.add_parser(
        "exp4",
        help="how do the networks of two groups differ?",
        description="Exp-IV: edges of two groups' networks by H-SGBN, OR-SGBN and SGBN, in all, by "
        "lobe and at the hippocampi, each count with what it is by chance, on the simulated cohort "
        "and, where they are found, on the real tables (neuro/*.csv in the folder that SGBN_DATA "
        "names, else in ../shared/data); or on a table of your own.",
        epilog=examples(
            {
                "sgbn reproduce exp4 --workers 2 --out exp4": "simulated and known tables",
                "sgbn reproduce exp4 --table table.csv --group diagnosis --reference control "
                "--covariates age sex --site site --out exp4": "a table of your own",
            }
        ),
    )
    exp4.add_argument("--alpha", type=float, default=0.1, help="sparsity (0.1)")
    exp4.add_argument(
        "--permutations", type=at_least(19), default=199, help="exchanges between groups (199)"
    )
    exp4.add_argument(
        "--orders", type=at_least(2), default=10, help="orders of the columns, and backwards (10)"
    )
    exp4.add_argument("--k", type=at_least(2), default=40, help="regions to choose (40)")
    _add_own_table(exp4)
    exp4.add_argument(
        "--reference", metavar="LABEL", help="group that the other is compared with (the controls)"
    )
    add_column_options(exp4)
    _add_common(exp4, "exp4", run_exp4)


def _add_own_table(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--table",
        dest="tables",
        type=Path,
        nargs="+",
        metavar="TABLE",
        help="run on this table of two groups only; several are taken for FreeSurfer tables",
    )


def _add_common(parser: argparse.ArgumentParser, name: str, run: Run) -> None:
    """Add what all experiments have."""
    out = Path(f"sgbn-{name}")
    parser.add_argument("--out", type=Path, default=out, help=f"folder to write to ({out})")
    parser.add_argument("--seed", type=at_least(0), default=0, help="seed of what is random (0)")
    add_worker_options(parser, 1)
    parser.set_defaults(
        run=run,
        after_interrupt="What was finished is kept: the same command goes on from there.",
    )


def run_exp1(arguments: argparse.Namespace) -> None:
    """Run Exp-I, print its tables, draw its figure."""
    from sgbn.experiments import exp1

    settings = exp1.Settings(arguments.permutations, arguments.alpha, arguments.seed)
    _run(arguments, exp1.run, arguments.out, settings)
    if not any(name.startswith("cobre") for name in exp1.samples()):
        print("No COBRE table: set SGBN_DATA to a folder that holds neuro/cobre_scz.csv.\n")
    _show(arguments.out / "exp1.md", exp1.report(arguments.out), [exp1.draw(arguments.out)])


def run_exp2(arguments: argparse.Namespace) -> None:
    """Run Exp-II or its calibration, print its tables, draw its figures."""
    from sgbn.datasets import load_network
    from sgbn.experiments import exp2, exp2_calibration, exp2_figure, exp2_report

    chosen = {name: getattr(arguments, name) for name in ("simulations", "alpha", "alpha_raw")}
    given = {name: value for name, value in chosen.items() if value is not None}
    settings = exp2.Settings(**given, seed=arguments.seed)
    if arguments.networks:
        for name in arguments.networks:
            load_network(name)  # refused before any work
        settings = replace(settings, networks=tuple(arguments.networks))
    if arguments.calibrate:
        n = arguments.simulations or exp2_calibration.SIMULATIONS
        folder = arguments.out / "calibration"
        _run(arguments, exp2_calibration.run, folder, replace(settings, simulations=n))
        _show(folder / "calibration.md", exp2_calibration.report(folder), [])
        return
    _run(arguments, exp2.run, arguments.out, settings)
    text = exp2_report.report(arguments.out)
    _show(arguments.out / "exp2.md", text, exp2_figure.draw(arguments.out))


def run_exp3(arguments: argparse.Namespace) -> None:
    """Run Exp-III or its canary, print its tables, draw its figures."""
    from sgbn.experiments import exp3, exp3_canary, exp3_figure, exp3_report

    _check_columns(arguments)
    usual = exp3_canary.SHUFFLES if arguments.canary else exp3.Settings.splits
    n_splits = arguments.splits or usual
    sizes = (arguments.train, arguments.test)
    settings = exp3.Settings(n_splits, arguments.seed, arguments.k, sizes)
    if arguments.tables:
        data = exp3.table_samples(read_cohort(arguments), settings)
    else:
        data = exp3.samples(settings)
        if len(data) == len(exp3.SIMULATED):
            print("No real tables: set SGBN_DATA to a folder that holds neuro/*.csv.\n")
    if arguments.canary:
        folder = arguments.out / "canary"
        sample = exp3_canary.canary_sample(settings, data)
        _run(arguments, exp3_canary.run, folder, settings, sample)
        _show(folder / "canary.md", exp3_canary.report(folder), [])
        return
    _run(arguments, exp3.run, arguments.out, settings, data)
    rows = exp3.write_rows(arguments.out, exp3.read(arguments.out))
    text = exp3_report.report(arguments.out)
    _show(arguments.out / "exp3.md", text, [rows, *exp3_figure.draw(arguments.out)])


def run_exp4(arguments: argparse.Namespace) -> None:
    """Run Exp-IV, print its tables, draw its figures."""
    from sgbn.experiments import exp4, exp4_figure, exp4_report

    _check_columns(arguments)
    sizes = (arguments.permutations, arguments.orders, arguments.k)
    settings = exp4.Settings(arguments.alpha, *sizes, arguments.seed)
    if arguments.tables:
        cohort = read_cohort(arguments)
        data = {exp4.TABLE: exp4.make_sample(cohort, settings, arguments.reference)}
    else:
        data = exp4.samples(settings)
        if len(data) == 1:
            print("No real tables: set SGBN_DATA to a folder that holds neuro/*.csv.\n")
    _run(arguments, exp4.run, arguments.out, settings, data)
    text = exp4_report.report(arguments.out)
    _show(arguments.out / "exp4.md", text, exp4_figure.draw(arguments.out))


def _run(arguments: argparse.Namespace, run: Callable[..., Any], folder: Path, *given: Any) -> None:
    """Run an experiment where the options say."""
    from sgbn.runs import Study

    with workers(arguments) as n_jobs:
        run(Study(folder, n_jobs, progress=True), *given)


def _check_columns(arguments: argparse.Namespace) -> None:
    """Refuse options that describe a table where none is given, and a table without groups."""
    from sgbn.exceptions import InputError

    names = (*(one.name for one in TABLE), "reference")
    given = [f"--{name}" for name in names if getattr(arguments, name, None) not in (None, False)]
    if given and not arguments.tables:
        raise InputError(
            f"{', '.join(given)}: such options describe a table of your own. Say which table "
            "(--table), or leave them out."
        )
    if arguments.tables and arguments.group is None:
        raise InputError("--table needs --group: say which column has the two groups.")
    for name in ("pair", "subject", "block"):
        if getattr(arguments, name) is not None:
            raise InputError(
                f"--{name}: the experiments take rows for different persons. Leave it out."
            )


def _show(path: Path, text: str, figures: Sequence[Path]) -> None:
    """Write and print a report, and say what else was written."""
    path.write_text(text)
    print(text)
    for figure in figures:
        print(f"Wrote {figure}.")
