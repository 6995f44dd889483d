"""Runs of a source: the unit that files, arrays and parts of long tables are read in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sgbn.exceptions import InputError, counted, listed, warn
from sgbn.io.series.names import SeriesName
from sgbn.io.tables.raw import RawTable

PARTICIPANT, SESSION = "participant_id", "session_id"  # what BIDS calls these columns


@dataclass(frozen=True)
class Run:
    """One run of a subject.

    Attributes
    ----------
    name : SeriesName
        Subject, session and run.
    where : str
        What errors call its file or array.
    load : callable
        Returns its cells, one row per volume.
    tr, mean_fd : float or None
        Seconds from volume to volume, and mean framewise displacement in mm, where they are known.
    """

    name: SeriesName
    where: str
    load: Callable[[], RawTable]
    tr: float | None = None
    mean_fd: float | None = None


@dataclass(frozen=True)
class Source:
    """All runs of a folder, an archive or a long table.

    Attributes
    ----------
    name : str
        What errors call it.
    runs : tuple of Run
        In the order of their files, arrays or rows.
    attributes : RawTable or None
        One row per run with columns that are not regions, such as the group; of long tables.
    participant, session : str
        What the columns of persons and sessions are called.
    excluded : tuple of str
        Columns that the user left out and that are not part of the runs.
    remedy : str
        Sentence for errors about a run that may be no series at all.
    facts : dict
        How it was read, for the provenance.
    """

    name: str
    runs: tuple[Run, ...]
    attributes: RawTable | None = None
    participant: str = PARTICIPANT
    session: str = SESSION
    excluded: tuple[str, ...] = ()
    remedy: str = ""
    facts: dict[str, object] = field(default_factory=dict)


def check_kinds(source: str, names: Sequence[SeriesName], files: Sequence[str]) -> None:
    """Raise InputError for several series of one run; warn of kinds that differ by subject."""
    kinds: dict[tuple[str, str], set[str]] = {}
    first: dict[tuple[str, str, str], str] = {}
    for name, file in zip(names, files, strict=True):
        of_visit = kinds.setdefault((name.subject, name.session), set())
        # Runs of two tasks or atlases would be joined as if they were one.
        of_visit.add(name.kind)
        if len(of_visit) > 1:
            raise _several_kinds(source, names, name)
        other = first.setdefault((name.subject, name.session, name.run), file)
        if other != file:
            raise InputError(
                f"{source} has two series of subject {name.subject!r}: {other} and {file}. Keep "
                "one of them, choose the files by a pattern (files='*.tsv', --files), or tell runs "
                "apart by their names (_run-1, _run-2)."
            )
    counts = Counter(name.kind or "no such word" for name in names)
    if len(counts) > 1:
        kinds_named = ", ".join(f"{kind} ({count})" for kind, count in counts.most_common())
        warn(
            f"{source}: the files of the subjects differ in kind: {kinds_named}. They are read "
            "together. If they are not comparable, choose some by a pattern (files=, --files)."
        )


def _several_kinds(source: str, names: Sequence[SeriesName], name: SeriesName) -> InputError:
    """Return the error about several kinds of series of a subject, with the words that differ."""
    of_visit = [other.kind for other in names if (other.subject, other.session) == name[:2]]
    words = [kind.split("_") for kind in dict.fromkeys(of_visit)]
    # What all kinds have in common does not tell them apart.
    shared = set(words[0]).intersection(*words[1:])
    told = list(dict.fromkeys(word for kind in words for word in kind if word not in shared))
    return InputError(
        f"{source}: subject {name.subject!r} has {counted(len(words), 'kind')} of series, which "
        f"differ in {listed([word for word in told if word])}. Choose one by a pattern, such as "
        f"files='*{told[0]}*' (--files '*{told[0]}*')."
    )
