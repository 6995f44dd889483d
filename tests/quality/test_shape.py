import numpy as np
import pytest

from sgbn import Cohort
from sgbn.core.graph import random_dag
from sgbn.prepare.review import review_prepared


def cohort_of(values, group=None):
    regions = [f"r{k}" for k in range(values.shape[1])]
    return Cohort(values, regions, [f"sub-{k:03}" for k in range(len(values))], group=group)


def related(n, seed=0, m=10):
    rng = np.random.default_rng(seed)
    weights = random_dag(m, 3.0, rng) * rng.uniform(0.5, 1, (m, m))
    return rng.standard_normal((n, m)) @ np.linalg.inv(np.eye(m) - weights)


GROUP, TWICE = np.repeat(["CTR", "SCZ"], 100), np.repeat(["CTR", "SCZ"], 200)


def test_clean_regions_have_nothing_to_tell():
    assert review_prepared(cohort_of(related(200), GROUP)) == []
    assert review_prepared(cohort_of(related(8))) == []


@pytest.mark.parametrize(
    ("outliers", "action"),
    [("trim", "Such subjects are left out of net"), ("keep", "Such subjects are kept")],
)
def test_subjects_far_from_their_group_are_named_with_what_is_done(outliers, action):
    values = related(200)
    values[100:] += 30  # the other group is not an outlier
    values[[3, 150]] += 12 * np.resize([1, -1], 10)
    found = review_prepared(cohort_of(values, GROUP), outliers)
    assert [one.level for one in found] == ["warning", "warning"]
    assert "1 of 100 subjects of the group 'CTR' is far from the others" in found[0].what
    assert found[0].what.endswith(": 'sub-003'")
    assert found[1].what.endswith(": 'sub-150'")
    assert all(one.action.startswith(action) for one in found)


def test_many_far_subjects_are_another_group():
    values = related(100)
    values[:22] += 40 * np.resize([1, -1], 10)
    (found,) = review_prepared(cohort_of(values))
    assert "22 of 100 subjects are far" in found.what
    assert "outliers, and are kept" in found.action


def test_normal_scores_are_recommended_where_relations_are_curved():
    values = related(400, 1)
    curved = np.exp(0.8 * values / values.std(axis=0))
    found = [one for one in review_prepared(cohort_of(curved, TWICE)) if one.level == "note"]
    assert len(found) == 2
    assert "the ranks of the regions of the group 'CTR' depend on each other" in found[0].what
    assert "--transform normal-scores" in found[0].action
    assert not any(
        "ranks" in one.what
        for one in review_prepared(cohort_of(curved, TWICE), transform="normal-scores")
    )


def test_normal_scores_are_warned_of_where_they_hide_linear_relations():
    rng = np.random.default_rng(1)
    weights = random_dag(15, 3.0, rng) * rng.uniform(0.5, 1, (15, 15))
    linear = rng.exponential(size=(400, 15)) @ np.linalg.inv(np.eye(15) - weights)
    found = review_prepared(cohort_of(linear), transform="normal-scores")
    assert "less than their values do" in found[-1].what
    assert "--transform none" in found[-1].action
    assert not any("ranks" in one.what for one in review_prepared(cohort_of(linear)))
