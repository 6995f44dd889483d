"""Replace names that a format cannot express, and keep the true names in comments.

Each format has names that it cannot write: names with spaces in Tetrad, names that begin with a
digit in lavaan. Such a name is replaced. A comment in the file gives the true name, so that reading
the file gives the true name back::

    # sgbn name: X7Networks_LH = "7Networks-LH"

The true name is written as a JSON string in ASCII, so that none of its characters ends the line.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence

from sgbn.core.exceptions import InputError
from sgbn.io.networks.named_graph import NamedGraph

_COMMENT = re.compile(r"^[ \t]*(?:\#|//)[ ]sgbn[ ]name:[ ](\S+)[ ]=[ ](\".*\")[ \t]*$", re.M)

# Words that cannot be the name of a variable in a formula of R.
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
    """Return true name -> name in the file. A name that matches `plain` stays, unless reserved.

    All other names become ASCII. Accents are removed, and each character that is not a letter, a
    digit or an underscore becomes `fill`. A name that does not begin with a letter gets an X in
    front. All names in the file differ. With `ignore_case`, they differ in more than upper and
    lower case. If `fill` is a dot, names in ASCII become the names that R's
    ``make.names(unique = TRUE)`` gives. R's ``read.csv`` names columns in this way too.
    """
    key = str.lower if ignore_case else str
    chosen: dict[str, str] = {}
    # Reserved words count as taken, so that no name in the file is reserved.
    taken = set(map(key, reserved))
    # Names that stay come first, so that a replaced name cannot be the same as one of them.
    for name in names:
        if plain.fullmatch(name) and key(name) not in taken:
            chosen[name] = name
            taken.add(key(name))
    # The last number of each name is kept, because counting again for each of many equal names
    # would take quadratic time.
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
    # NFKD separates a letter from its accent. The accent is not ASCII, and so is removed.
    ascii_name = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    # In R, a name may begin with a dot, unless a digit follows.
    begins_well = r"\.?[A-Za-z]" if fill == "." else "[A-Za-z]"
    safe = re.sub(rf"[^A-Za-z0-9_{fill}]", fill, ascii_name)
    if not re.match(begins_well, ascii_name):
        safe = f"X{safe}"
    return safe + fill if safe in RESERVED else safe


def name_comments(names: dict[str, str], mark: str = "#") -> list[str]:
    """Return comment lines with the true names of all names that were replaced."""
    return [
        f"{mark} sgbn name: {safe} = {json.dumps(name)}"
        for name, safe in names.items()
        if safe != name
    ]


def true_names(text: str) -> dict[str, str]:
    """Return name in the file -> true name, from the comments of the file."""
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
    """Return the graph with the true names, which are in the comments of the file."""
    return renamed(content, true_names(text))


def renamed(content: NamedGraph, replaced: dict[str, str]) -> NamedGraph:
    """Return the graph with new names. `replaced` is a mapping of old to new names."""
    names = tuple(replaced.get(name, name) for name in content.names)
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(
            f"the file gives two variables the true name {twice!r}. Correct its comments "
            "'sgbn name' (in a file of DAGitty, the attributes sgbn_name)."
        )
    network = content.network
    if network is not None:
        weights = (network.coef, network.intercept, network.noise_variance)
        # A network cannot be changed, so a new network is made.
        network = type(network)(*weights, names)
    return content._replace(names=names, network=network)
