"""The style of the five kinds of change, in figures and on the page, in light and dark.

The kinds differ by dash and symbol as well as by colour. The contrast of each colour to its
background is at least 4.5 : 1, and none is the red or blue that shows the sign of a weight.
"""

from __future__ import annotations

from typing import NamedTuple

from sgbn.core.graph import KINDS_OF_CHANGE


class KindStyle(NamedTuple):
    """The style of a kind of change.

    Attributes
    ----------
    colour, dark : str
        Colours on a white and on a dark background.
    dash : tuple of float
        Lengths of dashes and gaps, in widths of the line; empty for a line without gaps.
    symbol : str
        One character that is written before the name of the kind.
    marker : str
        Marker of the kind in Matplotlib.
    """

    colour: str
    dark: str
    dash: tuple[float, ...]
    symbol: str
    marker: str


KIND_STYLES = dict(
    zip(
        KINDS_OF_CHANGE,
        # In the order of KINDS_OF_CHANGE: gained, lost, stronger, weaker, sign changed
        (
            KindStyle("#1B7837", "#7FCC8F", (10.0, 2.0), "+", "P"),
            KindStyle("#762A83", "#D0A8E0", (1.0, 1.6), "×", "X"),
            KindStyle("#A34E00", "#F5A65B", (), "▲", "^"),
            KindStyle("#00707A", "#6CC7D0", (3.0, 1.6), "▼", "v"),
            KindStyle("#B0126B", "#F58BC0", (5.0, 1.4, 1.0, 1.4), "⇄", "D"),
        ),
        strict=True,
    )
)
