"""The input of a comparison: a cohort, or a table that is read as a cohort."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import fields
from os import PathLike
from typing import Any

import pandas as pd

from sgbn.cohort.cohort import Cohort, check_cohort
from sgbn.comparison.settings import Settings
from sgbn.core.exceptions import InputError, did_you_mean
from sgbn.read.files import Source
from sgbn.read.series import read_any, read_series
from sgbn.read.table import read_table

READING = tuple(  # the keywords of the readers, without the source
    dict.fromkeys(  # each keyword once, in the order that a message shows
        name
        for reader in (read_table, read_series)
        for name in list(inspect.signature(reader).parameters)[1:]
    )
)


def read_source(
    source: Cohort | Source, reading: Mapping[str, Any], keywords: Iterable[str] = ()
) -> Cohort:
    """Return the cohort, or read it from a table.

    Parameters
    ----------
    source : Cohort, DataFrame or path
        A cohort, or the table to read. `read_series` reads time series, and `read_table` reads
        other tables.
    reading : mapping
        The keywords of the reader and their values.
    keywords : iterable of str
        The keywords of the function that the user called. An error may propose them.

    Raises
    ------
    InputError
        If the reader does not have a keyword, or if there are keywords and the source is a cohort.
    """
    # Keywords are checked before the file is read, which may take minutes.
    for name in reading:
        _check_keyword(name, keywords)
    if isinstance(source, pd.DataFrame | str | PathLike):
        # `READING` has the keywords of both readers. `read_any` refuses keywords of the other one.
        return read_any(source, **reading)
    check_cohort(source)
    if reading:
        raise InputError(
            f"{next(iter(reading))}= says how to read a table, but the Cohort has been read "
            f"already. Give {next(iter(reading))}= to read_table, or give the table in place of "
            "the Cohort."
        )
    return source


def check_settings(settings: Any) -> Settings:
    """Return the settings, or the default settings for None. Raise InputError for other types."""
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
