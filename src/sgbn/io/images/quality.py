"""The quality sheet of an extraction: one table of the subjects and one of the regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from sgbn.core.types import Array
from sgbn.io.images.label_atlas import LabelAtlas
from sgbn.prepare.balance import robust_z
from sgbn.runs.files import Arrays

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
