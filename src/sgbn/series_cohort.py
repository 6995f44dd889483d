"""The class SeriesCohort: region time series of subjects, with their groups and covariates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.cohort import Cohort, read_only
from sgbn.core.exceptions import InputError, counted, shown
from sgbn.core.types import Array, Indices
from sgbn.core.validation import LARGEST, NONE, POSITIVE, is_whole

FEWEST_VOLUMES = 10  # per run; fewer are not enough for a spread or an autocorrelation
FLAT = 1e-9  # a region is empty up to this ratio of standard deviation to largest absolute value


@dataclass(frozen=True, eq=False, repr=False)
class SeriesCohort(Cohort):
    """Subjects with region time series, groups, covariates, sites, pairs and persons.

    It is made by `read_series` or `simulate_series`, or from arrays by `SeriesCohort.of`. It cannot
    be changed. A row of the cohort is a subject (or one session of a subject), never a volume.

    Attributes
    ----------
    values : ndarray of shape (n, m)
        Standard deviation over the volumes, for each of n subjects and m regions. It is NaN if the
        region is empty, which means that its series is constant. It only describes the series:
        means and scales of volumes carry no information about networks.
    series : tuple of ndarray of shape (volumes, m)
        One array per subject, with its runs one after the other.
    run_lengths : tuple of tuple of int
        Number of volumes in each run of each subject, or in each piece of a run between censored
        volumes. Each run or piece has at least 10 volumes. Volumes of different runs never count
        as neighbours in time.
    tr : float or None
        Seconds from one volume to the next.
    regions, ids, group, covariates, smooth, site, pair, person, block, atlas, provenance
        As in `Cohort`.
    """

    series: tuple[Array, ...] = ()
    run_lengths: tuple[tuple[int, ...], ...] = ()
    tr: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        series = tuple(
            _checked_series(table, subject, self.regions)
            for table, subject in zip(self.series, self.ids, strict=True)
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
        """Return a cohort made from arrays.

        Parameters
        ----------
        series : sequence of array-like of shape (volumes, m)
            One array per subject. All arrays have the same m regions. The number of volumes may
            differ between subjects.
        regions : sequence of str, optional
            Names of the regions; by default x0, x1, ...
        ids : sequence of str, optional
            Names of the subjects; by default s0, s1, ...
        run_lengths : sequence of sequence of int, optional
            Number of volumes in each run of each subject; by default each subject has one run.
        tr : float, optional
            Seconds from one volume to the next.
        **about
            group, covariates, site, pair, person, block, atlas, provenance: as in `Cohort`.
        """
        # The rows of one table would be read as subjects. An array of all series has three axes.
        if getattr(series, "ndim", 3) == 2:
            raise InputError(
                "this is one table, but a list of series is needed. Give one array (volumes x "
                "regions) per subject: [first, second, ...]."
            )
        series = list(series)
        if not series:
            raise InputError("there is no series. Give one array (volumes x regions) per subject.")
        arrays = [np.asarray(table) for table in series]
        first = arrays[0]
        width = first.shape[1] if first.ndim == 2 else 0
        regions = tuple(f"x{j}" for j in range(width)) if regions is None else tuple(regions)
        ids = tuple(f"s{i}" for i in range(len(arrays))) if ids is None else tuple(ids)
        if len(ids) != len(arrays):
            raise InputError(
                f"there are {len(arrays)} series and {len(ids)} ids. Give one id per series."
            )
        checked = tuple(
            _checked_series(array, subject, regions)
            for array, subject in zip(arrays, ids, strict=True)
        )
        if run_lengths is None:
            run_lengths = [(len(table),) for table in checked]
        runs = tuple(tuple(lengths) for lengths in run_lengths)
        values = np.array([spread_of(table) for table in checked])
        return cls(values, regions, ids, series=checked, run_lengths=runs, tr=tr, **about)

    def _part(self, rows: Indices, columns: list[int]) -> dict[str, Any]:
        return super()._part(rows, columns) | {
            "series": tuple(self.series[row][:, columns] for row in rows),
            "run_lengths": tuple(self.run_lengths[row] for row in rows),
        }

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        # Every estimator calls this method to read its data, also estimators of scikit-learn.
        raise InputError(
            "a SeriesCohort is not a table of numbers. For the network of all its subjects, call "
            "sgbn.SeriesSGBN().fit(cohort). For the network of one group, call "
            "sgbn.group_network(cohort, group). For the series as they are, use cohort.series."
        )

    @property
    def content(self) -> bytes:
        """Return all that results depend on, as bytes. The TR has no effect, and is left out."""
        digests = b"".join(sha256(table.tobytes()).digest() for table in self.series)
        return super().content + digests + repr(self.run_lengths).encode()

    @property
    def n_volumes(self) -> tuple[int, ...]:
        """Return the number of volumes of each subject."""
        return tuple(len(table) for table in self.series)

    def summary(self) -> str:
        """Return a few lines that say what the cohort holds."""
        first, *rest = super().summary().split("\n")
        fewest, most = min(self.n_volumes), max(self.n_volumes)
        volumes = f"{fewest}" if fewest == most else f"{fewest} to {most}"
        line = f"time series of {volumes} volumes"
        if max(map(len, self.run_lengths)) > 1:
            line += f" in up to {max(map(len, self.run_lengths))} runs"
        if self.tr is not None:
            line += f", one every {self.tr:g} s"
        # Missing values are empty regions here, and these have their own line.
        rest = [text for text in rest if not text.startswith("missing cells")]
        empty = np.isnan(self.values)
        if empty.any():
            subjects = counted(int(empty.any(axis=1).sum()), "subject")
            rest.append(f"empty regions: {empty.sum()} in {subjects}")
        return "\n".join([first, line, *rest])


def spread_of(series: Array) -> Array:
    """Return the standard deviation of each region; NaN if its series is constant."""
    spread: Array = series.std(axis=0)
    flat = spread <= FLAT * np.maximum(np.abs(series).max(axis=0), np.finfo(float).tiny)
    return np.where(flat, np.nan, spread)


def _checked_series(series: ArrayLike, subject: str, regions: tuple[str, ...]) -> Array:
    """Return read-only numbers (volumes x regions); errors name the subject, volume and region."""
    who = f"the series of subject {shown(subject)}"
    try:
        array = np.array(series, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{who} holds something that is not a number ({error}). Correct it."
        ) from error
    if array.ndim != 2 or array.shape[1] != len(regions):
        raise InputError(
            f"{who} has shape {array.shape}, but there are {counted(len(regions), 'region')}. Give "
            "one row per volume and one column per region."
        )
    if len(array) < FEWEST_VOLUMES:
        raise InputError(
            f"{who} has {counted(len(array), 'volume')}, but at least {FEWEST_VOLUMES} are needed. "
            "Leave this subject out."
        )
    # This form of the comparison also finds NaN.
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
    """Return the lengths of the runs; errors name the subject and the run."""
    runs = tuple(tuple(of_subject) for of_subject in lengths)
    if len(runs) != len(series):
        raise InputError(
            f"run_lengths has {len(runs)} entries for {len(series)} subjects. Give one per subject."
        )
    for run, table, subject in zip(runs, series, ids, strict=True):
        who = f"subject {shown(subject)}"
        if not all(map(is_whole, run)):
            raise InputError(f"the runs of {who} have {list(run)} volumes. Give whole numbers.")
        if sum(run) != len(table) or min(run, default=0) < 0:
            raise InputError(
                f"the runs of {who} have {list(run)} volumes, but the series has {len(table)}. "
                f"Give lengths that add up to {len(table)}."
            )
        short = next((k for k, length in enumerate(run) if length < FEWEST_VOLUMES), None)
        if short is not None:
            raise InputError(
                f"run {short + 1} of {who} has {counted(run[short], 'volume')}, but at least "
                f"{FEWEST_VOLUMES} are needed. Leave this run out."
            )
    return tuple(tuple(int(length) for length in run) for run in runs)
