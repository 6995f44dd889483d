"""Test whether `sgbn compare` gives the same tables and summary as at another revision.

python benchmarks/same_tables.py --before REVISION    # writes results/same_tables.json and .md

The files are compared byte by byte, for the simulated cohort of `sgbn demo` and, if the data are
found, for IXI (`../shared/data`, or SGBN_DATA). Both revisions run one after the other with the
same versions of all packages.
"""

import filecmp
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from output import ROOT, main, tree_at

DATA = Path(os.environ.get("SGBN_DATA", ROOT.parent / "shared" / "data"))
IXI = DATA / "neuro" / "ixi_age.csv"
ROLES = ["--group", "group", "--covariates", "sex", "eTIV", "--site", "site"]
# Age defines the groups of IXI, and the quality of scans is not a region.
COMPARE = [*ROLES, "--exclude", "age", "euler_mean", "--quick"]
RUNS = {
    "demo": ["demo"],
    "IXI": ["compare", str(IXI), *COMPARE, "--deviations", "--refinements", "KL-SGBN"],
}


def run(tree, words, out):
    """Run a command of the given tree, which writes its tables to `out`."""
    # One thread is used, because the number of threads changes the last bits of a product.
    environment = os.environ | {"PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "sgbn", *words, "--out", str(out)]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def differing(before, now):
    """Return the names of tables that differ or are in only one folder, and how many are equal."""
    names = {
        path.relative_to(folder)
        for folder in (before, now)
        for path in [*folder.rglob("*.csv"), *folder.rglob("summary.txt")]
    }
    same = [
        name
        for name in names
        if all((folder / name).exists() for folder in (before, now))
        # The content is compared. By default filecmp trusts size and time.
        and filecmp.cmp(before / name, now / name, shallow=False)
    ]
    return sorted(names - set(same)), len(same)


def measure(given):
    with tree_at(given.before) as old, tempfile.TemporaryDirectory() as folder:
        for name, words in RUNS.items():
            if name == "IXI" and not IXI.exists():
                continue
            before, now = Path(folder) / f"{name}-before", Path(folder) / f"{name}-now"
            run(old, words, before)
            run(ROOT, words, now)
            changed, n_same = differing(before, now)
            yield {"run": name, "same": n_same, "differ": [str(path) for path in changed]}


def slots(runs):
    lines = [
        f"- {run['run']}: {run['same']} files are the same, {len(run['differ'])} differ."
        + "".join(f" {path}" for path in run["differ"])
        for run in runs
    ]
    if len(runs) < len(RUNS):
        lines.append("- IXI: left out, because the table was not found.")
    return {"differences": lines}


if __name__ == "__main__":
    _, results = main(
        measure, slots, before={"metavar": "REVISION", "required": True, "help": "of git"}
    )
    # The exit status is 1 if a file differs, so that scripts can use it.
    raise SystemExit(any(run["differ"] for run in results["runs"]))
