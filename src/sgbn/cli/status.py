"""`sgbn status`: what is done, and what is left to do."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.commands import add_command, options_of
from sgbn.cli.options import add_options
from sgbn.exceptions import counted

if TYPE_CHECKING:
    from sgbn.runs import StudyStatus

WIDTH = 100  # characters of a line
MAX_SETTING = 60  # characters that are shown of the value of a setting
WORK, ABOUT = "work", "about.json"  # of a comparison: finished tasks, and what the report is of


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `status` to the subcommands."""
    add_options(add_command(commands, "status", run), options_of("status"))


def run(arguments: argparse.Namespace) -> None:
    """Read and print."""
    from sgbn.runs import find_studies, study_status

    # Each step keeps its work in a folder of its own, which is a study.
    studies = [study_status(folder) for folder in find_studies(arguments.folder)]
    print(f"{arguments.folder}\n")
    for line in _lines_of_steps(studies, arguments.folder):
        print(line)
    for title, entries in _settings_and_versions(studies, arguments.folder):
        print(f"\n{title}\n{_listed(entries)}")
    of_comparison = (arguments.folder / WORK).is_dir()  # an experiment writes no report
    print(f"\n{_in_all(studies, lacking(arguments.folder) if of_comparison else '')}")


def lacking(folder: Path) -> str:
    """Say what the comparison in this folder still lacks; "" if it is complete."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "there is no report"
    if not (folder / WORK).is_dir():
        return f"the folder {WORK} of finished tasks is gone"
    # The first report, written before the slow steps, lists them as pending.
    return "the report is not complete" if about.get("pending") else ""


def _lines_of_steps(studies: Sequence[StudyStatus], folder: Path) -> list[str]:
    """One line per study with tasks: its name, what is done, and when the last task was."""
    rows = [
        (
            _name(study, folder),
            _counts(study),
            "" if study.last is None else f"last {study.last:%Y-%m-%d %H:%M:%S}",
        )
        for study in studies
        if study.planned != 0  # the frame of a command has no tasks of its own
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
    """Titles and entries: once where they are the same in all studies, else of each study."""
    # Of a comparison the frame, which has no tasks of its own, has the settings of all steps.
    frames = {study.folder for study in studies if study.planned == 0}
    told = [study for study in studies if frames.isdisjoint(study.folder.parents)]
    for title in ("settings", "versions"):
        of_studies = {_name(study, folder): getattr(study, title) for study in told}
        first = of_studies[_name(told[0], folder)]
        if all(entries == first for entries in of_studies.values()):
            yield title, first
        else:
            yield from ((f"{title} of {name}", entries) for name, entries in of_studies.items())


def _counts(study: StudyStatus) -> str:
    if study.planned is None:
        return f"{study.done} done (begun by an earlier version, which did not note their number)"
    # Results of tasks that the plan of the last start does not have any more.
    old = study.done - study.planned
    more = f" (and {counted(old, 'result')} of an earlier start)" if old > 0 else ""
    left = f", {study.left} left" if study.left else ""
    return f"{study.done - max(0, old)} of {study.planned} done{left}{more}"


def _listed(entries: Mapping[str, Any]) -> str:
    """Entries as an indented paragraph; long values are cut."""
    texts = [f"{name} {value}" for name, value in entries.items()]
    short = [text[:MAX_SETTING] + "..." * (len(text) > MAX_SETTING) for text in texts]
    return textwrap.fill(", ".join(short), WIDTH, initial_indent="  ", subsequent_indent="  ")


def _in_all(studies: Sequence[StudyStatus], lacks: str) -> str:
    left = [study.left for study in studies]
    known = sum(count for count in left if count is not None)
    if known:
        left_over = counted(known, "task is", "tasks are")
        return f"{left_over} left: the same command, started again, does only that."
    # Studies of earlier versions did not note how many tasks they have.
    if None in left:
        return "Of some studies it is not known what is left: the same command shows it."
    done = "All tasks of what was begun are done"
    more = f", but {lacks}: the same command, started again, goes on"
    return f"{done}{more if lacks else ''}."
