"""Steps of a comparison that were finished before, and how long they took when they were done.

A step leaves ``steps/NAME.json`` in the folder of finished work. A later start reads its results
from the studies beside it, and reports the seconds of the start that finished them.
"""

from __future__ import annotations

import json
from pathlib import Path

from sgbn.runs import write_json

FOLDER, SECONDS = "steps", "seconds"  # where the notes are, and their only entry


def finished_steps(folder: str | Path | None) -> dict[str, float]:
    """Name of each step that was finished in a folder -> the seconds that it took."""
    notes = [] if folder is None else sorted((Path(folder) / FOLDER).glob("*.json"))
    noted = {path.stem: _seconds(path) for path in notes}
    return {name: seconds for name, seconds in noted.items() if seconds is not None}


def seconds_of_step(folder: str | Path | None, name: str, seconds: float) -> float:
    """Note that a step is finished, unless it was before; return the seconds that are noted."""
    if folder is None:
        return seconds
    path = Path(folder) / FOLDER / f"{name}.json"
    noted = _seconds(path)
    if noted is None:  # a second start reads what the first computed: its seconds would mislead
        path.parent.mkdir(exist_ok=True)
        write_json(path, {SECONDS: seconds})
    return seconds if noted is None else noted


def _seconds(path: Path) -> float | None:
    """Read a note; None if there is none that can be read.

    A broken note costs nothing but the time of an earlier start, so that it stops no run.
    """
    try:
        return float(json.loads(path.read_text(encoding="utf-8"))[SECONDS])
    except (OSError, ValueError, TypeError, KeyError):
        return None
