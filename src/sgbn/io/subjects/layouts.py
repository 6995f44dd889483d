"""The files in a ``stats`` folder, and the choice of the files that are read.

One file name is chosen for all subjects, so that tables of different kinds are never mixed. It is
the first name in order of preference that at least half of the subjects have. If there is none, it
is the name that most subjects have.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sgbn.cohort.atlas import Atlas, is_packaged, load_atlas
from sgbn.core.exceptions import InputError, did_you_mean, listed

SIDES = ("lh", "rh")
THICKNESS, VOLUME, AREA = "thickness", "volume", "area"
# Measure -> column in the table of a parcellation.
COLUMNS = {THICKNESS: "ThickAvg", VOLUME: "GrayVol", AREA: "SurfArea"}

# Parcellations in order of preference. Surfaces come before FastSurfer's tables of voxels.
SURFACES = ("aparc", "aparc.DKTatlas", "aparc.DKTatlas.mapped", "aparc.a2009s")
VOXELS = (
    *("aseg+DKT", "aseg+DKT.VINN", "aseg+DKT.VINN.withCC"),
    "aparc.DKTatlas+aseg.deep.volume",  # written by FastSurfer 1 with --vol_segstats
)
ASEG = ("aseg", "aseg.VINN", "aseg.presurf.hypos", *VOXELS)
ALIASES = {
    "desikan": ("aparc",),
    "desikan_killiany": ("aparc",),
    "dk": ("aparc",),
    "destrieux": ("aparc.a2009s",),
    "a2009s": ("aparc.a2009s",),
    "dkt": ("aparc.DKTatlas", "aparc.DKTatlas.mapped", *VOXELS),
}
# Additional segmentations that a caller can ask for. File names include the version.
SEGMENTATIONS = {
    "thalamus": r"thalamic-nuclei\.{side}\.v\d+\.T1",
    "hippocampus": r"hipposubfields\.{side}\.T1\.v\d+",
    "amygdala": r"amygdalar-nuclei\.{side}\.T1\.v\d+",
    "brainstem": r"brainstem(Ss)?\.v\d+",
    "hypothalamus": r"hypothalamus\.HypVINN|hypothalamic_subunits_volumes\.v\d+",
    "cerebellum": r"cerebellum\.CerebNet",
}
ENDING = ".stats"

# lh.curv.stats and lh.w-g.pct.stats are also tables of a surface, but not of a parcellation.
_SURFACE = re.compile(r"[lr]h\.(?!curv$|w-g\.pct$)(.+)")
Names = frozenset[str]
Name = TypeVar("Name", str, tuple[str, str])


@dataclass(frozen=True)
class Parcellation:
    """The files of cortical regions: one per side of the surface, or one table of voxels."""

    name: str
    surface: bool

    @property
    def files(self) -> tuple[str, ...]:
        """Return the names of its files, without their ending."""
        return tuple(f"{side}.{self.name}" for side in SIDES) if self.surface else (self.name,)


def parcellation_atlas(name: str | None) -> Atlas | None:
    """Return the atlas of a parcellation, or None if the package does not have it."""
    if name is None:
        return None
    if name in VOXELS:  # FastSurfer uses the labels of DKT for voxels
        return load_atlas("dkt")
    # CAT12 writes aparc_ before the name of every atlas of surfaces.
    names = (name, name.removeprefix("aparc_"))
    return next((load_atlas(atlas) for atlas in names if is_packaged(atlas)), None)


def stats_names(files: Iterable[str]) -> Names:
    """Return the names of ``.stats`` files without their ending."""
    return frozenset(name.removesuffix(ENDING) for name in files if name.endswith(ENDING))


def parcellations(subjects: Sequence[Names]) -> dict[str, int]:
    """Return how many subjects have each parcellation, in order of preference."""
    counts: Counter[str] = Counter()
    for names in subjects:
        # One side is enough here. If the other side is missing, the subject is left out later.
        surfaces = {match[1] for name in names if (match := _SURFACE.fullmatch(name))}
        counts.update({*surfaces, *names.intersection(VOXELS)})
    first = [name for name in (*SURFACES, *VOXELS) if name in counts]
    return {name: counts[name] for name in (*first, *sorted(set(counts) - set(first)))}


def choose_parcellation(
    asked: str | None, measure: str | None, subjects: Sequence[Names]
) -> Parcellation | None:
    """Return the parcellation that the caller asks for. If none is given, return the preferred one.

    It is None if no subject has a parcellation.
    """
    counts = parcellations(subjects)
    allowed = list(counts)
    if asked is not None:
        # A name such as "dkt" stands for several files. The best comes first.
        allowed = [name for name in ALIASES.get(asked.lower(), (asked,)) if name in counts]
        if not allowed:
            raise InputError(
                f"no subject has the parcellation {asked!r} (parcellation=, --parcellation). "
                + (
                    did_you_mean(asked, list(counts))
                    if counts
                    else "No subject has any parcellation."
                )
            )
    elif known := [name for name in counts if name in (*SURFACES, *VOXELS)]:
        allowed = known  # files such as lh.BA_exvivo.stats do not hold the whole cortex
    # Tables of voxels have volumes, but neither thickness nor area.
    allowed = [name for name in allowed if name not in VOXELS or measure in (None, VOLUME)]
    if not allowed:
        if counts and measure is not None:
            raise _no_measure(measure, list(counts))
        return None
    name = preferred(counts, allowed, len(subjects))
    return Parcellation(name, name not in VOXELS)


def _no_measure(measure: str, names: Sequence[str]) -> InputError:
    return InputError(
        f"there is no {measure} in {listed(names)}. FastSurfer writes only volumes if it runs "
        "without surfaces (--seg_only). Use volumes (measure='volume', --measure volume), or run "
        "the surface module of FastSurfer."
    )


def preferred(counts: Mapping[Name, int], order: Sequence[Name], n: int) -> Name:
    """Return the first name that at least half of `n` subjects have, else the most frequent one."""
    usual = (name for name in order if 2 * counts[name] >= n)
    # If several names are equally frequent, max returns the first.
    return next(usual, None) or max(order, key=lambda name: counts[name])


def choose_aseg(subjects: Sequence[Names]) -> str | None:
    """Return the file of the subcortical volumes, or None if no subject has one."""
    # Without surfaces, FastSurfer gives this table other names.
    counts = Counter(name for names in subjects for name in names.intersection(ASEG))
    order = [name for name in ASEG if name in counts]
    return preferred(counts, order, len(subjects)) if order else None


def choose_segmentation(asked: str, subjects: Sequence[Names]) -> tuple[str, ...]:
    """Return the files of an additional segmentation: one for both sides, or one per side."""
    if asked not in SEGMENTATIONS:
        near = did_you_mean(asked, list(SEGMENTATIONS))
        raise InputError(
            f"there is no segmentation {asked!r} (segmentations=, --segmentations). {near}"
        )
    pattern = SEGMENTATIONS[asked]
    sides = SIDES if "{side}" in pattern else ("",)
    files = []
    for side in sides:
        fits = re.compile(pattern.replace("{side}", side))
        counts = Counter(name for names in subjects for name in names if fits.fullmatch(name))
        if not counts:
            raise InputError(
                f"no subject has a table of the {asked} (segmentations=, --segmentations). Run the "
                "tool that makes this table, or leave out this segmentation."
            )
        # In reverse order, the latest version comes first.
        files.append(preferred(counts, sorted(counts, reverse=True), len(subjects)))
    return tuple(files)
