"""The measurement of the regions of a label atlas in images, with one row per subject or volume.

An image with one volume gives the volume or mean of each region, an image with four dimensions the
mean signal of each region over time. For this, the atlas is placed on the grid of the image, and
the voxels of each region are summed. The quality sheet, a table of the subjects and one of the
regions, shows which images should be checked.

nilearn's ``NiftiLabelsMasker`` gives the same means, but needs 2.8 times the CPU time, or 4.2 times
if the atlas is resampled (benchmarks/extract.py). It does not report the coverage.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.ndimage import affine_transform  # type: ignore[attr-defined]

from sgbn.cohort.atlas import Atlas
from sgbn.core.problems import InputError, Problem, listed
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import PROBABILITY, OneOf
from sgbn.prepare.balance import robust_z
from sgbn.read.cells import of_subject, repeated
from sgbn.read.label_atlas import (
    AtlasSource,
    LabelAtlas,
    Labels,
    load_label_atlas,
    places_of,
    write_places,
)
from sgbn.read.roles import EXTRACTED
from sgbn.read.volumes import (
    Grid,
    grid_of,
    has_orientation,
    image_path,
    images_by_subject,
    nibabel,
    open_image,
    spatial_shape,
    volumes,
)
from sgbn.runs.files import Arrays, as_path, write_atomically
from sgbn.runs.study import Study

MAX_REGIONS_NAMED = 3  # regions that a message names to describe an atlas
MIN_COVERAGE = 0.5  # share of the atlas's voxels; an image with values in fewer voxels is bad

Images = str | Path | Sequence[str | Path] | Mapping[str, str | Path]


@dataclass(frozen=True)
class Extraction:
    """The measurements of the regions in the images of several subjects.

    Attributes
    ----------
    ids : list of str
        Ids of the subjects whose image could be used.
    regions : list of str
        Names of the columns of `values`.
    values : ndarray of shape (n subjects, m regions)
        Volumes in cubic mm, or means. The cell is NaN if the region has no voxel in the image, or
        if none of its voxels has a value (see `coverage`).
    coverage : ndarray of shape (n, m)
        Share of the region's voxels that have a value. A voxel has a value if it is finite and,
        for means, not exactly 0.
    quality : Quality
        Tables `subjects` and `regions` for checking the images.
    failures : dict
        Subject id -> error message, for each image that was skipped.
    measure : str
        ``"volume"`` or ``"mean"``.
    atlas : Atlas
        Hemisphere, lobe, centre and volume of the regions, see `sgbn.read.label_atlas`. Use it as
        in ``read_table(extraction.table(), atlas=extraction.atlas)``.
    """

    ids: list[str]
    regions: list[str]
    values: Array
    coverage: Array
    quality: Quality
    failures: dict[str, Problem]
    measure: str
    atlas: Atlas

    def table(self) -> pd.DataFrame:
        """Return a table with one row per subject: ``subject_id``, then the regions."""
        table = pd.DataFrame(self.values, columns=self.regions)
        table.insert(0, "subject_id", self.ids)
        return table


def extract_regions(
    images: Images,
    atlas: AtlasSource,
    *,
    measure: str = "volume",
    labels: Labels = None,
    ids: Sequence[str] | None = None,
    background: int | Collection[int] = 0,
    min_coverage: float = MIN_COVERAGE,
    download: bool = False,
    on_error: str = "raise",
    folder: str | Path | None = None,
    n_jobs: int | None = None,
    progress: bool = True,
) -> Extraction:
    """Measure the regions of an atlas in one image per subject.

    Parameters
    ----------
    images : list of path, mapping of id to path, path of a folder
        Maps in the space of the atlas: tissue probabilities (modulated or not), PET, or any other
        map. If no ids are given, they are taken from the file names, see
        `sgbn.read.volumes.subject_id`.
    atlas, labels, background, download
        See `sgbn.read.label_atlas.load_label_atlas`. If the grids of the atlas and the image
        differ, the atlas is resampled to the grid of the image by nearest neighbour. The image is
        never resampled.
    measure : {"volume", "mean"}
        ``"volume"``, for tissue probabilities, is the sum of the voxels times the volume of a
        voxel, in cubic mm. ``"mean"``, for PET and all other maps, is the mean of the voxels.
        Voxels that are NaN or infinite count as 0 in a volume, and are left out of a mean. Voxels
        that are exactly 0 are left out of a mean too, because FSL, fMRIPrep and other tools write
        0 outside the mask. Inside the mask, a map of real numbers hardly ever contains exactly 0.
        The coverage shows which share of the voxels has a value.
    ids : sequence of str, optional
        One id per image.
    min_coverage : float
        Smallest share of the atlas's voxels in which an image must have values. Below it, the
        image counts as bad.
    on_error : {"raise", "skip"}
        What to do if an image is bad. ``"raise"`` ends the run with an error. ``"skip"`` leaves the
        image out and lists it in `failures`.
    folder : path, optional
        Folder for finished results. If the function is called again, it measures only the images
        that are new, that failed, or that have changed.
    n_jobs : int, optional
        Number of processes. Each holds one image at a time.
    progress : bool
        Whether to show a progress bar with the time left.

    Returns
    -------
    Extraction
        Values and coverage of each region, with tables for checking the images.
    """
    nibabel()
    OneOf(*MEASURES).check("measure", measure)
    PROBABILITY.check("min_coverage", min_coverage)
    paths = images_by_subject(images, ids)
    atlas = load_label_atlas(atlas, labels, background=background, download=download)
    # This comes first, because it warns if left and right of the atlas are exchanged.
    places = places_of(atlas)
    shared = {"atlas": atlas, "measure": measure, "min_coverage": float(min_coverage)}
    results, failures = run_subjects(
        Study(folder, n_jobs, progress),
        measure_image,
        {subject: {"path": path} for subject, path in paths.items()},
        study_settings(atlas, measure, min_coverage),
        shared,
        on_error,
    )
    stored = list(results.values())
    used = [str(paths[subject]) for subject in results]
    subjects = subject_table(list(results), used, stored, atlas, measure)
    return Extraction(
        list(results),
        list(atlas.regions),
        np.array([result["values"] for result in stored]),
        np.array([result["coverage"] for result in stored]),
        Quality(subjects, region_table(atlas, stored)),
        failures,
        measure,
        places,
    )


def run_subjects(
    study: Study,
    function: Callable[..., Mapping[str, Any]],
    tasks: Mapping[str, Mapping[str, Any]],
    settings: Mapping[str, Any],
    shared: Mapping[str, Any],
    on_error: str,
) -> tuple[dict[str, Arrays], dict[str, Problem]]:
    """Run one task per subject with `Study.run`, and return results and failures by subject.

    Each task has an argument `path`. If that file changes, the task is run again.
    """
    # The name of a task depends on its image, so that a new image is a new task.
    names = {subject: task_name(subject, task["path"]) for subject, task in tasks.items()}
    by_name = {names[subject]: task for subject, task in tasks.items()}
    done = study.run(function, by_name, settings, shared=shared, on_error=on_error)
    failures = {s: done.failures[name] for s, name in names.items() if name in done.failures}
    if not done:
        raise InputError("images.unusable", cause=next(iter(failures.values()))).says(
            "none of the images could be used; for the first, {cause}"
        )
    return {s: done[name] for s, name in names.items() if name in done}, failures


def study_settings(atlas: LabelAtlas, measure: str, min_coverage: float) -> dict[str, Any]:
    """Return the settings of a study. Results are used again only if all settings are the same.

    The images are not part of the settings.
    """
    # The names make a message about another atlas clearer than two checksums alone.
    regions = f"{len(atlas.regions)} regions: {listed(atlas.regions, MAX_REGIONS_NAMED)}"
    return {
        "atlas": f"{Path(atlas.name).name} ({regions}; sha256 {atlas.fingerprint})",
        "measure": measure,
        "min_coverage": float(min_coverage),
    }


def task_name(subject: str, path: Path) -> str:
    """Return the name of a task. A changed image gets a new name, so it is measured again.

    The part before the last dot depends only on the subject.
    """
    try:
        # Size and time of change are enough. Checksums of all images would take too long.
        status = path.stat()
        state = f"{status.st_size} {status.st_mtime_ns}"
    except OSError:
        state = "absent"
    image_state = f"{path.resolve()}\n{state}"
    owner, image = (hashlib.sha256(s.encode()).hexdigest() for s in (subject, image_state))
    # The checksum distinguishes ids that differ only in the characters replaced here.
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', subject)[:80]}.{owner[:8]}.{image[:16]}"


MIN_GOOD_COVERAGE = 0.95  # share of voxels; images below this should be checked
MAX_USUAL_Z = 5.0  # larger robust z scores are not expected, even in thousands of cells
MAX_OUTLYING_SHARE = 0.05  # of regions; a subject with more outlying regions is flagged


class Quality(NamedTuple):
    """The quality sheet of an extraction.

    Attributes
    ----------
    subjects : DataFrame
        One row per subject, see `subject_table`.
    regions : DataFrame
        One row per region, see `region_table`.
    """

    subjects: pd.DataFrame
    regions: pd.DataFrame


def subject_table(
    ids: Sequence[str],
    paths: Sequence[str],
    results: Sequence[Arrays],
    atlas: LabelAtlas,
    measure: str,
) -> pd.DataFrame:
    """Return a table with one row per subject.

    The columns are subject_id, image, grid, resampled (whether the atlas was resampled), coverage
    (share of the regions' voxels that have a value), zeros (share of the finite voxels that are
    exactly 0), minimum and maximum of the voxels that have a value, regions_empty (number of
    regions that have no voxel, no value, or only zeros), total (sum of the volumes, or mean of the
    means), total_z (robust z of the total), regions_outlying (number of regions with a robust z
    above 5 or below -5), flagged (whether the image should be checked) and note (what looks wrong).
    Robust z scores need at least ten subjects.

    An image is flagged if its coverage is below 95 %, a region is empty, total_z is above 5 or
    below -5, more than 5 % of the regions are outlying, or there is a note.
    """
    values = np.array([result["values"] for result in results])
    shares = np.array([result["coverage"] for result in results])
    coverage = np.average(shares, axis=1, weights=atlas.n_voxels)
    # The sum of volumes is the volume of the tissue. A sum of means has no meaning.
    total = np.nansum(values, axis=1) if measure == "volume" else np.nanmean(values, axis=1)
    total_z = robust_z(total[:, None])[:, 0]
    outlying = (np.abs(robust_z(values)) > MAX_USUAL_Z).sum(axis=1)
    # An empty region lies outside the image or outside the mask.
    empty = (np.isnan(values) | (values == 0)).sum(axis=1)
    notes = _notes(ids, values, results)
    flagged = (
        (coverage < MIN_GOOD_COVERAGE)
        | (empty > 0)
        | (np.abs(total_z) > MAX_USUAL_Z)
        | (outlying > MAX_OUTLYING_SHARE * values.shape[1])
        | (np.array(notes) != "")
    )
    columns: dict[str, Any] = {
        "subject_id": list(ids),
        "image": list(paths),
        **{name: [result[name].item() for result in results] for name in ("grid", "resampled")},
        "coverage": coverage,
        **{name: [float(r[name]) for r in results] for name in ("zeros", "minimum", "maximum")},
        "regions_empty": empty,
        "total": total,
        "total_z": total_z,
        "regions_outlying": outlying,
        "flagged": flagged,
        "note": notes,
    }
    return pd.DataFrame(columns)


def _notes(ids: Sequence[str], values: Array, results: Sequence[Arrays]) -> list[str]:
    """Return a note on each image. It names an earlier subject with the same values, if any."""
    first: dict[bytes, str] = {}
    notes = []
    for name, row, result in zip(ids, values, results, strict=True):
        # If the values of two subjects agree in all bits, an image was copied.
        twin = first.setdefault(row.tobytes(), name)
        same = f"same values as {twin}" if twin != name else ""
        notes.append("; ".join(filter(None, (str(result["note"]), same))))
    return notes


def region_table(atlas: LabelAtlas, results: Sequence[Arrays]) -> pd.DataFrame:
    """Return a table with one row per region. Regions without a voxel in the atlas come last.

    The columns are region, voxels and volume_mm3 (in the atlas), coverage (mean over subjects),
    n_low (number of subjects with a coverage below 95 %), n_missing (number of subjects without a
    value), n_outlying (number of subjects with a robust z above 5 or below -5), and in_atlas
    (whether the region has a voxel in the atlas).
    """
    values = np.array([result["values"] for result in results])
    coverage = np.array([result["coverage"] for result in results])
    table = pd.DataFrame(
        {
            "region": list(atlas.regions),
            "voxels": atlas.n_voxels,
            "volume_mm3": atlas.n_voxels * atlas.grid.voxel_volume,
            "coverage": coverage.mean(axis=0),
            "n_low": (coverage < MIN_GOOD_COVERAGE).sum(axis=0),
            "n_missing": np.isnan(values).sum(axis=0),
            "n_outlying": (np.abs(robust_z(values)) > MAX_USUAL_Z).sum(axis=0),
            "in_atlas": True,
        }
    )
    if not atlas.absent:
        return table
    zeros = {"voxels": 0, "volume_mm3": 0.0, "coverage": 0.0, "n_outlying": 0, "in_atlas": False}
    all_subjects = {"n_low": len(results), "n_missing": len(results)}
    absent = pd.DataFrame({"region": list(atlas.absent)}).assign(**zeros, **all_subjects)
    return pd.concat([table, absent], ignore_index=True)


@dataclass(frozen=True)
class TimeSeries:
    """The signals of the regions in one image.

    Attributes
    ----------
    regions : list of str
        Names of the columns of `values`.
    values : ndarray of shape (volumes, m regions)
        Mean over the finite voxels of a region, without voxels that are 0 in all volumes. It is
        NaN if no voxel of the region is left.
    coverage : ndarray of shape (m,)
        Share of the region's voxels that are finite in all volumes, and not 0 in all volumes.
    step : float
        Seconds between two volumes, from the header. NaN if the header does not give them.
    """

    regions: list[str]
    values: Array
    coverage: Array
    step: float

    def table(self) -> pd.DataFrame:
        """Return a table with one row per volume and one column per region."""
        return pd.DataFrame(self.values, columns=self.regions)


def extract_time_series(
    image: str | Path,
    atlas: AtlasSource,
    *,
    labels: Labels = None,
    background: int | Collection[int] = 0,
    min_coverage: float = MIN_COVERAGE,
    download: bool = False,
) -> TimeSeries:
    """Return the mean signal of each region in each volume of a four-dimensional image.

    A voxel that is exactly 0 in all volumes lies outside the mask of the run, and is left out.

    Parameters
    ----------
    image : path
        A preprocessed run in the space of the atlas. It is read volume by volume.
    atlas, labels, background, download
        See `sgbn.read.label_atlas.load_label_atlas`.
    min_coverage : float
        Smallest share of the atlas's voxels in which the image must have values. Below it, an
        InputError is raised.

    Returns
    -------
    TimeSeries
        Signals and coverage of each region.
    """
    PROBABILITY.check("min_coverage", min_coverage)
    nibabel()
    path = image_path(image)
    atlas = load_label_atlas(atlas, labels, background=background, download=download)
    return _series(path, atlas, min_coverage)


def write_time_series(
    images: Images,
    atlas: AtlasSource,
    out: str | Path,
    *,
    labels: Labels = None,
    background: int | Collection[int] = 0,
    min_coverage: float = MIN_COVERAGE,
    download: bool = False,
    on_error: str = "raise",
    n_jobs: int | None = None,
    progress: bool = True,
) -> tuple[pd.DataFrame, dict[str, Problem]]:
    """Write a table ``ID_timeseries.tsv`` for each image.

    If the function is called again, it writes only the tables that are missing. If the image of a
    subject has changed, a new table replaces the old one. The file ``atlas.csv`` in the same folder
    lists the regions with hemisphere, lobe, centre and volume.

    Parameters
    ----------
    images, on_error, n_jobs, progress
        See `extract_regions`.
    atlas, labels, background, min_coverage, download
        See `extract_time_series`.
    out : path
        Folder for the tables.

    Returns
    -------
    subjects : DataFrame
        One row per subject, with the columns subject_id, image, file, volumes (their number), step
        (seconds between volumes), coverage, regions_empty (number of regions without a value in
        some volume), regions_constant (number of regions that never change), and flagged (coverage
        below 95 %, or a region that is empty or constant).
    failures : dict
        Subject id -> error message, for each image that was skipped.
    """
    PROBABILITY.check("min_coverage", min_coverage)
    nibabel()
    paths, out = images_by_subject(images), as_path(out)
    atlas = load_label_atlas(atlas, labels, background=background, download=download)
    places = places_of(atlas)
    # Finished results are kept in a subfolder, as in every study.
    study, targets = out / "series", _targets(out, paths)
    kept = {s: study / "tasks" / f"{task_name(s, path)}.npz" for s, path in paths.items()}
    for subject, target in targets.items():
        if not target.exists():  # without its table, a result is not finished
            kept[subject].unlink(missing_ok=True)
    shared = {"atlas": atlas, "min_coverage": float(min_coverage)}
    results, failures = run_subjects(
        Study(study, n_jobs, progress),
        _write,
        {s: {"path": path, "target": targets[s], "kept": kept[s]} for s, path in paths.items()},
        study_settings(atlas, "time series", min_coverage),
        shared,
        on_error,
    )
    write_places(places, out / EXTRACTED)
    rows = [
        {"subject_id": subject, "image": str(paths[subject]), "file": targets[subject].name}
        | {key: value.item() for key, value in result.items()}
        for subject, result in results.items()
    ]
    table = pd.DataFrame(rows)
    # The correlations of a region that never changes are not defined.
    odd = (table["regions_empty"] > 0) | (table["regions_constant"] > 0)
    return table.assign(flagged=odd | (table["coverage"] < MIN_GOOD_COVERAGE)), failures


def _targets(out: Path, subjects: Iterable[str]) -> dict[str, Path]:
    """Return subject -> path of the table, whose name is made from the id."""
    targets = {
        subject: out / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', subject)}_timeseries.tsv"
        for subject in subjects
    }
    if same := repeated(targets.values()):
        raise InputError("tables.same-name", subject=list(targets)[same[1]]).says(
            "the table of {subject} would have the same name as another",
            "Give ids that differ in letters and digits.",
        )
    return targets


def _write(
    path: Path, target: Path, kept: Path, atlas: LabelAtlas, min_coverage: float
) -> dict[str, Any]:
    """Write the table of a subject, which replaces an older table, and return its summary."""
    # If this run fails, the table of an older image must not remain.
    target.unlink(missing_ok=True)
    owner = kept.stem.rpartition(".")[0]
    # The result of an older image would mark this table as finished, so it is removed.
    for old in kept.parent.glob(f"{owner}.*{kept.suffix}"):
        old.unlink()
    series = _series(path, atlas, min_coverage)
    write_atomically(target, partial(series.table().to_csv, sep="\t", index=False, na_rep="n/a"))
    return {
        "volumes": len(series.values),
        "step": series.step,
        "coverage": np.average(series.coverage, weights=atlas.n_voxels),
        "regions_empty": np.isnan(series.values).any(axis=0).sum(),
        "regions_constant": (np.ptp(series.values, axis=0) == 0).sum(),
    }


def _series(path: Path, atlas: LabelAtlas, min_coverage: float) -> TimeSeries:
    """Return the signals of one image."""
    source = of_subject(path)
    image = open_image(path, source)
    _, n_volumes = spatial_shape(image, source)
    if n_volumes == 1:
        raise InputError("image.volume", where=source).says(
            "{where} the image has only one volume", "Extract values of regions, not time series."
        )
    placed, m = place(atlas, grid_of(image, source)), len(atlas.regions)
    sums, counts = np.empty((n_volumes, m)), np.empty((n_volumes, m), dtype=np.intp)
    # Only one volume is in memory at a time. So each volume updates flags of the atlas's voxels.
    ever = np.zeros(placed.where.size, dtype=bool)  # finite in any volume
    always, zero = ~ever, ~ever  # finite in all volumes; 0 in all volumes
    for t, volume in enumerate(volumes(image, source)):
        inside = volume[placed.where]
        finite = np.isfinite(inside)
        sums[t], counts[t] = region_sums(inside, finite, placed.region, m)
        ever, always, zero = ever | finite, always & finite, zero & (inside == 0)
    check_content(source, ever, ~zero)
    always_known = np.bincount(placed.region[always & ~zero], minlength=m)
    coverage = check_coverage(source, atlas, placed, always_known, min_coverage)
    # Voxels outside the mask were counted in each volume, with the value 0. They are left out.
    counts -= np.bincount(placed.region[zero], minlength=m)
    values = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return TimeSeries(list(atlas.regions), values, coverage, _step(image))


def _step(image: Any) -> float:
    """Return the seconds between volumes, or NaN if the header does not give them."""
    header = image.header
    try:
        unit = header.get_xyzt_units()[1]
    except (AttributeError, KeyError):  # a format without units, or an unknown code
        return float("nan")
    seconds = {"sec": 1.0, "msec": 1e-3, "usec": 1e-6}.get(unit, np.nan)
    return float(header.get_zooms()[3] * seconds) or float("nan")


GRID_EPS = 1e-3  # mm; headers store affines as 32-bit numbers, so equal grids differ by round-off
EDGE_EPS = 1e-6  # voxels; a centre on the edge of the field of view counts as inside
# Smallest and largest value of a tissue map. A modulated map may exceed 1 where the brain was
# shrunk, and interpolation by splines may give values slightly below 0.
TISSUE_RANGE = (-0.1, 3.0)
MEASURES = ("volume", "mean")


class Placed(NamedTuple):
    """An atlas on the grid of an image.

    Attributes
    ----------
    where : ndarray of int
        Voxels of the image that belong to a region, numbered in Fortran order.
    region : ndarray of int
        Region of each of these voxels, counted from 0.
    n_voxels : ndarray of int
        Number of voxels of each region in the image.
    in_view : ndarray of float
        Share of each region's voxels in the atlas that lie inside the image.
    resampled : bool
        Whether the atlas was on another grid.
    """

    where: Indices
    region: Indices
    n_voxels: Indices
    in_view: Array
    resampled: bool


@lru_cache(maxsize=2)  # most studies have one grid, and resampling for each image would be slow
def place(atlas: LabelAtlas, grid: Grid) -> Placed:
    """Return an atlas on a grid. If it is on another grid, it is resampled by nearest neighbour."""
    same = grid.shape == atlas.grid.shape and np.allclose(
        grid.affine, atlas.grid.affine, rtol=0, atol=GRID_EPS
    )
    m = len(atlas.regions)
    if same:
        index, in_view = atlas.index, np.ones(m)
    else:
        # The matrix from voxels of the image to voxels of the atlas, by way of mm.
        affine = np.linalg.solve(atlas.grid.affine, grid.affine)
        # Outside the atlas there is no region. Modes other than "grid-constant" repeat its edge.
        index = affine_transform(
            atlas.index, affine[:3, :3], affine[:3, 3], grid.shape, order=0, mode="grid-constant"
        )
        in_view = _share_in_view(atlas, grid)
    # `volumes` yields voxels in Fortran order, as NIfTI stores them.
    flat = index.ravel(order="F")
    where = np.flatnonzero(flat)
    region = flat[where].astype(np.intp) - 1
    return Placed(where, region, np.bincount(region, minlength=m), in_view, not same)


def _share_in_view(atlas: LabelAtlas, grid: Grid) -> Array:
    """Return the share of each region's voxels whose centre lies inside a grid."""
    voxels = np.nonzero(atlas.index)
    to_grid = np.linalg.solve(grid.affine, atlas.grid.affine)
    places = np.stack(voxels, axis=1) @ to_grid[:3, :3].T + to_grid[:3, 3]
    low, high = -0.5 - EDGE_EPS, np.array(grid.shape) - 0.5 + EDGE_EPS
    inside = ((places >= low) & (places <= high)).all(axis=1)
    return np.bincount(atlas.index[voxels] - 1, inside, len(atlas.regions)) / atlas.n_voxels


def region_sums(
    values: NDArray[Any], known: Mask, region: Indices, m: int
) -> tuple[Array, Indices]:
    """Return the sum and the number of the known values of each of `m` regions."""
    if not known.all():
        values, region = values[known], region[known]
    # np.bincount adds in double precision, whatever the type of the values.
    sums = np.asarray(np.bincount(region, values, m), dtype=np.float64)
    return sums, np.bincount(region, minlength=m)


def measure_image(
    path: Path, atlas: LabelAtlas, measure: str, min_coverage: float
) -> dict[str, Any]:
    """Measure the regions in one image.

    Returns
    -------
    dict
        Arrays ``values`` and ``coverage`` with one entry per region, and numbers and text about the
        image for the quality sheet. A value is NaN if no voxel of the region has a value.
    """
    source = of_subject(path)
    image = open_image(path, source)
    _, n_volumes = spatial_shape(image, source)
    if n_volumes > 1:
        raise InputError("image.volumes", where=source, n=n_volumes).says(
            "{where} the image has {n:volume}", "Extract it as a time series."
        )
    grid = grid_of(image, source)
    (volume,) = volumes(image, source)
    placed = place(atlas, grid)
    inside = volume[placed.where]
    finite, nonzero = np.isfinite(inside), inside != 0
    check_content(source, finite, nonzero)
    # 0 is a valid probability. In other maps, 0 means that the voxel is outside the mask.
    known = finite if measure == "volume" else finite & nonzero
    sums, counts = region_sums(inside, known, placed.region, len(atlas.regions))
    coverage = check_coverage(source, atlas, placed, counts, min_coverage)
    minimum, maximum = inside[known].min(), inside[known].max()
    # This factor turns sums into volumes in cubic mm, or into means.
    factor = grid.voxel_volume if measure == "volume" else 1 / np.maximum(counts, 1)
    return {
        "values": np.where(counts > 0, sums * factor, np.nan),
        "coverage": coverage,
        "grid": str(grid),
        "resampled": placed.resampled,
        "minimum": minimum,
        "maximum": maximum,
        "zeros": 1 - np.count_nonzero(finite & nonzero) / np.count_nonzero(finite),
        "note": _note(image, measure, float(minimum), float(maximum)),
    }


def check_content(source: Problem, finite: Mask, nonzero: Mask) -> None:
    """Raise InputError if no voxel in the atlas has a finite value other than 0."""
    if finite.size and not (finite & nonzero).any():
        raise InputError("image.empty", where=source).says(
            "{where} all voxels in the atlas are 0, NaN or infinite", "Make the image again."
        )


def check_coverage(
    source: Problem, atlas: LabelAtlas, placed: Placed, counts: Indices, min_coverage: float
) -> Array:
    """Return the coverage of each region. Raise InputError if the total is below `min_coverage`."""
    # If half of a region lies outside the image, its coverage is at most one half.
    coverage = placed.in_view * counts / np.maximum(placed.n_voxels, 1)
    weights = atlas.n_voxels / atlas.n_voxels.sum()
    total, in_view = float(coverage @ weights), float(placed.in_view @ weights)
    if total < min_coverage or not total:
        shares = {"share": total, "in_view": in_view, "atlas": Path(atlas.name)}
        raise InputError("image.coverage", where=source, **shares).says(
            "{where} only {share:.0%} of the voxels of atlas {atlas} have values ({in_view:.0%} "
            "are in the field of view)",
            "Check the mask, normalise the image to the space of the atlas, or lower "
            "{min_coverage=}.",
        )
    return coverage


def _note(image: Any, measure: str, minimum: float, maximum: float) -> str:
    """Return a note for the quality sheet on what looks wrong with an image."""
    notes = []
    low, high = TISSUE_RANGE
    if measure == "volume" and not low <= minimum <= maximum <= high:
        notes.append(f"values from {minimum:.3g} to {maximum:.3g}: not tissue probabilities")
    if not has_orientation(image):
        notes.append("the header does not give the orientation")
    return "; ".join(notes)
