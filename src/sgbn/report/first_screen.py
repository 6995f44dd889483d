"""The first screen of the page: verdict, figures of the differences, and what can be trusted."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import partial
from typing import Any

import pandas as pd

from sgbn.comparison import Comparison
from sgbn.comparison.changes import changes_per_sd
from sgbn.comparison.support import called
from sgbn.report.figures import difference_stems, forest_plan
from sgbn.write.figures import Plan

DIFFERENCES, FOREST = "first_differences", "first_forest"
BRAIN, CIRCLE = "brain", "circle"
# Width and height in inches: on a page of 1280 pixels, names can be read without a zoom
SIZES = {BRAIN: (6.8, 3.5), CIRCLE: (5.2, 5.2)}
MAX_FOREST_ROWS = 12  # more would touch each other
FOREST_SIZES = {BRAIN: (10.6, 2.8), CIRCLE: (5.6, 3.2)}


def first_plans(comparison: Comparison, planned: Mapping[str, Plan]) -> dict[str, Plan]:
    """Choose the figures of the first screen, and set their sizes."""
    shape, chosen = first_shape(comparison, planned), {}
    name = f"{first_stem(comparison)}_{shape}"
    if name in planned:
        plot = planned[name].plot
        # The caption below the picture says the same as the title.
        untitled = partial(plot, **({"title": ""} if "title" in plot.keywords else {}))
        chosen[DIFFERENCES] = planned[name]._replace(plot=untitled, inches=SIZES[shape])
    # The planned forest plot has all groups. The first screen is about one group.
    forest = forest_plan(comparison, [first_group(comparison)], MAX_FOREST_ROWS)
    if forest is not None:
        chosen[FOREST] = forest._replace(inches=FOREST_SIZES[shape])
    return chosen


def first_screen(comparison: Comparison, pictures: Container[str]) -> dict[str, Any]:
    """Collect what the first screen shows; `pictures` has the names of the drawn figures."""
    cohort = comparison.cohort
    shape = first_shape(comparison, pictures)
    large_of = {DIFFERENCES: f"{first_stem(comparison)}_{shape}", FOREST: "forest"}
    # If there is no picture in the size of the first screen, the large one replaces it.
    shown = {
        name: next((drawn for drawn in (name, large) if drawn in pictures), "")
        for name, large in large_of.items()
    }
    return {
        "verdict": [line for line in comparison.words.verdict if line],
        "trust": comparison.words.trust,
        # `cohort.sizes` counts rows, and a person can have several.
        "sizes": [(called(group), cohort.subjects[group]) for group in comparison.groups],
        "who": "persons" if cohort.units is not None else "subjects",
        "regions": len(cohort.regions),
        "volumes": _range(comparison.tables.series["volumes"]) if comparison.of_series else "",
        "permutations": 0 if comparison.tests is None else comparison.tests.n_permutations,
        "shape": shape,
        "differences": shown[DIFFERENCES],
        "forest": shown[FOREST],
    }


def _range(numbers: pd.Series) -> str:
    """Write the range of numbers, such as "120 to 240"; one number if all are the same."""
    low, high = numbers.min(), numbers.max()
    return f"{low}" if low == high else f"{low} to {high}"


def first_shape(comparison: Comparison, names: Container[str]) -> str:
    """Return `BRAIN` if there is a figure of the brain among the names, else `CIRCLE`."""
    return BRAIN if f"{first_stem(comparison)}_{BRAIN}" in names else CIRCLE


def first_stem(comparison: Comparison) -> str:
    """Return how the names of the figures for the group on the first screen begin."""
    return difference_stems(comparison.groups)[first_group(comparison)]


def first_group(comparison: Comparison) -> str:
    """Return the group that differs most from the reference."""
    table, compared = comparison.differences, comparison.groups[1:]
    if table.empty or len(compared) == 1:
        return compared[0]
    # A sum of squares, so that many small changes can count as much as one large change.
    sure = table[table["q_both"] <= comparison.settings.level]
    changes = changes_per_sd(comparison, sure if len(sure) else table)
    return max(changes, key=lambda group: float((changes[group] ** 2).sum()))
