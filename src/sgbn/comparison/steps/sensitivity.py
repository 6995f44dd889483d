"""The dependence of the differences found on the sparsity and on the order of the regions.

The section of the page on checks of the findings: tests with other choices, and residuals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from sgbn.cohort.cohort import Cohort
from sgbn.comparison.names import joined, row_word, with_labels
from sgbn.comparison.settings import Settings
from sgbn.comparison.step import Job, Step
from sgbn.comparison.steps.differences import tested_edges
from sgbn.comparison.steps.residuals import residual_words
from sgbn.inference.difference_tables import Differences
from sgbn.inference.permutations import permutations_needed
from sgbn.learn.knowledge import KNOWLEDGE
from sgbn.learn.search.plan import default_gamma
from sgbn.learn.series import SeriesSGBN
from sgbn.learn.sgbn import SGBN
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.prepare.pipeline import regions_table
from sgbn.write.page import HINTS, Field, Table, in_words, make_table, mark_by, number_text
from sgbn.write.tables import frame_of

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.result import Comparison


PERMUTATIONS = 199  # per repetition; a fifth of the default of the tests themselves
HALF, TWICE, OTHER_ORDER = "half", "twice", "other_order"
FACTORS = {HALF: 0.5, TWICE: 2.0}  # factors of the penalty on edges
SAID = {
    HALF: "half the penalty on edges",
    TWICE: "twice the penalty on edges",
    OTHER_ORDER: "the order of ORSGBN",
}


@dataclass(frozen=True)
class Sensitivity:
    """The tests of differences, repeated with other choices.

    Attributes
    ----------
    tests : mapping of str to Differences
        The repeated tests. "half" and "twice" have half and twice the penalty on edges, both in the
        search for the order and in the choice of parents. "other_order" has the order of `ORSGBN`.
        It is missing if there is prior knowledge.
    """

    tests: Mapping[str, Differences]


class SensitivityStep(Step):
    """Repeat the tests with other choices, and with fewer permutations."""

    name, title = "sensitivity", "Do the differences depend on the choices made?"
    still = "whether the differences depend on the choices made"
    setting, needs = "sensitivity", "differences"

    def run(self, job: Job, found: dict[str, Any]) -> None:
        """Repeat the tests of all edges, but not those of edges that were named beforehand."""
        n_permutations = fewer_permutations(job.settings)
        searcher = job.test_searcher or SGBN(outliers="keep")
        found["sensitivity"] = Sensitivity(
            {
                name: tested_edges(job, found, f"sensitivity-{name}", n_permutations, **choice)
                for name, choice in other_choices(job.prepared, searcher).items()
            }
        )

    def words(self, comparison: Comparison) -> dict[str, str]:
        """Say how many pairs were found with other choices too."""
        return {self.title: sensitivity_words(comparison)}

    def tables(self, comparison: Comparison) -> dict[str, pd.DataFrame]:
        """Return the pairs that differ, with their q for each choice."""
        return {"sensitivity": sensitivity_table(comparison)}


def fewer_permutations(settings: Settings) -> int:
    """Return the number of permutations per repetition: few, but enough for q at the level."""
    # With too few, no repetition could find a difference, and all differences would seem unsure.
    count = max(PERMUTATIONS, permutations_needed(settings.level, "q"))
    return min(count, settings.n_permutations)


def other_choices(prepared: Cohort, searcher: SGBN | SeriesSGBN) -> dict[str, dict[str, Any]]:
    """Return the keywords of the tests that are different in each repetition.

    `searcher` is the learner of the tests themselves.
    """
    if isinstance(searcher, SeriesSGBN):
        penalties = {name: factor * searcher.penalty for name, factor in FACTORS.items()}
        return {
            name: {"learner": clone(searcher).set_params(penalty=penalty)}
            for name, penalty in penalties.items()
        }
    gamma = default_gamma(len(prepared)) if searcher.gamma is None else float(searcher.gamma)
    choices: dict[str, dict[str, Any]] = {}
    for name, factor in FACTORS.items():
        learner = clone(searcher).set_params(gamma=factor * gamma)
        choices[name] = {"learner": learner, "penalty": factor}
    # Prior knowledge may forbid another order.
    if all(getattr(searcher, name) is None for name in KNOWLEDGE):
        choices[OTHER_ORDER] = {"learner": _in_other_order(prepared, searcher)}
    return choices


def _in_other_order(prepared: Cohort, searcher: SGBN) -> SGBN:
    """Return the searcher with a fixed order, found by ORSGBN on rows minus their group means."""
    table = regions_table(prepared)
    # Otherwise differences between group means would look like correlations of regions.
    centred = table - table.groupby(np.asarray(prepared.group)).transform("mean")
    levels = ORSGBN().fit(centred / centred.std()).order_  # its lasso depends on units
    regions = np.array(prepared.regions, dtype=object)
    tiers = [regions[levels == level].tolist() for level in np.unique(levels)]
    return clone(searcher).set_params(tiers=tiers)


def sensitivity_table(comparison: Comparison) -> pd.DataFrame:
    """Return one row per pair that differs both ways in the tests or in a repetition.

    Returns
    -------
    DataFrame
        The columns are source, target, found (whether the tests themselves found the pair), q_both
        (of the tests themselves), ``q_both_NAME`` (of each repetition, NaN if it did not test the
        pair) and stays (whether the tests and all repetitions found the pair).
    """
    if comparison.sensitivity is None or comparison.tests is None:
        return frame_of()
    level = comparison.settings.level
    main = _by_pair(comparison.tests)
    repeated = {name: _by_pair(tests) for name, tests in comparison.sensitivity.tests.items()}
    rows = []
    pairs = dict.fromkeys(  # a set would make the order of the rows depend on hashes
        pair for q_of in (main, *repeated.values()) for pair, q in q_of.items() if q <= level
    )
    names = _written(comparison.tests, pairs)
    for pair in pairs:
        q = {f"q_both_{name}": q_of.get(pair, np.nan) for name, q_of in repeated.items()}
        main_q = main.get(pair, np.nan)
        rows.append(
            {
                "source": names[pair][0],
                "target": names[pair][1],
                "found": main_q <= level,
                "q_both": main_q,
                **q,
                # A repetition that did not test the pair (NaN) did not find it.
                "stays": all(value <= level for value in (main_q, *q.values())),
            }
        )
    q_columns = [f"q_both_{name}" for name in repeated]
    # The columns are named, so that a table without rows has them too.
    table = frame_of(rows, ["source", "target", "found", "q_both", *q_columns, "stays"])
    by = ["found", "stays", "q_both"]
    return table.sort_values(by, ascending=[False, False, True], kind="stable", ignore_index=True)


Pair = frozenset[str]  # it has no direction, because a repetition may have the opposite direction


def _by_pair(tests: Differences) -> dict[Pair, float]:
    """Return q of each pair without its direction, the surest pairs first."""
    ends = zip(tests.edges["source"], tests.edges["target"], strict=True)
    return dict(zip(map(frozenset, ends), tests.edges["q_both"].tolist(), strict=True))


def _written(tests: Differences, pairs: Mapping[Pair, Any]) -> dict[Pair, Sequence[str]]:
    """Return the source and target of each pair in the tests themselves."""
    ends = zip(tests.edges["source"], tests.edges["target"], strict=True)
    as_tested: dict[Pair, Sequence[str]] = {frozenset(pair): pair for pair in ends}
    # Pairs that only repetitions tested are sorted by name.
    return {pair: as_tested.get(pair, sorted(pair)) for pair in pairs}


def sensitivity_words(comparison: Comparison) -> str:
    """Say how many pairs were found in all repetitions. Return "" without repetitions."""
    table, sensitivity = comparison.tables.sensitivity, comparison.sensitivity
    level = comparison.settings.level
    if sensitivity is None:
        return ""
    different = table[table["found"]] if len(table) else table
    tried = joined([f"with {SAID[name]}" for name in sensitivity.tests])
    fewer = f"({next(iter(sensitivity.tests.values())).n_permutations} permutations each)"
    if not len(different):
        elsewhere = (
            f"{len(table)} are found in one or more of these, which is not a finding by itself"
            if len(table)
            else "no pair is found in these either"
        )
        return f"No pair was found to differ. The tests were repeated {tried} {fewer}: {elsewhere}."
    stays = int(different["stays"].sum())
    if len(different) == 1:
        verb = "is" if stays else "is not"
        return (
            f"The pair that differs {verb} found in each repetition of the tests: {tried} {fewer}."
        )
    # How many of the pairs each repetition found
    found = {name: different[f"q_both_{name}"] <= level for name in sensitivity.tests}
    counts = joined([f"{mask.sum()} with {SAID[name]}" for name, mask in found.items()])
    return (
        f"{stays} of the {len(different)} pairs that differ are found in each repetition of the "
        f"tests: {counts} {fewer}."
    )


KEY = "residuals-table"
TITLES = {HALF: "half penalty", TWICE: "twice", OTHER_ORDER: "other order"}


def checks_section(comparison: Comparison) -> dict[str, Any]:
    """Collect the words and tables of both checks; a table is None if it would be empty."""
    return {
        "residuals": residuals_table(comparison),
        "residual_lines": residual_words(comparison).split("\n"),
        "sensitivity": sensitivity_words(comparison),
        "pairs": pairs_table(comparison),
    }


def residuals_table(comparison: Comparison) -> Table | None:
    """Make a table of residuals with one row per group; return None if all groups are too small."""
    table = comparison.tables.residuals
    if table.empty:
        return None
    rows = with_labels(comparison, table).to_dict("records")
    shown = table.assign(
        not_gaussian=[f"{row['not_gaussian']} of {row['regions']}" for row in rows],
        curved=[f"{row['curved']} of {row['edges']}" for row in rows],
        skewness=[_largest(row["skewness"], row["skewed_region"]) for row in rows],
        kurtosis=[_largest(row["kurtosis"], row["heavy_region"]) for row in rows],
        far=[f"{row['far']} ({row['expected_far']:.1f})" for row in rows],
    )
    cohort = comparison.cohort
    # The tests of residuals treat rows as independent. Rows of relatives are not independent.
    related = "" if cohort.person is None and cohort.block is None else HINTS[KEY]["of_relatives"]
    fields = [
        Field("group", "group"),
        Field("rows", row_word(comparison), "count"),
        Field("not_gaussian", "regions not Gaussian", hint=HINTS[KEY]["not_gaussian"] + related),
        Field("curved", "bent edges", hint=HINTS[KEY]["curved"] + related),
        Field("far", "far out (expected)"),
        Field("skewness", "largest skewness"),
        Field("kurtosis", "largest excess kurtosis"),
    ]
    caption = "Residuals of the networks"
    return make_table(KEY, caption, shown, fields, searched=False)


def _largest(value: float, region: str) -> str:
    return f"{number_text(value)} ({region})"


def pairs_table(comparison: Comparison) -> Table | None:
    """Make a table of the pairs that the tests or a repetition found; None if no pair was found."""
    table = comparison.tables.sensitivity
    # If the table has no rows, the words above it say that no pair was found.
    if table.empty or comparison.sensitivity is None:
        return None
    hint = HINTS["sensitivity-table"]["q_both_with_choice"]
    fields = [
        *(Field("source", "from"), Field("target", "to")),
        Field("found", "found"),
        Field("stays", "in each repetition"),
        Field("q_both", "q, both ways", "p"),
        # With prior knowledge of directions, the repetition with another order is missing.
        *(
            Field(f"q_both_{name}", f"q, {TITLES[name]}", "p", hint)
            for name in comparison.sensitivity.tests
        ),
    ]
    caption = "Pairs that differ, with other choices"
    table = in_words(with_labels(comparison, table), "found", "stays")
    mark = mark_by("stays", {"yes": "found"})
    return make_table("sensitivity-table", caption, table, fields, mark=mark, searched=False)
