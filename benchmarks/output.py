"""Functions that all benchmarks use: options, CPU time, tables, and results with their command.

A benchmark measures runs, and `main` does the rest: options, results and report. The words of a
report are in `texts/NAME.md` beside this file. Slots in braces are filled with the results and the
constants of the benchmark. A line "@SLOT ROW" gives one row of a table per run in that slot.

This module may be imported before or after other modules: it limits BLAS to one thread in libraries
that are already loaded, and through the environment in later libraries and in child processes.
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

from sgbn.paper.experiments.experiment import data_folder, provenance, row, table
from sgbn.runs.files import versions

__all__ = ["row", "table"]  # benchmarks import them from here, like all other functions

# CPU seconds count all threads of a process, and the number of BLAS threads differs by machine.
THREADS = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
os.environ.update(THREADS)
threadpool_limits(1)

ROOT = Path(__file__).parents[1]
RESULTS, TEXTS = (Path(__file__).parent / name for name in ("results", "texts"))


def number(default, text=None):
    """Return the keywords of `add_argument` for an option that is a whole number."""
    return {"type": int, "default": default, "help": text}


def options(doc, **arguments):
    """Return the parser of a benchmark.

    It has the option `--out`, and one option per argument, whose value is a mapping of keywords of
    `add_argument`.
    """
    parser = argparse.ArgumentParser(description=doc.strip().partition("\n")[0])
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    for name, keywords in arguments.items():
        parser.add_argument(f"--{name.replace('_', '-')}", **keywords)
    return parser


def main(measure, slots, add_options=None, **arguments):
    """Run a benchmark from the command line. Return its options and results.

    `measure` takes the options and returns the runs, or a mapping that contains the runs. `slots`
    takes what `measure` returned, and returns what fills the text. The module of `measure` has the
    description, SEED (unless there is an option `seed`) and the constants that the text names.
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
    """Return the constants of a function's module by their names."""
    return {name: value for name, value in function.__globals__.items() if name.isupper()}


@contextmanager
def tree_at(revision):
    """Provide a temporary folder with this repository at another revision."""
    with tempfile.TemporaryDirectory() as folder:
        # The revision is checked out in a clone, so that the working tree stays as it is.
        subprocess.run(["git", "clone", "-q", str(ROOT), folder], check=True)
        subprocess.run(["git", "-C", folder, "checkout", "-q", revision], check=True)
        yield Path(folder)


def real_data():
    """Return the folder of the real tables, or end the benchmark if there is no such folder."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("the real tables were not found. Set SGBN_DATA to their folder.")
    return folder


def timed(function, *arguments, **named):
    """Return the result of a call, and its CPU seconds."""
    begin = time.process_time()
    result = function(*arguments, **named)
    return result, time.process_time() - begin


def cpu_times(function, repeats):
    """Return the CPU seconds of each of `repeats` calls."""
    return [timed(function)[1] for _ in range(repeats)]


def timed_process(words, **environment):
    """Run a command. Return its output, its clock and CPU seconds, and its memory in MB."""
    # The system counts all children so far: this command took the difference.
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        words, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    clock, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}\n{done.stderr}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # The unit is a kilobyte. The figure is the highest memory of all children so far.
    return done.stdout, {"clock": clock, "cpu": cpu, "megabytes": after.ru_maxrss / 1024}


def peak_memory(process="self"):
    """Return the highest resident memory of a process, in bytes (Linux)."""
    # If the parent's peak is larger, getrusage gives the parent's peak.
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) * 1024


def half_width(values):
    """Return half the width of the 95 % interval of a mean (Student's t)."""
    return stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)


def select(runs, **wanted):
    """Return the runs that have all these values."""
    return [run for run in runs if all(run.get(key) == value for key, value in wanted.items())]


def values_of(runs, key):
    """Return the distinct values of one field, in the order of the runs."""
    return list(dict.fromkeys(run[key] for run in runs))


def means_of(runs):
    """Return the mean of each field of some runs."""
    return {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}


def stored_runs(folder, name, seed=None):
    """Return the runs of an earlier start that a folder holds, or an empty list.

    If a seed is given, runs of another seed end the benchmark.
    """
    path = folder / f"{name}.json"
    if not path.exists():
        return []
    results = json.loads(path.read_text())
    # The report names a single seed, so that runs of two seeds must not be in one file.
    if seed is not None and results["seed"] != seed:
        raise SystemExit(f"{path.name} has runs of another seed. Give another folder (--out).")
    return results["runs"]


def command():
    """Return the command that repeats this run at the root of the repository, as words.

    It has no paths of this machine.
    """
    words, script = sys.argv[1:], Path(sys.argv[0])
    if "--out" in words:
        del words[words.index("--out") : words.index("--out") + 2]
    words = ["PATH" if "/" in word and Path(word).exists() else word for word in words]
    parts = script.parts
    inside = parts[parts.index("benchmarks") :] if "benchmarks" in parts else ("benchmarks", *parts)
    return ["python", "/".join(inside), *words]


def write_json(path, results):
    """Write results as JSON, with one line per run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # With one line per run, a diff of two results shows which runs changed.
    runs = ",\n".join(f"  {json.dumps(run)}" for run in results["runs"])
    head = json.dumps(results | {"runs": None}, indent=1)
    path.write_text(head.replace('"runs": null', f'"runs": [\n{runs}\n ]') + "\n")


class Cells(string.Formatter):
    """A formatter for the row of a run. It shows "-" for a field that the run does not have."""

    def get_value(self, key, args, kwargs):
        """Return a field by its place or name."""
        return args[key] if isinstance(key, int) else kwargs.get(key)

    def format_field(self, value, format_spec):
        """Return a field as text, or "-" if it is None."""
        return "-" if value is None else format(value, format_spec)


def template(name):
    """Return the lines of `texts/NAME.md`."""
    return (TEXTS / f"{name}.md").read_text().rstrip("\n").splitlines()


def filled(name, slots):
    """Return the text of `texts/NAME.md` with its slots filled.

    A slot is filled by text, a number, or a list. A list of lines fills a line that is only
    `{SLOT}`. A list of runs fills the rows of a line "@SLOT ROW".
    """
    lines = []
    for line in template(name):
        if line.startswith("@"):
            slot, _, cells = line[1:].partition(" ")
            for item in slots[slot]:
                fields = ((), item) if isinstance(item, dict) else (item, {})
                lines.append(Cells().vformat(cells, *fields))
        # Lists are joined only here: {SLOT[0]} must be an item of the list, not a letter.
        elif line == f"{{{line[1:-1]}}}" and isinstance(slots.get(line[1:-1]), list):
            lines.append("\n".join(map(str, slots[line[1:-1]])))
        else:
            lines.append(line.format(**slots))
    return "\n".join(lines)


def check_fields(name, slots):
    """Raise KeyError for a field of a row that no run in its slot has, as in a misspelt name."""
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
    """Write the results to ``NAME.json`` and the filled text to ``NAME.md``."""
    made = {"command": command(), "versions": versions()}
    write_json(
        folder / f"{name}.json",
        results | made | {"command": " ".join(command()), "runs": results["runs"]},
    )
    # The JSON is written before this check, so that no measurement is lost. The check is not in
    # `filled`, because the sections of a small calibration may have columns without any figure.
    check_fields(name, slots)
    text = f"{filled(name, slots)}\n\nSeed {results['seed']}. {provenance(made)}\n"
    (folder / f"{name}.md").write_text(text)
    print(text, end="")


def write_parts(folder, name, seed, parts, slots_of, kept=()):
    """Write the results after each part: the runs in `kept`, and those of the parts so far.

    `parts` is an iterable whose items are lists of runs. It may be a generator that measures each
    part when it is needed. `slots_of` takes a list of runs and returns the slots of the text.
    """
    runs = list(kept)
    # Some benchmarks take hours: if one is interrupted, only the current part is lost.
    for part in parts:
        runs += part
        results = {"seed": seed, "runs": runs}
        write(folder, name, results, constants_of(slots_of) | slots_of(runs))
