import subprocess
import sys

import pytest

import sgbn


@pytest.mark.parametrize("name", sgbn.__all__)
def test_every_public_name_loads(name):
    assert getattr(sgbn, name) is not None


@pytest.mark.parametrize("part", ["inference", "runs", "viz"])
def test_parts_are_loaded_when_they_are_asked_for(part):
    program = f"import sgbn; print(sgbn.{part}.__name__)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == f"sgbn.{part}"


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match=r"attribute 'ORSBGN'. Did you mean 'ORSGBN'"):
        sgbn.ORSBGN  # noqa: B018
    assert not hasattr(sgbn, "__wrapped__")


def test_dir_lists_the_public_names():
    assert dir(sgbn) == sorted(sgbn.__all__)


@pytest.mark.parametrize("statement", ["import sgbn", "from sgbn.cli.main import parser; parser()"])
def test_importing_sgbn_and_parsing_load_no_numerical_library(statement):
    program = f"import sys; {statement}; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "sgbn" in loaded
    assert not {"numpy", "numba", "sklearn", "pandas", "matplotlib"} & set(loaded)


def test_a_network_needs_no_pictures_and_no_tables():
    program = "import sys, sgbn; sgbn.GaussianNetwork; print(*sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not {"pandas", "matplotlib", "networkx", "joblib"} & set(loaded)
