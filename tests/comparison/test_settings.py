import numpy as np
import pandas as pd
import pytest
from tests.codes import refused

from sgbn.cohort.series import SeriesCohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.comparison.compare import compare
from sgbn.comparison.settings import READING, Settings, check_settings, read_source
from sgbn.prepare.pipeline import cohort_table


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"n_permutations": -1}, "argument"),
        ({"n_folds": 1}, "argument"),
        ({"n_pairs": 2.5}, "argument"),
        ({"n_repeats": True}, "argument"),
        ({"peers": 1}, "argument"),
        ({"level": 1}, "argument"),
        ({"outliers": "drop"}, "argument"),
        ({"level": 0.001, "n_permutations": 999}, "settings.few-permutations"),
        ({"level": 0.5, "n_permutations": 18}, "settings.few-permutations"),
        ({"edges": ["a:b"]}, "settings.edge"),
        ({"edges": "ab"}, "settings.edge"),
        ({"edges": [("a", "b")], "n_permutations": 0}, "settings.untested"),
        ({"refinements": ("KL",)}, "settings.refinement"),
        ({"replicate": "site"}, "settings.replicate"),
        ({"replicate": "half", "n_permutations": 0}, "settings.untested"),
        ({"accuracy_permutations": 18}, "settings.few-permutations"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options, code):
    with refused(code):
        Settings(**options)


def test_numbers_of_numpy_are_kept_as_pythons():
    found = Settings(select=np.int64(4), n_pairs=np.int32(3), level=np.float64(0.1))
    assert [type(one) for one in (found.select, found.n_pairs, found.level)] == [int, int, float]


def test_just_enough_permutations_and_none_are_taken():
    assert Settings(level=0.001, n_permutations=1000).n_permutations == 1000
    assert Settings(level=0.05, n_permutations=20).n_permutations == 20
    assert Settings(level=0.001, n_permutations=0).n_permutations == 0
    assert Settings(accuracy_permutations=19).accuracy_permutations == 19


def test_what_was_named_beforehand_is_kept_as_names():
    found = Settings(edges=[["a", "b"]], among="frontal")
    assert found.edges == (("a", "b"),)
    assert found.among == ("frontal",)


def test_quick_does_less_and_what_is_asked_for_goes_before():
    quick, full = Settings.quick(), Settings()
    for name in ("n_permutations", "n_pairs"):
        assert getattr(quick, name) < getattr(full, name)
    cohort = simulate_cohort(50, regions=4)
    assert quick.repeats(cohort) < full.repeats(cohort)
    assert Settings.quick(n_permutations=5000).n_permutations == 5000


def test_repeats_are_by_size_unless_they_are_given():
    cohort = simulate_cohort(50, regions=4)
    assert Settings().for_cohort(cohort).n_repeats == Settings().repeats(cohort) > 1
    assert Settings(n_repeats=7).for_cohort(cohort).n_repeats == 7
    assert "accuracy" in Settings().steps
    assert "accuracy" not in Settings(n_repeats=0).for_cohort(cohort).steps


def test_steps_are_those_that_are_asked_for():
    assert len(Settings().steps) == 9
    assert Settings().steps[:2] == Settings.quick().steps[:2] == ("networks", "models")
    assert "models" not in Settings(models=False).steps
    assert "sensitivity" in Settings().steps
    for less in (Settings.quick(), Settings(n_permutations=0), Settings(sensitivity=False)):
        assert "sensitivity" not in less.steps
    assert Settings.networks_only().steps == ("networks",)
    assert Settings.quick().steps[-2:] == ("refinements", "accuracy")
    assert "model" not in Settings(n_repeats=0).steps


def test_a_replication_is_a_step_that_needs_permutations():
    assert "replication" not in Settings().steps
    steps = Settings(replicate="half").steps
    assert steps.index("replication") == steps.index("differences") + 1


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
    with refused("compare.reading"):
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
    with refused("series.keyword"):
        read_source(tmp_path / "all.npz", {"measure": "volume"})
    with refused("table.keyword"):
        read_source(people, {"files": "*"})


@pytest.mark.parametrize(
    ("keyword", "code"), [("groop", "compare.keyword"), ("n_permutations", "compare.setting")]
)
def test_a_keyword_that_is_none_is_refused_before_anything_is_read(keyword, code):
    with refused(code):
        compare("there is no such file.csv", **{keyword: 1})


def test_all_keywords_of_the_reader_are_known():
    assert {"group", "covariates", "site", "pair", "missing", "tr", "files"} <= set(READING)
    assert "source" not in READING


def test_settings_are_settings_or_an_error_says_how_to_make_them():
    assert check_settings(None) == Settings()
    assert check_settings(Settings.quick()) == Settings.quick()
    with refused("settings.type"):
        check_settings({"n_permutations": 199})
