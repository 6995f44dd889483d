"""Documentation that can be checked is checked."""

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import re
import runpy
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import Lasso

import sgbn
from sgbn.cli.main import main

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


# What the paper numbers. (1) to (5) of its appendix are 4.1, 4.2 and steps of a proof.
NUMBERED = {
    *("Eq. 2.1", "Eq. 3.1", "Eq. 3.2", "Eq. 3.3", "Eq. 3.4", "Eq. 3.5", "Eq. 3.6", "Eq. 3.7"),
    *("Eq. 3.8", "Eq. 3.9", "Eq. 3.10", "Eq. 3.11", "Eq. 3.11a", "Eq. 3.11b", "Eq. 3.11c"),
    *("Eq. 3.11d", "Eq. 4.1a", "Eq. 4.1b", "Eq. 4.1c", "Eq. 4.1d", "Eq. 4.2"),
    *("Proposition 1", "Proposition 2", "Algorithm 1", "Algorithm 2", "Algorithm 3"),
}
NUMBER = re.compile(r"(?:Eq\.|Proposition|Algorithm|Section) \d+(?:\.\d+)*[a-d]?\b")


def rows_of_the_equations():
    """Numbers of the paper and names of functions, row by row."""
    text = (ROOT / "docs" / "equations.md").read_text()
    for where, functions in re.findall(r"^\| (.+?) \| (`.+?) \|$", text, re.M):
        yield set(NUMBER.findall(where)), re.findall(r"`(sgbn\.[\w.]+)`", functions)


def cited_by(name):
    """Numbers in the sentence of a docstring that begins with "Paper:"."""
    sentence = resolve(name).__doc__.partition("Paper:")[2].partition("\n\n")[0]
    return set(NUMBER.findall(" ".join(sentence.split())))


def test_every_numbered_equation_of_the_paper_stands_in_the_table():
    listed = {number for numbers, _ in rows_of_the_equations() for number in numbers}
    assert {number for number in listed if not number.startswith("Section")} == NUMBERED


def test_numbers_in_the_table_are_those_of_the_docstrings():
    in_table, cited = {}, {}
    for numbers, names in rows_of_the_equations():
        by_name = {name: cited_by(name) for name in names}
        assert numbers, names
        assert numbers <= set().union(*by_name.values()), (numbers, by_name)
        for name, own in by_name.items():
            assert own & numbers, (name, numbers)
            in_table.setdefault(name, set()).update(numbers)
            cited[name] = {number for number in own if not number.startswith("Section")}
    for name, own in cited.items():
        assert own <= in_table[name], name


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


# Code that no test runs, by page and the first words of the block, and why.
INSTALLS = "makes an environment and installs, which .ci/run begins with"
NOT_RUN = {
    "README.md": {
        'python3 -m venv .venv && .venv/bin/pip install ".[brain]"': f"{INSTALLS}; then the demo",
        'python3 -m venv .venv && .venv/bin/pip install ".[test]"': f"{INSTALLS}; then all tests",
        'pip install ".[peers]"': "the race takes hours and rewrites benchmarks/results",
    },
    "CONTRIBUTING.md": {"python3 -m venv .venv": f"{INSTALLS}; then tests, which would run tests"},
    "start.md": {"python3 -m venv .venv": f"{INSTALLS}; the demo is tested in tests/cli"},
    "scale.md": {
        "dask scheduler": "needs three machines",
        "sgbn compare table.csv --group diagnosis --out results": "tests/runs/test_slurm.py does",
        "#!/bin/bash": "tests/runs/test_slurm.py runs it where there is a SLURM",
        "seconds = ": "a formula",
        "bytes per worker = ": "a formula",
    },
    "benchmarks.md": {'pip install ".[peers]"': "the race takes hours"},
    "dependencies.md": {"python -m venv auditvenv": "asks a database on the network"},
    "references.md": {"PYTHONPATH=tests/references": "runs tests"},
}
INDENTED = re.compile(r"(?<=\n\n)    (\S.*)")
FENCE = re.compile(r"^ *```(\S*)[^\n]*\n(.*?)^ *```", re.S | re.M)
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```\n(?:\n*```text\n(.*?)^```)?", re.S | re.M)
AS_SHOWN = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_blocks(page, folder, run_commands=None):
    """Run all Python and shell of a page in their order, in one namespace and one folder.

    `run_commands` takes the place of the shell.
    A block of text that follows directly is what is printed; "..." stands for anything.
    """
    space = {"__name__": "__main__"}
    printed = []
    for language, code, shown in BLOCK.findall(page.read_text()):
        if language == "python":
            with redirect_stdout(StringIO()) as out:
                exec(compile(code, page.name, "exec"), space)
            printed.append(out.getvalue())
        elif not is_exempt(page.name, code):
            printed.append((run_commands or run_shell)(code, folder))
        if shown:
            assert doctest.OutputChecker().check_output(shown, printed[-1], AS_SHOWN), (
                f"{code}\nprints\n{printed[-1]}"
            )
    return "".join(printed)


def is_exempt(page, code):
    return any(code.startswith(begins) for begins in NOT_RUN.get(page, {}))


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


def run_in_this_process(code, folder):
    """Run commands of sgbn, one per line, without the seconds that new processes take."""
    with redirect_stdout(StringIO()) as out:
        for line in code.splitlines():
            program, command, *options = shlex.split(line)
            assert program == "sgbn"
            workers = ["--workers", "1"] if command == "compare" else []
            assert main([command, *options, *workers]) == 0
    return out.getvalue()


def test_the_code_of_the_readme_runs(tmp_path, monkeypatch, as_quick_as_possible):
    monkeypatch.chdir(tmp_path)
    run_commands = run_in_this_process if as_quick_as_possible else run_shell
    printed = run_blocks(ROOT / "README.md", tmp_path, run_commands)
    assert "GaussianNetwork(20 variables" in printed
    assert "Do the networks differ?" in printed


@pytest.mark.usefixtures("few_steps")
def test_five_lines_lead_from_a_data_frame_to_a_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "notebook.md"
    lines = ast.parse(BLOCK.findall(page.read_text())[1][1]).body
    assert len([line for line in lines if not isinstance(line, ast.Import)]) == 5
    printed = run_blocks(page, tmp_path, run_in_this_process)
    plt.close("all")
    assert "kind_patient" in printed
    assert "GaussianNetwork(12 variables" in printed
    assert "<html" in (tmp_path / "results" / "report.html").read_text()


PAGES = sorted(path.name for path in (ROOT / "docs").glob("*.md"))


def path_of(page):
    return ROOT / page if page[0].isupper() else ROOT / "docs" / page


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *PAGES])
def test_code_that_no_test_runs_is_listed_with_its_reason(page):
    text = path_of(page).read_text()
    blocks = [(kind, code) for kind, code in FENCE.findall(text) if not kind.startswith("{")]
    blocks += [("", code) for code in INDENTED.findall(FENCE.sub("", text))]
    run = () if page == "CONTRIBUTING.md" else ("python", "sh")
    for kind, code in blocks:
        assert kind in (*run, "text") or is_exempt(page, code), code
    compared = [shown for _, _, shown in BLOCK.findall(text) if shown]
    assert len(compared) == sum(kind == "text" for kind, _ in blocks)  # each is what a block prints
    for begins in NOT_RUN.get(page, {}):
        assert any(code.startswith(begins) for _, code in blocks), begins


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
    path = path_of(page)
    for link in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", path.read_text())):
        file, _, anchor = link.partition("#")
        if "://" not in link:
            target = path.parent / file if file else path
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def anchors(path):
    """Anchors that GitHub and MyST give to the headings of a page."""
    titles = re.findall(r"^#{1,3} (.+)$", FENCE.sub("", path.read_text()), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_anchors_are_those_of_github(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# What `SGBN` (ours) minimises\n\n```sh\n# no heading\n```\n\n## H-SGBN: one\n"
    )
    assert anchors(page) == {"what-sgbn-ours-minimises", "h-sgbn-one"}


@pytest.fixture(scope="module")
def pair():
    """Two columns in odd units, the second made of the first."""
    rng = np.random.default_rng(0)
    cause = 3.0 * rng.standard_normal(400) + 5.0
    return np.column_stack([cause, 2.0 * cause + rng.standard_normal(400) - 1.0])


def weights_have_the_direction_of_the_edge(X):
    learner = sgbn.SGBN(tiers=[[0], [1]]).fit(X)
    assert learner.coef_[0, 1] == pytest.approx(2.0, abs=0.1)
    assert learner.coef_[1, 0] == 0.0
    assert learner.intercept_[1] == pytest.approx(-1.0, abs=0.5)


def weights_are_in_the_units_of_the_data(X):
    learner, scaled = (sgbn.SGBN(tiers=[[0], [1]]).fit(X * s) for s in ([1, 1], [1, 10]))
    np.testing.assert_allclose(scaled.coef_, 10 * learner.coef_)
    np.testing.assert_allclose(scaled.coef_std_, learner.coef_std_)
    scale = X.std(axis=0)
    np.testing.assert_allclose(learner.coef_std_[0, 1], learner.coef_[0, 1] * scale[0] / scale[1])


def noise_is_divided_by_n_less_k(X):
    learner = sgbn.SGBN(tiers=[[0], [1]]).fit(X)
    residual = X[:, 1] - X[:, 0] * learner.coef_[0, 1] - learner.intercept_[1]
    expected = [X[:, 0].var(ddof=1), residual @ residual / (len(X) - 2)]
    np.testing.assert_allclose(learner.noise_variance_, expected)


def alpha_is_that_of_the_lasso(X):
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    lasso = Lasso(0.2, fit_intercept=False).fit(Z[:, :1], Z[:, 1])
    learner = sgbn.ORSGBN(0.2, tiers=[[0], [1]]).fit(X)
    assert learner.coef_std_[0, 1] == pytest.approx(lasso.coef_[0], abs=1e-6)


def names_in_code_exist(X):
    network = sgbn.SGBN().fit(X).network_
    for name in ("coef", "intercept", "noise_variance"):
        assert hasattr(network, name)
    for name in ("reachable", "upsilon"):
        assert callable(resolve(f"sgbn.core.graph.{name}"))


def errors_have_these_classes(X):
    assert issubclass(sgbn.InputError, ValueError)
    with pytest.raises(sgbn.InputError):
        sgbn.SGBN().fit(X * np.nan)
    with pytest.raises(sgbn.CycleError):
        sgbn.GaussianNetwork(1 - np.eye(2))


def records_become_tables_by_one_function(X):
    edges = sgbn.SGBN().fit(X).network_.edges()
    assert edges.dtype.names == ("source", "target", "weight")
    assert sgbn.to_frame(edges)["weight"].tolist() == edges["weight"].tolist()


CONVENTIONS = {
    "`sgbn.to_frame(records)` makes a DataFrame of any records": (
        records_become_tables_by_one_function
    ),
    "`A[i, j] != 0` is the edge i -> j": weights_have_the_direction_of_the_edge,
    "are in the units of the data, `coef_std_` per standard deviation": (
        weights_are_in_the_units_of_the_data
    ),
    "sum of squares by n - k, k counting the parents and the intercept": (
        noise_is_divided_by_n_less_k
    ),
    "`alpha` is that of scikit-learn's `Lasso`": alpha_is_that_of_the_lasso,
    "| P | `reachable` |": names_in_code_exist,
    "`InputError` (a `ValueError`) for data and parameters, `CycleError` for graphs": (
        errors_have_these_classes
    ),
}


@pytest.mark.parametrize("statement", CONVENTIONS)
def test_conventions_hold(statement, pair):
    page = " ".join((ROOT / "docs" / "conventions.md").read_text().split())
    assert statement in page
    CONVENTIONS[statement](pair)
