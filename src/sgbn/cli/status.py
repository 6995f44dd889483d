"""`sgbn status` shows which tasks of a command are done, and which are left."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.commands import add_command, options_of
from sgbn.cli.options import add_options
from sgbn.core.exceptions import counted

if TYPE_CHECKING:
    from sgbn.runs.study import StudyStatus

WIDTH = 100  # characters of a line
MAX_SETTING = 60  # characters that are shown of the value of a setting
WORK, ABOUT = "work", "about.json"  # folder of finished tasks; file with facts about the report


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `status` to the subcommands."""
    add_options(add_command(commands, "status", run), options_of("status"))


def run(arguments: argparse.Namespace) -> None:
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
