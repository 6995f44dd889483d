"""The figures of a comparison: for a paper, and for the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from sgbn.comparison import Comparison
from sgbn.comparison.accuracy import METRICS, REFINED
from sgbn.comparison.changes import change_words, differences_of, verdict
from sgbn.comparison.cross_validation import FIRST_PEER
from sgbn.core.types import Array, Mask
from sgbn.report.changes import Changes, changes_of
from sgbn.report.cohort_section import has_lobes
from sgbn.report.surface_maps import INCHES, surface_maps
from sgbn.write.draw.accuracy import plot_accuracy, plot_roc, plot_sparsity
from sgbn.write.draw.brain import plot_glass_brain
from sgbn.write.draw.circle import plot_circle
from sgbn.write.draw.differences import draw_forests, plot_changes, plot_permutations
from sgbn.write.draw.matrices import plot_matrix
from sgbn.write.figures import Plan
from sgbn.write.tables import file_names

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
    return {
        **dict(_networks(comparison, highlight)),
        **dict(_differences(comparison, highlight)),
        **dict(_forest(comparison)),
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


def _forest(comparison: Comparison) -> Plans:
    plan = forest_plan(comparison, comparison.groups[1:], FOREST_ROWS)
    if plan is not None:
        yield "forest", plan


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
    if layout.located:
        yield f"{stem}_brain", _brain(weights, layout, **more)
    if not layout.located or len(layout.names) <= MAX_IN_CIRCLE:
        yield f"{stem}_circle", _circle(weights, layout, **more)


def _brain(weights: Array, layout: Layout, **more: Any) -> Plan:
    plot = partial(
        plot_glass_brain,
        weights=weights,
        coordinates=layout.coordinates,
        names=layout.names,
        strongest=MAX_EDGES_IN_BRAIN,
        **more,
    )
    return Plan(plot, (10.0, 5.0))


def _circle(weights: Array, layout: Layout, **more: Any) -> Plan:
    plot = partial(
        plot_circle,
        weights=weights,
        names=layout.names,
        lobes=layout.lobes,
        hemispheres=layout.hemispheres,
        **more,
    )
    side = max(8.0, INCHES_ROUND_CIRCLE * len(layout.names))
    return Plan(plot, (side, side))
