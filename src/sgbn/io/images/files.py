"""Which images belong to which subject."""

from __future__ import annotations

import glob
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sgbn.exceptions import InputError

ENDINGS = (".nii.gz", ".nii")
OTHER_ENDINGS = (".mgz", ".mgh", ".img.gz", ".img", ".hdr")  # read if named, not looked for

_BIDS = re.compile(r"sub-[A-Za-z0-9]+(?:_ses-[A-Za-z0-9]+)?")
# What SPM and CAT12 put before the name of a normalised tissue map: mwp1, m0wp1, s8mwp1, swc1, ...
# Those of maps in native space (c1, p1) are left: "c1023" may well be a control.
_TISSUE = re.compile(r"^(?:s\d*)?(?:m0?)?w[pc][1-3](?=.)")


def find_images(patterns: Iterable[str | Path], exclude: Iterable[str | Path] = ()) -> list[Path]:
    """Image files that are meant by file names, patterns (``*``, ``?``, ``**``) and folders.

    Parameters
    ----------
    patterns : iterable of str or path
        A folder means all ``.nii`` and ``.nii.gz`` files in it and below. A name that is none of
        these is returned as it is, so that the missing file is reported with the other bad ones.
    exclude : iterable of path
        Files that are no images of subjects, such as the atlas.

    Returns
    -------
    list of Path
        Each file once, sorted within a pattern.
    """
    unwanted = {Path(path).resolve() for path in exclude}
    found: dict[Path, None] = {}
    for pattern in patterns:
        for path in _matches(str(pattern)):
            if path.resolve() not in unwanted:
                found[path] = None
    if not found:
        raise InputError(
            "no image was given. Give files, patterns or folders with .nii(.gz) files."
        )
    return list(found)


def _matches(pattern: str) -> list[Path]:
    path = Path(pattern)
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.name.lower().endswith(ENDINGS))
        if not files:
            raise InputError(f"the folder {pattern} holds no .nii or .nii.gz file.")
        return files
    if path.exists() or not glob.has_magic(pattern):
        return [path]
    files = sorted(p for p in map(Path, glob.glob(pattern, recursive=True)) if p.is_file())
    if not files:
        raise InputError(f"no file matches {pattern!r}. Check the pattern and the folder.")
    return files


def subject_id(path: str | Path) -> str:
    """Id of the subject, from the name of an image.

    The entities ``sub-XX`` and ``ses-YY`` of BIDS where the name, or else a folder above it, has
    them; otherwise the name without its ending and without what SPM or CAT12 put before it.

    Examples
    --------
    >>> subject_id("derivatives/sub-01_ses-2_space-MNI_label-GM_probseg.nii.gz")
    'sub-01_ses-2'
    >>> subject_id("mwp1patient7.nii")
    'patient7'
    """
    path = Path(path)
    entity = _BIDS.search(path.name)
    if entity:
        return entity[0]
    folders = [part for part in path.parent.parts if _BIDS.fullmatch(part)]
    if folders:
        return folders[-1]
    return _TISSUE.sub("", stem(path)).lstrip("_- ") or stem(path)


def stem(path: str | Path) -> str:
    """Name without the ending of an image, which may have two dots."""
    name = Path(path).name
    for ending in (*ENDINGS, *OTHER_ENDINGS):
        if name.lower().endswith(ending) and len(name) > len(ending):
            return name[: -len(ending)]
    return Path(name).stem


def images_by_subject(
    images: str | Path | Sequence[str | Path] | Mapping[str, str | Path],
    ids: Sequence[str] | None = None,
) -> dict[str, Path]:
    """Id -> path; two images of the same id are an error that names both."""
    if isinstance(images, Mapping):
        if ids is not None:
            raise InputError("ids are given twice: leave out `ids`, or give `images` as a list.")
        ids, images = [str(name) for name in images], list(images.values())
    paths = find_images([images]) if isinstance(images, str | Path) else [Path(p) for p in images]
    if not paths:
        raise InputError("no image was given.")
    if ids is not None and len(ids) != len(paths):
        raise InputError(f"{len(ids)} ids for {len(paths)} images: give one id an image.")
    names = [subject_id(path) for path in paths] if ids is None else [str(one) for one in ids]
    found: dict[str, Path] = {}
    for name, path in zip(names, paths, strict=True):
        if name in found:
            raise InputError(
                f"two images have the subject id {name!r}: {found[name]} and {path}. Give one "
                "image a subject (a narrower pattern), or ids of your own (a mapping of id to "
                "path)."
            )
        found[name] = path
    return found
