"""Call a task in the same way in this process, in another process, and on a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, TypeVar

import joblib
from joblib.externals.loky.backend.reduction import dumps

from sgbn.core.moments import one_blas_thread

Task = TypeVar("Task")
Result = TypeVar("Result")


def call(function: Callable[[Task], Result], task: Task) -> Result:
    """Call the function with one BLAS thread."""
    # The number of threads changes the last bits of a matrix product.
    with one_blas_thread():
        return function(task)


def call_in_worker(function: Callable[[Task], Result], task: Task) -> Result:
    """Call the function in a worker, where tasks within the task run one after another."""
    # Without this, tasks that call `parallel` would start more processes than processors exist.
    with joblib.parallel_config(backend="sequential"):
        return call(function, task)


def packed(content: Any) -> bytes:
    """Return the content as bytes. It may hold functions that workers cannot import."""
    # pickle.dumps sends only the name of a function, which fails for lambdas and __main__.
    return bytes(dumps(content))


def unpacked(content: bytes) -> Any:
    """Return the content of bytes that `packed` made in the same run."""
    return pickle.loads(content)  # noqa: S301 - the bytes come from this program only
