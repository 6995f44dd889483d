"""Text alternative and caption of the figures of the page; the words are in ``captions.toml``."""

from __future__ import annotations

from sgbn.comparison import Comparison
from sgbn.comparison.changes import differences_of
from sgbn.report.assets import own_table
from sgbn.report.changes import MAX_PAIRS
from sgbn.report.figures import difference_stems, layout_of
from sgbn.report.first_screen import (
    BRAIN,
    CIRCLE,
    DIFFERENCES,
    FOREST,
    first_group,
    first_stem,
)
from sgbn.report.names import file_names
from sgbn.report.surface_maps import surface_maps

Words = tuple[str, str]  # text alternative, caption

# Sentences with gaps for the facts of a comparison, by figure
SENTENCES = own_table("captions.toml")
# Figures whose words are the same in every comparison
CONSTANT = ("permutations", "accuracy", "roc", "sparsity", "refinements", "forest")


def captions(comparison: Comparison) -> dict[str, Words]:
    """Text alternative and caption of each figure that the page shows, by the figure's name."""
    words = {name: _words(name) for name in CONSTANT}
    for group, stem in difference_stems(comparison.groups).items():
        change = f"from {comparison.reference} to {group}"
        words[f"{stem}_matrix"] = _words("matrix", change=change, most=MAX_PAIRS)
    maps = {name: (shown.alt, shown.caption) for name, shown in surface_maps(comparison).items()}
    return _first_captions(comparison) | words | maps


def titles_of_networks(comparison: Comparison) -> dict[str, str]:
    """Title of each picture of edges, for where no 3-D view can be drawn."""
    safe = file_names(comparison.groups)
    stems = difference_stems(comparison.groups).items()
    titles = {stem: f"Change from {comparison.reference} to {group}" for group, stem in stems}
    titles |= {f"network_{safe[group]}": f"Network of {group}" for group in comparison.groups}
    # One picture of each network is enough: the brain, where regions have places.
    kind = BRAIN if layout_of(comparison).located else CIRCLE
    return {f"{stem}_{kind}": title for stem, title in titles.items()}


def _first_captions(comparison: Comparison) -> dict[str, Words]:
    """Return the words for the pictures of the first screen, under each name of a picture."""
    stem, group, table = first_stem(comparison), first_group(comparison), comparison.differences
    # Without tested edges there is no table of a single group.
    if len(table):
        table = differences_of(comparison, group)
    change, level = f"from {comparison.reference} to {group}", comparison.settings.level
    which, chance = "pairs that differ both ways", ""
    if not len(table) or not (table["q_both"] <= level).any():
        which = "no pair differs both ways; these come nearest"
        chance = (
            f" None is found to differ: the most extreme of {len(table)} may lie beside 0 by "
            "chance alone."
        )
    where = _words(DIFFERENCES, which=which, change=change)
    interval = f"{100 * (1 - level):.3g} %"
    how_much = _words(FOREST, change=change, interval=interval, chance=chance)
    return {
        **dict.fromkeys((DIFFERENCES, f"{stem}_{BRAIN}", f"{stem}_{CIRCLE}"), where),
        FOREST: how_much,
    }


def _words(figure: str, **facts: object) -> Words:
    entry = SENTENCES[figure]
    return entry["alt"].format(**facts), entry["caption"].format(**facts)
