"""The report: one HTML file with all that it needs, which opens anywhere and loads nothing."""

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
from sgbn.report import assets, sections
from sgbn.report.accuracy_section import accuracy_section
from sgbn.report.captions import captions, titles_of_networks
from sgbn.report.checks_section import checks_section
from sgbn.report.cohort_section import cohort_section
from sgbn.report.differences_section import differences_section
from sgbn.report.figures import difference_stems, plans
from sgbn.report.first_screen import first_plans, first_screen
from sgbn.report.methods import describe_methods
from sgbn.report.models_section import models_section
from sgbn.report.pictures import PAGE_DPI, address
from sgbn.report.privacy import Veil
from sgbn.report.references import REFERENCES, software
from sgbn.report.regional_section import regional_section
from sgbn.report.replication_section import replication_section
from sgbn.report.series_section import series_section
from sgbn.report.surface_maps import DEVIATIONS, STRENGTH, names_of_maps
from sgbn.report.table_one_section import table_one_section
from sgbn.report.views import payload
from sgbn.runs import versions, write_atomically

PAPER = "zhou2016"
PAPER_OF_SERIES = "ramsey2010"
# Bytes of the pictures of networks in a page, which stays small; files have them all.
MAX_STATIC_BYTES = 1_400_000
# Letters with which a text would leave its script element, or end a line of JavaScript
UNSAFE = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}


class Shown(NamedTuple):
    """A figure of the page."""

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
    """Make the report of a comparison.

    Parameters
    ----------
    comparison : Comparison
    command : str
        What was typed to make it, for those who want to repeat it.
    config : str
        Text of a ``config.toml`` with which ``sgbn compare --config`` repeats it. Without it the
        page shows Python code that does.
    pictures : mapping of str to bytes, optional
        SVG files of its figures, by the names of `figures`, where they were drawn for more than
        the report.
    subjects_in_report : bool
        Whether the page names subjects and lists them one by one, with diagnosis, prediction and
        deviation. Without it the page has counts only, and can be passed on.

    Returns
    -------
    str
        HTML. The same comparison gives the same text.
    """
    words, titles = captions(comparison), titles_of_networks(comparison)
    if pictures is None:
        planned = plans(comparison)
        planned = planned | first_plans(comparison, planned)
        # The page shows only some of the figures of a results folder: the others are not drawn.
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
    """Write the report of a comparison to a file, which is whole or absent; see `render_report`."""
    target = Path(path)
    page = render_report(
        comparison, command, config=config, subjects_in_report=subjects_in_report
    ).encode()
    write_atomically(target, lambda stream: stream.write(page))
    return target


def script_data(content: Any) -> Markup:
    """JSON that can stand in a script element, whatever its texts are."""
    # JSON has no NaN: one would cost the page all its views, so that it is refused here.
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.translate(UNSAFE))


def python_code(comparison: Comparison) -> str:
    """Write code that makes the same comparison of the same cohort."""
    settings, known = comparison.settings, comparison.cohort.fingerprint
    # All settings, also those at their defaults, which a later version may change.
    given = "".join(
        f"    {field.name}={getattr(settings, field.name)!r},\n" for field in fields(settings)
    )
    learner = repr(next(iter(comparison.learners.values())))
    # How the data were read is not known here; the fingerprint tells whether they are the same.
    reader = "read_series" if comparison.of_series else "read_table"
    return (
        "import sgbn\n\n"
        f"cohort = ...  # such as sgbn.{reader}(...); fingerprint {known}\n"
        f"settings = sgbn.Settings(\n{given})\n"
        f"comparison = sgbn.compare(cohort, settings, learner=sgbn.{learner})\n"
        'sgbn.write_comparison(comparison, "results")\n'
    )


def _found(comparison: Comparison, veil: Veil) -> dict[str, Any]:
    """Collect the results, section by section."""
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
        # A first report has steps that are still to come: the page says so in their place.
        | dict.fromkeys(comparison.pending, "this is not yet computed."),
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
        "edges": sections.edges_table(comparison),
        "accuracy": accuracy_section(comparison),
        "refinements": sections.refinements_section(comparison),
        # Rows about single subjects may tell who they are, even without their names.
        "subjects": sections.subjects_table(comparison) if veil.lifted else None,
    }


def _answers(comparison: Comparison) -> list[Statement]:
    """Give the answers that stand neither on the first screen nor in the section of differences."""
    shown = {comparison.words.verdict[0], *comparison.words.edges}
    return [answer for answer in comparison.words.statements if not shown.issuperset(answer.lines)]


def _about(comparison: Comparison, command: str, config: str, veil: Veil) -> dict[str, Any]:
    """How it was done, and how it can be done again."""
    return {
        "methods": describe_methods(comparison),
        "paper": REFERENCES[PAPER_OF_SERIES if comparison.of_series else PAPER],
        "program": software(versions()["sgbn"]),
        "learned": sections.networks_table(comparison),
        "seconds": sections.time_table(comparison),
        "skipped_steps": [
            (step, veil.text(reason)) for step, reason in sections.skipped_steps(comparison)
        ],
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
    """Scripts and styles, which go into the page as they are."""
    # Markup: escaping would change their signs. `assets` sees that they stay in their element.
    texts = {
        "tables_style": assets.tables_style(),
        "page_style": assets.own_file("report.css") + assets.own_file("networks.css"),
        "plotly": assets.plotly_script(),
        "tables_script": assets.tables_script(),
        "page_script": assets.own_file("report.js"),
        "networks_script": assets.own_file("networks.js"),
    }
    return {name: Markup(text) for name, text in texts.items()}


def _static_views(titles: Mapping[str, str], pictures: Mapping[str, bytes]) -> Markup:
    """Show the first pictures of edges, as many as the page has room for."""
    shown, left_out, bytes_left = [], 0, MAX_STATIC_BYTES
    for name in filter(pictures.__contains__, titles):
        image = address(pictures[name])
        # Once it is below 0, all that follow are left out: the page shows the first ones only.
        bytes_left -= len(image)
        if bytes_left >= 0:
            shown.append(Shown(image, f"{titles[name]}, as arrows.", titles[name]))
        else:
            left_out += 1
    template = _environment().get_template("pictures.html.j2")
    return Markup(template.render(pictures=shown, left_out=left_out))


@cache
def _environment() -> Environment:
    # Names of groups, regions and files are the user's: all are escaped.
    return assets.own_templates(autoescape=True)
