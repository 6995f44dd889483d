from dataclasses import replace

import numpy as np
import pytest

from sgbn import Cohort, simulate_cohort
from sgbn.comparison import Settings, compare
from sgbn.comparison.summary import p_text, summarise

FEW = Settings(n_permutations=99, n_pairs=0, n_folds=3, n_repeats=1, refinements=(), peers=False)


@pytest.fixture(scope="module")
def different():
    """One edge of opposite signs, and groups that differ in their means."""
    rng = np.random.default_rng(0)
    sign = np.repeat([1.0, -1.0], 80)
    values = rng.normal(size=(160, 5))
    values[:, 1] += sign * values[:, 0]
    values[:, 4] += 3 * sign
    group = np.where(sign > 0, "well", "ill")
    cohort = Cohort(values, ["a", "b", "c", "d", "e"], range(160), group=group)
    return compare(cohort, replace(FEW, reference="well"))


def answers(comparison):
    return {one.question: one.answer for one in summarise(comparison)}


def test_what_differs_is_said_with_its_direction(different):
    said = answers(different)
    assert said["Do the networks differ?"].startswith("Yes")
    assert "1 of" in said["Which edges differ, and how sure is that?"]
    assert (
        "a → b" in said["Which edges differ, and how sure is that?"]
        or "b → a" in (said["Which edges differ, and how sure is that?"])
    )
    assert said["Can the groups be told apart?"].startswith("Yes")
    assert "The reference is well" in said["What was compared?"]


def test_no_difference_is_an_answer_with_the_detectable_effect():
    rng = np.random.default_rng(1)
    cohort = Cohort(
        rng.normal(size=(80, 4)), list("abcd"), range(80), group=np.repeat(["x", "y"], 40)
    )
    found = compare(cohort, FEW)
    said = answers(found)
    edges = said["Which edges differ, and how sure is that?"]
    if len(found.differences.edges):
        assert "None of" in edges
        assert "would have been found" in edges
    assert "no proof of equality" in said["Do the networks differ?"]
    assert said["Can the groups be told apart?"].startswith("Not reliably")


def test_what_was_left_out_is_said(different):
    left_out = replace(
        different, differences=None, accuracy=None, skipped={"differences": "too few subjects."}
    )
    said = answers(left_out)
    assert "too few subjects" in said["Which edges differ, and how sure is that?"]
    assert "Do the networks differ?" not in said
    assert "not asked for" in said["Can the groups be told apart?"]


def test_covariates_that_tell_the_groups_are_pointed_at():
    cohort = simulate_cohort(40, regions=6)
    age = np.where(cohort.group == "patient", 80.0, 30.0) + np.arange(80) % 7
    older = Cohort(
        cohort.values, cohort.regions, cohort.ids, group=cohort.group, covariates={"age": age}
    )
    said = answers(compare(older, replace(FEW, n_permutations=0)))
    assert "says nothing about the regions" in said["Can the groups be told apart?"]


def test_p_is_written_as_one_writes_it():
    assert p_text(0.04) == "p = 0.040"
    assert p_text(0.0002) == "p = 0.0002"
