"""What users do wrong: docs/mistakes.py makes each mistake, and docs/mistakes.md shows the
answers.
"""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
MADE = runpy.run_path(str(DOCS / "mistakes.py"))
MISTAKES = MADE["MISTAKES"]
PAGE = (DOCS / "mistakes.md").read_text()


@pytest.mark.parametrize("name", MISTAKES)
def test_no_mistake_is_silent(name, monkeypatch):
    found = MADE["outcome"](MISTAKES[name])
    # It is made once: the row is written of this outcome.
    monkeypatch.setitem(MADE["row"].__globals__, "outcome", lambda _: found)
    assert found[0] == MISTAKES[name].code
    assert MADE["row"](name, MISTAKES[name]) in PAGE  # else: python docs/mistakes.py


def test_the_page_has_all_of_them_and_no_others():
    assert len(MISTAKES) >= 30
    assert PAGE.startswith(MADE["HEAD"])
    assert PAGE.count("\n") == MADE["HEAD"].count("\n") + len(MISTAKES)
