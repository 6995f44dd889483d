"""Measure how long a comparison takes, from the command line to the report.

    python benchmarks/compare.py                     # writes benchmarks/results/compare.json, .md
    python benchmarks/compare.py --source OLD/src --out OLD    # an older version

`sgbn demo` runs with nothing compiled and with everything compiled, and `sgbn compare` runs on the
real tables, if SGBN_DATA or ../shared/data has them. Then each command runs again with everything
done, and again with the report deleted, which is then written from finished work. Figures are
seconds on the clock, CPU seconds of all processes together, and the largest memory of a process.
"""

import os
import sys
import tempfile
from pathlib import Path

from output import THREADS, main, timed_process

from sgbn.paper.experiments.experiment import COVARIATES, data_folder

# Age defines the groups of IXI, and autism affects IQ: neither must be regressed out.
TABLES = {  # table -> covariates that are left out, reference group
    "cobre_scz": ((), "CTR"),
    "ixi_age": (("age",), "YOUNG"),
    "abide1_asd": (("fiq",), "CTR"),
}
COLD = "sgbn demo, nothing compiled"
DONE, DELETED = "the same again, everything done", "the same again, report deleted"


def commands(scratch, full, tables):
    """Yield the name and words of each command, in the order in which they run."""
    for name, words in first_commands(scratch, full, tables):
        yield name, words
        if name != COLD:
            yield f"{name}, {DONE}", words
            # The results of a finished comparison are kept: only the report is made again.
            report_of(words).unlink()
            yield f"{name}, {DELETED}", words


def report_of(words):
    """Return the path of the report that a command writes."""
    return Path(words[words.index("--out") + 1], "report.html")


def first_commands(scratch, full, tables):
    """Yield the name and words of each command, without its repetitions."""
    yield COLD, ["demo", "--out", str(scratch / "cold")]
    yield "sgbn demo", ["demo", "--out", str(scratch / "warm")]
    folder = data_folder()
    for name in tables if folder else ():
        left_out, reference = TABLES[name]
        covariates = [covariate for covariate in COVARIATES[name] if covariate not in left_out]
        words = [
            *("compare", str(folder / "neuro" / f"{name}.csv"), "--group", "group"),
            *("--site", "site", "--reference", reference, "--covariates", *covariates),
            *(("--exclude", *left_out) if left_out else ()),
        ]
        for label, more in (("--quick", ["--quick"]), ("--workers 1", ["--workers", "1"])):
            if label == "--quick" or full:
                # Each command has its own folder: otherwise it would find finished results.
                out = ["--out", str(scratch / f"{name}{label}")]
                yield f"sgbn compare {name}.csv {label}".strip(), [*words, *more, *out]


def measure(given):
    """Yield the time and memory of each command, and the size of its report."""
    with tempfile.TemporaryDirectory() as scratch:
        # A new cache is used: the user's cache may have compiled code of another version.
        environment = THREADS | {"NUMBA_CACHE_DIR": str(Path(scratch, "cache"))}
        if given.source is not None:
            environment["PYTHONPATH"] = str(given.source)
        for name, words in commands(Path(scratch), not given.quick, given.tables):
            _, took = timed_process([sys.executable, "-m", "sgbn", *words], **environment)
            size = report_of(words).stat().st_size / 1e6
            record = {"command": name, **took, "report_megabytes": size}
            # Each record is printed at once, because the whole run takes long.
            print(record, flush=True)
            yield record


def slots(runs):
    return {"processors": os.cpu_count(), "figures": runs}


if __name__ == "__main__":
    main(
        measure,
        slots,
        quick={"action": "store_true", "help": "leave out the full comparisons"},
        tables={"nargs": "*", "choices": TABLES, "default": list(TABLES)},
        source={"type": Path, "help": "folder of another version of sgbn's source"},
    )
