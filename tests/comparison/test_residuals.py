from dataclasses import replace

import numpy as np
import pytest

from sgbn import SGBN, simulate_cohort
from sgbn.comparison import Settings, compare
from sgbn.comparison.residuals import residual_table, residual_words
from sgbn.inference import residual_checks

PAIRS = np.repeat([f"p{k}" for k in range(60)], 2)


@pytest.fixture(scope="module")
def compared():
    return compare(simulate_cohort(60, regions=8), Settings.networks_only(), learner=SGBN())


def test_one_row_per_group_of_those_the_network_was_learned_from(compared):
    table = residual_table(compared)
    assert table["group"].tolist() == list(compared.groups)
    for group, row in zip(compared.groups, table.to_dict("records"), strict=True):
        kept = compared.kept(group)
        assert row["rows"] == len(kept) == 60 - len(compared.left_out[group])
        found = residual_checks(kept.values, compared.learners[group].coef_)
        assert row["not_gaussian"] == (found.p_gaussian <= 0.05).sum()
        assert row["edges"] == np.count_nonzero(compared.learners[group].coef_)
        assert abs(row["skewness"]) == np.abs(found.skewness).max()


def test_words_come_only_where_something_is_off(compared):
    table = compared.tables.residuals.assign(not_gaussian=0, curved=0)
    fine = replace(compared)
    vars(fine)["tables"] = compared.tables._replace(residuals=table)
    assert residual_words(fine) == ""
    off = replace(compared)
    table = table.assign(not_gaussian=[8, 0], curved=[3, 0])
    vars(off)["tables"] = compared.tables._replace(residuals=table)
    first, *_, last = residual_words(off).split("\n")
    assert first.startswith(f"{compared.groups[0]}: the residuals of 8 of 8 regions are not")
    assert "3 of" in first
    assert "--transform normal-scores" in last
    assert "as independent" not in residual_words(off)
    for of, given in (("person", {"person": PAIRS}), ("family", {"block": PAIRS})):
        cohort = replace(compared.cohort, **given)
        related = replace(off, review=replace(compared.review, cohort=cohort))
        vars(related)["tables"] = off.tables
        assert f"rows of one {of} as independent" in residual_words(related)


def test_groups_that_are_too_small_have_no_row(compared):
    prepared = compared.prepared
    few = [k for g in compared.groups for k in np.flatnonzero(prepared.group == g)[:15]]
    cohort, small = compared.cohort.subset(few), prepared.subset(few)
    found = replace(compared, review=replace(compared.review, cohort=cohort), prepared=small)
    bare = {group: _Graph(one.coef_) for group, one in compared.learners.items()}
    assert residual_table(replace(found, learners=bare)).empty


class _Graph:
    """A learner that knows of no outliers."""

    def __init__(self, coef):
        self.coef_ = coef
