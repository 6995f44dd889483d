from copy import copy
from dataclasses import replace

from sgbn.comparison.methods import describe_methods
from sgbn.prepare.findings import Finding


def test_the_methods_of_series_say_what_was_done(compared_series):
    methods = describe_methods(compared_series)
    keys = [one.key for one in methods.references]
    assert {"ramsey2010", "smith2011", "freedman1983", "shah2013"} <= {*keys}
    text = methods.text
    assert "Volumes were never pooled over subjects" in text
    assert "39 permutations of the subjects within sites, with age, mean_fd and sites held" in text
    assert "8 half samples of the subjects" in text
    assert "Means over volumes were not compared" in text
    assert "on its weights on a graph that was learned in the training part" in text


def test_they_say_nothing_that_is_true_of_tables_only(compared_series):
    text = describe_methods(compared_series).text
    for word in (
        "ComBat",
        "Missing cells",
        "regressed out",
        "Mahalanobis",
        "Hedges",
        "SGBNEnsemble",
    ):
        assert word not in text


def test_motion_that_is_no_covariate_is_said(compared_series):
    assert "Motion was" not in describe_methods(compared_series).text
    age = {"age": compared_series.cohort.covariates["age"]}
    cohort = replace(compared_series.cohort, covariates=age)
    still = replace(compared_series, review=replace(compared_series.review, cohort=cohort))
    assert "Motion was not among the covariates." in describe_methods(still).text


def test_steps_that_were_not_done_are_not_described(compared_series):
    less = replace(compared_series, tests=None, accuracy=None, sensitivity=None, confidence={})
    text = describe_methods(less).text
    for word in ("permutations", "cross-validation", "half samples"):
        assert word not in text


def test_those_whom_rules_exclude_are_counted(compared_series):
    assert "independent volumes: none of the subjects." in describe_methods(compared_series).text
    findings = [Finding("warning", "", "", ("a", "b")), Finding("warning", "", "", ("c",))]
    fewer = replace(compared_series, review=compared_series.review.with_findings(findings))
    assert "independent volumes: 3 of the subjects." in describe_methods(fewer).text


def test_the_effective_number_is_that_of_bartlett(compared_series):
    methods = describe_methods(compared_series)
    number = [one.key for one in methods.references].index("bartlett1935") + 1
    assert f"by the formula of Bartlett [{number}]. This formula is known to err" in methods.text
    assert f"if correlations are not zero [{number + 1}]" in methods.text
    assert "afyouni2019" in [one.key for one in methods.references]


def test_effects_of_the_volume_before_are_no_filter(compared_series):
    learners = {
        group: copy(one).set_params(lagged=True) for group, one in compared_series.learners.items()
    }
    text = describe_methods(replace(compared_series, learners=learners)).text
    assert "Linear effects of all regions at the previous volume were removed" in text
    assert "autoregressive" not in text
