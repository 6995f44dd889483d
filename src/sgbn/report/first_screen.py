"""What a reader sees first: the verdict, where the groups differ and how much, what to trust."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import partial
from typing import Any

import pandas as pd

from sgbn.comparison import Comparison
from sgbn.comparison.changes import changes_per_sd
from sgbn.comparison.support import called
from sgbn.report.figures import Plan, difference_stems, forest_plan

DIFFERENCES, FOREST = "first_differences", "first_forest"
BRAIN, CIRCLE = "brain", "circle"
# Inches, so that names can be read on a page of 1280 pixels without a zoom
SIZES = {BRAIN: (6.8, 3.5), CIRCLE: (5.2, 5.2)}
MAX_FOREST_ROWS = 12  # more would touch each other
FOREST_SIZES = {BRAIN: (10.6, 2.8), CIRCLE: (5.6, 3.2)}


def first_plans(comparison: Comparison, planned: Mapping[str, Plan]) -> dict[str, Plan]:
    """Choose the figures of the first screen, and set their sizes."""
    shape, chosen = first_shape(comparison, planned), {}
    name = f"{first_stem(comparison)}_{shape}"
    if name in planned:
        plot = planned[name].plot
        # The caption below says what the title would.
        untitled = partial(plot, **({"title": ""} if "title" in plot.keywords else {}))
        chosen[DIFFERENCES] = planned[name]._replace(plot=untitled, inches=SIZES[shape])
    # Not the planned forest, which has all groups: the first screen is about one.
    forest = forest_plan(comparison, [first_group(comparison)], MAX_FOREST_ROWS)
    if forest is not None:
        chosen[FOREST] = forest._replace(inches=FOREST_SIZES[shape])
    return chosen


def first_screen(comparison: Comparison, pictures: Container[str]) -> dict[str, Any]:
    """Collect what the template shows; `pictures` has the names of those that were drawn."""
    cohort = comparison.cohort
    shape = first_shape(comparison, pictures)
    large_of = {DIFFERENCES: f"{first_stem(comparison)}_{shape}", FOREST: "forest"}
    # A picture in the size of the first screen goes before the large one of the same edges.
    shown = {
        name: next((drawn for drawn in (name, large) if drawn in pictures), "")
        for name, large in large_of.items()
    }
    return {
        "verdict": [line for line in comparison.words.verdict if line],
        "trust": comparison.words.trust,
        # `cohort.sizes` would count visits where persons have several.
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
    """Say the least and the greatest number; one if they are the same."""
    low, high = numbers.min(), numbers.max()
    return f"{low}" if low == high else f"{low} to {high}"


def first_shape(comparison: Comparison, names: Container[str]) -> str:
    """Brain if the regions have places, else circle."""
    return BRAIN if f"{first_stem(comparison)}_{BRAIN}" in names else CIRCLE


def first_stem(comparison: Comparison) -> str:
    """Return the first part of the figure names of the group on the first screen."""
    return difference_stems(comparison.groups)[first_group(comparison)]


def first_group(comparison: Comparison) -> str:
    """Find the group that differs most from the reference."""
    table, compared = comparison.differences, comparison.groups[1:]
    if table.empty or len(compared) == 1:
        return compared[0]
    # By the sum of squares, of what is significant: many small changes count like one large.
    sure = table[table["q_both"] <= comparison.settings.level]
    changes = changes_per_sd(comparison, sure if len(sure) else table)
    return max(changes, key=lambda group: float((changes[group] ** 2).sum()))
