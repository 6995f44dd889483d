"""The extraction of the mean signal of each region over time from four-dimensional images."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sgbn.core.exceptions import InputError
from sgbn.core.types import Array
from sgbn.core.validation import PROBABILITY
from sgbn.io.images.extraction import (
    MIN_COVERAGE,
    Images,
    run_subjects,
    study_settings,
    task_name,
)
from sgbn.io.images.files import image_path, images_by_subject
from sgbn.io.images.label_atlas import AtlasSource, LabelAtlas, Labels, load_label_atlas
from sgbn.io.images.nifti import grid_of, nibabel, open_image, spatial_shape, volumes
from sgbn.io.images.places import places_of, write_places
from sgbn.io.images.quality import MIN_GOOD_COVERAGE
from sgbn.io.images.voxels import check_content, check_coverage, place, region_sums
from sgbn.io.tables.extracted import EXTRACTED
from sgbn.runs.files import Arrays, write_atomically
from sgbn.runs.study import Study


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
        See `sgbn.io.images.label_atlas.load_label_atlas`.
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
) -> tuple[pd.DataFrame, dict[str, str]]:
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
    paths, out = images_by_subject(images), Path(out)
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
    return _subject_table(paths, targets, results), failures


def _subject_table(
    paths: Mapping[str, Path], targets: Mapping[str, Path], results: Mapping[str, Arrays]
) -> pd.DataFrame:
    rows = [
        {"subject_id": subject, "image": str(paths[subject]), "file": targets[subject].name}
        | {key: value.item() for key, value in result.items()}
        for subject, result in results.items()
    ]
    table = pd.DataFrame(rows)
    # The correlations of a region that never changes are not defined.
    odd = (table["regions_empty"] > 0) | (table["regions_constant"] > 0)
    return table.assign(flagged=odd | (table["coverage"] < MIN_GOOD_COVERAGE))


def _targets(out: Path, subjects: Iterable[str]) -> dict[str, Path]:
    """Return subject -> path of the table, whose name is made from the id."""
    targets: dict[str, Path] = {}
    for subject in subjects:
        target = out / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', subject)}_timeseries.tsv"
        if target in targets.values():
            raise InputError(
                f"the tables of {subject!r} and of another subject would both be written to "
                f"{target.name}. Give ids that differ in letters and digits."
            )
        targets[subject] = target
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
    write = partial(series.table().to_csv, sep="\t", index=False, na_rep="n/a")
    write_atomically(target, write)
    return {
        "volumes": len(series.values),
        "step": series.step,
        "coverage": np.average(series.coverage, weights=atlas.n_voxels),
        "regions_empty": np.isnan(series.values).any(axis=0).sum(),
        "regions_constant": (np.ptp(series.values, axis=0) == 0).sum(),
    }


def _series(path: Path, atlas: LabelAtlas, min_coverage: float) -> TimeSeries:
    """Return the signals of one image."""
    image = open_image(path)
    _, n_volumes = spatial_shape(image, path)
    if n_volumes == 1:
        raise InputError(
            f"{path} has only one volume, so it is not a time series. Use extract_regions (at the "
            "command line, leave out --time-series)."
        )
    placed, m = place(atlas, grid_of(image, path)), len(atlas.regions)
    sums, counts = np.empty((n_volumes, m)), np.empty((n_volumes, m), dtype=np.intp)
    # Only one volume is in memory at a time. So each volume updates flags of the atlas's voxels.
    ever = np.zeros(placed.where.size, dtype=bool)  # finite in any volume
    always, zero = ~ever, ~ever  # finite in all volumes; 0 in all volumes
    for t, volume in enumerate(volumes(image, path)):
        inside = volume[placed.where]
        finite = np.isfinite(inside)
        sums[t], counts[t] = region_sums(inside, finite, placed.region, m)
        ever, always, zero = ever | finite, always & finite, zero & (inside == 0)
    check_content(path, ever, ~zero)
    always_known = np.bincount(placed.region[always & ~zero], minlength=m)
    coverage = check_coverage(path, atlas, placed, always_known, min_coverage)
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
