"""The subject, session and run of a series, read from the name of its file or array."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

SUBJECT, SESSION = "sub", "ses"
RUNS = ("run", "dir")  # entities of BIDS that tell the runs of a session apart
SUFFIX = "timeseries"  # the last word of the name of a series in BIDS

_ENTITY = re.compile(r"([A-Za-z]+)-([A-Za-z0-9+.]+)")
_PLAIN_RUN = re.compile(r"(?:^|[-_. ])(run[-_]?\d{1,3})(?=$|[-_. ])", re.IGNORECASE)
_PLAIN_SESSION = re.compile(r"(?:^|[-_. ])(ses(?:sion)?[-_]?[^\W_]+)(?=$|[-_. ])", re.IGNORECASE)
_SUFFIX = re.compile(rf"[-_. ]{SUFFIX}$", re.IGNORECASE)
_SEPARATORS = "-_. "


class SeriesName(NamedTuple):
    """The parts of the name of a series.

    Attributes
    ----------
    subject, session, run : str
        The parts as written, such as ``sub-01``, ``ses-1`` and ``run-2``. A part that the name does
        not have is "".
    kind : str
        All other entities of BIDS, such as ``task-rest_seg-Gordon``.
    """

    subject: str
    session: str = ""
    run: str = ""
    kind: str = ""


def read_names(labels: Sequence[str]) -> list[SeriesName]:
    """Return the subject, session, run and kind of each label.

    A label is the name of a file without folder and ending. Labels that begin with ``sub-`` are
    read as names of BIDS. Other labels are searched for the words for session and run. If all these
    labels share an ending after a separator, such as ``_rois_cc200``, it is not part of the
    subject's name.
    """
    plain = [k for k, label in enumerate(labels) if not is_bids(label)]
    by_place = dict(zip(plain, _plain([labels[k] for k in plain]), strict=True))
    return [by_place[k] if k in by_place else _bids(label) for k, label in enumerate(labels)]


def is_bids(label: str) -> bool:
    """Return whether a label begins with the subject, as in BIDS."""
    return label.startswith(f"{SUBJECT}-")


def entities(label: str) -> dict[str, str]:
    """Return the entities of a BIDS name, such as ``{"sub": "01", "task": "rest"}``."""
    return {
        entity[1]: entity[2] for part in label.split("_") if (entity := _ENTITY.fullmatch(part))
    }


def run_order(run: str) -> tuple[object, ...]:
    """Return a key that sorts run-2 before run-10."""
    parts = re.split(r"(\d+)", run)
    # Numbers come before words. Both have three parts, so that they can be compared.
    return tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts if part)


def _bids(label: str) -> SeriesName:
    parts = {key: f"{key}-{value}" for key, value in entities(label).items()}
    subject, session = parts.pop(SUBJECT, label), parts.pop(SESSION, "")
    # Runs may differ in their number, in their phase encoding direction (dir), or in both.
    run = "_".join(parts.pop(key) for key in RUNS if key in parts)
    return SeriesName(subject, session, run, "_".join(parts.values()))


def _plain(labels: Sequence[str]) -> list[SeriesName]:
    cut = [_without_session_and_run(_SUFFIX.sub("", label)) for label in labels]
    # A shared ending such as "_rois_cc200" says nothing about the subject.
    tail = _common_tail([stem for stem, _, _ in cut])
    return [
        SeriesName(stem.removesuffix(tail), session.lower(), run.lower())
        for stem, session, run in cut
    ]


def _without_session_and_run(label: str) -> tuple[str, str, str]:
    """Return a label without the words for session and run, and these two words."""
    words = []
    for pattern in (_PLAIN_SESSION, _PLAIN_RUN):
        match = pattern.search(label)
        rest = label[: match.start()] + label[match.end() :] if match else label
        if match and rest.strip(_SEPARATORS):  # if "run1" is the whole label, it is the subject
            label = rest
            words.append(match[1])
        else:
            words.append("")
    return label.strip(_SEPARATORS), words[0], words[1]


def _common_tail(stems: Sequence[str]) -> str:
    """Return the longest ending that all labels share and that begins with a separator, or ""."""
    different = sorted(set(stems))
    if len(different) < 2:
        return ""
    first = different[0]
    for start, letter in enumerate(first):  # the first match is the longest ending
        if start and letter in _SEPARATORS and all(s.endswith(first[start:]) for s in different):
            return first[start:]
    return ""
