"""A search for the number of subjects per group that gives a wanted power.

Sizes are tried by doubling and bisection. Each simulated power has a Monte-Carlo error. A plain
bisection would end too early at a size whose power is too high by chance. So a rising curve is
fitted to all sizes that were tried, and sizes a little above the answer are tried too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, Unpack

import numpy as np
from sklearn.isotonic import isotonic_regression

from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import NetworkLike
from sgbn.core.validation import SHARE, Whole
from sgbn.inference.difference_request import MIN_SUBJECTS_PER_GROUP
from sgbn.inference.power import Edge, Power, edge_pairs, wilson
from sgbn.inference.power import power as power_with
from sgbn.runs.study import Study

Bracket = tuple[int, int | None]

LARGEST = 5000  # largest number of subjects per group that is tried
NARROW = 0.03  # precision of the number of subjects, as a share
CONFIRMED = (1.1, 1.2)  # multiples of a size that are also tried before the search ends
ROUND_OFF = 1e-9  # round-off of a mean of powers


class SampleSize(NamedTuple):
    """The number of subjects per group for a wanted power.

    Attributes
    ----------
    n_per_group : int
        The smallest number that was found to have the power. It is precise to about 3 %. A rising
        curve is fitted to the powers of all sizes that were tried (isotonic regression), since a
        power cannot fall with more subjects. If a simulated power falls, the mean power of the
        neighbouring sizes is used. Sizes 10 and 20 % above `n_per_group` have been tried too.
    low, high : int
        The range that the simulations leave open. On the same curve, these are the smallest numbers
        for which the upper and the lower end of the power's interval reach the wanted power. With
        few simulations the range is wide. The largest number that is tried is 5,000.
    tried : tuple of Power
        The power of each size that was tried, sorted by number of subjects.
    """

    n_per_group: int
    low: int
    high: int
    tried: tuple[Power, ...]


class PowerOptions(TypedDict, total=False):
    """The options that `sample_size` passes on to `power` without a change."""

    edges: Sequence[Edge]
    n_changed: int
    level: float
    by: str
    n_permutations: int
    random_state: int
    n_jobs: int | None
    progress: bool


def sample_size(
    effect: float,
    power: float = 0.8,
    network: int | NetworkLike = 40,
    *,
    n_simulations: int = 100,
    folder: str | Path | None = None,
    **options: Unpack[PowerOptions],
) -> SampleSize:
    """Return the number of subjects per group for a wanted power, by doubling and bisection.

    All sizes that are tried contribute to the estimated power of each size, see `SampleSize`.

    Parameters
    ----------
    effect : float
        Size of the difference, as in `sgbn.inference.power`.
    power : float
        The wanted chance to find the difference.
    network, n_simulations
        The same as in `sgbn.inference.power`.
    folder : path, optional
        Folder that keeps finished simulations, in one subfolder per number of subjects.
    **options
        edges, n_changed, level, by, n_permutations, random_state, n_jobs and progress, which are
        the same as in `sgbn.inference.power`.

    Raises
    ------
    InputError
        If the power is not reached with 5,000 subjects per group.
    """
    _check_wanted(power, n_simulations)
    settings: dict[str, Any] = {**options, "network": network, "n_simulations": n_simulations}
    settings["edges"] = edge_pairs(options.get("edges", ()))  # an iterator would be empty next time
    tried: dict[int, Power] = {}
    size: int | None = 2 * MIN_SUBJECTS_PER_GROUP
    while size is not None:
        study = Study(folder).part(f"n{size:05d}")
        tried[size] = power_with(effect, size, folder=study.folder, **settings)
        brackets = _brackets(tried, power)
        size = _next_size(brackets, tried)
    (_, needed), (_, low), (_, high) = brackets
    if needed is None or low is None:
        n = max(tried)
        raise InputError(
            f"a power of {power:g} is not reached: with {n} subjects per group it is "
            f"{tried[n].power:.2f}. Give a larger effect, or fewer regions."
        )
    return SampleSize(needed, low, high or LARGEST, tuple(tried[k] for k in sorted(tried)))


def _check_wanted(power: float, n_simulations: int) -> None:
    """Raise InputError if so few simulations can never show that the power is reached."""
    SHARE.check("power", power)
    if wilson(1.0, Whole(2).check("n_simulations", n_simulations))[0] < power:
        raise InputError(
            f"{n_simulations} simulations cannot tell a power of {power:g} from a lower one, even "
            "if all of them find the difference. Give more simulations, or a lower power."
        )


def _brackets(tried: dict[int, Power], wanted: float) -> list[Bracket]:
    """Return three pairs: the largest size that is too small, and the smallest that is enough.

    The first pair is for the power, the second for the upper end of its interval, and the third for
    the lower end. All use a curve that rises with the sizes, so that one power that is too high by
    chance has little weight.
    """
    sizes = sorted(tried)
    curve = isotonic_regression([tried[size].power for size in sizes])
    # The interval of the smoothed power counts only the trials of this size, which is cautious.
    ends = np.array(
        [wilson(share, tried[size].trials) for share, size in zip(curve, sizes, strict=True)]
    )
    brackets: list[Bracket] = []
    for values in (curve, ends[:, 1], ends[:, 0]):
        # Sizes that share one mean may differ by round-off.
        first = int((values < wanted - ROUND_OFF).sum())
        few = sizes[first - 1] if first else MIN_SUBJECTS_PER_GROUP - 1
        brackets.append((few, sizes[first] if first < len(sizes) else None))
    return brackets


def _next_size(brackets: Sequence[Bracket], tried: Collection[int]) -> int | None:
    """Return the size to try next, by doubling and bisection; None if the search has ended."""
    for few, many in brackets:
        if many is None:
            return min(2 * few, LARGEST) if few < LARGEST else None
        if many - few > max(1, NARROW * many):
            return (few + many) // 2
    _, needed = brackets[0]
    larger = [int(np.ceil(share * (needed or LARGEST))) for share in CONFIRMED]
    return next((size for size in larger if size <= LARGEST and size not in tried), None)
