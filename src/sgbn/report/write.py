"""Write a comparison to a folder: report, tables, networks for other programs, and figures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from operator import methodcaller
from pathlib import Path

import pandas as pd

from sgbn.comparison import Comparison
from sgbn.comparison.pending_words import pending_words
from sgbn.comparison.summary import Statement
from sgbn.report.figures import plans
from sgbn.report.first_screen import first_plans
from sgbn.report.page import render_report
from sgbn.report.privacy import Veil, left_out_table
from sgbn.runs.files import versions, write_atomically, write_json
from sgbn.write.figures import draw_figures, forget_others
from sgbn.write.model_files import save
from sgbn.write.network_files import export_network
from sgbn.write.tables import check_text, file_names, write_csv

ABOUT = "about.json"
REPORT = "report.html"
CONFIG = "config.toml"
SUMMARY = "summary.txt"
MODEL = "model.sgbn"
TABLES, NETWORKS, FIGURES = "tables", "networks", "figures"
FILES = (REPORT, CONFIG, SUMMARY, MODEL)  # beside `ABOUT`, in the folder itself
PARTS = (TABLES, NETWORKS, FIGURES)


def write_comparison(
    comparison: Comparison,
    folder: str | Path,
    *,
    command: str = "",
    config: str = "",
    subjects_in_report: bool = False,
    n_jobs: int | None = None,
    drawn: str | Path | None = None,
) -> list[Path]:
    """Write all results of a comparison to a folder.

    Parameters
    ----------
    comparison : Comparison
        The results.
    folder : path
        Folder to write to; it is created if it does not exist. Files that an earlier comparison
        wrote there are replaced.
    command : str
        Command that made the comparison. The report shows it.
    config : str
        Text of a ``config.toml`` that repeats the comparison. It is written, and the report shows
        it.
    subjects_in_report : bool
        Whether ``report.html``, ``summary.txt`` and ``about.json`` may name subjects, and the
        report lists them one by one. By default only these tables name subjects:
        ``subjects.csv``, ``left_out.csv`` and ``findings.csv``.
    n_jobs : int, optional
        Number of processes that draw the figures.
    drawn : path, optional
        Folder that keeps drawn figures. A later call with the same folder draws only new figures.

    Returns
    -------
    list of Path
        The files: ``report.html`` first, then ``summary.txt``, ``tables/*.csv``, ``networks/*``
        (CSV, GraphML, JSON, BrainNet Viewer, relation matrices), ``figures/*`` (SVG, PDF and PNG),
        ``model.sgbn`` (the classifier, for ``sgbn predict``) and ``about.json``, which says how
        the files were made. A first report (`Comparison.pending`) has no ``figures/*``.
    """
    cohort, folder = comparison.cohort, Path(folder)
    veil = Veil(comparison, lifted=subjects_in_report)
    # Files for other programs cannot contain every sign. Report this before the slow drawing.
    check_text([*cohort.regions, *cohort.lobes, *comparison.groups])
    # Folders of an earlier comparison are not removed: users may keep their own files there.
    for part in PARTS:
        (folder / part).mkdir(parents=True, exist_ok=True)
    # A first report plans all figures too: the plans of its first screen are made from them.
    planned = plans(comparison)
    first = first_plans(comparison, planned)  # only for the page, not for files
    if comparison.pending:
        planned = {}  # a first report must be quick; the complete report draws the other figures
    pictures = draw_figures(planned | first, n_jobs, drawn)
    if drawn is not None and not comparison.pending:
        forget_others(planned | first, drawn)
    svg = {name: files["svg"] for name, files in pictures.items()}
    page = render_report(
        comparison, command, config=config, pictures=svg, subjects_in_report=subjects_in_report
    )
    contents = {REPORT: page.encode()}
    if config:
        contents[CONFIG] = config.encode()
    statements = veil.statements(comparison.words.statements)
    contents[SUMMARY] = _summary(statements, pending_words(comparison)).encode()
    about = _about(comparison, command, veil)
    _clear(folder)  # now, after all steps that can fail
    written = [
        *_write_files(contents, folder),
        *_write_found(comparison, folder),
        *_write_files(_by_file({name: pictures[name] for name in planned}), folder),
    ]
    if comparison.model is not None:
        written.append(save(comparison.model, folder / MODEL))
    names = [path.relative_to(folder).as_posix() for path in written]
    # The next comparison in this folder removes these files, and no others.
    write_json(folder / ABOUT, about | {"files": names})
    return [*written, folder / ABOUT]


def write_figures(
    comparison: Comparison, folder: str | Path, *, n_jobs: int | None = None
) -> list[Path]:
    """Write only the figures of a comparison; figures of an earlier comparison are replaced.

    Parameters
    ----------
    comparison : Comparison
        The results.
    folder : path
        Folder whose subfolder ``figures`` gets the files; it is created if it does not exist. All
        other files that `write_comparison` wrote to this folder stay as they are.
    n_jobs : int, optional
        Number of processes that draw.

    Returns
    -------
    list of Path
        ``figures/*``: each figure as SVG, PDF and PNG of 300 dots per inch.
    """
    folder = Path(folder)
    pictures = draw_figures(plans(comparison), n_jobs)
    (folder / FIGURES).mkdir(parents=True, exist_ok=True)
    kept = [name for name in _clear(folder, FIGURES) if (folder / name).exists()]
    written = list(_write_files(_by_file(pictures), folder))
    # about.json lists the files of a folder, so it must be updated if there is one.
    if kept:
        about = json.loads((folder / ABOUT).read_text())
        names = [path.relative_to(folder).as_posix() for path in written]
        write_json(folder / ABOUT, about | {"files": [*kept, *names]})
    return written


def _by_file(pictures: Mapping[str, Mapping[str, bytes]]) -> dict[str, bytes]:
    """Map the name of each file of figures to its content."""
    return {
        f"{FIGURES}/{name}.{kind}": content
        for name, files in pictures.items()
        for kind, content in files.items()
    }


def _clear(folder: Path, part: str = "") -> list[str]:
    """Remove the files that an earlier comparison wrote to the folder, or to a part of it.

    Returns the names of all files that the earlier comparison lists. Paths that no comparison
    writes, or that lead out of the folder, are ignored.
    """
    about = folder / ABOUT
    try:
        names = json.loads(about.read_text()).get("files", []) if about.exists() else []
    except (ValueError, AttributeError):
        return []  # this about.json is not a file of ours
    names = names if isinstance(names, list) else []
    written = [name for name in names if isinstance(name, str) and _is_written(folder, name)]
    for name in written:
        if Path(name).is_relative_to(part):
            (folder / name).unlink(missing_ok=True)
    return written


def _is_written(folder: Path, name: str) -> bool:
    """Return whether a comparison writes a file of this name into the folder.

    An about.json that was edited, or is of another origin, could list any path.
    """
    path = folder / name
    try:
        # False if a link or ".." leads elsewhere.
        is_inside = path.resolve() == folder.resolve() / name
        return is_inside and not path.is_dir() and (name in FILES or Path(name).parts[0] in PARTS)
    except (OSError, ValueError, RuntimeError):  # a NUL, or a loop of links
        return False


def _summary(statements: Iterable[Statement], pending: str = "") -> str:
    parts = [pending] if pending else []
    for answer in statements:
        mark = "- " if len(answer.lines) > 1 else ""
        parts.append("\n".join([answer.question, *(f"{mark}{line}" for line in answer.lines)]))
    return "\n\n".join(parts) + "\n"


def _write_files(contents: Mapping[str, bytes], folder: Path) -> Iterator[Path]:
    for name, content in contents.items():
        write_atomically(folder / name, methodcaller("write", content))
        yield folder / name


def _write_found(comparison: Comparison, folder: Path) -> Iterator[Path]:
    """Write tables and networks, for other programs."""
    findings = [finding[:3] for finding in comparison.review.findings]
    # A table without columns gets no file below.
    columns = ["level", "what", "action"] if findings else None
    beside = {
        "left_out": left_out_table(comparison),
        "findings": pd.DataFrame(findings, columns=columns),
    }
    for name, table in (comparison.tables._asdict() | beside).items():
        if len(table.columns):  # the step was done, even if it found nothing
            floats = table.select_dtypes("float")
            plain = table.assign(**dict(floats + 0.0))  # + 0.0: no minus zero
            yield write_csv(plain, folder / TABLES / f"{name}.csv")
    names = file_names(comparison.groups)
    for group, learner in comparison.learners.items():
        yield from export_network(
            learner,
            folder / NETWORKS / names[group],
            comparison.cohort.atlas,
            confidence=comparison.confidence.get(group),
            supported=comparison.supported[group],
            group=group,
        )


def _about(comparison: Comparison, command: str, veil: Veil) -> dict[str, object]:
    cohort = comparison.cohort
    findings = veil.findings(comparison).itertuples(index=False)
    return {
        "command": command,
        "data": dict(cohort.provenance),
        "sites": comparison.n_sites,
        "groups": cohort.sizes,
        "reference": comparison.reference,
        "regions": list(cohort.regions),
        "covariates": list(cohort.covariates),
        "findings": [f"{row.level}: {row.what}. {row.action}." for row in findings],
        # The learners of all groups are clones, so they have the same parameters.
        "learner": repr(next(iter(comparison.learners.values()))),
        "settings": vars(comparison.settings),
        "skipped": {step: veil.text(reason) for step, reason in comparison.skipped.items()},
        "pending": list(comparison.pending),
        "seconds": {step: round(took, 2) for step, took in comparison.seconds.items()},
        "versions": versions(),
    }
