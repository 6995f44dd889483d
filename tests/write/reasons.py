"""Expect that a model is refused because of one part, however deep in the message this stands."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sgbn.core.problems import InputError


@contextmanager
def wrong(part: str) -> Iterator[None]:
    """Expect the part or code of the innermost problem, or the type of an error of a library."""
    with pytest.raises(InputError) as caught:
        yield
    error = caught.value
    while isinstance(error, InputError) and "cause" in error.problem.values:
        error = error.problem.values["cause"]
    if isinstance(error, InputError):
        assert error.problem.values.get("part", error.problem.code) == part
    else:
        assert type(error).__name__ == part
