"""SeriesCohort: one region time series per subject, with all that is known about the subjects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.cohort import Cohort, read_only
from sgbn.exceptions import InputError, counted, shown
from sgbn.parameters import NONE, POSITIVE, is_whole
from sgbn.types import Array, Indices
from sgbn.validation import LARGEST

FEWEST_VOLUMES = 10  # of a run: no spread and no autocorrelation is known of fewer
FLAT = 1e-9  # standard deviation, over the largest value, of a region that is empty


@dataclass(frozen=True, eq=False, repr=False)
class SeriesCohort(Cohort):
    """Subjects with region time series, groups, covariates, sites, pairs and persons.

    Made by `read_series` or `simulate_series`, or from arrays by `SeriesCohort.of`. It cannot be
    changed. A row of the cohort is a subject (or one session of a subject), never a volume.

    Attributes
    ----------
    values : ndarray of shape (n, m)
        Standard deviation over the volumes of each region of each subject; NaN where the region is
        empty, which means that its series is constant. It only describes the series: means and
        scales of volumes carry no information about networks.
    series : tuple of ndarray of shape (volumes, m)
        One array per subject, its runs one after the other.
    run_lengths : tuple of tuple of int
        Volumes of each run of each subject, or of each piece of a run between censored volumes; 10
        or more. Nothing is taken for a neighbour in time across them.
    tr : float or None
        Seconds from volume to volume.
    regions, ids, group, covariates, smooth, site, pair, person, block, atlas, provenance
        As in `Cohort`.
    """

    series: tuple[Array, ...] = ()
    run_lengths: tuple[tuple[int, ...], ...] = ()
    tr: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        series = tuple(
            _checked_series(one, subject, self.regions)
            for one, subject in zip(self.series, self.ids, strict=True)
        )
        object.__setattr__(self, "series", series)
        object.__setattr__(self, "run_lengths", _checked_runs(self.run_lengths, series, self.ids))
        object.__setattr__(self, "tr", (NONE | POSITIVE).check("tr", self.tr))

    @classmethod
    def of(
        cls,
        series: Sequence[ArrayLike],
        regions: Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
        *,
        run_lengths: Sequence[Sequence[int]] | None = None,
        tr: float | None = None,
        **about: Any,
    ) -> Self:
        """Make a cohort of arrays.

        Parameters
        ----------
        series : sequence of array-like of shape (volumes, m)
            One per subject. Numbers of volumes may differ, regions may not.
        regions : sequence of str, optional
            By default x0, x1, ...
        ids : sequence of str, optional
            By default s0, s1, ...
        run_lengths : sequence of sequence of int, optional
            Volumes of each run of each subject; by default one run each.
        tr : float, optional
            Seconds from volume to volume.
        **about
            group, covariates, site, pair, person, block, atlas, provenance: as in `Cohort`.
        """
        if getattr(series, "ndim", 3) == 2:
            raise InputError(
                "one table is given where a list of series is needed. Give one array (volumes x "
                "regions) per subject: [first, second, ...]."
            )
        series = list(series)
        if not series:
            raise InputError("there is no series. Give one array (volumes x regions) per subject.")
        arrays = [np.asarray(one) for one in series]
        first = arrays[0]
        width = first.shape[1] if first.ndim == 2 else 0
        regions = tuple(f"x{j}" for j in range(width)) if regions is None else tuple(regions)
        ids = tuple(f"s{i}" for i in range(len(arrays))) if ids is None else tuple(ids)
        if len(ids) != len(arrays):
            raise InputError(
                f"there are {len(arrays)} series and {len(ids)} ids. Give one id per series."
            )
        checked = tuple(
            _checked_series(one, subject, regions) for one, subject in zip(arrays, ids, strict=True)
        )
        if run_lengths is None:
            run_lengths = [(len(one),) for one in checked]
        runs = tuple(tuple(own) for own in run_lengths)
        values = np.array([spread_of(one) for one in checked])
        return cls(values, regions, ids, series=checked, run_lengths=runs, tr=tr, **about)

    def _part(self, rows: Indices, columns: list[int]) -> dict[str, Any]:
        return super()._part(rows, columns) | {
            "series": tuple(self.series[row][:, columns] for row in rows),
            "run_lengths": tuple(self.run_lengths[row] for row in rows),
        }

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        # every estimator asks for it, ours and others
        raise InputError(
            "a SeriesCohort is given where a table of numbers is needed. For the network of its "
            "subjects call sgbn.SeriesSGBN().fit(cohort), for that of one group "
            "sgbn.group_network(cohort, group); for the series as they are take cohort.series."
        )

    @property
    def content(self) -> bytes:
        """Everything that results depend on; the TR only names frequencies."""
        digests = b"".join(sha256(one.tobytes()).digest() for one in self.series)
        return super().content + digests + repr(self.run_lengths).encode()

    @property
    def n_volumes(self) -> tuple[int, ...]:
        """Volumes of each subject."""
        return tuple(len(one) for one in self.series)

    def summary(self) -> str:
        """Say what the cohort holds, in a few lines."""
        first, *others = super().summary().split("\n")
        fewest, most = min(self.n_volumes), max(self.n_volumes)
        volumes = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        line = f"time series of {volumes} volumes"
        if max(map(len, self.run_lengths)) > 1:
            line += f" in up to {max(map(len, self.run_lengths))} runs"
        if self.tr is not None:
            line += f", one every {self.tr:g} s"
        others = [one for one in others if not one.startswith("missing cells")]
        empty = np.isnan(self.values)
        if empty.any():
            subjects = counted(int(empty.any(axis=1).sum()), "subject")
            others.append(f"empty regions: {empty.sum()} in {subjects}")
        return "\n".join([first, line, *others])


def spread_of(series: Array) -> Array:
    """Return the standard deviation of each region; NaN where its series is constant."""
    spread: Array = series.std(axis=0)
    flat = spread <= FLAT * np.maximum(np.abs(series).max(axis=0), np.finfo(float).tiny)
    return np.where(flat, np.nan, spread)


def _checked_series(series: ArrayLike, subject: str, regions: tuple[str, ...]) -> Array:
    """Read-only numbers (volumes x regions), or an InputError that names what is wrong where."""
    who = f"the series of subject {shown(subject)}"
    try:
        array = np.array(series, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(f"{who} holds what is no number ({error}). Correct it.") from error
    if array.ndim != 2 or array.shape[1] != len(regions):
        raise InputError(
            f"{who} has shape {array.shape}, but there are {counted(len(regions), 'region')}. Give "
            "one row per volume and one column per region."
        )
    if len(array) < FEWEST_VOLUMES:
        raise InputError(
            f"{who} has {counted(len(array), 'volume')}, and {FEWEST_VOLUMES} or more are needed. "
            "Leave this subject out."
        )
    bad = ~(np.abs(array) <= LARGEST)
    if bad.any():
        volume, column = np.argwhere(bad)[0]
        raise InputError(
            f"{who} is {array[volume, column]:g} at volume {volume + 1} of region "
            f"{shown(regions[column])} ({counted(bad.sum(), 'such cell')}). Cut out these volumes, "
            "or leave out the subject or the region."
        )
    return read_only(array)


def _checked_runs(
    lengths: Sequence[Sequence[int]], series: tuple[Array, ...], ids: tuple[str, ...]
) -> tuple[tuple[int, ...], ...]:
    runs = tuple(tuple(own) for own in lengths)
    if len(runs) != len(series):
        raise InputError(
            f"run_lengths has {len(runs)} entries for {len(series)} subjects. Give one per subject."
        )
    for own, one, subject in zip(runs, series, ids, strict=True):
        who = f"subject {shown(subject)}"
        if not all(map(is_whole, own)):
            raise InputError(f"the runs of {who} have {list(own)} volumes. Give whole numbers.")
        if sum(own) != len(one) or min(own, default=0) < 0:
            raise InputError(
                f"the runs of {who} have {list(own)} volumes, but the series has {len(one)}. Give "
                "lengths that add up."
            )
        short = next((k for k, length in enumerate(own) if length < FEWEST_VOLUMES), None)
        if short is not None:
            raise InputError(
                f"run {short + 1} of {who} has {counted(own[short], 'volume')}, and "
                f"{FEWEST_VOLUMES} or more are needed. Leave this run out."
            )
    return tuple(tuple(int(length) for length in own) for own in runs)
