"""Figures as files, drawn once: those that a folder keeps are only read.

A figure is told by its plan and by the code that draws it. Each is one task of a study, so that it
is kept as soon as it is drawn, whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import distributions
from importlib.resources import files
from pathlib import Path

import joblib
import numpy as np

from sgbn.exceptions import StudyError
from sgbn.report.figures import Plan
from sgbn.runs import Arrays, Study, read_result

PIXELS_PER_INCH = 300  # what journals ask for
KINDS = ("svg", "pdf", "png")
WORTH_WORKERS = 6  # figures; for fewer, starting processes costs more than it saves
DRAWN_BY = ("matplotlib", "nilearn")

Pictures = dict[str, dict[str, bytes]]


def draw_figures(
    planned: Mapping[str, Plan], n_jobs: int | None, folder: str | Path | None = None
) -> Pictures:
    """Draw figures that a folder does not keep yet, as files of all kinds.

    Parameters
    ----------
    planned : mapping of name to Plan
    n_jobs : int or None
        Number of processes.
    folder : path, optional
        Folder that keeps the figures. One that is damaged is drawn again.

    Returns
    -------
    dict of name to dict
        Kind ("svg", "pdf", "png") -> content of the file.
    """
    keys = {name: _key(plan) for name, plan in planned.items()}
    tasks = {keys[name]: {"plan": plan} for name, plan in planned.items()}
    # Only figures that are not kept are work for other processes.
    missing = set(tasks) - _kept(folder)
    # Figures with the same key are one task, and are drawn once.
    study = Study(folder, n_jobs if len(missing) >= WORTH_WORKERS else 1)
    drawn = study.run(_files_of, tasks, {"kinds": KINDS, "dpi": PIXELS_PER_INCH})
    return {
        name: {kind: drawn[key][kind].tobytes() for kind in KINDS} for name, key in keys.items()
    }


def forget_others(planned: Mapping[str, Plan], folder: str | Path) -> None:
    """Remove kept figures that are not among those of a plan."""
    # Each run that changes a figure leaves the old one behind, under another key.
    for name in _kept(folder) - {_key(plan) for plan in planned.values()}:
        _path(folder, name).unlink(missing_ok=True)


def _key(plan: Plan) -> str:
    """Name of a figure among those that are kept: it changes with all that changes the picture."""
    # The plan is a function with all its arguments, arrays among them, and the size.
    return f"{joblib.hash(plan)}-{_code()}"


def _files_of(plan: Plan) -> Arrays:
    # A study keeps arrays, and a file is an array of bytes.
    drawn = plan.files(kinds=KINDS, dpi=PIXELS_PER_INCH)
    return {kind: np.frombuffer(content, dtype=np.uint8) for kind, content in drawn.items()}


def _kept(folder: str | Path | None) -> set[str]:
    """Names of the figures that a folder keeps; those that cannot be read are removed."""
    kept = set()
    for path in [] if folder is None else sorted(_path(folder, "").parent.glob("*.npz")):
        try:
            read_result(path)
            kept.add(path.stem)
        except StudyError:
            path.unlink(missing_ok=True)
    return kept


def _path(folder: str | Path, name: str) -> Path:
    return Path(folder) / "tasks" / f"{name}.npz"


@cache
def _code() -> str:
    """Hash of what draws: our code, and the libraries that it uses."""
    drawing = [files("sgbn.report").joinpath(name) for name in ("figures.py", "pictures.py")]
    sources = [*drawing, *files("sgbn.viz").iterdir()]
    # Sorted below: the order in which a folder lists its files may differ.
    texts = {path.name: path.read_text("utf-8") for path in sources if path.name.endswith(".py")}
    code = [text for _, text in sorted(texts.items())]
    # An extra that is absent has no distribution: installing it draws the figures anew.
    versions = [library.version for name in DRAWN_BY for library in distributions(name=name)]
    return sha256("\n".join([*versions, *code]).encode()).hexdigest()[:16]
