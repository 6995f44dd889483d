"""Cases that a search found, or that stand for what files can do: each is read or refused by name.

`fuzz.py` searches for more.
"""

import runpy
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FUZZ = runpy.run_path(str(HERE / "readers.py"))
CASES = sorted((HERE / "corpus").glob("*/*"))
LONGEST_FIELD = 131_072  # that Python's csv takes
TEXTS = [
    *("table", "participants", "freesurfer", "bif", "other_tool", "atlas", "label_names", "config"),
]

pytest.importorskip("nibabel")
pytest.importorskip("pyarrow")
pytest.importorskip("openpyxl")


def name_of(path):
    return f"{path.parent.name}/{path.name}"


@pytest.mark.parametrize("path", CASES, ids=name_of)
def test_a_kept_case_is_read_or_refused_by_name(path, tmp_path):
    assert FUZZ["read"](path.parent.name, path.read_bytes(), tmp_path) in (True, False)


@pytest.mark.parametrize("name", FUZZ["READERS"])
def test_the_search_starts_from_whole_files(name, tmp_path):
    assert any(FUZZ["read"](name, content, tmp_path) for content in FUZZ["SEEDS"][name]())


@pytest.mark.parametrize("name", FUZZ["READERS"])
def test_hardly_any_bytes_are_refused_by_name(name, tmp_path):
    for content in (b"", b"0", b"0\n", b"\xff\xfe", b"0\x1f\x8b"):
        assert FUZZ["read"](name, content, tmp_path) in (True, False), content


@pytest.mark.parametrize("name", TEXTS)
def test_a_quote_that_is_never_closed_is_refused_by_name(name, tmp_path):
    content = FUZZ["SEEDS"][name]()[0] + b'"' + b"x" * (LONGEST_FIELD + 1)
    assert not FUZZ["read"](name, content, tmp_path)


def test_the_kept_cases_are_small_and_each_has_a_reader():
    assert sum(path.stat().st_size for path in CASES) < 100_000
    assert {path.parent.name for path in CASES} <= set(FUZZ["READERS"])
