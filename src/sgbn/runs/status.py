"""Find out from the folders of studies what is done and what is left."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from sgbn.core.exceptions import InputError
from sgbn.runs.study import STUDY, TASKS, read_study


@dataclass(frozen=True)
class StudyStatus:
    """The state of one study.

    Attributes
    ----------
    folder : Path
        Folder of the study.
    done : int
        Number of tasks with a result.
    planned : int or None
        Number of tasks at the last start. None if an old version of sgbn did not store it.
    settings : mapping
        Settings with which the study was begun.
    versions : mapping
        Versions of the libraries with which the study was begun.
    last : datetime or None
        Local time at which the last result was written. None if there is no result.
    """

    folder: Path
    done: int
    planned: int | None
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    last: datetime | None

    @property
    def left(self) -> int | None:
        """Return the number of tasks without a result, or None if `planned` is None."""
        return None if self.planned is None else max(0, self.planned - self.done)


def study_status(folder: str | Path) -> StudyStatus:
    """Return the state of the study in a folder."""
    folder = Path(folder)
    study = read_study(folder / STUDY)
    planned = study.get(TASKS)
    # The names of files that are still being written end with UNFINISHED instead.
    times = [result.stat().st_mtime for result in (folder / TASKS).glob("*.npz")]
    return StudyStatus(
        folder,
        len(times),
        planned if isinstance(planned, int) else None,
        study["settings"],
        study["versions"],
        datetime.fromtimestamp(max(times)) if times else None,
    )


def find_studies(folder: str | Path) -> list[Path]:
    """Return the folders of all studies in a folder and its subfolders."""
    if not Path(folder).is_dir():
        raise InputError(f"{folder} is not a folder. Give the output folder of a command (--out).")
    studies = []
    for path, folders, files in os.walk(folder):
        folders.sort()  # os.walk lists folders in the order of the disk
        if STUDY in files:
            studies.append(Path(path))
            # The folder of results may have thousands of files, and contains no studies.
            folders[:] = [name for name in folders if name != TASKS]
    if not studies:
        raise InputError(
            f"there is no study in {folder}. Give the output folder of a command (--out)."
        )
    return studies
