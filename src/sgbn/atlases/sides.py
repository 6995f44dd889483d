"""Find the hemisphere in the name of a region."""

from __future__ import annotations

import re

# Whole words only. A single letter must be in upper case, because l and r occur in other names.
SIDE_WORD = re.compile(r"(?<![A-Za-z0-9])((?i:lh|rh|left|right)|L|R)(?![A-Za-z0-9])")


def side_of(name: str) -> str:
    """Return the hemisphere in a name, "L" or "R", or "" if the name contains none or both.

    Examples
    --------
    >>> [side_of(name) for name in ("7Networks_LH_Vis_1", "Insula_R", "Vermis_3")]
    ['L', 'R', '']
    """
    sides = {word[0].upper() for word in SIDE_WORD.findall(name.replace("_", " "))}
    return sides.pop() if len(sides) == 1 else ""
