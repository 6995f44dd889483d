"""CPU time of read_table against pandas.read_csv alone, on the same files.

    python benchmarks/reading.py     # writes benchmarks/results/reading.json and .md

Simulated tables of 5,000 subjects x 1,000 regions, with an id and a group column. Each reader reads
each file in turn, several times; the fastest of each counts.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from output import RESULTS, write

from sgbn.experiments.markdown import table
from sgbn.io.tables.cohorts import read_table

SUBJECTS, REGIONS = 5000, 1000
REPEATS = 9
MISSING = 0.01  # share of empty cells in the file that has some
FILES = {
    "CSV": {},
    "CSV, 1 % of the cells empty": {},
    "CSV, text in quotes": {"quoting": 2},
    "semicolons, decimal commas": {"sep": ";", "decimal": ","},
}


def simulate(seed, share_missing):
    rng = np.random.default_rng(seed)
    values = rng.normal(2.5, 0.3, (SUBJECTS, REGIONS)).round(4)
    values[rng.random(values.shape) < share_missing] = np.nan
    frame = pd.DataFrame(values, columns=[f"lh_r{k}_thickness" for k in range(REGIONS)])
    frame.insert(0, "subject_id", [f"{k:07d}" for k in range(SUBJECTS)])
    frame.insert(1, "group", np.where(np.arange(SUBJECTS) % 2, "CTR", "SCZ"))
    return frame


def seconds(function):
    begin = time.process_time()
    function()
    return time.process_time() - begin


def measure(name, folder, seed):
    path = folder / "table.csv"
    options = FILES[name]
    simulate(seed, MISSING if "empty" in name else 0).to_csv(path, index=False, **options)
    plain = {key: value for key, value in options.items() if key != "quoting"}
    readers = {
        "pandas": lambda: pd.read_csv(path, **plain),
        "sgbn": lambda: read_table(path, group="group", regions="all"),
    }
    times = {reader: [] for reader in readers}
    for _ in range(REPEATS):
        for reader, function in readers.items():
            times[reader].append(seconds(function))
    return {"file": name, "mb": round(path.stat().st_size / 1e6, 1)} | {
        reader: round(min(found), 4) for reader, found in times.items()
    }


def report(runs):
    rows = [
        [r["file"], r["mb"], r["pandas"], r["sgbn"], f"**{r['sgbn'] / r['pandas']:.2f}**"]
        for r in runs
    ]
    return [
        "# Time to read a table",
        "",
        f"{SUBJECTS:,} subjects x {REGIONS:,} regions; CPU seconds, the fastest of {REPEATS} each, "
        f"in turn in one process; pandas {pd.__version__}. `read_table` hashes the file, finds its "
        "encoding, delimiter and decimal mark, checks every cell, and looks each column up in the "
        "atlases; `pandas.read_csv` gets the delimiter and the decimal mark.",
        "",
        *table(["file", "MB", "pandas.read_csv", "read_table", "ratio"], rows),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = [measure(name, Path(folder), arguments.seed) for name in FILES]
    write(arguments.out, "reading", {"seed": arguments.seed, "runs": runs}, report(runs))


if __name__ == "__main__":
    main()
