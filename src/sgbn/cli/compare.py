"""`sgbn compare` compares groups, from a table or from time series, and writes a report.

`run_compare` comes first. `run_demo` (`sgbn demo`) compares the groups of a simulated cohort, and
shows the truth beside the results. `with_names` reads the edges that the user chose in advance, and
checks the names in ``--edges`` and ``--among``.

The end notes a finished comparison, so that the same command need not compute it again.
``work/finished.json`` has a hash of all that the files depend on (command, options, data, program
and libraries), a hash of each written file, and the printed summary. If all hashes are still the
same, the command prints the summary again and does nothing else. This module imports no numerical
library, so that this check is fast.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import Context
from dataclasses import replace
from functools import partial
from importlib.metadata import distributions
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sgbn
from sgbn.cli.data import add_table_options, check_tables, show_cohort
from sgbn.cli.options import (
    ENSEMBLE,
    HOW,
    LEARNER,
    SETTINGS,
    SUBJECTS_IN_REPORT,
    WHAT,
    OptionError,
    add_command,
    add_options,
    add_worker_options,
    config_text,
    local_workers,
    make_folder,
    option_names,
    options_of,
    workers,
)
from sgbn.cli.other import ABOUT, WORK, lacking
from sgbn.core.problems import (
    DataWarning,
    InputError,
    Problem,
    StudyError,
    counted,
    did_you_mean,
    give,
    speaking,
)

if TYPE_CHECKING:
    from sgbn.cohort.cohort import Cohort
    from sgbn.cohort.simulate import SimulatedCohort
    from sgbn.cohort.simulate_series import SimulatedSeries
    from sgbn.comparison.result import Comparison
    from sgbn.comparison.settings import Settings
    from sgbn.learn.base import LearnedNetwork


PENALISED = ("ORSGBN", "HSGBN")
CONFIG = "config.toml"
OTHER_RUN = "{folder} already holds a run with other options or data: {differ:s}"
REPLACE = "Give another folder ({out=}) to keep both, or delete this one to replace that run."
GO_ON = REPLACE + " To go on with that run: {again:s}"


def add_compare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `compare` to the subcommands."""
    parser = add_command(commands, "compare", run_compare)
    add_table_options(parser)
    add_options(parser, options_of("compare"))
    add_options(parser.add_argument_group("what is done"), (*WHAT, SUBJECTS_IN_REPORT))
    how = parser.add_argument_group("how thoroughly")
    add_options(how, (*options_of("compare", "how"), *HOW))
    add_worker_options(how)


def run_compare(arguments: argparse.Namespace) -> None:
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
        raise InputError("figures.unfinished", folder=out, lacks=lacks).says(
            "{figures=} needs a finished comparison, but in {folder} {lacks:s}",
            "Run the same command without it first.",
        )


def ask_about_sites(cohort: Cohort) -> None:
    """Warn of columns that look like sites and were not named, before the long computation."""
    from sgbn.prepare.balance import unnamed_sites

    for finding in unnamed_sites(cohort):
        if finding.level == "warning":  # a finding that stops the comparison is raised later
            print(f"{finding}\n")


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
        raise OptionError(error.problem) from error
    # Checked here, before the data are read, because `Settings` does not have the edges yet.
    if arguments.edges and not settings.n_permutations:
        raise OptionError("settings.untested").says(
            "{edges=} are tested by permutations, but there are none", "Give {n_permutations=999}."
        )
    for text in arguments.edges or ():
        if ":" not in text:
            raise OptionError("edges.colon", text=text).says(
                "{edges=} {text} has no colon", "Give two regions as SOURCE:TARGET."
            )
    return settings


def settings_for(cohort: Cohort, settings: Settings, arguments: argparse.Namespace) -> Settings:
    """Return the settings for this cohort; raise OptionError if an option is not for its data."""
    from sgbn.cohort.series import SeriesCohort
    from sgbn.comparison.steps import STEPS

    if isinstance(cohort, SeriesCohort):
        whys = {step.name: step.not_for_series for step in STEPS if step.not_for_series}
        for name in [option.dest for option in LEARNER] + list(whys):
            given = getattr(arguments, name, None)
            if given is not None and given is not False and given != []:
                # Other names are options of a learner.
                why = whys.get(name, "SeriesSGBN learns the networks")
                raise OptionError("series.setting", argument=name, why=why).says(
                    "{argument} is not for time series: {why:s}", "Leave it out."
                )
    elif arguments.learner in (None, ENSEMBLE, "SGBN"):
        # Written out for config.toml, because a later version may have other defaults.
        outliers, transform = settings.outliers or "trim", settings.transform or "none"
        settings = replace(settings, outliers=outliers, transform=transform)
    try:
        return settings.for_cohort(cohort)
    except InputError as error:
        raise OptionError(error.problem) from error


def check_learner(arguments: argparse.Namespace) -> None:
    """Raise OptionError if the learner does not have ``--gamma`` or ``--alpha``."""
    name = arguments.learner or ENSEMBLE
    if arguments.gamma is not None and name not in (ENSEMBLE, "SGBN"):
        raise OptionError("learner.gamma", learner=name).says(
            "{gamma=} is for the ensemble and SGBN, not for {learner:s}", "Leave it out."
        )
    if arguments.alpha is not None and name not in PENALISED:
        raise OptionError("learner.alpha", learner=name).says(
            "{alpha=} is for ORSGBN and HSGBN, not for {learner:s}",
            "Leave it out, or give {learner='ORSGBN'}.",
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

    def write_here(so_far: Comparison) -> list[Path]:
        with speaking(options=option_names(arguments.parser)):
            return write(so_far)

    def write_first(so_far: Comparison) -> None:
        if (arguments.out / ABOUT).exists():
            return  # an earlier start of this run wrote a report, which may have more results
        # In an empty context figures are drawn on this machine, even if tasks run on a cluster.
        written = Context().run(write_here, so_far)
        print(f"Wrote {written[0]}. {pending_words(so_far)}", flush=True)

    comparison = _compared(cohort, settings, learner, arguments, write_first)
    print("Drawing the figures and writing the report", flush=True)
    written = write(comparison)

    def say() -> str:
        return "\n\n".join(filter(None, (comparison.summary(), more(comparison))))

    with speaking(people=False):  # kept in a folder that may be passed on
        note_finished(arguments.out, key, comparison, written, say())
    print(f"\n{say()}")
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
    from sgbn.comparison.compare import compare
    from sgbn.comparison.step import finished_steps, steps_of
    from sgbn.comparison.steps import TITLES

    steps = steps_of(settings.for_cohort(cohort), learner)
    # The keys are titles, because `on_step` gets only the title of a step.
    numbers = {TITLES[name]: number for number, name in enumerate(steps, start=1)}
    before = {TITLES[name] for name in finished_steps(arguments.out / WORK) if name in steps}

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
        if not error.differs:
            raise
        raise _other_run(error, arguments) from error


def _other_run(error: StudyError, arguments: argparse.Namespace) -> StudyError:
    """Say which options of an earlier run in the same folder were different, and what to do."""
    config, out = arguments.out / CONFIG, arguments.out
    # A demo has no config, and neither has a run that was stopped before its first report.
    words = ["sgbn", "compare", "--config", str(config), "--out", str(out)]
    known = option_names(arguments.parser)
    differ = [
        # Data are told apart by a hash, which says nothing to a user.
        name if name == "data" else f"{known.get(name, name)} ({then} then, {now} now)"
        for name, (then, now) in error.differs.items()
    ]
    other = StudyError("study.other-run", folder=out, differ=differ)
    if not config.exists():
        return other.says(OTHER_RUN, REPLACE)
    other.problem.values["again"] = shlex.join(words)
    return other.says(OTHER_RUN, GO_ON)


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


OF_TABLES, OF_SERIES = 200, 40  # default number of subjects per group, also in the help


def add_demo(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `demo` to the subcommands."""
    parser = add_command(commands, "demo", run_demo)
    add_options(parser, (*options_of("demo"), SUBJECTS_IN_REPORT))
    add_worker_options(parser)


def run_demo(arguments: argparse.Namespace) -> None:
    """Simulate a cohort, compare its groups, and print the results."""
    if arguments.series and arguments.gamma is not None:
        raise OptionError("series.setting").says(
            "{gamma=} is not for time series, whose networks SeriesSGBN learns", "Leave it out."
        )
    # Before the work, so that a folder that is not writable is reported at once.
    make_folder(arguments.out)
    key = finished_key(arguments)
    if tell_finished(arguments.out, key):
        return
    from sgbn.comparison.settings import Settings

    cohort = _simulated(arguments)
    # Deviations are measured on one row per subject, which time series do not have.
    settings = Settings.quick(seed=arguments.seed, deviations=not arguments.series)
    learner = None if arguments.series else ensemble_of(settings, arguments.gamma)
    truth = partial(_truth_words, cohort)
    compare_and_write(cohort, settings, learner, arguments, key, more=truth)


def _truth_words(cohort: SimulatedCohort | SimulatedSeries, comparison: Comparison) -> str:
    return "\n".join([*_networks(cohort, comparison), *_differences(cohort, comparison)])


def _simulated(arguments: argparse.Namespace) -> SimulatedCohort | SimulatedSeries:
    from sgbn.cohort.simulate import simulate_cohort
    from sgbn.cohort.simulate_series import simulate_series

    cohort: SimulatedCohort | SimulatedSeries
    if arguments.series:
        cohort = simulate_series(arguments.subjects or OF_SERIES, arguments.seed)
        what = f", time series of {cohort.n_volumes[0]} volumes"
    else:
        cohort = simulate_cohort(arguments.subjects or OF_TABLES, arguments.seed)
        what = ""
    print(
        f"Simulated {cohort.sizes['control']} subjects in each of 2 groups, "
        f"{len(cohort.regions)} regions{what}, with known networks."
    )
    return cohort


def _networks(cohort: SimulatedCohort | SimulatedSeries, comparison: Comparison) -> Iterator[str]:
    """Yield the lines of a table that says how much of each network was found."""
    from sgbn.core.equivalence import compare_graphs

    yield "How much of the truth was found"
    heads = ("", "true", "learned", "joined pairs", "arrows", "held-out log-lik.")
    units = ("group", "edges", "edges", "prec.  recall", "prec.  recall", "learned    truth")
    # The last column is the likelihood of rows, which time series do not have.
    n_columns = 5 if comparison.of_series else 6
    for words in (heads, units):
        # Empty words fill the columns that are left out; `format` ignores additional words.
        row = "  {:10}{:>8}{:>9}{:>16}{:>16}{:>20}".format(*words[:n_columns], *[""] * 6)
        yield row.rstrip()
    for group, network in cohort.networks.items():
        learner = comparison.learners[group]
        scores = compare_graphs(learner.coef_, network.coef)
        row = (
            f"  {group:10}{scores.n_true:8d}{scores.n_learned:9d}"
            f"{scores.skeleton_precision:9.2f}{scores.skeleton_recall:7.2f}"
            f"{scores.precision:9.2f}{scores.recall:7.2f}"
        )
        if not comparison.of_series:
            fresh = network.sample(1000, 1)  # new rows, with a fixed seed
            row += (
                f"{learner.network_.log_likelihood(fresh).mean():11.1f}"
                f"{network.log_likelihood(fresh).mean():9.1f}"
            )
        yield row


def _differences(
    cohort: SimulatedCohort | SimulatedSeries, comparison: Comparison
) -> Iterator[str]:
    """Yield lines that say how many of the found differences are true."""
    table = comparison.tables.differences
    if "differences" in comparison.skipped:
        yield f"  The differences were not tested: {comparison.skipped['differences']}"
        return
    # The direction is ignored, because the data do not determine the direction of many edges.
    changed = {frozenset(edge) for edges in cohort.changed.values() for edge in edges}
    ends = zip(table["source"], table["target"], strict=True)
    # Only changes of edges that were tested can be found.
    true = table.index[[frozenset(pair) in changed for pair in ends]]
    for by, how in (("q_both", "both ways"), ("q", "as the arrow is written")):
        significant = table.index[table[by] <= comparison.settings.level]
        hits = len(significant.intersection(true))
        yield f"  Edges found to differ {how}: {len(significant)}. Of these, {hits} truly differ."
    yield f"  {len(true)} of {len(table)} tested edges truly differ."


def with_names(settings: Settings, edges: Sequence[str] | None, cohort: Cohort) -> Settings:
    """Return the settings with the edges of ``--edges``, after a check of all names."""
    check_lobes([*(edges or ()), *settings.among], cohort)
    # An edge that is given twice is one hypothesis, and is tested once.
    named = tuple(split_edge(text, cohort.regions) for text in dict.fromkeys(edges or ()))
    settings = replace(settings, edges=named)
    settings.check_names(cohort)
    return settings


def check_lobes(names: Sequence[str], cohort: Cohort) -> None:
    """Raise OptionError if ``--edges`` or ``--among`` name a region that ``--lobes`` left out."""
    left_out = set(cohort.provenance.get("other_lobes", ()))
    if not left_out:
        return
    places = cohort.atlas.regions if cohort.atlas is not None else ()
    # --among takes lobes as well as regions.
    left_out |= {place.lobe for place in places} - {*cohort.lobes}
    for text in names:
        for name in {text, *chain(*_cuts(text))} & left_out:
            raise OptionError("lobes.left-out", name=name).says(
                "{lobes=} leaves out {name}, which {edges=} or {among=} names",
                "Add its lobe, or name other regions.",
            )


def _cuts(text: str) -> list[tuple[str, str]]:
    """Return all ways to cut a text into two parts at one of its colons."""
    words = text.split(":")
    return [(":".join(words[:k]), ":".join(words[k:])) for k in range(1, len(words))]


def split_edge(text: str, regions: Sequence[str]) -> tuple[str, str]:
    """Return source and target of SOURCE:TARGET; a name of a region may contain colons."""
    pairs = _cuts(text)
    known = [pair for pair in pairs if set(pair) <= set(regions)]
    if len(known) == 1:
        return known[0]
    if known:
        raise InputError("edges.ambiguous", text=text, n=len(known)).says(
            "{edges=} {text} can be read in {n} ways", "Rename one of these regions."
        )
    # If one side is a region, the other side is misspelt.
    half_known = [pair for pair in pairs if set(pair) & set(regions)]
    unknown = next(name for name in (half_known or pairs)[0] if name not in regions)
    near = did_you_mean(unknown, regions)
    raise InputError("edges.region", text=text, name=unknown, near=near).says(
        "{edges=} {text}: no region is called {name}", "{near}"
    )


FINISHED = "finished.json"
REPORT = "report.html"  # not taken from `sgbn.comparison.report`, whose import takes seconds
ATLAS = "atlas.csv"  # written by `sgbn extract`; `sgbn compare` looks for it beside a table
PARTICIPANTS = ("participants.tsv", "participants.csv")  # looked for in the folders above
# Another version of these libraries may change numbers, tables, figures or the page.
LIBRARIES = (
    *("numpy", "scipy", "scikit-learn", "numba", "pandas"),
    *("matplotlib", "nilearn", "nibabel", "plotly", "itables", "jinja2"),
)
# Environment variables of folders with copies of surfaces, see `sgbn.write.draw.surface`.
VARIABLES = ("SUBJECTS_DIR", "FREESURFER_HOME", "NILEARN_SHARED_DATA", "NILEARN_DATA")
# Arguments that change no file, except that the report shows the command, which has its own hash.
UNUSED = ("run", "parser", "after_interrupt", "config", "debug", "figures", "out")


def command_words() -> str:
    """Return the command as it was typed, without the folders of absolute paths."""
    words = [Path(word).name if os.path.isabs(word) else word for word in sys.argv[1:]]
    return shlex.join(["sgbn", *words])


def finished_key(arguments: argparse.Namespace) -> str:
    """Return the hash of all that the files of a comparison depend on."""
    given = sorted(vars(arguments).items())
    options = {name: value for name, value in given if name not in UNUSED}
    out = arguments.out.absolute()
    inputs = [path.absolute() for value in options.values() for path in _paths(value)]
    # `importlib.metadata.version` would raise for optional libraries that are not installed.
    libraries = [library for name in LIBRARIES for library in distributions(name=name)]
    depends = {
        # The report shows the command: the same options in another order make another file.
        "command": sys.argv[1:],
        "out": str(out),
        "options": {name: str(value) for name, value in options.items()},
        "inputs": {str(path): _state(path, out) for path in inputs},
        "variables": {name: os.environ.get(name, "") for name in VARIABLES},
        "python": sys.version,
        "libraries": {library.name: library.version for library in libraries},
        "program": _program(),
    }
    return _digest(json.dumps(depends, sort_keys=True).encode())


def tell_finished(out: Path, key: str) -> bool:
    """Print the summary of a finished comparison, and return whether it is finished.

    It is finished if `key` is the same, and if no file has changed since it was written.
    """
    note = _read_note(out)
    if note is None or note["key"] != key or not _as_written(out, note["files"]):
        return False
    print(
        f"All {counted(note['steps'], 'step was', 'steps were')} finished before, and "
        f"{counted(len(note['files']), 'file is', 'files are')} unchanged since then. Nothing is "
        "computed or drawn again."
    )
    # Repeated, because the user must not believe that the run had no warnings.
    for message in note["warnings"]:
        give(DataWarning(Problem.from_json(message)))
    print(f"\n{note['said']}\n\nOpen {out / REPORT} in a browser.")
    return True


def note_finished(
    out: Path, key: str, comparison: Comparison, files: Sequence[Path], summary: str
) -> None:
    """Write the note that `tell_finished` reads."""
    from sgbn.runs.files import write_json

    note = {
        "key": key,
        "files": {path.relative_to(out).as_posix(): _digest(path.read_bytes()) for path in files},
        "said": summary,
        "warnings": [message.to_json() for message in comparison.warnings],
        "steps": len(comparison.seconds),
    }
    write_json(out / WORK / FINISHED, note)


def _read_note(out: Path) -> dict[str, Any] | None:
    """Read the note of a finished comparison; None if it is absent or cannot be read."""
    try:
        note = json.loads((out / WORK / FINISHED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    # An incomplete file, or a file of another version, counts as absent.
    kinds = {"key": str, "files": dict, "said": str, "warnings": list, "steps": int}
    if not isinstance(note, dict):
        return None
    whole = all(isinstance(note.get(name), kind) for name, kind in kinds.items())
    # Without files, `_as_written` would find nothing wrong.
    return note if whole and note["files"] else None


def _as_written(out: Path, files: Mapping[str, str]) -> bool:
    try:
        return all(_digest((out / name).read_bytes()) == known for name, known in files.items())
    except OSError:
        return False


def _paths(value: Any) -> Iterator[Path]:
    """Yield the files and folders that an option names."""
    if isinstance(value, list):
        for part in value:
            yield from _paths(part)
    # The atlas may be a name or a table, and only a table is a file.
    elif isinstance(value, Path) or (isinstance(value, str) and os.path.isfile(value)):
        yield Path(value)


def _state(path: Path, out: Path) -> list[Any]:
    """Return the state of an input, of the atlas beside it, and of participants above it.

    The state of a folder, which may be large, is the name, size and time of each file in it. Files
    in `out` do not count.
    """
    people = [above / name for above in path.resolve().parents for name in PARTICIPANTS]
    is_within = out != path and out.is_relative_to(path)
    # What the command writes into its own input folder does not change the input.
    below = [file for file in _files_below(path) if not (is_within and file.is_relative_to(out))]
    beside = (path, path.parent / ATLAS)
    # By content and not by time, because a copied table with the same content is the same table.
    contents = [_digest(file.read_bytes()) if file.is_file() else "" for file in beside]
    return [contents, _looks(below), _looks(file for file in people if file.is_file())]


def _looks(paths: Iterable[Path]) -> list[tuple[str, int, int]]:
    return [(str(path), (stat := path.stat()).st_size, stat.st_mtime_ns) for path in paths]


def _files_below(folder: Path) -> list[Path]:
    paths = (Path(place, name) for place, _, files in os.walk(folder) for name in files)
    return sorted(path for path in paths if path.is_file())  # without dangling links


def _program() -> str:
    """Return a hash of the source of this package, because new code may write other files."""
    package = Path(sgbn.__file__).parent
    # Python and numba write to __pycache__ whenever sgbn runs.
    sources = [path for path in _files_below(package) if "__pycache__" not in path.parts]
    return _digest(b"".join(_digest(path.read_bytes()).encode() for path in sources))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
