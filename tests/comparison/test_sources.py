import numpy as np
import pandas as pd
import pytest

from sgbn import Settings
from sgbn.cohort.series import SeriesCohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.comparison.compare import compare
from sgbn.comparison.settings import READING, check_settings, read_source
from sgbn.core.exceptions import InputError
from sgbn.prepare.pipeline import cohort_table


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(12, regions=4, covariates=["age"], n_sites=2)


@pytest.fixture(scope="module")
def reading(cohort):
    return {"group": "dx", "covariates": ["age"], "site": "site", "regions": list(cohort.regions)}


def test_a_table_and_its_file_are_read_as_the_cohort(cohort, reading, tmp_path):
    table = cohort_table(cohort).assign(dx=cohort.group).reset_index()
    table.to_csv(tmp_path / "table.csv", index=False)
    for source in (table, tmp_path / "table.csv", str(tmp_path / "table.csv")):
        found = read_source(source, reading)
        np.testing.assert_allclose(found.values, cohort.values)
        assert found.ids == cohort.ids
        assert found.groups == cohort.groups
        assert list(found.covariates) == ["age"]
        assert found.site.tolist() == cohort.site.tolist()


def test_a_cohort_is_taken_as_it_is(cohort):
    assert read_source(cohort, {}) is cohort
    with pytest.raises(
        InputError, match=r"group= says how to read a table.*Give group= to read_table"
    ):
        read_source(cohort, {"group": "dx"})


def test_time_series_are_read_as_such(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "all.npz", **{f"s{k}": rng.standard_normal((20, 3)) for k in range(4)})
    people = pd.DataFrame({"id": [f"s{k}" for k in range(4)], "dx": list("ABAB")})
    found = read_source(
        tmp_path / "all.npz", {"participants": people, "group": "dx", "tr": 2.0, "measure": None}
    )
    assert isinstance(found, SeriesCohort)
    assert (found.tr, found.group.tolist()) == (2.0, ["A", "B", "A", "B"])
    with pytest.raises(InputError, match=r"measure= \(--measure\) is for tables, but .*all\.npz"):
        read_source(tmp_path / "all.npz", {"measure": "volume"})
    with pytest.raises(InputError, match=r"files= \(--files\) is for time series.*the DataFrame"):
        read_source(people, {"files": "*"})


@pytest.mark.parametrize(
    ("keyword", "message"),
    [
        ("groop", "compare has no keyword 'groop'. Did you mean 'group'"),
        ("covariate", "Did you mean 'covariates'"),
        ("jobs", "Did you mean 'n_jobs'"),
        ("on_foun", "Did you mean 'on_found'"),
        ("setting", "Did you mean 'settings'"),
        ("n_permutations", r"is a setting: give settings=sgbn.Settings\(n_permutations=...\)"),
    ],
)
def test_a_keyword_that_is_none_is_refused_before_anything_is_read(keyword, message):
    with pytest.raises(InputError, match=message):
        compare("there is no such file.csv", **{keyword: 1})


def test_all_keywords_of_the_reader_are_known():
    assert {"group", "covariates", "site", "pair", "missing", "tr", "files"} <= set(READING)
    assert "source" not in READING


def test_settings_are_settings_or_an_error_says_how_to_make_them():
    assert check_settings(None) == Settings()
    assert check_settings(Settings.quick()) == Settings.quick()
    with pytest.raises(InputError, match=r"settings is a dict: give sgbn.Settings\(\*\*settings\)"):
        check_settings({"n_permutations": 199})
    with pytest.raises(InputError, match=r"settings is a str: give .*Settings.quick\(\)"):
        check_settings("quick")
