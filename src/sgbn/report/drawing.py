"""Figures as files, drawn once: those that a folder keeps are only read.

A figure is told by its plan and by the code that draws it. Each is one task of a study, so that it
is kept as soon as it is drawn, whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
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
        Processes.
    folder : path, optional
        Keeps the figures. One that is damaged is drawn again.

    Returns
    -------
    dict of name to dict
        Kind ("svg", "pdf", "png") -> content of the file.
    """
    keys = {name: _key(plan) for name, plan in planned.items()}
    tasks = {keys[name]: {"plan": plan} for name, plan in planned.items()}
    missing = set(tasks) - _kept(folder)
    study = Study(folder, n_jobs if len(missing) >= WORTH_WORKERS else 1)
    found = study.run(_files_of, tasks, {"kinds": KINDS, "dpi": PIXELS_PER_INCH})
    return {
        name: {kind: found[key][kind].tobytes() for kind in KINDS} for name, key in keys.items()
    }


def forget_others(planned: Mapping[str, Plan], folder: str | Path) -> None:
    """Remove kept figures that are not among those of a plan."""
    for name in _kept(folder) - {_key(plan) for plan in planned.values()}:
        _path(folder, name).unlink(missing_ok=True)


def _key(plan: Plan) -> str:
    """Name of a figure among those that are kept: it changes with all that changes the picture."""
    return f"{joblib.hash(plan)}-{_code()}"


def _files_of(plan: Plan) -> Arrays:
    drawn = plan.files(kinds=KINDS, dpi=PIXELS_PER_INCH)
    return {kind: np.frombuffer(content, dtype=np.uint8) for kind, content in drawn.items()}


def _kept(folder: str | Path | None) -> set[str]:
    """Names of the figures that a folder keeps; those that cannot be read are removed."""
    found = set()
    for path in [] if folder is None else sorted(_path(folder, "").parent.glob("*.npz")):
        try:
            read_result(path)
            found.add(path.stem)
        except StudyError:
            path.unlink(missing_ok=True)
    return found


def _path(folder: str | Path, name: str) -> Path:
    return Path(folder) / "tasks" / f"{name}.npz"


@cache
def _code() -> str:
    """Hash of what draws: our code, and the libraries that it uses."""
    own = [files("sgbn.report").joinpath(name) for name in ("figures.py", "pictures.py")]
    sources = [*own, *files("sgbn.viz").iterdir()]
    texts = {one.name: one.read_text("utf-8") for one in sources if one.name.endswith(".py")}
    ours = [text for _, text in sorted(texts.items())]
    return sha256("\n".join([*map(_version, DRAWN_BY), *ours]).encode()).hexdigest()[:16]


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:  # of an extra
        return ""
