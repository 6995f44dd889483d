"""Parcellations of fsaverage5, which say which vertex of the cortex belongs to which region.

Some parcellations come with the package (``surfaces/README.md`` names their sources). Others are
read from the user's copy of FreeSurfer's fsaverage. The first 10242 vertices of fsaverage are the
vertices of fsaverage5.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np

from sgbn.cohort.atlas import Atlas, Region
from sgbn.core.exceptions import InputError
from sgbn.core.types import Indices
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
DENSITIES = (VERTICES, 40962, 163842)  # vertices of fsaverage5, fsaverage6 and fsaverage
NO_REGION = ("unknown", "medial_wall", "corpuscallosum", "???", "medialwall")


@dataclass(frozen=True)
class Parcellation:
    """The region of each vertex of fsaverage5.

    Attributes
    ----------
    left, right : ndarray of int, shape (10242,)
        Index in `names` of the region of each vertex; -1 if the vertex has no region.
    names : tuple of str
        Names of the regions, with their side, such as ``lh_insula``.
    """

    left: Indices
    right: Indices
    names: tuple[str, ...]

    def numbers(self, atlas: Atlas) -> dict[Region, int]:
        """Return the index in `names` of each region of the atlas that has at least one vertex."""
        used = np.union1d(self.left, self.right)
        places = {k: atlas.find(self.names[k]) for k in used.tolist() if k >= 0}
        return {place: k for k, place in places.items() if place is not None}


def find_parcellation(atlas: Atlas) -> Parcellation:
    """Return the parcellation of an atlas, from the package or from the user's files.

    Files of the user are searched in the folder ``label`` of fsaverage5 and fsaverage, below the
    folders that the environment variables SUBJECTS_DIR and FREESURFER_HOME name. The folder of
    nilearn's downloads is searched as well.

    Raises
    ------
    InputError
        If no parcellation is found. The message says why, and what to do.
    """
    if atlas.file is not None:  # a user's table may have the same name as a known atlas
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
        "Set SUBJECTS_DIR to a folder that has FreeSurfer's fsaverage with label/"
        f"lh.{wanted[0]}.annot and label/rh.{wanted[0]}.annot."
    )


def _no_surface(atlas: Atlas) -> InputError:
    return InputError(
        f"no surface of the atlas {atlas.name} is known. Give your own files for the left and the "
        "right side to sgbn.viz.plot_surface (parcellation=)."
    )


def read_parcellation(left: str | Path, right: str | Path) -> Parcellation:
    """Read a parcellation of fsaverage5, fsaverage6 or fsaverage, one file per side.

    Parameters
    ----------
    left, right : path
        Files of the left and right side: ``.annot`` of FreeSurfer, or GIFTI ``.label.gii``.
    """
    names: list[str] = []
    sides = []
    for path, hemisphere in zip((left, right), HEMISPHERES, strict=True):
        codes, known = _read(Path(path))
        if len(codes) not in DENSITIES:
            raise InputError(
                f"the parcellation {str(path)!r} has {len(codes)} vertices. Give a parcellation of "
                f"fsaverage5 ({DENSITIES[0]}), fsaverage6 ({DENSITIES[1]}) or fsaverage "
                f"({DENSITIES[2]})."
            )
        # The first vertices of the denser meshes are the vertices of fsaverage5.
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
        # In the files, regions are numbered from 1 and 0 is none, so that they fit unsigned bytes.
        left, right = (kept[side].astype(np.intp) - 1 for side in SIDES)
        # Names are stored as bytes, which need a quarter of the space of numpy's text.
        known = tuple(name.decode("ascii") for name in kept[names].tolist())
    return Parcellation(left, right, known)


def _places_of(atlas: str, stems: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    """Yield the pairs of files that a user may have, the most likely first."""
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
            f"the parcellation {str(path)!r} cannot be read without nibabel, which is not "
            'installed. Install it with pip install "sgbn[brain]".'
        ) from None
    try:
        if path.name.endswith(".annot"):
            codes, _, names = read_annot(path)
            return np.asarray(codes, np.intp), dict(enumerate(name.decode() for name in names))
        image = nibabel.GiftiImage.from_filename(path)
        codes, table = image.agg_data(), image.labeltable.get_labels_as_dict()
        return np.asarray(codes, np.intp), {int(k): str(name) for k, name in table.items()}
    except Exception as error:  # for a damaged file, nibabel may raise any kind of error
        raise InputError(
            f"the parcellation {str(path)!r} cannot be read ({error}). Give a file .annot of "
            "FreeSurfer or .label.gii of GIFTI."
        ) from error


def _with_side(name: str, hemisphere: str) -> str:
    """Return a name with its side, such as ``lh_insula``; a name that has a side is kept."""
    plain = name.removesuffix("_ROI")  # a suffix in the atlas of Glasser
    parts = plain.replace("-", "_").split("_")
    if {"lh", "rh", "LH", "RH", "L", "R"} & {*parts[:2], parts[-1]}:
        return plain
    return f"{hemisphere}_{plain}"
