"""Functions that rewrite messages of the library for the command line.

A message of the library often names both the Python argument and the option, such as
"(regions=, --regions)". On the command line only the option is shown.
"""

from __future__ import annotations

import re

from sgbn.cli.options import SETTINGS, TABLE

# Name of an argument that is not an ordinary word in messages -> the option
KEYWORDS = {
    "n_per_group": "--sizes",
    "n_sites": "--sites",
    "min_coverage": "--min-coverage",
    # Names without "_", such as group or seed, may be ordinary words in a message.
    **{option.dest: f"--{option.name}" for option in (*TABLE, *SETTINGS) if "_" in option.dest},
}
VALUE = r"(?:'[^']*'|\"[^\"]*\"|True|False)"
BEFORE_OPTION = re.compile(rf"\b[a-z_]+={VALUE}?, (?:or )?(?=--)")  # regions=, --regions
AFTER_OPTION = re.compile(rf"(--[a-z-]+ [^()]*?) \([a-z_]+={VALUE}?\)")  # --site a (site='a')
OF_SETTINGS = re.compile(r", Settings\(\w+=\w+\)")
NAMED_IN = re.compile(r"\bnamed in ([a-z_]+)=")


def in_options(message: str) -> str:
    """Return a message with options in place of Python arguments, if this is unambiguous."""
    message = BEFORE_OPTION.sub("", message)
    message = AFTER_OPTION.sub(r"\1", message)
    message = OF_SETTINGS.sub("", message)
    message = NAMED_IN.sub(lambda match: f"named in --{match[1].replace('_', '-')}", message)
    for keyword, option in KEYWORDS.items():
        # Not replaced in quotes, where it is a name in the user's data, such as a column; before
        # "=", where it is code, such as SGBNEnsemble(n_pairs=0); beside a slash or a dot, where it
        # is part of a path.
        message = re.sub(rf"(?<!['\"\w/\\.-]){keyword}(?!['\"\w=/\\]|\.\w)", option, message)
    return message


def with_options(message: str) -> str:
    """Return a message of `Settings` with options in place of the names of settings."""
    for option in SETTINGS:
        # Only at the beginning, because later in a sentence it may be an ordinary word.
        message = re.sub(rf"^{option.dest}\b", f"--{option.name}", message)
    return in_options(message)
