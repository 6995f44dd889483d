"""How long the main job takes, from the command line to the report.

    python benchmarks/compare.py                     # writes benchmarks/results/compare.json, .md
    python benchmarks/compare.py --source OLD/src    # an older version: compare_before.json, .md

`sgbn demo` with nothing compiled and with everything compiled, and `sgbn compare` on the real
tables (where SGBN_DATA or ../shared/data holds them). Then the same commands again: with everything
done, and with the report deleted, which is written again from finished work. Seconds on the clock,
which is what a user waits, and of all processes together; the largest memory of a process.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from output import RESULTS, write

from sgbn.experiments.data import COVARIATES, data_folder
from sgbn.experiments.markdown import table

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
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    environment = os.environ | threads | {"NUMBA_CACHE_DIR": str(cache)}
    if source is not None:
        environment["PYTHONPATH"] = str(source)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.perf_counter()
    command = [sys.executable, "-m", "sgbn", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    clock = time.perf_counter() - begin
    if done.returncode:
        raise SystemExit(f"sgbn {' '.join(words)}\n{done.stderr}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"clock": clock, "cpu": cpu, "megabytes": after.ru_maxrss / MEGABYTE}


def commands(scratch, full, tables):
    """Name and words of each command, in the order in which they run."""
    for name, words in first_commands(scratch, full, tables):
        yield name, words
        if name != COLD:
            yield f"{name}, {DONE}", words
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
        covariates = [one for one in COVARIATES[name] if one not in left_out]
        words = [
            *("compare", str(folder / "neuro" / f"{name}.csv"), "--group", "group"),
            *("--site", "site", "--reference", reference, "--covariates", *covariates),
            *(("--exclude", *left_out) if left_out else ()),
        ]
        for label, more in (("--quick", ["--quick"]), ("--workers 1", ["--workers", "1"])):
            if label == "--quick" or full:
                out = ["--out", str(scratch / f"{name}{label}")]
                yield f"sgbn compare {name}.csv {label}".strip(), [*words, *more, *out]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--quick", action="store_true", help="leave out the full comparisons")
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=list(TABLES))
    parser.add_argument("--source", type=Path, help="folder of another version of sgbn's source")
    arguments = parser.parse_args()
    runs = []
    with tempfile.TemporaryDirectory() as scratch:
        cache = Path(scratch, "cache")
        for name, words in commands(Path(scratch), not arguments.quick, arguments.tables):
            runs.append({"command": name, **timed(words, cache, arguments.source)})
            runs[-1]["report_megabytes"] = report_of(words).stat().st_size / 1e6
            print(runs[-1], flush=True)
    rows = [
        [
            run["command"],
            f"{run['clock']:.1f}",
            f"{run['cpu']:.1f}",
            f"{run['megabytes']:.0f}",
            f"{run['report_megabytes']:.1f}",
        ]
        for run in runs
    ]
    heads = ["command", "seconds", "CPU seconds", "MB of the largest process so far", "report MB"]
    lines = [
        "# How long the main job takes",
        "",
        f"{os.cpu_count()} processors; all processes together for CPU seconds. One run each, in "
        "this order: the second and later ones find everything compiled.",
        "",
        *table(heads, rows),
    ]
    asked = ["--tables", *arguments.tables, *(["--quick"] if arguments.quick else [])]
    name = "compare"
    if arguments.source is not None:
        name, asked = "compare_before", [*asked, "--source", "OLD/src"]
    write(arguments.out, name, {"seed": 0, "runs": runs}, lines, ["benchmarks/compare.py", *asked])


if __name__ == "__main__":
    main()
