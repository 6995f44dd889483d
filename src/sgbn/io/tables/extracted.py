"""The atlas that ``sgbn extract`` wrote beside a table or a folder of series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path

from sgbn.cohort.atlas import LABEL_IMAGE, Atlas, read_atlas
from sgbn.cohort.region_names import match_columns
from sgbn.io.tables.options import Options

EXTRACTED = "atlas.csv"
MAX_HEADER_BYTES = 10_000  # a limit, because a file may be one endless line


def with_extracted(options: Options, source: object, columns: Sequence[str]) -> Options:
    """Return the options, with the extracted atlas if it matches more columns than a packaged one.

    Parameters
    ----------
    options : Options
        What the caller asks for. An atlas that the caller names is kept.
    source : object
        The path of the table, or its DataFrame, which cannot have an atlas beside it.
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
    """Return the atlas in a folder of series, or beside a table; None if there is no such atlas.

    ``sgbn extract`` writes a column that names the label image. An ``atlas.csv`` without this
    column belongs to the user, and is read only if the user asks for it.
    """
    path = (source if source.is_dir() else source.parent) / EXTRACTED
    try:
        with path.open("rb") as stream:
            header = stream.readline(MAX_HEADER_BYTES)
    except OSError:
        return None
    return read_atlas(path) if LABEL_IMAGE.encode() in header.lower() else None


def atlas_facts(atlas: Atlas | None) -> dict[str, str | None]:
    """Return facts for the provenance: the name of the atlas, and its file if the user gave one."""
    if atlas is None or atlas.file is None or not atlas.file.path:
        return {"atlas": None if atlas is None else atlas.name}
    facts = {"atlas_file": atlas.file.path, "atlas_sha256": atlas.file.sha256}
    return {"atlas": atlas.name, **facts}
