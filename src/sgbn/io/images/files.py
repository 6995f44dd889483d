"""The search for images, and for the subject that each image belongs to."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from sgbn.core.exceptions import InputError, counted
from sgbn.core.validation import check_name_lengths

ENDINGS = (".nii.gz", ".nii")
# Such files are read if they are named, but a folder is not searched for them.
OTHER_ENDINGS = (".mgz", ".mgh", ".img.gz", ".img", ".hdr")

# sub-01 or sub-01_ses-2, anywhere in a name.
_BIDS = re.compile(r"sub-[A-Za-z0-9]+(?:_ses-[A-Za-z0-9]+)?")
_SESSION = re.compile(r"ses-[A-Za-z0-9]+")
# Prefixes that SPM and CAT12 give to normalised tissue maps: mwp1, m0wp1, s8mwp1, swc1, ...
# The prefixes of maps in native space (c1, p1) are kept: "c1023" may be a control. A prefix before
# a digit is kept too: "wc2001" may be the map wc2 of subject 001, or a subject called wc2001.
_TISSUE = re.compile(r"^(?:s\d*)?(?:m0?)?w[pc][1-3](?=\D)")


def find_images(patterns: Iterable[str | Path], exclude: Iterable[str | Path] = ()) -> list[Path]:
    """Return the image files that match file names, patterns (``*``, ``?``, ``**``) and folders.

    Parameters
    ----------
    patterns : iterable of str or path
        File names, patterns and folders. A folder means all ``.nii`` and ``.nii.gz`` files in it
        and in the folders below. The name of a file that does not exist is returned unchanged. The
        file is reported later, together with other bad files.
    exclude : iterable of path
        Files to leave out because they are not images of subjects, such as the atlas.

    Returns
    -------
    list of Path
        Paths of the files without repeats, sorted within each pattern.
    """
    unwanted = {Path(path).resolve() for path in exclude}
    matches = dict.fromkeys(path for pattern in patterns for path in _matches(str(pattern)))
    files = [path for path in matches if path.resolve() not in unwanted]
    if not files:
        raise InputError(
            "no image was given. Give files, patterns or folders with .nii(.gz) files."
        )
    return files


def _matches(pattern: str) -> list[Path]:
    """Return the files that match one name, pattern or folder."""
    path = Path(pattern)
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.name.lower().endswith(ENDINGS))
        if not files:
            raise InputError(
                f"the folder {pattern} contains no .nii or .nii.gz file. Give another folder."
            )
        return files
    if path.exists() or not glob.has_magic(pattern):  # a file name may contain brackets
        return [path]
    files = sorted(p for p in map(Path, glob.glob(pattern, recursive=True)) if p.is_file())
    if not files:
        raise InputError(f"no file matches {pattern!r}. Check the pattern and the folder.")
    return files


def subject_id(path: str | Path) -> str:
    """Return the id of the subject, from the name of an image.

    If the file name or the folders above it (``sub-XX/ses-YY``) contain the BIDS entity
    ``sub-XX``, this is the id, followed by ``ses-YY`` if there is one. If there is no ``sub-XX``,
    the id is the file name without its ending, and without a prefix of SPM or CAT12 such as
    ``mwp1``. A prefix before a digit is kept, because ``wc2001`` may be the map ``wc2`` of subject
    ``001`` or a subject called ``wc2001``.

    Examples
    --------
    >>> subject_id("derivatives/sub-01_ses-2_space-MNI_label-GM_probseg.nii.gz")
    'sub-01_ses-2'
    >>> subject_id("sub-01/ses-2/anat/gm.nii.gz")
    'sub-01_ses-2'
    >>> subject_id("mwp1patient7.nii")
    'patient7'
    >>> subject_id("wc2001.nii")
    'wc2001'
    """
    path = Path(path)
    # Many pipelines name only the folder after the subject. The file is just gm.nii.gz.
    above = _folder_id(path.parent.parts)
    entity = _BIDS.search(path.name)
    if entity:  # the folders may add the session of the same subject
        return above if above.startswith(f"{entity[0]}_ses-") else entity[0]
    if above:
        return above
    return _TISSUE.sub("", stem(path)).lstrip("_- ") or stem(path)


def _folder_id(folders: Sequence[str]) -> str:
    """Return the BIDS id in the names of folders, with the session if there is one, or ""."""
    # The last match counts, because a study may be in a folder that is named like a subject.
    places = [k for k, folder in enumerate(folders) if _BIDS.fullmatch(folder)]
    if not places:
        return ""
    subject, *below = folders[places[-1] :]
    session = below[0] if below and _SESSION.fullmatch(below[0]) else ""
    return f"{subject}_{session}" if session and "_ses-" not in subject else subject


def stem(path: str | Path) -> str:
    """Return the file name without its ending, such as ``.nii.gz``."""
    name = Path(path).name
    for ending in (*ENDINGS, *OTHER_ENDINGS):
        # Without its ending, a file called ".nii" would have no name.
        if name.lower().endswith(ending) and len(name) > len(ending):
            return name[: -len(ending)]
    return Path(name).stem


def images_by_subject(
    images: str | Path | Sequence[str | Path] | Mapping[str, str | Path],
    ids: Sequence[str] | None = None,
) -> dict[str, Path]:
    """Return id -> path of each image. Two images with the same id are an error."""
    if isinstance(images, Mapping):
        if ids is not None:
            raise InputError(
                "ids are given twice, in `images` and in `ids`. Leave out `ids`, or give `images` "
                "as a list."
            )
        ids, images = [str(name) for name in images], list(images.values())
    paths = find_images([images]) if isinstance(images, str | Path) else _paths(images)
    if not paths:
        raise InputError("no image was given. Give at least one.")
    names = [subject_id(path) for path in paths] if ids is None else _given_ids(ids, len(paths))
    check_name_lengths(names, "id of a subject")  # the ids become names of files
    by_subject: dict[str, Path] = {}
    for name, path in zip(names, paths, strict=True):
        if name in by_subject:
            raise InputError(
                f"two images have the subject id {name!r}: {by_subject[name]} and {path}. Give a "
                "narrower pattern that matches one image per subject, or a mapping of id to path."
            )
        by_subject[name] = path
    return by_subject


def image_path(image: object) -> Path:
    """Return the path of an image. Raise InputError if `image` is not a path."""
    if not isinstance(image, str | os.PathLike):
        raise InputError(
            f"an image is a {type(image).__name__}, not the path of a file. Save an image that is "
            "in memory with nibabel.save, and give its path."
        )
    return Path(image)


def _paths(images: object) -> list[Path]:
    if not isinstance(images, Iterable) or hasattr(images, "dataobj"):
        raise InputError(
            f"images is a {type(images).__name__}. Give a list of image files, a mapping of id to "
            "file, or a folder."
        )
    return [image_path(image) for image in images]


def _given_ids(ids: object, n: int) -> list[str]:
    # A text is also iterable, but it is not a list of ids.
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise InputError(f"ids is {ids!r}, not a list. Give a list with one id per image.")
    names = [str(name) for name in ids]
    if len(names) != n:
        raise InputError(
            f"ids has {counted(len(names), 'id')} for {counted(n, 'image')}. Give one per image."
        )
    return names
