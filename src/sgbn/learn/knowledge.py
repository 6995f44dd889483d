"""Prior knowledge about edges: forbidden edges, required edges, and tiers of variables."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from sgbn.core.graph import find_cycle
from sgbn.core.moments import Moments
from sgbn.core.problems import InputError, Problem, did_you_mean
from sgbn.core.types import Indices, Mask
from sgbn.core.validation import ANYTHING, allowed, is_number, is_whole, read_edge

KNOWLEDGE = ("forbidden", "required", "tiers")  # parameters of learners


class HasDict(Protocol):
    """A column of a table, such as a pandas Series."""

    def to_dict(self) -> dict[Any, Any]:
        """Return the value of each row, by the label of the row."""


Ends = Sequence[Hashable] | NDArray[Any]  # source and target of an edge, by name or index
Edges = Sequence[Ends] | Set[Sequence[Hashable]] | NDArray[Any]
Tiers = Iterable[Iterable[Hashable]] | Mapping[Any, float] | HasDict


class Knowledge(NamedTuple):
    """The edges that a network may have, and the edges that it must have.

    ``[i, j]`` is the edge i -> j, in the user's order of columns.
    """

    allowed: Mask
    required: Mask

    @property
    def directions(self) -> Mask:
        """Return a mask: ``[i, j]`` is True if an edge between i and j can only be i -> j."""
        return self.required | (self.allowed & ~self.allowed.T)

    def among(self, columns: Indices) -> Knowledge:
        """Return the knowledge about edges among some of the columns."""
        block = np.ix_(columns, columns)
        return Knowledge(self.allowed[block], self.required[block])

    def rows(self, moments: Moments) -> tuple[Mask, Mask]:
        """Return `allowed` and `required` as rows ``[j, i]`` of parents, in canonical order."""
        return moments.to_canonical(self.allowed), moments.to_canonical(self.required)


@dataclass(eq=False, repr=False, kw_only=True)
class TakesKnowledge:
    """The parameters of a learner that takes prior knowledge."""

    forbidden: Edges | None = allowed(None, ANYTHING)
    required: Edges | None = allowed(None, ANYTHING)
    tiers: Tiers | None = allowed(None, ANYTHING)

    def _read_knowledge(self, names: Sequence[str], max_parents: int | None = None) -> Knowledge:
        """Return the knowledge about these columns, as `read_knowledge` does."""
        return read_knowledge(self.forbidden, self.required, self.tiers, names, max_parents)


def read_knowledge(
    forbidden: Edges | None,
    required: Edges | None,
    tiers: Tiers | None,
    names: Sequence[str],
    max_parents: int | None = None,
) -> Knowledge:
    """Return the edges that are allowed and the edges that are required, as masks.

    Parameters
    ----------
    forbidden, required : iterable of (source, target), optional
        Edges, with variables given by column name or by index.
    tiers : iterable of iterables, or mapping, optional
        Groups of variables, the earliest first, or a mapping from each variable to a number. No
        edge leads from a later tier to an earlier one. Variables without a tier are free.
    names : sequence of str
        Names of the columns.
    max_parents : int, optional
        The largest number of parents that a variable may have.

    Raises
    ------
    InputError
        If a variable is unknown, if the knowledge contradicts itself, or if a variable has more
        required parents than it may have. The message names the variables.
    """
    tier = _read_tiers(tiers, names)
    placed = tier >= 0
    if tiers is not None and not placed.all():
        free = [name for name, has_tier in zip(names, placed, strict=True) if not has_tier]
        Problem("tiers.free", columns=free).warn(
            "columns in no tier may come before or after all others: {columns}",
            "If you know where a column belongs, add it to a tier.",
        )
    # [i, j] is True if i and j both have a tier, and i is in the later one.
    backwards = (tier[:, None] > tier) & placed[:, None] & placed
    excluded = _read_edges(forbidden, names, "forbidden")
    must = _read_edges(required, names, "required")
    if both := _edges(must & excluded, names):
        raise InputError("required.forbidden", edges=both).says(
            "edges that are required and forbidden: {edges}", "Remove them from one of the lists."
        )
    if against := _edges(must & backwards, names):
        raise InputError("required.tiers", edges=against).says(
            "required edges into an earlier tier: {edges}",
            "Do not require them, or change the tiers.",
        )
    cycle = find_cycle(must) if must.any() else None
    if cycle is not None:
        circle = " -> ".join(names[k] for k in [*cycle, cycle[0]])
        raise InputError("required.cycle", path=circle).says(
            "the required edges form a directed cycle: {path:s}", "Remove one of them."
        )
    if max_parents is not None:
        check_few_required(must, max_parents, names)
    # A required edge forbids its reverse, so that `allowed` holds every known direction.
    return Knowledge(~(excluded | backwards | must.T | np.eye(len(names), dtype=bool)), must)


def check_few_required(required: Mask, most: int, names: Sequence[str]) -> None:
    """Raise InputError if a variable has more required parents than it may have."""
    counts = required.sum(axis=0)
    if counts.max(initial=0) > most:
        variable = names[int(counts.argmax())]
        raise InputError("required.many", variable=variable, n=counts.max(), most=most).says(
            "{variable} has {n:required parent}, but at most {most} are possible", "Require fewer."
        )


def _edges(mask: Mask, names: Sequence[str]) -> list[str]:
    return [f"{names[i]} -> {names[j]}" for i, j in np.argwhere(mask)]


def _read_edges(edges: Edges | None, names: Sequence[str], kind: str) -> Mask:
    """Return a list of edges as a mask; `kind` is the name of the parameter, for messages."""
    mask = np.zeros((len(names), len(names)), dtype=bool)
    if edges is None:
        return mask
    # An iterator is refused: a second fit would find it empty.
    if not isinstance(edges, Sequence | Set | np.ndarray):
        raise InputError("edges.list", argument=kind, type=type(edges).__name__).says(
            "{argument} is a {type:s}", "Give a list of pairs (source, target)."
        )
    for edge in edges:
        mask[read_edge(edge, kind, lambda end: _column(end, names, kind))] = True
    return mask


def _read_tiers(tiers: Any, names: Sequence[str]) -> NDArray[np.int64]:
    """Return the tier of each variable as a number from 0 upwards, and -1 for no tier."""
    tier = np.full(len(names), -1)
    if tiers is None:
        return tier
    if hasattr(tiers, "to_dict"):  # a column of a table of regions
        tiers = tiers.to_dict()
    if isinstance(tiers, Mapping):
        for name, level in tiers.items():
            # NaN, which a table has for a region without a tier, has no place in a sorted list.
            if not is_number(level) or level != level:
                raise InputError("tiers.number", name=name, tier=level).says(
                    "the tier of {name} is {tier}, not a number", "Give each variable a number."
                )
        # Numbers only sort the tiers: 0, 5, 10 mean the same as 0, 1, 2.
        levels = sorted(set(tiers.values()))
        tiers = [[name for name, level in tiers.items() if level == now] for now in levels]
    _check_list(tiers)
    for level, members in enumerate(tiers):
        _check_list(members)
        for member in members:
            column = _column(member, names, "tiers")
            if tier[column] not in (-1, level):
                raise InputError("tiers.twice", name=names[column]).says(
                    "{name} is in two tiers", "Leave it in one."
                )
            tier[column] = level
    return tier


def _check_list(members: Any) -> None:
    if isinstance(members, str) or not isinstance(members, Iterable):
        raise InputError("tiers.list", given=repr(members)).says(
            "tiers is or holds {given:s}", "Give a list of variables for each tier."
        )


def _column(variable: Any, names: Sequence[str], kind: str) -> int:
    """Return the index of a variable that is given by name or index."""
    # `column_names` joins the labels of a MultiIndex column in the same way.
    name = "/".join(map(str, variable)) if isinstance(variable, tuple) else str(variable)
    if name in names:  # before indices, because the names of columns may be numbers
        return list(names).index(name)
    if is_whole(variable):
        column = int(variable)
        if not 0 <= column < len(names):
            raise InputError("columns.outside", argument=kind, column=column, m=len(names)).says(
                "{argument} names column {column} of {m} (counted from 0)", "Correct the number."
            )
        return column
    near = did_you_mean(name, names)
    raise InputError("columns.unknown", argument=kind, column=name, near=near).says(
        "{argument} names {column}, which is not a column", "{near} Numbers of columns work too."
    )
