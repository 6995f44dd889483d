"""Which vertex of the cortex belongs to which region: parcellations of fsaverage5.

Some come with the package (``surfaces/README.md`` says from where); others are read from the
user's own copy of FreeSurfer's fsaverage, of which fsaverage5 is the first part.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from sgbn.atlases import Atlas, Region
from sgbn.exceptions import InputError
from sgbn.types import Indices
from sgbn.viz.surface_mesh import SIDES, VERTICES

PACKAGED = ("desikan_killiany", *(f"schaefer_{k}" for k in (100, 200, 300, 400)))
HEMISPHERES = ("lh", "rh")
# Atlas -> names of FreeSurfer's files, such as lh.aparc.a2009s.annot
ANNOTATIONS = {
    "destrieux": ("aparc.a2009s",),
    "dkt": ("aparc.DKTatlas", "aparc.DKTatlas40"),
    "glasser": ("HCP-MMP1", "HCPMMP1"),
}
SUBJECTS = ("fsaverage5", "fsaverage")
DENSITIES = (VERTICES, 40962, 163842)  # of fsaverage5, fsaverage6 and fsaverage
NO_REGION = ("unknown", "medial_wall", "corpuscallosum", "???", "medialwall")


@dataclass(frozen=True)
class Parcellation:
    """Region of each vertex of fsaverage5.

    Attributes
    ----------
    left, right : ndarray of int, shape (10242,)
        Number of the region in `names`; -1 where there is none.
    names : tuple of str
        Names of the regions, with their side: ``lh_insula``.
    """

    left: Indices
    right: Indices
    names: tuple[str, ...]

    def numbers(self, atlas: Atlas) -> dict[Region, int]:
        """Region of an atlas -> its number; regions without a vertex are left out."""
        used = np.union1d(self.left, self.right)
        places = {k: atlas.find(self.names[k]) for k in used.tolist() if k >= 0}
        return {place: k for k, place in places.items() if place is not None}


def find_parcellation(atlas: Atlas) -> Parcellation:
    """Parcellation of an atlas: that of the package, or the user's own copy.

    Own copies are looked for in ``label`` of fsaverage5 and fsaverage, in the folders that the
    variables SUBJECTS_DIR and FREESURFER_HOME name, and where nilearn keeps its downloads.

    Raises
    ------
    InputError
        If there is none: with the reason, and what to do.
    """
    if atlas.file is not None:  # a table of the user's own may have the name of another atlas
        raise _no_surface(atlas)
    stem, _, networks = atlas.name.rpartition("_")  # such as schaefer_100_7
    if atlas.name in PACKAGED:
        return _packaged(atlas.name, "names")
    if stem in PACKAGED and networks in ("7", "17"):
        return _packaged(stem, f"names_{networks}")
    wanted = ANNOTATIONS.get(atlas.name)
    if wanted is None:
        raise _no_surface(atlas)
    for pair in _places_of(atlas.name, wanted):
        if all(path.is_file() for path in pair):
            return read_parcellation(*pair)
    raise InputError(
        f"the surface of the atlas {atlas.name} does not come with sgbn, and no copy was found. "
        f"Set SUBJECTS_DIR to a folder with FreeSurfer's fsaverage: label/lh.{wanted[0]}.annot and "
        f"label/rh.{wanted[0]}.annot in it are read."
    )


def _no_surface(atlas: Atlas) -> InputError:
    return InputError(
        f"no surface of the atlas {atlas.name} is known. Give sgbn.viz.plot_surface your own files "
        "of its left and right side (parcellation=)."
    )


def read_parcellation(left: str | Path, right: str | Path) -> Parcellation:
    """Read a parcellation of fsaverage5, fsaverage6 or fsaverage, one file per side.

    Parameters
    ----------
    left, right : path
        FreeSurfer's ``.annot``, or GIFTI ``.label.gii``.
    """
    names: list[str] = []
    sides = []
    for path, hemisphere in zip((left, right), HEMISPHERES, strict=True):
        codes, known = _read(Path(path))
        if len(codes) not in DENSITIES:
            raise InputError(
                f"the parcellation {str(path)!r} has {len(codes)} vertices. Give one of fsaverage5 "
                f"({DENSITIES[0]}), fsaverage6 ({DENSITIES[1]}) or fsaverage ({DENSITIES[2]})."
            )
        # The first vertices of the denser meshes are those of fsaverage5.
        numbers = np.full(VERTICES, -1, dtype=np.intp)
        for code, name in known.items():
            if name.lower() not in NO_REGION:
                numbers[codes[:VERTICES] == code] = len(names)
                names.append(_with_side(name, hemisphere))
        sides.append(numbers)
    return Parcellation(sides[0], sides[1], tuple(names))


def _packaged(table: str, names: str) -> Parcellation:
    file = files("sgbn.viz") / "surfaces" / f"{table}.npz"
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as kept:
        # Files count regions from 1 and have 0 for none, so that unsigned bytes suffice.
        left, right = (kept[side].astype(np.intp) - 1 for side in SIDES)
        # Bytes, a quarter of numpy's text in size.
        known = tuple(name.decode("ascii") for name in kept[names].tolist())
    return Parcellation(left, right, known)


def _places_of(atlas: str, stems: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    """Give the pairs of files that a user may have, the likeliest first."""
    variables = os.environ.get
    folders = [variables("SUBJECTS_DIR"), variables("FREESURFER_HOME")]
    subjects = [Path(folders[0] or ""), Path(folders[1] or "") / "subjects"]
    for folder, given in zip(subjects, folders, strict=True):
        for stem in stems if given else ():
            for subject in SUBJECTS:
                label = folder / subject / "label"
                yield label / f"lh.{stem}.annot", label / f"rh.{stem}.annot"
    if atlas == "destrieux":
        downloads = variables("NILEARN_SHARED_DATA"), variables("NILEARN_DATA"), "~/nilearn_data"
        for kept in filter(None, downloads):
            folder = Path(kept).expanduser() / "destrieux_surface"
            yield folder / "left.aparc.a2009s.annot", folder / "right.aparc.a2009s.annot"


def _read(path: Path) -> tuple[Indices, dict[int, str]]:
    """Read the code of each vertex, and the name of each code."""
    try:
        import nibabel
        from nibabel.freesurfer.io import read_annot
    except ImportError:
        raise InputError(
            f"nibabel reads the parcellation {str(path)!r}, and is not installed. Install it with "
            'pip install "sgbn[brain]".'
        ) from None
    try:
        if path.name.endswith(".annot"):
            codes, _, names = read_annot(path)
            return np.asarray(codes, np.intp), dict(enumerate(name.decode() for name in names))
        image = nibabel.GiftiImage.from_filename(path)
        codes, table = image.agg_data(), image.labeltable.get_labels_as_dict()
        return np.asarray(codes, np.intp), {int(k): str(name) for k, name in table.items()}
    except Exception as error:  # nibabel raises whatever a damaged file makes it stumble on
        raise InputError(
            f"the parcellation {str(path)!r} cannot be read ({error}). Give FreeSurfer's .annot or "
            "a GIFTI .label.gii."
        ) from error


def _with_side(name: str, hemisphere: str) -> str:
    """Name as tables have it: ``lh_insula``; names that tell their side stay as they are."""
    plain = name.removesuffix("_ROI")  # of the areas of Glasser
    parts = plain.replace("-", "_").split("_")
    if {"lh", "rh", "LH", "RH", "L", "R"} & {*parts[:2], parts[-1]}:
        return plain
    return f"{hemisphere}_{plain}"
