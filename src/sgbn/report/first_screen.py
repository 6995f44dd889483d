"""What a reader sees first: the verdict, where the groups differ and how much, what to trust."""

from __future__ import annotations

from collections.abc import Container, Mapping
from functools import partial
from typing import Any

import pandas as pd

from sgbn.comparison import Comparison
from sgbn.comparison.changes import changes_per_sd, differences_of
from sgbn.comparison.support import called
from sgbn.report.figures import Plan, difference_stems, forest_plan

DIFFERENCES, FOREST = "first_differences", "first_forest"
BRAIN, CIRCLE = "brain", "circle"
# Inches, so that names can be read on a page of 1280 pixels without a zoom
SIZES = {BRAIN: (6.8, 3.5), CIRCLE: (5.2, 5.2)}
FIRST_ROWS = 12  # of the forest: more would touch each other
FOREST_SIZES = {BRAIN: (10.6, 2.8), CIRCLE: (5.6, 3.2)}


def first_plans(comparison: Comparison, planned: Mapping[str, Plan]) -> dict[str, Plan]:
    """Figures of the first screen: those of these names, in its sizes."""
    shape, chosen = first_shape(comparison, planned), {}
    name = f"{first_stem(comparison)}_{shape}"
    if name in planned:
        plot = planned[name].plot
        untitled = partial(plot, **({"title": ""} if "title" in plot.keywords else {}))
        chosen[DIFFERENCES] = planned[name]._replace(plot=untitled, inches=SIZES[shape])
    forest = forest_plan(comparison, [first_group(comparison)], FIRST_ROWS)
    if forest is not None:
        chosen[FOREST] = forest._replace(inches=FOREST_SIZES[shape])
    return chosen


def first_screen(comparison: Comparison, pictures: Container[str]) -> dict[str, Any]:
    """Collect what the template shows; of pictures, the names that are there."""
    cohort = comparison.cohort
    shape = first_shape(comparison, pictures)
    small = {DIFFERENCES: f"{first_stem(comparison)}_{shape}", FOREST: "forest"}
    there = {
        name: name if name in pictures else own
        for name, own in small.items()
        if name in pictures or own in pictures
    }
    return {
        "verdict": [line for line in comparison.words.verdict if line],
        "trust": comparison.words.trust,
        "sizes": [(called(group), cohort.subjects[group]) for group in comparison.groups],
        "who": "persons" if cohort.units is not None else "subjects",
        "regions": len(cohort.regions),
        "volumes": _range(comparison.tables.series["volumes"]) if comparison.of_series else "",
        "permutations": 0 if comparison.tests is None else comparison.tests.n_permutations,
        "shape": shape,
        "differences": there.get(DIFFERENCES, ""),
        "forest": there.get(FOREST, ""),
    }


def _range(numbers: pd.Series) -> str:
    """Say the least and the greatest number; one if they are the same."""
    low, high = numbers.min(), numbers.max()
    return f"{low}" if low == high else f"{low} to {high}"


def first_words(comparison: Comparison) -> dict[str, tuple[str, str]]:
    """Text alternative and caption of the pictures of the first screen, by all their names."""
    stem, group, table = first_stem(comparison), first_group(comparison), comparison.differences
    if len(table):
        table = differences_of(comparison, group)
    change, level = f"from {comparison.reference} to {group}", comparison.settings.level
    some = len(table) and (table["q_both"] <= level).any()
    which = (
        "pairs that differ both ways" if some else "no pair differs both ways; these come nearest"
    )
    where = (
        f"Where the networks differ: {which}, {change}, as lines or arrows. The table of edges has "
        "their numbers.",
        f"Where: {which} ({change}). An arrow has a direction that is supported, a line has none.",
    )
    chance = (
        f" None is found to differ: the most extreme of {len(table)} may lie beside 0 by chance "
        "alone."
    )
    how_much = (
        "How much: the surest changes with their intervals, one row per pair of regions. The table "
        "of edges has their numbers.",
        f"How much: change of the weight per standard deviation ({change}), with the "
        f"{100 * (1 - level):.3g} % interval of each edge by itself.{'' if some else chance}",
    )
    return {
        **dict.fromkeys((DIFFERENCES, f"{stem}_{BRAIN}", f"{stem}_{CIRCLE}"), where),
        **dict.fromkeys((FOREST, "forest"), how_much),
    }


def first_shape(comparison: Comparison, names: Container[str]) -> str:
    """Brain if the regions have places, else circle."""
    return BRAIN if f"{first_stem(comparison)}_{BRAIN}" in names else CIRCLE


def first_stem(comparison: Comparison) -> str:
    """Begin of the names of the figures of the group that the first screen shows."""
    return difference_stems(comparison.groups)[first_group(comparison)]


def first_group(comparison: Comparison) -> str:
    """Find the group that differs most from the reference."""
    table, others = comparison.differences, comparison.groups[1:]
    if table.empty or len(others) == 1:
        return others[0]
    sure = table[table["q_both"] <= comparison.settings.level]
    changes = changes_per_sd(comparison, sure if len(sure) else table)
    return max(changes, key=lambda group: float((changes[group] ** 2).sum()))
