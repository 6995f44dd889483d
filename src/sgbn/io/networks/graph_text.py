"""The language that dot (Graphviz) and DAGitty share: a kind of graph, and its statements.

::

    digraph name {
      "a b" [intercept=1];          // a node
      "a b" -> c -> {d e} [w=2];    /* edges */
      edge [dir=none]; bb="0,0,1,1"
    }
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, product
from typing import NamedTuple

from sgbn.exceptions import InputError
from sgbn.io.networks.texts import pieces

# Possessive repeats (++) never go back, so that no input makes an expression slow.
# A # begins a comment only at the start of a line: dot leaves out what a C preprocessor puts there.
# Marks have the longest first, or <-> would be read as <- and >. A word may be a negative number,
# or letters of any script: dot takes both without quotes.
_TOKEN = re.compile(
    r"""
      (?P<space> [\s;]++ | //[^\n]*+ | /\*.*?\*/ | (?<![^\n])\#[^\n]*+ )
    | (?P<mark> <->|@->|<-@|@-@|@--|--@|->|<-|-- | [{}\[\]=,+:] )
    | " (?P<quoted> (?: [^"\\] | \\. )*+ ) "
    | (?P<word> -?[\w.\x80-\U0010ffff]++ )
    """,
    re.VERBOSE | re.DOTALL,
)
_NO_TOKEN = (
    "line {line}: {part} cannot be read: a quote or comment that is not closed, or a mark that the "
    "format does not have. Correct it."
)
OPERATORS = ("->", "<-", "--", "<->", "@->", "<-@", "@-@", "@--", "--@")


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


class Statement(NamedTuple):
    """A node (no operator), an edge, or the defaults of nodes or edges.

    Attributes
    ----------
    names : tuple of str
        One name of a node, two of an edge; one of ``graph``, ``node`` and ``edge`` for defaults.
    operator : str
        Between the names of an edge, else empty.
    attributes : dict of str to str
        What stands in brackets behind it.
    line : int
        Line of the file where it begins.
    is_default : bool
        Whether it says what later nodes or edges have.
    """

    names: tuple[str, ...]
    operator: str
    attributes: dict[str, str]
    line: int
    is_default: bool = False


class GraphText(NamedTuple):
    """Kind of a graph (``digraph``, ``pdag``, ...), and its statements."""

    kind: str
    statements: list[Statement]


def parse_graph_text(text: str, kinds: tuple[str, ...]) -> GraphText:
    """Read the text of a graph, which must be of one of these kinds."""
    reader = _Reader(list(_tokens(text)))
    kind = reader.next_word().lower()
    # It forbids a second edge of a pair, which is refused in any graph.
    if kind == "strict":
        kind = reader.next_word().lower()
    if kind not in kinds:
        raise InputError(
            f"line {reader.line}: expected {' or '.join(kinds)}, not {kind[:40]!r}. Check the "
            "format of the file."
        )
    if reader.peek() != "{":  # the name of the graph, which nothing needs
        reader.next_word()
    reader.take("{")
    statements = list(reader.statements())
    reader.take("}")
    if not reader.at_end:
        raise InputError(f"line {reader.line}: the graph ends before this line. Remove the rest.")
    return GraphText(kind, statements)


def _tokens(text: str) -> Iterator[_Token]:
    for piece, line in pieces(_TOKEN, text, _NO_TOKEN):
        kind = str(piece.lastgroup)
        if kind == "quoted":
            # A backslash at the end of a line joins it to the next; before a quote it is dropped.
            yield _Token(kind, piece["quoted"].replace('\\"', '"').replace("\\\n", ""), line)
        elif kind != "space":
            yield _Token(kind, piece[kind], line)


class _Reader:
    """Tokens, taken one after another."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0

    @property
    def at_end(self) -> bool:
        return self._next >= len(self._tokens)

    @property
    def line(self) -> int:
        """Line of the last token taken, or of the first."""
        return self._tokens[max(self._next - 1, 0)].line if self._tokens else 1

    def peek(self) -> str:
        """Mark that comes next; nothing if it is a name."""
        if self.at_end or self._tokens[self._next].kind != "mark":
            return ""
        return self._tokens[self._next].text

    def take(self, mark: str) -> None:
        if self.peek() != mark:
            raise self._unexpected(f"'{mark}'")
        self._next += 1

    def next_word(self) -> str:
        """Name that comes next; strings joined by a plus sign are one."""
        parts = []
        while True:
            if self.at_end or self._tokens[self._next].kind == "mark":
                raise self._unexpected("a name")
            token = self._tokens[self._next]
            self._next += 1
            parts.append(token.text)
            # Only strings in quotes are joined: after a word a plus sign is a mistake.
            if token.kind != "quoted" or self.peek() != "+":
                return "".join(parts)
            self._next += 1

    def _unexpected(self, expected: str) -> InputError:
        if self.at_end:
            return InputError(
                f"the file ends where {expected} is expected: a part is missing. Fetch or write "
                "the file again."
            )
        token = self._tokens[self._next]
        return InputError(
            f"line {token.line}: expected {expected}, not {token.text[:40]!r}. Correct the line; "
            "put quotes around a name with spaces or marks."
        )

    def statements(self) -> Iterator[Statement]:
        """Statements up to the closing brace."""
        while not self.at_end and self.peek() != "}":
            if self.peek() == ",":  # between statements it says nothing
                self.take(",")
                continue
            yield from self._statement()

    def _statement(self) -> Iterator[Statement]:
        # In quotes, "node" is the name of a node, not a default.
        bare = not self.at_end and self._tokens[self._next].kind == "word"
        chain, operators = [self._operand()], []
        line = self.line
        if self.peek() == "=":  # an attribute of the graph
            self.take("=")
            self.next_word()
            return
        while self.peek() in OPERATORS:
            operators.append(self.peek())
            self._next += 1
            chain.append(self._operand())
        attributes = self._attributes()
        if not operators:
            default = bare and chain[0][0].lower() in ("graph", "node", "edge")
            for name in chain[0]:
                yield Statement((name,), "", attributes, line, default)
        # "a -> b -> c" is two edges, and braces join each of one side to each of the other.
        for (firsts, seconds), operator in zip(pairwise(chain), operators, strict=True):
            for pair in product(firsts, seconds):
                yield Statement(pair, operator, attributes, line)

    def _operand(self) -> list[str]:
        """Name, or names in braces."""
        if self.peek() != "{":
            name = self.next_word()
            if self.peek() == ":":
                raise InputError(
                    f"line {self.line}: a port after {name!r} cannot be read. Remove it, or put "
                    "quotes around a name that has a colon."
                )
            return [name]
        self.take("{")
        names = []
        while not self.at_end and self.peek() != "}":
            if self.peek() == ",":
                self.take(",")
            else:
                names.append(self.next_word())
        self.take("}")
        return names

    def _attributes(self) -> dict[str, str]:
        attributes: dict[str, str] = {}
        # Several brackets may follow each other: [a=1][b=2].
        while self.peek() == "[":
            self.take("[")
            while not self.at_end and self.peek() != "]":
                if self.peek() == ",":
                    self.take(",")
                    continue
                key = self.next_word()
                # Both languages have attributes without a value, such as DAGitty's [exposure].
                attributes[key] = ""
                if self.peek() == "=":
                    self.take("=")
                    attributes[key] = self.next_word()
            self.take("]")
        return attributes


def quoted(name: str) -> str:
    """Name in quotes; it must have no backslash."""
    return '"' + name.replace('"', r"\"") + '"'


# What can stand in quotes, in both tools: a backslash means something else in each of them.
QUOTABLE = re.compile(r"[^\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
