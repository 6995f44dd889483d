from dataclasses import replace

import numpy as np
import pytest

from sgbn.comparison.report import render_report
from sgbn.comparison.steps.replication import replication_section
from sgbn.inference.replication import COLUMNS, Replication


def replicated(compared, rows):
    table = np.array(rows, dtype=COLUMNS)
    sizes = {part: {"control": 15, "patient": 15} for part in ("discovery", "confirmation")}
    found = Replication(compared.groups, sizes, table, 0.05, 20, 39, compared.tests)
    settings = replace(compared.settings, replicate="half")
    return replace(compared, settings=settings, replication=found)


@pytest.fixture
def two_edges(compared):
    a, b, c = compared.cohort.regions[:3]
    return replicated(
        compared,
        [
            (a, b, 0.5, 0.4, 0.01, True, 0.0125, 0.025, True, True),
            (b, c, 0.5, -0.1, 0.04, False, 0.7, 0.7, False, False),
        ],
    )


def test_the_table_marks_what_is_confirmed(two_edges):
    shown = replication_section(two_edges)
    assert shown["words"] == two_edges.replication.words
    assert [row.mark for row in shown["table"].rows] == ["found", ""]
    assert [row.cells[0].text for row in shown["table"].rows] == ["yes", "no"]


def test_the_page_has_the_section_only_if_it_was_asked_for(compared, two_edges, html, no_pictures):
    assert replication_section(compared) is None
    asked_for = render_report(two_edges, pictures=no_pictures)
    for name in ("replication", "replication-table"):
        assert f'id="{name}"' not in html
        assert f'id="{name}"' in asked_for


def test_without_a_discovery_there_are_words_alone(compared):
    shown = replication_section(replicated(compared, []))
    assert shown["table"] is None
    assert "nothing to confirm" in shown["words"]
