"""The search for series in a folder with one file per subject, or per subject and run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

import pandas as pd

from sgbn.core.exceptions import InputError, counted, listed
from sgbn.io.series.files import ARRAY, TEXT, Marks, ending, label_of, load_series
from sgbn.io.series.names import SUFFIX, SeriesName, entities, is_bids, read_names
from sgbn.io.series.runs import Run, Source, check_kinds
from sgbn.io.series.sidecars import Sidecars

ENDINGS = (*TEXT, ARRAY)
EXTRACTED = "quality_subjects.csv"  # the file that `sgbn extract` writes beside the series
PARTICIPANTS = ("participants.tsv", "participants.csv")
NO_SERIES = (
    "If this file holds no series, choose the others by a pattern, such as files='*.tsv' (--files "
    "'*.tsv')."
)
MAX_LEVELS_ABOVE = 3  # folders above the series that are searched for participants
OTHERS = re.compile(  # names of files that do not hold series of regions
    r"(.*[-_])?(participants|motion|outliers|events|channels|scans|sessions|physio|confounds|"
    r"regressors|relmat|qc|coverage|bold|phenotypic|phenotype|labels|readme|changes|failures|"
    r"atlas|dseg|quality_subjects|quality_regions|series_quality)",
    re.IGNORECASE,
)


def find_in_folder(
    folder: Path, files: str | None, marks: Marks, never: Iterable[Path] = ()
) -> Source:
    """Return the runs of a folder and all folders below it.

    Parameters
    ----------
    folder : Path
        The folder to search.
    files : str or None
        A pattern. The name of a file, or its path inside the folder, must match it.
    marks : Marks
        The delimiter and the decimal mark of text files.
    never : iterable of Path
        Files that do not hold series, such as the table of participants.
    """
    name = repr(str(folder))
    paths = series_files(folder, files, never)
    if not paths:
        raise _no_file(folder, name, files)
    # All names are read together, because an ending that all share is not part of an id.
    names = read_names([_label(path, folder) for path in paths])
    known = _extracted(folder)  # these ids may hold characters that a file name cannot
    names = [
        SeriesName(known[path.name][0])
        if path.name in known and not series_name.session
        else series_name
        for path, series_name in zip(paths, names, strict=True)
    ]
    check_kinds(name, names, [str(path.relative_to(folder)) for path in paths])
    sidecars = Sidecars(folder)
    runs = [
        Run(
            series_name,
            repr(str(path)),
            partial(load_series, path, marks),
            sidecars.tr(path) or known.get(path.name, ("", None))[1],
            sidecars.mean_fd(path),
        )
        for path, series_name in zip(paths, names, strict=True)
    ]
    return Source(name, tuple(runs), remedy=NO_SERIES, facts={"files": len(paths)})


def series_files(folder: Path, files: str | None, never: Iterable[Path] = ()) -> list[Path]:
    """Return the files that hold series, sorted by name.

    If some names end in "timeseries", these are the files. Otherwise, they are all files that may
    hold series.
    """
    unwanted = {Path(path).resolve() for path in never}
    candidates = [
        path
        for path in sorted(folder.rglob("*"))
        if ending(path) in ENDINGS
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and path.is_file()
        and path.resolve() not in unwanted
    ]
    if files is not None:
        candidates = [
            path
            for path in candidates
            if fnmatch(path.name, files) or fnmatch(path.relative_to(folder).as_posix(), files)
        ]
    likely = [path for path in candidates if not _is_other(label_of(path))]
    # Folders of fMRIPrep and XCP-D hold many other tables too.
    named = [path for path in likely if label_of(path).lower().endswith(SUFFIX)]
    # If a pattern matches only unlikely files, such as confounds, the user wants these.
    return named or likely or (candidates if files is not None else [])


def find_participants(place: Path | None) -> Path | None:
    """Return ``participants.tsv`` in a folder, or in the nearest folder above it, or None."""
    if place is None:
        return None
    folder = place.resolve()
    for above in (folder, *folder.parents[:MAX_LEVELS_ABOVE]):
        for name in PARTICIPANTS:
            if (above / name).is_file():
                return above / name
    return None


def _is_other(label: str) -> bool:
    return bool(OTHERS.fullmatch(label)) or entities(label).get("desc") == "confounds"


def _label(path: Path, folder: Path) -> str:
    """Return the label of a file. If its name has no subject, its folders come first."""
    label = label_of(path)
    above = path.relative_to(folder).parent.parts
    if is_bids(label) or not above:
        return label
    # The label begins at the folder of the subject: sub-01/ses-1/rest.tsv is sub-01_ses-1_rest.
    start = next((k for k, part in enumerate(above) if is_bids(part)), 0)
    return "_".join((*above[start:], label))


def _extracted(folder: Path) -> dict[str, tuple[str, float | None]]:
    """Return the subject and the TR of each file, from the table that `sgbn extract` wrote."""
    path = folder / EXTRACTED
    if not path.is_file():
        return {}
    try:
        table = pd.read_csv(path, dtype={"subject_id": str, "file": str})
        # Another program may have written a file of this name.
        if not {"subject_id", "file", "step"} <= set(table.columns):
            return {}
        numbers = table["step"].astype(float)
    except (ValueError, OSError) as error:  # pandas' errors about a damaged file are ValueErrors
        raise InputError(
            f"{str(path)!r} is damaged ({error!s:.120}). It lists the series of `sgbn extract`. "
            "Extract the series again, or remove this file."
        ) from error
    steps = [step if step > 0 and math.isfinite(step) else None for step in numbers]
    return dict(zip(table["file"], zip(table["subject_id"], steps, strict=True), strict=True))


def _no_file(folder: Path, name: str, files: str | None) -> InputError:
    """Return the error about a folder without series. It names what the folder holds."""
    if files is not None:
        series = [path.name for path in series_files(folder, None)]
        if series:
            remedy = f"It has {listed(series, 3)}. Correct the pattern."
        else:
            remedy = "It does not have any other series either. Give another folder."
        return InputError(f"{name} has no series that match {files!r} (files=, --files). {remedy}")
    shown = sorted(path.name for path in folder.rglob("*") if path.is_file())
    holds = f"It holds {counted(len(shown), 'file')}: {listed(shown, 3)}. " if shown else ""
    # These files were left out because of their names, see OTHERS.
    if any(ending(Path(name)) in ENDINGS for name in shown):
        holds += "If some are series, choose them by a pattern (files='*_bold.tsv', --files). "
    return InputError(
        f"{name} holds no series. {holds}Give a folder with one file per subject, such as "
        "sub-01_timeseries.tsv (TSV, CSV, TXT or NPY; one row per volume, one column per region)."
    )
