"""The atlas that ``sgbn extract`` wrote beside a table or a folder of series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from sgbn.atlases import Atlas, match_columns, read_atlas
from sgbn.atlases.tables import LABEL_IMAGE
from sgbn.io.tables.options import Options

EXTRACTED = "atlas.csv"
MAX_HEADER_BYTES = 10_000  # a file may have one line without end


def with_extracted(options: Options, source: object, columns: Sequence[str]) -> Options:
    """Return options with the extracted atlas, if it knows more columns than any of the package.

    Parameters
    ----------
    options : Options
        An atlas that the caller names is kept.
    source : object
        Where the table comes from: only a path has an atlas beside it.
    columns : sequence of str
        Names of the columns of the table.
    """
    if options.atlas is not None or not isinstance(source, str | PathLike):
        return options
    atlas = extracted_atlas(Path(source))
    if atlas is None:
        return options
    extracted, packaged = match_columns(columns, atlas), match_columns(columns)
    known = len(packaged.columns)
    return replace(options, atlas=atlas) if len(extracted.columns) > known else options


def extracted_atlas(source: Path) -> Atlas | None:
    """Return the atlas in a folder of series, or beside a table; None without one.

    ``sgbn extract`` writes a column that names the label image. Any other ``atlas.csv`` is
    somebody's own: it counts only if it is asked for.
    """
    path = (source if source.is_dir() else source.parent) / EXTRACTED
    try:
        with path.open("rb") as stream:
            header = stream.readline(MAX_HEADER_BYTES)
    except OSError:
        return None
    return read_atlas(path) if LABEL_IMAGE.encode() in header.lower() else None


def atlas_facts(atlas: Atlas | None) -> dict[str, str | None]:
    """Return facts for the provenance: the atlas, and its file if it is not of the package."""
    if atlas is None or atlas.file is None or not atlas.file.path:
        return {"atlas": None if atlas is None else atlas.name}
    facts = {"atlas_file": atlas.file.path, "atlas_sha256": atlas.file.sha256}
    return {"atlas": atlas.name, **facts}
