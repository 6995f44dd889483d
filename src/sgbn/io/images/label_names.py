"""The reader of the names of labels, from the files that come with atlases.

These formats are known: tables with a header (BIDS ``dseg.tsv`` with index and name, CAT12's
``ROIid;ROIname``), two columns without a header, colour tables of FreeSurfer and ITK-SNAP, AAL's
``1 Precentral_L 2001``, ``1 = Precentral_L``, and FSL's XML. A comment begins with ``#`` and goes
to the end of the line. Within a line, ``#`` begins a comment only if it has a blank on both sides
and the line has no quotes.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path

from sgbn.core.exceptions import InputError
from sgbn.io.images.files import stem
from sgbn.io.xml import xml_tree

# In order of preference, in lower case. A column "label" may hold numbers or names.
INDEX_COLUMNS = ("index", "roiid", "id", "value", "key", "label", "number", "intensity")
NAME_COLUMNS = ("name", "roiname", "region", "label_name", "structure", "labelname", "label")
SIDECARS = (".tsv", ".csv", ".txt", ".lut", ".xml")  # tried in this order
COMMENT = re.compile(r"\s#(?:\s.*)?$")
INDEX_AND_NAME = re.compile(r"([+-]?\d{1,15}(?:\.0*)?)(?:\s*[=:]\s*|\s+)([^\s=:].*)")
N_COLOURS = 4  # red, green, blue and alpha at the end of a line of a colour table

Names = dict[int, str]


def find_label_file(image: str | Path) -> Path | None:
    """Return the file of names beside an atlas's image, or None if there is none.

    It has the name of the image with another ending, such as ``aal.txt`` or ``aal.nii.txt``.
    """
    image = Path(image)
    beside = [image.with_name(base + e) for e in SIDECARS for base in (stem(image), image.name)]
    return next((path for path in beside if path.is_file()), None)


def read_label_names(path: str | Path) -> Names:
    """Return label -> name of the region, from a file.

    Parameters
    ----------
    path : path
        A table, a colour table or an XML file, in a format that this module lists.

    Returns
    -------
    dict of int to str
        Label -> name as it is written in the file. Spaces and marks such as ``&`` are kept.
    """
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(
            f"the file of labels {path} cannot be read ({error.strerror}). Check the path."
        ) from error
    if path.suffix.lower() == ".xml" or content.lstrip().startswith(b"<"):
        pairs = _from_xml(content, path)
    else:
        pairs = _from_text(_decoded(content), path)
    return _unique(pairs, path)


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def _from_xml(content: bytes, path: Path) -> list[tuple[int, str]]:
    remedy = "Give a table with the columns index and name."
    root = xml_tree(content, f"the file of labels {path}", remedy)
    try:
        kind = (root.findtext("header/type") or "").strip().lower()
        # FSL numbers the maps of a probabilistic atlas from 0, but its label image begins with 1.
        shift = 1 if kind.startswith("prob") else 0
        return [
            (int(label.attrib["index"]) + shift, "".join(label.itertext()).strip())
            for label in root.iter("label")
        ]
    except (LookupError, ValueError) as error:
        raise InputError(
            f"the file of labels {path} cannot be read as FSL's XML ({error}). {remedy}"
        ) from error


def _from_text(text: str, path: Path) -> list[tuple[int, str]]:
    """Return pairs of label and name from a table, or from lines of words."""
    lines = [_without_comment(line) for line in text.splitlines() if line.split("#")[0].strip()]
    if not lines:
        raise InputError(
            f"the file of labels {path} is empty. Give one line per label, with index and name."
        )
    delimiter = next((mark for mark in "\t;," if mark in lines[0]), None)
    # "1 Precentral, left" is a line of words, although it contains a comma.
    if delimiter is None or re.match(r"\s*\d+(?: *[=:] *| +)[^\s;,]", lines[0]):
        return _from_words(lines, path)
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter)]
    except csv.Error as error:
        raise InputError(
            f"the file of labels {path} cannot be read as a table ({error}). Check its quotes."
        ) from error
    index, name = _columns(rows[0], path)
    # If there is no header, the first line is a label too.
    body = rows if _is_whole(rows[0][index]) else rows[1:]
    pairs = []
    for row in body:
        if len(row) <= max(index, name) or not _is_whole(row[index]):
            raise InputError(
                f"the file of labels {path} has no index and name in the line {row}. Add them, or "
                "remove the line."
            )
        pairs.append((int(float(row[index])), row[name]))
    return pairs


def _without_comment(line: str) -> str:
    return line if '"' in line else COMMENT.sub("", line)


def _columns(header: list[str], path: Path) -> tuple[int, int]:
    """Return the positions of the columns of labels and names: 0 and 1 if there is no header."""
    if _is_whole(header[0]):
        return 0, 1
    lower = [cell.lower() for cell in header]
    index = next((lower.index(column) for column in INDEX_COLUMNS if column in lower), None)
    names = (lower.index(column) for column in NAME_COLUMNS if column in lower)
    name = next((place for place in names if place != index), None)
    if index is None or name is None:
        raise InputError(
            f"the file of labels {path} has the columns {', '.join(header)}. Call the column of "
            "labels 'index', and the column of names 'name'."
        )
    return index, name


def _from_words(lines: Sequence[str], path: Path) -> list[tuple[int, str]]:
    """Return pairs of label and name from lines that may have numbers after the name."""
    values, words = [], []
    for line in lines[1:] if _is_header(lines[0].lower().split()) else lines:
        entry = INDEX_AND_NAME.fullmatch(line.strip())
        if not entry:
            raise InputError(
                f"the file of labels {path} has no index and name in the line {line!r}. Begin each "
                "line with the label and the name, or give a table with the columns index and name."
            )
        quoted = re.search(r'"(.*)"', entry[2])  # ITK-SNAP
        values.append(int(float(entry[1])))
        words.append([quoted[1]] if quoted else entry[2].split())
    if not values:
        raise InputError(f"the file of labels {path} has only a header. Add one line per label.")
    # Numbers are codes only if all lines have them, because a name may end with a number.
    n_numbers = min(_n_last_numbers(name_words) for name_words in words)
    if n_numbers in (1, 2):
        # The last number is AAL's code if the names still differ without it. In "Lobule 1", the
        # number is part of the name.
        n_cut = int(len({" ".join(name_words[:-1]) for name_words in words}) == len(words))
    else:
        n_cut = min(n_numbers, N_COLOURS)
    names = [" ".join(name_words[: len(name_words) - n_cut]) for name_words in words]
    return list(zip(values, names, strict=True))


def _is_header(words: Sequence[str]) -> bool:
    return len(words) > 1 and words[0] in INDEX_COLUMNS and words[1] in NAME_COLUMNS


def _n_last_numbers(words: list[str]) -> int:
    """Return how many words at the end are integers. The first word is always part of the name."""
    return len(list(takewhile(str.isdigit, reversed(words[1:]))))


def _is_whole(text: str) -> bool:
    return bool(re.fullmatch(r"[+-]?\d{1,15}(\.0*)?", text.strip()))


def _unique(pairs: Iterable[tuple[int, str]], path: Path) -> Names:
    """Return the pairs as a mapping. A label with two names, or without a name, is an error."""
    names: Names = {}
    for value, name in pairs:
        if not name:
            raise InputError(f"the file of labels {path} has no name for label {value}. Add it.")
        if names.setdefault(value, name) != name:
            raise InputError(
                f"the file of labels {path} has two names for label {value}: {names[value]!r} and "
                f"{name!r}. Remove one of the lines."
            )
    return names
