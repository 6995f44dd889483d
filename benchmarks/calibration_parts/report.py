"""Tables of the calibration, drawn from the rows of its JSON, with goals beside what was measured.

A row has a study, a setting, a method, the number of cohorts, and figures: mean, standard error and
number of the cohorts in which they mean something.
"""

from sgbn.experiments.markdown import table

from .bound import N_PAIRS
from .cohorts import CHANGE, LOBES, SAME_PERSON, WEAK
from .goals import GOALS, goal_row
from .intervals import EFFECTS
from .peers import PEERS
from .real import MOTION_REGIONS, MOTION_SD, N_PLANTED, PLANTED
from .score import N_PERMUTATIONS, NAMED, SHARES, SUMS, shown

INTRODUCTION = f"""# Tests of differences: error rates, recall, intervals and a bound

40 regions, 1.5 edges per region, weights +-U(0.5, 1), noise of variance 1, a new random network per
cohort; 80 subjects per group unless said; {N_PERMUTATIONS} permutations; the order from
`SGBN(n_kicks=0)`. In brackets 95 % intervals (Wilson), after +- standard errors.

One way: `p_fwer`, `q`, `global_p`. Both ways: `p_fwer_both`, `q_both`, `global_p_both`. "Any find":
share of cohorts with a find at 5 %. "False": the same for edges whose weights in the population,
given the parents tested, are equal; both ways, each region of a pair is regressed on the other and
on the parents of both, and the pair has changed only if both weights and the partial correlation of
the two differ."""

NOTES = {
    "nulls": """\
FDR: share of cohorts with any q of at most 5 %. Edge p: mean share of the edges without a change
whose own p is at most 5 %; of those that the pooled rows chose, and of those that only one group
did. Unequal: tested edges whose weights in the population differ, though the networks are the same.
Left out: rows that were trimmed. Outlier rows and shifted means have no such population: there
nothing is said about false. tanh: of each column in standard deviations; means are shifted before
it by half a standard deviation in half of the regions. Hidden causes: 3, each of half of the
regions. Outlier rows: all regions times 5.""",
    "power": f"""\
Ten edges of the second group move by U({CHANGE[0]}, {CHANGE[1]}) towards zero and beyond: chosen
with the oracle alone, on other seeds, so that its recall is near .50 / .70 / .89. Edges removed:
all weights are +-U({WEAK[0]}, {WEAK[1]}), and ten edges are gone in the second group; its oracle is
as good, but weak edges are hard to find in the pooled rows. The oracle knows
the parents; Wald's test, Benjamini-Hochberg at 5 %. False: mean share of finds whose weights in the
population are equal, as above. Beside: mean share of found pairs that are no changed edge. Recall:
of changed edges as pairs. Right way: share of these with the true direction. Demo: the cohorts of
`sgbn demo`, seeds 0 to 9. Planted: halves of the controls of ABIDE, covariates and sites held
fixed; in the second half {N_PLANTED} regions, none of them a parent of others in the network of all
controls, follow their strongest parent less, by {PLANTED} standard deviations per standard
deviation. Its oracle has the parents of that network.""",
    "peers": """\
The cohorts of the power study, and those without a difference. False: of correlations, partial
correlations and precisions, pairs that are equal in the population. There are no partial
correlations with fewer subjects than regions. DCI at its defaults; NBS at z = 3.""",
    "real": f"""\
Covariates and sites as users give them. Halves are balanced over sites. Motion-like: in 2 % of the
rows of one half a share of {MOTION_REGIONS} of the regions is {MOTION_SD:g} standard deviations
thinner. Scale x 2: half of the regions vary twice as much in one half. The weights between these
and the others, in the units of the data, then truly change; correlations do not. Noise x 2: only
what the network of all controls leaves of half of the regions is doubled; its weights stay.""",
    "repeated": f"""\
Two rows of a person correlate by {SAME_PERSON}. Sessions: 40 persons per group with random labels,
`persons=`. Paired visits: 80 persons, one row each in both groups, `pairs=`.""",
    "pairwise": """\
80 subjects per group. Finds of the closed pairwise tests between groups with the same network, and
between the group with ten changed edges and the others.""",
    "intervals": f"""\
On the true graph. Covered: share of the 95 % intervals with the truth in them, of all weights and
of the effects of {EFFECTS} random pairs per cohort. Where networks of the equivalence class
disagree about an effect, its range has no sampling error: it must have the truth in it where the
rows have the population's moments; in drawn rows no level is promised.""",
    "bound": f"""\
{N_PAIRS} pairs of halves. Theta: pairs that half a sample joins with at most this probability are
of low probability. Low: such pairs that the share "threshold" of halves joins, per cohort; false:
those of them that are not joined in truth. Bound: from the pairs of low probability that a half
joins. Stated: from all pairs, as `EdgeConfidence.bound` gives it. All: whatever their
probability.""",
    "cost": "CPU of one process: 1,000 permutations of two groups beside one `SGBN()` fit.",
}
TITLES = {
    "nulls": "No difference",
    "power": "Changed edges",
    "peers": "Other methods",
    "real": "Real tables without a difference",
    "repeated": "Several rows per person",
    "pairwise": "More than two groups",
    "intervals": "Intervals",
    "bound": "Bound of stability selection",
    "cost": "Cost",
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


def lines_of(results):
    """Lines of the report: a section per study that was run, then the goals."""
    lines = INTRODUCTION.splitlines()
    for study, made in sorted(
        results["studies"].items(), key=lambda one: list(TITLES).index(one[0])
    ):
        rows = [row for row in results["runs"] if row["study"] == study]
        lines += ["", f"## {TITLES[study]}", ""]
        lines += interval_table(rows) if study == "intervals" else study_tables(study, rows)
        lines += ["", *NOTES[study].splitlines(), "", f"`{made['command']}`, seed {made['seed']}."]
    goals = [row for goal in GOALS for row in goal_row(goal, results["runs"])]
    head = ["study", "setting", "goal", "cohorts", "measured", "met"]
    return [*lines, "", "## Goals", "", *table(head, goals)]


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
        count = {name: round(own[0] * own[2]) for name, own in row.items() if isinstance(own, list)}
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
    if name in SHARES or (row["method"], name) == (NAMED, "low_p"):
        return shown(mean, n)
    return f"{mean:.3g} +- {error:.2g}" if n > 1 else f"{mean:.3g}"
