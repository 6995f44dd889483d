"""The one decorator under which every numerical kernel is compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numba


@cache
def _warn_no_cache() -> None:
    warnings.warn(
        "sgbn found no writable folder for numba's cache, so that kernels are compiled anew in "
        "every process. Set NUMBA_CACHE_DIR to a writable folder to avoid this.",
        stacklevel=4,
    )


def jit(kernel: Callable[..., Any]) -> Any:
    """Compile `kernel` with numba and keep the machine code on disk.

    Where no cache folder is writable (a read-only container), numba refuses to decorate at all;
    the kernel is then compiled in memory, after one warning.
    """
    try:
        return numba.njit(cache=True)(kernel)
    except RuntimeError:
        _warn_no_cache()
        return numba.njit(kernel)


def jit_inside(generator: Callable[..., Any]) -> Any:
    """Compile `generator` for use in other kernels, which keep it in their own cache.

    numba cannot use a generator that comes from the cache in a kernel that does not.
    """
    return numba.njit(generator)
