"""Notes on the finished steps of a comparison: how many seconds each of them took.

A finished step leaves ``steps/NAME.json`` in the folder of finished work. A later start reads the
results from the studies beside it, and reports the seconds of the start that computed them.
"""

from __future__ import annotations

import json
from pathlib import Path

from sgbn.runs import write_json

FOLDER, SECONDS = "steps", "seconds"  # where the notes are, and their only entry


def finished_steps(folder: str | Path | None) -> dict[str, float]:
    """Return the seconds of each step that is finished in a folder, by the name of the step."""
    notes = [] if folder is None else sorted((Path(folder) / FOLDER).glob("*.json"))
    noted = {path.stem: _seconds(path) for path in notes}
    return {name: seconds for name, seconds in noted.items() if seconds is not None}


def seconds_of_step(folder: str | Path | None, name: str, seconds: float) -> float:
    """Note that a step is finished, unless a note exists; return the seconds in the note."""
    if folder is None:
        return seconds
    path = Path(folder) / FOLDER / f"{name}.json"
    noted = _seconds(path)
    if noted is None:  # a note of the first start stays: later starts only read results
        path.parent.mkdir(exist_ok=True)
        write_json(path, {SECONDS: seconds})
    return seconds if noted is None else noted


def _seconds(path: Path) -> float | None:
    """Read the seconds of a note; None if the note is missing or broken.

    A broken note loses only the time of an earlier start. It must not stop a run.
    """
    try:
        return float(json.loads(path.read_text(encoding="utf-8"))[SECONDS])
    except (OSError, ValueError, TypeError, KeyError):
        return None
