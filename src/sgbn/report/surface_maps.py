"""Maps of regional results on the cortex, or the reason why there is no map."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sgbn.comparison import Comparison
from sgbn.core.exceptions import InputError, counted
from sgbn.core.types import Indices, Mask
from sgbn.inference.deviation import Deviations
from sgbn.write.draw.surface import (
    SIDES,
    Parcellation,
    draw_surface,
    find_parcellation,
    load_mesh,
    parcel_numbers,
)
from sgbn.write.tables import file_names

INCHES = 7.2, 5.6  # width and height of a map
MEANS, STRENGTH, DEVIATIONS = "means", "strength", "deviations"
SURFACE = "on the inflated cortex of fsaverage5"


class _Map(NamedTuple):
    """Values of regions for a map, and the words of the map."""

    values: pd.Series[float]  # by region
    sure: pd.Series[bool] | None  # whether a value is significant; None if it was not tested
    title: str
    label: str  # of the colour bar
    what: str  # begins the caption
    test: str  # condition of significance, such as "q ≤ 0.05"; "" if not tested


class _Surface(NamedTuple):
    """A parcellation, and the number of each region of the cohort in it; -1 if it is absent."""

    parcels: Parcellation
    numbers: Indices


class SurfaceMap(NamedTuple):
    """A map that is not drawn yet: the function that draws it, text alternative and caption."""

    plot: partial[Any]
    alt: str
    caption: str


def surface_maps(comparison: Comparison) -> dict[str, SurfaceMap]:
    """Return the maps by names that are safe in file names; empty if the atlas has no surface.

    ``means_surface`` shows the differences of means. ``strength_in_surface`` and
    ``strength_out_surface`` show the changes of the strength of edges, only with two groups.
    ``deviations_surface`` shows the mean deviation from the network of the reference. With more
    than two groups, there is one map of means and one of deviations per group, such as
    ``means_GROUP_surface``.
    """
    surface = _surface(comparison)
    if isinstance(surface, str):
        return {}
    return {name: _planned(comparison, surface, make()) for name, make in _maps(comparison)}


def no_surface(comparison: Comparison) -> str:
    """Return a sentence that says why there is no map of the cortex; "" if there is a map.

    It is also "" if no region has coordinates, because then nobody expects a map.
    """
    surface_or_reason = _surface(comparison)
    return surface_or_reason if isinstance(surface_or_reason, str) else ""


def names_of_maps(comparison: Comparison, kind: str) -> list[str]:
    """Return the names of the maps of one kind: `MEANS`, `STRENGTH` or `DEVIATIONS`."""
    return [name for name, _ in _maps(comparison) if name.startswith(f"{kind}_")]


def _surface(comparison: Comparison) -> _Surface | str:
    """Return the surface of the atlas, or the reason why there is none."""
    cohort = comparison.cohort
    if cohort.atlas is None or not any(cohort.places):
        return ""
    try:
        parcels = find_parcellation(cohort.atlas)
        numbers = parcel_numbers(cohort.regions, cohort.atlas, parcels)
        for side in SIDES:  # load now: a missing mesh gives a sentence, not a failed figure later
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
    # Tables are sorted by p, and the map needs the order of the regions. Regions without a row
    # become NaN.
    values = np.asarray(shown.values.reindex(regions), dtype=np.float64)
    marked = np.zeros(len(regions), bool)
    if shown.sure is not None:
        # .eq(True), because a NaN (a region without a row) would become True in an array of bool.
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
    # Regions without a value are grey, and are not counted.
    on_surface = surface.numbers >= 0
    drawn = int((on_surface & np.isfinite(values)).sum())
    hidden = [labels[region] for region, on in zip(regions, on_surface, strict=True) if not on]
    # They are named (most are subcortical), so that no reader thinks that they have no effect.
    left_out = f" Not shown, because not on this surface ({len(hidden)}): {', '.join(hidden)}."
    outlined = _outlined(shown.test, int((marked & on_surface).sum()))
    caption = (
        f"{shown.what}, {SURFACE}: {counted(drawn, 'region')}.{outlined} "
        f"Grey regions have no value.{left_out if hidden else ''}"
    )
    return SurfaceMap(plot, f"{shown.what}, as colours on the cortex.", caption)


def _note(test: str, marked: Mask) -> str:
    """Return what an outline means, as the picture may be used without its caption."""
    if not test:
        return "not tested"
    if marked.any():
        return f"outlined: {test}"
    return f"no region has {test}: the colours may be chance"


def _outlined(test: str, count: int) -> str:
    """Return a sentence for the caption about outlines; a warning if no region has one."""
    if not test:
        return ""
    if not count:
        return f" No region has {test}: the colours may be chance."
    return f" Outlined: {counted(count, 'region')} with {test}."


def _maps(comparison: Comparison) -> Iterator[tuple[str, Callable[[], _Map]]]:
    """Yield the name of each map and a function that makes it, even if there is no surface."""
    safe = file_names(comparison.groups)
    for group in comparison.groups[1:]:
        # With two groups there is one map of each kind, so its name needs no group.
        stem = f"{safe[group]}_" if len(comparison.groups) > 2 else ""
        if len(comparison.tables.regional):
            yield f"{MEANS}_{stem}surface", partial(_means, comparison, group)
        if comparison.deviations is not None:
            make = partial(_deviations, comparison, comparison.deviations, group)
            yield f"{DEVIATIONS}_{stem}surface", make
    # With more groups, the test of a region uses a range, which has no sign for the colours.
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
