"""What the scripts in .ci compute."""

import re
import subprocess
import sys
from pathlib import Path
from runpy import run_path

import pytest

ROOT = Path(__file__).parents[1]
LOWEST = ROOT / ".ci" / "lowest.py"


def test_the_lowest_versions_are_the_bounds_of_users_dependencies():
    lowest = run_path(str(LOWEST))["lowest"]
    project = {
        "dependencies": ["numpy>=1.26", "lazy_loader>=0.4"],
        "optional-dependencies": {
            "brain": ["nilearn>=0.10.4"],
            "tables": [],
            "scale": ["dask>=2024.5"],
            "test": ["pytest>=8"],
        },
    }
    expected = ["numpy==1.26", "lazy_loader==0.4", "nilearn==0.10.4", "dask==2024.5"]
    assert lowest(project) == expected


@pytest.mark.parametrize("text", ["numpy", "numpy>=1.26,<3", "numpy==1.26", "numpy~=1.26"])
def test_a_dependency_without_a_plain_lower_bound_is_refused(text):
    lowest = run_path(str(LOWEST))["lowest"]
    with pytest.raises(ValueError, match="write NAME>=VERSION"):
        lowest({"dependencies": [text], "optional-dependencies": {}})


def test_the_script_prints_constraints_of_this_project():
    done = subprocess.run([sys.executable, LOWEST], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert all(re.fullmatch(r"[\w.-]+==[\d.]+", line) for line in lines)
    assert {line.partition("==")[0] for line in lines} >= {"numpy", "scipy", "nilearn", "dask"}


def test_the_classifiers_are_the_versions_of_python_that_are_tried():
    tried = re.search(r"for version in ([\d. ]+); do", (ROOT / ".ci" / "long").read_text())
    said = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert tried[1].split() == said
