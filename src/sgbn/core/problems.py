"""Messages as values: what is wrong, where, and what to do, for Python, the command and files.

A message is a `Problem`: a code, values, and two literals with fields for these values. It becomes
text only where somebody reads it, in the words of this `Front`. So a shared file counts subjects
whose names the terminal lists, and the command says ``--missing`` where Python says ``missing=``.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from string import Formatter
from types import FrameType
from typing import Any, Literal, NamedTuple, Self

LISTED = 8  # names that a message lists; further names are only counted
# A warning points at the user's line. These packages call sgbn on behalf of the user.
BETWEEN = ("sgbn", "contextlib", "joblib", "sklearn")
# A field whose name begins like this holds names of people, or a path.
PEOPLE = ("subject", "person")
PLACES = ("file", "folder", "source")

Level = Literal["stop", "warning", "note"]


@dataclass(frozen=True)
class Front:
    """Who reads messages, and what they may see.

    Attributes
    ----------
    options : mapping of str to str, optional
        The option of each argument, for users of the command. By default messages name arguments.
    people : bool
        Whether messages name subjects. If not, they count them.
    places : bool
        Whether messages show paths, and the texts of errors of other libraries.
    withheld : set of str
        The fields that were not shown, which messages fill as they are read.
    """

    options: Mapping[str, str] | None = None
    people: bool = True
    places: bool = True
    withheld: set[str] = field(default_factory=set)


PYTHON = Front()
_front: ContextVar[Front] = ContextVar("front")


@contextmanager
def speaking(**changes: Any) -> Iterator[Front]:
    """Change the `Front` of all messages that become text in this context."""
    front = replace(_front.get(PYTHON), withheld=set(), **changes)
    token = _front.set(front)
    try:
        yield front
    finally:
        _front.reset(token)


def reader() -> tuple[bool, bool, bool]:
    """Return what changes the text of messages, as the key of texts that are kept."""
    front = _front.get(PYTHON)
    return front.people, front.places, front.options is None


def names_people() -> bool:
    """Return whether the reader may see names of subjects; if not, note that some were withheld."""
    front = _front.get(PYTHON)
    if not front.people:
        front.withheld.add(PEOPLE[0])
    return front.people


class Problem:
    """A message with its parts. As text, it is in the words of the present `Front`.

    Parameters
    ----------
    code : str
        What tests and the documentation call this problem, such as "rows.few".
    **values : object
        The values of the fields of `says`. Strings are quoted, and sequences are listed.

    Examples
    --------
    >>> print(Problem("rows.few", n=1, group="a").says("{group} has {n:row}", "Give {least=5}."))
    'a' has 1 row. Give least=5.
    """

    def __init__(self, code: str, /, **values: Any) -> None:
        self.code, self.values = code, values
        self.parts = ("", "")

    def says(self, what: str, remedy: str = "") -> Self:
        """Say what is wrong and where, and what to do. Both are literals, with these fields.

        - ``{name}`` is a value, ``{name:s}`` the same without quotes, and ``{name:.2g}`` formatted.
        - ``{n:row}`` counts: "1 row", "2 rows". ``{n:row lacks/rows lack}`` gives the plural.
        - ``{least=}`` is an argument, and ``{least=5}`` an argument with its value. ``{argument}``
          is the name of an argument that is known only as a value.
        - ``{subjects}`` or ``{person}`` says "subject 'x'", or "a subject" where it is withheld.
        - ``{file}`` or ``{folder}`` is a path, or "a file" where places are withheld.
        """
        self.parts = (what, remedy)
        return self

    def warn(self, what: str, remedy: str = "", category: type[Warning] | None = None) -> None:
        """Warn at the user's line, with the words of `says`."""
        give((category or DataWarning)(self.says(what, remedy)))

    @property
    def what(self) -> str:
        """What is wrong, without a full stop."""
        return self._text(self.parts[0]) or self.code

    @property
    def remedy(self) -> str:
        """What to do, in whole sentences."""
        return self._text(self.parts[1])

    def __str__(self) -> str:
        if not self.parts[0]:
            return self.code
        what = self.what
        stop = "" if what.endswith((".", "?", ":")) else "."
        return f"{what}{stop} {self.remedy}".rstrip()

    def __repr__(self) -> str:
        return f"<{self.code}: {self}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and (self.code, str(self)) == (other.code, str(other))

    def __hash__(self) -> int:
        return hash(self.code)

    def to_json(self) -> str:
        """Return a text to keep in a file, without names of people."""
        return json.dumps(_packed("", self))

    @classmethod
    def from_json(cls, text: str) -> Problem:
        """Return the problem that `to_json` wrote."""
        return json.loads(text, object_hook=_unpacked)

    def _text(self, template: str) -> str:
        return "".join(
            literal + ("" if name is None else self._field(name, spec or "", conversion))
            for literal, name, spec, conversion in Formatter().parse(template)
        )

    def _field(self, name: str, spec: str, conversion: str | None) -> str:
        front, (argument, equals, given) = _front.get(PYTHON), name.partition("=")
        if equals:
            return _argument(argument, given, front)
        value = self.values[name]
        if name.startswith(PEOPLE):
            return _people(name, value, front)
        if name.startswith("argument"):
            return str((front.options or {}).get(value, value))
        if isinstance(value, PathLike) or name.startswith(PLACES):
            return _place(name, value, front)
        if isinstance(value, BaseException | _Foreign):
            return _of_error(value, front)
        if isinstance(value, Problem):
            return str(value)
        if len(spec) > 1 and spec[0].isalpha():
            one, _, more = spec.partition("/")
            return counted(len(value) if hasattr(value, "__len__") else value, one, more)
        if spec == "s" or conversion == "s":
            return ", ".join(map(str, value)) if _is_sequence(value) else str(value)
        if _is_sequence(value):
            return listed(list(value))
        if spec:
            return format(value, spec)
        return shown(value) if isinstance(value, str) else str(value)


def _argument(name: str, value: str, front: Front) -> str:
    """Return ``name=value`` for Python, and ``--name value`` for the command."""
    if front.options is None or name not in front.options:
        return f"{name}={value}"
    # A switch has no value. A pattern is quoted, because the shell would expand it.
    value = "" if value in ("", "True") else shlex.quote(value.strip("'"))
    return f"{front.options[name]} {value}".rstrip()


def _people(name: str, value: Any, front: Front) -> str:
    noun = next(noun for noun in PEOPLE if name.startswith(noun))
    names = list(value) if _is_sequence(value) else [value]
    n = value if isinstance(value, _Unnamed) else len(names)
    # Numbers of rows, in a table without ids, name nobody.
    named = front.people or all(re.fullmatch(r"row \d+", str(one)) for one in names)
    if not named or isinstance(value, _Unnamed):
        front.withheld.add(noun)
        return f"a {noun}" if n == 1 else counted(n, noun)
    return f"{noun if len(names) == 1 else noun + 's'} {listed(names)}"


def _packed(name: str, value: Any) -> Any:
    """Return a value of a message in a type that JSON has; people become their number."""
    if name.startswith(PEOPLE):
        return {"sgbn.unnamed": len(value) if _is_sequence(value) else 1}
    if isinstance(value, BaseException):
        told = problem_of(value)
        value = told if told.code != "foreign" else _Foreign(type(value).__name__, str(value))
    if isinstance(value, Problem):
        values = {name: _packed(name, one) for name, one in value.values.items()}
        return {"sgbn.problem": [value.code, values, value.parts]}
    if isinstance(value, PathLike):
        return {"sgbn.path": str(value)}
    if isinstance(value, _Foreign):
        text = value.text if _front.get(PYTHON).people else value.kind
        return {"sgbn.foreign": [value.kind, text]}
    if _is_sequence(value):
        return [_packed("", one) for one in value]
    plain = value.item() if hasattr(value, "item") else value
    return plain if isinstance(plain, str | int | float) else str(plain)


def _unpacked(packed: dict[str, Any]) -> Any:
    if "sgbn.unnamed" in packed:
        return _Unnamed(packed["sgbn.unnamed"])
    if "sgbn.path" in packed:
        return Path(packed["sgbn.path"])
    if "sgbn.foreign" in packed:
        return _Foreign(*packed["sgbn.foreign"])
    if "sgbn.problem" in packed:
        code, values, parts = packed["sgbn.problem"]
        return Problem(code, **values).says(*parts)
    return packed


class _Foreign(NamedTuple):
    """What is kept of an error or warning of another library."""

    kind: str
    text: str


class _Unnamed(int):
    """A number of people whose names were not kept."""


def _place(name: str, value: Any, front: Front) -> str:
    if not front.places:
        front.withheld.add(name)
        return "a folder" if name.startswith("folder") else "a file"
    return shown(str(value))


def _of_error(error: BaseException | _Foreign, front: Front) -> str:
    """Return the text of an error. That of another library may hold anything, also a name."""
    if isinstance(error, _Told):
        return str(error)
    if isinstance(error, OSError) and error.filename is not None and not front.people:
        front.withheld.add(PEOPLE[0])  # the file may be named after a subject
        return str(error.strerror).lower()
    if isinstance(error, OSError) and front.places:
        return str(error)
    if not isinstance(error, _Foreign):
        error = _Foreign(type(error).__name__, str(error))
    if not (front.places and front.people):
        front.withheld.add(PEOPLE[0])
        return error.kind
    return " ".join(error.text.split())[:200] or error.kind


def _is_sequence(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, str | bytes)


class _Told(Exception):  # noqa: N818 - a base of errors and of warnings
    """An error or warning whose text is a `Problem`."""

    def __init__(self, code: str | Problem = "", /, **values: Any) -> None:
        self.problem = code if isinstance(code, Problem) else Problem(code, **values)
        super().__init__(self.problem)

    def says(self, what: str, remedy: str = "") -> Self:
        """Say what is wrong and what to do; see `Problem.says`."""
        self.problem.says(what, remedy)
        return self

    def __str__(self) -> str:
        return str(self.problem)


class InputError(_Told, ValueError):
    """The data or a parameter cannot be used. The message names the cause and the remedy.

    Attributes
    ----------
    problem : Problem
        The message with its parts. ``problem.code`` stays the same when words change.
    """


class CycleError(InputError):
    """A graph that must be acyclic has a directed cycle.

    Attributes
    ----------
    cycle : list of str
        Names of the nodes along the cycle. The first name is repeated at the end.
    """

    def __init__(self, cycle: Sequence[str]) -> None:
        self.cycle = list(cycle)
        super().__init__("graph.cycle", path=" -> ".join(self.cycle))
        self.args = (self.cycle,)  # what unpickling passes to __init__
        self.says(
            "the graph has a directed cycle: {path:s}",
            "Remove one of these edges, or fit SGBN, which always returns a DAG.",
        )


class StudyError(_Told, RuntimeError):
    """The study folder already belongs to a different study, or the run cannot go on.

    Attributes
    ----------
    differs : mapping of str to tuple
        Each setting that differs, with its value in the folder and its value now.
    """

    differs: Mapping[str, tuple[Any, Any]] = {}


class DataWarning(_Told, UserWarning):
    """The data can be used, but the user should check something about them."""


class Finding:
    """One fact that a user should know about a cohort.

    Parameters
    ----------
    level : {"stop", "warning", "note"}
        "stop" if the groups cannot be compared, "warning" if the user should check something, and
        "note" if nothing need be done.
    code, **values
        As of `Problem`.

    Attributes
    ----------
    problem : Problem
        What was found, and what is done about it, or what the user can do.
    left_out : tuple of str
        Subjects or persons who are left out of the cohort because of this finding.
    """

    def __init__(self, level: Level, code: str, /, **values: Any) -> None:
        self.level, self.problem = level, Problem(code, **values)
        self.left_out: tuple[str, ...] = ()

    def says(self, what: str, remedy: str = "") -> Self:
        """Say what was found and what to do; see `Problem.says`."""
        self.problem.says(what, remedy)
        return self

    def leaving_out(self, names: Sequence[str]) -> Self:
        """Add the names of who is left out because of this finding."""
        self.left_out = tuple(map(str, names))
        return self

    def __str__(self) -> str:
        return f"{self.level}: {self.problem}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Finding) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self.level, self.problem))


def problem_of(error: BaseException | Problem | str) -> Problem:
    """Return the message of an error or warning of this or another library."""
    if isinstance(error, Problem):
        return error
    told = getattr(error, "problem", None) or (*getattr(error, "args", ()), None)[0]
    return told if isinstance(told, Problem) else Problem("foreign", error=error).says("{error}")


def give(warning: Warning) -> None:
    """Issue a warning that points at the user's line, the first caller outside `BETWEEN`."""
    # The number of calls in between varies (a Pipeline or a worker adds some): walk up to the user.
    frame, level = sys._getframe(1), 2
    withheld = _front.get(PYTHON).withheld
    before = set(withheld)
    while frame.f_back is not None and _package(frame) in BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(warning, stacklevel=level)
    # `warnings.warn` makes the text even if nobody sees it. `main` notes what it shows.
    withheld &= before


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def shown(name: object) -> str:
    """Return the repr of a name or cell for a message. A numpy scalar looks like a plain number."""
    return repr(name.item() if hasattr(name, "item") else name)


def listed(names: Sequence[object], most: int = LISTED) -> str:
    """Return the first `most` names for a message, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(shown(name) for name in names[:most]) + more


def counted(n: int, singular: str, plural: str = "") -> str:
    """Return a count with its noun: "1 subject", "2 subjects".

    The default plural is the singular with an s. Both may have several words, as in
    ``counted(n, "subject lacks", "subjects lack")``.
    """
    return f"{n} {singular if n == 1 else plural or singular + 's'}"


def did_you_mean(name: object, known: Sequence[object]) -> Problem:
    """Return a sentence that suggests known names similar to `name`, as a value of a message.

    If no name is similar, the sentence lists the first known names.
    """
    by_lower = {str(other).lower(): other for other in known}
    near = [by_lower[lower] for lower in get_close_matches(str(name).lower(), list(by_lower))]
    if near:
        return Problem("near", names=" or ".join(map(shown, near))).says("Did you mean {names:s}?")
    if len(known) == 1:
        return Problem("near", names=list(known)).says("There is only {names}")
    return Problem("near", names=list(known)).says("There are {names}")
