"""Which atlas is meant: one of the package by its name, a table by its path, or an Atlas."""

from __future__ import annotations

import os
from pathlib import Path

from sgbn.atlases.atlas import Atlas
from sgbn.atlases.library import ATLAS_NAMES, load_atlas
from sgbn.atlases.tables import COLUMNS, read_atlas
from sgbn.exceptions import InputError

TABLE_ENDINGS = (".csv", ".tsv", ".txt")
IMAGE_ENDINGS = (".nii", ".nii.gz", ".mgz", ".mgh", ".img", ".hdr")

AtlasLike = str | os.PathLike[str] | Atlas


def as_atlas(atlas: AtlasLike) -> Atlas:
    """Atlas that a name, a path or an Atlas stands for.

    Parameters
    ----------
    atlas : str, path or Atlas
        Text that `names_table` takes for a table is read by `read_atlas`; all other text is the
        name of an atlas of the package, see `load_atlas`.
    """
    if isinstance(atlas, Atlas):
        return atlas
    if not isinstance(atlas, str | os.PathLike):
        raise InputError(
            f"atlas is {atlas!r}. Give the name of one ({ATLAS_NAMES}), the path of a table "
            "of your own, or read_atlas(path)."
        )
    # An image would else be taken for the name of an atlas, or read as a table.
    if os.fspath(atlas).lower().endswith(IMAGE_ENDINGS):
        raise InputError(
            f"the atlas {os.fspath(atlas)!r} is an image. Give a table of its regions, such as the "
            "atlas.csv that `sgbn extract` writes."
        )
    # A path object is always a file: only text can be the name of an atlas.
    if not isinstance(atlas, str) or names_table(atlas):
        return _read(Path(atlas))
    if not is_packaged(atlas):
        raise InputError(
            f"no atlas is called {atlas!r}, and no file: there are {ATLAS_NAMES}, and a "
            f"table of your own (.csv, .tsv or .txt) with the columns {COLUMNS}. Give one of these."
        )
    return load_atlas(atlas)


def names_table(atlas: str, folder: str | Path = ".") -> bool:
    """Whether text names a table, and not an atlas of the package.

    A table ends in .csv, .tsv or .txt, or is a file that is there. An atlas of the package goes
    before a file of its name, so that a stray file changes nothing.

    Parameters
    ----------
    atlas : str
        Text that names an atlas or a file.
    folder : path
        A path is relative to it.
    """
    if atlas.lower().endswith(TABLE_ENDINGS):
        return True
    return not is_packaged(atlas) and Path(folder, atlas).is_file()


def is_packaged(name: str) -> bool:
    """Whether an atlas of the package is called so."""
    try:
        load_atlas(name)
    except InputError:
        return False
    return True


def _read(path: Path) -> Atlas:
    if not path.exists():
        raise InputError(
            f"the atlas {str(path)!r} is a file that does not exist. Give a table with the columns "
            f"{COLUMNS}, or the name of an atlas of the package: {ATLAS_NAMES}."
        )
    return read_atlas(path)
