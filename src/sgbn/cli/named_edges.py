"""Edges and regions that the user chose in advance: ``--edges`` and ``--among``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from sgbn.cli.arguments import OptionError
from sgbn.core.exceptions import InputError, did_you_mean

if TYPE_CHECKING:
    from sgbn.cohort.cohort import Cohort
    from sgbn.comparison.settings import Settings


def with_names(settings: Settings, edges: Sequence[str] | None, cohort: Cohort) -> Settings:
    """Return the settings with the edges of ``--edges``, after a check of all names."""
    check_lobes([*(edges or ()), *settings.among], cohort)
    # An edge that is given twice is one hypothesis, and is tested once.
    named = tuple(split_edge(text, cohort.regions) for text in dict.fromkeys(edges or ()))
    settings = replace(settings, edges=named)
    settings.check_names(cohort)
    return settings


def check_lobes(names: Sequence[str], cohort: Cohort) -> None:
    """Raise OptionError if ``--edges`` or ``--among`` name a region that ``--lobes`` left out."""
    left_out = set(cohort.provenance.get("other_lobes", ()))
    if not left_out:
        return
    places = cohort.atlas.regions if cohort.atlas is not None else ()
    # --among takes lobes as well as regions.
    left_out |= {place.lobe for place in places} - {*cohort.lobes}
    for text in names:
        for name in {text, *chain(*_cuts(text))} & left_out:
            raise OptionError(
                f"{name!r}, named in --edges or --among, is left out by --lobes "
                f"{' '.join(cohort.provenance['lobes'])}. Add its lobe to --lobes, or name other "
                "regions."
            )


def _cuts(text: str) -> list[tuple[str, str]]:
    """Return all ways to cut a text into two parts at one of its colons."""
    words = text.split(":")
    return [(":".join(words[:k]), ":".join(words[k:])) for k in range(1, len(words))]


def split_edge(text: str, regions: Sequence[str]) -> tuple[str, str]:
    """Return source and target of SOURCE:TARGET; a name of a region may contain colons."""
    pairs = _cuts(text)
    known = [pair for pair in pairs if set(pair) <= set(regions)]
    if len(known) == 1:
        return known[0]
    if known:
        ways = " or ".join(f"{source!r} to {target!r}" for source, target in known)
        raise InputError(f"--edges {text!r} can be read as {ways}. Rename one of these regions.")
    # If one side is a region, the other side is misspelt.
    half_known = [pair for pair in pairs if set(pair) & set(regions)]
    unknown = next(name for name in (half_known or pairs)[0] if name not in regions)
    raise InputError(
        f"--edges {text!r}: no region is called {unknown!r}. {did_you_mean(unknown, regions)}"
    )
