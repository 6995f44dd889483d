"""Measure how large and how readable the code is, at an earlier revision and now.

    python benchmarks/house.py --before b2c0aae    # writes benchmarks/results/house.json and .md

Code lines do not include comments, docstrings and blank lines. A comment is a line with a "#". A
file with kernels has a function that numba compiles. A vague name is a local or parameter such as
`found`, `own` or `here`. Two places that share ten lines of code are a pair of duplicates.
"""

import ast
import io
import re
import tokenize
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import networkx as nx
from output import ROOT, main, tree_at

DUPLICATE_LINES = 10
GROWTH = 1.05  # goal: code lines now, as a share of those at the earlier revision
MAX_EXPERIMENT_LINES, MAX_FILE_LINES = 1500, 400
MIN_COMMENT_SHARE = 0.08
VAGUE = {"found", "own", "one", "here", "room", "there", "said", "ones", "others", "thing"}
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
PRAGMA = re.compile(r"#\s*(?:noqa|type:|pragma|fmt:)")
WORDS = {".toml", ".j2", ".html", ".css", ".js", ".md"}  # files of templates and tables
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class File(NamedTuple):
    """The counts of one file. `code` has the line numbers of its code lines."""

    path: Path
    code: list[int]
    comments: int
    lines: int
    vague: int
    has_kernels: bool


def read(path):
    """Return the counts of one file."""
    text = path.read_text()
    code, comments = set(), 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        # Marks for mypy and ruff are not comments for a reader.
        comments += token.type == tokenize.COMMENT and not PRAGMA.match(token.string)
        if token.type not in NO_CODE:
            code |= set(range(token.start[0], token.end[0] + 1))
    nodes = list(ast.walk(ast.parse(text)))
    for node in nodes:
        documented = isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS))
        # A docstring is a statement, so that the tokeniser counts it as code.
        if documented and ast.get_docstring(node, clean=False) is not None:
            code -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    functions = [node for node in nodes if isinstance(node, FUNCTIONS)]
    decorators = [ast.unparse(mark) for function in functions for mark in function.decorator_list]
    return File(
        path,
        sorted(code),
        comments,
        len(text.splitlines()),
        sum(bool(names_of(function) & VAGUE) for function in functions),
        any("jit" in mark for mark in decorators),  # jit, njit, jit_inside, jit_loops
    )


def names_of(function):
    """Return the parameters and locals of a function, and of functions inside it."""
    names = {arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)}
    stored = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    return names | {node.id for node in stored if isinstance(node.ctx, ast.Store)}


def duplicates(files):
    """Count the pairs of places with the same `DUPLICATE_LINES` lines of code, except imports."""
    places = defaultdict(list)
    for file in files:
        text = file.path.read_text().splitlines()
        # Blanks do not count, because a block may have another indent.
        code = [" ".join(text[line - 1].split()) for line in file.code]
        # Imports look alike, but cannot be shared.
        code = [line for line in code if not line.startswith(("from ", "import "))]
        for start in range(len(code) - DUPLICATE_LINES + 1):
            places[tuple(code[start : start + DUPLICATE_LINES])].append((file.path, start))
    shared = {pair for same in places.values() for pair in combinations(sorted(same), 2)}
    # A longer run of equal lines is one pair, which is counted at its first line.
    return sum(tuple((path, k - 1) for path, k in pair) not in shared for pair in shared)


def cycles(files):
    """Count the groups of packages that import each other in a circle."""
    arrows = nx.DiGraph()
    for file in files:
        # The package of a file is the first part of its path below sgbn.
        package = file.path.parts[file.path.parts.index("sgbn") + 1].removesuffix(".py")
        tree = ast.parse(file.path.read_text())
        # These are never imported when the code runs.
        for_types = {
            node
            for block in ast.walk(tree)
            if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
            for node in ast.walk(block)
        }
        for node in set(ast.walk(tree)) - for_types:
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("sgbn."):
                arrows.add_edge(package, node.module.split(".")[1])
    return sum(len(part) > 1 for part in nx.strongly_connected_components(arrows))


def share_of_comments(files):
    return sum(file.comments for file in files) / sum(len(file.code) for file in files)


def figures_of(root):
    """Return the figures of one tree."""
    source, benchmarks = (
        [read(path) for path in sorted((root / part).rglob("*.py"))]
        for part in ("src/sgbn", "benchmarks")
    )
    both = source + benchmarks
    experiments = [file for file in source if "experiments" in file.path.parts]
    return {
        "code lines of src": sum(len(file.code) for file in source),
        "code lines of benchmarks": sum(len(file.code) for file in benchmarks),
        "code lines of experiments in the package": sum(len(file.code) for file in experiments),
        "lines of templates and tables beside the code": sum(
            len(path.read_text().splitlines())
            for part in ("src/sgbn", "benchmarks")
            for path in (root / part).rglob("*")
            if path.suffix in WORDS and "results" not in path.parts
        ),
        "files of src": len(source),
        "lines of the longest file": max(file.lines for file in both),
        "comments per code line, src": share_of_comments(source),
        "comments per code line, benchmarks": share_of_comments(benchmarks),
        "comments per code line, files with kernels": share_of_comments(
            [file for file in source if file.has_kernels]
        ),
        "functions with vague names": sum(file.vague for file in both),
        "pairs of duplicates": duplicates(source),
        "cycles of imports": cycles(source),
    }


def goals_of(before):
    """Return the goals by the name of their figure."""
    at_most = {
        name: round(GROWTH * before[name])
        for name in ("code lines of src", "code lines of benchmarks")
    } | {
        "code lines of experiments in the package": MAX_EXPERIMENT_LINES,
        "lines of the longest file": MAX_FILE_LINES,
        "pairs of duplicates": 0,
        "cycles of imports": 0,
    }
    at_least = f"at least {MIN_COMMENT_SHARE:.0%}"
    comments = {name: at_least for name in before if name.startswith("comments")}
    return {name: f"at most {goal:,}" for name, goal in at_most.items()} | comments


def shown(figure):
    return f"{figure:.1%}" if isinstance(figure, float) else f"{figure:,}"


def measure(given):
    with tree_at(given.before) as tree:
        before = figures_of(tree)
    return [{"tree": given.before} | before, {"tree": "now"} | figures_of(ROOT)]


def slots(runs):
    before, now = runs
    goals = goals_of(before)
    names = [name for name in now if name != "tree"]
    rows = [(name, shown(before[name]), shown(now[name]), goals.get(name, "")) for name in names]
    return {"before": before["tree"], "figures": rows}


if __name__ == "__main__":
    main(measure, slots, before={"metavar": "REVISION", "required": True, "help": "of git"})
