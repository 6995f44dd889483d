"""The options of the readers: the role of each column, and the markers of missing cells."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from sgbn.cohort.atlas import Atlas, as_atlas
from sgbn.core.exceptions import InputError
from sgbn.io.tables.cells import Missing
from sgbn.io.tables.raw import cell_text

REFUSE, DROP = "refuse", "drop"  # what to do about subjects whom the participants do not list
SINGLE = ("pair", "id", "group", "site", "subject", "block")  # roles that only one column can have
LISTS = ("covariates", "smooth", "regions", "exclude", "groups", "measure")


@dataclass(frozen=True)
class Options:
    """The options that a caller gives to a reader, see `sgbn.io.tables.read_table`."""

    group: str | None = None
    id: str | None = None
    covariates: tuple[str, ...] = ()
    smooth: tuple[str, ...] = ()
    site: str | None = None
    pair: str | None = None
    subject: str | None = None
    block: str | None = None
    regions: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    groups: tuple[str, ...] | None = None
    atlas: Atlas | None = None
    measure: tuple[str, ...] = ()
    missing: Missing = Missing()  # noqa: RUF009 (it cannot be changed)
    participants_missing: str = REFUSE
    # Whether all columns are measures. If so, columns that match no atlas are left out.
    only_regions: bool = False

    @classmethod
    def of(cls, **arguments: Any) -> Options:
        """Return the options among the arguments of a reader. Other arguments are ignored.

        A single name may stand for a list. None stands for the default.
        """
        names = [field.name for field in fields(cls)]
        asked = {name: arguments[name] for name in names if arguments.get(name) is not None}
        asked |= {name: _several(asked[name], name) for name in LISTS if name in asked}
        if "groups" in asked:
            # Labels of groups may be numbers: 1.0 and "1" are the same.
            asked["groups"] = tuple(map(cell_text, asked["groups"]))
        if "atlas" in asked:
            asked["atlas"] = as_atlas(asked["atlas"])
        options = cls(**(asked | {"missing": Missing.of(asked.get("missing"))}))
        if options.participants_missing not in (REFUSE, DROP):
            raise InputError(
                f"participants_missing is {options.participants_missing!r}. Give {REFUSE!r} or "
                f"{DROP!r}."
            )
        if options.participants_missing == DROP and arguments.get("participants") is None:
            raise InputError(
                "participants_missing='drop' (--participants-missing drop) needs a table of "
                "participants. Give it (participants=, --participants)."
            )
        options._check_smooth()
        options._check_groups()
        options._check_distinct()
        return options

    @property
    def named(self) -> dict[str, str]:
        """Return the role of each named column. It is "id" if a column is both id and pair."""
        # Later roles replace earlier ones: "id" comes after "pair" in `SINGLE`.
        return {str(column): role for role, column in self._roles()}

    def _roles(self) -> list[tuple[str, object]]:
        """Return pairs of role and column, for all columns that are named."""
        pairs = [("covariate", name) for name in self.covariates]
        pairs += [(role, getattr(self, role)) for role in SINGLE]
        return [(role, column) for role, column in pairs if column is not None]

    def _check_smooth(self) -> None:
        for name in self.smooth:
            if name not in self.covariates:
                raise InputError(
                    f"{name!r} is named as smooth (smooth=, --smooth) but not as a covariate. "
                    "Correct its name, or name it as a covariate too (covariates=, --covariates)."
                )

    def _check_groups(self) -> None:
        if self.groups is None:
            return
        if self.group is None:
            raise InputError(
                "groups= (--groups) chooses among the labels of a column. Name this column too "
                "(group=, --group)."
            )
        if not self.groups:
            raise InputError(
                "groups is empty. Name the groups to keep, or leave out groups= (--groups)."
            )

    def _check_distinct(self) -> None:
        seen: dict[str, str] = {}
        for role, column in self._roles():
            if role == "pair" and column == self.id:  # one column may be both, see `read_table`
                continue
            # A list or a number would fail later, in an error that does not name the role.
            if not isinstance(column, str):
                raise InputError(f"{role} is {column!r}. Give the name of a column.")
            if column in seen:
                raise InputError(
                    f"column {column!r} is named as {seen[column]} and as {role}. A column has "
                    "only one role. Name another column for one of these roles, or leave one out."
                )
            seen[column] = role


def _several(names: object, what: str) -> tuple[Any, ...]:
    if isinstance(names, str):
        return (names,)
    if not isinstance(names, Iterable):
        raise InputError(f"{what} is {names!r}. Give a name or a list of names.")
    return tuple(names)
