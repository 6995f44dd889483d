"""One BLAS thread at a time: the number of threads changes the last bits of a product."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController


class _OneBlasThread:
    """Context that threads share: the first one in sets the limit, the last one out lifts it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Without a count, a thread that leaves would give its threads back to BLAS while another
        # one is still in.
        self._inside = 0
        self._limited: Any = None
        self._of_thread = threading.local()

    def __enter__(self) -> None:
        depth = getattr(self._of_thread, "depth", 0)
        if not depth:  # each thread sets the limit: some builds of BLAS count threads per thread
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
    """Change the number of threads, whichever thread did so before."""
    # From version 3.8 on, threadpoolctl listens to the thread that set the first limit alone. Here
    # it does not see when that thread leaves.
    disown = getattr(OpenBLASController, "clear_controlling_thread", lambda **_: None)
    disown(force=True)
    try:
        return change()
    finally:
        disown(force=True)


@cache
def _threads() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 - its BLAS is another than numpy's, and must be loaded

    return ThreadpoolController()


_ONE_BLAS_THREAD = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """Return a context in which BLAS uses one thread."""
    return _ONE_BLAS_THREAD
