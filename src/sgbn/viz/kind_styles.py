"""How the five kinds of change look: in every figure, in the page, in light and dark.

Each differs from the others without its colour too, by its dash and its symbol. Colours have a
contrast of 4.5 : 1 or more to their ground, and none is the red or blue of signs.
"""

from __future__ import annotations

from typing import NamedTuple

from sgbn.inference import KINDS_OF_CHANGE


class KindStyle(NamedTuple):
    """Look of a kind of change.

    Attributes
    ----------
    colour, dark : str
        On a white and on a dark ground.
    dash : tuple of float
        Lengths of dashes and gaps, in widths of the line; empty for a line without gaps.
    symbol : str
        One letter that stands before its name.
    marker : str
        Its marker in Matplotlib.
    """

    colour: str
    dark: str
    dash: tuple[float, ...]
    symbol: str
    marker: str


KIND_STYLES = dict(
    zip(
        KINDS_OF_CHANGE,
        # in their order: gained, lost, stronger, weaker, sign changed
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
