"""Graphs in files of other tools: the graph with its names, and the tools that readers share.

A `GraphBuilder` collects the nodes and edges while a file is read. Readers and writers share the
functions for the text of a file and for exact numbers. The readers of most formats are in
`sgbn.write.formats`. The reader of BIF, the format of the Bayesian Network Repository, is here. A
BIF file is a sequence of blocks ``head { body }``. The heads alone describe the graph::

    network asia { }
    variable smoke { type discrete [ 2 ] { yes, no }; }
    probability ( lung | smoke ) { (yes) 0.1, 0.9; (no) 0.01, 0.99; }
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sgbn.cohort.simulate import BenchmarkNetwork
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import find_cycle
from sgbn.core.problems import CycleError, InputError
from sgbn.core.types import Mask
from sgbn.read.cells import of_file
from sgbn.read.files import decoded, gunzipped, read_bytes

Edge = tuple[str, str]


class NamedGraph(NamedTuple):
    """A graph from a file, or for a file.

    Attributes
    ----------
    graph : ndarray of bool, shape (m, m)
        ``graph[i, j]`` is the arrow from ``names[i]`` to ``names[j]``. If ``graph[j, i]`` is set
        too, the edge is a line: it has no direction.
    names : tuple of str
        Names of the nodes.
    network : GaussianNetwork or None
        The network with its weights, if the file has all weights and variances. A weight belongs to
        a direction, so all edges of the network have a direction, also the lines of `graph`.
    supported : ndarray of bool, shape (m, m), or None
        Edges whose direction is supported. None if the file does not say it.
    """

    graph: Mask
    names: tuple[str, ...]
    network: GaussianNetwork | None = None
    supported: Mask | None = None


def check_acyclic(graph: Mask, names: tuple[str, ...]) -> None:
    """Raise CycleError if there is a directed cycle. The message names its nodes."""
    cycle = find_cycle(graph)
    if cycle is not None:
        raise CycleError([names[k] for k in (*cycle, cycle[0])])


def edges_and_lines(content: NamedGraph) -> tuple[list[Edge], list[Edge]]:
    """Return the arrows and the lines of a graph as pairs of names.

    The names of a line are in the direction of its weight, if it has one.
    """
    # Without weights, the upper triangle gives each line once, not twice.
    both = content.graph & content.graph.T
    way = np.triu(both) if content.network is None else both & (content.network.coef != 0)
    arrows, lines = (
        [(content.names[i], content.names[j]) for i, j in np.argwhere(mask)]
        for mask in (content.graph & ~both, way)
    )
    return arrows, lines


def weights_of(content: NamedGraph) -> dict[Edge, float]:
    """Return edge -> weight; an empty dict if the weights are not known."""
    if content.network is None:
        return {}
    coef, names = content.network.coef, content.names
    return {(names[i], names[j]): float(coef[i, j]) for i, j in np.argwhere(coef)}


def check_dag(content: NamedGraph, tool: str) -> None:
    """Raise InputError unless all edges are arrows, for a format that has no lines."""
    _, lines = edges_and_lines(content)
    if lines:
        raise InputError("graph.lines", tool=tool, edge=lines[0]).says(
            "a file for {tool:s} cannot hold edges without a direction, such as that of {edge}",
            "Choose {directions='graph'} and networks/GROUP.json, or a format with such edges: "
            "dagitty, tetrad, dot.",
        )
    check_acyclic(content.graph, content.names)


INTERCEPT, VARIANCE = "intercept", "noise_variance"  # names of the attributes of a node in files
MAX_VARIABLES = 20_000  # a graph is a matrix of all pairs, which then takes 400 MB


class GraphBuilder:
    """Collects nodes, edges and numbers, and refuses an edge that is there twice.

    Parameters
    ----------
    unit : str
        Word before the number of a place in messages, such as "line" in "line 3".

    Attributes
    ----------
    names : dict of str to None
        Names of the nodes, in the order in which they were added.
    intercept, noise_variance : dict of str to float
        Name of a node -> its number, for the nodes whose number is in the file.
    """

    def __init__(self, unit: str = "line") -> None:
        self._unit = unit
        self.names: dict[str, None] = {}
        # The weight of an edge is None if the file does not say it.
        self._weights: dict[Edge, float | None] = {}
        self._lines: set[Edge] = set()
        self.intercept: dict[str, float] = {}
        self.noise_variance: dict[str, float] = {}

    def add_node(self, name: str) -> None:
        """Add a node, unless it was added before."""
        self.names[name] = None
        _check_size(len(self.names))

    def describe_node(self, name: str, about: Mapping[str, str], line: int) -> None:
        """Add a node with the intercept and the variance that its attributes give."""
        self.add_node(name)
        if INTERCEPT in about:
            self.intercept[name] = number_of(about[INTERCEPT], line)
        if VARIANCE in about:
            self.set_variance(name, number_of(about[VARIANCE], line), line)

    def add_edge(
        self, source: str, target: str, line: int, weight: float | None = None, *, arrow: bool
    ) -> None:
        """Add an arrow or a line. A weight is always for source -> target, also for a line."""
        if source == target:
            raise InputError("edge.itself", unit=self._unit, line=line, name=source).says(
                "{unit:s} {line}: {name} has an edge to itself", "Remove it."
            )
        # Two arrows in opposite directions are a cycle. `graph` refuses it, and names its nodes.
        taken = self._lines if arrow else self._weights
        # An arrow opposite to a line, or a line opposite to any edge, joins the pair a second time.
        if (source, target) in self._weights or (target, source) in taken:
            raise InputError("edge.twice", unit=self._unit, line=line, pair=(source, target)).says(
                "{unit:s} {line}: there is a second edge between {pair}", "Keep one."
            )
        for name in (source, target):
            self.add_node(name)
        self._weights[source, target] = weight
        if not arrow:
            self._lines.add((source, target))

    def set_variance(self, name: str, variance: float, line: int) -> None:
        """Store the variance of the noise of a node."""
        if variance < 0:
            raise InputError("variance.negative", unit=self._unit, line=line, name=name).says(
                "{unit:s} {line}: the variance of {name} is negative", "Correct it."
            )
        self.noise_variance[name] = variance

    def graph(self) -> NamedGraph:
        """Return the graph. It has a network if no weight and no variance is missing."""
        if not self.names:
            raise InputError("graph.empty").says(
                "the file names no variable", "Check its format, and that it is complete."
            )
        names = tuple(self.names)
        place = {name: k for k, name in enumerate(names)}
        coef = np.zeros((len(names), len(names)))
        graph = np.zeros(coef.shape, dtype=bool)
        for (source, target), weight in self._weights.items():
            i, j = place[source], place[target]
            graph[i, j] = True
            # NaN means that the weight is not known.
            coef[i, j] = np.nan if weight is None else weight
        # Lines may form a circle, since only arrows can form a directed cycle.
        arrows = graph.copy()
        for source, target in self._lines:
            arrows[place[source], place[target]] = False
            graph[place[target], place[source]] = True
        check_acyclic(arrows, names)
        return NamedGraph(graph, names, self._network(coef, names))

    def _network(self, coef: np.ndarray, names: tuple[str, ...]) -> GaussianNetwork | None:
        """Return the network with the numbers of the file; None if some are missing."""
        # A weight of 0 counts as missing, because in a network it would not be an edge.
        whole = np.count_nonzero(coef) == len(self._weights) and np.isfinite(coef).all()
        # A missing intercept counts as 0. A missing variance has no such default.
        if not whole or not self.noise_variance.keys() >= set(names):
            return None
        check_acyclic(coef != 0, names)  # here lines count too, in the direction of their weight
        intercept = [self.intercept.get(name, 0.0) for name in names]
        variance = [self.noise_variance[name] for name in names]
        return GaussianNetwork(coef, intercept, variance, names)


def _check_size(n: int) -> None:
    """Raise InputError if a graph has too many variables."""
    if n > MAX_VARIABLES:
        raise InputError("graph.large", most=MAX_VARIABLES).says(
            "the graph has more than {most} variables", "Give a smaller one."
        )


KEYWORDS = ("network", "variable", "probability")
# The head of each block, with x for a name, and in words.
SHAPES = {"variable": "x", "probability": r"\(x\|?(x,?)*\)"}
EXPECTED = {"variable": "NAME", "probability": "( CHILD | PARENT, PARENT )"}

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


class Token(NamedTuple):
    """A name or a mark in a text, with its line."""

    kind: str
    text: str
    line: int

    @property
    def is_name(self) -> bool:
        """Return whether it is a name."""
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
        raise in_file(path, error) from None


def in_file(path: str | PathLike[str], error: InputError) -> InputError:
    """Return the error about a part of a file, with the path of the file."""
    return InputError("network.file", file=path, cause=error).says("{file}: {cause}")


def parse_bif(text: str) -> BenchmarkNetwork:
    """Return the graph that the text of a BIF file declares."""
    blocks: dict[str, dict[str, _Block]] = {"variable": {}, "probability": {}}
    for head in _heads(_tokens(text)):
        kind = head[0].text
        if kind in blocks:
            block = _block(head)
            # setdefault returns the earlier block of this name, if there is one.
            first = blocks[kind].setdefault(block.name, block)
            if first is not block:
                raise InputError("bif.twice", kind=kind, name=block.name, line=block.line).says(
                    "line {line}: this is a second {kind:s} block of {name}", "Remove one."
                )
    if not blocks["variable"]:
        raise InputError("bif.empty").says("not a BIF file: it declares no variable")
    # Checked before the matrix is made, because a small file can name very many variables.
    _check_size(len(blocks["variable"]))
    return _network(tuple(blocks["variable"]), blocks["probability"])


def _tokens(text: str) -> Iterator[Token]:
    """Yield the names and marks of the heads. Of the bodies, yield only the braces."""
    # Most of a file consists of the numbers in the bodies. `_IN_BODIES` skips them in large pieces.
    position, line, depth = 0, 1, 0
    while position < len(text):
        piece = (_IN_BODIES if depth else _IN_HEADS).match(text, position)
        if piece is None:
            raise unreadable(line, text[position:])
        kind = str(piece.lastgroup)
        if kind == "space":
            line += piece[0].count("\n")
        else:
            yield Token(kind, piece[kind], line)
            if kind == "mark":
                depth += (piece[0] == "{") - (piece[0] == "}")
        position = piece.end()


def _heads(tokens: Iterable[Token]) -> Iterator[list[Token]]:
    """Yield the tokens before the brace of each block. The text between braces is skipped."""
    head: list[Token] = []
    # Lines of the open braces, for the message about a brace that is never closed.
    opened: list[int] = []
    for token in tokens:
        mark = token.text if token.kind == "mark" else ""
        if mark == "}":
            if not opened:
                raise _brace(token.line)
            opened.pop()
        elif mark == "{" and (head or opened):
            if head:
                yield head
                head = []
            opened.append(token.line)
        elif not opened and (head or mark != ";"):  # a single ; does not begin a block
            # Without this check, any text file would be one long head.
            if not head and (token.kind != "word" or token.text not in KEYWORDS):
                text = token.text[:40]
                raise InputError("bif.keyword", line=token.line, text=text, known=KEYWORDS).says(
                    "line {line}: a block of BIF begins with one of {known}, not with {text}"
                )
            head.append(token)
    if opened or head:
        raise _brace(opened[0] if opened else head[0].line)


def _brace(line: int) -> InputError:
    return InputError("bif.brace", line=line).says(
        "line {line}: a brace of this block is missing", "Write {{ before each block and }} after."
    )


def _block(head: list[Token]) -> _Block:
    """Read ``variable NAME`` or ``probability ( CHILD | PARENT, PARENT )``.

    JavaBayes writes no bar and no commas. The first name is the child.
    """
    kind = head[0].text
    # The marks after the keyword, with x for each name.
    shape = "".join("x" if token.is_name else token.text for token in head[1:])
    if not re.fullmatch(SHAPES[kind], shape):
        error = InputError("bif.head", line=head[0].line, kind=kind, expected=EXPECTED[kind])
        raise error.says(
            "line {line}: expected {kind:s} {expected:s} {{",
            "Put quotes around a name that has spaces or brackets.",
        )
    child, *parents = (token.text for token in head[1:] if token.is_name)
    name, times = Counter(parents).most_common(1)[0] if parents else ("", 0)
    if times > 1:
        raise InputError("bif.parent", line=head[0].line, child=child, name=name).says(
            "line {line}: {child} has the parent {name} twice", "Keep one."
        )
    return _Block(child, parents, head[0].line)


def _network(names: tuple[str, ...], families: dict[str, _Block]) -> BenchmarkNetwork:
    declared = set(names)
    for family in families.values():
        for name in (family.name, *family.parents):
            if name not in declared:
                raise InputError("bif.variable", line=family.line, name=name).says(
                    "line {line}: there is no variable {name}", "Declare it, or correct the name."
                )
    arcs = ((parent, family.name) for family in families.values() for parent in family.parents)
    network = BenchmarkNetwork.from_arcs(names, arcs)
    check_acyclic(network.graph, names)
    return network


MAX_BYTES = 2**28  # of text; a network needs far less, and a larger file may be a gzip bomb
# float() would also accept "1_0", "nan" and the digits of other scripts.
NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"


def read_text(path: Path) -> str:
    """Return the text of a plain or gzipped file, with line feeds as line ends."""
    # One byte more than the limit shows that the limit is exceeded.
    content = gunzipped(read_bytes(path, MAX_BYTES + 1), of_file(path), MAX_BYTES)
    if len(content) > MAX_BYTES:
        raise InputError("network.large", file=path, most=MAX_BYTES >> 20).says(
            "{file} holds more than {most} MB of text", "Give a file of one network."
        )
    return decoded(content).replace("\r\n", "\n").replace("\r", "\n")


def pieces(
    pattern: re.Pattern[str], text: str, line: int = 1
) -> Iterator[tuple[re.Match[str], int]]:
    """Yield the matches that a text consists of, one after another, with their lines."""
    position = 0
    while position < len(text):
        # match, not search, because the text between two pieces must not be skipped.
        piece = pattern.match(text, position)
        if piece is None:
            raise unreadable(line, text[position:])
        yield piece, line
        line += piece[0].count("\n")
        position = piece.end()


def unreadable(line: int, text: str) -> InputError:
    """Return the error about a text that cannot be read from here."""
    return InputError("text.unreadable", line=line, text=text[:40]).says(
        "line {line}: {text} cannot be read", "Correct it, and close each quote and comment."
    )


def number_text(value: float) -> str:
    """Return the shortest text that gives exactly this number."""
    # semopy misreads a plus sign in an exponent.
    return repr(float(value)).replace("e+", "e")


def number_of(text: str, line: int) -> float:
    """Return the finite number that a text stands for."""
    if not re.fullmatch(NUMBER, text) or not math.isfinite(float(text)):
        raise InputError("number.text", line=line, text=text[:40]).says(
            "line {line}: {text} is not a finite number", "Correct it."
        )
    return float(text)
