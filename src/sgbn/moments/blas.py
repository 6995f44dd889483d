"""Limit BLAS to one thread, because the number of threads changes the last bits of a product."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController


class _OneBlasThread:
    """A context in which BLAS uses one thread. All threads of Python share it.

    The first thread to enter sets the limit. The last thread to leave lifts it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Without this count, a thread that leaves would lift the limit while others still need it.
        self._inside = 0
        self._limited: Any = None
        self._of_thread = threading.local()

    def __enter__(self) -> None:
        depth = getattr(self._of_thread, "depth", 0)
        if not depth:  # each thread sets the limit: in some builds of BLAS it is per thread
            with self._lock:
                limited = _unowned(lambda: _threads().limit(limits=1, user_api="blas"))
                if not self._inside:
                    self._limited = limited
                self._inside += 1
        self._of_thread.depth = depth + 1

    def __exit__(self, *_: object) -> None:
        self._of_thread.depth -= 1
        if not self._of_thread.depth:
            with self._lock:
                self._inside -= 1
                if not self._inside:
                    _unowned(self._limited.restore_original_limits)


def _unowned(change: Callable[[], Any]) -> Any:
    """Change the number of BLAS threads, even if another thread set it before."""
    # From version 3.8 upwards, threadpoolctl obeys only the thread that set the first limit. It
    # does not notice when that thread leaves this context.
    disown = getattr(OpenBLASController, "clear_controlling_thread", lambda **_: None)
    disown(force=True)
    try:
        return change()
    finally:
        disown(force=True)


@cache
def _threads() -> ThreadpoolController:
    """Return the controller of all BLAS libraries that are loaded."""
    import scipy.linalg  # noqa: F401 - scipy has its own BLAS, which must be loaded

    return ThreadpoolController()


_ONE_BLAS_THREAD = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """Return a context in which BLAS uses one thread."""
    return _ONE_BLAS_THREAD
