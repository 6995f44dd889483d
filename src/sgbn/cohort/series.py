r"""The class SeriesCohort: region time series of subjects, with their groups and covariates.

`subject_moments` returns the correlations of each subject's series, and the effective number of its
volumes. Successive volumes resemble each other, so that T volumes tell less than T independent
ones. This is corrected in two steps:

- Each subject has one autoregressive filter, the same for all regions. If
  :math:`x_t = B^T x_t + e_t`, the filtered series has the same weights B. A separate filter for
  each region would change them. BIC chooses the order of the filter. Its coefficients solve the
  Yule-Walker equations of the mean autocovariance of the regions.
- After the filter, region i still has autocorrelations :math:`\rho_i(k)` at lags k. They reduce
  the number of volumes to the effective number

  .. math:: n = (T - q) \Big/ \operatorname{median}_{i < j} \Big( 1 + 2 \sum_k (1 - k / T) \,
            w_k \, \rho_i(k) \rho_j(k) \Big),

  where w is the taper of Tukey up to half of the volumes, and q counts the degrees of freedom of
  means, filter and nuisances (Bartlett 1935; Afyouni, Smith and Nichols 2019 review such formulas).
  Sharp band-pass filters have long autocorrelations. For them n is up to 17 % too large
  (benchmarks/results/series-effective.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_toeplitz

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import read_only
from sgbn.core.moments import one_blas_thread
from sgbn.core.problems import InputError, counted
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import LARGEST, NONE, POSITIVE, is_whole

FEWEST_VOLUMES = 10  # per run; fewer are not enough for a spread or an autocorrelation
FLAT = 1e-9  # a region is empty up to this ratio of standard deviation to largest absolute value
# Remedies of several checks
ONE_SERIES = "Give one array (volumes x regions) per subject: [first, second, ...]."
LEAVE_OUT = "Leave this subject out."


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
            raise InputError("series.table").says(
                "this is one table, but a list of series is needed", ONE_SERIES
            )
        series = list(series)
        if not series:
            raise InputError("series.none").says("there is no series", ONE_SERIES)
        arrays = [np.asarray(table) for table in series]
        width = arrays[0].shape[1] if arrays[0].ndim == 2 else 0
        regions = tuple(f"x{j}" for j in range(width)) if regions is None else tuple(regions)
        ids = tuple(f"s{i}" for i in range(len(arrays))) if ids is None else tuple(ids)
        if len(ids) != len(arrays):
            raise InputError("series.ids", n=len(arrays), ids=len(ids)).says(
                "there are {n:series/series} and {ids:id}", "Give one id per series."
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
    try:
        array = np.array(series, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError("series.numbers", subject=subject, error=error).says(
            "the series of {subject} are not all numbers ({error})", "Correct them."
        ) from error
    if array.ndim != 2 or array.shape[1] != len(regions):
        raise InputError("series.shape", subject=subject, m=len(regions)).says(
            "the series of {subject} are not a table of {m:region}",
            "Give one row per volume and one column per region.",
        )
    n = len(array)
    if n < FEWEST_VOLUMES:
        raise InputError("series.short", subject=subject, n=n, least=FEWEST_VOLUMES).says(
            "the series of {subject} have {n:volume}, but {least} are needed", LEAVE_OUT
        )
    # This form of the comparison also finds NaN.
    bad = ~(np.abs(array) <= LARGEST)
    if bad.any():
        volume, column = np.argwhere(bad)[0]
        where = {"region": regions[column], "volume": volume + 1, "subject": subject}
        raise InputError("series.cell", value=array[volume, column], n=bad.sum(), **where).says(
            "region {region} of {subject} is {value:g} at volume {volume} ({n:such cell})",
            "Cut out these volumes, or leave out the subject or the region.",
        )
    return read_only(array)


def _checked_runs(
    lengths: Sequence[Sequence[int]], series: tuple[Array, ...], ids: tuple[str, ...]
) -> tuple[tuple[int, ...], ...]:
    """Return the lengths of the runs; errors name the subject and the run."""
    runs = tuple(tuple(of_subject) for of_subject in lengths)
    if len(runs) != len(series):
        raise InputError("runs.count", given=len(runs), n=len(series)).says(
            "run_lengths has {given:entry/entries} for {n:subject}", "Give one per subject."
        )
    for run, table, subject in zip(runs, series, ids, strict=True):
        n = len(table)
        if not all(map(is_whole, run)) or sum(run) != n or min(run, default=0) < 0:
            raise InputError("runs.lengths", subject=subject, lengths=run, n=n).says(
                "the runs of {subject} have {lengths} volumes, but the series have {n}",
                "Give whole numbers that add up to {n}.",
            )
        if min(run) < FEWEST_VOLUMES:
            raise InputError("runs.short", subject=subject, n=min(run), least=FEWEST_VOLUMES).says(
                "a run of {subject} has {n:volume}, but {least} are needed", "Leave this run out."
            )
    return tuple(tuple(int(length) for length in run) for run in runs)


# Lags. Series of ABIDE, with a volume every 2 s, need 1 lag; with a band-pass filter, 4 to 9 lags.
MAX_AR_ORDER = 10
MIN_EFFECTIVE_VOLUMES = 20  # per subject; with fewer, correlations say nothing
MIN_EIGENVALUE = 1e-6  # of correlations; if one is smaller, some regions determine each other
# Share of each region's variance that counts as the region's own noise. Without it, one subject
# whose regions are nearly copies of each other would outweigh a hundred others.
NOISE_SHARE = 1e-4
MIN_VOLUMES_PER_REGION = 2  # with fewer, effects of the volume before cannot be estimated


@dataclass(frozen=True)
class SubjectMoments:
    """The correlations of the regions in each of S subjects.

    Attributes
    ----------
    R : ndarray of shape (S, m, m)
        Correlations of the filtered series. Correlations of different regions are multiplied by
        0.9999 (see `NOISE_SHARE`).
    n : ndarray of shape (S,)
        Effective number of volumes of each subject.
    names : tuple of str
        Names of the m regions.
    ids : tuple of str
        Names of the subjects.
    n_volumes : ndarray of shape (S,)
        Number of recorded volumes of each subject.
    ar_order : ndarray of shape (S,)
        Number of lags of each subject's filter.
    """

    R: Array
    n: Array
    names: tuple[str, ...]
    ids: tuple[str, ...]
    n_volumes: Indices
    ar_order: Indices

    def __len__(self) -> int:
        return len(self.n)

    @property
    def m(self) -> int:
        """Return the number of regions."""
        return len(self.names)

    def take(self, rows: ArrayLike) -> Self:
        """Return the moments of some subjects, which are given by index or by a mask."""
        chosen = np.arange(len(self))[np.asarray(rows)]
        columns = ("R", "n", "n_volumes", "ar_order")
        taken: dict[str, Any] = {name: getattr(self, name)[chosen] for name in columns}
        return replace(self, ids=tuple(self.ids[row] for row in chosen.tolist()), **taken)


def subject_moments(
    series: SeriesCohort | Sequence[ArrayLike],
    *,
    run_lengths: Sequence[Sequence[int]] | None = None,
    names: Sequence[str] | None = None,
    lagged: bool = False,
) -> SubjectMoments:
    """Return the correlations of each subject's series after a filter.

    Parameters
    ----------
    series : SeriesCohort, or sequence of array-like of shape (volumes, m)
        One array per subject.
    run_lengths : sequence of sequence of int, optional
        Number of volumes of each run, for each subject; by default there is one run. The mean of
        each run is taken out, and no lag reaches from one run into another.
    names : sequence of str, optional
        Names of the regions; by default x0, x1, ...
    lagged : bool
        Whether to take out linear effects of all regions one volume before, instead of an
        autoregressive filter. This needs at least two volumes per region.

    Raises
    ------
    InputError
        If a series is constant or too short, or if regions determine each other. The message names
        the subject and the region.
    """
    cohort = as_cohort(series, run_lengths, names)
    S, m = len(cohort), len(cohort.regions)
    R, n, order = np.empty((S, m, m)), np.empty(S), np.empty(S, np.intp)
    for s, (subject, filtered) in enumerate(
        zip(cohort.ids, filtered_series(cohort, lagged), strict=True)
    ):
        R[s] = _correlations(filtered.rows, cohort.regions, subject)
        n[s], order[s] = filtered.n, filtered.ar_order
    volumes = np.array(cohort.n_volumes, np.intp)
    return SubjectMoments(R, n, cohort.regions, cohort.ids, volumes, order)


def as_cohort(
    series: SeriesCohort | Sequence[ArrayLike],
    run_lengths: Sequence[Sequence[int]] | None = None,
    names: Sequence[str] | None = None,
) -> SeriesCohort:
    """Return a SeriesCohort as it is, and make one of a sequence of arrays.

    Raises
    ------
    InputError
        If a Cohort is given, or if a SeriesCohort is given together with run lengths or names.
    """
    if isinstance(series, SeriesCohort):
        if run_lengths is not None or names is not None:
            raise InputError("series.names").says(
                "a SeriesCohort has its own run lengths and names of regions",
                "Leave {run_lengths=} and {names=} out.",
            )
        return series
    if isinstance(series, Cohort):
        raise InputError("series.cohort").says(
            "a Cohort has one number per subject and region, but series are needed",
            "Read series with sgbn.read_series.",
        )
    return SeriesCohort.of(series, names, run_lengths=run_lengths)


class Filtered(NamedTuple):
    """The filtered series of one subject.

    Attributes
    ----------
    rows : ndarray of shape (volumes, m)
        The filtered series. Each region has a mean square of 1.
    n : float
        Effective number of volumes.
    ar_order : int
        Number of lags of the filter.
    """

    rows: Array
    n: float
    ar_order: int


def filtered_series(cohort: SeriesCohort, lagged: bool = False) -> Iterator[Filtered]:
    """Yield the filtered series of each subject; see `subject_moments`."""
    empty = np.argwhere(np.isnan(cohort.values))
    if len(empty):
        subject, region = cohort.ids[empty[0, 0]], cohort.regions[empty[0, 1]]
        raise InputError("series.empty", subject=subject, region=region, n=len(empty)).says(
            "region {region} of {subject} is constant ({n:such series/such series})",
            "Leave out the subject or the region, or let sgbn.review do it.",
        )
    for row in range(len(cohort)):
        with one_blas_thread():
            yield _filtered(cohort, row, lagged)


def _filtered(cohort: SeriesCohort, row: int, lagged: bool) -> Filtered:
    """Return the filtered series of one subject; raise InputError if it cannot be used."""
    series, subject = cohort.series[row], cohort.ids[row]
    runs, is_flat = scaled_runs(series, cohort.run_lengths[row])
    if is_flat.any():
        region = cohort.regions[int(is_flat.argmax())]
        raise InputError("series.flat", region=region, subject=subject).says(
            "region {region} of {subject} is constant within each of its runs",
            "Leave out the subject or the region.",
        )
    order, lost = 0, 0
    if lagged:
        needed = MIN_VOLUMES_PER_REGION * len(cohort.regions)
        if len(series) < needed:
            raise InputError("series.lagged", subject=subject, n=len(series), least=needed).says(
                "{subject} has {n:volume}, but {lagged=True} needs {least} for so many regions",
                "Leave lagged out, or choose fewer regions.",
            )
        runs, lost = _without_lagged(runs), series.shape[1]
    else:
        runs, order = whiten(runs)
    n = effective_volumes(runs, order + lost)
    if n < MIN_EFFECTIVE_VOLUMES:
        raise InputError(
            "series.worth", subject=subject, n=len(series), worth=n, least=MIN_EFFECTIVE_VOLUMES
        ).says(
            "the {n:volume} of {subject} are worth only {worth:.0f} independent ones, but {least} "
            "are needed, often because of a band-pass filter",
            LEAVE_OUT,
        )
    rows = np.concatenate(runs)
    return Filtered(rows / np.sqrt(np.square(rows).mean(axis=0)), n, order)


def scaled_runs(series: Array, run_lengths: Sequence[int]) -> tuple[list[Array], Mask]:
    """Return centred runs whose regions have a mean square of 1, and which regions are flat.

    So all regions have the same weight in a mean autocovariance. A flat region is constant within
    each run. It is only centred, because it has no spread to divide by.
    """
    runs = [run - run.mean(axis=0) for run in np.split(series, np.cumsum(run_lengths)[:-1])]
    # Over all runs of the subject, so that differences in variance between runs are kept.
    size = np.sqrt(sum(np.square(run).sum(axis=0) for run in runs) / len(series))
    is_flat = size <= FLAT * np.abs(series).max(axis=0)
    return [run / np.where(is_flat, 1.0, size) for run in runs], is_flat


def whiten(runs: Sequence[Array]) -> tuple[list[Array], int]:
    """Return centred runs without the part that an autoregression predicts.

    All regions share the autoregression. The second result is its order. Runs that are not longer
    than this order are left out.
    """
    coefficients = ar_filter(runs)
    order = len(coefficients)
    filtered = [_predicted_out(run, coefficients) for run in runs if len(run) > order]
    return [run - run.mean(axis=0) for run in filtered], order


def _correlations(rows: Array, names: tuple[str, ...], subject: str) -> Array:
    """Return the correlations of a filtered series.

    Raise InputError if some regions determine others.
    """
    R: Array = rows.T @ rows / len(rows)
    if len(rows) > len(R):  # with fewer volumes than regions, regions always determine each other
        sizes, directions = np.linalg.eigh(R)
        if sizes[0] < MIN_EIGENVALUE:
            largest = np.argsort(-np.abs(directions[:, 0]), kind="stable")[:3]
            regions = [names[j] for j in largest]
            raise InputError("series.determined", subject=subject, regions=regions).says(
                "in {subject}, regions determine each other, above all {regions}: they are copies, "
                "or their mean was taken out (global signal)",
                "Leave one of these regions out, or give series with their mean.",
            )
    np.fill_diagonal(R, 1.0)
    return (1 - NOISE_SHARE) * R + NOISE_SHARE * np.eye(len(R))


def ar_filter(runs: Sequence[Array]) -> Array:
    """Return the coefficients of the autoregression that all regions of a subject share.

    BIC chooses its order.
    """
    T = sum(map(len, runs))
    # Short runs allow only few lags.
    most = min(MAX_AR_ORDER, max(map(len, runs)) // 4)
    rho = _autocovariance(runs, most).mean(axis=1)
    # The BIC without a filter is T log 1 = 0.
    best, chosen = 0.0, np.empty(0)
    for order in range(1, most + 1):
        a = solve_toeplitz(rho[:order], rho[1 : order + 1])
        # The share of the variance that a filter of this order leaves.
        left = 1.0 - a @ rho[1 : order + 1] / rho[0]
        bic = T * np.log(max(left, np.finfo(float).tiny)) + order * np.log(T)
        if bic < best:
            best, chosen = bic, a
    return chosen


def _predicted_out(run: Array, coefficients: Array) -> Array:
    """Return the part of a run that an autoregression does not predict.

    The first volumes are missing, because their predictors are not known.
    """
    order = len(coefficients)
    left = run[order:].copy()
    for lag, a in enumerate(coefficients.tolist(), start=1):
        left -= a * run[order - lag : len(run) - lag]
    return left


def effective_volumes(runs: Sequence[Array], lost: int) -> float:
    """Return the effective number of volumes for the median pair of regions, rounded down.

    `lost` counts the degrees of freedom of the filters. The mean of each run takes one more.
    """
    T = sum(map(len, runs))
    lags = max(1, max(map(len, runs)) // 2)
    covariance = _autocovariance(runs, lags)
    rho = covariance[1:] / np.maximum(covariance[0], np.finfo(float).tiny)
    k = np.arange(1, lags + 1)
    # Tukey's taper gives long lags less weight, because their autocorrelations are mostly noise.
    weight = (1 - k / T) * (1 + np.cos(np.pi * k / lags)) / 2
    m = rho.shape[1]
    factors = 1 + 2 * (rho * weight[:, None]).T @ rho
    # A single region has no pair: it is compared with itself.
    pairs = np.triu_indices(m, 1) if m > 1 else (np.array([0]), np.array([0]))
    # At least 1, because no series is worth more volumes than it has.
    return float(np.floor((T - lost - len(runs)) / max(1.0, np.median(factors[pairs]))))


def _autocovariance(runs: Sequence[Array], most: int) -> Array:
    """Return the autocovariance of each region at lags 0 to `most`, of shape (most + 1, m).

    No lag reaches from one run into another.
    """
    T = sum(map(len, runs))
    by_lag = [sum(_products(run, lag) for run in runs) / T for lag in range(most + 1)]
    return np.array(by_lag)


def _products(run: Array, lag: int) -> Array:
    """Return the sum over a run of each region times itself `lag` volumes later; 0 if too short."""
    return np.einsum("tj,tj->j", run[lag:], run[: max(len(run) - lag, 0)])


def _without_lagged(runs: Sequence[Array]) -> list[Array]:
    """Return the residuals of each volume given all regions of the volume before in its run."""
    now = np.concatenate([run[1:] for run in runs])
    before = np.concatenate([run[:-1] for run in runs])
    effects = np.linalg.lstsq(before, now, rcond=None)[0]
    ends = np.cumsum([len(run) - 1 for run in runs])[:-1]
    runs = np.split(now - before @ effects, ends)
    return [run - run.mean(axis=0) for run in runs]
