"""The report of a comparison: one HTML file that contains everything it needs, and loads nothing.

`render_report` makes the page. `write_comparison` writes the whole folder: report, tables, networks
for other programs, and figures. Then come parts of the page: the first screen (verdict, figures of
the differences, and what can be trusted), and text alternatives and captions of figures, whose
words are in ``captions.toml``. Messages count the subjects in a report that is passed on;
the CSV files beside the report keep them.
"""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import fields
from functools import cache, partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from jinja2 import Environment
from markupsafe import Markup

from sgbn.comparison.figures import (
    DEVIATIONS,
    MAX_PAIRS,
    STRENGTH,
    difference_stems,
    forest_plan,
    layout_of,
    names_of_maps,
    payload,
    plans,
    surface_maps,
)
from sgbn.comparison.methods import REFERENCES, describe_methods, prepared_in_folds, software
from sgbn.comparison.names import called, joined
from sgbn.comparison.result import Comparison
from sgbn.comparison.steps import STEPS, TITLES
from sgbn.comparison.steps.accuracy import accuracy_section
from sgbn.comparison.steps.data import (
    cohort_section,
    findings_of,
    table_one_section,
    without_folders,
)
from sgbn.comparison.steps.differences import changes_per_sd, differences_of, differences_section
from sgbn.comparison.steps.models import models_section
from sgbn.comparison.steps.networks import (
    edges_table,
    networks_table,
    refinements_section,
    subjects_table,
)
from sgbn.comparison.steps.regional import regional_section
from sgbn.comparison.steps.replication import replication_section
from sgbn.comparison.steps.sensitivity import checks_section
from sgbn.comparison.steps.series_data import series_section
from sgbn.comparison.summary import Statement, of_groups, pending_words
from sgbn.comparison.tables import Tables
from sgbn.core.problems import Problem, speaking
from sgbn.runs.files import versions, write_atomically, write_json
from sgbn.write.figures import PAGE_DPI, Plan, address, draw_figures, forget_others
from sgbn.write.model_files import save
from sgbn.write.network_files import export_network
from sgbn.write.page import (
    Field,
    Table,
    make_table,
    own_file,
    own_table,
    own_templates,
    plotly_script,
    tables_script,
    tables_style,
)
from sgbn.write.tables import check_text, file_names, frame_of, write_csv

if TYPE_CHECKING:
    import pandas as pd


PAPER = "zhou2016"
PAPER_OF_SERIES = "ramsey2010"
MAX_STATIC_BYTES = 1_400_000  # of the pictures of networks: keeps the page small
# Letters that could end the script element around a text, or a line of JavaScript
UNSAFE = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


class Shown(NamedTuple):
    """A figure of the page: its address, text alternative and caption."""

    address: str
    alt: str
    caption: str


def render_report(
    comparison: Comparison,
    command: str = "",
    *,
    config: str = "",
    pictures: Mapping[str, bytes] | None = None,
    subjects_in_report: bool = False,
) -> str:
    """Return the report of a comparison as HTML.

    Parameters
    ----------
    comparison : Comparison
        The results.
    command : str
        Command that made the comparison. The page shows it, so that readers can repeat it.
    config : str
        Text of a ``config.toml`` with which ``sgbn compare --config`` repeats the comparison. By
        default the page shows Python code that repeats it.
    pictures : mapping of str to bytes, optional
        SVG files of figures that are already drawn, by the names of `figures`. By default the
        figures are drawn now.
    subjects_in_report : bool
        Whether the page names subjects and lists them one by one, with diagnosis, prediction and
        deviation. By default the page has only counts, so that it can be passed on.

    Returns
    -------
    str
        HTML. The same comparison always gives the same text.
    """
    words, titles = captions(comparison), titles_of_networks(comparison)
    if pictures is None:
        planned = plans(comparison)
        planned = planned | first_plans(comparison, planned)
        # The page shows only some of the figures, so the others are not drawn.
        shown = [name for name in (*words, *titles) if name in planned]
        pictures = {name: planned[name].files(["svg"], PAGE_DPI)["svg"] for name in shown}
    template = _environment().get_template("report.html.j2")
    with speaking(people=subjects_in_report, places=False):
        return template.render(
            **_found(comparison, named=subjects_in_report),
            **_how_it_was_made(comparison, command, config),
            **_libraries(),
            first=first_screen(comparison, pictures),
            pictures={
                name: Shown(address(pictures[name]), *alt_and_caption)
                for name, alt_and_caption in words.items()
                if name in pictures
            },
            static_views=_static_views(titles, pictures),
            network_data=script_data(payload(comparison)),
        )


def write_report(
    comparison: Comparison,
    path: str | Path,
    command: str = "",
    *,
    config: str = "",
    subjects_in_report: bool = False,
) -> Path:
    """Write the report of a comparison to an HTML file.

    Parameters
    ----------
    comparison : Comparison
        The results.
    path : path
        File to write. An error never leaves an incomplete file there.
    command, config, subjects_in_report
        As for `render_report`.

    Returns
    -------
    Path
        The file.
    """
    target = Path(path)
    page = render_report(
        comparison, command, config=config, subjects_in_report=subjects_in_report
    ).encode()
    write_atomically(target, lambda stream: stream.write(page))
    return target


def script_data(content: Any) -> Markup:
    """Return JSON that is safe in a script element, whatever texts it contains."""
    # JSON has no NaN. One NaN would break all views of the page, so it raises an error here.
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(UNSAFE))


def python_code(comparison: Comparison) -> str:
    """Return Python code that makes the same comparison of the same cohort."""
    settings, known = comparison.settings, comparison.cohort.fingerprint
    # All settings are written, because a later version may change the defaults.
    given = "".join(
        f"    {field.name}={getattr(settings, field.name)!r},\n" for field in fields(settings)
    )
    learner = repr(next(iter(comparison.learners.values())))
    # How the data were read is not known here. The fingerprint shows whether they are the same.
    reader = "read_series" if comparison.of_series else "read_table"
    return (
        "import sgbn\n\n"
        f"cohort = ...  # your data, such as sgbn.{reader}(...); its fingerprint is {known}\n"
        f"settings = sgbn.Settings(\n{given})\n"
        f"comparison = sgbn.compare(cohort, settings, learner=sgbn.{learner})\n"
        'sgbn.write_comparison(comparison, "results")\n'
    )


def _found(comparison: Comparison, *, named: bool) -> dict[str, Any]:
    """Collect the results for the template, section by section."""
    return {
        "title": joined([*map(called, comparison.groups)]),
        "groups": comparison.groups,
        "reference": comparison.reference,
        "level": f"{comparison.settings.level:g}",
        "percent": f"{100 * comparison.settings.level:g} %",
        "simulated": bool(comparison.truth),
        "matrices": [f"{stem}_matrix" for stem in difference_stems(comparison.groups).values()],
        "strength_maps": names_of_maps(comparison, STRENGTH),
        "deviation_maps": names_of_maps(comparison, DEVIATIONS),
        "paired": comparison.cohort.pair is not None,
        "pending": pending_words(comparison),
        "skipped": {step: str(reason) for step, reason in comparison.skipped.items()}
        # A first report lacks some steps; the page says so in their sections.
        | dict.fromkeys(comparison.pending, "this is not computed yet."),
        "statements": _answers(comparison),
        "support": comparison.words.support,
        "cohort": cohort_section(comparison, named=named),
        "differences": differences_section(comparison),
        "replication": replication_section(comparison),
        "table_one": table_one_section(comparison),
        "checks": checks_section(comparison),
        "regional": regional_section(comparison),
        "series": series_section(comparison, named=named),
        "not_for_series": [(step.title, step.not_for_series) for step in STEPS],
        "models": models_section(comparison),
        "edges": edges_table(comparison),
        "accuracy": accuracy_section(comparison),
        "prepared": "" if comparison.accuracy is None else prepared_in_folds(comparison),
        "refinements": refinements_section(comparison),
        # A row about a single subject can reveal who it is, even without the name.
        "subjects": subjects_table(comparison) if named else None,
    }


def _answers(comparison: Comparison) -> list[Statement]:
    """Return the answers that neither the first screen nor the section on differences shows."""
    shown = {comparison.words.verdict[0], *comparison.words.edges}
    return [answer for answer in comparison.words.statements if not shown.issuperset(answer.lines)]


def _how_it_was_made(comparison: Comparison, command: str, config: str) -> dict[str, Any]:
    """Collect how the comparison was made, and how it can be repeated."""
    return {
        "methods": describe_methods(comparison),
        "paper": REFERENCES[PAPER_OF_SERIES if comparison.of_series else PAPER],
        "program": software(versions()["sgbn"]),
        "learned": networks_table(comparison),
        "seconds": time_table(comparison),
        "skipped_steps": skipped_steps(comparison),
        "warnings": [*map(str, comparison.warnings)],
        "versions": versions(),
        "command": command,
        "seed": comparison.settings.seed,
        "config": config,
        "code": python_code(comparison),
        "learner": repr(next(iter(comparison.learners.values()))),
        "digest": comparison.cohort.fingerprint,
    }


def _libraries() -> dict[str, Markup]:
    """Return the scripts and styles, which the page contains as they are."""
    # Markup prevents escaping, which would break them. `sgbn.write.page` checks that they are safe.
    texts = {
        "tables_style": tables_style(),
        "page_style": own_file("report.css") + own_file("networks.css"),
        "plotly": plotly_script(),
        "tables_script": tables_script(),
        "page_script": own_file("report.js"),
        "networks_script": own_file("networks.js"),
    }
    return {name: Markup(text) for name, text in texts.items()}


def _static_views(titles: Mapping[str, str], pictures: Mapping[str, bytes]) -> Markup:
    """Return HTML of the first pictures of edges, up to `MAX_STATIC_BYTES`."""
    shown, left_out, bytes_left = [], 0, MAX_STATIC_BYTES
    for name in filter(pictures.__contains__, titles):
        image = address(pictures[name])
        # Once this is below 0, all later pictures are left out, even small ones.
        bytes_left -= len(image)
        if bytes_left >= 0:
            shown.append(Shown(image, f"{titles[name]}, as arrows.", titles[name]))
        else:
            left_out += 1
    template = _environment().get_template("pictures.html.j2")
    return Markup(template.render(pictures=shown, left_out=left_out))


@cache
def _environment() -> Environment:
    # Names of groups, regions and files come from the user, so all texts are escaped.
    return own_templates(autoescape=True)


ABOUT = "about.json"
REPORT = "report.html"
CONFIG = "config.toml"
SUMMARY = "summary.txt"
MODEL = "model.sgbn"
TABLES, NETWORKS, FIGURES = "tables", "networks", "figures"
FILES = (REPORT, CONFIG, SUMMARY, MODEL)  # beside `ABOUT`, in the folder itself
PARTS = (TABLES, NETWORKS, FIGURES)
OURS = (*Tables._fields, "left_out", "findings")  # tables; others in the folder are the user's
# The files with one row per subject, which are not passed on
PRIVATE = tuple(f"{TABLES}/{name}.csv" for name in ("subjects", "left_out", "series"))


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
        report lists them one by one. By default only the tables that ``about.json`` lists as
        ``private`` name subjects: ``subjects.csv``, ``left_out.csv`` and ``series.csv``.
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
    with speaking(people=subjects_in_report, places=False):
        statements = comparison.words.statements
        contents[SUMMARY] = _summary(statements, pending_words(comparison)).encode()
        about = _about(comparison, command)
    with speaking(people=False, places=False):
        findings = findings_of(comparison) if comparison.review.findings else frame_of()
    beside = {"left_out": left_out_table(comparison), "findings": findings}
    _clear(folder)  # now, after all steps that can fail
    written = [
        *_write_files(contents, folder),
        *_write_tables(comparison.tables._asdict() | beside, folder),
        *_write_networks(comparison, folder),
        *_write_files(_by_file({name: pictures[name] for name in planned}), folder),
    ]
    if comparison.model is not None:
        written.append(save(comparison.model, folder / MODEL))
    names = [path.relative_to(folder).as_posix() for path in written]
    # The next comparison in this folder removes these files, and no others.
    private = [name for name in names if name in PRIVATE]
    write_json(folder / ABOUT, about | {"files": names, "private": private})
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
        (part, *_), stem = (*Path(name).parts, ""), Path(name).stem
        is_ours = name in FILES or part in (NETWORKS, FIGURES) or (part == TABLES and stem in OURS)
        return is_inside and not path.is_dir() and is_ours
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


def _write_tables(tables: Mapping[str, pd.DataFrame], folder: Path) -> Iterator[Path]:
    for name, table in tables.items():
        if len(table.columns):  # the step was done, even if it found nothing
            floats = table.select_dtypes("float")
            plain = table.assign(**dict(floats + 0.0))  # + 0.0: no minus zero
            yield write_csv(plain, folder / TABLES / f"{name}.csv")


def _write_networks(comparison: Comparison, folder: Path) -> Iterator[Path]:
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


def _about(comparison: Comparison, command: str) -> dict[str, object]:
    cohort = comparison.cohort
    return {
        "command": command,
        "data": without_folders(cohort.provenance),
        "sites": comparison.n_sites,
        "groups": cohort.sizes,
        "reference": comparison.reference,
        "regions": list(cohort.regions),
        "covariates": list(cohort.covariates),
        "findings": [*map(str, comparison.review.findings)],
        # The learners of all groups are clones, so they have the same parameters.
        "learner": repr(next(iter(comparison.learners.values()))),
        "settings": vars(comparison.settings),
        "skipped": {step: str(reason) for step, reason in comparison.skipped.items()},
        "pending": list(comparison.pending),
        "seconds": {step: round(took, 2) for step, took in comparison.seconds.items()},
        "versions": versions(),
    }


DIFFERENCES, FOREST = "first_differences", "first_forest"
BRAIN, CIRCLE = "brain", "circle"
# Width and height in inches: on a page of 1280 pixels, names can be read without a zoom
SIZES = {BRAIN: (6.8, 3.5), CIRCLE: (5.2, 5.2)}
MAX_FOREST_ROWS = 12  # more would touch each other
FOREST_SIZES = {BRAIN: (10.6, 2.8), CIRCLE: (5.6, 3.2)}


def first_plans(comparison: Comparison, planned: Mapping[str, Plan]) -> dict[str, Plan]:
    """Choose the figures of the first screen, and set their sizes."""
    shape, chosen = first_shape(comparison, planned), {}
    name = f"{first_stem(comparison)}_{shape}"
    if name in planned:
        plot = planned[name].plot
        # The caption below the picture says the same as the title.
        untitled = partial(plot, **({"title": ""} if "title" in plot.keywords else {}))
        chosen[DIFFERENCES] = planned[name]._replace(plot=untitled, inches=SIZES[shape])
    # The planned forest plot has all groups. The first screen is about one group.
    forest = forest_plan(comparison, [first_group(comparison)], MAX_FOREST_ROWS)
    if forest is not None:
        chosen[FOREST] = forest._replace(inches=FOREST_SIZES[shape])
    return chosen


def first_screen(comparison: Comparison, pictures: Container[str]) -> dict[str, Any]:
    """Collect what the first screen shows; `pictures` has the names of the drawn figures."""
    cohort = comparison.cohort
    shape = first_shape(comparison, pictures)
    large_of = {DIFFERENCES: f"{first_stem(comparison)}_{shape}", FOREST: "forest"}
    # If there is no picture in the size of the first screen, the large one replaces it.
    shown = {
        name: next((drawn for drawn in (name, large) if drawn in pictures), "")
        for name, large in large_of.items()
    }
    return {
        "verdict": [line for line in comparison.words.verdict if line],
        "trust": comparison.words.trust,
        # `cohort.sizes` counts rows, and a person can have several.
        "sizes": [(called(group), cohort.subjects[group]) for group in comparison.groups],
        "regions": len(cohort.regions),
        "volumes": _range(comparison.tables.series["volumes"]) if comparison.of_series else "",
        "permutations": 0 if comparison.tests is None else comparison.tests.n_permutations,
        "shape": shape,
        "differences": shown[DIFFERENCES],
        "forest": shown[FOREST],
    }


def _range(numbers: pd.Series) -> str:
    """Write the range of numbers, such as "120 to 240"; one number if all are the same."""
    low, high = numbers.min(), numbers.max()
    return f"{low}" if low == high else f"{low} to {high}"


def first_shape(comparison: Comparison, names: Container[str]) -> str:
    """Return `BRAIN` if there is a figure of the brain among the names, else `CIRCLE`."""
    return BRAIN if f"{first_stem(comparison)}_{BRAIN}" in names else CIRCLE


def first_stem(comparison: Comparison) -> str:
    """Return how the names of the figures for the group on the first screen begin."""
    return difference_stems(comparison.groups)[first_group(comparison)]


def first_group(comparison: Comparison) -> str:
    """Return the group that differs most from the reference."""
    table, compared = comparison.differences, comparison.groups[1:]
    if table.empty or len(compared) == 1:
        return compared[0]
    # A sum of squares, so that many small changes can count as much as one large change.
    sure = table[table["q_both"] <= comparison.settings.level]
    changes = changes_per_sd(comparison, sure if len(sure) else table)
    return max(changes, key=lambda group: float((changes[group] ** 2).sum()))


Words = tuple[str, str]  # text alternative, caption

# Figure -> sentences with blanks for the facts of a comparison
SENTENCES = own_table("captions.toml")
# Figures whose sentences have no blanks
CONSTANT = ("permutations", "accuracy", "roc", "sparsity", "refinements", "forest")


def captions(comparison: Comparison) -> dict[str, Words]:
    """Return the text alternative and caption of each figure that the page can show, by name."""
    words = {name: _words(name) for name in CONSTANT}
    for group, stem in difference_stems(comparison.groups).items():
        change = f"from {comparison.reference} to {group}"
        words[f"{stem}_matrix"] = _words("matrix", change=change, most=MAX_PAIRS)
    maps = {name: (shown.alt, shown.caption) for name, shown in surface_maps(comparison).items()}
    return _first_captions(comparison) | words | maps


def titles_of_networks(comparison: Comparison) -> dict[str, str]:
    """Return the titles of the pictures that replace the 3-D view if it cannot be drawn."""
    safe = file_names(comparison.groups)
    stems = difference_stems(comparison.groups).items()
    titles = {stem: f"Change from {comparison.reference} to {group}" for group, stem in stems}
    titles |= {f"network_{safe[group]}": f"Network of {group}" for group in comparison.groups}
    # One picture per network is enough: the brain if the regions have coordinates.
    kind = BRAIN if layout_of(comparison).located else CIRCLE
    return {f"{stem}_{kind}": title for stem, title in titles.items()}


def _first_captions(comparison: Comparison) -> dict[str, Words]:
    """Return the words for the pictures of the first screen, by each name that they can have."""
    stem, group, table = first_stem(comparison), first_group(comparison), comparison.differences
    # `differences_of` needs tested edges.
    if len(table):
        table = differences_of(comparison, group)
    change, level = f"from {comparison.reference} to {group}", comparison.settings.level
    which, doubt = "pairs that differ both ways", ""
    if not len(table) or not (table["q_both"] <= level).any():
        which = "no pair differs both ways; these are the pairs with the smallest p"
        # Readers see intervals that do not include 0, and take them for findings.
        doubt = " No pair is found to differ both ways. "
        if len(comparison.groups) == 2 and len(table) and (table["q"] <= level).any():
            doubt += "Some pairs differ one way, which a change of variance can cause."
        else:
            doubt += (
                f"The intervals of the most extreme of {len(table)} edges can exclude 0 by chance "
                "alone."
            )
    where = _words(DIFFERENCES, which=which, change=change)
    interval = f"{100 * (1 - level):.3g} %"
    how_much = _words(FOREST, change=change, interval=interval, doubt=doubt)
    return {
        **dict.fromkeys((DIFFERENCES, f"{stem}_{BRAIN}", f"{stem}_{CIRCLE}"), where),
        FOREST: how_much,
    }


def _words(figure: str, **facts: object) -> Words:
    entry = SENTENCES[figure]
    return entry["alt"].format(**facts), entry["caption"].format(**facts)


def left_out_table(comparison: Comparison) -> pd.DataFrame:
    """Return one row per subject that a step left out.

    If no subject was left out, the table has no columns.
    """
    tests = comparison.tests
    steps_of: dict[tuple[str, str], list[str]] = {}  # subject and group -> steps without it
    for finding in comparison.review.findings:
        for subject in finding.left_out:
            # The review removed them from the cohort, so their group is not known here.
            steps_of.setdefault((subject, ""), []).append("everything")
    lists = {"networks": comparison.left_out, "tests": {} if tests is None else tests.left_out}
    for step, groups in lists.items():
        for group, ids in groups.items():
            for subject in ids:
                steps_of.setdefault((str(subject), group), []).append(step)
    rows = [(*who, " and ".join(steps)) for who, steps in steps_of.items()]
    # `_write_tables` writes no file for a table without columns.
    return frame_of(rows, ["subject", "group", "left_out_of"] if rows else None)


def time_table(comparison: Comparison) -> Table:
    """Make a table of the seconds that each step took."""
    # A step without a title is shown by its name.
    rows = [(TITLES.get(step, step), took) for step, took in comparison.seconds.items()]
    frame = frame_of(rows, ["step", "seconds"])
    fields = [Field("step", "step"), Field("seconds", "seconds", "number")]
    return make_table("seconds", "Time that the steps took", frame, fields, searched=False)


def skipped_steps(comparison: Comparison) -> list[tuple[str, Problem]]:
    """Return the steps that could not be done, with the reasons."""
    return [
        (", ".join(filter(None, (TITLES.get(step, step), of_groups(comparison, step)))), reason)
        for step, reason in comparison.skipped.items()
    ]
