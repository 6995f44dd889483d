"""Documentation that can be checked is checked."""

import doctest
import importlib
import inspect
import os
import pkgutil
import re
import runpy
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import matplotlib.pyplot as plt
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


def test_the_readme_has_the_two_commands():
    text = (ROOT / "README.md").read_text()
    assert 'pip install ".[brain]" && .venv/bin/sgbn demo' in text
    second = (
        'python3 -m venv .venv && .venv/bin/pip install ".[test]" && .venv/bin/python -m pytest'
    )
    assert second in text
    assert second in (ROOT / ".ci" / "run").read_text()


BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:\n*```text\n(.*?)^```)?", re.S | re.M)
AS_SHOWN = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_blocks(page, folder):
    """Run all Python and shell of a page in their order, in one namespace and one folder.

    A block of text that follows directly is what is printed; "..." stands for anything.
    """
    space = {"__name__": "__main__"}
    printed = []
    for language, code, shown in BLOCK.findall(page.read_text()):
        if language == "python":
            with redirect_stdout(StringIO()) as out:
                exec(compile(code, page.name, "exec"), space)
            printed.append(out.getvalue())
        elif "venv" not in code:  # installing is what .ci/run begins with
            printed.append(run_shell(code, folder))
        if shown:
            assert doctest.OutputChecker().check_output(shown, printed[-1], AS_SHOWN), (
                f"{code}\nprints\n{printed[-1]}"
            )
    return "".join(printed)


def run_shell(code, folder):
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-ec", code],
        cwd=folder,
        env={**os.environ, "PATH": programs},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, f"{code}\n{done.stderr}"
    return done.stdout


def test_the_code_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    printed = run_blocks(ROOT / "README.md", tmp_path)
    assert "GaussianNetwork(40 variables" in printed
    assert "Do the networks differ?" in printed


PAGES = sorted(path.name for path in (ROOT / "docs").glob("*.md"))


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES)
def test_the_code_of_every_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with plt.rc_context():
        run_blocks(ROOT / "docs" / page, tmp_path)
    plt.close("all")


def test_the_picture_of_the_layers_shows_the_imports():
    there = runpy.run_path(str(ROOT / "docs" / "layers.py"))
    assert (ROOT / "docs" / "layers.svg").read_text() == there["svg"]()


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *PAGES])
def test_links_between_pages_lead_somewhere(page):
    path = ROOT / page if page[0].isupper() else ROOT / "docs" / page
    for link in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        if "://" not in link:
            assert (path.parent / link).exists(), link


def test_every_module_has_a_test_file_of_its_name():
    tests = {path.name for path in (ROOT / "tests").rglob("test_*.py")}
    for name in MODULES:
        last = name.split(".")[-1]
        is_package = hasattr(importlib.import_module(name), "__path__")
        assert is_package or f"test_{last}.py" in tests, name
