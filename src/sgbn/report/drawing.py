"""Draw figures as files, and keep them in a folder so that each is drawn only once.

The key of a kept figure is a hash of its plan and of the code that draws it. Each figure is one
task of a study, so its file is kept as soon as it is drawn, and is never incomplete.
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

from sgbn.core.exceptions import StudyError
from sgbn.report.figures import Plan
from sgbn.runs.files import Arrays, read_result
from sgbn.runs.study import Study

PIXELS_PER_INCH = 300  # journals ask for this
KINDS = ("svg", "pdf", "png")
WORTH_WORKERS = 6  # figures; for fewer, starting processes costs more time than it saves
DRAWN_BY = ("matplotlib", "nilearn")  # packages whose version can change a picture

Pictures = dict[str, dict[str, bytes]]  # figure -> kind of file -> content of the file


def draw_figures(
    planned: Mapping[str, Plan], n_jobs: int | None, folder: str | Path | None = None
) -> Pictures:
    """Draw figures as files of all kinds; figures that the folder keeps are only read.

    Parameters
    ----------
    planned : mapping of name to Plan
        The figures.
    n_jobs : int or None
        Number of processes.
    folder : path, optional
        Folder that keeps the figures. A damaged figure is drawn again.

    Returns
    -------
    dict of name to dict
        The content of the files of each figure, by their kind ("svg", "pdf" or "png").
    """
    keys = {name: _key(plan) for name, plan in planned.items()}
    tasks = {keys[name]: {"plan": plan} for name, plan in planned.items()}
    # Only figures that are not kept yet need processes.
    missing = set(tasks) - _kept(folder)
    # Figures with the same key are one task, so they are drawn once.
    study = Study(folder, n_jobs if len(missing) >= WORTH_WORKERS else 1)
    drawn = study.run(_files_of, tasks, {"kinds": KINDS, "dpi": PIXELS_PER_INCH})
    return {
        name: {kind: drawn[key][kind].tobytes() for kind in KINDS} for name, key in keys.items()
    }


def forget_others(planned: Mapping[str, Plan], folder: str | Path) -> None:
    """Remove the kept figures that are not planned any more."""
    # A figure that changes gets another key, and the old figure would stay for ever.
    for name in _kept(folder) - {_key(plan) for plan in planned.values()}:
        _path(folder, name).unlink(missing_ok=True)


def _key(plan: Plan) -> str:
    """Return the key of a figure, which changes with everything that changes the picture."""
    # The plan has the function that draws, all its arguments (also arrays), and the size.
    return f"{joblib.hash(plan)}-{_code()}"


def _files_of(plan: Plan) -> Arrays:
    """Draw a figure as files of all kinds, each as an array of bytes, which a study can keep."""
    drawn = plan.files(kinds=KINDS, dpi=PIXELS_PER_INCH)
    return {kind: np.frombuffer(content, dtype=np.uint8) for kind, content in drawn.items()}


def _kept(folder: str | Path | None) -> set[str]:
    """Return the keys of the figures that a folder keeps; remove files that cannot be read."""
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
    """Return a hash of the code that draws, and of the versions of the libraries that it uses."""
    drawing = [files("sgbn.report").joinpath(name) for name in ("figures.py", "pictures.py")]
    sources = [*drawing, *files("sgbn.viz").iterdir()]
    # Sorted below, because folders list their files in any order.
    texts = {path.name: path.read_text("utf-8") for path in sources if path.name.endswith(".py")}
    code = [text for _, text in sorted(texts.items())]
    # A library that is not installed adds no version, so figures are drawn again once it is.
    versions = [library.version for name in DRAWN_BY for library in distributions(name=name)]
    return sha256("\n".join([*versions, *code]).encode()).hexdigest()[:16]
