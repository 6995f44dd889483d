"""NIfTI images, of which one volume is in memory at a time, and the subject that each belongs to.

Reading needs nibabel (the `brain` extra). Damaged headers and archives raise errors of a dozen
types. All of them become an `InputError` that names the file.
"""

from __future__ import annotations

import glob
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array
from sgbn.core.validation import check_name_lengths
from sgbn.read.cells import of_file, of_subject, repeated

MAX_VOXELS = 2**30  # 1024 voxels per side; a header with more is damaged


class Grid(NamedTuple):
    """The shape of an image and the position of its voxels. Grids can be compared and hashed.

    Attributes
    ----------
    shape : tuple of int
        Number of voxels along each axis.
    rows : tuple of float
        The 16 numbers of the affine, row by row.
    """

    shape: tuple[int, int, int]
    rows: tuple[float, ...]

    @property
    def affine(self) -> Array:
        """Return the 4 x 4 matrix that turns voxel numbers into mm."""
        return np.array(self.rows).reshape(4, 4)

    @property
    def voxel_volume(self) -> float:
        """Return the volume of a voxel in cubic mm."""
        # The columns are the steps along the three axes of the voxels, in mm. Unlike np.linalg.det,
        # the triple product is exact if the steps are parallel to the axes of space.
        x, y, z = self.affine[:3, :3].T
        return float(abs(x @ np.cross(y, z)))

    def __str__(self) -> str:
        sizes = np.linalg.norm(self.affine[:3, :3], axis=0)
        size = " x ".join(f"{round(float(mm), 3):g}" for mm in sizes)
        return f"{' x '.join(map(str, self.shape))} voxels of {size} mm"


def nibabel() -> ModuleType:
    """Return the package nibabel. Raise InputError if it is not installed."""
    try:
        import nibabel as package
    except ImportError as error:
        raise InputError("library.images").says(
            "images need nibabel and nilearn", 'Install them: pip install "sgbn[brain]".'
        ) from error
    return package


@contextmanager
def reading(source: Problem) -> Iterator[None]:
    """Turn any error of the block into an InputError that names the file."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError("image.unreadable", where=source, cause=error).says(
            "{where} the image cannot be read ({cause})",
            "Make or copy the file again, or leave it out.",
        ) from error


def open_image(path: str | Path, source: Problem | None = None) -> Any:
    """Return an image. Its header is read now, its voxels are read later."""
    nib, source = nibabel(), source or of_file(path)
    with reading(source):
        image = nib.load(path)
    if not isinstance(image, nib.spatialimages.SpatialImage):
        raise InputError("image.kind", where=source, kind=type(image).__name__).says(
            "{where} the file contains a {kind:s}, not voxels", "Give a NIfTI volume."
        )
    return image


def spatial_shape(image: Any, source: Problem) -> tuple[tuple[int, int, int], int]:
    """Return the shape of a volume and the number of volumes.

    Raise InputError if the image does not have three or four dimensions, if a volume is too large,
    or if the voxels are not real numbers.
    """
    shape = tuple(int(n) for n in image.shape)
    while len(shape) > 3 and shape[-1] == 1:  # one volume may be written as (x, y, z, 1)
        shape = shape[:-1]
    if len(shape) not in (3, 4) or min(shape) < 1 or math.prod(shape[:3]) > MAX_VOXELS:
        raise InputError("image.shape", where=source, shape=shape).says(
            "{where} the image has the shape {shape}", "Give three dimensions, or time as fourth."
        )
    # The voxels of RGB images are records. The voxels of some maps are complex numbers.
    kind = image.get_data_dtype()
    if kind.kind not in "iuf":
        raise InputError("image.type", where=source, kind=str(kind)).says(
            "{where} the voxels are of type {kind}", "Give an image of real numbers."
        )
    return shape[:3], shape[3] if len(shape) == 4 else 1  # type: ignore[return-value]


def grid_of(image: Any, source: Problem) -> Grid:
    """Return the grid of an image. Raise InputError if its affine cannot be inverted."""
    shape, _ = spatial_shape(image, source)
    # An affine without an inverse would map the brain to a plane.
    affine = None if image.affine is None else np.asarray(image.affine, dtype=np.float64)
    if affine is None or not np.isfinite(affine).all() or not np.linalg.det(affine[:3, :3]):
        raise InputError("image.affine", where=source).says(
            "{where} the affine of the image cannot be inverted",
            "Make the file again with the tool that normalised it.",
        )
    return Grid(shape, tuple(affine.ravel().tolist()))


def has_orientation(image: Any) -> bool:
    """Return whether the header gives the position of voxels. If not, nibabel has guessed it."""
    header = image.header
    # Formats other than NIfTI, such as MGH, always give the position.
    if not hasattr(header, "get_sform"):
        return True
    return bool(header["sform_code"] > 0 or header["qform_code"] > 0)


def volumes(image: Any, source: Problem) -> Iterator[NDArray[np.floating[Any]]]:
    """Yield the volumes one by one, each as a flat array in Fortran order.

    Voxels are float32 if this type represents the stored numbers exactly, else float64.
    """
    # The file is read as one stream, with one volume in memory. nibabel would unpack a compressed
    # file from its beginning for each volume.
    from nibabel.arrayproxy import ArrayProxy
    from nibabel.openers import ImageOpener

    shape, n_volumes = spatial_shape(image, source)
    size, proxy = math.prod(shape), image.dataobj
    with reading(source):
        if type(proxy) is not ArrayProxy:  # a format with another layout, or an image in memory
            whole = np.asanyarray(proxy).reshape(size, n_volumes, order="F")
            yield from np.ascontiguousarray(whole.T, dtype=np.result_type(np.float32, whole))
            return
        n_bytes = size * proxy.dtype.itemsize  # of one volume, not compressed
        with ImageOpener(proxy.file_like) as stream:
            stream.seek(proxy.offset)
            for number in range(n_volumes):
                raw = stream.read(n_bytes)
                if len(raw) < n_bytes:
                    raise EOFError(f"the file ends within volume {number + 1} of {n_volumes}")
                yield _scaled(np.frombuffer(raw, proxy.dtype), proxy.slope, proxy.inter)
            while stream.read(2**20):  # the checksum of a gzip file is checked only at its end
                pass


def _scaled(raw: NDArray[Any], slope: float, inter: float) -> NDArray[np.floating[Any]]:
    # Files may be big-endian. The result is a copy, because `raw` is read-only.
    values = raw.astype(np.result_type(np.float32, raw.dtype.newbyteorder("=")))
    # Most files need no scaling. Skipping it saves a pass over all voxels.
    if slope != 1:
        values *= slope
    if inter != 0:
        values += inter
    return values


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
        raise _no_image()
    return files


def _no_image() -> InputError:
    return InputError("images.none").says(
        "no image was given", "Give files, patterns or folders with .nii(.gz) files."
    )


def _matches(pattern: str) -> list[Path]:
    """Return the files that match one name, pattern or folder."""
    path = Path(pattern)
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.name.lower().endswith(ENDINGS))
        if not files:
            raise InputError("images.folder", folder=path).says(
                "{folder} contains no .nii or .nii.gz file", "Give another folder."
            )
        return files
    if path.exists() or not glob.has_magic(pattern):  # a file name may contain brackets
        return [path]
    files = sorted(p for p in map(Path, glob.glob(pattern, recursive=True)) if p.is_file())
    if not files:
        raise InputError("images.pattern", file=pattern).says(
            "no file matches {file}", "Check the pattern and the folder."
        )
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
            raise InputError("ids.both").says(
                "ids are given twice, in images and in ids", "Leave out ids, or list the images."
            )
        ids, images = [str(name) for name in images], list(images.values())
    one = isinstance(images, str | Path)
    paths = find_images([image_path(images)]) if one else _paths(images)
    if not paths:
        raise _no_image()
    names = [subject_id(path) for path in paths] if ids is None else _given_ids(ids, len(paths))
    check_name_lengths(names, "id of a subject")  # the ids become names of files
    if same := repeated(names):
        raise InputError("images.same-id", subject=names[same[0]]).says(
            "two images belong to {subject}", "Give one per subject, or map each id to a path."
        )
    return dict(zip(names, paths, strict=True))


def image_path(image: object) -> Path:
    """Return the path of an image. Raise InputError if `image` is not a path."""
    if not isinstance(image, str | os.PathLike):
        raise InputError("images.type", kind=type(image).__name__).says(
            "an image is a {kind:s}, not the path of a file", "Save it, and give its path."
        )
    if "\0" in str(image):
        raise InputError("file.unreadable", where=of_subject(image)).says(
            "{where} this cannot be a path", "Remove the NUL character."
        )
    return Path(image)


def _paths(images: object) -> list[Path]:
    if not isinstance(images, Iterable) or hasattr(images, "dataobj"):
        raise InputError("images.list", kind=type(images).__name__).says(
            "images is a {kind:s}", "Give a list of files, a mapping of id to file, or a folder."
        )
    return [image_path(image) for image in images]


def _given_ids(ids: object, n: int) -> list[str]:
    # A text is also iterable, but it is not a list of ids.
    names = list(map(str, ids)) if isinstance(ids, Iterable) and not isinstance(ids, str) else []
    if len(names) != n:
        raise InputError("ids.number", n=n).says(
            "ids is not a list of {n:id}", "Give one id per image."
        )
    return names
