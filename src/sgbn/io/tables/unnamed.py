"""Columns that nobody named, but that say what they are: sites, and numbers that are not regions.

A site that is not named is not taken out, and may be all that differs between the groups. An age
or a number of a patient that is taken for a region becomes a node of the network. Neither may
happen silently.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sgbn.exceptions import InputError, shown
from sgbn.io.tables.cells import Missing, parse
from sgbn.io.tables.raw import ROW_NAMES, RawTable, labels
from sgbn.types import Array

# One word, or two, of the names of columns of sites: "SITE_ID", "mrisite", "scanner model".
SITE_NAME = re.compile(
    r"\b(?:acquisition|acq|scan|scanning|imaging|mri|mr|study|recruitment)*"
    r"(?:sites?|scanners?|cent(?:re|er)s?|manufacturers?|vendors?|hospitals?|institutions?|"
    r"machines?|batch|batches|field ?strength)"
    r"(?:id|no|nr|number|name|code|label|model|type)*\b(?! of| learning)"
)
PLACE_IN_BODY = re.compile(  # words that make a site one of the body
    r"\b(?:lesion|onset|tumou?r|injury|surgery|surgical|pain|implant|injection|stimulation|biopsy)"
)
# Words of the names of columns that are not regions.
COVARIATE = re.compile(
    r"ages?|sex|gender|male|female|educ|education|edu|schooling|handedness|bmi|f?iq|viq|piq|fsiq|"
    r"etiv|icv|tiv|income|duration|onset|medication|mmse|moca|cdr|updrs|panss|bdi|hamd|hdrs|ados|"
    r"srs|madrs|scores?|years?|months?"
)
NEITHER = re.compile(
    r"ids?|mrn|subject|subj|participant|patient|person|record|visit|session|ses|date|dob|birth|"
    r"birthday|wave"
)
MIN_ROWS_TO_JUDGE = 8  # in fewer rows, values are whole numbers, or equal, by chance
MAX_SHARE_UNKNOWN = 0.1  # up to this share, the columns that the atlas does not know stand out
MIN_SITES = 2  # with one site, subjects do not differ in it
MIN_ROWS_PER_SITE = 2  # a column with fewer rows per label says who, not where


def site_columns(columns: Iterable[str]) -> list[str]:
    """Return the columns whose names say that they hold sites or scanners."""
    spaced = {name: " ".join(_words(name)) for name in columns}
    return [
        name
        for name, words in spaced.items()
        if SITE_NAME.search(words) and not PLACE_IN_BODY.search(words)
    ]


def unnamed_sites(
    table: RawTable, columns: Iterable[str], group: Sequence[str] | None
) -> dict[str, dict[str, Any]]:
    """Return the columns without a role that look like sites, and how far they tell the groups.

    Returns
    -------
    dict
        Column -> ``sites``, how many there are, and ``told``: by how much it lowers the errors of a
        guess of the group, 0 to 1 (Goodman and Kruskal's lambda).
    """
    sites = {}
    for name in site_columns(columns):
        cells = labels(table.frame[name])
        n_sites = len(set(cells))
        if MIN_SITES <= n_sites <= len(cells) / MIN_ROWS_PER_SITE:
            sites[name] = {"sites": n_sites, "told": 0.0 if group is None else _told(cells, group)}
    return sites


def _told(sites: Sequence[str], group: Sequence[str]) -> float:
    """Return Goodman and Kruskal's lambda of the group given the site.

    It is 1 minus the errors of guessing each site's commonest group over the errors of guessing the
    commonest group of all.
    """
    pairs = Counter(zip(sites, group, strict=True))
    # Count of the commonest group of each site.
    most: dict[str, int] = {}
    for (site, _), count in pairs.items():
        most[site] = max(most.get(site, 0), count)
    errors = len(group) - max(Counter(group).values())
    return 0.0 if errors == 0 else round(1 - (len(group) - sum(most.values())) / errors, 3)


def check_regions(
    table: RawTable, chosen: Sequence[str], unknown: Iterable[str], missing: Missing
) -> None:
    """Raise InputError if regions="all" would take columns that are hardly regions.

    Parameters
    ----------
    chosen : sequence of str
        All columns that would be regions.
    unknown : iterable of str
        Those of them that no atlas knows.
    """
    odd = _hardly_regions(table, chosen, set(unknown), missing)
    if not odd:
        return
    reasons = ", ".join(f"{shown(name)} ({why})" for name, (why, _) in odd.items())
    # Options in the order of their first columns, to be copied to the command line.
    options: dict[str, list[str]] = {}
    for name, (_, option) in odd.items():
        options.setdefault(option, []).append(repr(name) if " " in name else name)
    remedy = " ".join(f"{option} {' '.join(names)}" for option, names in options.items())
    raise InputError(
        f"{table.name}: --regions all (regions='all') would make regions of columns that look like "
        f"something else: {reasons}. Say what they are, such as {remedy}; leave out what plays no "
        "part (--exclude, exclude=); or name the regions themselves, by names or patterns "
        "(--regions 'lh_*', regions=)."
    )


def _hardly_regions(
    table: RawTable, chosen: Sequence[str], unknown: set[str], missing: Missing
) -> Mapping[str, tuple[str, str]]:
    """Return column -> why it is hardly a region, and the option that is likely the right one."""
    values = {name: parse(table, name, missing).values for name in chosen}
    whole = {name for name, column in values.items() if _is_whole(column)}
    few = len(whole) <= len(values) / 2  # else whole numbers are the unit of this table
    odd_ones_out = len(unknown) <= MAX_SHARE_UNKNOWN * len(chosen)
    odd: dict[str, tuple[str, str]] = {}
    for name in chosen:
        # What an atlas knows is a region, whatever its values.
        if name not in unknown or name == ROW_NAMES:
            continue
        option = _option(name)
        why = "by its name" if option else _odd_values(values[name], few and name in whole)
        if not why and odd_ones_out:
            why = "the atlas knows the others"
        if why:
            odd[name] = why, option or ("--exclude" if "different" in why else "--covariates")
    return odd


def _option(name: str) -> str:
    """Return the option that the name of a column speaks for; "" for none."""
    words = _words(name)
    if site_columns([name]):
        return "--site"
    if any(map(COVARIATE.fullmatch, words)):
        return "--covariates"
    return "--exclude" if any(map(NEITHER.fullmatch, words)) else ""


def _odd_values(column: Array, whole: bool) -> str:
    """Return what makes values unlike those of a region; "" for nothing."""
    known = column[np.isfinite(column)]
    if len(known) < MIN_ROWS_TO_JUDGE:
        return ""
    # A sex coded as 0 and 1, or numbers of patients.
    levels = len(np.unique(known))
    if levels == 2:
        return "two values"
    if not whole or levels == 1:
        return ""
    return "whole numbers, all different" if levels == len(known) else "whole numbers"


def _is_whole(column: Array) -> bool:
    known = column[np.isfinite(column)]
    return bool(len(known)) and bool((known == np.round(known)).all())


def _words(name: str) -> list[str]:
    """Return the words of a name in lower case, without numbers."""
    # "mriSite" is two words.
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[\W_\d]+", spaced.lower()) if word]
