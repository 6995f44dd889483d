"""Expect a problem by its code, so that a test holds whatever the words of the message are."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from sgbn import DataWarning, InputError
from sgbn.core.problems import problem_of


@contextmanager
def refused(code: str, kind: type[Exception] = InputError) -> Iterator[pytest.ExceptionInfo]:
    """Expect an error whose problem has this code."""
    with pytest.raises(kind) as caught:
        yield caught
    assert problem_of(caught.value).code == code


@contextmanager
def warned(code: str, kind: type[Warning] = DataWarning) -> Iterator[pytest.WarningsRecorder]:
    """Expect a warning whose problem has this code."""
    with pytest.warns(kind) as caught:
        yield caught
    assert code in [problem_of(warning.message).code for warning in caught]
