"""`sgbn compare` compares groups, from a table or from time series, and writes a report."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from contextvars import Context
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sgbn.cli.arguments import OptionError, add_worker_options, local_workers, make_folder, workers
from sgbn.cli.commands import add_command, options_of
from sgbn.cli.config import config_text
from sgbn.cli.finished import command_words, finished_key, note_finished, tell_finished
from sgbn.cli.named_edges import with_names
from sgbn.cli.options import ENSEMBLE, HOW, LEARNER, SETTINGS, SUBJECTS_IN_REPORT, WHAT, add_options
from sgbn.cli.status import ABOUT, WORK, lacking
from sgbn.cli.tables import add_table_options, check_tables, show_cohort
from sgbn.cli.wording import in_options, with_options
from sgbn.core.exceptions import InputError, StudyError, counted

if TYPE_CHECKING:
    from sgbn.cohort.cohort import Cohort
    from sgbn.comparison.result import Comparison
    from sgbn.comparison.settings import Settings
    from sgbn.learn.base import LearnedNetwork

PENALISED = ("ORSGBN", "HSGBN")
CONFIG = "config.toml"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `compare` to the subcommands."""
    parser = add_command(commands, "compare", run)
    parser.set_defaults(parser=parser)  # this parser also reads the file of --config
    add_table_options(parser)
    add_options(parser, options_of("compare"))
    add_options(parser.add_argument_group("what is done"), (*WHAT, SUBJECTS_IN_REPORT))
    how = parser.add_argument_group("how thoroughly")
    add_options(how, (*options_of("compare", "how"), *HOW))
    add_worker_options(how)


def run(arguments: argparse.Namespace) -> None:
    """Read the tables, compare the groups, and write and print the results."""
    check_tables(arguments)
    check_learner(arguments)
    if arguments.figures:
        check_finished(arguments.out)
    # Checked before the slow imports, so that a finished comparison is reported at once.
    key = finished_key(arguments)
    # With --figures, figures must be drawn although the comparison is finished.
    if not arguments.figures and tell_finished(arguments.out, key):
        return
    settings = read_settings(arguments)
    cohort = show_cohort(arguments)
    # Only now, because the allowed settings depend on whether the data are time series.
    settings = settings_for(cohort, settings, arguments)
    ask_about_sites(cohort)
    if arguments.edges or settings.among:
        settings = with_names(settings, arguments.edges, cohort)
    # After all checks of names, so that a mistake leaves no folder, but before the long work.
    make_folder(arguments.out)
    learner = read_learner(arguments, settings, cohort)
    # The config has all defaults, because a later version may have others.
    chosen = vars(arguments) | vars(settings)
    # Edges as the user typed them: a config is read like a command line, with SOURCE:TARGET.
    chosen |= {"edges": arguments.edges, "among": settings.among or None}
    config = config_text(arguments.out / CONFIG, chosen)
    if arguments.figures:
        draw_again(cohort, settings, learner, arguments)
    else:
        compare_and_write(cohort, settings, learner, arguments, key, config)


def check_finished(out: Path) -> None:
    """Raise InputError unless the folder holds a complete comparison."""
    lacks = lacking(out)
    if lacks:
        raise InputError(
            f"--figures needs a finished comparison, but in {out} {lacks}. Run the same command "
            "without --figures first."
        )


def ask_about_sites(cohort: Cohort) -> None:
    """Warn of columns that look like sites and were not named, before the long computation."""
    from sgbn.prepare.balance import unnamed_sites

    for finding in unnamed_sites(cohort):
        if finding.level == "warning":  # a finding that stops the comparison is raised later
            print(f"{in_options(str(finding))}\n")


def read_settings(arguments: argparse.Namespace) -> Settings:
    """Make the settings from the options that were given; --quick changes the other defaults."""
    from sgbn.comparison.settings import Settings

    # Edges are read later, because a SOURCE:TARGET is split by the names of the regions.
    names = [option.dest for option in SETTINGS if option.name != "edges"]
    asked = {name: getattr(arguments, name) for name in names}
    given = {name: value for name, value in asked.items() if value is not None}
    try:
        settings = Settings.quick(**given) if arguments.quick else Settings(**given)
    except InputError as error:
        raise OptionError(with_options(str(error))) from error
    # Checked here, before the data are read, because `Settings` does not have the edges yet.
    if arguments.edges and not settings.n_permutations:
        raise OptionError(
            "--edges are tested by permutations, but --permutations is 0. Give --permutations 999."
        )
    for text in arguments.edges or ():
        if ":" not in text:
            raise OptionError(f"--edges {text!r} has no colon. Give two regions as SOURCE:TARGET.")
    return settings


def settings_for(cohort: Cohort, settings: Settings, arguments: argparse.Namespace) -> Settings:
    """Return the settings for this cohort; raise OptionError if an option is not for its data."""
    from sgbn.cohort.series import SeriesCohort
    from sgbn.comparison.compare import flow_of
    from sgbn.comparison.step import NOT_FOR_SERIES

    if isinstance(cohort, SeriesCohort):
        for name in [option.dest for option in LEARNER] + list(NOT_FOR_SERIES):
            given = getattr(arguments, name, None)
            if given is not None and given is not False and given != []:
                # Names that are not in NOT_FOR_SERIES are options of a learner.
                why = NOT_FOR_SERIES.get(name, "SeriesSGBN learns the networks")
                raise OptionError(f"--{name} is not for time series: {why}. Leave --{name} out.")
    elif arguments.learner in (None, ENSEMBLE, "SGBN"):
        # Written out for config.toml, because a later version may have other defaults.
        outliers, transform = settings.outliers or "trim", settings.transform or "none"
        settings = replace(settings, outliers=outliers, transform=transform)
    try:
        return flow_of(cohort).settings(settings).with_repeats(cohort)
    except InputError as error:
        raise OptionError(with_options(str(error))) from error


def check_learner(arguments: argparse.Namespace) -> None:
    """Raise OptionError if the learner does not have ``--gamma`` or ``--alpha``."""
    name = arguments.learner or ENSEMBLE
    if arguments.gamma is not None and name not in (ENSEMBLE, "SGBN"):
        raise OptionError(
            f"--gamma is for the ensemble and SGBN, not for {name}. Leave --gamma out."
        )
    if arguments.alpha is not None and name not in PENALISED:
        learners = " and ".join(PENALISED)
        raise OptionError(
            f"--alpha is for {learners}, not for {name}. Leave --alpha out, or give --learner "
            "ORSGBN."
        )


def read_learner(
    arguments: argparse.Namespace, settings: Settings, cohort: Cohort
) -> LearnedNetwork | None:
    """Return the learner that ``--learner`` names; None means the default learner."""
    import sgbn
    from sgbn.write.model_decoding import class_named

    name = arguments.learner or ENSEMBLE
    if name == ENSEMBLE:
        return ensemble_of(settings, arguments.gamma)
    if name == "SGBN":
        import numpy as np

        from sgbn.learn.classifier import default_learner

        if arguments.gamma is not None:
            return sgbn.SGBN(arguments.gamma)
        return default_learner(np.asarray(cohort.group))  # the same gamma in all groups
    learner = class_named(name)  # the registry of model files has all learners
    return learner() if arguments.alpha is None else learner(alpha=arguments.alpha)


def ensemble_of(settings: Settings, gamma: float | None) -> LearnedNetwork | None:
    """Return the default learner with this sparsity; None if `gamma` is None."""
    from sgbn.comparison.steps.networks import default_ensemble

    return None if gamma is None else default_ensemble(settings, gamma)


def compare_and_write(
    cohort: Cohort,
    settings: Settings,
    learner: LearnedNetwork | None,
    arguments: argparse.Namespace,
    key: str,
    config: str = "",
    more: Callable[[Comparison], str] = lambda _: "",
) -> None:
    """Compare with progress, write all files, and print a summary.

    Parameters
    ----------
    cohort : Cohort
        The subjects, before preparation.
    settings : Settings
        What is compared, and how thoroughly.
    learner : estimator, optional
        The learner of the networks, not yet fitted; None for the default.
    arguments : Namespace
        The options of the command.
    key : str
        The result of `finished_key`, which is kept with the finished files.
    config : str
        The text of config.toml; "" writes none.
    more : callable
        Returns text to print after the summary of a comparison.
    """
    from sgbn.comparison.summary import pending_words

    write = _writer(arguments, config)

    def write_first(so_far: Comparison) -> None:
        if (arguments.out / ABOUT).exists():
            return  # an earlier start of this run wrote a report, which may have more results
        # In an empty context figures are drawn on this machine, even if tasks run on a cluster.
        written = Context().run(write, so_far)
        print(f"Wrote {written[0]}. {pending_words(so_far)}", flush=True)

    comparison = _compared(cohort, settings, learner, arguments, write_first)
    print("Drawing the figures and writing the report", flush=True)
    written = write(comparison)
    summary = "\n\n".join(filter(None, (comparison.summary(), more(comparison))))
    note_finished(arguments.out, key, comparison, written, summary)
    print(f"\n{summary}")
    print(
        f"\nWrote {counted(len(written), 'file')} to {arguments.out}. Open {written[0]} in a "
        "browser."
    )


def draw_again(
    cohort: Cohort,
    settings: Settings,
    learner: LearnedNetwork | None,
    arguments: argparse.Namespace,
) -> None:
    """Draw the figures of a finished comparison, and write nothing else."""
    from sgbn.comparison.report import write_figures

    comparison = _compared(cohort, settings, learner, arguments)
    # On this machine, even if the tasks ran on a cluster.
    files = write_figures(comparison, arguments.out, n_jobs=local_workers(arguments))
    print(f"Wrote {len(files)} files to {files[0].parent}, and nothing else.")


def _compared(
    cohort: Cohort,
    settings: Settings,
    learner: LearnedNetwork | None,
    arguments: argparse.Namespace,
    on_found: Callable[[Comparison], None] | None = None,
) -> Comparison:
    """Compare the groups, and print one line for each step."""
    from sgbn.comparison.compare import compare, flow_of
    from sgbn.comparison.step import STEPS, finished_steps
    from sgbn.comparison.steps.networks import steps_of

    steps = steps_of(flow_of(cohort).settings(settings), learner)
    # The keys are titles, because `on_step` gets only the title of a step.
    numbers = {STEPS[name]: number for number, name in enumerate(steps, start=1)}
    before = {STEPS[name] for name in finished_steps(arguments.out / WORK) if name in steps}

    def say_step(text: str) -> None:
        if before and numbers[text] == 1:
            count = f"{len(before)} of {counted(len(numbers), 'step was', 'steps were')}"
            print(f"{count} finished before. Their results are read, not computed again.")
        finished = " (finished before)" if text in before else ""
        print(f"[{numbers[text]}/{len(numbers)}] {text}{finished}", flush=True)

    try:
        with workers(arguments) as n_jobs:
            return compare(
                cohort,
                settings,
                learner=learner,
                n_jobs=n_jobs,
                folder=arguments.out / WORK,
                progress=True,
                on_found=on_found,
                on_step=say_step,
            )
    except StudyError as error:
        raise StudyError(_other_run(str(error), arguments)) from error


def _other_run(message: str, arguments: argparse.Namespace) -> str:
    """Say which options of an earlier run in the same folder were different, and what to do."""
    if "was begun with other settings" not in message:
        return message
    # `sgbn demo` calls this too, and has no --quick.
    out, quick = arguments.out, getattr(arguments, "quick", False)
    names = {option.dest: f"--{option.name}" for option in (*SETTINGS, *LEARNER)}
    # Between its first line and its advice, the message of `Study` has one line per setting.
    lines = [line.strip().partition(":") for line in message.splitlines()[1:-1]]
    differ = "\n".join(f"  {names.get(name, name)}{colon}{rest}" for name, colon, rest in lines)
    try:
        command = json.loads((out / WORK / "study.json").read_text(encoding="utf-8"))["command"]
    except (OSError, ValueError, KeyError):  # an earlier version wrote the folder
        command = []
    was_quick = "--quick" in command
    which = "another run"
    if was_quick != quick:
        which = "a first look (--quick)" if was_quick else "a full run (without --quick)"
    again = "give its options."
    # A demo has no config, and neither has a run that was stopped before its first report.
    if (out / CONFIG).exists():
        again = f"sgbn compare --config {out / CONFIG} --out {out}"
    return (
        f"{out} already holds {which}, with other options or data:\n{differ}\n"
        "One folder holds one run. To keep both, give another folder (--out). To replace that run, "
        f"delete {out} and start this command again. To go on with that run: {again}"
    )


def _writer(arguments: argparse.Namespace, config: str) -> Callable[[Comparison], list[Path]]:
    """Make the function that writes a comparison to the folder of ``--out``."""
    from sgbn.comparison.report import write_comparison

    return partial(
        write_comparison,
        folder=arguments.out,
        command=command_words(),
        config=config,
        subjects_in_report=arguments.subjects_in_report,
        n_jobs=local_workers(arguments),
        # Kept, so that the complete report does not draw the figures of the first report again.
        drawn=arguments.out / WORK / "figures",
    )
