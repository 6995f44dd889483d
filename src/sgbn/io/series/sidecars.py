"""Files beside a series: JSON files with the TR, and tables of confounds with motion."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from functools import cached_property
from pathlib import Path

import pandas as pd

from sgbn.core.validation import is_number
from sgbn.io.series.files import label_of
from sgbn.io.series.names import entities

DISPLACEMENT = "framewise_displacement"  # column of fMRIPrep and XCP-D, in mm
MAX_TR_SECONDS = 60  # a larger number is probably in milliseconds, and is not used
SCAN = ("sub", "ses", "task", "acq", "dir", "run")  # the BIDS entities that identify a scan


class Sidecars:
    """The JSON files and tables of motion in a folder and below it.

    Parameters
    ----------
    folder : Path
        The folder of the series.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def _headers(self) -> dict[tuple[str, ...], list[Path]]:
        headers: dict[tuple[str, ...], list[Path]] = defaultdict(list)
        for path in sorted(self.folder.rglob("*_bold.json")):
            headers[_scan(label_of(path))].append(path)
        return headers

    @cached_property
    def _motion(self) -> dict[tuple[str, ...], Path]:
        patterns = ("*_desc-confounds_regressors.tsv", "*_desc-confounds_timeseries.tsv")
        paths = [
            path for pattern in (*patterns, "*_motion.tsv") for path in self.folder.rglob(pattern)
        ]
        return {_scan(label_of(path)): path for path in sorted(paths)}

    def tr(self, path: Path) -> float | None:
        """Return the TR in seconds from the JSON file of a series or of its scan, or None."""
        scan = _scan(label_of(path))
        # In BIDS, a file task-rest_bold.json in the top folder holds for all subjects.
        task = tuple(value if key == "task" else "" for key, value in zip(SCAN, scan, strict=True))
        beside = path.parent / f"{label_of(path)}.json"
        for header in (beside, *self._headers.get(scan, ()), *self._headers.get(task, ())):
            seconds = _tr(header)
            if seconds is not None:
                return seconds
        return None

    def mean_fd(self, path: Path) -> float | None:
        """Return the mean framewise displacement of a scan in mm, or None if it is not known."""
        table = self._motion.get(_scan(label_of(path)))
        if table is None:
            return None
        try:
            # The first volume has no displacement (n/a).
            cells = pd.read_csv(table, sep="\t", na_values="n/a")[DISPLACEMENT]
            mean = float(pd.to_numeric(cells, errors="coerce").mean())
        except (OSError, ValueError, KeyError):  # the table holds something else
            return None
        return mean if math.isfinite(mean) else None


def _scan(label: str) -> tuple[str, ...]:
    parts = entities(label)
    return tuple(parts.get(key, "") for key in SCAN)


def _tr(path: Path) -> float | None:
    """Return the TR in seconds from a JSON file, or None if it has none."""
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(header, dict):
        return None
    # Some tools write the sampling frequency instead of the TR.
    tr, frequency = header.get("RepetitionTime"), header.get("SamplingFrequency")
    if not is_number(tr) and is_number(frequency) and frequency > 0:
        tr = 1 / frequency
    return float(tr) if is_number(tr) and 0 < tr <= MAX_TR_SECONDS else None
