"""Get an atlas from the name of an atlas of the package, or from the path of a table."""

from __future__ import annotations

import os
from pathlib import Path

from sgbn.atlases.atlas import Atlas
from sgbn.atlases.library import ATLAS_NAMES, load_atlas
from sgbn.atlases.tables import COLUMNS, read_atlas
from sgbn.core.exceptions import InputError

TABLE_ENDINGS = (".csv", ".tsv", ".txt")
IMAGE_ENDINGS = (".nii", ".nii.gz", ".mgz", ".mgh", ".img", ".hdr")

AtlasLike = str | os.PathLike[str] | Atlas


def as_atlas(atlas: AtlasLike) -> Atlas:
    """Return the atlas that a name or a path means. An Atlas is returned as it is.

    Parameters
    ----------
    atlas : str, path or Atlas
        Name of an atlas of the package (see `load_atlas`), path of a table (see `read_atlas`), or
        an Atlas. `names_table` decides whether a text is a name or a path.
    """
    if isinstance(atlas, Atlas):
        return atlas
    if not isinstance(atlas, str | os.PathLike):
        raise InputError(
            f"atlas is {atlas!r}. Give the name of an atlas ({ATLAS_NAMES}), the path of your own "
            "table, or read_atlas(path)."
        )
    # Without this check, an image would be taken for the name of an atlas, or read as a table.
    if os.fspath(atlas).lower().endswith(IMAGE_ENDINGS):
        raise InputError(
            f"the atlas {os.fspath(atlas)!r} is an image. Give a table of its regions, such as the "
            "atlas.csv that `sgbn extract` writes."
        )
    # Only text can be the name of an atlas. A path object is always a file.
    if not isinstance(atlas, str) or names_table(atlas):
        return _read(Path(atlas))
    if not is_packaged(atlas):
        raise InputError(
            f"no atlas is called {atlas!r}, and there is no such file. Use one of {ATLAS_NAMES}. "
            f"Or use your own table (.csv, .tsv or .txt) with the columns {COLUMNS}."
        )
    return load_atlas(atlas)


def names_table(atlas: str, folder: str | Path = ".") -> bool:
    """Return whether a text names a table, instead of an atlas of the package.

    The name of a table ends in .csv, .tsv or .txt, or is an existing file. If a file has the same
    name as an atlas of the package, the atlas is meant, so that a stray file changes nothing.

    Parameters
    ----------
    atlas : str
        Text that names an atlas or a file.
    folder : path
        Folder to which a path is relative.
    """
    if atlas.lower().endswith(TABLE_ENDINGS):
        return True
    return not is_packaged(atlas) and Path(folder, atlas).is_file()


def is_packaged(name: str) -> bool:
    """Return whether an atlas of the package has this name."""
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
