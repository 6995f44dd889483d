"""A small run of Exp-II that several tests read."""

import pytest

from sgbn.experiments import exp2


@pytest.fixture(scope="session")
def exp2_settings():
    return exp2.Settings(simulations=2, seed=3, networks=("alarm", "chain"))


@pytest.fixture(scope="session")
def exp2_folder(tmp_path_factory, exp2_settings):
    folder = tmp_path_factory.mktemp("exp2")
    exp2.run(folder, exp2_settings, progress=False)
    return folder


@pytest.fixture(scope="session")
def exp2_results(exp2_folder):
    return exp2.read(exp2_folder)
