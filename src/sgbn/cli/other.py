"""`sgbn status` shows which tasks of a command are done, and which are left.

`sgbn convert` writes a network as a file for another tool.

`sgbn reproduce` runs the paper's experiments.

`sgbn warmup` compiles in advance the machine code that a comparison needs.
"""

from __future__ import annotations

import argparse
import json
import textwrap
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.data import add_column_options, read_cohort
from sgbn.cli.options import (
    TABLE,
    add_command,
    add_options,
    add_worker_options,
    at_least,
    options_of,
    workers,
)
from sgbn.core.problems import InputError, counted

if TYPE_CHECKING:
    from sgbn.core.gaussian import NetworkLike
    from sgbn.paper.experiments.experiment import Experiment
    from sgbn.read.network import NamedGraph
    from sgbn.runs.study import StudyStatus


WIDTH = 100  # characters of a line
MAX_SETTING = 60  # characters that are shown of the value of a setting
WORK, ABOUT = "work", "about.json"  # folder of finished tasks; file with facts about the report


def add_status(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `status` to the subcommands."""
    add_options(add_command(commands, "status", run_status), options_of("status"))


def run_status(arguments: argparse.Namespace) -> None:
    """Read the studies in a folder, and print their state."""
    from sgbn.runs.study import find_studies, study_status

    # Each step of a command has its own folder, which is a study.
    studies = [study_status(folder) for folder in find_studies(arguments.folder)]
    print(f"{arguments.folder}\n")
    for line in _lines_of_steps(studies, arguments.folder):
        print(line)
    for title, entries in _settings_and_versions(studies, arguments.folder):
        print(f"\n{title}\n{_listed(entries)}")
    of_comparison = (arguments.folder / WORK).is_dir()  # an experiment writes no report
    print(f"\n{_in_all(studies, lacking(arguments.folder) if of_comparison else '')}")


def lacking(folder: Path) -> str:
    """Return what the comparison in this folder still lacks; "" if it is complete."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "there is no report"
    if not (folder / WORK).is_dir():
        return f"the folder {WORK} of finished tasks is gone"
    # The first report is written before the slow steps, which it lists as pending.
    return "the report is not complete" if about.get("pending") else ""


def _lines_of_steps(studies: Sequence[StudyStatus], folder: Path) -> list[str]:
    """Return one line per study with tasks: its name, the tasks done, and the time of the last."""
    rows = [
        (
            _name(study, folder),
            _counts(study),
            "" if study.last is None else f"last {study.last:%Y-%m-%d %H:%M:%S}",
        )
        for study in studies
        if study.planned != 0  # the outer study of a command has no tasks
    ]
    widths = [max((len(row[k]) for row in rows), default=0) for k in range(2)]
    return [
        f"  {name:{widths[0]}}  {done:{widths[1]}}  {last}".rstrip() for name, done, last in rows
    ]


def _name(study: StudyStatus, folder: Path) -> str:
    return study.folder.relative_to(folder).as_posix() if study.folder != folder else "tasks"


def _settings_and_versions(
    studies: Sequence[StudyStatus], folder: Path
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield titles and entries: once if they are the same in all studies, else for each study."""
    # The outer study of a comparison has no tasks, but it has the settings of all its steps.
    outer = {study.folder for study in studies if study.planned == 0}
    shown = [study for study in studies if outer.isdisjoint(study.folder.parents)]
    for title in ("settings", "versions"):
        of_studies = {_name(study, folder): getattr(study, title) for study in shown}
        first = of_studies[_name(shown[0], folder)]
        if all(entries == first for entries in of_studies.values()):
            yield title, first
        else:
            yield from ((f"{title} of {name}", entries) for name, entries in of_studies.items())


def _counts(study: StudyStatus) -> str:
    if study.planned is None:
        return f"{study.done} done (an earlier version of sgbn began it, so the total is not known)"
    # Results of tasks that are no longer in the plan of the last start.
    old = study.done - study.planned
    more = f" (and {counted(old, 'result')} of an earlier start)" if old > 0 else ""
    left = f", {study.left} left" if study.left else ""
    return f"{study.done - max(0, old)} of {study.planned} done{left}{more}"


def _listed(entries: Mapping[str, Any]) -> str:
    """Return the entries as an indented paragraph; long values are cut."""
    texts = [f"{name} {value}" for name, value in entries.items()]
    short = [text[:MAX_SETTING] + "..." * (len(text) > MAX_SETTING) for text in texts]
    return textwrap.fill(", ".join(short), WIDTH, initial_indent="  ", subsequent_indent="  ")


def _in_all(studies: Sequence[StudyStatus], lacks: str) -> str:
    left = [study.left for study in studies]
    known = sum(count for count in left if count is not None)
    if known:
        tasks_are = counted(known, "task is", "tasks are")
        return f"{tasks_are} left. Run the same command again: it does only what is left."
    # Studies of earlier versions did not note how many tasks they have.
    if None in left:
        return "For some steps the number of tasks is not known. Run the same command to see it."
    done = "All tasks of the steps that were begun are done"
    return f"{done}, but {lacks}. Run the same command again to go on." if lacks else f"{done}."


MODEL = ".sgbn"


def add_convert(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `convert` to the subcommands."""
    add_options(add_command(commands, "convert", run_convert), options_of("convert"))


def run_convert(arguments: argparse.Namespace) -> None:
    """Read a network, and write it in another format."""
    from sgbn.write.formats import network_text
    from sgbn.write.tables import write_text

    text = network_text(
        _network(arguments.network, arguments.source),
        arguments.to,
        arguments.directions,
        weights=arguments.weights,
    )
    if arguments.out is None:
        print(text, end="")  # a user may redirect it to a file
    else:
        print(f"Wrote {write_text(arguments.out, text)}.")


def _network(path: Path, source: str | None) -> NamedGraph | NetworkLike:
    """Read the network of a file, which may be a saved model."""
    if not path.is_file():
        raise InputError("convert.no-file", file=path).says(
            "{file} is not a file", "Give a file such as networks/GROUP.json of a results folder."
        )
    # --from takes precedence over the ending of the file.
    if source is None and path.suffix == MODEL:
        from sgbn.write.model_files import load
        from sgbn.write.tables import network_of

        saved: NetworkLike = load(path)
        network_of(saved)  # raises InputError for a model that is not a network
        return saved
    from sgbn.write.formats import read_network

    return read_network(path, source)


OF_TABLES = ("exp3", "exp4")  # experiments that can also run on the user's own table


def add_reproduce(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
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
    # If these options were ignored, the user might believe that the experiment used the own table.
    known = {option.dest: option.name for option in TABLE} | {"reference": "reference"}
    given = [
        f"--{name}"
        for dest, name in known.items()
        # A switch that was not typed is False. Only exp4 has --reference.
        if getattr(arguments, dest, None) not in (None, False)
    ]
    if given and not arguments.tables:
        raise InputError("reproduce.no-table", options=", ".join(given)).says(
            "{options:s} can only be used with your own table",
            "Name it with --table, or leave these options out.",
        )
    if arguments.tables and arguments.group is None:
        raise InputError("reproduce.no-group").says(
            "--table needs {group=}", "Name the column with the two groups."
        )
    for name in ("pair", "subject", "block"):
        if getattr(arguments, name) is not None:
            raise InputError("reproduce.persons", argument=name).says(
                "{argument} is not for experiments, which treat each row as another person",
                "Leave it out.",
            )


# The comparison is as small as each step allows, but calls every kernel.
SUBJECTS, SEED = 40, 0  # subjects per group; they have 40 regions, too many for the exact search
FEW: dict[str, Any] = {"n_permutations": 20, "n_pairs": 2, "n_folds": 2, "n_repeats": 1}
FEW_REGIONS = 8  # few enough for the exact search, which has its own kernels


def add_warmup(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `warmup` to the subcommands."""
    add_command(commands, "warmup", run_warmup)


def run_warmup(_: argparse.Namespace) -> None:
    """Compile the kernels, and print how long it took and where the machine code is."""
    from sgbn.core.jit import cache_use

    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the subjects are few on purpose, which gives warnings
        _use_every_kernel()
    used = cache_use()
    if used.folder is None:
        raise InputError("warmup.nowhere").says(
            "no folder for the machine code is writable, so each process would compile it again",
            "Set NUMBA_CACHE_DIR to a writable folder, and start this command again.",
        )
    print(
        f"Compiled {used.n_compiled} kernels and loaded {used.n_loaded} from disk in "
        f"{time.perf_counter() - begin:.0f} s. The machine code is in {used.folder}."
    )


def _use_every_kernel() -> None:
    from sgbn.cohort.simulate import simulate_cohort
    from sgbn.comparison.compare import compare
    from sgbn.comparison.settings import Settings
    from sgbn.learn.sgbn import SGBN

    cohort = simulate_cohort(SUBJECTS, SEED)
    SGBN().fit(cohort.values[:, :FEW_REGIONS])
    # n_jobs=1, because `cache_use` counts only the kernels of this process.
    settings = Settings(seed=SEED, **FEW)
    compare(cohort, settings, n_jobs=1, on_step=lambda step: print(f"{step} ...", flush=True))
