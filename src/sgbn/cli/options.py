"""The options that several commands share, which are read from ``options.toml``.

The parser, its help, config.toml and the calls of the readers and of `Settings` are made from these
lists. The lists are not made from the library, because its import takes seconds and ``--help`` must
be fast. tests/cli/test_options.py compares them with the signatures and defaults of the library.
"""

from __future__ import annotations

import argparse
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from sgbn.cli.arguments import all_or_number, at_least, number_above, number_from
from sgbn.cohort.atlas import ATLAS_NAMES
from sgbn.paper import BASELINES

ENSEMBLE = "ensemble"
LEARNERS = (ENSEMBLE, "SGBN", "ORSGBN", "HSGBN", *BASELINES)
# Kind of an option -> keywords of argparse's `add_argument`
KINDS: dict[str, Mapping[str, Any]] = {
    "switch": {"action": "store_true"},
    # None means that neither form was typed. Then the library or --quick sets the value.
    "yes or no": {"action": argparse.BooleanOptionalAction, "default": None},
    "number": {"type": number_from(0)},
    "positive": {"type": number_above(0)},
    "share": {"type": number_above(0, below=1)},
    "count": {"type": at_least(0), "metavar": "N"},
    "float": {"type": float},
    "from 0 to 1": {"type": number_from(0, 1)},
    **{f"from {smallest}": {"type": at_least(smallest)} for smallest in (0, 1, 2, 4, 10, 19)},
    "all or number": {"type": all_or_number},
    "lower case": {"type": str.lower},
    "path": {"type": Path},
    # "extend" allows a list in parts: --covariates age --covariates sex
    "list": {"nargs": "+", "action": "extend"},
    "list or none": {"nargs": "*", "action": "extend"},
    # The value is () if the option was not typed, and [] if it was typed without a name.
    "some or all": {"nargs": "*", "default": ()},
    "learner": {"choices": LEARNERS},
}


@dataclass(frozen=True)
class Option:
    """One option of a command.

    Attributes
    ----------
    name : str
        Name of the option after the dashes, and of its key in a config.
    help : str
        Text of the option in the help.
    kind : mapping
        Keywords of argparse's `add_argument` that describe its values.
    keyword : str
        Name of the argument in the library; "" if it is `name` with underscores.
    positional : bool
        Whether it is an argument without dashes.
    """

    name: str
    help: str
    kind: Mapping[str, Any] = field(default_factory=dict)
    keyword: str = ""
    positional: bool = False

    @property
    def dest(self) -> str:
        """Return the name of its value in the arguments and in the library."""
        return self.keyword or self.name.replace("-", "_")


def add_options(parser: argparse._ActionsContainer, options: Iterable[Option]) -> None:
    """Add options to a parser, or to a group of its options."""
    for option in options:
        if option.positional:
            parser.add_argument(option.name, help=option.help, **option.kind)
        else:
            dashed = f"--{option.name}"
            parser.add_argument(dashed, dest=option.dest, help=option.help, **option.kind)


def read_option(
    name: str,
    help: str,
    kind: str = "",
    keyword: str = "",
    positional: bool = False,
    **of_argparse: Any,
) -> Option:
    """Return the option that an entry of a TOML file describes.

    Parameters
    ----------
    name, help, keyword, positional
        As in `Option`.
    kind : str
        A key of `KINDS`, or "".
    **of_argparse
        Further keywords of argparse's `add_argument`, such as ``choices``.
    """
    text = help.replace("{atlas_names}", ATLAS_NAMES)
    if "choices" in of_argparse:
        of_argparse["choices"] = tuple(of_argparse["choices"])
    values = {**(KINDS[kind] if kind else {}), **of_argparse}
    return Option(name, text, values, keyword, positional)


def read_words(file: str) -> dict[str, Any]:
    """Read a TOML file of this package."""
    return tomllib.loads(files("sgbn.cli").joinpath(file).read_text(encoding="utf-8"))


_SECTIONS = {
    name: tuple(read_option(**entry) for entry in entries)
    for name, entries in read_words("options.toml").items()
}
COLUMNS, FILES, SERIES = (_SECTIONS[name] for name in ("columns", "files", "series"))
LEARNER, QUICK = _SECTIONS["learner"], _SECTIONS["quick"]  # --quick sets the options in QUICK
# Sections with only one option, which some commands add without other sections.
(ROWS,), (SUBJECTS_IN_REPORT,) = _SECTIONS["rows"], _SECTIONS["subjects_in_report"]
(REFERENCE,), (TABLES,) = _SECTIONS["reference"], _SECTIONS["tables"]
TABLE = (*COLUMNS, *FILES)
WHAT = (REFERENCE, *LEARNER, *_SECTIONS["what"])
HOW = (*QUICK, *_SECTIONS["how"])
# `compare` takes the learner as an argument of its own, beside the settings.
SETTINGS = tuple(option for option in (ROWS, *WHAT, *HOW) if option not in LEARNER)
