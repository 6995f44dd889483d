"""The works that the methods paragraph cites, as lines of a list and as BibTeX.

``references.toml`` beside this file lists all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sgbn.write.page import own_table

OTHERS = "others"  # in BibTeX: there are more authors


class Reference(NamedTuple):
    """A work that can be cited.

    Attributes
    ----------
    key : str
        Key of the BibTeX entry.
    kind : str
        "article", "inproceedings", "book" or "software".
    authors : sequence of str
        Names such as "Family, Given".
    title : str
    where : str
        Journal, proceedings, publisher, or version of a program.
    year : int or None
    volume, issue, pages, doi : str
        "" if the work has none.
    """

    key: str
    kind: str
    authors: Sequence[str]
    title: str
    where: str
    year: int | None = None
    volume: str = ""
    issue: str = ""
    pages: str = ""
    doi: str = ""

    @property
    def text(self) -> str:
        """The work as a line of a list of references."""
        names = [_short(name) for name in self.authors]
        place = f"{self.where} {self.volume}" if self.volume else self.where
        place += f"({self.issue})" if self.issue else ""
        place += f", {self.pages.replace('--', '–')}" if self.pages else ""  # BibTeX writes "--"
        end = f" doi:{self.doi}" if self.doi else ""
        when = f" ({self.year})" if self.year else ""
        return f"{', '.join(names)}{when}. {self.title}. {place}.{end}"

    @property
    def bibtex(self) -> str:
        """The work as an entry of a BibTeX file."""
        homes = {"book": "publisher", "software": "note", "inproceedings": "booktitle"}
        home = homes.get(self.kind, "journal")
        fields = {
            "author": " and ".join(self.authors),
            "title": f"{{{self.title}}}",  # in braces, BibTeX keeps the capital letters
            home: self.where.replace("&", r"\&"),
            "year": str(self.year or ""),
            "volume": self.volume,
            "number": self.issue,
            "pages": self.pages,
            "doi": self.doi,
        }
        lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
        return f"@{self.kind}{{{self.key},\n" + ",\n".join(lines) + "\n}"


def _short(name: str) -> str:
    """Write a name as the family name and initials."""
    if name == OTHERS:
        return "et al."
    family, _, given = name.strip("{}").partition(", ")
    # "Jean-Pierre" has two initials, JP. A name in braces, {the sgbn developers}, is not split.
    initials = "".join(part[0] for part in given.replace("-", " ").split())
    return f"{family} {initials}".strip()


REFERENCES = {key: Reference(key, **entry) for key, entry in own_table("references.toml").items()}


def software(version: str) -> Reference:
    """Return the reference to a version of this package."""
    return Reference(
        "sgbn",
        "software",
        ("{the sgbn developers}",),
        "sgbn: sparse Gaussian Bayesian networks, one directed network per group",
        f"Version {version}",
    )
