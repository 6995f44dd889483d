"""Text alternatives and captions of the figures of the page; ``captions.toml`` has the words."""

from __future__ import annotations

from sgbn.comparison import Comparison
from sgbn.comparison.changes import differences_of
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
from sgbn.report.surface_maps import surface_maps
from sgbn.write.page import own_table
from sgbn.write.tables import file_names

Words = tuple[str, str]  # text alternative, caption

# Figure -> sentences with blanks for the facts of a comparison
SENTENCES = own_table("captions.toml")
# Figures whose sentences have no blanks
CONSTANT = ("permutations", "accuracy", "roc", "sparsity", "refinements", "forest")


def captions(comparison: Comparison) -> dict[str, Words]:
    """Return the text alternative and caption of each figure that the page can show, by name."""
    words = {name: _words(name) for name in CONSTANT}
    for group, stem in difference_stems(comparison.groups).items():
        change = f"from {comparison.reference} to {group}"
        words[f"{stem}_matrix"] = _words("matrix", change=change, most=MAX_PAIRS)
    maps = {name: (shown.alt, shown.caption) for name, shown in surface_maps(comparison).items()}
    return _first_captions(comparison) | words | maps


def titles_of_networks(comparison: Comparison) -> dict[str, str]:
    """Return the titles of the pictures that replace the 3-D view if it cannot be drawn."""
    safe = file_names(comparison.groups)
    stems = difference_stems(comparison.groups).items()
    titles = {stem: f"Change from {comparison.reference} to {group}" for group, stem in stems}
    titles |= {f"network_{safe[group]}": f"Network of {group}" for group in comparison.groups}
    # One picture per network is enough: the brain if the regions have coordinates.
    kind = BRAIN if layout_of(comparison).located else CIRCLE
    return {f"{stem}_{kind}": title for stem, title in titles.items()}


def _first_captions(comparison: Comparison) -> dict[str, Words]:
    """Return the words for the pictures of the first screen, by each name that they can have."""
    stem, group, table = first_stem(comparison), first_group(comparison), comparison.differences
    # `differences_of` needs tested edges.
    if len(table):
        table = differences_of(comparison, group)
    change, level = f"from {comparison.reference} to {group}", comparison.settings.level
    which, doubt = "pairs that differ both ways", ""
    if not len(table) or not (table["q_both"] <= level).any():
        which = "no pair differs both ways; these are the pairs with the smallest p"
        # Readers see intervals that do not include 0, and take them for findings.
        doubt = " No pair is found to differ both ways. "
        if len(comparison.groups) == 2 and len(table) and (table["q"] <= level).any():
            doubt += "Some pairs differ one way, which a change of variance can cause."
        else:
            doubt += (
                f"The intervals of the most extreme of {len(table)} edges can exclude 0 by chance "
                "alone."
            )
    where = _words(DIFFERENCES, which=which, change=change)
    interval = f"{100 * (1 - level):.3g} %"
    how_much = _words(FOREST, change=change, interval=interval, doubt=doubt)
    return {
        **dict.fromkeys((DIFFERENCES, f"{stem}_{BRAIN}", f"{stem}_{CIRCLE}"), where),
        FOREST: how_much,
    }


def _words(figure: str, **facts: object) -> Words:
    entry = SENTENCES[figure]
    return entry["alt"].format(**facts), entry["caption"].format(**facts)
