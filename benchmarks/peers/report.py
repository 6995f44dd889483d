"""Write the results of the race as JSON and as Markdown tables."""

import json
from collections import Counter

import numpy as np
from output import row as table_row
from output import select, values_of, write_json

SUMMED = {"errors": "errors", "shd": "CPDAG SHD", "cpu": "CPU s"}


def write(folder, results):
    """Write ``peers-STUDY.json`` and ``.md``."""
    path = folder / f"peers-{results['study']}.json"
    write_json(path, results)
    path.with_suffix(".md").write_text(tables(results))


def tables(results):
    """Return one table per block: sums over its networks of the means over the simulations."""
    runs = results["runs"]
    lines = [
        f"# Peers: {results['study']}",
        "",
        f"Seed {results['seed']}, {results['sims']} simulations; sums over the networks of the "
        "means over the simulations; one thread, warm. Errors: false + missing arcs. Peak: "
        "resident memory of the method's process, its libraries included.",
    ]
    for block in values_of(runs, "block"):
        rows = [_row(select(runs, block=block, method=name)) for name in values_of(runs, "method")]
        rows = sorted((row for row in rows if row), key=lambda row: row["key"])
        lines += ["", f"## {block[0].upper()}{block[1:]}", ""]
        lines += ["| method | " + " | ".join(SUMMED.values()) + " | peak MB | |", "|---" * 6 + "|"]
        lines += [row["text"] for row in rows]
    return "\n".join([*lines, "", *_origin(results["made_by"]), ""])


def _origin(made_by):
    """Return lines with the commands of the race, and all sets of versions that were used."""
    commands = sorted({maker["command"].split(" --methods")[0] for maker in made_by.values()})
    sets = {json.dumps(maker["versions"]): maker["versions"] for maker in made_by.values()}
    lines = [f"`{command}`" for command in commands]
    for versions in sets.values():
        lines += ["", "Versions: " + ", ".join(f"{k} {v}" for k, v in versions.items()) + "."]
    return lines


def _row(runs):
    """Return the line of a method in a block, and its sort key: complete rows first, by SHD."""
    if not runs:
        return None
    done = [run for run in runs if run["status"] == "ok"]
    networks = values_of(runs, "network")
    # The row must say if a method was stopped, because its sum is not over all networks.
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
        # Sums over fewer networks are smaller: such rows come last.
        "key": (len(networks) - len(covered), shd),
        "text": table_row([runs[0]["method"], *cells]),
    }


def _sum_of_means(runs, networks, name):
    means = [
        np.mean([run[name] for run in runs if run["network"] == network and name in run] or np.nan)
        for network in networks
    ]
    # There is no sum if a network lacks this figure.
    return float(np.sum(means)) if means and np.isfinite(means).all() else None


def _figure(value, form):
    return "-" if value is None else format(value, form)


def _remarks(runs, networks, covered):
    """Return remarks on what the sums do not contain."""
    remarks = [] if covered == networks else [f"{len(covered)} of {len(networks)} networks"]
    states = Counter(_state(run) for run in runs)
    remarks += [f"{count} {state}" for state, count in states.items() if state != "ok"]
    noted = sum("note" in run for run in runs)
    remarks += [f"{noted} without a consistent extension"] if noted else []
    return ", ".join(remarks)


def _state(run):
    return f"over {run['limit']:g} s" if run["status"] == "over limit" else run["status"]
