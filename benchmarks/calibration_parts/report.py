"""Tables of the calibration, drawn from the rows of its JSON, with goals beside what was measured.

A row has a study, a setting, a method, the number of cohorts, and figures: mean, standard error and
number of the cohorts in which they mean something.
"""

from output import filled, select, table

from .bound import N_PAIRS
from .cohorts import CHANGE, LOBES, SAME_PERSON, WEAK
from .designs import STUDIES
from .goals import GOALS, goal_row
from .intervals import EFFECTS
from .peers import PEERS
from .real import MOTION_REGIONS, MOTION_SD, N_PLANTED, PLANTED
from .score import N_PERMUTATIONS, NAMED, SHARES, SUMS, shown

SIZES = {  # what the texts name
    "permutations": N_PERMUTATIONS,
    "change": CHANGE,
    "weak": WEAK,
    "n_planted": N_PLANTED,
    "planted": PLANTED,
    "motion_regions": MOTION_REGIONS,
    "motion_sd": MOTION_SD,
    "same_person": SAME_PERSON,
    "effects": EFFECTS,
    "n_pairs": N_PAIRS,
}
NULL_COLUMNS = {
    "tested": "tested",
    "unequal": "unequal",
    "any_family": "family-wise, any find",
    "false_family": "family-wise, false",
    "any_q": "FDR",
    "global": "global",
    "low_p": "edge p",
    "low_p_pool": "of the pool",
    "low_p_group": "of a group",
    "left_out": "left out",
}
FOUND_COLUMNS = {
    "found": "found",
    "hits": "hits",
    "changed": "changed",
    "recall": "recall",
    "false_share": "false",
    "beside": "beside",
    "right_way": "right way",
    "false_family": "family-wise, false",
}
COLUMNS = {
    "nulls": NULL_COLUMNS,
    "power": FOUND_COLUMNS,
    "peers": {"any_q": "any find"}
    | {name: FOUND_COLUMNS[name] for name in ("found", "hits", "recall", "false_share", "beside")},
    "real": {name: NULL_COLUMNS[name] for name in ("tested", "any_family", "any_q", "global")}
    | {"left_out": "left out"},
    "repeated": NULL_COLUMNS,
    "pairwise": {
        "any_family": "family-wise",
        "any_q": "FDR",
        "global": "global",
        "recall": "recall",
        "beside": "beside",
    },
    "bound": {
        name: name.replace("_", " ")
        for name in ("low", "low_false", "bound", "stated", "all", "all_false")
    },
    "cost": {"fit": "seconds of a fit", "seconds": "seconds of the tests", "fits": "fits"},
}


def slots(results):
    """Fill the text: a section per study that was run, and the goals."""
    sections = []
    for study in STUDIES:
        if study in results["studies"]:
            made, rows = results["studies"][study], select(results["runs"], study=study)
            figures = interval_table(rows) if study == "intervals" else study_tables(study, rows)
            given = SIZES | {"command": made["command"], "seed": made["seed"], "figures": figures}
            sections += ["", *filled(f"calibration-{study}", given).splitlines()]
    goals = [row for goal in GOALS for row in goal_row(goal, results["runs"])]
    head = ["study", "setting", "goal", "cohorts", "measured", "met"]
    return SIZES | {"sections": sections[1:], "goals": table(head, goals)}


def study_tables(study, rows):
    """Table of one study; hubs, lobes and components apart."""
    main = [row for row in rows if row["method"] not in SUMS]
    columns = COLUMNS[study]
    cells = [
        [row["setting"], row["method"], row["cohorts"], *(cell(row, name) for name in columns)]
        for row in main
    ]
    lines = table(["groups", "method", "cohorts", *columns.values()], cells)
    if study in ("nulls", "repeated"):
        # These tests have one figure each, and would leave most columns empty.
        lines += ["", *sum_table(rows)]
    missing = [
        name for name in PEERS if study == "peers" and name not in {r["method"] for r in rows}
    ]
    return lines + [f"\nNot run, its package is not installed: {name}." for name in missing]


def sum_table(rows):
    """Any finds of hubs, lobes and components, family-wise."""
    of = {(row["setting"], row["method"]): row for row in rows}
    settings = dict.fromkeys(row["setting"] for row in rows)
    cells = [[name, *(cell(of[name, test], "any_family") for test in SUMS)] for name in settings]
    return table(["any find, family-wise", "hubs", f"pairs of {LOBES} lobes", "components"], cells)


def interval_table(rows):
    """Shares of intervals and ranges that have the truth in them."""
    cells = []
    for row in rows:
        figures = {name: value for name, value in row.items() if isinstance(value, list)}
        # Means times cohorts are counts again: shares must not weigh a cohort of few intervals as
        # one of many.
        count = {name: round(mean * n) for name, (mean, _, n) in figures.items()}
        parts = (
            ("covered", "intervals"),
            ("contained_exactly", "ranges"),
            ("contained", "ranges"),
        )
        shares = [
            shown(count[part] / count[of], count[of]) if count[of] else "-" for part, of in parts
        ]
        cells.append([row["method"], count["intervals"], shares[0], count["ranges"], *shares[1:]])
    head = ["", "intervals", "covered", "ranges", "with the truth, exact moments"]
    return table([*head, "with the truth, drawn rows"], cells)


def cell(row, name):
    """Share with its interval, or mean with its standard error; "-" where there is none."""
    if name not in row:
        return "-"
    mean, error, n = row[name]
    # Shares of cohorts have Wilson's interval; a standard error of 0 would mislead near 0.
    if name in SHARES or (row["method"], name) == (NAMED, "low_p"):
        return shown(mean, n)
    return f"{mean:.3g} +- {error:.2g}" if n > 1 else f"{mean:.3g}"
