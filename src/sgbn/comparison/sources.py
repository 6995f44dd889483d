"""What a comparison is given: a cohort, or a table that is read into one."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import fields
from os import PathLike
from typing import Any

import pandas as pd

from sgbn.cohort import Cohort, check_cohort
from sgbn.comparison.settings import Settings
from sgbn.exceptions import InputError, did_you_mean
from sgbn.io import read_series, read_table
from sgbn.io.series import read_any
from sgbn.io.tables.files import Source

READING = tuple(  # keywords of the readers: all but the source
    dict.fromkeys(  # each once, in their order, which a message shows
        name
        for reader in (read_table, read_series)
        for name in list(inspect.signature(reader).parameters)[1:]
    )
)


def read_source(
    source: Cohort | Source, reading: Mapping[str, Any], keywords: Iterable[str] = ()
) -> Cohort:
    """Return the cohort, or read it with the keywords `reading`.

    What is given decides: time series are read by `read_series`, other tables by `read_table`.

    `keywords` are those of the function that was called, which an error may propose.

    Raises
    ------
    InputError
        If there is a keyword that the reader lacks, or one beside a cohort.
    """
    # before the file is read, which may take minutes
    for name in reading:
        _check_keyword(name, keywords)
    if isinstance(source, pd.DataFrame | str | PathLike):
        # It refuses itself what its reader lacks: `READING` has the keywords of both.
        return read_any(source, **reading)
    check_cohort(source)
    if reading:
        raise InputError(
            f"{next(iter(reading))}= says how a table is read, and a Cohort has been read already. "
            "Give it to read_table, or give the table in place of the cohort."
        )
    return source


def check_settings(settings: Any) -> Settings:
    """Return the settings, by default all of them at their defaults."""
    if settings is None:
        return Settings()
    if isinstance(settings, Settings):
        return settings
    remedy = "Settings(n_permutations=199) or Settings.quick()"
    if isinstance(settings, Mapping):
        remedy = "Settings(**settings)"
    raise InputError(f"settings is a {type(settings).__name__}: give sgbn.{remedy}.")


def _check_keyword(name: str, keywords: Iterable[str]) -> None:
    if name in READING:
        return
    if name in [field.name for field in fields(Settings)]:
        raise InputError(f"{name}= is a setting: give settings=sgbn.Settings({name}=...).")
    raise InputError(
        f"compare has no keyword {name!r}. {did_you_mean(name, (*READING, *keywords))}"
    )
