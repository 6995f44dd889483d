"""A comparison as a folder: report, tables, networks for other programs, pictures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from sgbn.comparison import Comparison, tables
from sgbn.comparison.replicated import replication
from sgbn.comparison.summary import summarise
from sgbn.io.exports import export_network, write_csv
from sgbn.io.exports.files import check_text
from sgbn.io.models import save
from sgbn.report.figures import Pictures
from sgbn.report.names import file_names
from sgbn.report.page import render_report
from sgbn.runs import versions, write_atomically, write_json

ABOUT = "about.json"
REPORT = "report.html"
CONFIG = "config.toml"
MODEL = "model.sgbn"
PIXELS_AN_INCH = 200
KINDS = ("svg", "png")

TABLES = {
    "edges": tables.edges,
    "models": tables.models,
    "differences": tables.differences,
    "replication": replication,
    "named": tables.named,
    "among": tables.among,
    "pairwise": tables.pairwise,
    "hubs": tables.hubs,
    "lobes": tables.lobes,
    "components": tables.components,
    "accuracy": tables.accuracy,
    "refinements": tables.refinements,
    "subjects": tables.subjects,
}


def write_comparison(
    comparison: Comparison,
    folder: str | Path,
    *,
    command: str = "",
    config: str = "",
    n_jobs: int | None = None,
) -> list[Path]:
    """Write everything that was found to a folder.

    Parameters
    ----------
    comparison : Comparison
    folder : path
        Made if absent. What an earlier comparison wrote there is replaced.
    command, config : str
        What was typed, and the text of a ``config.toml`` that repeats it, which is written too: the
        report shows them.
    n_jobs : int, optional
        Processes that draw the figures.

    Returns
    -------
    list of Path
        The files: ``report.html`` first; ``summary.txt``, ``tables/*.csv``, ``networks/*`` (CSV,
        GraphML, JSON, BrainNet Viewer, relation matrices), ``figures/*.svg`` and ``*.png``,
        ``model.sgbn`` (the classifier, for ``sgbn predict``) and ``about.json``, which says how
        they were made.
    """
    cohort, folder = comparison.cohort, Path(folder)
    check_text([*cohort.regions, *cohort.lobes, *comparison.groups])
    for part in ("tables", "networks", "figures"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    drawn = Pictures(comparison)
    drawn.draw(KINDS, PIXELS_AN_INCH, n_jobs)
    page = render_report(comparison, command, config=config, pictures=drawn).encode()
    _clear(folder)  # not before all that can fail
    written = [_bytes(page, folder / REPORT)]
    if config:
        written.append(_bytes(config.encode(), folder / CONFIG))
    for write in (_write_summary, _write_tables, _write_networks):
        written += write(comparison, folder)
    written += _write_figures(drawn, folder)
    if comparison.model is not None:
        written.append(save(comparison.model, folder / MODEL))
    names = [path.relative_to(folder).as_posix() for path in written]
    write_json(folder / ABOUT, _about(comparison, command) | {"files": names})
    return [*written, folder / ABOUT]


def _clear(folder: Path) -> None:
    """Take away what an earlier comparison wrote to the same folder."""
    about = folder / ABOUT
    if about.exists():
        try:
            names = json.loads(about.read_text()).get("files", [])
        except (ValueError, AttributeError):
            return  # not ours
        for name in names:
            if (
                isinstance(name, str)
                and ".." not in Path(name).parts
                and not Path(name).is_absolute()
            ):
                (folder / name).unlink(missing_ok=True)


def _write_summary(comparison: Comparison, folder: Path) -> Iterator[Path]:
    parts = []
    for one in summarise(comparison):
        mark = "- " if len(one.lines) > 1 else ""
        parts.append("\n".join([one.question, *(f"{mark}{line}" for line in one.lines)]))
    text = "\n\n".join(parts) + "\n"
    yield _bytes(text.encode(), folder / "summary.txt")


def _write_tables(comparison: Comparison, folder: Path) -> Iterator[Path]:
    for name, table_of in TABLES.items():
        table = table_of(comparison)
        if len(table.columns):  # the step was done, whatever it found
            yield _csv(table, folder / "tables" / f"{name}.csv")
    findings = comparison.review.findings
    if findings:
        table = pd.DataFrame([(f.level, f.what, f.action) for f in findings])
        table.columns = pd.Index(["level", "what", "action"])
        yield _csv(table, folder / "tables" / "findings.csv")


def _bytes(content: bytes, path: Path) -> Path:
    write_atomically(path, lambda stream: stream.write(content))
    return path


def _csv(table: pd.DataFrame, path: Path) -> Path:
    floats = table.select_dtypes("float")
    write_csv(table.assign(**dict(floats + 0.0)), path)  # + 0.0: no minus zero
    return path


def _write_networks(comparison: Comparison, folder: Path) -> Iterator[Path]:
    names = file_names(comparison.learners)
    for group, learner in comparison.learners.items():
        stem = folder / "networks" / names[group]
        yield from export_network(
            learner,
            stem,
            comparison.cohort.atlas,
            confidence=comparison.confidence.get(group),
            supported=comparison.supported(group),
        )


def _write_figures(drawn: Pictures, folder: Path) -> Iterator[Path]:
    for name in drawn.names:
        for kind in KINDS:
            path = folder / "figures" / f"{name}.{kind}"
            yield _bytes(drawn.file(name, kind, PIXELS_AN_INCH), path)


def _about(comparison: Comparison, command: str) -> dict[str, object]:
    cohort = comparison.cohort
    return {
        "command": command,
        "data": dict(cohort.provenance),
        "sites": 0 if cohort.site is None else len(np.unique(cohort.site)),
        "groups": cohort.sizes,
        "reference": comparison.reference,
        "regions": list(cohort.regions),
        "covariates": list(cohort.covariates),
        "findings": [str(finding) for finding in comparison.review.findings],
        "learner": repr(next(iter(comparison.learners.values()))),
        "settings": vars(comparison.settings),
        "skipped": dict(comparison.skipped),
        "seconds": {step: round(took, 2) for step, took in comparison.seconds.items()},
        "versions": versions(),
    }
