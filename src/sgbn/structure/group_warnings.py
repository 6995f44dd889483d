"""A context in which warnings name the group or class that they are about."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from sgbn.core.exceptions import DataWarning


@contextmanager
def warnings_about(what: str) -> Iterator[None]:
    """Put `what`, such as "group 'CTR'", in front of warnings about data and convergence.

    Warnings that already contain `what` are not changed. Warnings of other classes, such as
    `OutlierWarning`, are not changed either.
    """
    show = warnings.showwarning

    def name(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        unnamed = category in (DataWarning, ConvergenceWarning) and what not in str(message)
        show(category(f"{what}: {message}") if unnamed else message, category, *where, **more)

    # Python then also forgets earlier warnings, so that it shows the same warning for each group.
    with warnings.catch_warnings():
        warnings.showwarning = name
        yield
