from dataclasses import replace

import numpy as np
import pytest

from sgbn import SGBN, Cohort, InputError
from sgbn.comparison import Settings, compare
from sgbn.comparison.replicated import replication_words

QUESTION = "Do the differences come back in other subjects?"
FEW = Settings.networks_only(n_permutations=99, replicate="half")


@pytest.fixture(scope="module")
def cohort():
    """A chain of which one weight differs, at three sites, with an age and a gap."""
    rng = np.random.default_rng(0)
    group = np.repeat(["patient", "control"], 120)
    site, age = np.tile(["NYU", "KKI", "UCLA"], 80), rng.uniform(20, 60, 240)
    X = rng.normal(size=(240, 6))
    for j in range(1, 6):
        X[:, j] += np.where((group == "control") & (j == 3), 0.0, 0.9) * X[:, j - 1]
    X += 0.1 * age[:, None] + 3 * (site == "KKI")[:, None]
    X[5, 2] = np.nan
    names = [f"r{k}" for k in range(6)]
    ids = [f"s{k}" for k in range(240)]
    return Cohort(X, names, ids, group=group, site=site, covariates={"age": age})


@pytest.fixture(scope="module")
def found(cohort, tmp_path_factory):
    folder = tmp_path_factory.mktemp("work")
    return compare(cohort, FEW, learner=SGBN(n_kicks=0), folder=folder), folder


def test_a_planted_change_is_confirmed_and_said(found):
    comparison, _ = found
    assert {"replication"} <= set(comparison.seconds)
    table = comparison.tables.replication
    best = table[table["confirmed"]].iloc[0]
    assert {best["source"], best["target"]} == {"r2", "r3"}
    said = {one.question: "\n".join(one.lines) for one in comparison.words.statements}[QUESTION]
    assert said == comparison.replication.words
    assert f"{best['source']} – {best['target']}" in said


def test_it_goes_on_where_it_was_stopped(cohort, found):
    comparison, folder = found
    parts = folder / "replication"
    assert {path.name for path in parts.iterdir()} == {"discovery", "confirmation"}
    done = {path: path.stat().st_mtime_ns for path in parts.rglob("*.npz")}
    again = compare(cohort, FEW, learner=SGBN(n_kicks=0), folder=folder)
    assert done
    assert {path: path.stat().st_mtime_ns for path in parts.rglob("*.npz")} == done
    assert np.array_equal(again.replication.table, comparison.replication.table)


def test_a_site_is_held_back(cohort):
    settings = replace(FEW, replicate="site=UCLA", n_permutations=39)
    found = compare(cohort, settings, learner=SGBN(n_kicks=0)).replication
    assert found.sizes["confirmation"] == {"control": 40, "patient": 40}


def test_what_cannot_be_held_back_is_refused_before_any_work(cohort):
    steps = []
    settings = replace(FEW, replicate="site=MIT")
    with pytest.raises(InputError, match=r"no row has site=MIT.*'KKI', 'NYU', 'UCLA'"):
        compare(cohort, settings, on_step=steps.append)
    assert not steps


def test_a_part_that_cannot_be_prepared_leaves_the_step_out(cohort):
    values = cohort.values.copy()
    values[(cohort.site == "UCLA") & (cohort.group == "control"), 1] = 7.0
    values[(cohort.site == "NYU") & (cohort.group == "control"), 1] = 7.0
    site = np.where(cohort.site == "KKI", "KKI", "other")
    bad = replace(cohort, values=values, site=None, covariates={})
    bad = replace(bad, covariates={"place": site})
    settings = replace(FEW, replicate="place=KKI", n_permutations=20)
    found = compare(bad, settings, learner=SGBN(n_kicks=0))
    assert found.replication is None
    assert "in the part for discovery" in found.skipped["replication"]
    assert replication_words(found).startswith("Not tried: in the part")
    assert found.tables.replication.empty


def test_without_being_asked_for_nothing_is_said(found):
    comparison, _ = found
    plain = replace(comparison, settings=replace(FEW, replicate=None), replication=None)
    assert replication_words(plain) == ""
    assert QUESTION not in [one.question for one in plain.words.statements]


@pytest.mark.parametrize("outliers", ["keep", None])
def test_replication_keeps_outliers_if_told_so(cohort, outliers):
    values = cohort.values.copy()
    values[[0, 1, 2, 3]] += 60 * np.array([1, -1] * 3)
    settings = replace(FEW, outliers=outliers, n_permutations=20)
    far = replace(cohort, values=values)
    found = compare(far, settings, learner=SGBN(n_kicks=0)).replication
    gone = [name for part in found.left_out.values() for names in part.values() for name in names]
    assert bool(gone) == (outliers is None)
