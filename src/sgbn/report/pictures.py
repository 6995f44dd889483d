"""A figure as a file: SVG for the page, and SVG, PDF and PNG for a paper."""

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
DROPPED = "_drop_tables_default"  # where fontTools has the tables that it leaves out
SALT = "sgbn"  # of the ids in SVG files: the same picture is the same file
TRUETYPE = 42  # letters of PDF files stay text that can be edited, as journals ask
PAGE_DPI = 110  # of what is an image inside an SVG
MARGIN = 0.1  # inches around all that is drawn
COMPRESSION = 3  # of PNG files: a tenth larger than by 6, and packed in half the time
PATH = re.compile(rb'(?<= )d="[^"]*"')
DECIMALS = re.compile(rb"(\.\d)\d+")


def lay_out_once(figure: Figure) -> Bbox:
    """Lay a figure out, for all kinds of files; return the part that has anything on it, in inches.

    A layout engine works at every drawing, and a file that is to be cut to this part draws twice.
    """
    with missing_glyphs_allowed():
        figure.draw_without_rendering()
        # All stays where the engine has put it; no later drawing calls it again.
        figure.set_layout_engine(None)
        return figure.get_tightbbox().padded(MARGIN)


def picture(
    figure: Figure, kind: str = "svg", dpi: float = PAGE_DPI, part: Bbox | None = None
) -> bytes:
    """File of a figure, or of a part of it; all that is not empty by default.

    The same figure gives the same bytes, whenever it is made.
    """
    stream = BytesIO()
    more: dict[str, Any] = {"pil_kwargs": {"compress_level": COMPRESSION}} if kind == "png" else {}
    # Matplotlib writes the time of drawing into these, so that no two files would be the same.
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
    """Context in which fonts of PDF files lack the tables by which letters find their places.

    A PDF says where each letter stands. To read these tables, only to write them into the file, is
    most of the time that it takes.
    """
    usual = getattr(Options, DROPPED, None)
    if usual is None:  # in another version of fontTools
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
    """Picture as the address of an image, so that the page needs no other file."""
    return "data:image/svg+xml;base64," + base64.b64encode(rounded(svg)).decode()
