"""The measurement of the regions of a label atlas in one NIfTI map per subject."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sgbn.cohort.atlas import Atlas
from sgbn.core.exceptions import InputError, listed
from sgbn.core.types import Array
from sgbn.core.validation import PROBABILITY, OneOf
from sgbn.io.images.files import images_by_subject
from sgbn.io.images.label_atlas import AtlasSource, LabelAtlas, Labels, load_label_atlas
from sgbn.io.images.nifti import nibabel
from sgbn.io.images.places import places_of
from sgbn.io.images.quality import Quality, region_table, subject_table
from sgbn.io.images.voxels import MEASURES, measure_image
from sgbn.runs.files import Arrays
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
        Hemisphere, lobe, centre and volume of the regions, see `sgbn.io.images.places`. Use it as
        in ``read_table(extraction.table(), atlas=extraction.atlas)``.
    """

    ids: list[str]
    regions: list[str]
    values: Array
    coverage: Array
    quality: Quality
    failures: dict[str, str]
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
        `sgbn.io.images.files.subject_id`.
    atlas, labels, background, download
        See `sgbn.io.images.label_atlas.load_label_atlas`. If the grids of the atlas and the image
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
    return Extraction(
        list(results),
        list(atlas.regions),
        np.array([result["values"] for result in stored]),
        np.array([result["coverage"] for result in stored]),
        Quality(
            subject_table(list(results), used, stored, atlas, measure),
            region_table(atlas, stored),
        ),
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
) -> tuple[dict[str, Arrays], dict[str, str]]:
    """Run one task per subject with `Study.run`, and return results and failures by subject.

    Each task has an argument `path`. If that file changes, the task is run again.
    """
    # The name of a task depends on its image, so that a new image is a new task.
    names = {subject: task_name(subject, task["path"]) for subject, task in tasks.items()}
    by_name = {names[subject]: task for subject, task in tasks.items()}
    done = study.run(function, by_name, settings, shared=shared, on_error=on_error)
    failures = {s: done.failures[name] for s, name in names.items() if name in done.failures}
    if not done:
        raise InputError(
            f"none of the {len(failures)} images could be used. The error of the first image is: "
            f"{next(iter(failures.values()))}"
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
