"""How the differences that were found depend on choices: sparsity, and the order of the regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from sgbn.cohort import Cohort
from sgbn.comparison.settings import Settings
from sgbn.comparison.support import joined
from sgbn.inference import Differences
from sgbn.inference.permutation_p import permutations_needed
from sgbn.preprocessing.preparation import regions_table
from sgbn.search.problem import default_gamma
from sgbn.structure import ORSGBN, SGBN
from sgbn.structure.knowledge import KNOWLEDGE

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison

PERMUTATIONS = 199  # of a repetition: a fifth of the default of the tests themselves
HALF, TWICE, OTHER_ORDER = "half", "twice", "other_order"
FACTORS = {HALF: 0.5, TWICE: 2.0}  # of the penalty on edges
SAID = {
    HALF: "half the penalty on edges",
    TWICE: "twice the penalty on edges",
    OTHER_ORDER: "the order of ORSGBN",
}


@dataclass(frozen=True)
class Sensitivity:
    """Tests of differences, repeated with other choices.

    Attributes
    ----------
    tests : mapping of str to Differences
        By "half" and "twice" (the penalty on edges, in the order and the parents) and
        "other_order" (of `ORSGBN`, where there is no prior knowledge).
    """

    tests: Mapping[str, Differences]


def fewer_permutations(settings: Settings) -> int:
    """Permutations of a repetition: a few, but enough for a q as small as the level."""
    # With too few, no repetition could find anything, and each find would seem to depend on chance.
    count = max(PERMUTATIONS, permutations_needed(settings.level, "q"))
    return min(count, settings.n_permutations)


def other_choices(prepared: Cohort, searcher: SGBN) -> dict[str, dict[str, Any]]:
    """Return the keywords of `edge_differences` that are different in each repetition.

    `searcher` is that of the tests themselves.
    """
    gamma = default_gamma(len(prepared)) if searcher.gamma is None else float(searcher.gamma)
    choices: dict[str, dict[str, Any]] = {}
    for name, factor in FACTORS.items():
        learner = clone(searcher).set_params(gamma=factor * gamma)
        choices[name] = {"learner": learner, "penalty": factor}
    # Prior knowledge may rule another order out.
    if all(getattr(searcher, name) is None for name in KNOWLEDGE):
        choices[OTHER_ORDER] = {"learner": _in_other_order(prepared, searcher)}
    return choices


def _in_other_order(prepared: Cohort, searcher: SGBN) -> SGBN:
    """Make a learner with a fixed order: that of ORSGBN on rows centred within their groups."""
    table = regions_table(prepared)
    # Differences of the means of groups would look like correlations of regions.
    centred = table - table.groupby(np.asarray(prepared.group)).transform("mean")
    levels = ORSGBN().fit(centred / centred.std()).order_  # its lasso depends on units
    regions = np.array(prepared.regions, dtype=object)
    tiers = [regions[levels == level].tolist() for level in np.unique(levels)]
    return clone(searcher).set_params(tiers=tiers)


def sensitivity_table(comparison: Comparison) -> pd.DataFrame:
    """One row per pair that the tests, or a repetition, found to differ both ways.

    Columns source, target, found (by the tests themselves), q_both (of these), ``q_both_NAME`` of
    each repetition (NaN where it did not test the pair) and stays, whether all found it.
    """
    if comparison.sensitivity is None or comparison.tests is None:
        return pd.DataFrame()
    level = comparison.settings.level
    main = _by_pair(comparison.tests)
    repeated = {name: _by_pair(tests) for name, tests in comparison.sensitivity.tests.items()}
    rows = []
    pairs = dict.fromkeys(  # not a set: the order of the rows must not depend on hashes
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
    # named, so that a table without rows has its columns too
    table = pd.DataFrame(rows, columns=["source", "target", "found", "q_both", *q_columns, "stays"])
    by = ["found", "stays", "q_both"]
    return table.sort_values(by, ascending=[False, False, True], kind="stable", ignore_index=True)


Pair = frozenset[str]  # without a direction: a repetition may write the arrow the other way


def _by_pair(tests: Differences) -> dict[Pair, float]:
    """Read q of each pair, whichever way its arrow was written; the surest pairs first."""
    ends = zip(tests.edges["source"], tests.edges["target"], strict=True)
    return dict(zip(map(frozenset, ends), tests.edges["q_both"].tolist(), strict=True))


def _written(tests: Differences, pairs: Mapping[Pair, Any]) -> dict[Pair, Sequence[str]]:
    """Give the ends of each pair as the tests themselves wrote them."""
    ends = zip(tests.edges["source"], tests.edges["target"], strict=True)
    as_tested: dict[Pair, Sequence[str]] = {frozenset(pair): pair for pair in ends}
    return {pair: as_tested.get(pair, sorted(pair)) for pair in pairs}  # some are of repetitions


def sensitivity_words(comparison: Comparison) -> str:
    """One sentence: how many of the pairs are found whatever is chosen; "" if it was not tried."""
    table, sensitivity = comparison.tables.sensitivity, comparison.sensitivity
    if sensitivity is None:
        return ""
    different = table[table["found"]] if len(table) else table
    tried = joined([f"with {SAID[name]}" for name in sensitivity.tests])
    fewer = f"({next(iter(sensitivity.tests.values())).n_permutations} permutations each)"
    if not len(different):
        elsewhere = (
            f"{len(table)} are found in one or more of these, which is not a finding by itself"
            if len(table)
            else "none is found then either"
        )
        return f"No pair was found to differ. The tests were repeated {tried} {fewer}: {elsewhere}."
    stays = int(different["stays"].sum())
    if len(different) == 1:
        does = "is" if stays else "is not"
        return (
            f"The pair that differs {does} found in each repetition of the tests: {tried} {fewer}."
        )
    counts = joined(_counts(comparison, different, sensitivity))
    return (
        f"{stays} of the {len(different)} pairs that differ are found in each repetition of the "
        f"tests: {counts} {fewer}."
    )


def _counts(comparison: Comparison, different: pd.DataFrame, sensitivity: Sensitivity) -> list[str]:
    """Say how many of the pairs each repetition found."""
    level = comparison.settings.level
    counts = {name: int((different[f"q_both_{name}"] <= level).sum()) for name in sensitivity.tests}
    return [f"{count} with {SAID[name]}" for name, count in counts.items()]
