"""How long the main job takes, from the command line to the report.

    python benchmarks/compare.py                     # writes benchmarks/results/compare.json, .md
    python benchmarks/compare.py --source OLD/src --out OLD    # an older version

`sgbn demo` with nothing compiled and with everything compiled, and `sgbn compare` on the real
tables (where SGBN_DATA or ../shared/data holds them). Then the same commands again: with everything
done, and with the report deleted, which is written again from finished work. Seconds on the clock,
which is what a user waits, and of all processes together; the largest memory of a process.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from output import THREADS, options, table, write

from sgbn.experiments.data import COVARIATES, data_folder

# Age makes the groups of IXI, and autism affects IQ: neither may be taken out.
TABLES = {  # of each: covariates that are left out, the reference
    "cobre_scz": ((), "CTR"),
    "ixi_age": (("age",), "YOUNG"),
    "abide1_asd": (("fiq",), "CTR"),
}
COLD = "sgbn demo, nothing compiled"
DONE, DELETED = "the same again, everything done", "the same again, report deleted"
MEGABYTE = 1024  # of the kilobytes that the system counts in


def timed(words, cache, source):
    """Clock, CPU seconds and memory of a command; its output must end well."""
    # A cache of its own: that of the user may hold machine code of another version.
    environment = os.environ | THREADS | {"NUMBA_CACHE_DIR": str(cache)}
    if source is not None:
        environment["PYTHONPATH"] = str(source)
    # Of all children so far: what this command took is the difference.
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    command = [sys.executable, "-m", "sgbn", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    clock = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(f"sgbn {' '.join(words)}\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # The system keeps only the highest memory of all children, hence "so far" in the table.
    return {"clock": clock, "cpu": cpu, "megabytes": after.ru_maxrss / MEGABYTE}


def commands(scratch, full, tables):
    """Name and words of each command, in the order in which they run."""
    for name, words in first_commands(scratch, full, tables):
        yield name, words
        if name != COLD:
            yield f"{name}, {DONE}", words
            # The work of a finished comparison is kept: only the page is made again.
            report_of(words).unlink()
            yield f"{name}, {DELETED}", words


def report_of(words):
    """Path of the report that a command writes."""
    return Path(words[words.index("--out") + 1], "report.html")


def first_commands(scratch, full, tables):
    """Name and words of each command that has everything to do."""
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
                # A folder per command, or the second would find the work of the first.
                out = ["--out", str(scratch / f"{name}{label}")]
                yield f"sgbn compare {name}.csv {label}".strip(), [*words, *more, *out]


def slots(runs):
    keys = {"clock": 1, "cpu": 1, "megabytes": 0, "report_megabytes": 1}  # digits of each
    rows = [
        [run["command"], *(f"{run[key]:.{digits}f}" for key, digits in keys.items())]
        for run in runs
    ]
    heads = ["command", "seconds", "CPU seconds", "MB of the largest process so far", "report MB"]
    return {"processors": os.cpu_count(), "figures": table(heads, rows)}


def main():
    parser = options(__doc__)
    parser.add_argument("--quick", action="store_true", help="leave out the full comparisons")
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--source", type=Path, help="folder of another version of sgbn's source")
    given = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(scratch, "cache")
        for name, words in commands(Path(scratch), not given.quick, given.tables):
            runs.append({"command": name, **timed(words, cache, given.source)})
            runs[-1]["report_megabytes"] = report_of(words).stat().st_size / 1e6
            # At once: the whole takes long, and may be interrupted.
            print(runs[-1], flush=True)
    write(given.out, "compare", {"seed": 0, "runs": runs}, slots(runs))


if __name__ == "__main__":
    main()
