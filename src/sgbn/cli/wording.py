"""Messages of the library in the words of the command: options in place of Python's arguments.

A message of the library often names both, such as "(regions=, --regions)".
"""

from __future__ import annotations

import re

from sgbn.cli.options import SETTINGS, TABLE

# Arguments of the library that no message can mean otherwise -> the option
KEYWORDS = {
    "n_per_group": "--sizes",
    "n_sites": "--sites",
    "min_coverage": "--min-coverage",
    # Names without "_", such as group or seed, are everyday words of a message.
    **{option.dest: f"--{option.name}" for option in (*TABLE, *SETTINGS) if "_" in option.dest},
}
VALUE = r"(?:'[^']*'|\"[^\"]*\"|True|False)"
BEFORE_OPTION = re.compile(rf"\b[a-z_]+={VALUE}?, (?:or )?(?=--)")  # regions=, --regions
AFTER_OPTION = re.compile(rf"(--[a-z-]+ [^()]*?) \([a-z_]+={VALUE}\)")  # --site a (site='a')
OF_SETTINGS = re.compile(r", Settings\(\w+=\w+\)")
NAMED_IN = re.compile(r"\bnamed in ([a-z_]+)=")


def in_options(message: str) -> str:
    """Return a message with options in place of Python arguments, where this is unambiguous."""
    message = BEFORE_OPTION.sub("", message)
    message = AFTER_OPTION.sub(r"\1", message)
    message = OF_SETTINGS.sub("", message)
    message = NAMED_IN.sub(lambda match: f"named in --{match[1].replace('_', '-')}", message)
    for keyword, option in KEYWORDS.items():
        # In quotes it is a name of the user's, such as that of a column; with "=" it is code, such
        # as SGBNEnsemble(n_pairs=0).
        # Beside a slash or a dot it is part of a path.
        message = re.sub(rf"(?<!['\"\w/\\.-]){keyword}(?!['\"\w=/\\]|\.\w)", option, message)
    return message


def with_options(message: str) -> str:
    """Message of `Settings`, which may begin with the name of one, with options in their place."""
    for option in SETTINGS:
        # Only at the beginning: later in a sentence it may be an everyday word.
        message = re.sub(rf"^{option.dest}\b", f"--{option.name}", message)
    return in_options(message)
