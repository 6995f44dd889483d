"""Read graphs from BIF files, the format of the Bayesian Network Repository.

A file is a sequence of blocks ``head { body }``. The heads alone describe the graph::

    network asia { }
    variable smoke { type discrete [ 2 ] { yes, no }; }
    probability ( lung | smoke ) { (yes) 0.1, 0.9; (no) 0.01, 0.99; }
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from sgbn.cohort.simulate import BenchmarkNetwork
from sgbn.core.exceptions import InputError
from sgbn.core.graph import find_cycle
from sgbn.io.networks.builder import MAX_VARIABLES
from sgbn.io.networks.texts import read_text

KEYWORDS = ("network", "variable", "probability")

# Possessive repeats (++) never go back, so that no input makes an expression slow.
_COMMENT = r"(?<!:)//[^\n]* | /\*.*?\*/"  # http:// does not begin a comment
_IN_HEADS = re.compile(
    rf"""
      (?P<space> \s++ | {_COMMENT} )
    | " (?P<quoted> [^"\n]* ) "
    | (?P<word> (?: [^\s{{}}()\[\]|,;"/]++ | /(?![/*]) | (?<=:)// )++ )
    | (?P<mark> [{{}}()\[\]|,;] )
    """,
    re.VERBOSE | re.DOTALL,
)
_IN_BODIES = re.compile(
    rf"""
      (?P<space> (?: [^{{}}"/]++ | {_COMMENT} | "[^"\n]*" | /(?!\*) )++ )
    | (?P<mark> [{{}}] )
    """,
    re.VERBOSE | re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int

    @property
    def is_name(self) -> bool:
        return self.kind in ("word", "quoted")


class _Block(NamedTuple):
    """The content of the head of a block."""

    name: str
    parents: list[str]
    line: int


def read_bif(path: str | PathLike[str]) -> BenchmarkNetwork:
    """Return the graph of a BIF file. Its probabilities are not read.

    Parameters
    ----------
    path : str or path
        A file such as those of the Bayesian Network Repository, ``.bif`` or ``.bif.gz``.

    Returns
    -------
    BenchmarkNetwork
        The graph and the names of the variables, in the order of the file.

    Raises
    ------
    InputError
        If there is no such file, if it is not BIF or contradicts itself, or if its graph has a
        directed cycle.
    """
    text = read_text(Path(path))
    try:
        return parse_bif(text)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def parse_bif(text: str) -> BenchmarkNetwork:
    """Return the graph that the text of a BIF file declares."""
    blocks: dict[str, dict[str, _Block]] = {"variable": {}, "probability": {}}
    for head in _heads(_tokens(text)):
        kind = head[0].text
        if kind in blocks:
            block = _variable(head) if kind == "variable" else _probability(head)
            # setdefault returns the earlier block of this name, if there is one.
            first = blocks[kind].setdefault(block.name, block)
            if first is not block:
                raise InputError(
                    f"line {block.line}: this is a second {kind} block of {block.name!r}. The "
                    f"first is in line {first.line}. Remove one."
                )
    if not blocks["variable"]:
        raise InputError("not a BIF file: it declares no variable. Give another file.")
    # Checked before the matrix is made, because a small file can name very many variables.
    if len(blocks["variable"]) > MAX_VARIABLES:
        raise InputError(
            f"it has more than {MAX_VARIABLES} variables. Give a smaller graph, because sgbn keeps "
            "a graph as a matrix in memory."
        )
    return _network(tuple(blocks["variable"]), blocks["probability"])


def _tokens(text: str) -> Iterator[_Token]:
    """Yield the names and marks of the heads. Of the bodies, yield only the braces."""
    # Most of a file consists of the numbers in the bodies. `_IN_BODIES` skips them in large pieces.
    position, line, depth = 0, 1, 0
    while position < len(text):
        piece = (_IN_BODIES if depth else _IN_HEADS).match(text, position)
        if piece is None:
            what = "comment" if text[position] == "/" else "quote"
            raise InputError(f"line {line}: a {what} is opened but not closed. Close it.")
        kind = str(piece.lastgroup)
        if kind == "space":
            line += piece[0].count("\n")
        else:
            yield _Token(kind, piece[kind], line)
            if kind == "mark":
                depth += (piece[0] == "{") - (piece[0] == "}")
        position = piece.end()


def _heads(tokens: Iterable[_Token]) -> Iterator[list[_Token]]:
    """Yield the tokens before the brace of each block. The text between braces is skipped."""
    head: list[_Token] = []
    # Lines of the open braces, for the message about a brace that is never closed.
    opened: list[int] = []
    for token in tokens:
        mark = token.text if token.kind == "mark" else ""
        if mark == "}":
            if not opened:
                raise InputError(f"line {token.line}: this }} does not close any block. Remove it.")
            opened.pop()
        elif mark == "{" and (head or opened):
            if head:
                yield head
                head = []
            opened.append(token.line)
        elif not opened and (head or mark != ";"):  # a single ; does not begin a block
            if not head:  # without this check, any text file would be one long head
                _check_begins_a_block(token)
            head.append(token)
    if opened:
        raise InputError(f"line {opened[0]}: the {{ of this block is never closed. Add its }}.")
    if head:
        raise InputError(f"line {head[0].line}: this {head[0].text} has no {{ block }}. Add it.")


def _check_begins_a_block(token: _Token) -> None:
    if token.kind != "word" or token.text not in KEYWORDS:
        raise InputError(
            f"line {token.line}: not a BIF file, or damaged. A block should begin here with one of "
            f"{', '.join(KEYWORDS)}, not with {token.text[:40]!r}. Correct the file."
        )


def _variable(head: list[_Token]) -> _Block:
    """Read ``variable NAME``."""
    if _shape(head) != "x":
        raise _unreadable(head, "NAME")
    return _Block(head[1].text, [], head[0].line)


def _probability(head: list[_Token]) -> _Block:
    """Read ``probability ( CHILD | PARENT, PARENT )``.

    JavaBayes writes no bar and no commas. The first name is the child.
    """
    if not re.fullmatch(r"\(x\|?(x,?)*\)", _shape(head)):
        raise _unreadable(head, "( CHILD | PARENT, PARENT )")
    child, *parents = (token.text for token in head[1:] if token.is_name)
    name, times = Counter(parents).most_common(1)[0] if parents else ("", 0)
    if times > 1:
        raise InputError(
            f"line {head[0].line}: {child!r} has the parent {name!r} {times} times. Keep one."
        )
    return _Block(child, parents, head[0].line)


def _shape(head: list[_Token]) -> str:
    """Return the marks after the keyword as text, with x for each name."""
    return "".join("x" if token.is_name else token.text for token in head[1:])


def _unreadable(head: list[_Token], expected: str) -> InputError:
    return InputError(
        f"line {head[0].line}: expected '{head[0].text} {expected} {{'. Quote a name that has "
        "spaces or brackets."
    )


def _network(names: tuple[str, ...], families: dict[str, _Block]) -> BenchmarkNetwork:
    declared = set(names)
    for family in families.values():
        for name in (family.name, *family.parents):
            if name not in declared:
                raise InputError(
                    f"line {family.line}: there is no variable {name!r}. Declare it, or correct "
                    "the name."
                )
    arcs = ((parent, family.name) for family in families.values() for parent in family.parents)
    network = BenchmarkNetwork.from_arcs(names, arcs)
    cycle = find_cycle(network.graph)
    if cycle is not None:
        circle = [names[k] for k in (*cycle, cycle[0])]
        raise InputError(
            f"line {families[circle[0]].line}: the graph has a directed cycle: "
            f"{' -> '.join(circle)}. Remove one of these parents."
        )
    return network
