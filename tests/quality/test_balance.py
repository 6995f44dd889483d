import numpy as np
import pytest

from sgbn import Cohort
from sgbn.comparison.steps.data import table_one
from sgbn.prepare.balance import check_sites
from sgbn.prepare.review import review

N = 60


def test_a_covariate_that_is_the_group_stops(make, only):
    group = make().group
    finding = only(make(covariates={"dx": (group == "SCZ").astype(float)}))
    assert finding.level == "stop"
    assert "'dx' is the group under another name" in finding.what


def test_groups_that_differ_in_a_covariate_are_said_with_numbers(make, only):
    noise = 20 * np.random.default_rng(0).normal(size=N)
    age = np.where(make().group == "CTR", 30.0, 50.0) + noise
    finding = only(make(covariates={"age": age}))
    assert finding.level == "warning"
    assert "the groups differ in 'age' (CTR 27.67, SCZ 55.42; p = " in finding.what
    sex = np.where(np.arange(N) < 55, np.where(make().group == "CTR", "F", "M"), "F")
    assert "(CTR 100% F, SCZ 10% F; p = " in only(make(covariates={"sex": sex})).what
    coded = {"sex": (sex == "F").astype(float)}
    assert "(CTR 0% with 0, SCZ 90% with 0; p = " in only(make(covariates=coded)).what


def test_a_region_among_the_covariates_is_pointed_out(make, only):
    values = np.random.default_rng(1).normal(size=N)
    finding = only(make(covariates={"lh_precuneus": values}))
    assert finding.level == "warning"
    assert "'lh_precuneus' has the name of a region" in finding.what


def test_constant_and_missing_covariates_are_said(make, only):
    finding = only(make(covariates={"scanner": ["A"] * N}))
    assert "'scanner' is the same in all subjects" in finding.what
    age = np.random.default_rng(0).normal(40, 5, N)
    age[7] = np.nan
    finding = only(make(covariates={"age": age}))
    assert "missing in 1 of 60 subjects, such as 'sub-07'" in finding.what


def test_a_covariate_that_a_whole_group_lacks_stops(make, only):
    for score in (np.arange(N, dtype=float), np.resize(["a", "b", "c"], N)):
        empty = np.nan if score.dtype.kind == "f" else ""
        column = np.where(make().group == "CTR", empty, score)
        finding = only(make(covariates={"updrs": column}))
        assert finding.level == "stop"
        assert "'updrs' is missing in all subjects of a group, such as 'sub-00'" in finding.what
    assert only(make(covariates={"iq": np.full(N, np.nan)})).level == "stop"


def test_review_and_table_one_say_the_same_of_pairs_and_families(make, found):
    person = np.random.default_rng(0).normal(50, 10, N // 2)
    visit = np.tile([0.0, 0.5], N // 2) + np.linspace(0, 0.1, N)
    pairs = make(
        covariates={"age": np.repeat(person, 2) + visit},
        pair=np.repeat([f"p{k}" for k in range(N // 2)], 2),
    )
    families = make(
        covariates={"age": np.repeat(person, 2) + 40 * visit},
        block=[f"f{k % 10}" for k in range(N)],
    )
    for cohort, said in ((pairs, True), (families, False)):
        p = table_one(cohort, cohort.groups).set_index("characteristic")["p"]["age"]
        texts = [text for text in found(cohort) if "the groups differ in 'age'" in text]
        assert bool(texts) == said == bool(p < 0.05)
        assert all(f"p = {p:.2g}" in text for text in texts)


def test_the_level_that_differs_most_is_shown(make, only):
    group = make().group
    level = np.where(group == "CTR", np.resize(["A", "A", "Z"], N), np.resize(["B", "B", "Z"], N))
    assert "(CTR 67% A, SCZ 0% A; p = " in only(make(covariates={"h": level})).what


@pytest.mark.parametrize(("told", "level"), [(0.95, "stop"), (0.1, "warning")])
def test_sites_that_were_not_named_are_asked_about(make, found, told, level):
    facts = {"unnamed_sites": {"scanner": {"sites": 2, "told": told}}}
    (finding,) = check_sites(make(site=None, provenance=facts))
    assert finding.level == level
    assert "'scanner' looks like sites" in finding.what
    assert "--site scanner" in finding.action
    assert "--exclude scanner" in finding.action
    named = make(site=["A", "B", "B", "A"] * 15, provenance=facts)
    assert not any("scanner" in text for text in found(named))


def test_sites_that_hold_one_group_or_one_subject_are_said(make, found, only):
    group = make().group
    assert only(make(site=np.where(group == "CTR", "A", "B"))).level == "stop"
    assert "all subjects are from the site A" in only(make(site=["A"] * N)).what
    site = np.where(np.arange(N) < 40, "A", np.where(group == "CTR", "B", "A"))
    pure, unequal = found(make(site=site))
    assert "1 site has subjects of one group only: 'B'" in pure
    assert "the shares of the groups differ between sites (CTR 67% A, SCZ 100% A; p = " in unequal
    site = np.where(np.arange(N) % 4 < 2, "A", "B").astype(object)
    site[5] = "C"
    texts = found(make(site=site.astype(str)))
    assert any("1 site has one subject: 'C'" in text for text in texts)


def test_a_covariate_that_nearly_makes_the_groups_is_pointed_at():
    rng = np.random.default_rng(0)
    group = np.repeat(["old", "young"], 40)
    age = np.where(group == "old", 70.0, 30.0) + rng.normal(size=80) * 5
    values = rng.normal(size=(80, 3))
    near, far = (
        review(Cohort(values, list("abc"), range(80), group=group, covariates={"age": column}))
        for column in (age, age + rng.normal(size=80) * 60)
    )
    assert any("'age' nearly defines the groups" in finding.what for finding in near.findings)
    assert not any("nearly defines" in finding.what for finding in far.findings)
