"""Draw figures as files, and keep them in a folder so that each is drawn only once.

The key of a kept figure is a hash of its plan and of the code that draws it. Each figure is one
task of a study, so its file is kept as soon as it is drawn, and is never incomplete.

Write a figure as a file: SVG for the page, and SVG, PDF and PNG for a paper.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from hashlib import sha256
from importlib.metadata import distributions
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any, NamedTuple

import joblib
import matplotlib as mpl
import numpy as np
from fontTools.subset import Options
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from sgbn.core.problems import StudyError
from sgbn.runs.files import Arrays, read_result
from sgbn.runs.study import Study
from sgbn.write.draw.brain import plot_glass_brain
from sgbn.write.draw.differences import draw_forests
from sgbn.write.draw.style import missing_glyphs_allowed
from sgbn.write.draw.surface import draw_surface

PIXELS_PER_INCH = 300  # journals ask for this
KINDS = ("svg", "pdf", "png")
WORTH_WORKERS = 6  # figures; for fewer, starting processes costs more time than it saves
DRAWN_BY = ("matplotlib", "nilearn")  # packages whose version can change a picture

Pictures = dict[str, dict[str, bytes]]  # figure -> kind of file -> content of the file


def draw_figures(
    planned: Mapping[str, Plan], n_jobs: int | None, folder: str | Path | None = None
) -> Pictures:
    """Draw figures as files of all kinds; figures that the folder keeps are only read.

    Parameters
    ----------
    planned : mapping of name to Plan
        The figures.
    n_jobs : int or None
        Number of processes.
    folder : path, optional
        Folder that keeps the figures. A damaged figure is drawn again.

    Returns
    -------
    dict of name to dict
        The content of the files of each figure, by their kind ("svg", "pdf" or "png").
    """
    keys = {name: _key(plan) for name, plan in planned.items()}
    tasks = {keys[name]: {"plan": plan} for name, plan in planned.items()}
    # Only figures that are not kept yet need processes.
    missing = set(tasks) - _kept(folder)
    # Figures with the same key are one task, so they are drawn once.
    study = Study(folder, n_jobs if len(missing) >= WORTH_WORKERS else 1)
    drawn = study.run(_files_of, tasks, {"kinds": KINDS, "dpi": PIXELS_PER_INCH})
    return {
        name: {kind: drawn[key][kind].tobytes() for kind in KINDS} for name, key in keys.items()
    }


def forget_others(planned: Mapping[str, Plan], folder: str | Path) -> None:
    """Remove the kept figures that are not planned any more."""
    # A figure that changes gets another key, and the old figure would stay for ever.
    for name in _kept(folder) - {_key(plan) for plan in planned.values()}:
        _path(folder, name).unlink(missing_ok=True)


def _key(plan: Plan) -> str:
    """Return the key of a figure, which changes with everything that changes the picture."""
    # The plan has the function that draws, all its arguments (also arrays), and the size.
    return f"{joblib.hash(plan)}-{_code()}"


def _files_of(plan: Plan) -> Arrays:
    """Draw a figure as files of all kinds, each as an array of bytes, which a study can keep."""
    drawn = plan.files(kinds=KINDS, dpi=PIXELS_PER_INCH)
    return {kind: np.frombuffer(content, dtype=np.uint8) for kind, content in drawn.items()}


def _kept(folder: str | Path | None) -> set[str]:
    """Return the keys of the figures that a folder keeps; remove files that cannot be read."""
    kept = set()
    for path in [] if folder is None else sorted(_path(folder, "").parent.glob("*.npz")):
        try:
            read_result(path)
            kept.add(path.stem)
        except StudyError:
            path.unlink(missing_ok=True)
    return kept


def _path(folder: str | Path, name: str) -> Path:
    return Path(folder) / "tasks" / f"{name}.npz"


@cache
def _code() -> str:
    """Return a hash of the code that draws, and of the versions of the libraries that it uses."""
    sources = [files("sgbn.write") / "figures.py", *files("sgbn.write.draw").iterdir()]
    # Sorted below, because folders list their files in any order.
    texts = {path.name: path.read_text("utf-8") for path in sources if path.name.endswith(".py")}
    code = [text for _, text in sorted(texts.items())]
    # A library that is not installed adds no version, so figures are drawn again once it is.
    versions = [library.version for name in DRAWN_BY for library in distributions(name=name)]
    return sha256("\n".join([*versions, *code]).encode()).hexdigest()[:16]


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
    more |= {"facecolor": "white", "bbox_inches": "tight" if part is None else part}
    # Without this, Matplotlib writes the time into these files, and each file would differ.
    dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    fonts = mpl.rc_context({"svg.hashsalt": SALT, "pdf.fonttype": TRUETYPE})
    with fonts, _fonts_without_typesetting(), missing_glyphs_allowed():
        figure.savefig(stream, format=kind, dpi=dpi, metadata=dated, **more)
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


class Plan(NamedTuple):
    """A figure that is not drawn yet.

    Attributes
    ----------
    plot : partial
        Function that draws, with all arguments except the first. The first argument is the axes, or
        the figure if the function is in `ON_FIGURES`.
    inches : tuple of float
        Width and height.
    scale : str
        Label of the colour bar of a matrix; "" if the figure has no colour bar.
    """

    # A partial of a named function can be sent to other processes, and hashed (see `_key`).
    plot: partial[Any]
    inches: tuple[float, float]
    scale: str = ""

    def draw(self) -> Figure:
        """Draw the figure."""
        # These functions place their own axes, and a layout engine would move the axes.
        places_itself = self.plot.func in (plot_glass_brain, draw_surface)
        figure = Figure(figsize=self.inches, layout=None if places_itself else "constrained")
        if self.plot.func in ON_FIGURES:
            self.plot(figure)
            return figure
        ax = self.plot(figure.add_subplot())
        if self.scale:
            bar = figure.colorbar(ax.images[0], ax=ax, location="bottom", shrink=0.5, aspect=35)
            bar.set_label(self.scale, fontsize=8)
            bar.ax.tick_params(labelsize=7)
        return figure

    def files(self, kinds: Sequence[str], dpi: float) -> dict[str, bytes]:
        """Draw the figure once, and return its files by their kind."""
        # A layout engine works at every drawing, so the layout is made once for all kinds.
        figure = self.draw()
        part = lay_out_once(figure)
        return {kind: picture(figure, kind, dpi, part) for kind in kinds}


ON_FIGURES = (plot_glass_brain, draw_surface, draw_forests)
