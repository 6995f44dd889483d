"""Columns that the user did not name: possible sites, and numbers that are not regions.

If the site is not named, its effects are not removed, and the site may be the only difference
between the groups. If an age or a patient's number is read as a region, it becomes a node of the
network. Neither may happen silently.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sgbn.core.exceptions import InputError, shown
from sgbn.core.types import Array
from sgbn.io.tables.cells import Missing, parse
from sgbn.io.tables.raw import ROW_NAMES, RawTable, labels

# Words in the names of site columns, such as "SITE_ID", "mrisite" and "scanner model".
SITE_NAME = re.compile(
    r"\b(?:acquisition|acq|scan|scanning|imaging|mri|mr|study|recruitment)*"
    r"(?:sites?|scanners?|cent(?:re|er)s?|manufacturers?|vendors?|hospitals?|institutions?|"
    r"machines?|batch|batches|field ?strength)"
    r"(?:id|no|nr|number|name|code|label|model|type)*\b(?! of| learning)"
)
PLACE_IN_BODY = re.compile(  # with one of these words, "site" means a place in the body
    r"\b(?:lesion|onset|tumou?r|injury|surgery|surgical|pain|implant|injection|stimulation|biopsy)"
)
# Words in the names of columns that are covariates, or neither covariates nor regions.
COVARIATE = re.compile(
    r"ages?|sex|gender|male|female|educ|education|edu|schooling|handedness|bmi|f?iq|viq|piq|fsiq|"
    r"etiv|icv|tiv|income|duration|onset|medication|mmse|moca|cdr|updrs|panss|bdi|hamd|hdrs|ados|"
    r"srs|madrs|scores?|years?|months?"
)
NEITHER = re.compile(
    r"ids?|mrn|subject|subj|participant|patient|person|record|visit|session|ses|date|dob|birth|"
    r"birthday|wave"
)
MIN_ROWS_TO_JUDGE = 8  # in fewer rows, values may be whole numbers, or equal, by chance
MAX_SHARE_UNKNOWN = 0.1  # up to this share, columns that do not match the atlas are exceptions
MIN_SITES = 2  # with only one site, subjects do not differ in it
MIN_ROWS_PER_SITE = 2  # a column with fewer rows per label holds persons, not sites


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
    """Return the columns without a role that look like sites, and how well they predict the group.

    Returns
    -------
    dict
        For each column, ``sites`` is the number of sites. ``told`` is the share of wrong guesses of
        the group that are avoided if the site is known (Goodman and Kruskal's lambda, 0 to 1).
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

    It is 1 minus the ratio of two numbers of wrong guesses. The first number is for guesses of the
    most frequent group at the subject's site. The second number is for guesses of the most frequent
    group of all subjects.
    """
    pairs = Counter(zip(sites, group, strict=True))
    # The number of subjects in the most frequent group of each site.
    most_frequent: dict[str, int] = {}
    for (site, _), count in pairs.items():
        most_frequent[site] = max(most_frequent.get(site, 0), count)
    errors = len(group) - max(Counter(group).values())
    errors_by_site = len(group) - sum(most_frequent.values())
    return 0.0 if errors == 0 else round(1 - errors_by_site / errors, 3)


def check_regions(
    table: RawTable, chosen: Sequence[str], unknown: Iterable[str], missing: Missing
) -> None:
    """Raise InputError if regions="all" would take columns that are probably not regions.

    Parameters
    ----------
    table : RawTable
        The cells.
    chosen : sequence of str
        All columns that would be regions.
    unknown : iterable of str
        The chosen columns that do not match the atlas.
    missing : Missing
        The markers of missing cells.
    """
    odd = _hardly_regions(table, chosen, set(unknown), missing)
    if not odd:
        return
    reasons = ", ".join(f"{shown(name)} ({why})" for name, (why, _) in odd.items())
    # The user can copy these options to the command line.
    options: dict[str, list[str]] = {}
    for name, (_, option) in odd.items():
        options.setdefault(option, []).append(repr(name) if " " in name else name)
    remedy = " ".join(f"{option} {' '.join(names)}" for option, names in options.items())
    raise InputError(
        f"{table.name}: --regions all (regions='all') would use these columns as regions, but they "
        f"look like something else: {reasons}. Say what they are, such as {remedy}. You can also "
        "leave columns out (--exclude, exclude=), or give the names or patterns of all regions "
        "(--regions 'lh_*', regions=)."
    )


def _hardly_regions(
    table: RawTable, chosen: Sequence[str], unknown: set[str], missing: Missing
) -> Mapping[str, tuple[str, str]]:
    """Return the columns that are probably not regions, each with a reason and a likely option."""
    values = {name: parse(table, name, missing).values for name in chosen}
    whole = {name for name, column in values.items() if _is_whole(column)}
    # If most columns hold whole numbers, a column of whole numbers is not odd in this table.
    whole_is_odd = len(whole) <= len(values) / 2
    unknown_is_odd = len(unknown) <= MAX_SHARE_UNKNOWN * len(chosen)
    odd: dict[str, tuple[str, str]] = {}
    for name in chosen:
        # A column that matches the atlas is a region, whatever its values.
        if name not in unknown or name == ROW_NAMES:
            continue
        option = _option(name)
        why = "by its name" if option else _odd_values(values[name], whole_is_odd and name in whole)
        if not why and unknown_is_odd:
            why = "the other columns match the atlas"
        if why:
            odd[name] = why, option or ("--exclude" if "different" in why else "--covariates")
    return odd


def _option(name: str) -> str:
    """Return the option that the name of a column suggests, or "" if it suggests none."""
    words = _words(name)
    if site_columns([name]):
        return "--site"
    if any(map(COVARIATE.fullmatch, words)):
        return "--covariates"
    return "--exclude" if any(map(NEITHER.fullmatch, words)) else ""


def _odd_values(column: Array, whole: bool) -> str:
    """Return why the values of a column are unlike the values of a region, or "".

    `whole` says that the column holds whole numbers, and that most columns do not.
    """
    known = column[np.isfinite(column)]
    if len(known) < MIN_ROWS_TO_JUDGE:
        return ""
    levels = len(np.unique(known))
    if levels == 2:  # such as sex, coded as 0 and 1
        return "two values"
    if not whole or levels == 1:
        return ""
    return "whole numbers, all different" if levels == len(known) else "whole numbers"


def _is_whole(column: Array) -> bool:
    known = column[np.isfinite(column)]
    return bool(len(known)) and bool((known == np.round(known)).all())


def _words(name: str) -> list[str]:
    """Return the words of a name in lower case, without numbers. "mriSite" is two words."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[\W_\d]+", spaced.lower()) if word]
