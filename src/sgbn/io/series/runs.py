"""The runs of a source. Each file, each array and each part of a long table is one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from sgbn.core.exceptions import InputError, counted, listed, warn
from sgbn.io.series.names import SeriesName
from sgbn.io.tables.raw import RawTable

PARTICIPANT, SESSION = "participant_id", "session_id"  # the names of these columns in BIDS


@dataclass(frozen=True)
class Run:
    """One run of a subject.

    Attributes
    ----------
    name : SeriesName
        The names of the subject, the session and the run.
    where : str
        The name of its file or array, as errors show it.
    load : callable
        A function that returns its cells, one row per volume.
    tr, mean_fd : float or None
        Seconds from one volume to the next, and mean framewise displacement in mm. None if unknown.
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
        The name of the source, as errors show it.
    runs : tuple of Run
        The runs, in the order of their files, arrays or rows.
    attributes : RawTable or None
        The columns of a long table that are not regions, such as the group. One row per run.
    participant, session : str
        The names of the columns of persons and of sessions.
    excluded : tuple of str
        Columns that the user left out. They are not part of the runs.
    remedy : str
        A sentence for errors about a file that may not hold a series.
    facts : dict
        Facts for the provenance, such as how the source was read.
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
    """Raise InputError for several series of one run. Warn if kinds differ between subjects."""
    kinds: dict[tuple[str, str], set[str]] = {}
    first: dict[tuple[str, str, str], str] = {}
    for name, file in zip(names, files, strict=True):
        of_visit = kinds.setdefault((name.subject, name.session), set())
        # Without this check, runs of two tasks or two atlases would be joined.
        of_visit.add(name.kind)
        if len(of_visit) > 1:
            raise _several_kinds(source, names, name)
        other = first.setdefault((name.subject, name.session, name.run), file)
        if other != file:
            raise InputError(
                f"{source} has two series of subject {name.subject!r}: {other} and {file}. Keep "
                "one of them, or choose the files by a pattern (files='*.tsv', --files). If they "
                "are two runs, add _run-1 and _run-2 to their names."
            )
    counts = Counter(name.kind or "no kind" for name in names)
    if len(counts) > 1:
        kinds_named = ", ".join(f"{kind} ({count})" for kind, count in counts.most_common())
        warn(
            f"{source}: the files of the subjects differ in kind: {kinds_named}. They are read "
            "together. If they cannot be compared, choose one kind by a pattern (files=, --files)."
        )


def _several_kinds(source: str, names: Sequence[SeriesName], name: SeriesName) -> InputError:
    """Return the error for a subject with several kinds of series; it names what differs."""
    of_visit = [other.kind for other in names if (other.subject, other.session) == name[:2]]
    words = [kind.split("_") for kind in dict.fromkeys(of_visit)]
    shared = set(words[0]).intersection(*words[1:])
    differing = list(dict.fromkeys(word for kind in words for word in kind if word not in shared))
    return InputError(
        f"{source}: subject {name.subject!r} has {counted(len(words), 'kind')} of series, which "
        f"differ in {listed([word for word in differing if word])}. Choose one kind by a pattern, "
        f"such as files='*{differing[0]}*' (--files '*{differing[0]}*')."
    )
