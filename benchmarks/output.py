"""What the benchmarks share: one thread, options, CPU time, tables, and results with their command.

The words of a benchmark's report are in `texts/NAME.md` beside this file, with slots in braces for
what was measured. Import this module anywhere among the imports: it limits BLAS to one thread in
libraries that are loaded already, and by the environment in those that come later and in children.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
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


def options(doc, seed=None):
    """Parser of a benchmark: `--out`, and `--seed` where its default is given."""
    parser = argparse.ArgumentParser(description=doc.strip().partition("\n")[0])
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    if seed is not None:
        parser.add_argument("--seed", type=int, default=seed)
    return parser


def real_data():
    """Folder of the real tables; the benchmark ends where there is none."""
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
    """CPU seconds of each of some calls."""
    return [timed(function)[1] for _ in range(repeats)]


def select(runs, **wanted):
    """Those of the runs that have all these values."""
    return [run for run in runs if all(run.get(key) == value for key, value in wanted.items())]


def values_of(runs, key):
    """List the values of one field that runs have, each once, in their order."""
    return list(dict.fromkeys(run[key] for run in runs))


def means_of(runs):
    """Mean of each field of some runs."""
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
    """Words that repeat this run from the root of the repository, without paths."""
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


def filled(name, slots):
    """Text of `texts/NAME.md` with its slots filled: by text, numbers, or lines of text."""
    joined = {
        slot: "\n".join(content) if isinstance(content, list) else content
        for slot, content in slots.items()
    }
    return (TEXTS / f"{name}.md").read_text().rstrip("\n").format(**joined)


def write(folder, name, results, slots):
    """Write ``NAME.json`` and ``NAME.md``: results, and the text with its slots filled."""
    made = {"command": command(), "versions": versions()}
    write_json(
        folder / f"{name}.json",
        results | made | {"command": " ".join(command()), "runs": results["runs"]},
    )
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
        write(folder, name, {"seed": seed, "runs": runs}, slots_of(runs))
