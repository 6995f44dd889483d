"""What a reader of the code meets: its size, its functions, and the way of a call through it.

python benchmarks/house.py --before REVISION    # writes benchmarks/results/house.json and .md

Measures the checkout as it was at a revision of git, and as it is. A *switch* is a function of
sgbn that is called for the first time right after one of another package was: how often a reader
who follows a call from its beginning goes to another folder. Modules beside the packages, such as
`moments.py`, count as one package. Loading modules does not count.
"""

import argparse
import ast
import contextlib
import importlib
import io
import json
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
import tokenize
from collections import defaultdict
from itertools import combinations, pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
DUPLICATE = 10  # lines that make a pair of duplicates
SEED = 0
FIT_SIZE = 200, 30  # subjects and regions: the search that most tables get
SEARCH = "search_order"  # where the search over orders begins
SIMULATED = ["--sites", "2", "--covariates", "age", "sex", "--missing", "0.01"]
COMPARED = ["--group", "group", "--covariates", "age", "sex", "--site", "site", "--quick"]
GOALS = {"duplicates": 0, "cycles": 0, "`sgbn compare`: switches": 80, "`SGBN().fit`: frames": 6}
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
INTRODUCTION = """# The house

Lines of code are without comments, docstrings and blank lines. `compare` is
`sgbn compare` of a simulated table with sites, covariates and gaps (`--quick`), from the command
line to the last file; `fit` is `SGBN().fit` of {} subjects by {} regions, and its frames are
those from `fit` to the search, both counted. A switch is a first call of a function right after
one of another package. A pair of duplicates shares {} lines of code."""


def code_lines(path):
    """Numbers of the lines of a file that hold code."""
    text = path.read_text()
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {
        line
        for token in tokens
        if token.type not in NO_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node, clean=False
        ):
            string = node.body[0]
            lines -= set(range(string.lineno, string.end_lineno + 1))
    return sorted(lines)


def functions(path, lines):
    """Lines of code of each function of a file, functions inside it among them."""
    return [
        sum(node.lineno <= line <= node.end_lineno for line in lines)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef)
    ]


def duplicates(files):
    """Pairs of places that share `DUPLICATE` or more lines of code, imports left out."""
    places = defaultdict(list)
    for path, lines in files.items():
        text = path.read_text().splitlines()
        code = [" ".join(text[line - 1].split()) for line in lines]
        code = [line for line in code if not line.startswith(("from ", "import "))]
        for start in range(len(code) - DUPLICATE + 1):
            places[tuple(code[start : start + DUPLICATE])].append((path, start))
    shared = {pair for own in places.values() for pair in combinations(sorted(own), 2)}
    first = [pair for pair in shared if tuple((path, k - 1) for path, k in pair) not in shared]
    return len(first)


def package_of(path, root):
    """Package of a file of sgbn."""
    parts = path.relative_to(root).parts
    return parts[0] if len(parts) > 1 else "sgbn"


def size(root):
    """Sizes of a tree: packages, functions, duplicates."""
    files = {
        path: code_lines(path)
        for path in sorted(path for path in root.rglob("*.py*") if path.suffix in (".py", ".pyi"))
    }
    lengths = sorted(n for path, lines in files.items() for n in functions(path, lines))
    return {
        "code lines": sum(map(len, files.values())),
        "files": len(files),
        "sizes": {str(path.relative_to(root)): len(lines) for path, lines in files.items()},
        "function p50": lengths[len(lengths) // 2],
        "function p90": lengths[9 * len(lengths) // 10],
        "function longest": lengths[-1],
        "duplicates": duplicates(files),
        "cycles": cycles(root),
        "checks by hand": sum(
            re.search(r"(?<!def )\bcheck_(?!is_fitted|random_state|parameters)\w+\(", line)
            is not None
            for path, lines in files.items()
            for line in (path.read_text().splitlines()[number - 1] for number in lines)
        ),
    }


def cycles(root):
    """How many groups of packages import each other in a circle."""
    import grimp
    import networkx as nx

    sys.path.insert(0, str(root.parent))
    graph = grimp.build_graph("sgbn", exclude_type_checking_imports=True, cache_dir=None)
    arrows = nx.DiGraph()
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            ends = [".".join(name.split(".")[:2]) for name in (module, other)]
            if "sgbn" not in ends and ends[0] != ends[1]:
                arrows.add_edge(*ends)
    return sum(len(part) > 1 for part in nx.strongly_connected_components(arrows))


class Trace:
    """Functions of sgbn in the order of their first calls, with the frames above each."""

    def __init__(self, root):
        self.root, self.calls, self.seen = str(root), [], set()

    def __enter__(self):
        sys.setprofile(self._note)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def _note(self, frame, event, _):
        code = frame.f_code
        if event != "call" or code in self.seen or not code.co_filename.startswith(self.root):
            return
        self.seen.add(code)
        if not code.co_name.startswith("<"):
            self.calls.append((Path(code.co_filename), code.co_name, self._above(frame)))

    def _above(self, frame):
        names = []
        while frame is not None:
            if frame.f_code.co_filename.startswith(self.root):
                names.append(frame.f_code.co_name)
            frame = frame.f_back
        return names[::-1]

    def summary(self):
        """Switches, functions, files and packages of the calls."""
        packages = [package_of(path, Path(self.root)) for path, _, _ in self.calls]
        return {
            "switches": sum(one != other for one, other in pairwise(packages)),
            "functions": len(self.calls),
            "files": len({path for path, _, _ in self.calls}),
            "packages": list(dict.fromkeys(packages)),
        }


def way(root):
    """Ways of `SGBN().fit` and of `sgbn compare` through the tree that is imported."""
    import numpy as np

    import sgbn
    from sgbn.cli import main

    for module in pkgutil.walk_packages(sgbn.__path__, "sgbn."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    X = np.random.default_rng(SEED).normal(size=FIT_SIZE) @ np.random.default_rng(1).normal(
        size=(FIT_SIZE[1], FIT_SIZE[1])
    )
    with Trace(root) as fit:
        sgbn.SGBN().fit(X)
    frames = next(above for _, name, above in fit.calls if name == SEARCH)
    frames = frames[frames.index("fit") :]
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        main(["simulate", "--out", folder, "--subjects", "60", "--regions", "20", *SIMULATED])
        words = ["compare", f"{folder}/cohort.csv", *COMPARED, "--workers", "1"]
        with Trace(root) as compare:
            main([*words, "--out", f"{folder}/results"])
    return {
        "fit": fit.summary() | {"frames": len(frames), "stack": frames},
        "compare": compare.summary(),
    }


def measure(root):
    """All of one tree, in a process that imports this tree and no other."""
    environment = os.environ | {"PYTHONPATH": str(root.parent)}
    command = [sys.executable, __file__, "--one", str(root)]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if answer.returncode:
        raise SystemExit(answer.stderr)
    return json.loads(answer.stdout.splitlines()[-1])


def rows(before, now, places):
    """Rows of the table of both trees; a file that has moved (`places`) counts where it is now."""
    names = ["code lines", "files", "function p50", "function p90", "function longest"]
    names += ["duplicates", "cycles", "checks by hand"]
    found = [[name, before[name], now[name]] for name in names]
    for call, words in (("compare", "`sgbn compare`"), ("fit", "`SGBN().fit`")):
        for name in ("switches", "functions", "files", "packages", "frames"):
            if name in before[call]:
                values = [one[call][name] for one in (before, now)]
                values = [len(one) if isinstance(one, list) else one for one in values]
                found.append([f"{words}: {name}", *values])
    counts = defaultdict(lambda: [0, 0])
    for column, tree in enumerate((before, now)):
        for path, size in tree["sizes"].items():
            place = path if path in now["sizes"] else places.get(path, path)
            counts[place.partition("/")[0] if "/" in place else "sgbn"][column] += size
    return found + [[f"code lines of {name}", *counts[name]] for name in sorted(counts)]


def moved(revision):
    """Place of each file that git finds elsewhere since a revision."""
    command = ["git", "diff", "--name-status", "--find-renames=35%", revision, "--", "src/sgbn"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = (line.split("\t") for line in answer.splitlines() if line.startswith("R"))
    return {old.removeprefix("src/sgbn/"): new.removeprefix("src/sgbn/") for _, old, new in lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", metavar="REVISION", help="of git")
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(size(arguments.one) | way(arguments.one)))
        return
    if not arguments.before:
        parser.error("--before is needed: the revision to compare with.")
    from output import RESULTS, write

    from sgbn.experiments.markdown import table

    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "-q", str(ROOT), folder], check=True)
        subprocess.run(["git", "-C", folder, "checkout", "-q", arguments.before], check=True)
        before = measure(Path(folder) / "src" / "sgbn")
    now = measure(ROOT / "src" / "sgbn")
    lines = [INTRODUCTION.format(*FIT_SIZE, DUPLICATE), ""]
    found = rows(before, now, moved(arguments.before))
    found = [[*row, GOALS.get(row[0], "")] for row in found]
    lines += table(["", f"at {arguments.before}", "now", "goal, at most"], found)
    lines += ["", "From `fit` to the search: " + ", ".join(now["fit"]["stack"]) + "."]
    runs = [{"tree": arguments.before} | before, {"tree": "now"} | now]
    words = ["benchmarks/house.py", "--before", arguments.before]
    write(RESULTS, "house", {"seed": SEED, "runs": runs}, lines, words)


if __name__ == "__main__":
    main()
