"""Test whether the command `sgbn` does the same as at another revision.

    python benchmarks/same_tables.py --before REVISION     # writes results/same_tables.json and .md
    python benchmarks/same_tables.py --keep BEFORE         # keeps what this tree writes and prints
    python benchmarks/same_tables.py --against BEFORE      # compares this tree with what was kept
    python benchmarks/same_tables.py --against BEFORE --keep NOW --only pairs series

All files are compared byte by byte: tables, summary, networks, report, figures, model, and what is
printed with its exit code. What differs between two runs of one tree is masked (`MASKS`) or left
out (`LEFT_OUT`). Kept are the masked files: `diff -r BEFORE NOW` shows all that differs. Both
sides read the same inputs (BEFORE/inputs, made once), and use the same versions of all packages,
which models and results of tasks hold. To make BEFORE anew, delete it first.
"""

import difflib
import filecmp
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path

from output import ROOT, main, number, tree_at
from same_tables_inputs import write_inputs
from same_tables_runs import RUNS

DATA = Path(os.environ.get("SGBN_DATA", ROOT.parent / "shared" / "data"))
IXI = DATA / "neuro" / "ixi_age.csv"
INPUTS = "inputs"
PACKAGES = ("sgbn", "numpy", "scipy", "scikit-learn", "numba")  # whose versions sgbn writes
VERSIONS = [platform.python_version(), *(version(name) for name in PACKAGES)]
# What differs between two runs of the same tree, and what replaces it
MASKS = {
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d": "DATE",  # in `sgbn status`
    r"(?m)^\S{1,40}: \d+ of \d+ done, \S+ passed, .*\n": "",  # progress every 30 seconds
    # A release of sgbn, or of a package with the same numbers, changes no result.
    rf"(?<![\d.])({'|'.join(map(re.escape, VERSIONS))})(?!\.?\d)": "VERSION",
}
# The seconds of each step in about.json and report.html
SECONDS = re.compile(r'"seconds": \{[^}]*\}|<table id="seconds".*?</table>', re.DOTALL)
LEFT_OUT = (
    # Results of tasks, from which a stopped comparison continues. They belong to one version of
    # sgbn, and have times and a hash of the source.
    "work",
    # The same of `sgbn extract`. Their names have a hash of the path and the time of an image.
    "images/tasks",
    "series/tasks",
)
DIFF_LINES = 12  # that are printed of each file that differs


def sgbn(words, tree, folder):
    """Run a command of a tree in a folder, and return its masked output and exit code as text."""
    # One thread is used, because the number of threads changes the last bits of a product.
    environment = {"PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1", "COLUMNS": "100"}
    # The experiments find tables of our own in place of the real ones.
    environment |= {"SGBN_DATA": f"../{INPUTS}/data"}
    done = subprocess.run(
        [sys.executable, "-m", "sgbn", *shlex.split(words)],
        env=os.environ | environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return f"{words}\n\n{done.stdout}\nexit code {done.returncode}\n{done.stderr}"


def masked(text, tree, folder):
    """Return a text without paths of this machine, dates, seconds and versions."""
    for path, word in ((folder, "FOLDER"), (tree, "TREE")):
        text = text.replace(str(path), word)
    for pattern, word in MASKS.items():
        text = re.sub(pattern, word, text)
    return SECONDS.sub(lambda found: re.sub(r"\d+\.?\d*(e-\d+)?", "SECONDS", found[0]), text)


def do(name, tree, folder):
    """Do the commands of a run in `folder / name`, mask all files, and return the seconds."""
    place, begin = folder / name, time.perf_counter()
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for count, words in enumerate(RUNS[name], 1):
        (place / f"printed-{count:02}.txt").write_text(sgbn(words, tree, place))
    for path in [path for pattern in LEFT_OUT for path in place.rglob(pattern)]:
        shutil.rmtree(path)
    for path in place.rglob("*"):
        # Pictures and models are no text, and are compared as they are.
        with suppress(UnicodeDecodeError, IsADirectoryError):
            # As bytes, because text would hide a change of the ends of lines.
            path.write_bytes(masked(path.read_bytes().decode(), tree, folder).encode())
    seconds = time.perf_counter() - begin
    print(f"{name}: {seconds:.0f} seconds", file=sys.stderr, flush=True)
    return seconds


def do_all(names, tree, folder, given):
    """Do all runs, and return the seconds of each. Their inputs are in the folder already."""
    sgbn("warmup", tree, folder)  # once, so that no two processes compile the same
    with ThreadPoolExecutor(given.processes) as pool:
        return list(pool.map(partial(do, tree=tree, folder=folder), names))


def differing(before, now):
    """Return the names of files that differ or are in only one folder, and how many are equal."""
    names = {
        path.relative_to(folder)
        for folder in (before, now)
        for path in folder.rglob("*")
        if path.is_file()
    }
    same = [
        name
        for name in names
        if all((folder / name).exists() for folder in (before, now))
        # The content is compared. By default filecmp trusts size and time.
        and filecmp.cmp(before / name, now / name, shallow=False)
    ]
    return sorted(names - set(same)), len(same)


def show(name, before, now):
    """Print the first lines of the difference between two files."""
    print(name, file=sys.stderr)
    try:
        sides = [(side / name).read_text("utf-8").splitlines() for side in (before, now)]
    except (UnicodeDecodeError, FileNotFoundError):
        print("  no text, or on one side only", file=sys.stderr)
        return
    lines = difflib.unified_diff(*sides, "before", "now", n=0, lineterm="")
    print(*(f"  {line:.200}" for line in islice(lines, DIFF_LINES)), sep="\n", file=sys.stderr)


def exit_codes(folder):
    """Return how many commands of a run ended with each exit code."""
    printed = "".join(path.read_text() for path in folder.glob("printed-*.txt"))
    return dict(sorted(Counter(re.findall(r"^exit code (\d+)$", printed, re.MULTILINE)).items()))


def measure(given):
    with tempfile.TemporaryDirectory() as temporary:
        before, now = given.against, (given.keep or Path(temporary, "now")).absolute()
        if before:
            shutil.copytree(before / INPUTS, now / INPUTS, dirs_exist_ok=True)
        elif not (now / INPUTS).exists():
            write_inputs(now / INPUTS, IXI)
        names = given.only or [name for name in RUNS if name != "ixi" or IXI.exists()]
        if given.before:
            before = Path(temporary, "before")
            shutil.copytree(now / INPUTS, before / INPUTS)
            with tree_at(given.before) as tree:
                do_all(names, tree, before, given)
        for name, seconds in zip(names, do_all(names, ROOT, now, given), strict=True):
            changed, n_same = differing((before or now) / name, now / name)
            for path in changed:
                show(Path(name, path), before, now)
            yield {
                "run": name,
                "seconds": round(seconds),
                "exit_codes": exit_codes(now / name),
                "same": n_same,
                "differ": [str(path) for path in changed],
            }


def slots(runs):
    lines = []
    for run in runs:
        codes = ", ".join(f"{count} x {code}" for code, count in run["exit_codes"].items())
        counts = f"{run['same']} files are the same, {len(run['differ'])} differ."
        lines.append(" ".join([f"- {run['run']} (exit codes: {codes}): {counts}", *run["differ"]]))
    left_out = [name for name in RUNS if name not in {run["run"] for run in runs}]
    if left_out:
        lines.append(f"- Left out: {', '.join(left_out)}.")
    return {"differences": lines}


if __name__ == "__main__":
    folder = {"type": Path, "metavar": "FOLDER"}
    _, results = main(
        measure,
        slots,
        before={"metavar": "REVISION", "help": "of git, to compare with"},
        against=folder | {"help": "folder of an earlier --keep, to compare with"},
        keep=folder | {"help": "where the files of this tree are kept (default: nowhere)"},
        only={"nargs": "+", "choices": RUNS, "metavar": "RUN", "help": "only these runs"},
        processes=number(2, "number of runs at a time"),
    )
    # The exit status is 1 if a file differs, so that scripts can use it.
    raise SystemExit(any(run["differ"] for run in results["runs"]))
