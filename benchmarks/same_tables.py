"""Whether `sgbn compare` gives the same tables and summary as at another revision, to the bit.

python benchmarks/same_tables.py --before REVISION    # prints the tables that differ

Compares the simulated cohort of `sgbn demo` and, where the data are there, IXI
(`../shared/data`, or SGBN_DATA). Both trees run one after the other with the same versions.
"""

import argparse
import filecmp
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DATA = Path(os.environ.get("SGBN_DATA", ROOT.parent / "shared" / "data"))
IXI = DATA / "neuro" / "ixi_age.csv"
COMPARE = [
    "--group",
    "group",
    "--covariates",
    "sex",
    "eTIV",
    "--site",
    "site",
    "--exclude",
    "age",
    "euler_mean",
    "--quick",
]
RUNS = {
    "demo": ["demo"],
    "IXI": ["compare", str(IXI), *COMPARE, "--deviations", "--refinements", "KL-SGBN"],
}


def run(tree, words, out):
    """Run a command of the tree; its tables are in `out` then."""
    environment = os.environ | {"PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "sgbn", *words, "--out", str(out)]
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)


def differing(one, other):
    """Names of the tables that differ between two folders, or are in one only."""
    names = {
        path.relative_to(folder)
        for folder in (one, other)
        for path in [*folder.rglob("*.csv"), *folder.rglob("summary.txt")]
    }
    same = [
        name
        for name in names
        if all((folder / name).exists() for folder in (one, other))
        and filecmp.cmp(one / name, other / name, shallow=False)
    ]
    return sorted(names - set(same)), len(same)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", metavar="REVISION", required=True, help="of git")
    arguments = parser.parse_args()
    differ = False
    with tempfile.TemporaryDirectory() as folder:
        old = Path(folder) / "tree"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(old)], check=True)
        subprocess.run(["git", "-C", str(old), "checkout", "-q", arguments.before], check=True)
        for name, words in RUNS.items():
            if name == "IXI" and not IXI.exists():
                print(f"{name}: left out, there is no {IXI}.")
                continue
            before, now = Path(folder) / f"{name}-before", Path(folder) / f"{name}-now"
            run(old, words, before)
            run(ROOT, words, now)
            changed, n_same = differing(before, now)
            differ |= bool(changed)
            print(f"{name}: {n_same} tables are the same to the bit, {len(changed)} differ.")
            for path in changed:
                print(f"  {path}")
    raise SystemExit(differ)


if __name__ == "__main__":
    main()
