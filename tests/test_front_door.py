"""What a newcomer meets first is true: the map of the house, the version, the installed wheel."""

import re
import tomllib
from datetime import date
from importlib.metadata import distribution
from pathlib import Path

import pytest

import sgbn

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "sgbn"
NOT_SHIPPED = {".pyc", ".pyo", ".nbi", ".nbc"}  # what Python and numba leave beside the source


def rows_of_the_map():
    """Pairs (folder, files to begin with) of the table in CONTRIBUTING."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)/` \|[^|]*\|([^|]*)\|$", text, re.M)
    return {folder: re.findall(r"`([\w.]+)`", files) for folder, files in rows}


def test_the_map_lists_every_package_and_files_that_exist():
    rows = rows_of_the_map()
    assert set(rows) == {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    missing = [
        f"{folder}/{file}"
        for folder, files in rows.items()
        for file in files
        if not list((SOURCE / folder).rglob(file))
    ]
    assert missing == []


def test_the_map_is_in_the_order_of_the_layers():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    layers = contracts["contracts"][0]["layers"]
    height = {
        name.strip().removeprefix("sgbn."): k
        for k, layer in enumerate(layers)
        for name in layer.split("|")
    }
    heights = [height[folder] for folder in rows_of_the_map()]
    assert heights == sorted(heights)


def test_the_version_is_the_same_everywhere():
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.+)$", citation, re.M)[1] == sgbn.__version__
    released = re.search(r"^date-released: (.+)$", citation, re.M)[1]
    changes = (ROOT / "CHANGELOG.md").read_text()
    newest = re.search(r"^## \[(\d.+?)\] - (.+)$", changes, re.M)
    assert newest.groups() == (sgbn.__version__, released)
    assert date.fromisoformat(released)


def test_the_installed_wheel_holds_the_source_and_nothing_else():
    installed = Path(sgbn.__file__).parent
    if installed == SOURCE:
        pytest.skip("sgbn is imported from the source: there is no wheel to look at.")
    files = {str(file) for file in distribution("sgbn").files if file.parts[0] == "sgbn"}
    shipped = {file for file in files if Path(file).suffix not in NOT_SHIPPED}
    source = {
        str(Path("sgbn") / path.relative_to(SOURCE))
        for path in SOURCE.rglob("*")
        if path.is_file() and path.suffix not in NOT_SHIPPED
    }
    assert shipped == source
    differing = [
        file
        for file in sorted(shipped)
        if (installed.parent / file).read_bytes() != (SOURCE.parent / file).read_bytes()
    ]
    assert differing == []
