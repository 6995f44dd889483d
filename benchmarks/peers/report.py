"""Results of the race as JSON, a line a run, and as Markdown tables."""

import json
from collections import Counter

import numpy as np

SUMMED = {"errors": "errors", "shd": "CPDAG SHD", "cpu": "CPU s"}


def write(folder, results):
    """Write ``peers-STUDY.json`` and ``.md``."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"peers-{results['study']}.json"
    head = json.dumps(results | {"runs": None}, indent=1)
    runs = ",\n".join(f"  {json.dumps(run)}" for run in results["runs"])
    path.write_text(head.replace('"runs": null', f'"runs": [\n{runs}\n ]') + "\n")
    path.with_suffix(".md").write_text(tables(results))


def tables(results):
    """One table a block: sums over its networks of the means over the simulations."""
    runs = results["runs"]
    lines = [
        f"# Peers: {results['study']}",
        "",
        f"Seed {results['seed']}, {results['sims']} simulations; sums over the networks of the "
        "means over the simulations; one thread, warm. Errors: false + missing arcs. Peak: "
        "resident memory of the method's process, its libraries included.",
    ]
    for block in dict.fromkeys(run["block"] for run in runs):
        rows = [
            _row([r for r in runs if r["block"] == block and r["method"] == name])
            for name in dict.fromkeys(run["method"] for run in runs)
        ]
        rows = sorted((row for row in rows if row), key=lambda row: row["key"])
        lines += ["", f"## {block[0].upper()}{block[1:]}", ""]
        lines += ["| method | " + " | ".join(SUMMED.values()) + " | peak MB | |", "|---" * 6 + "|"]
        lines += [row["text"] for row in rows]
    return "\n".join([*lines, "", *_origin(results["made_by"]), ""])


def _origin(made_by):
    """Lines on how to repeat the race; several where methods were run with other versions."""
    commands = sorted({maker["command"].split(" --methods")[0] for maker in made_by.values()})
    sets = {json.dumps(maker["versions"]): maker["versions"] for maker in made_by.values()}
    lines = [f"`{command}`" for command in commands]
    for versions in sets.values():
        lines += ["", "Versions: " + ", ".join(f"{k} {v}" for k, v in versions.items()) + "."]
    return lines


def _row(runs):
    """Line of a method in a block, and its place: complete rows first, in order of the SHD."""
    if not runs:
        return None
    done = [run for run in runs if run["status"] == "ok"]
    networks = list(dict.fromkeys(run["network"] for run in runs))
    covered = [name for name in networks if any(run["network"] == name for run in done)]
    sums = {name: _sum_of_means(done, covered, name) for name in SUMMED}
    peak = max((run["peak_mb"] for run in runs if "peak_mb" in run), default=None)
    cells = [
        _figure(sums["errors"], ".1f"),
        _figure(sums["shd"], ".1f"),
        _figure(sums["cpu"], ".3g"),
    ]
    cells += ["-" if peak is None else str(peak), _remarks(runs, networks, covered)]
    shd = sums["shd"] if sums["shd"] is not None else np.inf
    return {
        "key": (len(networks) - len(covered), shd),
        "text": f"| {runs[0]['method']} | " + " | ".join(cells) + " |",
    }


def _sum_of_means(runs, networks, name):
    means = [
        np.mean([run[name] for run in runs if run["network"] == network and name in run] or np.nan)
        for network in networks
    ]
    return float(np.sum(means)) if means and np.isfinite(means).all() else None


def _figure(value, form):
    return "-" if value is None else format(value, form)


def _remarks(runs, networks, covered):
    """Say what is not in the sums."""
    remarks = [] if covered == networks else [f"{len(covered)} of {len(networks)} networks"]
    states = Counter(_state(run) for run in runs)
    remarks += [f"{count} {state}" for state, count in states.items() if state != "ok"]
    noted = sum("note" in run for run in runs)
    remarks += [f"{noted} without a consistent extension"] if noted else []
    return ", ".join(remarks)


def _state(run):
    return f"over {run['limit']:g} s" if run["status"] == "over limit" else run["status"]
