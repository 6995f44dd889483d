"""How a task is called: the same way in this process, in another one, and on a cluster."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, TypeVar

import joblib
from joblib.externals.loky.backend.reduction import dumps

from sgbn.moments import one_blas_thread

Task = TypeVar("Task")
Result = TypeVar("Result")


def call(function: Callable[[Task], Result], task: Task) -> Result:
    """Call with one BLAS thread: the number of threads changes the last bits of a product."""
    with one_blas_thread():
        return function(task)


def call_in_worker(function: Callable[[Task], Result], task: Task) -> Result:
    """Call in a worker, where tasks within the task run one after another."""
    # A task that calls `parallel` itself would otherwise start processes of its own, and there
    # would be more than processors.
    with joblib.parallel_config(backend="sequential"):
        return call(function, task)


def packed(content: Any) -> bytes:
    """Content as bytes; functions that workers cannot import are sent with it."""
    # Not pickle.dumps, which sends a function by its name only: a lambda or one of __main__ fails.
    return bytes(dumps(content))


def unpacked(content: bytes) -> Any:
    """Content from the bytes that `packed` made of it, in the same run."""
    return pickle.loads(content)  # noqa: S301 - only this program's own bytes come here
