"""Pictures of a comparison: files for a paper, and what the page shows without a script."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from functools import partial
from io import BytesIO
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from sgbn import viz
from sgbn.comparison import Comparison
from sgbn.comparison.accuracy import METRICS, OURS, REFINED
from sgbn.report.cohort_section import has_lobes
from sgbn.report.names import file_names, short_names
from sgbn.report.views import changes_per_sd
from sgbn.types import Array, Mask
from sgbn.viz.style import missing_glyphs_allowed

SALT = "sgbn"  # of the ids in SVG files: the same picture is the same file
EDGES_IN_BRAIN = 60
MOST_IN_CIRCLE = 120  # names around it; of more the brain is drawn alone
CHANGES = 30
INCHES_PER_LETTER = 0.065  # of the names of edges, at eight points
PER_SD = "weight per standard deviation"
CHANGE_PER_SD = "change of the weight per standard deviation"
HIPPOCAMPUS = re.compile(r"(?<!para)(?<!para[\s_.-])hippocamp", re.IGNORECASE)
PAGE_DPI = 110  # of what is an image inside an SVG


PATH = re.compile(rb'(?<= )d="[^"]*"')
DECIMALS = re.compile(rb"(\.\d)\d+")


class Plan(NamedTuple):
    """A figure to be drawn: by which function of `viz`, and how large."""

    plot: partial[Any]  # but for the axes; `plot_glass_brain` has the figure in their place
    inches: tuple[float, float]
    scale: str = ""  # what the colours of a matrix say

    def draw(self) -> Figure:
        """Draw it."""
        if self.plot.func is viz.plot_glass_brain:
            figure = Figure(figsize=self.inches)
            self.plot(figure)
            return figure
        figure = Figure(figsize=self.inches, layout="constrained")
        ax = self.plot(figure.add_subplot())
        if self.scale:
            bar = figure.colorbar(ax.images[0], ax=ax, location="bottom", shrink=0.5, aspect=35)
            bar.set_label(self.scale, fontsize=8)
            bar.ax.tick_params(labelsize=7)
        return figure

    def files(self, kinds: Sequence[str], dpi: float) -> dict[str, bytes]:
        """Draw it once, and give it as files of several kinds."""
        figure = self.draw()
        return {kind: picture(figure, kind, dpi) for kind in kinds}


Plans = Iterator[tuple[str, Plan]]


class Layout(NamedTuple):
    """What all pictures of networks share; short names are for pictures with little room."""

    names: tuple[str, ...]
    lobes: tuple[str, ...]
    hemispheres: list[str]
    coordinates: Array

    @property
    def short_names(self) -> list[str]:
        """Names without what all of them share."""
        return short_names(self.names)

    @property
    def located(self) -> bool:
        """Whether there is a place in the brain for an edge."""
        return int(np.isfinite(self.coordinates).all(axis=1).sum()) > 1


def figures(comparison: Comparison, highlight: Sequence[str] | None = None) -> dict[str, Figure]:
    """Draw everything that was found.

    Parameters
    ----------
    comparison : Comparison
    highlight : sequence of str, optional
        Regions that are emphasised in matrices. By default those of significant edges in matrices
        of differences, and the hippocampi, as in Fig. 4 of the paper, in those of
        networks.

    Returns
    -------
    dict of str to Figure
        By names that are safe in file names: ``network_GROUP_matrix``, ``_brain``, ``_circle``
        (not of more than 120 regions that lie in the brain) of each group,
        ``differences_matrix`` and ``_brain`` (of more than two groups
        ``differences_GROUP_matrix`` and ``_brain``, from the reference to each other group),
        ``permutations``, ``accuracy``, ``sparsity`` and ``refinements``; those for which there are
        results.
    """
    return {name: plan.draw() for name, plan in plans(comparison, highlight).items()}


def plans(comparison: Comparison, highlight: Sequence[str] | None = None) -> dict[str, Plan]:
    """Name of each of `figures` -> how it is drawn, for those who do not need all."""
    return {
        **dict(_networks(comparison, highlight)),
        **dict(_differences(comparison, highlight)),
        **dict(_accuracy(comparison)),
        **dict(_refinements(comparison)),
    }


def difference_stems(groups: Sequence[str]) -> dict[str, str]:
    """Group -> beginning of the names of figures of its changes from the reference, the first."""
    safe = file_names(groups)
    more = len(groups) > 2
    return {group: f"differences_{safe[group]}" if more else "differences" for group in groups[1:]}


def picture(figure: Figure, kind: str = "svg", dpi: float = PAGE_DPI) -> bytes:
    """File of a figure; the same figure gives the same bytes, whenever it is made."""
    stream = BytesIO()
    dated = {"Date": None} if kind == "svg" else {}
    with mpl.rc_context({"svg.hashsalt": SALT}), missing_glyphs_allowed():
        figure.savefig(
            stream,
            format=kind,
            dpi=dpi,
            metadata=dated,
            facecolor="white",
            bbox_inches="tight",
        )
    return stream.getvalue()


def rounded(svg: bytes) -> bytes:
    """SVG whose paths have one decimal, a tenth of a point: what a page needs of it."""
    return PATH.sub(lambda path: b" ".join(DECIMALS.sub(rb"\1", path[0]).split()), svg)


def address(svg: bytes) -> str:
    """Picture as the address of an image, so that the page needs no other file."""
    return "data:image/svg+xml;base64," + base64.b64encode(rounded(svg)).decode()


def layout_of(comparison: Comparison) -> Layout:
    """Names and places of the regions; without lobes if none is known."""
    cohort = comparison.cohort
    unknown = ("",) * len(cohort.regions)
    nowhere = (np.nan,) * 3
    return Layout(
        cohort.regions,
        cohort.lobes if has_lobes(comparison) else unknown,
        ["" if place is None else place.hemisphere for place in cohort.places],
        np.array([nowhere if p is None else (p.x, p.y, p.z) for p in cohort.places], dtype=float),
    )


def hippocampi(names: Sequence[str]) -> list[str]:
    """Regions that are hippocampi, by their names."""
    return [name for name in names if HIPPOCAMPUS.search(name)]


def _networks(comparison: Comparison, highlight: Sequence[str] | None) -> Plans:
    layout = layout_of(comparison)
    chosen = hippocampi(layout.names) if highlight is None else list(highlight)
    said = "; emphasised: hippocampi" if highlight is None and chosen else ""
    safe = file_names(comparison.groups)
    learners = comparison.learners
    limit = max(float(np.abs(one.coef_std_).max()) for one in learners.values()) or None
    for group, learner in learners.items():
        stem, weights = f"network_{safe[group]}", learner.coef_std_
        arrows, title = comparison.supported[group], f"Network of {group}"
        outlined = "; outlined: direction supported" if arrows.any() else "; no direction supported"
        named = {"title": f"{title}{outlined}{said}", "highlight": chosen, "marked": arrows}
        yield f"{stem}_matrix", _matrix(weights, layout, PER_SD, limit=limit, **named)
        more = {"limit": limit, "title": title, "supported": arrows}
        if layout.located:
            yield f"{stem}_brain", _brain(weights, layout, **more)
        if not layout.located or len(layout.names) <= MOST_IN_CIRCLE:
            yield f"{stem}_circle", _circle(weights, layout, **more)


def _differences(comparison: Comparison, highlight: Sequence[str] | None) -> Plans:
    found = comparison.tests
    if found is None:
        return
    layout, level = layout_of(comparison), comparison.settings.level
    all_changes, significant, arrows = _changes(comparison)
    chosen = _ends_of_significant(comparison) if highlight is None else list(highlight)
    q = f"differs both ways (q ≤ {level:g})"
    if len(comparison.groups) > 2:
        q = f"any difference, both ways (q of all groups ≤ {level:g})"
    any_found = significant.any()
    for group, stem in difference_stems(comparison.groups).items():
        changes, title = all_changes[group], f"Change from {comparison.reference} to {group}"
        more = {"marked": significant, "highlight": chosen}
        more["title"] = f"{title}; outlined: {q}" if any_found else title
        yield f"{stem}_matrix", _matrix(changes, layout, CHANGE_PER_SD, **more)
        if layout.located:
            shown = np.where(significant, changes, 0.0) if any_found else changes
            named = f"{title}, {q if any_found else 'none significant'}"
            yield f"{stem}_brain", _brain(shown, layout, supported=arrows, title=named)
    plot = partial(
        viz.plot_permutations,
        null=found.null["totals"],
        observed={"the data": found.global_statistic},
        level=level,
        label="sum of the squared statistics of all edges",
    )
    yield "permutations", Plan(plot, (6.0, 3.6))


def _ends_of_significant(comparison: Comparison) -> list[str]:
    """Regions of edges that differ both ways, those of the surest first."""
    table = comparison.tables.differences
    surest = table[table["q_both"] <= comparison.settings.level]
    return list(dict.fromkeys(surest[["source", "target"]].to_numpy().ravel().tolist()))


def _changes(comparison: Comparison) -> tuple[dict[str, Array], Mask, Mask]:
    """Find changes per SD in each group, those that hold both ways, and the arrows."""
    table = comparison.tables.differences
    place = {name: k for k, name in enumerate(comparison.cohort.regions)}
    where = table["source"].map(place).to_numpy(int), table["target"].map(place).to_numpy(int)
    shape = len(place), len(place)
    changes = {}
    for group, own in changes_per_sd(comparison, table).items():
        changes[group] = np.zeros(shape)
        changes[group][where] = own
    significant, arrows = np.zeros(shape, bool), np.zeros(shape, bool)
    significant[where] = table["q_both"] <= comparison.settings.level
    arrows[where] = table["supported"]
    return changes, significant, arrows


def _accuracy(comparison: Comparison) -> Plans:
    found, table = comparison.accuracy, comparison.tables.accuracy
    if found is None:
        return
    table = table[table["metric"] == METRICS[0]]
    plot = partial(viz.plot_accuracy, table=table, ours=(OURS, REFINED), chance=found.chance)
    yield "accuracy", Plan(plot, (6.4, 1.4 + 0.32 * len(table)))
    if len(found.gammas):
        table = found.sparsity(comparison.settings.level)
        plot = partial(viz.plot_sparsity, table=table, chance=found.chance)
        yield "sparsity", Plan(plot, (6.0, 3.8))


def _refinements(comparison: Comparison) -> Plans:
    moved = comparison.refinements
    edges = [edge for table in moved.values() for edge in table]
    if not edges:
        return
    longest = max(len(f"{edge['source']} – {edge['target']}") for edge in edges)
    count = min(max(map(len, moved.values())), CHANGES)
    names = _supported_names(comparison)
    plot = partial(viz.plot_changes, changes=moved, top=CHANGES, supported=names)
    inches = max(6.6, 3.4 + INCHES_PER_LETTER * longest), 1.6 + 0.17 * count
    yield "refinements", Plan(plot, inches)


def _supported_names(comparison: Comparison) -> set[tuple[str, str, str]]:
    """Group, source and target of each edge whose direction is supported."""
    regions = comparison.cohort.regions
    return {
        (group, regions[i], regions[j])
        for group, mask in comparison.supported.items()
        for i, j in np.argwhere(mask).tolist()
    }


def _matrix(weights: Array, layout: Layout, scale: str, **more: Any) -> Plan:
    plot = partial(viz.plot_matrix, weights=weights, names=layout.names, lobes=layout.lobes, **more)
    return Plan(plot, (7.0, 7.6), scale)


def _brain(weights: Array, layout: Layout, **more: Any) -> Plan:
    plot = partial(
        viz.plot_glass_brain,
        weights=weights,
        coordinates=layout.coordinates,
        names=layout.short_names,
        strongest=EDGES_IN_BRAIN,
        **more,
    )
    return Plan(plot, (10.0, 5.0))


def _circle(weights: Array, layout: Layout, **more: Any) -> Plan:
    plot = partial(
        viz.plot_circle,
        weights=weights,
        names=layout.short_names,
        lobes=layout.lobes,
        hemispheres=layout.hemispheres,
        **more,
    )
    return Plan(plot, (8.0, 8.0))
