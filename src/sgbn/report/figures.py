"""Pictures of a comparison: files for a paper, and what the page shows without a script."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import BytesIO
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from sgbn import viz
from sgbn.comparison import Accuracy, Comparison, tables
from sgbn.comparison.accuracy import METRICS, OURS, REFINED
from sgbn.report.cohort_section import has_lobes
from sgbn.report.names import file_names, short_names
from sgbn.report.views import changes_per_sd
from sgbn.runs import parallel
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

Plan = tuple[str, Callable[[], Figure]]


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
    return {name: draw() for name, draw in plans(comparison, highlight).items()}


def plans(
    comparison: Comparison, highlight: Sequence[str] | None = None
) -> dict[str, Callable[[], Figure]]:
    """Name of each of `figures` -> what draws it, for those who do not need all."""
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


class Pictures:
    """Figures of a comparison, each drawn when it is needed and then kept.

    Parameters
    ----------
    comparison : Comparison

    Attributes
    ----------
    names : tuple of str
        See `figures`.
    """

    def __init__(self, comparison: Comparison) -> None:
        self._comparison = comparison
        self._plans = plans(comparison)
        self._files: dict[tuple[str, str], bytes] = {}
        self._drawn: dict[str, Figure] = {}
        self.names = tuple(self._plans)

    def __contains__(self, name: object) -> bool:
        return name in self._plans

    def draw(self, kinds: Sequence[str], dpi: float, n_jobs: int | None = None) -> None:
        """Draw all of them, in several processes."""
        draw = partial(_files, self._comparison, kinds=kinds, dpi=dpi)
        for name, files in zip(self.names, parallel(draw, self.names, n_jobs), strict=True):
            self._files.update({(name, kind): files[kind] for kind in kinds})

    def file(self, name: str, kind: str = "svg", dpi: float = PAGE_DPI) -> bytes:
        """Picture as a file of this kind."""
        if (name, kind) not in self._files:
            if name not in self._drawn:
                self._drawn[name] = self._plans[name]()
            self._files[name, kind] = picture(self._drawn[name], kind, dpi)
        return self._files[name, kind]

    def address(self, name: str) -> str:
        """Picture as the address of an image, so that the page needs no other file."""
        return "data:image/svg+xml;base64," + base64.b64encode(rounded(self.file(name))).decode()


def _files(comparison: Comparison, name: str, kinds: Sequence[str], dpi: float) -> dict[str, bytes]:
    """One figure as files of several kinds."""
    figure = plans(comparison)[name]()
    return {kind: picture(figure, kind, dpi) for kind in kinds}


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


def _networks(comparison: Comparison, highlight: Sequence[str] | None) -> Iterator[Plan]:
    layout = layout_of(comparison)
    chosen = hippocampi(layout.names) if highlight is None else list(highlight)
    said = "; emphasised: hippocampi" if highlight is None and chosen else ""
    safe = file_names(comparison.groups)
    learners = comparison.learners
    limit = max(float(np.abs(one.coef_std_).max()) for one in learners.values()) or None
    for group, learner in learners.items():
        stem, weights = f"network_{safe[group]}", learner.coef_std_
        arrows = comparison.supported(group)
        more = {"limit": limit, "title": f"Network of {group}"}
        outlined = "; outlined: direction supported" if arrows.any() else "; no direction supported"
        title = f"{more['title']}{outlined}{said}"
        named = more | {"title": title, "highlight": chosen, "marked": arrows}
        yield f"{stem}_matrix", partial(_matrix, weights, layout, PER_SD, **named)
        if layout.located:
            yield f"{stem}_brain", partial(_brain, weights, layout, arrows, **more)
        if not layout.located or len(layout.names) <= MOST_IN_CIRCLE:
            yield f"{stem}_circle", partial(_circle, weights, layout, arrows, **more)


def _differences(comparison: Comparison, highlight: Sequence[str] | None) -> Iterator[Plan]:
    if comparison.differences is None:
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
        yield f"{stem}_matrix", partial(_matrix, changes, layout, CHANGE_PER_SD, **more)
        if layout.located:
            shown = np.where(significant, changes, 0.0) if any_found else changes
            named = f"{title}, {q if any_found else 'none significant'}"
            yield f"{stem}_brain", partial(_brain, shown, layout, arrows, title=named)
    yield "permutations", partial(_permutations, comparison)


def _ends_of_significant(comparison: Comparison) -> list[str]:
    """Regions of edges that differ both ways, those of the surest first."""
    table = tables.differences(comparison)
    surest = table[table["q_both"] <= comparison.settings.level]
    return list(dict.fromkeys(surest[["source", "target"]].to_numpy().ravel().tolist()))


def _permutations(comparison: Comparison) -> Figure:
    found = comparison.differences
    figure = _figure(6.0, 3.6)
    if found is not None:
        viz.plot_permutations(
            figure.add_subplot(),
            found.null["totals"],
            {"the data": found.global_statistic},
            level=comparison.settings.level,
            label="sum of the squared statistics of all edges",
        )
    return figure


def _changes(comparison: Comparison) -> tuple[dict[str, Array], Mask, Mask]:
    """Find changes per SD in each group, those that hold both ways, and the arrows."""
    table = tables.differences(comparison)
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


def _accuracy(comparison: Comparison) -> Iterator[Plan]:
    if comparison.accuracy is not None:
        yield "accuracy", partial(_methods, comparison.accuracy, comparison.settings.level)
        if len(comparison.accuracy.gammas):
            yield "sparsity", partial(_sparsity, comparison.accuracy, comparison.settings.level)


def _methods(found: Accuracy, level: float) -> Figure:
    table = found.table(level)
    table = table[table["metric"] == METRICS[0]]
    figure = _figure(6.4, 1.4 + 0.32 * len(table))
    viz.plot_accuracy(figure.add_subplot(), table, ours=(OURS, REFINED), chance=found.chance)
    return figure


def _sparsity(found: Accuracy, level: float) -> Figure:
    figure = _figure(6.0, 3.8)
    viz.plot_sparsity(figure.add_subplot(), found.sparsity(level), chance=found.chance)
    return figure


def _refinements(comparison: Comparison) -> Iterator[Plan]:
    count = max((len(changes) for changes in comparison.refinements.values()), default=0)
    if count:
        yield "refinements", partial(_moves, comparison, min(count, CHANGES))


def _moves(comparison: Comparison, count: int) -> Figure:
    longest = max(
        len(f"{edge['source']} – {edge['target']}")
        for table in comparison.refinements.values()
        for edge in table
    )
    figure = _figure(max(6.6, 3.4 + INCHES_PER_LETTER * longest), 1.6 + 0.17 * count)
    viz.plot_changes(
        figure.add_subplot(),
        comparison.refinements,
        top=CHANGES,
        supported=_supported_names(comparison),
    )
    return figure


def _supported_names(comparison: Comparison) -> set[tuple[str, str, str]]:
    """Group, source and target of each edge whose direction is supported."""
    regions = comparison.cohort.regions
    return {
        (group, regions[i], regions[j])
        for group in comparison.groups
        for i, j in np.argwhere(comparison.supported(group)).tolist()
    }


def _matrix(weights: Array, layout: Layout, scale: str, **more: Any) -> Figure:
    figure = _figure(7.0, 7.6)
    ax = viz.plot_matrix(figure.add_subplot(), weights, layout.names, layout.lobes, **more)
    bar = figure.colorbar(ax.images[0], ax=ax, location="bottom", shrink=0.5, aspect=35)
    bar.set_label(scale, fontsize=8)
    bar.ax.tick_params(labelsize=7)
    return figure


def _brain(weights: Array, layout: Layout, arrows: Mask, **more: Any) -> Figure:
    figure = Figure(figsize=(10.0, 5.0))
    viz.plot_glass_brain(
        figure,
        weights,
        layout.coordinates,
        supported=arrows,
        names=layout.short_names,
        strongest=EDGES_IN_BRAIN,
        **more,
    )
    return figure


def _circle(weights: Array, layout: Layout, arrows: Mask, **more: Any) -> Figure:
    figure = _figure(8.0, 8.0)
    viz.plot_circle(
        figure.add_subplot(),
        weights,
        layout.short_names,
        layout.lobes,
        supported=arrows,
        hemispheres=layout.hemispheres,
        **more,
    )
    return figure


def _figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")
