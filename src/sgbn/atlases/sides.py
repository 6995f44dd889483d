"""The hemisphere that the name of a region says."""

from __future__ import annotations

import re

# Whole words. One letter counts as a side in upper case only: l and r are parts of other names.
SIDE_WORD = re.compile(r"(?<![A-Za-z0-9])((?i:lh|rh|left|right)|L|R)(?![A-Za-z0-9])")


def side_of(name: str) -> str:
    """Hemisphere that a name says, "L" or "R"; "" if it says none, or both.

    Examples
    --------
    >>> [side_of(name) for name in ("7Networks_LH_Vis_1", "Insula_R", "Vermis_3")]
    ['L', 'R', '']
    """
    sides = {word[0].upper() for word in SIDE_WORD.findall(name.replace("_", " "))}
    return sides.pop() if len(sides) == 1 else ""
