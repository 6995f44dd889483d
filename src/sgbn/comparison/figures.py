"""The figures of a comparison: for a paper, and for the page.

`figures` draws them, and `plans` lists what can be drawn. `surface_maps` shows regional results on
the cortex, and `no_surface` says why there are none. `changes_of` chooses the surest changes of
edges from the reference to another group.

`payload` has the data of the interactive views of the networks, in a form that JSON can write. A
table is a mapping of names to columns of equal length, so that a page with thousands of edges stays
small. A region, a lobe or a kind of edge is written as its place in its list, from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from sgbn.comparison.names import has_lobes
from sgbn.comparison.result import Comparison
from sgbn.comparison.steps.accuracy import METRICS, REFINED
from sgbn.comparison.steps.cross_validation import FIRST_PEER
from sgbn.comparison.steps.differences import change_words, changes_per_sd, differences_of, verdict
from sgbn.core.problems import InputError, counted
from sgbn.core.types import Array, Indices, Mask
from sgbn.inference.deviation import Deviations
from sgbn.write.draw.accuracy import plot_accuracy, plot_roc, plot_sparsity
from sgbn.write.draw.brain import plot_glass_brain
from sgbn.write.draw.circle import plot_circle
from sgbn.write.draw.differences import draw_forests, plot_changes, plot_permutations
from sgbn.write.draw.matrices import plot_matrix
from sgbn.write.draw.style import KIND_STYLES
from sgbn.write.draw.surface import (
    SIDES,
    Parcellation,
    draw_surface,
    find_parcellation,
    load_mesh,
    parcel_numbers,
)
from sgbn.write.figures import Plan
from sgbn.write.page import Surface, brain_mesh
from sgbn.write.tables import file_names, frame_of

if TYPE_CHECKING:
    import pandas as pd


MAX_EDGES_IN_BRAIN = 60  # more arrows hide each other
MAX_IN_CIRCLE = 120  # regions; with more, only the brain is drawn, if they have coordinates
MAX_REFINED = 30  # rows of the picture of refined weights
IN_ROC = (REFINED, FIRST_PEER)  # classifiers of the ROC plot beside ours
MAX_CURVES = 3  # of a ROC plot, if none of `IN_ROC` was tried
INCHES_PER_LETTER = 0.065  # width of the names of edges, in letters of 8 points
INCHES_PER_REGION = 0.075  # side of a matrix: a name in letters of 4 points fits
INCHES_ROUND_CIRCLE = 0.115  # side of the figure per region around the circle
PER_SD = "weight per standard deviation"
MAX_IN_MATRIX = 60  # regions; a matrix of more shows only the regions that have a change
FOREST_ROWS = 15  # in all groups together
MIN_ROWS_OF_GROUP = 5  # in the forest plot, even if many groups share it


Plans = Iterator[tuple[str, Plan]]


class Layout(NamedTuple):
    """Readable names and places of the regions, which all pictures of networks share."""

    names: tuple[str, ...]
    lobes: tuple[str, ...]
    hemispheres: list[str]
    coordinates: Array

    @property
    def located(self) -> bool:
        """Whether at least two regions have coordinates, so that an edge can be drawn."""
        return int(np.isfinite(self.coordinates).all(axis=1).sum()) > 1


def figures(comparison: Comparison, highlight: Sequence[str] | None = None) -> dict[str, Figure]:
    """Draw all figures of a comparison.

    Parameters
    ----------
    comparison : Comparison
        The results.
    highlight : sequence of str, optional
        Regions that matrices emphasise, by their names in the data. By default, matrices of
        differences emphasise the regions of pairs that differ both ways, and matrices of networks
        emphasise none.

    Returns
    -------
    dict of str to Figure
        The figures for which there are results, by names that are safe in file names:

        - ``network_GROUP_matrix``, ``network_GROUP_brain`` and ``network_GROUP_circle`` of each
          group. More than 120 regions with coordinates have no circle.
        - ``differences_matrix``, ``differences_brain`` and ``differences_circle``, with at most 40
          pairs of regions each. With more than two groups there is one of each per group, such as
          ``differences_GROUP_matrix``, for the change from the reference to this group.
        - ``forest``, ``permutations``, ``accuracy``, ``roc`` (only with two groups), ``sparsity``
          and ``refinements``.
        - ``means_surface`` and other maps of the cortex, if the atlas has a surface.
    """
    return {name: plan.draw() for name, plan in plans(comparison, highlight).items()}


def plans(comparison: Comparison, highlight: Sequence[str] | None = None) -> dict[str, Plan]:
    """Return the plans of all `figures` by name, so that a caller can draw only some of them."""
    forest = forest_plan(comparison, comparison.groups[1:], FOREST_ROWS)
    return {
        **dict(_networks(comparison, highlight)),
        **dict(_differences(comparison, highlight)),
        **({} if forest is None else {"forest": forest}),
        **dict(_permutations(comparison)),
        **dict(_accuracy(comparison)),
        **dict(_refinements(comparison)),
        **{name: Plan(shown.plot, INCHES) for name, shown in surface_maps(comparison).items()},
    }


def difference_stems(groups: Sequence[str]) -> dict[str, str]:
    """Map each compared group to the first part of the names of its difference figures."""
    safe = file_names(groups)
    more = len(groups) > 2
    return {group: f"differences_{safe[group]}" if more else "differences" for group in groups[1:]}


def layout_of(comparison: Comparison) -> Layout:
    """Return names and places of the regions; lobes are "" if no lobe is known."""
    cohort = comparison.cohort
    unknown = ("",) * len(cohort.regions)
    nowhere = (np.nan,) * 3
    return Layout(
        tuple(cohort.labels.values()),
        cohort.lobes if has_lobes(comparison) else unknown,
        ["" if place is None else place.hemisphere for place in cohort.places],
        np.array([nowhere if p is None else (p.x, p.y, p.z) for p in cohort.places], dtype=float),
    )


def _networks(comparison: Comparison, highlight: Sequence[str] | None) -> Plans:
    layout = layout_of(comparison)
    chosen = _chosen(comparison, highlight)
    safe = file_names(comparison.groups)
    learners = comparison.learners
    # One scale of colours for all groups, so that their pictures can be compared. If no network
    # has an edge, the limit would be 0: None lets the figure choose one.
    limit = max(float(np.abs(fitted.coef_std_).max()) for fitted in learners.values()) or None
    for group, learner in learners.items():
        stem, weights = f"network_{safe[group]}", learner.coef_std_
        arrows, title = comparison.supported[group], f"Network of {group}"
        outlined = "; outlined: direction supported" if arrows.any() else "; no direction supported"
        named = {"title": f"{title}{outlined}", "highlight": chosen, "marked": arrows}
        yield f"{stem}_matrix", _matrix(weights, layout, PER_SD, limit=limit, **named)
        more = {"limit": limit, "title": title, "supported": arrows}
        yield from _as_arrows(stem, weights, layout, **more)


def _differences(comparison: Comparison, highlight: Sequence[str] | None) -> Plans:
    if comparison.tests is None or not len(comparison.tests.edges):
        return
    layout = layout_of(comparison)
    for group, stem in difference_stems(comparison.groups).items():
        changes = changes_of(comparison, group)
        chosen = None if highlight is None else _chosen(comparison, highlight)
        yield f"{stem}_matrix", _matrix_of_changes(changes, layout, chosen)
        # A matrix can show faint changes beside sure ones. Among arrows, faint changes would hide
        # the sure ones.
        drawn = changes.only_sure()
        more = {"kinds": drawn.kinds, "supported": drawn.supported, "title": drawn.title}
        yield from _as_arrows(stem, drawn.sizes, layout, faint=not drawn.any_sure, **more)


def _matrix_of_changes(changes: Changes, layout: Layout, chosen: list[str] | None) -> Plan:
    """Plan a matrix of changes. If there are many regions, it has only regions with a change."""
    title = changes.title + ("; outlined: differs both ways" if changes.any_sure else "")
    if chosen is None:
        chosen = [layout.names[k] for k in np.flatnonzero(_ends(changes.sure))]
    kept = np.arange(len(layout.names))
    if len(kept) > MAX_IN_MATRIX:
        has_change = _ends(changes.sizes != 0) | np.isin(layout.names, chosen)
        kept = np.flatnonzero(has_change)
        title += f"\n{len(kept)} of {len(has_change)} regions: only the regions of these pairs"
    part = np.ix_(kept, kept)  # the same regions as rows and as columns
    fewer = layout._replace(
        names=tuple(layout.names[k] for k in kept), lobes=tuple(layout.lobes[k] for k in kept)
    )
    more = {"kinds": changes.kinds[part], "marked": changes.sure[part], "highlight": chosen}
    return _matrix(changes.sizes[part], fewer, "", title=title, **more)


def _ends(pairs: Mask) -> Mask:
    """Return the regions that are in at least one of these pairs."""
    return np.asarray(pairs.any(axis=0) | pairs.any(axis=1))


def _chosen(comparison: Comparison, highlight: Sequence[str] | None) -> list[str]:
    """Return the readable names of the regions to emphasise."""
    names = comparison.cohort.labels
    return [names.get(region, region) for region in highlight or ()]


def forest_plan(comparison: Comparison, groups: Sequence[str], rows: int) -> Plan | None:
    """Plan a forest plot per group: its surest differences from the reference.

    `rows` is the number for all groups together, but each has at least `MIN_ROWS_OF_GROUP`. Return
    None if no edge was tested, or if the groups were only tested all together.
    """
    if comparison.tests is None or not len(comparison.tests.edges):
        return None
    tables = {group: differences_of(comparison, group) for group in groups}
    # A test of all groups at once has no standard error of a single change, and so no interval.
    if any("standard_error" not in table for table in tables.values()):
        return None
    top = max(rows // len(tables), MIN_ROWS_OF_GROUP)
    titles = {}
    for group, table in tables.items():
        none = not (table["q_both"] <= comparison.settings.level).any()
        which = f"the {top} pairs with the smallest p" if none else f"the {top} surest pairs"
        rest = f": {which}, of {len(table)} tested" if len(table) > top else ""
        titles[group] = f"{verdict(comparison, group)}\n{change_words(comparison, group)}{rest}"
    names = comparison.cohort.labels
    shown = {group: table.head(top) for group, table in tables.items()}
    plot = partial(
        draw_forests,
        tables=shown,
        titles=titles,
        reference=comparison.reference,
        labels=names,
        level=comparison.settings.level,
    )
    ends = [pair for part in shown.values() for pair in part[["source", "target"]].to_numpy()]
    longest = max(len(" – ".join(names[end] for end in pair)) for pair in ends)
    inches = max(8.4, 5.6 + INCHES_PER_LETTER * longest), 1.6 * len(shown) + 0.27 * len(ends)
    return Plan(plot, inches)


def _permutations(comparison: Comparison) -> Plans:
    tests = comparison.tests
    if tests is None:
        return
    plot = partial(
        plot_permutations,
        null=tests.null["totals"],
        observed={"the data": tests.global_statistic},
        level=comparison.settings.level,
        label="sum of the squared statistics of all edges",
    )
    yield "permutations", Plan(plot, (6.0, 3.6))


def _accuracy(comparison: Comparison) -> Plans:
    accuracy, table = comparison.accuracy, comparison.tables.accuracy
    if accuracy is None:
        return
    table = table[table["metric"] == METRICS[0]]
    ours, chance = (accuracy.ours, REFINED), accuracy.chance
    plot = partial(plot_accuracy, table=table, ours=ours, chance=chance)
    yield "accuracy", Plan(plot, (6.4, 1.4 + 0.32 * len(table)))
    if len(accuracy.groups) == 2:
        first = [accuracy.ours, *(name for name in IN_ROC if name in accuracy.probabilities)]
        # Comparisons of time series have neither of `IN_ROC`: draw the first classifiers.
        drawn = dict.fromkeys(first if len(first) > 1 else [*accuracy.probabilities][:MAX_CURVES])
        curves = {name: accuracy.roc(name) for name in drawn}
        yield "roc", Plan(partial(plot_roc, curves=curves), (4.6, 4.4))
    if len(accuracy.gammas):
        table = accuracy.sparsity(comparison.settings.level)
        plot = partial(plot_sparsity, table=table, chance=accuracy.chance)
        yield "sparsity", Plan(plot, (6.0, 3.8))


def _refinements(comparison: Comparison) -> Plans:
    names = comparison.cohort.labels
    moved = {method: _with_labels(table, names) for method, table in comparison.refinements.items()}
    ends = [
        pair
        for table in moved.values()
        for pair in zip(table["source"], table["target"], strict=True)
    ]
    if not ends:
        return
    # The longest name decides how wide the figure must be.
    longest = max(len(" – ".join(pair)) for pair in ends)
    count = min(max(len(table["source"]) for table in moved.values()), MAX_REFINED)
    arrows = {(group, names[i], names[j]) for group, i, j in _supported_names(comparison)}
    plot = partial(plot_changes, changes=moved, top=MAX_REFINED, supported=arrows)
    inches = max(6.6, 3.4 + INCHES_PER_LETTER * longest), 1.6 + 0.17 * count
    yield "refinements", Plan(plot, inches)


def _with_labels(table: NDArray[Any], names: Mapping[str, str]) -> dict[str, list[Any]]:
    """Return a table of moved weights as columns, with readable names of regions."""
    columns = {name: table[name].tolist() for name in ("class", "source", "target", "difference")}
    for end in ("source", "target"):
        columns[end] = [names.get(name, name) for name in columns[end]]
    return columns


def _supported_names(comparison: Comparison) -> set[tuple[str, str, str]]:
    """Return group, source and target of each edge whose direction is supported."""
    regions = comparison.cohort.regions
    return {
        (group, regions[i], regions[j])
        for group, mask in comparison.supported.items()
        for i, j in np.argwhere(mask).tolist()
    }


def _matrix(weights: Array, layout: Layout, scale: str, **more: Any) -> Plan:
    plot = partial(plot_matrix, weights=weights, names=layout.names, lobes=layout.lobes, **more)
    side = max(7.0, INCHES_PER_REGION * len(layout.names))
    return Plan(plot, (side, side + 0.6), scale)


def _as_arrows(stem: str, weights: Array, layout: Layout, **more: Any) -> Plans:
    """Plan a brain if regions have coordinates, and a circle if its names can be read."""
    drawn: Any = {"weights": weights, "names": layout.names, **more}
    if layout.located:
        places: Any = {"coordinates": layout.coordinates, "strongest": MAX_EDGES_IN_BRAIN}
        yield f"{stem}_brain", Plan(partial(plot_glass_brain, **drawn, **places), (10.0, 5.0))
    if not layout.located or len(layout.names) <= MAX_IN_CIRCLE:
        around: Any = {"lobes": layout.lobes, "hemispheres": layout.hemispheres}
        side = max(8.0, INCHES_ROUND_CIRCLE * len(layout.names))
        yield f"{stem}_circle", Plan(partial(plot_circle, **drawn, **around), (side, side))


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


# A parcellation, and the number of each region of the cohort in it; -1 if it is absent
_Surface = tuple[Parcellation, Indices]


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
    return parcels, numbers


def _planned(comparison: Comparison, surface: _Surface, shown: _Map) -> SurfaceMap:
    regions, labels = list(comparison.cohort.regions), comparison.cohort.labels
    parcels, numbers = surface
    # Tables are sorted by p, and the map needs the order of the regions. Regions without a row
    # become NaN.
    values = np.asarray(shown.values.reindex(regions), dtype=np.float64)
    marked = np.zeros(len(regions), bool)
    if shown.sure is not None:
        # .eq(True), because a NaN (a region without a row) would become True in an array of bool.
        marked = shown.sure.reindex(regions).eq(True).to_numpy(dtype=bool)
    plot = partial(
        draw_surface,
        parcels=parcels,
        numbers=numbers,
        values=values,
        marked=marked,
        label=shown.label,
        title=shown.title,
        note=_note(shown.test, marked),
    )
    # Regions without a value are grey, and are not counted.
    on_surface = numbers >= 0
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
        frame_of([deviations.regions[member].mean(axis=0)], deviations.names).iloc[0],
        None,
        f"Deviations of {group} from the network of {reference}",
        "mean z (standard deviations of unseen subjects of the reference)",
        f"Mean deviation z of the subjects of {group} from the network of {reference}, each region "
        "given its parents; it is not tested",
        "",
    )


Columns = dict[str, Any]

DIGITS = 4  # decimals of numbers; more would make the page larger
KINDS = (
    {"name": "supported", "arrow": True},
    {"name": "not supported", "arrow": False},
)  # kinds of edges by their direction, and how they are drawn
# Tol's muted colours and two more, which colour-blind readers can distinguish. Red and blue are not
# among them: they show the signs of weights.
PALETTE = (
    "#44AA99", "#DDCC77", "#AA4499", "#117733", "#88CCEE",
    "#999933", "#882255", "#E69F00", "#BBBBBB", "#777777",
)  # fmt: skip
SYMBOLS = ("circle", "square", "diamond")  # with 10 colours, 30 lobes look different


def payload(comparison: Comparison) -> dict[str, Any]:
    """Collect the data that the views show.

    Returns
    -------
    dict
        - groups: names, the reference first.
        - level: largest q at which an edge differs.
        - lobes: name, colour and symbol of each lobe.
        - has_lobes: whether at least one lobe is known.
        - kinds: see `KINDS`.
        - changes: name, colour, dark, dash and symbol of each kind of change.
        - nodes: name, lobe, hemisphere, x, y and z of the regions.
        - networks: one per group, with source, target, kind, weight, adjacent and this_way.
        - differences: source, target, kind, q, q_both and p_fwer of the tested edges; `weights` and
          `adjacent` of each group; `changes` (per standard deviation) and `change` (the kind) of
          each group except the reference. None if nothing was tested.
        - mesh: surface of each hemisphere. None without the extra "brain", or if no region has
          coordinates.
    """
    cohort = comparison.cohort
    edges, tested = comparison.tables.edges, comparison.tables.differences
    # Names in the data are unique. Readable names may not be, so they are only shown.
    code = {name: k for k, name in enumerate(cohort.regions)}
    lobes = list(dict.fromkeys(cohort.lobes))
    nodes = _nodes(comparison, lobes)
    has_places = any(place is not None for place in nodes["x"])
    return {
        "groups": list(comparison.groups),
        "level": comparison.settings.level,
        "lobes": _lobes(lobes),
        "has_lobes": has_lobes(comparison),
        "kinds": list(KINDS),
        "changes": [
            {"name": name, "colour": style.colour, "dark": style.dark, "symbol": style.symbol}
            | {"dash": plotly_dash(style.dash)}
            for name, style in KIND_STYLES.items()
        ],
        "nodes": nodes,
        "networks": [_network(edges[edges["group"] == group], code) for group in comparison.groups],
        "differences": _difference_columns(comparison, tested, code) if len(tested) else None,
        "mesh": _mesh(brain_mesh()) if has_places else None,
    }


def _lobes(names: Sequence[str]) -> list[dict[str, str]]:
    # strict=False, because a cycle has no end.
    looks = zip(names, cycle(PALETTE), cycle(SYMBOLS), strict=False)
    return [{"name": name, "colour": colour, "symbol": symbol} for name, colour, symbol in looks]


def _nodes(comparison: Comparison, lobes: Sequence[str]) -> Columns:
    layout = layout_of(comparison)
    return {
        "name": list(layout.names),
        "lobe": [lobes.index(lobe) for lobe in comparison.cohort.lobes],
        "hemisphere": layout.hemispheres,
        # A tenth of a mm is enough.
        **{axis: numbers(layout.coordinates[:, k], 1) for k, axis in enumerate("xyz")},
    }


def _network(table: pd.DataFrame, regions: Mapping[str, int]) -> Columns:
    """Collect the edges of a group; without half samples their confidence is None."""
    return _end_columns(table, regions) | {
        "weight": numbers(table["weight_std"]),
        **{
            # The script hides the confidence if it is None.
            name: numbers(table[name]) if name in table else None
            for name in ("adjacent", "this_way")
        },
    }


def _difference_columns(
    comparison: Comparison,
    table: pd.DataFrame,
    regions: Mapping[str, int],
) -> Columns:
    """Collect the tested edges, with weights and changes per standard deviation of residuals."""
    return _end_columns(table, regions) | {
        "weights": [numbers(table[f"weight_std_{group}"]) for group in comparison.groups],
        "changes": [numbers(change) for change in changes_per_sd(comparison, table).values()],
        "change": [
            [*map([*KIND_STYLES].index, table[f"kind_{group}"])] for group in comparison.groups[1:]
        ],
        "adjacent": [
            numbers(table[f"adjacent_{group}"]) if f"adjacent_{group}" in table else None
            for group in comparison.groups
        ],
        "q": numbers(table["q"]),
        "q_both": numbers(table["q_both"]),
        "p_fwer": numbers(table["p_fwer"]),
    }


def plotly_dash(dash: Sequence[float]) -> str:
    """Return Plotly's name for a pattern of dashes and gaps, in widths of the line."""
    # Scatter plots in 3-D accept only these names, not lengths of dashes.
    if len(dash) < 2:
        return "solid"
    if len(dash) > 2:
        return "dashdot"
    return "dot" if dash[0] < 2 else "dash" if dash[0] < 5 else "longdash"


def _end_columns(table: pd.DataFrame, regions: Mapping[str, int]) -> Columns:
    return {
        "source": [regions[name] for name in table["source"]],
        "target": [regions[name] for name in table["target"]],
        "kind": [0 if supported else 1 for supported in table["supported"]],  # places in KINDS
    }


def _mesh(surfaces: Mapping[str, Surface] | None) -> list[Columns] | None:
    if surfaces is None:
        return None
    return [
        dict(zip("xyz", (numbers(axis, 1) for axis in surface.vertices.T), strict=True))
        | dict(zip("ijk", surface.faces.T.tolist(), strict=True))
        for surface in surfaces.values()
    ]


def numbers(values: ArrayLike | Sequence[Any], digits: int = DIGITS) -> list[float | None]:
    """Round numbers, and replace NaN and infinity by None, because JSON has neither."""
    floats = np.round(np.asarray(values, dtype=np.float64), digits) + 0.0  # + 0.0: no minus zero
    return [float(value) if np.isfinite(value) else None for value in floats]


MAX_PAIRS = 40  # pairs of regions in a figure: more cannot be read


class Changes(NamedTuple):
    """Changes that a figure shows, as matrices of regions.

    Attributes
    ----------
    sizes : ndarray of shape (m, m)
        Change of the weight per standard deviation; 0 where the figure shows no change.
    kinds : ndarray of str, shape (m, m)
        Kind of change, such as "gained"; "" where the figure shows no change.
    sure : ndarray of bool, shape (m, m)
        Pairs that differ both ways, which means in whichever direction the edge is read.
    supported : ndarray of bool, shape (m, m)
        Edges whose direction is supported.
    title : str
        Says how many pairs differ, and which of them are shown.
    """

    sizes: Array
    kinds: NDArray[np.str_]
    sure: Mask
    supported: Mask
    title: str

    def only_sure(self) -> Changes:
        """Return only the significant changes; return all changes if none is significant."""
        return self._replace(sizes=np.where(self.sure, self.sizes, 0.0)) if self.any_sure else self

    @property
    def any_sure(self) -> bool:
        """Whether at least one pair differs both ways."""
        return bool(self.sure.any())


def changes_of(comparison: Comparison, group: str) -> Changes:
    """Collect the surest changes from the reference to a group, at most `MAX_PAIRS`."""
    table = differences_of(comparison, group)
    shown = table.head(MAX_PAIRS)  # the surest changes are the first rows
    place = {name: k for k, name in enumerate(comparison.cohort.regions)}
    where = shown["source"].map(place).to_numpy(int), shown["target"].map(place).to_numpy(int)
    shape = len(place), len(place)
    # 16 letters hold every kind of change; numpy would cut a longer name without an error.
    sizes, kinds = np.zeros(shape), np.full(shape, "", dtype="U16")
    sure, supported = np.zeros(shape, bool), np.zeros(shape, bool)
    sizes[where], kinds[where] = shown["difference_std"], shown[f"kind_{group}"]
    sure[where] = shown["q_both"] <= comparison.settings.level
    supported[where] = shown["supported"]
    title = f"{verdict(comparison, group)}\n{change_words(comparison, group)}"
    if not sure.any():
        title += ": faint are the pairs with the smallest p"
    elif len(table) > MAX_PAIRS and sure.sum() == MAX_PAIRS:  # other pairs may differ as well
        title += f": the surest {MAX_PAIRS}"
    return Changes(sizes, kinds, sure, supported, title)
