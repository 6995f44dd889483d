"""What the benchmarks share: one shape, one thread, CPU time, tables, results with their command.

A benchmark measures runs, and `main` does the rest: options, results, report. The words of a report
are in `texts/NAME.md` beside this file, with slots in braces for what was measured and for the
constants of the benchmark. A line "@SLOT ROW" is a row of a table for each run in that slot.

Import this module anywhere among the imports: it limits BLAS to one thread in libraries that are
loaded already, and by the environment in those that come later and in children.
"""

import argparse
import json
import os
import re
import resource
import string
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

from sgbn.experiments.data import data_folder
from sgbn.experiments.markdown import provenance, row, table
from sgbn.runs import versions

__all__ = ["row", "table"]  # from here too, so that a benchmark has one place to import from

# CPU seconds are of all threads of a process: those of BLAS would count, and differ by machine.
THREADS = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
os.environ.update(THREADS)
threadpool_limits(1)

ROOT = Path(__file__).parents[1]
RESULTS, TEXTS = (Path(__file__).parent / name for name in ("results", "texts"))


def number(default, text=None):
    """Return the keywords of an option that is a whole number."""
    return {"type": int, "default": default, "help": text}


def options(doc, **arguments):
    """Return the parser of a benchmark: `--out`, and options with keywords of `add_argument`."""
    parser = argparse.ArgumentParser(description=doc.strip().partition("\n")[0])
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    for name, keywords in arguments.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **keywords)
    return parser


def main(measure, slots, add_options=None, **arguments):
    """Run a benchmark from the command line; return its options and results.

    `measure` takes the options and gives the runs, or a mapping with them and more. `slots` takes
    the same and gives what fills the text. The module of `measure` gives description, NAME, SEED
    (unless there is an option of that name) and the constants that the text names.
    """
    module = measure.__globals__
    parser = options(module["__doc__"], **arguments)
    if add_options is not None:
        add_options(parser)
    given = parser.parse_args()
    measured = measure(given)
    measured = measured if isinstance(measured, dict) else list(measured)
    results = measured if isinstance(measured, dict) else {"runs": measured}
    results = {"seed": getattr(given, "seed", module.get("SEED", 0))} | results
    name = Path(module["__file__"]).stem
    write(given.out, name, results, constants_of(measure) | slots(measured))
    return given, results


def constants_of(function):
    """Give the constants of the module that a function is in, by their names."""
    return {name: value for name, value in function.__globals__.items() if name.isupper()}


@contextmanager
def tree_at(revision):
    """Folder with this repository at another revision, while the context lasts."""
    with tempfile.TemporaryDirectory() as folder:
        # A clone: the working tree stays as it is.
        subprocess.run(["git", "clone", "-q", str(ROOT), folder], check=True)
        subprocess.run(["git", "-C", folder, "checkout", "-q", revision], check=True)
        yield Path(folder)


def real_data():
    """Return the folder of the real tables; end the benchmark if there is none."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("the real tables are not here: set SGBN_DATA to their folder.")
    return folder


def timed(function, *arguments, **named):
    """Return what a call gives, and its CPU seconds."""
    begin = time.process_time()
    result = function(*arguments, **named)
    return result, time.process_time() - begin


def cpu_times(function, repeats):
    """Return the CPU seconds of each of some calls."""
    return [timed(function)[1] for _ in range(repeats)]


def timed_process(words, **environment):
    """Run a command; return its output, and seconds and memory: clock, CPU of all processes, MB."""
    # Of all children so far: what this command took is the difference.
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        words, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    clock, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # The system counts in kilobytes, and keeps only the highest memory of all children so far.
    return done.stdout, {"clock": clock, "cpu": cpu, "megabytes": after.ru_maxrss / 1024}


def peak_memory(process="self"):
    """Return the highest resident memory of a process, in bytes (Linux)."""
    # getrusage would give the parent's peak where that is larger.
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def half_width(values):
    """Give half the width of the 95 % interval of a mean (Student's t)."""
    return stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)


def select(runs, **wanted):
    """Return the runs that have all these values."""
    return [run for run in runs if all(run.get(key) == value for key, value in wanted.items())]


def values_of(runs, key):
    """Return the distinct values of one field of the runs, in their order."""
    return list(dict.fromkeys(run[key] for run in runs))


def means_of(runs):
    """Return the mean of each field of some runs."""
    return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}


def stored_runs(folder, name, seed=None):
    """Give the runs that a folder holds of an earlier start; none where it has no such file.

    Where a seed is given, runs of another seed end the benchmark.
    """
    path = folder / f"{name}.json"
    if not path.exists():
        return []
    results = json.loads(path.read_text())
    # The report names one seed, so that runs of two in one file could not be told apart.
    if seed is not None and results["seed"] != seed:
        raise SystemExit(f"{path.name} was made with another seed: give another --out.")
    return results["runs"]


def command():
    """Return the words that repeat this run from the root of the repository, without paths."""
    words, script = sys.argv[1:], Path(sys.argv[0])
    if "--out" in words:
        del words[words.index("--out") : words.index("--out") + 2]
    words = ["PATH" if "/" in word and Path(word).exists() else word for word in words]
    parts = script.parts
    inside = parts[parts.index("benchmarks") :] if "benchmarks" in parts else ("benchmarks", *parts)
    return ["python", "/".join(inside), *words]


def write_json(path, results):
    """Write results, one line for each of their runs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    runs = ",\n".join(f"  {json.dumps(run)}" for run in results["runs"])
    # One line per run, so that a diff of two results shows which runs changed.
    head = json.dumps(results | {"runs": None}, indent=1)
    path.write_text(head.replace('"runs": null', f'"runs": [\n{runs}\n ]') + "\n")


class Cells(string.Formatter):
    """Formats the row of a run; what it does not have is shown as "-"."""

    def get_value(self, key, args, kwargs):
        """Take a field by its place or name."""
        return args[key] if isinstance(key, int) else kwargs.get(key)

    def format_field(self, value, format_spec):
        """Format a field, or its absence."""
        return "-" if value is None else format(value, format_spec)


def template(name):
    """Return the lines of `texts/NAME.md`."""
    return (TEXTS / f"{name}.md").read_text().rstrip("\n").splitlines()


def filled(name, slots):
    """Text of `texts/NAME.md` with its slots filled: by text, numbers, lines of text, or runs.

    A list fills a line of its own, `{SLOT}`, by lines, and rows after "@SLOT".
    """
    lines = []
    for line in template(name):
        if line.startswith("@"):
            slot, _, cells = line[1:].partition(" ")
            for item in slots[slot]:
                fields = ((), item) if isinstance(item, dict) else (item, {})
                lines.append(Cells().vformat(cells, *fields))
        # Only here, so that an item of a list, {SLOT[0]}, is not a letter of the joined lines.
        elif line == f"{{{line[1:-1]}}}" and isinstance(slots.get(line[1:-1]), list):
            lines.append("\n".join(map(str, slots[line[1:-1]])))
        else:
            lines.append(line.format(**slots))
    return "\n".join(lines)


def check_fields(name, slots):
    """Raise KeyError for a field of a row that no run in its slot has: its name is misspelt."""
    for line in template(name):
        slot, _, cells = line[1:].partition(" ")
        runs = slots[slot] if line.startswith("@") else []
        if not runs or not all(isinstance(run, dict) for run in runs):
            continue
        known = set().union(*runs)
        for _, field, _, _ in string.Formatter().parse(cells):
            if field and re.split(r"[.\[]", field)[0] not in known:
                raise KeyError(f"no run in the slot {slot!r} has the field {field!r}")


def write(folder, name, results, slots):
    """Write ``NAME.json`` and ``NAME.md``: results, and the text with its slots filled."""
    made = {"command": command(), "versions": versions()}
    write_json(
        folder / f"{name}.json",
        results | made | {"command": " ".join(command()), "runs": results["runs"]},
    )
    # After the JSON, so that no measurement is lost. Not in `filled`: the sections of a small
    # calibration may have columns without any figure.
    check_fields(name, slots)
    text = f"{filled(name, slots)}\n\nSeed {results['seed']}. {provenance(made)}\n"
    (folder / f"{name}.md").write_text(text)
    print(text, end="")


def write_parts(folder, name, seed, parts, slots_of, kept=()):
    """Write the results after each part: runs that were kept, and those of the parts so far.

    `parts` are measured as they are asked for, and `slots_of` gives the slots of a list of runs.
    """
    runs = list(kept)
    # Some of these benchmarks take hours: when one is interrupted, only the current part is lost.
    for part in parts:
        runs += part
        results = {"seed": seed, "runs": runs}
        write(folder, name, results, constants_of(slots_of) | slots_of(runs))
