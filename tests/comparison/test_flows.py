from dataclasses import replace

import numpy as np
import pytest

from sgbn.cohort.series import SeriesCohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.comparison.compare import SERIES, TABLES, flow_of
from sgbn.comparison.settings import Settings
from sgbn.core.exceptions import InputError
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.series import SeriesSGBN
from sgbn.learn.sgbn import SGBN


def test_what_a_cohort_holds_decides(chains_of_series):
    assert flow_of(chains_of_series) is SERIES
    assert flow_of(simulate_cohort(20, regions=4)) is TABLES


def test_a_learner_must_fit_the_cohort():
    with pytest.raises(InputError, match="the learner is a SeriesSGBN, which needs time series"):
        TABLES.learner(SeriesSGBN(), Settings())
    with pytest.raises(InputError, match=r"the learner is SGBN.*SeriesSGBN\(\)"):
        SERIES.learner(SGBN(), Settings())


def test_default_learners_have_the_half_samples_of_the_settings():
    settings = Settings(n_pairs=7, seed=3)
    for flow, kind in ((TABLES, SGBNEnsemble), (SERIES, SeriesSGBN)):
        learner = flow.learner(None, settings)
        assert isinstance(learner, kind)
        assert (learner.n_pairs, learner.random_state) == (7, 3)


def test_time_series_are_not_prepared(chains_of_series):
    prepared, findings = SERIES.prepare(chains_of_series, Settings())
    assert prepared is chains_of_series
    assert not [*findings]


def test_missing_covariates_of_time_series_are_filled_in(chains_of_series):
    ages = np.linspace(20, 60, len(chains_of_series))
    ages[3] = np.nan
    sex = np.where(np.arange(len(ages)) == 5, "", "F")
    cohort = replace(chains_of_series, covariates={"age": ages, "sex": sex})
    prepared, _ = SERIES.prepare(cohort, Settings())
    assert isinstance(prepared, SeriesCohort)
    assert prepared.covariates["age"][3] == np.nanmean(ages)
    assert prepared.covariates["sex"][5] == "unknown"
    assert prepared.n_volumes == cohort.n_volumes
