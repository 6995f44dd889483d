"""Maps of regional results on the cortex: what is drawn, or why nothing is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sgbn.comparison import Comparison
from sgbn.exceptions import InputError, counted
from sgbn.inference import Deviations
from sgbn.report.names import file_names
from sgbn.types import Indices, Mask
from sgbn.viz.parcellations import Parcellation, find_parcellation
from sgbn.viz.surface import draw_surface, parcel_numbers
from sgbn.viz.surface_mesh import SIDES, load_mesh

INCHES = 7.2, 5.6
MEANS, STRENGTH, DEVIATIONS = "means", "strength", "deviations"
SURFACE = "on the inflated cortex of fsaverage5"


class _Map(NamedTuple):
    """Values of regions: which are significant, what they mean, and how that is known."""

    values: pd.Series[float]  # by region
    sure: pd.Series[bool] | None  # None where nothing was tested
    title: str
    label: str
    what: str
    test: str


class _Surface(NamedTuple):
    """A parcellation, and the number in it of each region of the cohort; -1 if it is absent."""

    parcels: Parcellation
    numbers: Indices


class SurfaceMap(NamedTuple):
    """A map to be drawn on a figure, its text alternative and its caption."""

    plot: partial[Any]
    alt: str
    caption: str


def surface_maps(comparison: Comparison) -> dict[str, SurfaceMap]:
    """List maps by names that are safe in file names; none where `no_surface` gives a reason.

    ``means_surface`` has the differences of means, ``strength_in_surface`` and
    ``strength_out_surface`` those of the strength of edges (of two groups), and
    ``deviations_surface`` the mean deviation from the network of the reference. Of more than two
    groups there is one of means and deviations per group, such as ``means_GROUP_surface``.
    """
    surface = _surface(comparison)
    if isinstance(surface, str):
        return {}
    return {name: _planned(comparison, surface, make()) for name, make in _maps(comparison)}


def no_surface(comparison: Comparison) -> str:
    """Sentence that says why there is no map of the cortex; empty where there is one.

    Also empty where no region has a place in the brain: nobody expects one.
    """
    surface_or_reason = _surface(comparison)
    return surface_or_reason if isinstance(surface_or_reason, str) else ""


def names_of_maps(comparison: Comparison, kind: str) -> list[str]:
    """Names of the maps of one kind: MEANS, STRENGTH or DEVIATIONS."""
    return [name for name, _ in _maps(comparison) if name.startswith(f"{kind}_")]


def _surface(comparison: Comparison) -> _Surface | str:
    """Surface of the atlas, or the reason why there is none."""
    cohort = comparison.cohort
    if cohort.atlas is None or not any(cohort.places):
        return ""
    try:
        parcels = find_parcellation(cohort.atlas)
        numbers = parcel_numbers(cohort.regions, cohort.atlas, parcels)
        for side in SIDES:  # now, so that an absent mesh gives a sentence, not a failed figure
            load_mesh(side)
    except InputError as error:
        return f"No map of the cortex is drawn: {error}"
    if (numbers < 0).all():
        return (
            f"No map of the cortex is drawn: no region lies on the surface of {cohort.atlas.name}."
        )
    return _Surface(parcels, numbers)


def _planned(comparison: Comparison, surface: _Surface, shown: _Map) -> SurfaceMap:
    regions, labels = list(comparison.cohort.regions), comparison.cohort.labels
    # Tables are sorted by p: the map needs the order of the regions. A region without a row is NaN.
    values = np.asarray(shown.values.reindex(regions), dtype=np.float64)
    marked = np.zeros(len(regions), bool)
    if shown.sure is not None:
        # .eq(True): the NaN of a region without a row would become True as a truth value.
        marked = shown.sure.reindex(regions).eq(True).to_numpy(dtype=bool)
    plot = partial(
        draw_surface,
        parcels=surface.parcels,
        numbers=surface.numbers,
        values=values,
        marked=marked,
        label=shown.label,
        title=shown.title,
        note=_note(shown.test, marked),
    )
    # Those that are drawn in colour also need a value; the others are grey.
    on_surface = surface.numbers >= 0
    drawn = int((on_surface & np.isfinite(values)).sum())
    hidden = [labels[region] for region, on in zip(regions, on_surface, strict=True) if not on]
    # Subcortical regions above all: a reader must not take their absence for no effect.
    left_out = f" Not on this surface, and not shown ({len(hidden)}): {', '.join(hidden)}."
    outlined = _outlined(shown.test, int((marked & on_surface).sum()))
    caption = (
        f"{shown.what}, {SURFACE}: {counted(drawn, 'region')}.{outlined} "
        f"Grey has no value.{left_out if hidden else ''}"
    )
    return SurfaceMap(plot, f"{shown.what}, as colours on the cortex.", caption)


def _note(test: str, marked: Mask) -> str:
    """Say on the picture itself, which may leave the report, what an outline means."""
    if not test:
        return "not tested"
    return f"outlined: {test}" if marked.any() else f"none has {test}: the colours may be chance"


def _outlined(test: str, count: int) -> str:
    """Say which regions have an outline, and warn where none has."""
    if not test:
        return ""
    if not count:
        return f" None of them has {test}: the colours may be chance."
    return f" Outlined: {counted(count, 'region')} with {test}."


def _maps(comparison: Comparison) -> Iterator[tuple[str, Callable[[], _Map]]]:
    """Give the name of each map, whether or not there is a surface, and what makes it."""
    safe = file_names(comparison.groups)
    for group in comparison.groups[1:]:
        # With two groups there is one map of a kind, whose name needs no group.
        stem = f"{safe[group]}_" if len(comparison.groups) > 2 else ""
        if len(comparison.tables.regional):
            yield f"{MEANS}_{stem}surface", partial(_means, comparison, group)
        if comparison.deviations is not None:
            make = partial(_deviations, comparison, comparison.deviations, group)
            yield f"{DEVIATIONS}_{stem}surface", make
    # With more groups the test of a region is of a range, which has no sign to colour.
    if comparison.tests is not None and len(comparison.groups) == 2:
        for kind in ("in", "out"):
            yield f"{STRENGTH}_{kind}_surface", partial(_strength, comparison, kind)


def _means(comparison: Comparison, group: str) -> _Map:
    table = comparison.tables.regional
    table = table[table["group"] == group].set_index("region")
    level, reference = comparison.settings.level, comparison.reference
    return _Map(
        table["hedges_g"],
        table["q"] <= level,
        f"Means of regions: {group} minus {reference}",
        "Hedges' g (standard deviations within the groups)",
        f"Hedges' g of the mean of each region, {group} minus {reference}",
        f"q ≤ {level:g}",
    )


def _strength(comparison: Comparison, kind: str) -> _Map:
    table = comparison.tables.hubs
    table = table[table["kind"] == kind].set_index("region")
    level, group, reference = comparison.settings.level, comparison.groups[1], comparison.reference
    edges = {"in": "into", "out": "out of"}[kind]
    return _Map(
        table["z"],
        table["p_fwer"] <= level,
        f"Strength of edges {edges} each region: {group} minus {reference}",
        "z of the change along the common sign (standard errors)",
        f"z of the change of the strength of edges {edges} each region, {group} minus {reference}",
        f"a family-wise p ≤ {level:g}",
    )


def _deviations(comparison: Comparison, deviations: Deviations, group: str) -> _Map:
    member = np.asarray(comparison.cohort.group) == group
    reference = comparison.reference
    return _Map(
        pd.Series(deviations.regions[member].mean(axis=0), index=list(deviations.names)),
        None,
        f"Deviations of {group} from the network of {reference}",
        "mean z (standard deviations of unseen subjects of the reference)",
        f"Mean deviation z of the subjects of {group} from the network of {reference}, each region "
        "given its parents; it is not tested",
        "",
    )
