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
    mistake = MISTAKES[name]
    code, printed = MADE["outcome"](mistake)
    # It is made once: the row is written of this outcome.
    monkeypatch.setitem(MADE["row"].__globals__, "outcome", lambda _: (code, printed))
    assert code == mistake.code, printed
    for words in mistake.words:
        assert words in printed
    assert "Traceback" not in printed
    assert MADE["row"](name, mistake) in PAGE  # else: python docs/mistakes.py


def test_the_page_has_all_of_them_and_no_others():
    assert len(MISTAKES) >= 30
    assert PAGE.startswith(MADE["HEAD"])
    assert PAGE.count("\n") == MADE["HEAD"].count("\n") + len(MISTAKES)


def test_a_table_without_a_mistake_passes():
    good = MADE["Mistake"](lambda _: MADE["GOOD"], (*MADE["DX"], *MADE["AGE"]), 0, ())
    code, printed = MADE["outcome"](good)
    assert code == 0
    assert "warning" not in printed
    assert "No problem was found" in printed.splitlines()[-1]
