"""A table of regions from images: NIfTI maps in the space of a label atlas."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sgbn.atlases import Atlas
from sgbn.exceptions import InputError, listed
from sgbn.io.images.files import images_by_subject
from sgbn.io.images.label_atlas import AtlasSource, LabelAtlas, Labels, load_label_atlas
from sgbn.io.images.nifti import nibabel
from sgbn.io.images.places import places_of
from sgbn.io.images.quality import Quality, region_table, subject_table
from sgbn.io.images.voxels import MEASURES, measure_image
from sgbn.parameters import PROBABILITY, OneOf
from sgbn.runs import Arrays, Study
from sgbn.types import Array

MAX_REGIONS_NAMED = 3  # regions that stand for an atlas in a message
MIN_COVERAGE = 0.5  # an image that has less of the atlas is in another space

Images = str | Path | Sequence[str | Path] | Mapping[str, str | Path]


@dataclass(frozen=True)
class Extraction:
    """What was measured in the images of a group.

    Attributes
    ----------
    ids : list of str
        Subjects whose image could be used.
    regions : list of str
        Names of the columns of `values`.
    values : ndarray of shape (n subjects, m regions)
        Volumes in cubic mm, or means; NaN where a region has no voxel in the image, or a mean
        no voxel with a value.
    coverage : ndarray of shape (n, m)
        Share of the region's voxels that have a value: finite, and in a mean not exactly 0.
    quality : Quality
        Tables `subjects` and `regions`.
    failures : dict
        Subject id -> message, of images that were skipped.
    measure : str
        ``"volume"`` or ``"mean"``.
    atlas : Atlas
        The regions with hemisphere, lobe, centre and volume, see `sgbn.io.images.places`: for
        ``read_table(found.table(), atlas=found.atlas)``.
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
        """One row per subject: ``subject_id``, then the regions."""
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
        Maps in the space of the atlas: tissue probabilities, modulated or not, PET, or any other.
        Without ids, these are taken from the file names; see `sgbn.io.images.files.subject_id`.
    atlas, labels, background, download
        See `sgbn.io.images.label_atlas.load_label_atlas`. An atlas on another grid is resampled
        to that of the image by nearest neighbour; the image never is.
    measure : {"volume", "mean"}
        ``"volume"``: the sum of the voxels times the volume of a voxel, in cubic mm, for tissue
        probabilities. ``"mean"``: the mean of the voxels, for PET and all else. Voxels that are
        NaN or infinite count as 0 in a volume, and not at all in a mean. Nor does exactly 0 count
        in a mean: FSL, fMRIPrep and others write it outside the mask, and a map of real numbers
        hardly ever has it inside. Coverage tells of all voxels without a value.
    ids : sequence of str, optional
        One id per image.
    min_coverage : float
        An image that has values in a smaller share of the atlas's voxels is an error.
    on_error : {"raise", "skip"}
        What a bad image does: end the run, or be left out and listed in `failures`.
    folder : path, optional
        Keeps what is finished, so that a second start does only what is missing, failed, or has
        changed.
    n_jobs : int, optional
        Number of processes. Each holds one image at a time.
    progress : bool
        Show a bar with the time left.

    Returns
    -------
    Extraction
    """
    nibabel()
    OneOf(*MEASURES).check("measure", measure)
    PROBABILITY.check("min_coverage", min_coverage)
    paths = images_by_subject(images, ids)
    atlas = load_label_atlas(atlas, labels, background=background, download=download)
    # Before the images: it warns of an atlas whose sides are exchanged.
    places = places_of(atlas)
    same = {"atlas": atlas, "measure": measure, "min_coverage": float(min_coverage)}
    results, failures = run_subjects(
        Study(folder, n_jobs, progress),
        measure_image,
        {subject: {"path": path} for subject, path in paths.items()},
        study_settings(atlas, measure, min_coverage),
        same,
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
    """Run one task per subject, see `Study.run`, and return results and failures by subject.

    Each task has a `path`: if that file changes, the task is run again.
    """
    # The name of a task says which image it is of, so that a new image is a new task.
    names = {subject: task_name(subject, task["path"]) for subject, task in tasks.items()}
    by_name = {names[subject]: task for subject, task in tasks.items()}
    done = study.run(function, by_name, settings, shared=shared, on_error=on_error)
    failures = {s: done.failures[name] for s, name in names.items() if name in done.failures}
    if not done:
        raise InputError(
            f"none of the {len(failures)} images could be used. The first: "
            f"{next(iter(failures.values()))}"
        )
    return {s: done[name] for s, name in names.items() if name in done}, failures


def study_settings(atlas: LabelAtlas, measure: str, min_coverage: float) -> dict[str, Any]:
    """Return the settings that a study must share with an earlier one to use its results.

    The images are not among them. All facts about the atlas are one text with names, so that a
    message can say in words how two atlases differ, and not by checksums alone.
    """
    # Names tell a reader what differs, where the checksum only says that something does.
    regions = f"{len(atlas.regions)} regions: {listed(atlas.regions, MAX_REGIONS_NAMED)}"
    return {
        "atlas": f"{Path(atlas.name).name} ({regions}; sha256 {atlas.fingerprint})",
        "measure": measure,
        "min_coverage": float(min_coverage),
    }


def task_name(subject: str, path: Path) -> str:
    """Return the file name of a result; it changes with the image, which is then measured again.

    What is before the last dot is the subject's alone.
    """
    try:
        # Size and time of change, as make does: reading all images for a checksum takes too long.
        status = path.stat()
        state = f"{status.st_size} {status.st_mtime_ns}"
    except OSError:
        state = "absent"
    image_state = f"{path.resolve()}\n{state}"
    owner, image = (hashlib.sha256(s.encode()).hexdigest() for s in (subject, image_state))
    # Ids that differ in other characters alone are told apart by the checksum.
    return f"{re.sub(r'[^A-Za-z0-9_-]', '_', subject)[:80]}.{owner[:8]}.{image[:16]}"
