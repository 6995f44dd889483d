"""Reading NIfTI images, one volume at a time.

Needs nibabel (the `brain` extra). Whatever is wrong with a file becomes an `InputError` that names
it: corrupt headers and archives raise errors of a dozen types.
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

from sgbn.exceptions import InputError
from sgbn.types import Array

MAX_VOXELS = 2**30  # 1024 per side; a header that says more is damaged


class Grid(NamedTuple):
    """Voxels of an image and where they lie: can be compared and hashed."""

    shape: tuple[int, int, int]
    rows: tuple[float, ...]  # the 16 numbers of the affine, row by row

    @property
    def affine(self) -> Array:
        """Return the matrix from voxel numbers to mm."""
        return np.array(self.rows).reshape(4, 4)

    @property
    def voxel_volume(self) -> float:
        """Return cubic mm per voxel, whatever the directions of its axes."""
        # The columns are the steps along the three axes of the voxels, in mm.
        x, y, z = self.affine[:3, :3].T
        return float(abs(x @ np.cross(y, z)))  # exact for voxels along the axes, as det is not

    def __str__(self) -> str:
        sizes = np.linalg.norm(self.affine[:3, :3], axis=0)
        size = " x ".join(f"{round(float(mm), 3):g}" for mm in sizes)
        return f"{' x '.join(map(str, self.shape))} voxels of {size} mm"


def nibabel() -> ModuleType:
    """Import nibabel, or say how to get it."""
    try:
        import nibabel as package
    except ImportError as error:
        raise InputError('images need nibabel and nilearn: pip install "sgbn[brain]".') from error
    return package


@contextmanager
def reading(path: object) -> Iterator[None]:
    """Turn any error of the block into one that names the file."""
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
    """Return an image whose header is read, and whose voxels are not yet."""
    nib = nibabel()
    if not Path(path).is_file():
        raise InputError(f"{path}: there is no such file. Check the path, or leave it out.")
    with reading(path):
        image = nib.load(path)
    if not isinstance(image, nib.spatialimages.SpatialImage):
        raise InputError(
            f"{path} holds a {type(image).__name__}, not a volume of voxels. Give a NIfTI volume."
        )
    return image


def spatial_shape(image: Any, path: object) -> tuple[tuple[int, int, int], int]:
    """Return the shape of a volume, and the number of volumes."""
    shape = tuple(int(n) for n in image.shape)
    while len(shape) > 3 and shape[-1] == 1:  # one volume may be written as (x, y, z, 1)
        shape = shape[:-1]
    if len(shape) not in (3, 4) or min(shape) < 1 or math.prod(shape[:3]) > MAX_VOXELS:
        raise InputError(
            f"{path} has the shape {shape}. Give an image of three dimensions, or of four with "
            "time as the last."
        )
    # RGB images hold records, and some maps complex numbers.
    if image.get_data_dtype().kind not in "iuf":
        raise InputError(
            f"{path} holds voxels of type {image.get_data_dtype()}. Give an image of real numbers."
        )
    return shape[:3], shape[3] if len(shape) == 4 else 1  # type: ignore[return-value]


def grid_of(image: Any, path: object) -> Grid:
    """Return the grid of an image; an affine that cannot be inverted is an error."""
    shape, _ = spatial_shape(image, path)
    # An affine without an inverse maps the brain to a plane.
    affine = None if image.affine is None else np.asarray(image.affine, dtype=np.float64)
    if affine is None or not np.isfinite(affine).all() or not np.linalg.det(affine[:3, :3]):
        raise InputError(
            f"{path} does not say where its voxels are (its affine cannot be inverted). Make the "
            "file again with the tool that normalised it."
        )
    return Grid(shape, tuple(affine.ravel().tolist()))


def has_orientation(image: Any) -> bool:
    """Whether the header says where the voxels are; else the affine is a guess of nibabel."""
    header = image.header
    # MGH and others always say where they are.
    if not hasattr(header, "get_sform"):
        return True
    return bool(header["sform_code"] > 0 or header["qform_code"] > 0)


def volumes(image: Any, path: object) -> Iterator[NDArray[np.floating[Any]]]:
    """Yield volumes in turn, each flat in Fortran order, as stored; one at a time is in memory.

    Voxels are float32 where that holds them exactly, else float64. The file is read as one stream:
    nibabel would unpack a compressed file from its beginning for each volume.
    """
    from nibabel.arrayproxy import ArrayProxy
    from nibabel.openers import ImageOpener

    shape, n_volumes = spatial_shape(image, path)
    size, proxy = math.prod(shape), image.dataobj
    with reading(path):
        if type(proxy) is not ArrayProxy:  # formats with a layout of their own, images in memory
            whole = np.asanyarray(proxy).reshape(size, n_volumes, order="F")
            yield from np.ascontiguousarray(whole.T, dtype=np.result_type(np.float32, whole))
            return
        # Uncompressed bytes of one volume, in the order in which the file has them.
        n_bytes = size * proxy.dtype.itemsize
        with ImageOpener(proxy.file_like) as stream:
            stream.seek(proxy.offset)
            for number in range(n_volumes):
                raw = stream.read(n_bytes)
                if len(raw) < n_bytes:
                    raise EOFError(f"the file ends within volume {number + 1} of {n_volumes}")
                yield _scaled(np.frombuffer(raw, proxy.dtype), proxy.slope, proxy.inter)
            while stream.read(2**20):  # an archive checks its sum only at its end
                pass


def _scaled(raw: NDArray[Any], slope: float, inter: float) -> NDArray[np.floating[Any]]:
    # Files may be big-endian. A copy is needed, since the bytes read cannot be written to.
    values = raw.astype(np.result_type(np.float32, raw.dtype.newbyteorder("=")))
    # Most files need no scaling, and this spares a pass over all voxels.
    if slope != 1:
        values *= slope
    if inter != 0:
        values += inter
    return values
