"""The report: one HTML file that contains everything it needs, and loads nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment
from markupsafe import Markup

from sgbn.comparison import Comparison
from sgbn.comparison.pending_words import pending_words
from sgbn.comparison.summary import Statement
from sgbn.comparison.support import called, joined
from sgbn.report.accuracy_section import accuracy_section
from sgbn.report.captions import captions, titles_of_networks
from sgbn.report.checks_section import checks_section
from sgbn.report.cohort_section import cohort_section
from sgbn.report.differences_section import differences_section
from sgbn.report.figures import difference_stems, plans
from sgbn.report.first_screen import first_plans, first_screen
from sgbn.report.methods import describe_methods, prepared_in_folds
from sgbn.report.models_section import models_section
from sgbn.report.privacy import Veil
from sgbn.report.references import REFERENCES, software
from sgbn.report.regional_section import regional_section
from sgbn.report.replication_section import replication_section
from sgbn.report.sections import (
    edges_table,
    networks_table,
    refinements_section,
    skipped_steps,
    subjects_table,
    time_table,
)
from sgbn.report.series_section import series_section
from sgbn.report.surface_maps import DEVIATIONS, STRENGTH, names_of_maps
from sgbn.report.table_one_section import table_one_section
from sgbn.report.views import payload
from sgbn.runs.files import versions, write_atomically
from sgbn.write.figures import PAGE_DPI, address
from sgbn.write.page import own_file, own_templates, plotly_script, tables_script, tables_style

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
    veil = Veil(comparison, lifted=subjects_in_report)
    template = _environment().get_template("report.html.j2")
    return template.render(
        **_found(comparison, veil),
        **_about(comparison, command, config, veil),
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


def _found(comparison: Comparison, veil: Veil) -> dict[str, Any]:
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
        "skipped": {step: veil.text(reason) for step, reason in comparison.skipped.items()}
        # A first report lacks some steps; the page says so in their sections.
        | dict.fromkeys(comparison.pending, "this is not computed yet."),
        "statements": veil.statements(_answers(comparison)),
        "support": comparison.words.support,
        "cohort": cohort_section(comparison, veil),
        "differences": differences_section(comparison),
        "replication": replication_section(comparison),
        "table_one": table_one_section(comparison),
        "checks": checks_section(comparison),
        "regional": regional_section(comparison),
        "series": series_section(comparison, named=veil.lifted),
        "models": models_section(comparison),
        "edges": edges_table(comparison),
        "accuracy": accuracy_section(comparison),
        "prepared": "" if comparison.accuracy is None else prepared_in_folds(comparison),
        "refinements": refinements_section(comparison),
        # A row about a single subject can reveal who it is, even without the name.
        "subjects": subjects_table(comparison) if veil.lifted else None,
    }


def _answers(comparison: Comparison) -> list[Statement]:
    """Return the answers that neither the first screen nor the section on differences shows."""
    shown = {comparison.words.verdict[0], *comparison.words.edges}
    return [answer for answer in comparison.words.statements if not shown.issuperset(answer.lines)]


def _about(comparison: Comparison, command: str, config: str, veil: Veil) -> dict[str, Any]:
    """Collect how the comparison was made, and how it can be repeated."""
    return {
        "methods": describe_methods(comparison),
        "paper": REFERENCES[PAPER_OF_SERIES if comparison.of_series else PAPER],
        "program": software(versions()["sgbn"]),
        "learned": networks_table(comparison),
        "seconds": time_table(comparison),
        "skipped_steps": [(step, veil.text(reason)) for step, reason in skipped_steps(comparison)],
        "warnings": [*map(veil.text, comparison.warnings)],
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
    # Markup prevents escaping, which would break them. `assets` checks that they are safe.
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
