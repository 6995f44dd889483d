"""`sgbn status`: what is done and left."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.help import examples
from sgbn.exceptions import counted

if TYPE_CHECKING:
    from sgbn.runs import StudyStatus

WIDTH = 100
WORK, ABOUT = "work", "about.json"  # of a comparison: finished tasks, and what the report is of


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `status` to the subcommands."""
    parser = commands.add_parser(
        "status",
        help="show what a long command has done, and what is left",
        description="Shows the studies in a folder that compare, demo, extract or reproduce wrote "
        "to: tasks done and left, when the last was finished, settings and versions. A step that "
        "was not begun yet is not there. It only reads: the command may be running.",
        epilog=examples(
            {"sgbn status results": "of a run that goes on or was stopped"},
            "exit codes: 0 shown, whether or not tasks are left (the last line says which); 1 "
            "there is no study, or it cannot be read.",
        ),
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="the command's --out")
    parser.set_defaults(run=run, after_interrupt="Nothing was changed.")


def run(arguments: argparse.Namespace) -> None:
    """Read and print."""
    from sgbn.runs import find_studies, study_status

    found = [study_status(folder) for folder in find_studies(arguments.folder)]
    for one in found:
        _print_study(one, arguments.folder)
    of_comparison = (arguments.folder / WORK).is_dir()  # an experiment writes no report
    print(_in_all(found, lacking(arguments.folder) if of_comparison else ""))


def lacking(folder: Path) -> str:
    """Say what a comparison in this folder has not come to; "" if it is complete."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "there is no report"
    if not (folder / WORK).is_dir():
        return f"the folder {WORK} of finished tasks is gone"
    return "the report is not complete" if about.get("pending") else ""


def _print_study(study: StudyStatus, folder: Path) -> None:
    print(study.folder.relative_to(folder).as_posix() if study.folder != folder else str(folder))
    if study.planned != 0:  # the frame of a command has no tasks of its own
        print(f"  tasks     {_counts(study)}")
    if study.last is not None:
        print(f"  last      {study.last:%Y-%m-%d %H:%M:%S}")
    print(f"  settings  {_listed(study.settings)}")
    print(f"  versions  {_listed(study.versions)}\n")


def _counts(study: StudyStatus) -> str:
    if study.planned is None:
        return f"{study.done} done (begun by an earlier version, which did not note their number)"
    old = study.done - study.planned
    more = f" (and {counted(old, 'result')} of an earlier start)" if old > 0 else ""
    return f"{study.done - max(0, old)} of {study.planned} done, {study.left} left{more}"


def _listed(entries: Mapping[str, Any]) -> str:
    """Entries in one line, cut where the line ends."""
    text = ", ".join(f"{name} {value}" for name, value in entries.items())
    room = WIDTH - len("  settings  ")
    return text if len(text) <= room else text[: room - 3] + "..."


def _in_all(studies: list[StudyStatus], lacks: str) -> str:
    left = [study.left for study in studies]
    known = sum(own for own in left if own is not None)
    if known:
        left_over = counted(known, "task is", "tasks are")
        return f"{left_over} left: the same command, started again, does only that."
    if None in left:
        return "Of some studies it is not known what is left: the same command shows it."
    done = "All tasks of what was begun are done"
    more = f", but {lacks}: the same command, started again, goes on"
    return f"{done}{more if lacks else ''}."
