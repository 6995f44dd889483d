"""Arrays as npy files; a file is only read if its header fits its size."""

from __future__ import annotations

import io
from math import prod
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from sgbn.exceptions import InputError
from sgbn.io.models.checks import require

VERSION = (1, 0)
MAX_HEADER_BYTES = 1024  # the header of plain numbers takes 118
MAX_AXES = 4
# The bytes are in this order on every machine.
DTYPES = ("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8")


def to_npy(array: NDArray[Any]) -> bytes:
    """Content of an npy file; the order of rows and columns in memory is kept."""
    stream = io.BytesIO()
    # Version 1.0 has the smallest header, and is what `from_npy` reads.
    npy.write_array(stream, plain(array), version=VERSION, allow_pickle=False)
    return stream.getvalue()


def plain(array: NDArray[Any]) -> NDArray[Any]:
    """Array of numbers with its bytes in the order of `DTYPES`; others raise InputError."""
    dtype = array.dtype.newbyteorder("<")  # big-endian machines write the same bytes
    if dtype.str not in DTYPES:
        raise InputError(f"an array of {array.dtype} cannot be saved, only one of numbers.")
    if array.ndim > MAX_AXES:
        raise InputError(f"an array of {array.ndim} axes cannot be saved, only up to {MAX_AXES}.")
    return array.astype(dtype, copy=False)


def from_npy(content: bytes) -> NDArray[Any]:
    """Array of an npy file, which the caller may change.

    numpy's own reader allocates what a header asks for, before it looks at the size of the file.
    """
    stream = io.BytesIO(content)
    try:
        version = npy.read_magic(stream)
        header = npy.read_array_header_1_0(stream, max_header_size=MAX_HEADER_BYTES)
    except Exception as error:  # numpy evaluates the header as text, and may fail anywhere
        raise InputError(f"it is not an npy file of version 1.0 ({_short(error)}).") from error
    shape, is_fortran, dtype = header
    check_shape(shape)
    require(version == VERSION, "it is an npy file of another version than 1.0.")
    require(dtype.str in DTYPES, f"it holds {dtype.str!r}, and not plain numbers.")
    # Python's whole numbers do not overflow, unlike numpy's: a huge shape cannot look small.
    size, rest = prod(shape) * dtype.itemsize, len(content) - stream.tell()
    require(size == rest, f"its header says {size} bytes of numbers, and {rest} follow.")
    # frombuffer gives a read-only view of the file; in_order copies it.
    flat = np.frombuffer(content, dtype, offset=stream.tell())
    return in_order(flat, shape, "F" if is_fortran else "C")


def in_order(flat: NDArray[Any], shape: tuple[int, ...], order: str) -> NDArray[Any]:
    """Return a copy of the numbers as an array of this shape and memory order."""
    array = flat.reshape(shape, order="F" if order == "F" else "C")
    # Native bytes to compute with. The order in memory is kept: sums in another order may differ in
    # the last bits, and predictions are to be the same.
    return array.astype(array.dtype.newbyteorder("="), order="K", copy=True)


def check_shape(shape: Any) -> None:
    """Raise InputError unless `shape` is the shape of an array; True and False are refused."""
    right = all(type(side) is int and side >= 0 for side in shape) and len(shape) <= MAX_AXES
    require(right, f"{tuple(shape)!r:.60} is not the shape of an array.")


def order_of(array: NDArray[Any]) -> str:
    """Order of an array in memory: "F" if columns come first, else "C"."""
    return "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:80] or type(error).__name__
