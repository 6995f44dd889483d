"""`sgbn reproduce`: the paper's experiments."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.arguments import add_worker_options, at_least, workers
from sgbn.cli.help import examples
from sgbn.cli.options import TABLE
from sgbn.cli.tables import add_column_options, read_cohort

if TYPE_CHECKING:
    from sgbn.experiments.experiment import Experiment

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
    exp2.add_argument("--simulations", type=at_least(2), help="data sets per network (50)")
    exp2.add_argument(
        "--networks",
        # Names of networks may be typed as the paper has them, such as Alarm.
        type=str.lower,
        nargs="+",
        metavar="NAME",
        help="some of the nine, such as chain (all)",
    )
    exp2.add_argument("--alpha", type=float, help="sparsity on standardised data (0.32)")
    exp2.add_argument("--alpha-raw", type=float, help="sparsity on raw data (0.36)")
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
        # As `read_cohort` has it, which `sgbn compare` uses, too.
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
    """Run Exp-I."""
    from sgbn.experiments import exp1

    settings = exp1.Settings(arguments.permutations, arguments.alpha, arguments.seed)
    data = exp1.samples()
    # Not an error: the simulated cohort is run in any case.
    if not any(name.startswith("cobre") for name in data):
        print("No COBRE table: set SGBN_DATA to a folder that holds neuro/cobre_scz.csv.\n")
    _run(arguments, exp1.EXPERIMENT, settings, data)


def run_exp2(arguments: argparse.Namespace) -> None:
    """Run Exp-II."""
    from sgbn.experiments import exp2, exp2_methods

    names = ("simulations", "alpha", "alpha_raw", "networks", "seed")
    options = {name: getattr(arguments, name) for name in names}
    # Settings have the defaults, which None must not replace.
    given = {name: value for name, value in options.items() if value is not None}
    settings = exp2_methods.Settings(**given)  # refuses an unknown network before any work
    _run(arguments, exp2.EXPERIMENT, settings)


def run_exp3(arguments: argparse.Namespace) -> None:
    """Run Exp-III or its canary."""
    from sgbn.experiments import canary, data, exp3, exp3_methods

    _check_columns(arguments)
    # The default depends on --canary, so that argparse cannot hold it.
    usual = canary.SHUFFLES if arguments.canary else exp3_methods.Settings.splits
    sizes = (arguments.train, arguments.test)
    n_splits = arguments.splits or usual
    settings = exp3_methods.Settings(n_splits, arguments.seed, arguments.k, sizes)
    if arguments.tables:
        samples = {data.TABLE: exp3_methods.to_split(read_cohort(arguments), sizes)}
    else:
        samples = exp3_methods.samples(settings)
        _note_no_tables(len(samples) == len(exp3_methods.SIMULATED))
    if arguments.canary:
        # A folder within that of the experiment, whose report shows it.
        arguments.out /= canary.CANARY.name
        sample = canary.choose_sample(settings, samples)
        _run(arguments, canary.CANARY, settings, {canary.SHUFFLED: sample})
    else:
        _run(arguments, exp3.EXPERIMENT, settings, samples)


def run_exp4(arguments: argparse.Namespace) -> None:
    """Run Exp-IV."""
    from sgbn.experiments import data, exp4, exp4_methods

    _check_columns(arguments)
    sizes = (arguments.permutations, arguments.orders, arguments.k)
    settings = exp4_methods.Settings(arguments.alpha, *sizes, arguments.seed)
    if arguments.tables:
        cohort = read_cohort(arguments)
        samples = {data.TABLE: exp4_methods.make_sample(cohort, settings, arguments.reference)}
    else:
        samples = exp4_methods.samples(settings)
        _note_no_tables(len(samples) == 1)
    _run(arguments, exp4.EXPERIMENT, settings, samples)


def _note_no_tables(none_found: bool) -> None:
    if none_found:
        print("No real tables: set SGBN_DATA to a folder that holds neuro/*.csv.\n")


def _run(
    arguments: argparse.Namespace, experiment: Experiment, settings: Any, data: Any = None
) -> None:
    """Run an experiment where the options say, print its report, and name what else is written."""
    from sgbn.runs import Study

    with workers(arguments) as n_jobs:
        experiment.run(Study(arguments.out, n_jobs, progress=True), settings, data)
    text, paths = experiment.finish(arguments.out)
    print(text)
    for path in paths:
        print(f"Wrote {path}.")


def _check_columns(arguments: argparse.Namespace) -> None:
    """Raise InputError for options of a table without a table, or a table without groups."""
    from sgbn.exceptions import InputError

    # Without a table these would be ignored, and the user's table be thought of as used.
    known = {option.dest: option.name for option in TABLE} | {"reference": "reference"}
    given = [
        f"--{name}"
        for dest, name in known.items()
        # A switch that was not typed is False; only exp4 has --reference.
        if getattr(arguments, dest, None) not in (None, False)
    ]
    if given and not arguments.tables:
        raise InputError(
            f"{', '.join(given)} can only be used with your own table. Name the table with "
            "--table, or leave these options out."
        )
    if arguments.tables and arguments.group is None:
        raise InputError("--table needs --group: say which column has the two groups.")
    for name in ("pair", "subject", "block"):
        if getattr(arguments, name) is not None:
            raise InputError(
                f"--{name}: the experiments take rows for different persons. Leave it out."
            )
