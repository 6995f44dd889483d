"""Read the language that dot (Graphviz) and DAGitty share.

A text names a kind of graph, and then lists statements in braces::

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

from sgbn.core.exceptions import InputError
from sgbn.io.networks.texts import pieces

# Possessive repeats (++) never go back, so that no input makes an expression slow. A # begins a
# comment only at the start of a line, where a C preprocessor puts its lines. The longest marks come
# first, because otherwise <-> would be read as <- and >. A word may be a negative number or letters
# of any script, since dot accepts both without quotes.
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
    "line {line}: {part} cannot be read. A quote or comment is not closed, or the format does not "
    "have this mark. Correct it."
)
OPERATORS = ("->", "<-", "--", "<->", "@->", "<-@", "@-@", "@--", "--@")


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


class Statement(NamedTuple):
    """One statement: a node (without an operator), an edge, or defaults of nodes or edges.

    Attributes
    ----------
    names : tuple of str
        The name of a node, or the two names of an edge. For defaults, it is ``graph``, ``node`` or
        ``edge``.
    operator : str
        The mark between the names of an edge. Empty for other statements.
    attributes : dict of str to str
        Name -> value of the attributes, which follow in brackets.
    line : int
        Line of the file where the statement begins.
    is_default : bool
        Whether the attributes are defaults for later nodes or edges.
    """

    names: tuple[str, ...]
    operator: str
    attributes: dict[str, str]
    line: int
    is_default: bool = False


class GraphText(NamedTuple):
    """A graph that was read: its kind (``digraph``, ``pdag``, ...) and its statements."""

    kind: str
    statements: list[Statement]


def parse_graph_text(text: str, kinds: tuple[str, ...]) -> GraphText:
    """Return the statements of a graph; raise InputError unless it is of one of these kinds."""
    reader = _Reader(list(_tokens(text)))
    kind = reader.next_word().lower()
    # `strict` forbids a second edge of a pair. Here a second edge is refused in every graph.
    if kind == "strict":
        kind = reader.next_word().lower()
    if kind not in kinds:
        raise InputError(
            f"line {reader.line}: expected {' or '.join(kinds)}, not {kind[:40]!r}. Check the "
            "format of the file."
        )
    if reader.peek() != "{":  # the name of the graph, which is not needed
        reader.next_word()
    reader.take("{")
    statements = list(reader.statements())
    reader.take("}")
    if not reader.at_end:
        raise InputError(f"line {reader.line}: text follows after the end of the graph. Remove it.")
    return GraphText(kind, statements)


def _tokens(text: str) -> Iterator[_Token]:
    for piece, line in pieces(_TOKEN, text, _NO_TOKEN):
        kind = str(piece.lastgroup)
        if kind == "quoted":
            # A backslash joins a line to the next one. Before a quote, the backslash is removed.
            yield _Token(kind, piece["quoted"].replace('\\"', '"').replace("\\\n", ""), line)
        elif kind != "space":
            yield _Token(kind, piece[kind], line)


class _Reader:
    """Takes tokens one after another, and makes statements of them."""

    def __init__(self, tokens: list[_Token]) -> None:
        self._tokens = tokens
        self._next = 0

    @property
    def at_end(self) -> bool:
        return self._next >= len(self._tokens)

    @property
    def line(self) -> int:
        """Return the line of the last token that was taken, or of the first if none was taken."""
        return self._tokens[max(self._next - 1, 0)].line if self._tokens else 1

    def peek(self) -> str:
        """Return the mark that comes next, or empty text if a name comes next."""
        if self.at_end or self._tokens[self._next].kind != "mark":
            return ""
        return self._tokens[self._next].text

    def take(self, mark: str) -> None:
        if self.peek() != mark:
            raise self._unexpected(f"'{mark}'")
        self._next += 1

    def next_word(self) -> str:
        """Take and return the next name. Strings that are joined by a plus sign are one name."""
        parts = []
        while True:
            if self.at_end or self._tokens[self._next].kind == "mark":
                raise self._unexpected("a name")
            token = self._tokens[self._next]
            self._next += 1
            parts.append(token.text)
            # Only strings in quotes can be joined. After a word, a plus sign is a mistake.
            if token.kind != "quoted" or self.peek() != "+":
                return "".join(parts)
            self._next += 1

    def _unexpected(self, expected: str) -> InputError:
        if self.at_end:
            return InputError(
                f"the file ends, but {expected} is expected, so a part is missing. Fetch or write "
                "the file again."
            )
        token = self._tokens[self._next]
        return InputError(
            f"line {token.line}: expected {expected}, not {token.text[:40]!r}. Correct the line; "
            "put quotes around a name with spaces or marks."
        )

    def statements(self) -> Iterator[Statement]:
        """Yield the statements up to the closing brace."""
        while not self.at_end and self.peek() != "}":
            if self.peek() == ",":  # it has no meaning between statements
                self.take(",")
                continue
            yield from self._statement()

    def _statement(self) -> Iterator[Statement]:
        # In quotes, "node" is the name of a node, and does not begin a default.
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
        # "a -> b -> c" is two edges. Braces join each name on one side to each name on the other.
        for (firsts, seconds), operator in zip(pairwise(chain), operators, strict=True):
            for pair in product(firsts, seconds):
                yield Statement(pair, operator, attributes, line)

    def _operand(self) -> list[str]:
        """Take a name, or several names in braces, and return them as a list."""
        if self.peek() != "{":
            name = self.next_word()
            if self.peek() == ":":
                raise InputError(
                    f"line {self.line}: a port after {name!r} (a colon and a word) cannot be read. "
                    "Remove it, or put quotes around a name that has a colon."
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
        # Several pairs of brackets may follow each other: [a=1][b=2].
        while self.peek() == "[":
            self.take("[")
            while not self.at_end and self.peek() != "]":
                if self.peek() == ",":
                    self.take(",")
                    continue
                key = self.next_word()
                # An attribute may have no value in both languages, such as DAGitty's [exposure].
                attributes[key] = ""
                if self.peek() == "=":
                    self.take("=")
                    attributes[key] = self.next_word()
            self.take("]")
        return attributes


def quoted(name: str) -> str:
    """Return a name in quotes. The name must not have a backslash."""
    return '"' + name.replace('"', r"\"") + '"'


# Text that both tools can read in quotes. A backslash has a different meaning in each of them.
QUOTABLE = re.compile(r"[^\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")
