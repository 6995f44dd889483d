"""Read the files that the page is made of: our templates, and JavaScript of other packages.

Tables of the page: the text of each cell, the number it is sorted by, and marked rows.

The surface of the brain for the interactive view, coarse enough to keep the page small.

Nilearn contains the pial surfaces of fsaverage5, a subdivision of the coarser mesh fsaverage4. The
first vertices of fsaverage5 are the vertices of fsaverage4. Each other vertex of fsaverage5 is the
middle of an edge of fsaverage4.

Hints on how to read the columns of the tables; ``hints.toml`` has the words.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import distributions
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from sgbn.core.problems import InputError
from sgbn.core.types import Array, Indices
from sgbn.write.draw.surface import SIDES, read_gifti

TEMPLATES = "templates"
# Matches only where a statement can begin: "export" may also be part of a name or a text.
EXPORT = re.compile(r"(?:^|(?<=[;}\n]))export\s*\{([^{}]*)\}\s*;?")
MIN_PLOTLY_LENGTH = 1_000_000  # characters; the whole library has 4.8 million


@cache
def plotly_script() -> str:
    """Read the script of Plotly, which defines ``Plotly``."""
    source = _read("plotly", "package_data", "plotly.min.js")
    if len(source) < MIN_PLOTLY_LENGTH or "Plotly" not in source:
        raise _unusable("plotly", "plotly.min.js")
    return safe_script(source)


@cache
def tables_script() -> str:
    """Read DataTables with its buttons, as a classic script that defines ``DataTable``."""
    return safe_script(as_classic_script(_read("itables", "html", "dt_bundle.js")))


@cache
def tables_style() -> str:
    """Read the style sheet of DataTables; raise InputError if it would load other files."""
    style = _read("itables", "html", "dt_bundle.css")
    # A page that loads nothing works offline, and no server learns that somebody reads it.
    loaded = [url for url in re.findall(r"url\(\s*['\"]?([^)]*)", style) if url[:5] != "data:"]
    if loaded or "@import" in style or "</style" in style.lower():
        raise _unusable("itables", "dt_bundle.css")
    return style


def own_file(name: str) -> str:
    """Return the text of a template, script or style sheet of this package."""
    return files("sgbn.write").joinpath(TEMPLATES, name).read_text(encoding="utf-8")


def own_table(name: str) -> dict[str, dict[str, Any]]:
    """Return the sections of a TOML file of this package."""
    return tomllib.loads(files("sgbn.write").joinpath(name).read_text(encoding="utf-8"))


def own_templates(*, autoescape: bool) -> Environment:
    """Return the Jinja environment of our templates; `autoescape` is for HTML templates."""
    return Environment(
        loader=PackageLoader("sgbn.write", TEMPLATES),
        autoescape=autoescape,
        # A misspelled name in a template raises an error instead of giving an empty text.
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def as_classic_script(module: str) -> str:
    """Turn the ES module of DataTables into a classic script.

    A browser can import a module only from an address, and a module inside the page has no address.
    So the only export statement becomes an assignment to ``window.DataTable``, and a function
    encloses the whole module.
    """
    exports = EXPORT.findall(module)
    names = dict(_exported(entry) for entry in ",".join(exports).split(",") if entry.strip())
    # The replacement is a function, because re.sub would interpret a backslash in a text.
    body = EXPORT.sub(lambda _: f";window.DataTable={names.get('default')};", module)
    imports = re.search(r"(?:^|[;}\n])\s*(?:import\s*[\w{*\"']|export\s)|import\.meta", body)
    if len(exports) != 1 or "default" not in names or imports:  # a page cannot import files
        raise _unusable("itables", "dt_bundle.js")
    # Modules are always strict. Without the line break, a comment at the end of the module would
    # make the closing brackets part of the comment.
    return f'(function(){{"use strict";{body}\n}})();'


def safe_script(source: str) -> str:
    """Escape a script so that no text in it can end the script element around it."""
    # JavaScript reads \x3C as "<", in texts and in patterns; HTML does not.
    return re.sub(r"<(?=/script|!--)", r"\\x3C", source, flags=re.IGNORECASE)


def _exported(entry: str) -> tuple[str, str]:
    """Split ``inside as outside`` into the exported name and the name inside the module."""
    inside, _, outside = entry.strip().partition(" as ")
    return (outside or inside).strip(), inside.strip()


def _read(package: str, *parts: str) -> str:
    # The package is found, not imported: itables 2.5.0 does not import without platformdirs, which
    # it does not install, and its imports take longer than the file.
    spec = find_spec(package)
    try:
        if spec is None or spec.origin is None:
            raise FileNotFoundError(package)
        return Path(spec.origin).parent.joinpath(*parts).read_text(encoding="utf-8")
    except OSError as error:
        raise _unusable(package, parts[-1]) from error


def _unusable(package: str, part: str) -> InputError:
    versions = [library.version for library in distributions(name=package)]
    return InputError("report.script", package=package, part=part, versions=versions).says(
        "the report cannot use {part:s} of {package:s} {versions:s}",
        "Install {package:s} again (pip install --force-reinstall), or another version.",
    )


MAX_CELLS = 10_000  # per table: more would make the page slow; the CSV file has all
DASH = "–"
MINUS = "−"
SMALL_P = 0.001  # a smaller p is shown as "< 0.001"

Kind = Literal["text", "name", "prose", "number", "weight", "interval", "p", "share", "count"]

TEXTS = ("text", "name", "prose")


class Field(NamedTuple):
    """A column of a DataFrame as the page shows it.

    Attributes
    ----------
    source : str
        Name of the column in the DataFrame.
    title : str
        Title of the column in the page.
    kind : str
        How the values are written.
    hint : str or None
        How to read the column. If it is None, `hint_of` looks it up.
    folds : bool
        Whether the column is hidden until a reader asks for it.
    """

    source: str
    title: str
    kind: Kind = "text"
    hint: str | None = None
    folds: bool = False

    @property
    def style(self) -> str:
        """CSS classes of the title."""
        kind = {"text": "", "name": "name", "prose": "prose"}.get(self.kind, "num")
        return f"{kind} more".strip() if self.folds else kind


ENDS = Field("source", "from", "name"), Field("target", "to", "name")  # both regions of an edge


class Cell(NamedTuple):
    """The text of a cell. A number also has more digits, for sorting and for the download."""

    text: str
    exact: str | None = None


class Row(NamedTuple):
    """Cells of a row; a mark is a CSS class that emphasises the row."""

    cells: list[Cell]
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """A table of the page.

    Attributes
    ----------
    key : str
        Id of the table in the page, and name of the file that its button downloads.
    caption : str
        Title of the table.
    fields : tuple of Field
        Columns of the table.
    rows : list of Row
        Rows that the page shows.
    total : int
        Number of all rows; the page shows no more than `MAX_CELLS` allows.
    searched : bool
        Whether a reader can sort, search and download the table.
    """

    key: str
    caption: str
    fields: tuple[Field, ...]
    rows: list[Row]
    total: int
    searched: bool = True

    @property
    def hints(self) -> list[tuple[str, str]]:
        """Titles of columns, and how to read these columns."""
        titles: dict[str, list[str]] = {}
        for field in self.fields:
            hint = hint_of(self.key, field.source) if field.hint is None else field.hint
            titles.setdefault(hint, []).append(field.title)
        return [("; ".join(same), hint) for hint, same in titles.items() if hint]


def make_table(
    key: str,
    caption: str,
    frame: pd.DataFrame,
    fields: Sequence[Field],
    *,
    mark: Callable[[Any], str] | None = None,
    searched: bool = True,
) -> Table:
    """Make a table for the page; fields whose column the DataFrame lacks are left out.

    `mark` gets a row as a mapping of column to value. It returns the CSS class that emphasises the
    row, or "".
    """
    known = tuple(field for field in fields if field.source in frame.columns)
    shown = frame.head(MAX_CELLS // max(len(known), 1))
    columns = [[cell(value, field.kind) for value in shown[field.source]] for field in known]
    marks = [""] * len(shown)
    if mark is not None:
        marks = [mark(row) for row in shown.to_dict("records")]
    rows = [Row(list(cells), row_mark) for *cells, row_mark in zip(*columns, marks, strict=True)]
    return Table(key, caption, known, rows, len(frame), searched)


def folded(fields: Iterable[Field]) -> list[Field]:
    """Return the fields as folded: they are hidden until a reader asks for them."""
    return [field._replace(folds=True) for field in fields]


def significant(level: float, *columns: str) -> Callable[[Mapping[str, Any]], str]:
    """Return a `mark` for rows in which all of these columns are at most the level."""
    # A comparison with NaN is always false, so a row that was not tested is never marked.
    return lambda row: "found" if all(row[name] <= level for name in columns) else ""


def mark_by(column: str, marks: Mapping[str, str], other: str = "") -> Callable[[Any], str]:
    """Return a `mark` that depends on the value of a column."""
    return lambda row: marks.get(row[column], other)


def in_words(table: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return the table with "yes" and "no" in these columns; absent columns are ignored."""
    known = [name for name in names if name in table]
    return table.assign(**{name: np.where(table[name], "yes", "no") for name in known})


def cell(value: Any, kind: Kind) -> Cell:
    """Return the cell that shows a value."""
    if kind in TEXTS:
        return Cell("" if value is None else str(value))
    if kind == "interval":  # sorted by its middle
        return Cell(interval_text(*value), f"{value[0] + 0.0:.6g}")
    number = float(value)
    if np.isnan(number):
        return Cell(DASH, "")
    return Cell(SHOWN[kind](number), f"{number + 0.0:.6g}")  # + 0.0: no minus zero


def number_text(value: float) -> str:
    """Write a number with three significant digits and a typographic minus sign."""
    if value == 0:
        return "0"
    # Between these limits "g" would write 12300 as 1.23e+04, which is hard to read.
    text = f"{value:.3g}" if not 0.001 <= abs(value) < 1e5 else _plain(value)
    return text.replace("-", MINUS)


def p_value(value: float) -> str:
    """Write a p with three decimals; a dash if it is NaN."""
    if np.isnan(value):
        return DASH
    return f"{value:.3f}" if value >= SMALL_P else f"< {SMALL_P}"


def interval_text(mean: float, low: float, high: float) -> str:
    """Write a mean with its interval, such as "0.50 (0.20 to 0.80)"."""
    if np.isnan(mean) or np.isnan(low):
        return fixed(mean)
    return f"{fixed(mean)} ({fixed(low)} to {fixed(high)})"


def fixed(value: float, places: int = 2) -> str:
    """Write a number with a fixed number of decimals; a dash if it is NaN."""
    if np.isnan(value):
        return DASH
    # Rounding -0.001 gives a minus zero. Adding 0.0 makes it a zero.
    return f"{round(value, places) + 0.0:.{places}f}".replace("-", MINUS)


def _plain(value: float) -> str:
    """Write three significant digits, never with an exponent."""
    places = max(0, 2 - int(np.floor(np.log10(abs(value)))))
    return f"{value:.{places}f}"


SHOWN: dict[str, Callable[[float], str]] = {
    "number": number_text,
    "weight": fixed,
    "p": p_value,
    "share": lambda value: f"{value + 0.0:.0%}",
    "count": lambda value: f"{round(value)}",
}


N_COARSE = 2562  # vertices of a hemisphere of fsaverage4
DECIMALS = 1  # of millimetres


class Surface(NamedTuple):
    """Vertices in mm and triangles; fsaverage lies within about 2 mm of MNI152."""

    vertices: Array
    faces: Indices


@cache  # a comparison makes two reports: the first report and the complete report
def brain_mesh() -> dict[str, Surface] | None:
    """Return the pial surfaces of fsaverage4, "left" and "right"; None without nilearn."""
    try:
        pial = {side: read_gifti(f"pial_{side}") for side in SIDES}
    except InputError:  # the page then shows pictures of the brain in place of the view
        return None
    return {
        side: coarsened(vertices, np.asarray(faces, dtype=np.intp), N_COARSE)
        for side, (vertices, faces) in pial.items()
    }


def coarsened(vertices: Array, faces: Indices, n_old: int) -> Surface:
    """Undo one subdivision of a mesh; its first `n_old` vertices are the vertices of the old mesh.

    The subdivision cut each old triangle into four. The inner one of the four joins the middles of
    the three old edges. Two old edges share one end, which is a corner of the old triangle.
    """
    ends = _ends(faces, n_old)
    inner = faces[(faces >= n_old).all(axis=1)]
    corners = [_common(ends[inner[:, a]], ends[inner[:, b]]) for a, b in ((0, 1), (1, 2), (2, 0))]
    places: Array = np.asarray(vertices[:n_old], dtype=np.float64).round(DECIMALS)
    return Surface(places, np.column_stack(corners).astype(np.intp))


def _ends(faces: Indices, n_old: int) -> Indices:
    """Return both ends of the old edge that each new vertex halves; -1 for old vertices."""
    sides = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    sides = np.unique(np.sort(sides, axis=1), axis=0)
    # Every new vertex halves one old edge, so it has exactly two old neighbours.
    old, new = sides[(sides[:, 0] < n_old) & (sides[:, 1] >= n_old)].T
    by_new = np.argsort(new, kind="stable")
    ends = np.full((int(faces.max()) + 1, 2), -1)
    # Sorted by the new vertex, the two ends of an old edge are next to each other.
    ends[n_old:] = old[by_new].reshape(-1, 2)
    return ends


def _common(first: Indices, second: Indices) -> Indices:
    """Return the end that the edges of each row share."""
    in_second = (first[:, :1] == second).any(axis=1)
    return np.where(in_second, first[:, 0], first[:, 1])


ANY = "any"  # section with the meaning of a column in all tables without an entry of their own
HINTS: dict[str, dict[str, str]] = own_table("hints.toml")


def hint_of(table: str, column: str) -> str:
    """Return what a column of a table means; "" if the title says enough."""
    return HINTS.get(table, {}).get(column, HINTS[ANY].get(column, ""))
