from dataclasses import replace

import numpy as np

from sgbn.comparison.steps.residuals import residual_table, residual_words
from sgbn.inference.intervals import residual_checks

PAIRS = np.repeat([f"p{k}" for k in range(80)], 2)


def test_one_row_per_group_of_those_the_network_was_learned_from(networks_alone):
    table = residual_table(networks_alone)
    assert table["group"].tolist() == list(networks_alone.groups)
    for group, row in zip(networks_alone.groups, table.to_dict("records"), strict=True):
        kept = networks_alone.kept(group)
        assert row["rows"] == len(kept) == 80 - len(networks_alone.left_out[group])
        found = residual_checks(kept.values, networks_alone.learners[group].coef_)
        assert row["not_gaussian"] == (found.p_gaussian <= 0.05).sum()
        assert row["edges"] == np.count_nonzero(networks_alone.learners[group].coef_)
        assert abs(row["skewness"]) == np.abs(found.skewness).max()


def test_words_come_only_where_something_is_off(networks_alone):
    table = networks_alone.tables.residuals.assign(not_gaussian=0, curved=0)
    fine = replace(networks_alone)
    vars(fine)["tables"] = networks_alone.tables._replace(residuals=table)
    assert residual_words(fine) == ""
    off = replace(networks_alone)
    table = table.assign(not_gaussian=[8, 0], curved=[3, 0])
    vars(off)["tables"] = networks_alone.tables._replace(residuals=table)
    first, *_, last = residual_words(off).split("\n")
    assert first.startswith(f"{networks_alone.groups[0]}: the residuals of 8 of 8 regions are not")
    assert "3 of" in first
    assert "--transform normal-scores" in last
    assert "as independent" not in residual_words(off)
    pairs = PAIRS[[networks_alone.given.index(name) for name in networks_alone.cohort.ids]]
    for of, given in (("person", {"person": pairs}), ("family", {"block": pairs})):
        cohort = replace(networks_alone.cohort, **given)
        related = replace(off, review=replace(networks_alone.review, cohort=cohort))
        vars(related)["tables"] = off.tables
        assert f"rows of one {of} as independent" in residual_words(related)


def test_groups_that_are_too_small_have_no_row(networks_alone):
    prepared = networks_alone.prepared
    few = [k for g in networks_alone.groups for k in np.flatnonzero(prepared.group == g)[:15]]
    cohort, small = networks_alone.cohort.subset(few), prepared.subset(few)
    review, outliers = networks_alone.review, networks_alone.outliers[few]
    found = replace(
        networks_alone, review=replace(review, cohort=cohort), prepared=small, outliers=outliers
    )
    assert residual_table(found).empty
