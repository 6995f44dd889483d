"""Write arrays as npy files, and read them. The header of a file must fit its size."""

from __future__ import annotations

import io
from typing import Any, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from sgbn.core.exceptions import InputError
from sgbn.io.models.checks import require

VERSION = (1, 0)
MAX_HEADER_BYTES = 1024  # the header of an array of plain numbers has 118 bytes
MAX_AXES = 4
# Little-endian on every machine, so that the same model gives the same file.
DTYPES = ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8")


def to_npy(array: NDArray[Any]) -> bytes:
    """Return the content of an npy file. The order of the array in memory (C or F) is kept."""
    stream = io.BytesIO()
    # Version 1.0 has the smallest header, and `from_npy` reads no other version.
    npy.write_array(stream, plain(array), version=VERSION, allow_pickle=False)
    return stream.getvalue()


def plain(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array with little-endian bytes; raise InputError unless it holds plain numbers."""
    dtype = array.dtype.newbyteorder("<")
    if dtype.str not in DTYPES or array.ndim > MAX_AXES:
        raise InputError(
            f"an array of {array.dtype} with {array.ndim} axes cannot be saved. Only "
            f"arrays of numbers with at most {MAX_AXES} axes can be saved."
        )
    return array.astype(dtype, copy=False)


def from_npy(content: bytes) -> NDArray[Any]:
    """Return the array of an npy file. The array is writeable.

    numpy's own reader is not used: it allocates the memory that a header asks for before it looks
    at the size of the file.
    """
    stream = io.BytesIO(content)
    try:
        require(npy.read_magic(stream) == VERSION, "its version is not 1.0")
        header = npy.read_array_header_1_0(stream, max_header_size=MAX_HEADER_BYTES)
        shape, is_fortran, dtype = header
        require(dtype.str in DTYPES, f"it holds {dtype.str!r}, which are not plain numbers")
        # frombuffer gives a read-only view of the file. in_order copies it.
        flat = np.frombuffer(content, dtype, offset=stream.tell())
        return in_order(flat, shape, "F" if is_fortran else "C")
    except Exception as error:  # numpy evaluates the header as text, and may fail anywhere
        reason = " ".join(str(error).split())[:80] or type(error).__name__
        raise InputError(f"it is not an npy file of a model ({reason}).") from error


def in_order(flat: NDArray[Any], shape: Any, order: str) -> NDArray[Any]:
    """Return a copy of the numbers as an array of this shape and memory order."""
    # `isinstance` would accept True and False as integers. For a side of -1, numpy would choose a
    # length.
    right = all(type(side) is int and side >= 0 for side in shape) and len(shape) <= MAX_AXES
    require(right, f"{shape!r:.60} is not the shape of an array.")
    array = flat.reshape(shape, order="F" if order == "F" else "C")
    # The bytes get the order of this machine, to compute with. The order of the cells is kept,
    # because sums in another order may differ in the last bits, and predictions must be the same.
    return array.astype(array.dtype.newbyteorder("="), order="K", copy=True)


def order_of(array: NDArray[Any]) -> Literal["C", "F"]:
    """Return the order of an array in memory: "F" if it is stored column by column, else "C"."""
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
