"""`sgbn reproduce` runs the paper's experiments."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.arguments import add_worker_options, at_least, workers
from sgbn.cli.commands import add_command, options_of
from sgbn.cli.options import TABLE, add_options
from sgbn.cli.tables import add_column_options, read_cohort

if TYPE_CHECKING:
    from sgbn.paper.experiments.experiment import Experiment

OF_TABLES = ("exp3", "exp4")  # experiments that can also run on the user's own table


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `reproduce` to the subcommands."""
    parser = add_command(commands, "reproduce")
    experiments: argparse._SubParsersAction[argparse.ArgumentParser] = parser.add_subparsers(
        dest="experiment", metavar="EXPERIMENT", required=True
    )
    runs = {"exp1": run_exp1, "exp2": run_exp2, "exp3": run_exp3, "exp4": run_exp4}
    for name, run in runs.items():
        experiment = add_command(experiments, name, run)
        add_options(experiment, options_of(name))
        if name in OF_TABLES:
            add_column_options(experiment)
        out = Path(f"sgbn-{name}")
        experiment.add_argument(
            "--out", type=Path, default=out, help=f"folder to write to (default: {out})"
        )
        experiment.add_argument(
            "--seed", type=at_least(0), default=0, help="seed of the random numbers (default: 0)"
        )
        add_worker_options(experiment, 1)


def run_exp1(arguments: argparse.Namespace) -> None:
    """Run Exp-I."""
    from sgbn.paper.experiments import exp1

    settings = exp1.Settings(arguments.permutations, arguments.alpha, arguments.seed)
    data = exp1.samples()
    # Not an error, because the experiment runs on the simulated cohort in any case.
    if not any(name.startswith("cobre") for name in data):
        print(
            "The COBRE table was not found. Set SGBN_DATA to a folder with neuro/cobre_scz.csv.\n"
        )
    _run(arguments, exp1.EXPERIMENT, settings, data)


def run_exp2(arguments: argparse.Namespace) -> None:
    """Run Exp-II."""
    from sgbn.paper.experiments import exp2

    names = ("simulations", "alpha", "alpha_raw", "networks", "seed")
    options = {name: getattr(arguments, name) for name in names}
    # None would replace the defaults of Settings.
    given = {name: value for name, value in options.items() if value is not None}
    settings = exp2.Settings(**given)  # raises for an unknown network before any work
    _run(arguments, exp2.EXPERIMENT, settings)


def run_exp3(arguments: argparse.Namespace) -> None:
    """Run Exp-III or its canary."""
    from sgbn.paper.experiments import exp3, experiment

    _check_columns(arguments)
    # argparse cannot have this default, because it depends on --canary.
    usual = exp3.SHUFFLES if arguments.canary else exp3.Settings.splits
    sizes = (arguments.train, arguments.test)
    n_splits = arguments.splits or usual
    settings = exp3.Settings(n_splits, arguments.seed, arguments.k, sizes)
    if arguments.tables:
        samples = {experiment.TABLE: exp3.to_split(read_cohort(arguments), sizes)}
    else:
        samples = exp3.samples(settings)
        _note_no_tables(len(samples) == len(exp3.SIMULATED))
    if arguments.canary:
        shuffled = {exp3.SHUFFLED: exp3.choose_sample(settings, samples)}
        # Inside the folder of the experiment, whose report also shows the canary.
        _run(arguments, exp3.CANARY, settings, shuffled, folder=exp3.CANARY.name)
    else:
        _run(arguments, exp3.EXPERIMENT, settings, samples)


def run_exp4(arguments: argparse.Namespace) -> None:
    """Run Exp-IV."""
    from sgbn.paper.experiments import exp4, experiment

    _check_columns(arguments)
    sizes = (arguments.permutations, arguments.orders, arguments.k)
    settings = exp4.Settings(arguments.alpha, *sizes, arguments.seed)
    if arguments.tables:
        cohort = read_cohort(arguments)
        samples = {experiment.TABLE: exp4.make_sample(cohort, settings, arguments.reference)}
    else:
        samples = exp4.samples(settings)
        _note_no_tables(len(samples) == 1)
    _run(arguments, exp4.EXPERIMENT, settings, samples)


def _note_no_tables(none_found: bool) -> None:
    if none_found:
        print("No real tables were found. Set SGBN_DATA to a folder with neuro/*.csv.\n")


def _run(
    arguments: argparse.Namespace,
    experiment: Experiment,
    settings: Any,
    data: Any = None,
    folder: str = "",
) -> None:
    """Run an experiment, print its report, and name the files that it wrote.

    Parameters
    ----------
    arguments : Namespace
        The options of the command.
    experiment : Experiment
        The experiment to run.
    settings : object
        The settings of this experiment.
    data : dict, optional
        Name of each data set -> the data.
    folder : str
        Name of a folder inside ``--out`` to write to; "" for ``--out`` itself.
    """
    from sgbn.runs.study import Study

    out = arguments.out / folder
    with workers(arguments) as n_jobs:
        experiment.run(Study(out, n_jobs, progress=True), settings, data)
    text, paths = experiment.finish(out)
    print(text)
    for path in paths:
        print(f"Wrote {path}.")


def _check_columns(arguments: argparse.Namespace) -> None:
    """Raise InputError for options of a table without a table, and for a table without groups."""
    from sgbn.core.exceptions import InputError

    # If these options were ignored, the user might believe that the experiment used the own table.
    known = {option.dest: option.name for option in TABLE} | {"reference": "reference"}
    given = [
        f"--{name}"
        for dest, name in known.items()
        # A switch that was not typed is False. Only exp4 has --reference.
        if getattr(arguments, dest, None) not in (None, False)
    ]
    if given and not arguments.tables:
        raise InputError(
            f"{', '.join(given)} can only be used with your own table. Name the table with "
            "--table, or leave these options out."
        )
    if arguments.tables and arguments.group is None:
        raise InputError("--table needs --group. Name the column with the two groups.")
    for name in ("pair", "subject", "block"):
        if getattr(arguments, name) is not None:
            raise InputError(
                f"--{name} cannot be used here, because the experiments treat each row as a "
                "different person. Leave this option out."
            )
