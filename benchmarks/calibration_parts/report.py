"""Functions that make the tables of the calibration from the rows of its JSON.

A row has a study, a setting, a method, the number of cohorts, and figures. Each figure has a mean,
a standard error, and the number of cohorts that have the figure.
"""

from output import filled, select

from .bound import N_PAIRS
from .cohorts import CHANGE, LOBES, SAME_PERSON, WEAK
from .designs import STUDIES
from .goals import GOALS, goal_row
from .intervals import EFFECTS
from .peers import PEERS
from .real import MOTION_REGIONS, MOTION_SD, N_PLANTED, PLANTED
from .score import N_PERMUTATIONS, NAMED, SHARES, SUMS, shown

SIZES = {  # constants that the texts name
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
    "lobes": LOBES,
}


def slots(results):
    """Return the slots of the text: one section per study that was run, and the goals."""
    sections = []
    for study in STUDIES:
        if study in results["studies"]:
            made, rows = results["studies"][study], select(results["runs"], study=study)
            figures = interval_table(rows) if study == "intervals" else study_tables(study, rows)
            given = SIZES | {"command": made["command"], "seed": made["seed"]} | figures
            sections += ["", *filled(f"calibration-{study}", given).splitlines()]
    goals = [row for goal in GOALS for row in goal_row(goal, results["runs"])]
    return SIZES | {"sections": sections[1:], "goals": goals}


def study_tables(study, rows):
    """Return the tables of one study, with hubs, lobes and components in their own table."""
    main = [row for row in rows if row["method"] not in SUMS]
    methods = {row["method"] for row in rows}
    missing = [name for name in PEERS if study == "peers" and name not in methods]
    return {
        "figures": [{name: cell(row, name) for name in row} for row in main],
        # These tests have one figure each. In the main table most columns would be empty.
        "sums": sum_rows(rows) if study in ("nulls", "repeated") else [],
        "missing": [(f"\nNot run, its package is not installed: {name}.",) for name in missing],
    }


def sum_rows(rows):
    """Return the rows of family-wise finds of hubs, lobes and components."""
    of = {(row["setting"], row["method"]): row for row in rows}
    settings = dict.fromkeys(row["setting"] for row in rows)
    return [[name, *(cell(of[name, test], "any_family") for test in SUMS)] for name in settings]


def interval_table(rows):
    """Return the table of the shares of intervals and ranges that contain the truth."""
    cells = []
    for row in rows:
        figures = {name: value for name, value in row.items() if isinstance(value, list)}
        # Means times cohorts are counts: a cohort with few intervals must count less.
        count = {name: round(mean * n) for name, (mean, _, n) in figures.items()}
        parts = {"covered": "intervals", "contained_exactly": "ranges", "contained": "ranges"}
        shares = {
            part: shown(count[part] / count[of], count[of]) if count[of] else None
            for part, of in parts.items()
        }
        cells.append(row | count | shares)
    return {"figures": cells}


def cell(row, name):
    """Return a share with its interval, or a mean with its standard error. Text is unchanged."""
    if not isinstance(row[name], list):
        return row[name]
    mean, error, n = row[name]
    # Shares of cohorts have Wilson's interval: near 0, a standard error of 0 would mislead.
    if name in SHARES or (row["method"], name) == (NAMED, "low_p"):
        return shown(mean, n)
    return f"{mean:.3g} +- {error:.2g}" if n > 1 else f"{mean:.3g}"
