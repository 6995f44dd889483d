import subprocess
import sys

import pytest

import sgbn


@pytest.mark.parametrize("name", sgbn.__all__)
def test_every_public_name_loads(name):
    assert getattr(sgbn, name) is not None


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match=r"attribute 'ORSBGN'. Did you mean 'ORSGBN'"):
        sgbn.ORSBGN  # noqa: B018
    assert not hasattr(sgbn, "__wrapped__")


def test_dir_lists_the_public_names():
    assert dir(sgbn) == sorted(sgbn.__all__)


PROGRAM = """
import sys

def loaded():
    print(*sorted(sys.modules))

import sgbn
loaded()
from sgbn.cli.main import parser
parser()
loaded()
sgbn.GaussianNetwork
loaded()
# from the lowest layer upwards: none of them has loaded the next one
print(sgbn.runs.__name__, sgbn.inference.__name__, sgbn.write.__name__)
"""


@pytest.fixture(scope="module")
def lines():
    """What is loaded after each of three steps, and names of parts, in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True
    )
    return [line.split() for line in done.stdout.splitlines()]


def test_importing_sgbn_and_parsing_load_no_numerical_library(lines):
    for loaded in lines[:2]:
        assert "sgbn" in loaded
        assert not {"numpy", "numba", "sklearn", "pandas", "matplotlib"} & set(loaded)


def test_a_network_needs_no_pictures_and_no_tables(lines):
    loaded = lines[2]
    assert "numpy" in loaded
    assert not {"pandas", "matplotlib", "networkx", "joblib"} & set(loaded)


def test_parts_are_loaded_when_they_are_asked_for(lines):
    assert lines[3] == ["sgbn.runs", "sgbn.inference", "sgbn.write"]
