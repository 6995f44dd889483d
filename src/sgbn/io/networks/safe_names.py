"""Names that a format can express, and comments that keep the true ones.

Each format has names that it cannot write: spaces in Tetrad, a leading digit in lavaan. Such a name
is replaced, and a comment of the file says by what, so that the file can be read back::

    # sgbn name: X7Networks_LH = "7Networks-LH"

The true name is a JSON string in ASCII, so that no character of it can end the line.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence

from sgbn.exceptions import InputError
from sgbn.io.networks.named_graph import NamedGraph

_COMMENT = re.compile(r"^[ \t]*(?:\#|//)[ ]sgbn[ ]name:[ ](\S+)[ ]=[ ](\".*\")[ \t]*$", re.M)

# Words of R that cannot name a variable of a formula.
_R_WORDS = """
if else repeat while function for in next break
TRUE FALSE NULL Inf NaN NA NA_integer_ NA_real_ NA_character_ NA_complex_
"""
RESERVED = frozenset(_R_WORDS.split())


def safe_names(
    names: Sequence[str],
    plain: re.Pattern[str],
    fill: str = "_",
    reserved: Collection[str] = (),
    *,
    ignore_case: bool = False,
) -> dict[str, str]:
    """Map true names to names in a file: those that match `plain` stay, unless reserved.

    Others become ASCII: accents are dropped, and each character that is not a letter, digit or
    underscore becomes `fill`; an X goes before a name that begins with no letter. No two are the
    same (in any case of letters, if `ignore_case`). With a dot for `fill` this is what R's
    ``make.names(unique = TRUE)`` makes of names in ASCII, so that they are the columns of a table
    that ``read.csv`` has read.
    """
    key = str.lower if ignore_case else str
    chosen: dict[str, str] = {}
    # Taken from the start, so that neither a kept nor a replaced name is reserved.
    taken = set(map(key, reserved))
    # Names that can stay come first, so that no replaced one takes them.
    for name in names:
        if plain.fullmatch(name) and key(name) not in taken:
            chosen[name] = name
            taken.add(key(name))
    # Numbers go on from the last for each name, or long lists of equal names would take a square of
    # steps.
    numbers: Counter[str] = Counter()
    for name in names:
        if name not in chosen:
            start = candidate = _made(name, fill)
            while key(candidate) in taken:
                numbers[start] += 1
                candidate = f"{start}{fill}{numbers[start]}"
            chosen[name] = candidate
            taken.add(key(candidate))
    return chosen


def _made(name: str, fill: str) -> str:
    # NFKD parts a letter from its accent, and the accent is not ASCII.
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    # R takes a dot for the beginning of a name, unless a digit follows.
    begins_well = r"\.?[A-Za-z]" if fill == "." else "[A-Za-z]"
    safe = re.sub(rf"[^A-Za-z0-9_{fill}]", fill, ascii_name)
    if not re.match(begins_well, ascii_name):
        safe = f"X{safe}"
    return safe + fill if safe in RESERVED else safe


def name_comments(names: dict[str, str], mark: str = "#") -> list[str]:
    """Comment lines that say which names were replaced."""
    return [
        f"{mark} sgbn name: {safe} = {json.dumps(name)}"
        for name, safe in names.items()
        if safe != name
    ]


def true_names(text: str) -> dict[str, str]:
    """Name in the file -> true name, as its comments say."""
    names: dict[str, str] = {}
    for comment in _COMMENT.finditer(text):
        line = text.count("\n", 0, comment.start()) + 1
        try:
            name = json.loads(comment[2])
        except ValueError:
            raise InputError(
                f"line {line}: the comment with the true name of {comment[1]!r} is damaged. Write "
                "that name in double quotes, as JSON does, or remove the line."
            ) from None
        names[comment[1]] = name
    return names


def with_true_names(content: NamedGraph, text: str) -> NamedGraph:
    """Graph with the names that the comments of its file say."""
    return renamed(content, true_names(text))


def renamed(content: NamedGraph, replaced: dict[str, str]) -> NamedGraph:
    """Return the graph with its names replaced by those that `replaced` gives."""
    names = tuple(replaced.get(name, name) for name in content.names)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"two variables have the true name {twice!r}, as the comments of the file say. Correct "
            "these comments."
        )
    network = content.network
    if network is not None:
        weights = (network.coef, network.intercept, network.noise_variance)
        # The names of a network are part of it, and it cannot be changed.
        network = type(network)(*weights, names)
    return content._replace(names=names, network=network)
