"""The settings of a run as a TOML file. Every run writes one, and ``--config`` repeats the run.

Paths in the file are relative to its folder, so that a folder with data and results can be moved.
"""

from __future__ import annotations

import argparse
import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sgbn.cli.options import LEARNER, QUICK, SERIES, SETTINGS, TABLE
from sgbn.cohort.atlas import names_table
from sgbn.core.exceptions import InputError, did_you_mean

TABLES = "tables"  # the only key of a config that is an argument without dashes
OPTIONS = {one.name: one.dest for one in (*TABLE, *SERIES, *LEARNER, *SETTINGS)} | {TABLES: TABLES}
ATLAS = "atlas"
PATHS = {TABLES, *(one.name for one in TABLE if one.kind.get("type") is Path)}


def config_text(path: Path, chosen: Mapping[str, Any]) -> str:
    """Return the text of a config file.

    Parameters
    ----------
    path : path
        Where the file will be written. Paths in the file are relative to its folder.
    chosen : dict
        Name of each argument in Python -> its value. Values that are None, and names that are not
        options, are left out.
    """
    import tomli_w

    # Sorted, so that the same run writes the same file.
    # TOML has no null: an option that is None is left out, and is read as not given.
    given = {name: chosen.get(dest) for name, dest in sorted(OPTIONS.items())}
    written = {
        name: _relative(value, path.parent) if _is_path(name, value) else _plain(value)
        for name, value in given.items()
        if value is not None
    }
    head = "# Repeats this run: sgbn compare --config THIS_FILE --out NEW_FOLDER\n"
    return head + tomli_w.dumps(written)


def with_config(parser: argparse.ArgumentParser, words: Sequence[str]) -> list[str]:
    """Add the options of the ``--config`` file to a command line, whose options take precedence.

    Parameters
    ----------
    parser : ArgumentParser
        The parser of the command, which has an option ``--config``.
    words : sequence of str
        The words of the command line after the name of the command.
    """
    given = _given(parser, words)
    path = given.pop("config", None)
    if path is None:
        return list(words)
    # If --quick is on the command line, it replaces the file's values of the options that it sets.
    replaced = {*given, *(option.dest for option in QUICK if "quick" in given)}
    tables: list[str] = []
    options: list[str] = []
    for name, value in _read(path).items():
        if name not in OPTIONS:
            raise InputError(
                f"{path} (--config) has {name!r}, which is not an option. "
                f"{did_you_mean(name, sorted(OPTIONS))}"
            )
        if OPTIONS[name] in replaced:
            continue
        value = _absolute(value, path) if _is_path(name, value, path.parent) else value
        if name == TABLES:
            tables = [str(table) for table in (value if isinstance(value, list) else [value])]
        else:
            options += _as_words(parser, name, value)
    # Tables come first: an option of several values would take a table that follows it.
    return [*tables, *options, *words]


def _is_path(name: str, value: Any, folder: str | Path = ".") -> bool:
    """Return whether the value of an option is a path; an atlas may be a table or a name."""
    if name == ATLAS and isinstance(value, str):
        return names_table(value, folder)
    return name in PATHS


def _given(parser: argparse.ArgumentParser, words: Sequence[str]) -> dict[str, Any]:
    """Return the options that were typed on the command line."""
    # argparse does not say what was typed: an option that equals its default counts as not typed.
    parsed, _ = parser.parse_known_args(list(words))
    named = {action.dest: getattr(parsed, action.dest, None) for action in parser._actions}
    return {
        name: value
        for name, value in named.items()
        # Without a table argparse gives [], although the default is None.
        if value != parser.get_default(name) and not (name == "tables" and not value)
    }


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(
            f"cannot read {path} (--config): {error.strerror}. Check the path."
        ) from error
    except (ValueError, RecursionError) as error:  # RecursionError: nested too deeply
        raise InputError(
            f"{path} (--config) is not a TOML file: {error}. Give the config.toml of a run."
        ) from error


def _as_words(parser: argparse.ArgumentParser, name: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        # A switch has no form --no-NAME, and does not need it, because it is off by default.
        word = f"--{name}" if value else f"--no-{name}"
        return [word] if word in parser._option_string_actions else []
    # An empty list becomes an option without a value, which means none, not the default.
    if value == []:
        return [f"--{name}"]
    # Name and value in one word, because a value may begin with a dash and look like an option.
    return [f"--{name}={part}" for part in (value if isinstance(value, list) else [value])]


def _plain(value: Any) -> Any:
    return [str(part) for part in value] if isinstance(value, list | tuple) else value


def _relative(value: Any, folder: Path) -> Any:
    if isinstance(value, list):
        return [_relative(part, folder) for part in value]
    # With slashes, so that a config from Windows can be read on other systems.
    return Path(os.path.relpath(value, folder)).as_posix()


def _absolute(value: Any, path: Path) -> Any:
    if isinstance(value, list):
        return [_absolute(part, path) for part in value]
    if not isinstance(value, str):
        raise InputError(
            f"{path} (--config): {value!r:.60} is not a path. Write the path in quotes."
        )
    # An absolute path stays as it is: the operator `/` drops the folder before it.
    return os.path.normpath(path.parent / value)
