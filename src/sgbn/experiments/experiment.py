"""What the paper's experiments have in common: settings, tasks, a report and figures.

An experiment stores the results of its tasks in a folder. Its report and figures are made from
that folder, so that they can be made again without running the tasks. The words of the report are
in the Markdown file ``NAME.md`` beside this file, with slots in braces for the results.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image  # comes with matplotlib

from sgbn.experiments.markdown import provenance, row, table
from sgbn.inference.intervals import Estimate, estimate
from sgbn.runs.files import Arrays, read_result, write_atomically
from sgbn.runs.study import Study

COLOURS = 256  # in a figure: enough for lines, and the file has a quarter of the size

Tasks = dict[str, dict[str, Any]]
Files = dict[str, Figure | str]


@dataclass(frozen=True)
class Experiment:
    """One experiment: the tasks that it runs, and what is made of their results.

    Attributes
    ----------
    name : str
        Name of the report and of its template.
    tasks : callable
        Takes settings and data, and returns the arguments of each task by the task's name.
    work : callable
        Does one task. It takes the settings, the data if there are any, and the arguments of the
        task. Data are samples by name, each with its `content` as bytes.
    read : callable
        Takes the results of the tasks by name, and returns the input of `report` and `files`.
    report : callable
        Takes the output of `read` and the settings as in study.json. Returns what fills each slot
        of the template: text, or a list of lines. A line that is not text is a row of a table.
    files : callable
        Takes the output of `read`, and returns further files by name: figures or text.
    check : Experiment, optional
        A second experiment, which `sgbn reproduce` runs if the option with its name is given. It
        has a subfolder with its name, and its report fills the slot with its name.
    """

    name: str
    tasks: Callable[[Any, Any], Tasks]
    work: Callable[..., Mapping[str, Any]]
    read: Callable[[dict[str, Arrays]], Any]
    report: Callable[[Any, Mapping[str, Any]], Mapping[str, Any]]
    files: Callable[[Any], Files] = lambda _: {}
    check: Experiment | None = None

    def run(self, study: Study, settings: Any, data: Any = None) -> dict[str, Arrays]:
        """Run the tasks that have no result in the study yet. Return the results of all tasks."""
        # Settings and data are shared, so that each worker gets them once and not with each task.
        shared = {"settings": settings} | ({} if data is None else {"data": data})
        # Two tables with the same subjects and regions may have different content.
        samples = {n: sha256(each.content).hexdigest()[:16] for n, each in (data or {}).items()}
        noted = asdict(settings) | {"experiment": self.name, "samples": samples}
        return study.run(self.work, self.tasks(settings, data), noted, shared=shared)

    def results(self, folder: Path) -> Any:
        """Return the results of a finished run, as `read` returns them."""
        # Numbers in the names have leading zeros, so that sorting brings repeats into their order.
        paths = sorted((folder / "tasks").glob("*.npz"))
        return self.read({path.stem: read_result(path) for path in paths})

    def text(self, folder: Path) -> str:
        """Return the report of a finished run, as Markdown."""
        study = json.loads((folder / "study.json").read_text())
        settings = study["settings"]
        slots = dict(self.report(self.results(folder), settings))
        if self.check is not None:
            slots[self.check.name] = self._text_of_check(self.check, folder / self.check.name)
        filled = {name: _joined(content) for name, content in slots.items()}
        template = _file(f"{self.name}.md")
        # A field such as {settings[seed]} in the template takes a setting by its name.
        return template.format(settings=settings, provenance=provenance(study), **filled)

    def _text_of_check(self, check: Experiment, folder: Path) -> str:
        """Return the report of the check without its title, or how to get this report."""
        if not (folder / "study.json").exists():
            command = f"sgbn reproduce {self.name} --{check.name}"
            return f"To see it here, run `{command}` with the same folder."
        return check.text(folder).partition("\n\n")[2].rstrip()

    def finish(self, folder: Path) -> tuple[str, list[Path]]:
        """Write the report and all further files. Return the report's text and the files' paths."""
        text = self.text(folder)
        _write(folder / f"{self.name}.md", text)
        made = self.files(self.results(folder))
        for name, content in made.items():
            _write(folder / name, content)
        return text, [folder / name for name in made]


def _joined(content: str | Iterable[Any]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(line if isinstance(line, str) else row(line) for line in content)


def _file(name: str) -> str:
    return (files("sgbn.experiments") / name).read_text(encoding="utf-8")


def read_rows(name: str) -> list[dict[str, str]]:
    """Read the rows of a CSV file beside this file, such as the paper's figures or claims."""
    return list(csv.DictReader(_file(name).splitlines()))


def _write(path: Path, content: Figure | str) -> None:
    """Write text, or a figure in its own resolution and with few colours."""
    stream = BytesIO()
    if isinstance(content, str):
        stream.write(content.encode())
    else:
        drawn = BytesIO()
        content.savefig(drawn, dpi="figure")
        # The octree keeps the colour of thin lines. The median cut turned orange into brown.
        few = Image.open(drawn).convert("RGB").quantize(COLOURS, Image.Quantize.FASTOCTREE)
        few.save(stream, "png", optimize=True)
    write_atomically(path, lambda file: file.write(stream.getvalue()))


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of every method in every repeat of one data set.

    Attributes
    ----------
    methods : list of str
        Names of the methods.
    values : mapping of field to array
        The outcomes, with one row per method and one column per repeat.
    noted : mapping
        All that the first task stored, for example sizes and overlap.
    """

    methods: list[str]
    values: Arrays
    noted: Arrays

    def of(self, method: str, field: str) -> NDArray[Any]:
        """Return one field of one method's outcomes, with one value per repeat."""
        return self.values[field][self.methods.index(method)]

    def mean(self, method: str, field: str) -> float:
        """Return the mean over the repeats that have the field, or NaN if none has it."""
        known = method in self.methods
        return self.estimate(self.of(method, field)).mean if known else np.nan

    def estimate(self, values: NDArray[Any]) -> Estimate:
        """Return the mean over the repeats, with a standard error that accounts for overlap."""
        return estimate(values, float(self.noted.get("overlap", 0.0)))


def messages(results: Mapping[str, Outcomes], fields: Iterable[str]) -> list[str]:
    """Return a table of messages such as failures, with the number of repeats that had each."""
    rows = [
        (field, name, method, count, text)
        for field in fields
        for name, outcomes in results.items()
        for method in outcomes.methods
        for text, count in Counter(outcomes.of(method, field).tolist()).items()
        if text
    ]
    header = ["kind", "data", "method", "fits", "message"]
    return table(header, rows) if rows else ["No fit of any method had such a message."]


def as_columns(outcomes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a task: names of methods, and one array per field of their outcomes."""
    fields = next(iter(outcomes.values()))._fields
    # There is one outcome per method. The result has one column per field instead.
    columns = zip(fields, zip(*outcomes.values(), strict=True), strict=True)
    return {"methods": list(outcomes), **{name: np.array(values) for name, values in columns}}


def repeats(names: Iterable[str], n_repeats: int) -> Tasks:
    """Make one task per repeat of each data set. Its name is DATA.REPEAT."""
    names = list(names)
    return {
        f"{name}.{repeat:04d}": {"name": name, "repeat": repeat}
        # The outer loop is over repeats, so that an interrupted run has similar numbers of them for
        # all data sets.
        for repeat in range(n_repeats)
        for name in names
    }


def gather(
    tasks: Mapping[str, Arrays], fields: Sequence[str], order: Iterable[str]
) -> dict[str, Outcomes]:
    """Return the outcomes of each data set, in this order. A task's name is DATA.REPEAT."""
    stored: dict[str, list[Arrays]] = {}
    for name, result in tasks.items():
        stored.setdefault(name.split(".")[0], []).append(result)
    return {
        name: Outcomes(
            stored[name][0]["methods"].tolist(),
            # Each task gives one row. The transposed array has the shape (methods, repeats).
            {field: np.array([task[field] for task in stored[name]]).T for field in fields},
            # Sizes and overlap are the same in all tasks of a data set.
            stored[name][0],
        )
        for name in order
        if name in stored
    }
