"""Documentation that can be checked is checked."""

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import sgbn

ROOT = Path(__file__).parents[1]
MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(sgbn.__path__, "sgbn.")
    if not name.endswith("__main__")
]


def citing_functions():
    """Qualified names of all functions and classes whose docstring cites the paper."""
    found = set()
    for name in MODULES:
        module = importlib.import_module(name)
        for thing in vars(module).values():
            if getattr(thing, "__module__", None) != name:
                continue
            things = [thing]
            if inspect.isclass(thing):
                things += [f for f in vars(thing).values() if inspect.isfunction(f)]
            for one in things:
                if "Paper:" in (getattr(one, "__doc__", None) or ""):
                    found.add(f"{name}.{one.__qualname__}")
    return found


def test_equations_md_lists_exactly_the_functions_that_cite_the_paper():
    text = (ROOT / "docs" / "equations.md").read_text()
    listed = set(re.findall(r"`(sgbn\.[\w.]+)`", text))
    assert listed == citing_functions()


def test_equation_numbers_in_the_table_stand_in_the_docstrings():
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", (ROOT / "docs" / "equations.md").read_text(), re.M)
    for where, functions in rows:
        numbers = re.findall(r"Eq\. [\d.]+\w?|Proposition \d|Algorithm \d", where)
        for name in re.findall(r"`(sgbn\.[\w.]+)`", functions):
            document = resolve(name).__doc__
            cited = document[document.index("Paper:") :]
            if numbers:
                assert any(number in cited for number in numbers), (name, numbers)


def resolve(name):
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            thing = getattr(thing, part)
        return thing
    raise AssertionError(name)


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples_run(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0


def test_the_readme_has_the_two_commands_and_its_python_runs(capsys):
    text = (ROOT / "README.md").read_text()
    assert 'pip install ".[brain]" && .venv/bin/sgbn demo' in text
    second = (
        'python3 -m venv .venv && .venv/bin/pip install ".[test]" && .venv/bin/python -m pytest'
    )
    assert second in text
    assert second in (ROOT / ".ci" / "run").read_text()
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(block, "README.md", "exec"), {})
    assert "GaussianNetwork(40 variables" in capsys.readouterr().out


def test_the_python_of_the_guide_to_comparisons_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for block in re.findall(r"```python\n(.*?)```", (ROOT / "docs/compare.md").read_text(), re.S):
        exec(compile(block, "docs/compare.md", "exec"), {})
    assert (tmp_path / "results" / "report.html").exists()
    assert "Differences(" in capsys.readouterr().out


@pytest.mark.parametrize(
    "page", ["README.md", *sorted(p.name for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_between_pages_lead_somewhere(page):
    path = ROOT / page if page == "README.md" else ROOT / "docs" / page
    for link in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        if "://" not in link:
            assert (path.parent / link).exists(), link


def test_every_module_has_a_test_file_of_its_name():
    tests = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    for name in MODULES:
        last = name.split(".")[-1]
        is_package = hasattr(importlib.import_module(name), "__path__")
        assert is_package or f"test_{last}.py" in tests, name
