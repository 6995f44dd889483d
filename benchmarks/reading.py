"""Compare the CPU time of read_table with pandas.read_csv alone, on the same files.

    python benchmarks/reading.py     # writes benchmarks/results/reading.json and .md

The tables are simulated, with 5,000 subjects x 1,000 regions, an id and a group column. The readers
take turns, several times per file, and the fastest time of each reader counts.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from output import cpu_times, main, number

from sgbn.read.table import read_table

# Files of tens of MB: the cost of opening a file does not matter.
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
    values = rng.normal(2.5, 0.3, (SUBJECTS, REGIONS)).round(4)  # digits of a thickness in mm
    values[rng.random(values.shape) < share_missing] = np.nan
    frame = pd.DataFrame(values, columns=[f"lh_r{k}_thickness" for k in range(REGIONS)])
    frame.insert(0, "subject_id", [f"{k:07d}" for k in range(SUBJECTS)])
    frame.insert(1, "group", np.where(np.arange(SUBJECTS) % 2, "CTR", "SCZ"))
    return frame


def times(name, folder, seed):
    path = folder / "table.csv"
    options = FILES[name]
    simulate(seed, MISSING if "empty" in name else 0).to_csv(path, index=False, **options)
    # The option `quoting` is only for writing.
    plain = {key: value for key, value in options.items() if key != "quoting"}
    readers = {
        "pandas": lambda: pd.read_csv(path, **plain),
        "sgbn": lambda: read_table(path, group="group", regions="all"),
    }
    times = {reader: [] for reader in readers}
    # Readers take turns, so that a machine that slows down does so for both.
    for _ in range(REPEATS):
        for reader, function in readers.items():
            times[reader] += cpu_times(function, 1)
    # The fastest time counts, because other programs can only add time.
    return {"file": name, "mb": round(path.stat().st_size / 1e6, 1)} | {
        reader: round(min(seconds), 4) for reader, seconds in times.items()
    }


def slots(runs):
    files = [run | {"ratio": run["sgbn"] / run["pandas"]} for run in runs]
    return {"pandas": pd.__version__, "files": files}


def measure(given):
    with tempfile.TemporaryDirectory() as folder:
        return [times(name, Path(folder), given.seed) for name in FILES]


if __name__ == "__main__":
    main(measure, slots, seed=number(0))
