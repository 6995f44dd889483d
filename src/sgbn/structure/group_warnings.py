"""Warnings about the rows of one group or class say which."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from sgbn.exceptions import DataWarning


@contextmanager
def warnings_about(what: str) -> Iterator[None]:
    """Begin warnings about data and convergence with `what`, such as "group 'CTR'".

    One that has it already stays as it is. Others, such as `OutlierWarning`, do so too.
    """
    show = warnings.showwarning

    def name(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        unnamed = category in (DataWarning, ConvergenceWarning) and what not in str(message)
        show(category(f"{what}: {message}") if unnamed else message, category, *where, **more)

    with warnings.catch_warnings():  # it also forgets what was said of another group before
        warnings.showwarning = name
        yield
