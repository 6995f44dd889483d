"""A comparison as a folder: report, tables, networks for other programs, pictures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from operator import methodcaller
from pathlib import Path

import pandas as pd

from sgbn.comparison import Comparison
from sgbn.comparison.pending_words import pending_words
from sgbn.comparison.summary import Statement
from sgbn.io.exports import export_network, write_csv
from sgbn.io.exports.files import check_text
from sgbn.io.models import save
from sgbn.report.drawing import draw_figures, forget_others
from sgbn.report.figures import plans
from sgbn.report.first_screen import first_plans
from sgbn.report.names import file_names
from sgbn.report.page import render_report
from sgbn.report.privacy import Veil, left_out_table
from sgbn.runs import versions, write_atomically, write_json

ABOUT = "about.json"
REPORT = "report.html"
CONFIG = "config.toml"
SUMMARY = "summary.txt"
MODEL = "model.sgbn"
FIGURES = "figures"


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
    """Write everything that was found to a folder.

    Parameters
    ----------
    comparison : Comparison
    folder : path
        Made if absent. What an earlier comparison wrote there is replaced.
    command, config : str
        What was typed, and the text of a ``config.toml`` that repeats it, which is written too: the
        report shows them.
    subjects_in_report : bool
        Whether ``report.html``, ``summary.txt`` and ``about.json`` may name subjects, and the
        report lists them one by one. Without it only tables do: ``subjects.csv``,
        ``left_out.csv``, ``findings.csv``.
    n_jobs : int, optional
        Processes that draw the figures.
    drawn : path, optional
        Folder that keeps the figures: a later call with the same folder draws only those that are
        new. A first report has only those of its first screen.

    Returns
    -------
    list of Path
        The files: ``report.html`` first; ``summary.txt``, ``tables/*.csv``, ``networks/*`` (CSV,
        GraphML, JSON, BrainNet Viewer, relation matrices), ``figures/*`` (SVG, PDF and PNG),
        ``model.sgbn`` (the classifier, for ``sgbn predict``) and ``about.json``, which says how
        they were made.
    """
    cohort, folder = comparison.cohort, Path(folder)
    veil = Veil(comparison, lifted=subjects_in_report)
    # Files for other programs cannot hold every sign; this is said before anything is drawn.
    check_text([*cohort.regions, *cohort.lobes, *comparison.groups])
    # Folders of an earlier comparison stay: users may keep files of their own there.
    for part in ("tables", "networks", FIGURES):
        (folder / part).mkdir(parents=True, exist_ok=True)
    # All of them, also for a first report: the first screen takes its pictures from these.
    planned = plans(comparison)
    first = first_plans(comparison, planned)  # for the page alone
    if comparison.pending:
        planned = {}  # a first report comes at once: the complete one draws the other figures
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
    _clear(folder)  # not before all that can fail
    written = [
        *_write_files(contents, folder),
        *_write_found(comparison, folder),
        *_write_files(_by_file({name: pictures[name] for name in planned}), folder),
    ]
    if comparison.model is not None:
        written.append(save(comparison.model, folder / MODEL))
    names = [path.relative_to(folder).as_posix() for path in written]
    # The next comparison in this folder takes these away, and nothing else.
    write_json(folder / ABOUT, about | {"files": names})
    return [*written, folder / ABOUT]


def write_figures(
    comparison: Comparison, folder: str | Path, *, n_jobs: int | None = None
) -> list[Path]:
    """Write only the figures of a comparison, and replace those that lie in the folder.

    Parameters
    ----------
    comparison : Comparison
    folder : path
        Its part ``figures`` is made if absent. If `write_comparison` wrote to this folder before,
        all else stays as it is.
    n_jobs : int, optional
        Processes that draw.

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
    # Without about.json there is no list of files that would have to be kept true.
    if kept:
        about = json.loads((folder / ABOUT).read_text())
        names = [path.relative_to(folder).as_posix() for path in written]
        write_json(folder / ABOUT, about | {"files": [*kept, *names]})
    return written


def _by_file(pictures: Mapping[str, Mapping[str, bytes]]) -> dict[str, bytes]:
    """Name of each file of figures -> what it holds."""
    return {
        f"{FIGURES}/{name}.{kind}": content
        for name, files in pictures.items()
        for kind, content in files.items()
    }


def _clear(folder: Path, part: str = "") -> list[str]:
    """Take away what an earlier comparison wrote to the same folder, or to a part of it.

    Returns the names of all files that the earlier comparison lists, without paths that lead out
    of the folder.
    """
    about = folder / ABOUT
    try:
        names = json.loads(about.read_text()).get("files", []) if about.exists() else []
    except (ValueError, AttributeError):
        return []  # not ours
    # A file from elsewhere could name any path: nothing outside the folder is taken away.
    written = [
        name
        for name in names
        if isinstance(name, str) and ".." not in Path(name).parts and not Path(name).is_absolute()
    ]
    for name in written:
        if Path(name).is_relative_to(part):
            (folder / name).unlink(missing_ok=True)
    return written


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
    # Without columns no file is written below.
    columns = ["level", "what", "action"] if findings else None
    beside = {
        "left_out": left_out_table(comparison),
        "findings": pd.DataFrame(findings, columns=columns),
    }
    for name, table in (comparison.tables._asdict() | beside).items():
        if len(table.columns):  # the step was done, whatever it found
            floats = table.select_dtypes("float")
            plain = table.assign(**dict(floats + 0.0))  # + 0.0: no minus zero
            yield write_csv(plain, folder / "tables" / f"{name}.csv")
    names = file_names(comparison.groups)
    for group, learner in comparison.learners.items():
        yield from export_network(
            learner,
            folder / "networks" / names[group],
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
        # Clones of one learner: those of all groups have the same parameters.
        "learner": repr(next(iter(comparison.learners.values()))),
        "settings": vars(comparison.settings),
        "skipped": {step: veil.text(reason) for step, reason in comparison.skipped.items()},
        "pending": list(comparison.pending),
        "seconds": {step: round(took, 2) for step, took in comparison.seconds.items()},
        "versions": versions(),
    }
