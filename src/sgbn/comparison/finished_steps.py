"""Files that note how many seconds each finished step of a comparison took.

A finished step writes ``steps/NAME.json`` in the folder of finished work. A later start reads the
results of the step from the same folder, and reports the seconds of the start that computed them.
"""

from __future__ import annotations

import json
from pathlib import Path

from sgbn.runs.files import write_json

FOLDER, SECONDS = "steps", "seconds"  # the folder of the notes, and their only entry


def finished_steps(folder: str | Path | None) -> dict[str, float]:
    """Return the seconds of each finished step in a folder, by the name of the step."""
    notes = [] if folder is None else sorted((Path(folder) / FOLDER).glob("*.json"))
    noted = {path.stem: _seconds(path) for path in notes}
    return {name: seconds for name, seconds in noted.items() if seconds is not None}


def seconds_of_step(folder: str | Path | None, name: str, seconds: float) -> float:
    """Note the seconds of a finished step, unless a note exists. Return the seconds noted."""
    if folder is None:
        return seconds
    path = Path(folder) / FOLDER / f"{name}.json"
    noted = _seconds(path)
    if noted is None:  # the note of the first start stays, as later starts only read results
        path.parent.mkdir(exist_ok=True)
        write_json(path, {SECONDS: seconds})
    return seconds if noted is None else noted


def _seconds(path: Path) -> float | None:
    """Return the seconds of a note, or None if the note is missing or broken.

    A broken note must not stop a run, because it only loses the time of an earlier start.
    """
    try:
        return float(json.loads(path.read_text(encoding="utf-8"))[SECONDS])
    except (OSError, ValueError, TypeError, KeyError):
        return None
