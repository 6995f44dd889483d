"""What is done and left of studies, from their folders alone."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sgbn.exceptions import InputError
from sgbn.runs.study import STUDY, TASKS, read_study


@dataclass(frozen=True)
class StudyStatus:
    """State of one study.

    Attributes
    ----------
    folder : Path
    done : int
        Tasks with a result.
    planned : int or None
        Tasks of the last start; None where the study was begun before this was noted.
    settings, versions : mapping
        What the study was begun with.
    last : datetime or None
        When the last result was written, in local time.
    """

    folder: Path
    done: int
    planned: int | None
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    last: datetime | None

    @property
    def left(self) -> int | None:
        """Tasks without a result; None where their number is not known."""
        return None if self.planned is None else max(0, self.planned - self.done)


def study_status(folder: str | Path) -> StudyStatus:
    """State of the study in a folder."""
    folder = Path(folder)
    study = read_study(folder / STUDY)
    planned = study.get(TASKS)
    times = [entry.stat().st_mtime for entry in _results(folder / TASKS)]
    return StudyStatus(
        folder,
        len(times),
        planned if isinstance(planned, int) else None,
        study["settings"],
        study["versions"],
        datetime.fromtimestamp(max(times)) if times else None,
    )


def find_studies(folder: str | Path) -> list[Path]:
    """Folders of all studies in a folder and below it, such as the output of a command."""
    if not Path(folder).is_dir():
        raise InputError(f"{folder} is not a folder. Name the one that a command wrote to (--out).")
    studies = []
    for path, folders, files in os.walk(folder):
        folders.sort()  # os.walk has the order of the disk
        if STUDY in files:
            studies.append(Path(path))
            folders[:] = [name for name in folders if name != TASKS]  # thousands of results
    if not studies:
        raise InputError(
            f"there is no study in {folder}. Name the folder that a command wrote to (--out)."
        )
    return studies


def _results(folder: Path) -> list[os.DirEntry[str]]:
    if not folder.is_dir():
        return []
    with os.scandir(folder) as entries:
        # Names of files that are being written end with UNFINISHED instead.
        return [entry for entry in entries if entry.name.endswith(".npz")]
