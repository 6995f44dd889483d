"""The looks of the five kinds of change."""

import pytest
from matplotlib.colors import to_rgb

from sgbn.core.graph import KINDS_OF_CHANGE
from sgbn.write.draw.style import KIND_STYLES

DARK_GROUND = "#16181d"


def contrast(colour, ground):
    """Contrast of two colours, as the Web Content Accessibility Guidelines define it."""

    def luminance(name):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(name)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted([luminance(colour), luminance(ground)])
    return (high + 0.05) / (low + 0.05)


def test_every_kind_has_a_look():
    assert list(KIND_STYLES) == list(KINDS_OF_CHANGE)


@pytest.mark.parametrize("kind", KINDS_OF_CHANGE)
def test_colours_can_be_read(kind):
    assert contrast(KIND_STYLES[kind].colour, "white") >= 4.5
    assert contrast(KIND_STYLES[kind].dark, DARK_GROUND) >= 4.5


def test_they_differ_without_colour():
    for part in ("symbol", "marker", "dash"):
        assert len({getattr(look, part) for look in KIND_STYLES.values()}) == 5
