"""Graphs in the languages of dot, DAGitty, lavaan and semopy, and names that a format cannot write.

dot (Graphviz) and DAGitty share a language. A text names a kind of graph, and then lists statements
in braces::

    digraph name {
      "a b" [intercept=1];          // a node
      "a b" -> c -> {d e} [w=2];    /* edges */
      edge [dir=none]; bb="0,0,1,1"
    }

In the language of lavaan and semopy, a graph is a structural equation model. Its reader takes
regressions (``y ~ a + 0.5*b``), variances (``y ~~ y``), intercepts (``y ~ 1``) and start values. It
refuses latent variables and covariances, which a network does not have.

Each format has names that it cannot write: names with spaces in Tetrad, names that begin with a
digit in lavaan. Such a name is replaced. A comment in the file gives the true name, so that reading
the file gives the true name back::

    # sgbn name: X7Networks_LH = "7Networks-LH"

The true name is written as a JSON string in ASCII, so that none of its characters ends the line.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from sgbn.core.problems import InputError
from sgbn.read.network import NUMBER, GraphBuilder, NamedGraph, Token, number_of, pieces

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
OPERATORS = ("->", "<-", "--", "<->", "@->", "<-@", "@-@", "@--", "--@")


END = "end of file"  # the mark after the last token


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


def parse_graph_text(text: str, kinds: tuple[str, ...]) -> tuple[str, list[Statement]]:
    """Return the kind of a graph (``digraph``, ``pdag``, ...) and its statements.

    Raise InputError unless it is of one of `kinds`.
    """
    reader = _Reader(list(_tokens(text)))
    kind = reader.next_word().lower()
    # `strict` forbids a second edge of a pair. Here a second edge is refused in every graph.
    if kind == "strict":
        kind = reader.next_word().lower()
    if kind not in kinds:
        raise InputError("text.kind", line=reader.line, kinds=kinds, kind=kind[:40]).says(
            "line {line}: expected one of {kinds}, not {kind}", "Check the format of the file."
        )
    if reader.peek() != "{":  # the name of the graph, which is not needed
        reader.next_word()
    reader.take("{")
    statements = list(reader.statements())
    reader.take("}")
    if reader.peek() != END:
        raise InputError("text.after", line=reader.line).says(
            "line {line}: text follows after the end of the graph", "Remove it."
        )
    return kind, statements


def _tokens(text: str) -> Iterator[Token]:
    for piece, line in pieces(_TOKEN, text):
        kind = str(piece.lastgroup)
        if kind == "quoted":
            # A backslash joins a line to the next one. Before a quote, the backslash is removed.
            yield Token(kind, piece["quoted"].replace('\\"', '"').replace("\\\n", ""), line)
        elif kind != "space":
            yield Token(kind, piece[kind], line)


class _Reader:
    """Takes tokens one after another, and makes statements of them."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = [*tokens, Token("mark", END, tokens[-1].line if tokens else 1)]
        self._next = 0

    @property
    def line(self) -> int:
        """Return the line of the last token that was taken, or of the first if none was taken."""
        return self._tokens[max(self._next - 1, 0)].line

    def peek(self) -> str:
        """Return the mark that comes next, or empty text if a name comes next."""
        token = self._tokens[self._next]
        return token.text if token.kind == "mark" else ""

    def take(self, mark: str) -> None:
        if not self._skip(mark):
            raise self._unexpected(mark)

    def _skip(self, mark: str) -> bool:
        """Take a mark if it comes next, and return whether it does."""
        comes_next = self.peek() == mark
        self._next += comes_next
        return comes_next

    def next_word(self) -> str:
        """Take and return the next name. Strings that are joined by a plus sign are one name."""
        parts = []
        while True:
            token = self._tokens[self._next]
            if token.kind == "mark":
                raise self._unexpected("name")
            self._next += 1
            parts.append(token.text)
            # Only strings in quotes can be joined. After a word, a plus sign is a mistake.
            if token.kind != "quoted" or not self._skip("+"):
                return "".join(parts)

    def _unexpected(self, expected: str) -> InputError:
        token = self._tokens[self._next]
        error = InputError("text.token", line=token.line, expected=expected, text=token.text[:40])
        return error.says(
            "line {line}: expected {expected}, not {text}",
            "Correct the line; put quotes around a name with spaces or marks.",
        )

    def statements(self) -> Iterator[Statement]:
        """Yield the statements up to the closing brace."""
        while self.peek() not in ("}", END):
            if not self._skip(","):  # it has no meaning between statements
                yield from self._statement()

    def _statement(self) -> Iterator[Statement]:
        # In quotes, "node" is the name of a node, and does not begin a default.
        bare = self._tokens[self._next].kind == "word"
        chain, operators = [self._operand()], []
        line = self.line
        if self._skip("="):  # an attribute of the graph
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
                raise InputError("text.port", line=self.line, name=name).says(
                    "line {line}: a port after {name} (a colon and a word) cannot be read",
                    "Remove it, or put quotes around a name that has a colon.",
                )
            return [name]
        self.take("{")
        names = []
        while self.peek() not in ("}", END):
            if not self._skip(","):
                names.append(self.next_word())
        self.take("}")
        return names

    def _attributes(self) -> dict[str, str]:
        attributes: dict[str, str] = {}
        # Several pairs of brackets may follow each other: [a=1][b=2].
        while self._skip("["):
            while self.peek() not in ("]", END):
                if self._skip(","):
                    continue
                key = self.next_word()
                # An attribute may have no value in both languages, such as DAGitty's [exposure].
                attributes[key] = ""
                if self._skip("="):
                    attributes[key] = self.next_word()
            self.take("]")
        return attributes


def quoted(name: str) -> str:
    """Return a name in quotes. The name must not have a backslash."""
    return '"' + name.replace('"', r"\"") + '"'


# Text that both tools can read in quotes. A backslash has a different meaning in each of them.
QUOTABLE = re.compile(r"[^\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


_NAME = r"[^\W\d][\w.]*|\.[^\W\d][\w.]*"
_FORMULA = re.compile(rf"\s*({_NAME})\s*(=~|~~|~)\s*(.*)", re.DOTALL)
_TERM = re.compile(
    rf"""\s*(?: (?: start\( \s*(?P<start>{NUMBER})\s* \) | (?P<fixed>{NUMBER})
            | (?P<label>{_NAME}) ) \s*\*\s* )? (?P<name>{_NAME}|1|0) \s*""",
    re.VERBOSE,
)
_START = re.compile(rf"\s*START\(\s*({NUMBER})\s*\)\s*(\S[\w.\s]*)")
# A plus sign between terms. It is not inside brackets or in an exponent such as 1e+5.
_PLUS = re.compile(r"\+(?![^()]*\))(?<![\d.][eE]\+)")


class _Term(NamedTuple):
    child: str
    operator: str
    name: str
    value: float | None
    line: int


def read_sem(text: str) -> NamedGraph:
    """Return the graph of a model of lavaan or semopy.

    The graph has a network if each regression weight and each variance has a value, either a fixed
    value or a start value. An intercept without a value is 0.
    """
    starts: dict[str, float] = {}
    lines = list(_formulas(text))
    # Start values are read first, because semopy writes them after the formulas that use them.
    for line, formula in lines:
        if start := _START.fullmatch(formula):
            starts |= dict.fromkeys(start[2].split(), number_of(start[1], line))
    builder = GraphBuilder()
    terms = [
        term
        for line, formula in lines
        if not _START.fullmatch(formula)
        for term in _terms(formula, line, starts)
    ]
    # Variances come first: sgbn writes one for each node, in the order of the network.
    for term in sorted(terms, key=lambda term: term.operator != "~~"):
        _add(term, builder)
    return with_true_names(builder.graph(), text)


def _formulas(text: str) -> Iterator[tuple[int, str]]:
    """Yield each formula with the number of its first line.

    If a line ends with an operator, the formula continues in the next line.
    """
    formula, first = "", 0
    for number, raw in enumerate(text.split("\n"), start=1):
        line = re.split("[#!]", raw, maxsplit=1)[0]  # both begin a comment in lavaan
        for k, part in enumerate(line.split(";")):  # a semicolon ends a formula, like a line end
            if k and formula.strip():
                yield first, formula
                formula = ""
            first = first if formula.strip() else number
            formula += f" {part}"
        if formula.strip() and not formula.rstrip().endswith(("+", "~", "*", "(", ",")):
            yield first, formula
            formula = ""
    if formula.strip():
        yield first, formula


def _terms(formula: str, line: int, starts: dict[str, float]) -> Iterator[_Term]:
    parts = _FORMULA.fullmatch(formula)
    if parts is None:
        raise InputError("sem.formula", line=line, text=formula.strip()[:40]).says(
            "line {line}: {text} is not a formula such as 'y ~ a + b', 'y ~~ y' or 'y ~ 1'",
            "Correct or remove it.",
        )
    child, operator, right = parts.groups()
    if operator == "=~":
        raise InputError("sem.latent", line=line, name=child).says(
            "line {line}: {name} is a latent variable, which a network cannot have",
            "Remove it from all lines.",
        )
    for part in _PLUS.split(right):
        term = _TERM.fullmatch(part)
        if term is None:
            raise InputError("sem.term", line=line, text=part.strip()[:40]).says(
                "line {line}: the term {text} cannot be read",
                "Write a term such as 'a', '0.5*a', 'label*a' or '1'.",
            )
        value = starts.get(term["label"] or "")
        if term["start"] or term["fixed"]:
            value = number_of(term["start"] or term["fixed"], line)
        yield _Term(child, operator, term["name"], value, line)


def _add(term: _Term, builder: GraphBuilder) -> None:
    builder.add_node(term.child)
    if term.operator == "~~" and term.name != term.child:
        if term.value != 0:  # a covariance of 0 is no covariance
            raise InputError("sem.covariance", line=term.line, pair=(term.child, term.name)).says(
                "line {line}: a network cannot have a covariance between {pair}",
                "Remove it, or write it as a regression (~).",
            )
    elif term.operator == "~~":
        if term.value is not None:
            builder.set_variance(term.child, term.value, term.line)
    # In R, "y ~ 0" means that there is no intercept. Here an intercept without a value is 0.
    elif term.name in ("0", "1"):
        if term.value is not None and term.name == "1":
            builder.intercept[term.child] = term.value
    else:
        builder.add_edge(term.name, term.child, term.line, term.value, arrow=True)


_COMMENT = re.compile(r"^[ \t]*(?:\#|//)[ ]sgbn[ ]name:[ ](\S+)[ ]=[ ](\".*\")[ \t]*$", re.M)

# Words that cannot be the name of a variable in a formula of R.
_R_WORDS = """
if else repeat while function for in next break
TRUE FALSE NULL Inf NaN NA NA_integer_ NA_real_ NA_character_ NA_complex_
"""
RESERVED = frozenset(_R_WORDS.split())


def safe_names(
    names: Sequence[str],
    plain: re.Pattern[str],
    fill: str = "_",
    reserved: Collection[str] = (),
    *,
    ignore_case: bool = False,
) -> dict[str, str]:
    """Return true name -> name in the file. A name that matches `plain` stays, unless reserved.

    All other names become ASCII. Accents are removed, and each character that is not a letter, a
    digit or an underscore becomes `fill`. A name that does not begin with a letter gets an X in
    front. All names in the file differ. With `ignore_case`, they differ in more than upper and
    lower case. If `fill` is a dot, names in ASCII become the names that R's
    ``make.names(unique = TRUE)`` gives. R's ``read.csv`` names columns in this way too.
    """
    key = str.lower if ignore_case else str
    chosen: dict[str, str] = {}
    # Reserved words count as taken, so that no name in the file is reserved.
    taken = set(map(key, reserved))
    # Names that stay come first, so that a replaced name cannot be the same as one of them.
    for name in names:
        if plain.fullmatch(name) and key(name) not in taken:
            chosen[name] = name
            taken.add(key(name))
    # The last number of each name is kept, because counting again for each of many equal names
    # would take quadratic time.
    numbers: Counter[str] = Counter()
    for name in names:
        if name not in chosen:
            start = candidate = _made(name, fill)
            while key(candidate) in taken:
                numbers[start] += 1
                candidate = f"{start}{fill}{numbers[start]}"
            chosen[name] = candidate
            taken.add(key(candidate))
    return chosen


def _made(name: str, fill: str) -> str:
    # NFKD separates a letter from its accent. The accent is not ASCII, and so is removed.
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    # In R, a name may begin with a dot, unless a digit follows.
    begins_well = r"\.?[A-Za-z]" if fill == "." else "[A-Za-z]"
    safe = re.sub(rf"[^A-Za-z0-9_{fill}]", fill, ascii_name)
    if not re.match(begins_well, ascii_name):
        safe = f"X{safe}"
    return safe + fill if safe in RESERVED else safe


def name_comments(names: dict[str, str], mark: str = "#") -> list[str]:
    """Return comment lines with the true names of all names that were replaced."""
    return [
        f"{mark} sgbn name: {safe} = {json.dumps(name)}"
        for name, safe in names.items()
        if safe != name
    ]


def true_names(text: str) -> dict[str, str]:
    """Return name in the file -> true name, from the comments of the file."""
    names: dict[str, str] = {}
    for comment in _COMMENT.finditer(text):
        line = text.count("\n", 0, comment.start()) + 1
        try:
            name = json.loads(comment[2])
        except ValueError:
            raise InputError("text.name", line=line, name=comment[1]).says(
                "line {line}: the comment with the true name of {name} is damaged",
                "Write that name in double quotes, as JSON does, or remove the line.",
            ) from None
        names[comment[1]] = name
    return names


def with_true_names(content: NamedGraph, text: str) -> NamedGraph:
    """Return the graph with the true names, which are in the comments of the file."""
    return renamed(content, true_names(text))


def renamed(content: NamedGraph, replaced: dict[str, str]) -> NamedGraph:
    """Return the graph with new names. `replaced` is a mapping of old to new names."""
    names = tuple(replaced.get(name, name) for name in content.names)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError("graph.names", name=twice).says(
            "the file gives two variables the true name {name}",
            "Correct its comments 'sgbn name' (in a file of DAGitty, the attributes sgbn_name).",
        )
    network = content.network
    if network is not None:
        # A network cannot be changed, so a new network is made.
        network = type(network)(network.coef, network.intercept, network.noise_variance, names)
    return content._replace(names=names, network=network)
