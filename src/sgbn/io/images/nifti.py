"""The reader of NIfTI images, which holds one volume in memory at a time.

It needs nibabel (the `brain` extra). Damaged headers and archives raise errors of a dozen types.
All of them become an `InputError` that names the file.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sgbn.core.exceptions import InputError
from sgbn.core.types import Array

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
        raise InputError(
            'images need nibabel and nilearn. Install them: pip install "sgbn[brain]".'
        ) from error
    return package


@contextmanager
def reading(path: object) -> Iterator[None]:
    """Turn any error of the block into an InputError that names the file."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(
            f"{path} cannot be read as an image ({reason}). Make or copy the file again, or leave "
            "it out."
        ) from error


def open_image(path: str | Path) -> Any:
    """Return an image. Its header is read now, its voxels are read later."""
    nib = nibabel()
    if not Path(path).is_file():
        raise InputError(f"the file {path} does not exist. Check the path, or leave the file out.")
    with reading(path):
        image = nib.load(path)
    if not isinstance(image, nib.spatialimages.SpatialImage):
        raise InputError(
            f"{path} contains a {type(image).__name__}, not voxels. Give a NIfTI volume."
        )
    return image


def spatial_shape(image: Any, path: object) -> tuple[tuple[int, int, int], int]:
    """Return the shape of a volume and the number of volumes.

    Raise InputError if the image does not have three or four dimensions, if a volume is too large,
    or if the voxels are not real numbers.
    """
    shape = tuple(int(n) for n in image.shape)
    while len(shape) > 3 and shape[-1] == 1:  # one volume may be written as (x, y, z, 1)
        shape = shape[:-1]
    if len(shape) not in (3, 4) or min(shape) < 1 or math.prod(shape[:3]) > MAX_VOXELS:
        raise InputError(
            f"{path} has the shape {shape}. Give an image with three dimensions, or with time as "
            "the fourth dimension."
        )
    # The voxels of RGB images are records. The voxels of some maps are complex numbers.
    if image.get_data_dtype().kind not in "iuf":
        raise InputError(
            f"{path} has voxels of type {image.get_data_dtype()}. Give an image of real numbers."
        )
    return shape[:3], shape[3] if len(shape) == 4 else 1  # type: ignore[return-value]


def grid_of(image: Any, path: object) -> Grid:
    """Return the grid of an image. Raise InputError if its affine cannot be inverted."""
    shape, _ = spatial_shape(image, path)
    # An affine without an inverse would map the brain to a plane.
    affine = None if image.affine is None else np.asarray(image.affine, dtype=np.float64)
    if affine is None or not np.isfinite(affine).all() or not np.linalg.det(affine[:3, :3]):
        raise InputError(
            f"{path} does not say where its voxels are (its affine cannot be inverted). Make the "
            "file again with the tool that normalised it."
        )
    return Grid(shape, tuple(affine.ravel().tolist()))


def has_orientation(image: Any) -> bool:
    """Return whether the header gives the position of voxels. If not, nibabel has guessed it."""
    header = image.header
    # Formats other than NIfTI, such as MGH, always give the position.
    if not hasattr(header, "get_sform"):
        return True
    return bool(header["sform_code"] > 0 or header["qform_code"] > 0)


def volumes(image: Any, path: object) -> Iterator[NDArray[np.floating[Any]]]:
    """Yield the volumes one by one, each as a flat array in Fortran order.

    Voxels are float32 if this type represents the stored numbers exactly, else float64.
    """
    # The file is read as one stream, with one volume in memory. nibabel would unpack a compressed
    # file from its beginning for each volume.
    from nibabel.arrayproxy import ArrayProxy
    from nibabel.openers import ImageOpener

    shape, n_volumes = spatial_shape(image, path)
    size, proxy = math.prod(shape), image.dataobj
    with reading(path):
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
