"""Sentences about sites and covariates."""

from dataclasses import replace

import numpy as np

from sgbn.report.methods import describe_methods, prepared_in_folds


def test_linear_effects_are_called_linear(compared):
    text = describe_methods(compared).text
    assert "Linear effects of age and sex, estimated within the groups, were regressed out." in text
    assert "removed by ComBat [" in text
    for unsaid in ("Pomponio", "Beer", "Wood", "curve", "longitudinal"):
        assert unsaid not in text


def test_a_smooth_effect_is_said_and_cited(compared):
    cohort = replace(compared.cohort, smooth=("age",))
    smooth = replace(compared, review=replace(compared.review, cohort=cohort))
    text = describe_methods(smooth).text
    assert "Linear effects of sex and smooth effects of age (cubic splines" in text
    assert "effects of age (a curve) and sex held aside" in text
    assert "group means, age (a curve), sex and sites held fixed" in text
    assert "Pomponio" in text
    assert "Wood SN (2011)" in text
    assert "effects of age (a curve) and sex (over all" in prepared_in_folds(smooth)


def test_visits_of_persons_are_said_and_cited(compared):
    cohort = compared.cohort
    person = np.array([f"{group} {k // 2}" for k, group in enumerate(cohort.group)])
    review = replace(compared.review, cohort=replace(cohort, person=person))
    visits = replace(compared, review=review)
    text = describe_methods(visits).text
    assert "longitudinal ComBat [" in text
    assert "an intercept of each person held aside" in text
    assert "Beer" in text
