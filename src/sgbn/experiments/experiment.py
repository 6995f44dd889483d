"""The shape that the paper's experiments share: settings, tasks, a report and figures.

An experiment runs its tasks into a folder. Its report and figures are made from what that folder
holds, so that they can be made again without the work. The form of the report is a Markdown file
beside this one, ``NAME.md``, with slots in braces for what was computed.
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

from sgbn.comparison.intervals import Estimate, estimate
from sgbn.experiments.markdown import provenance, row, table
from sgbn.runs import Arrays, Study, read_result, write_atomically

COLOURS = 256  # of a figure: lines need no more, and the file is a quarter of the size

Tasks = dict[str, dict[str, Any]]
Files = dict[str, Figure | str]


@dataclass(frozen=True)
class Experiment:
    """One experiment: what it runs, and what is made of the results.

    Attributes
    ----------
    name : str
        Of the report, and of the template that it is made from.
    tasks : callable
        Takes settings and data; gives the arguments of each task by its name.
    work : callable
        Does one task. It gets settings and data (if there are any; samples by name, each with its
        `content` as bytes) beside the task's arguments.
    read : callable
        Takes the result of each task by its name; gives what `report` and `files` take.
    report : callable
        Takes results and settings (as study.json has them); gives what fills each slot of the
        template: text, or a list of lines; a line that is not text is a row of a table.
    files : callable
        Takes results; gives further files by their names: figures, or text.
    check : Experiment, optional
        Run in the folder of its own name inside that of this experiment, by the option of that name
        of `sgbn reproduce`. Its report fills the slot of that name.
    """

    name: str
    tasks: Callable[[Any, Any], Tasks]
    work: Callable[..., Mapping[str, Any]]
    read: Callable[[dict[str, Arrays]], Any]
    report: Callable[[Any, Mapping[str, Any]], Mapping[str, Any]]
    files: Callable[[Any], Files] = lambda _: {}
    check: Experiment | None = None

    def run(self, study: Study, settings: Any, data: Any = None) -> dict[str, Arrays]:
        """Run what the study does not hold yet."""
        # Settings and data are shared, so that each worker gets them once and not with each task.
        shared = {"settings": settings} | ({} if data is None else {"data": data})
        # Content tells two tables of the same subjects and regions apart.
        samples = {n: sha256(each.content).hexdigest()[:16] for n, each in (data or {}).items()}
        noted = asdict(settings) | {"experiment": self.name, "samples": samples}
        return study.run(self.work, self.tasks(settings, data), noted, shared=shared)

    def results(self, folder: Path) -> Any:
        """Results of a finished run."""
        # Sorted: numbers in the names have leading zeros, so that repeats come in their order.
        paths = sorted((folder / "tasks").glob("*.npz"))
        return self.read({path.stem: read_result(path) for path in paths})

    def text(self, folder: Path) -> str:
        """Report of a finished run, as Markdown."""
        study = json.loads((folder / "study.json").read_text())
        settings = study["settings"]
        slots = dict(self.report(self.results(folder), settings))
        if self.check is not None:
            slots[self.check.name] = self._text_of_check(self.check, folder / self.check.name)
        filled = {name: _joined(content) for name, content in slots.items()}
        template = _file(f"{self.name}.md")
        # Format fields such as {settings[seed]} take a setting by name, without code for each.
        return template.format(settings=settings, provenance=provenance(study), **filled)

    def _text_of_check(self, check: Experiment, folder: Path) -> str:
        """Report of the check without its title, or how to get one."""
        if not (folder / "study.json").exists():
            command = f"sgbn reproduce {self.name} --{check.name}"
            return f"`{command}` with the same folder shows it here."
        # Without the title: the text becomes a section of another report.
        return check.text(folder).partition("\n\n")[2].rstrip()

    def finish(self, folder: Path) -> tuple[str, list[Path]]:
        """Write the report and all further files; return its text and their paths."""
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
    """Rows of a table beside this file, such as the paper's figures or its claims."""
    return list(csv.DictReader(_file(name).splitlines()))


def _write(path: Path, content: Figure | str) -> None:
    """Write text, or a figure in its own resolution and few colours."""
    stream = BytesIO()
    if isinstance(content, str):
        stream.write(content.encode())
    else:
        drawn = BytesIO()
        content.savefig(drawn, dpi="figure")
        # the octree keeps the colour of a thin line; the median cut turned orange into brown
        few = Image.open(drawn).convert("RGB").quantize(COLOURS, Image.Quantize.FASTOCTREE)
        few.save(stream, "png", optimize=True)
    write_atomically(path, lambda file: file.write(stream.getvalue()))


@dataclass(frozen=True)
class Outcomes:
    """What every method made of every repeat of one data set.

    Attributes
    ----------
    methods : list of str
    values : mapping of field to array
        One row per method, one column per repeat.
    noted : mapping
        What the first task noted beside the outcomes.
    """

    methods: list[str]
    values: Arrays
    noted: Arrays

    def of(self, method: str, field: str) -> NDArray[Any]:
        """One field of the outcomes of one method, one value per repeat."""
        return self.values[field][self.methods.index(method)]

    def mean(self, method: str, field: str) -> float:
        """Mean over the repeats that have the field; NaN where none has it."""
        known = method in self.methods
        return self.estimate(self.of(method, field)).mean if known else np.nan

    def estimate(self, values: NDArray[Any]) -> Estimate:
        """Mean over the repeats, with the error that fits how these overlap."""
        return estimate(values, float(self.noted.get("overlap", 0.0)))


def messages(results: Mapping[str, Outcomes], fields: Iterable[str]) -> list[str]:
    """Table of messages such as failures, each with the number of repeats that it came in."""
    rows = [
        (field, name, method, count, text)
        for field in fields
        for name, outcomes in results.items()
        for method in outcomes.methods
        for text, count in Counter(outcomes.of(method, field).tolist()).items()
        if text
    ]
    header = ["kind", "data", "method", "fits", "message"]
    return table(header, rows) if rows else ["None, in any fit of any method."]


def as_columns(outcomes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the result of a task: names of methods, and one array per field of their outcomes."""
    fields = next(iter(outcomes.values()))._fields
    # Outcomes are rows, one per method: they are turned into one column per field.
    columns = zip(fields, zip(*outcomes.values(), strict=True), strict=True)
    return {"methods": list(outcomes), **{name: np.array(values) for name, values in columns}}


def repeats(names: Iterable[str], n_repeats: int) -> Tasks:
    """One task per repeat of each data set, called DATA.REPEAT."""
    names = list(names)
    return {
        f"{name}.{repeat:04d}": {"name": name, "repeat": repeat}
        # Repeats outside, so that an interrupted run has about as many repeats of each data set.
        for repeat in range(n_repeats)
        for name in names
    }


def gather(
    tasks: Mapping[str, Arrays], fields: Sequence[str], order: Iterable[str]
) -> dict[str, Outcomes]:
    """Outcomes of each data set, in this order; tasks are called DATA.REPEAT."""
    stored: dict[str, list[Arrays]] = {}
    for name, result in tasks.items():
        stored.setdefault(name.split(".")[0], []).append(result)
    return {
        name: Outcomes(
            stored[name][0]["methods"].tolist(),
            # One row per task, turned: values are kept as (methods, repeats).
            {field: np.array([task[field] for task in stored[name]]).T for field in fields},
            # Sizes and overlap are the same in all tasks of a data set: the first speaks for all.
            stored[name][0],
        )
        for name in order
        if name in stored
    }
