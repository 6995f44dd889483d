"""Small runs of Exp-II, Exp-III and Exp-IV that several tests read."""

import numpy as np
import pytest

from sgbn.cohort.simulate import simulate_cohort
from sgbn.paper.experiments import exp2, exp3, exp4, experiment
from sgbn.runs.study import Study


@pytest.fixture(scope="session")
def exp2_settings():
    return exp2.Settings(simulations=2, seed=3, networks=("alarm", "chain"))


@pytest.fixture(scope="session")
def exp2_folder(tmp_path_factory, exp2_settings):
    folder = tmp_path_factory.mktemp("exp2")
    exp2.EXPERIMENT.run(Study(folder), exp2_settings)
    return folder


@pytest.fixture(scope="session")
def exp2_results(exp2_folder):
    return exp2.EXPERIMENT.results(exp2_folder)


@pytest.fixture(scope="session")
def exp3_folder(tmp_path_factory):
    """A finished run of Exp-III on simulated cohorts and a table, with made-up accuracies."""
    folder, rng = tmp_path_factory.mktemp("exp3"), np.random.default_rng(0)

    def made_up(classifier, problem, on_covariates=False):
        return experiment.Outcome(*rng.uniform(0.5, 0.8, 2), 0.01)

    settings = exp3.Settings(splits=3, regions=6, sizes=(24, 12))
    cohort = simulate_cohort(20, 0, regions=10, covariates=["age"])
    data = {
        "table": exp3.to_split(cohort, settings.sizes),
        "edges": exp3.Sample((24, 12), differ="edges"),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "evaluate", made_up)
        exp3.EXPERIMENT.run(Study(folder), settings, data)
    return folder


@pytest.fixture(scope="session")
def exp4_settings():
    return exp4.Settings(permutations=19, orders=2, regions=12, seed=1)


@pytest.fixture(scope="session")
def exp4_data(exp4_settings):
    """A small table with a covariate and two sites."""
    cohort = simulate_cohort((40, 30), 0, regions=16, covariates=["age"], n_sites=2)
    return {"table": exp4.make_sample(cohort, exp4_settings, "patient")}


@pytest.fixture(scope="session")
def exp4_folder(tmp_path_factory, exp4_settings, exp4_data):
    """A finished run of Exp-IV."""
    folder = tmp_path_factory.mktemp("exp4")
    exp4.EXPERIMENT.run(Study(folder), exp4_settings, exp4_data)
    return folder
