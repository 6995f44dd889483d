"""A note about a finished comparison, so that the same command need not compute it again.

``work/finished.json`` has a hash of all that the files depend on (command, options, data, program
and libraries), a hash of each written file, and the printed summary. If all hashes are still the
same, the command prints the summary again and does nothing else. This module imports no numerical
library, so that this check is fast.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any

import sgbn
from sgbn.cli.status import WORK
from sgbn.core.exceptions import counted, warn

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison

FINISHED = "finished.json"
REPORT = "report.html"  # not taken from `sgbn.report`, whose import takes seconds
ATLAS = "atlas.csv"  # written by `sgbn extract`; `sgbn compare` looks for it beside a table
PARTICIPANTS = ("participants.tsv", "participants.csv")  # looked for in the folders above
# Another version of these libraries may change numbers, tables, figures or the page.
LIBRARIES = (
    *("numpy", "scipy", "scikit-learn", "numba", "pandas"),
    *("matplotlib", "nilearn", "nibabel", "plotly", "itables", "jinja2"),
)
# Environment variables of folders with copies of surfaces, see `sgbn.write.draw.surface`.
VARIABLES = ("SUBJECTS_DIR", "FREESURFER_HOME", "NILEARN_SHARED_DATA", "NILEARN_DATA")
# Arguments that change no file, except that the report shows the command, which has its own hash.
UNUSED = ("run", "parser", "after_interrupt", "config", "debug", "figures", "out")


def command_words() -> str:
    """Return the command as it was typed."""
    return shlex.join(["sgbn", *sys.argv[1:]])


def finished_key(arguments: argparse.Namespace) -> str:
    """Return the hash of all that the files of a comparison depend on."""
    given = sorted(vars(arguments).items())
    options = {name: value for name, value in given if name not in UNUSED}
    out = arguments.out.absolute()
    inputs = [path.absolute() for value in options.values() for path in _paths(value)]
    # `importlib.metadata.version` would raise for optional libraries that are not installed.
    libraries = [library for name in LIBRARIES for library in distributions(name=name)]
    depends = {
        # The report shows the command: the same options in another order make another file.
        "command": command_words(),
        "out": str(out),
        "options": {name: str(value) for name, value in options.items()},
        "inputs": {str(path): _state(path, out) for path in inputs},
        "variables": {name: os.environ.get(name, "") for name in VARIABLES},
        "python": sys.version,
        "libraries": {library.name: library.version for library in libraries},
        "program": _program(),
    }
    return _digest(json.dumps(depends, sort_keys=True).encode())


def tell_finished(out: Path, key: str) -> bool:
    """Print the summary of a finished comparison, and return whether it is finished.

    It is finished if `key` is the same, and if no file has changed since it was written.
    """
    note = _read_note(out)
    if note is None or note["key"] != key or not _as_written(out, note["files"]):
        return False
    print(
        f"All {counted(note['steps'], 'step was', 'steps were')} finished before, and "
        f"{counted(len(note['files']), 'file is', 'files are')} unchanged since then. Nothing is "
        "computed or drawn again."
    )
    # Repeated, because the user must not believe that the run had no warnings.
    for message in note["warnings"]:
        warn(message)
    print(f"\n{note['said']}\n\nOpen {out / REPORT} in a browser.")
    return True


def note_finished(
    out: Path, key: str, comparison: Comparison, files: Sequence[Path], summary: str
) -> None:
    """Write the note that `tell_finished` reads."""
    from sgbn.runs.files import write_json

    note = {
        "key": key,
        "files": {path.relative_to(out).as_posix(): _digest(path.read_bytes()) for path in files},
        "said": summary,
        "warnings": list(comparison.warnings),
        "steps": len(comparison.seconds),
    }
    write_json(out / WORK / FINISHED, note)


def _read_note(out: Path) -> dict[str, Any] | None:
    """Read the note of a finished comparison; None if it is absent or cannot be read."""
    try:
        note = json.loads((out / WORK / FINISHED).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    # An incomplete file, or a file of another version, counts as absent.
    kinds = {"key": str, "files": dict, "said": str, "warnings": list, "steps": int}
    if not isinstance(note, dict):
        return None
    whole = all(isinstance(note.get(name), kind) for name, kind in kinds.items())
    # Without files, `_as_written` would find nothing wrong.
    return note if whole and note["files"] else None


def _as_written(out: Path, files: Mapping[str, str]) -> bool:
    try:
        return all(_digest((out / name).read_bytes()) == known for name, known in files.items())
    except OSError:
        return False


def _paths(value: Any) -> Iterator[Path]:
    """Yield the files and folders that an option names."""
    if isinstance(value, list):
        for part in value:
            yield from _paths(part)
    # The atlas may be a name or a table, and only a table is a file.
    elif isinstance(value, Path) or (isinstance(value, str) and os.path.isfile(value)):
        yield Path(value)


def _state(path: Path, out: Path) -> list[Any]:
    """Return the state of an input, of the atlas beside it, and of participants above it.

    The state of a folder, which may be large, is the name, size and time of each file in it. Files
    in `out` do not count.
    """
    people = [above / name for above in path.resolve().parents for name in PARTICIPANTS]
    is_within = out != path and out.is_relative_to(path)
    # What the command writes into its own input folder does not change the input.
    below = [file for file in _files_below(path) if not (is_within and file.is_relative_to(out))]
    beside = (path, path.parent / ATLAS)
    # By content and not by time, because a copied table with the same content is the same table.
    contents = [_digest(file.read_bytes()) if file.is_file() else "" for file in beside]
    return [contents, _looks(below), _looks(file for file in people if file.is_file())]


def _looks(paths: Iterable[Path]) -> list[tuple[str, int, int]]:
    return [(str(path), (stat := path.stat()).st_size, stat.st_mtime_ns) for path in paths]


def _files_below(folder: Path) -> list[Path]:
    paths = (Path(place, name) for place, _, files in os.walk(folder) for name in files)
    return sorted(path for path in paths if path.is_file())  # without dangling links


def _program() -> str:
    """Return a hash of the source of this package, because new code may write other files."""
    package = Path(sgbn.__file__).parent
    # Python and numba write to __pycache__ whenever sgbn runs.
    sources = [path for path in _files_below(package) if "__pycache__" not in path.parts]
    return _digest(b"".join(_digest(path.read_bytes()).encode() for path in sources))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
