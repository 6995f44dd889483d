"""Write a figure as a file: SVG for the page, and SVG, PDF and PNG for a paper."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import matplotlib as mpl
from fontTools.subset import Options
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from sgbn.viz.style import missing_glyphs_allowed

TYPESETTING = ("GSUB", "GPOS", "GDEF", "kern", "MATH")  # tables of a font
DROPPED = "_drop_tables_default"  # attribute of fontTools: tables that it leaves out
SALT = "sgbn"  # for the ids in SVG files, so that the same picture gives the same file
TRUETYPE = 42  # letters in PDF files stay text that can be edited, as journals ask
PAGE_DPI = 110  # resolution of images inside an SVG
MARGIN = 0.1  # inches around the drawn part
COMPRESSION = 3  # of PNG files: 10 % larger than with 6, in half the time
PATH = re.compile(rb'(?<= )d="[^"]*"')
DECIMALS = re.compile(rb"(\.\d)\d+")


def lay_out_once(figure: Figure) -> Bbox:
    """Lay a figure out once for all kinds of files; return the part that is not empty, in inches.

    Without this, the layout engine would run at every drawing, and each file that is cut to this
    part would be drawn twice.
    """
    with missing_glyphs_allowed():
        figure.draw_without_rendering()
        # Everything stays where the engine has put it.
        figure.set_layout_engine(None)
        return figure.get_tightbbox().padded(MARGIN)


def picture(
    figure: Figure, kind: str = "svg", dpi: float = PAGE_DPI, part: Bbox | None = None
) -> bytes:
    """Return the file of a figure, cut to a part of it; by default to the part that is not empty.

    The same figure always gives the same bytes.
    """
    stream = BytesIO()
    more: dict[str, Any] = {"pil_kwargs": {"compress_level": COMPRESSION}} if kind == "png" else {}
    # Without this, Matplotlib writes the time into these files, and each file would differ.
    dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    fonts = mpl.rc_context({"svg.hashsalt": SALT, "pdf.fonttype": TRUETYPE})
    with fonts, _fonts_without_typesetting(), missing_glyphs_allowed():
        figure.savefig(
            stream,
            format=kind,
            dpi=dpi,
            metadata=dated,
            facecolor="white",
            bbox_inches="tight" if part is None else part,
            **more,
        )
    return stream.getvalue()


@contextmanager
def _fonts_without_typesetting() -> Iterator[None]:
    """Write PDF files without the font tables that programs use to place letters.

    A PDF says where each letter is, so it does not need these tables. Reading and writing them
    takes most of the time that a file needs.
    """
    usual = getattr(Options, DROPPED, None)
    if usual is None:  # another version of fontTools may lack the private attribute
        yield
        return
    # A private attribute of fontTools: Matplotlib offers no way to pass options to it.
    setattr(Options, DROPPED, [*usual, *TYPESETTING])
    try:
        yield
    finally:
        setattr(Options, DROPPED, usual)


def rounded(svg: bytes) -> bytes:
    """Round the paths of an SVG to a tenth of a point, which is enough for a page."""
    return PATH.sub(lambda path: b" ".join(DECIMALS.sub(rb"\1", path[0]).split()), svg)


def address(svg: bytes) -> str:
    """Return a picture as the address of an image, so that the page needs no other file."""
    return "data:image/svg+xml;base64," + base64.b64encode(rounded(svg)).decode()
