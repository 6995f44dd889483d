import re
from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from sgbn.comparison.methods import (
    REFERENCES,
    SOURCES,
    Citations,
    describe_methods,
    learned_by,
    weights_are,
)
from sgbn.core.problems import Finding
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.search.plan import default_gamma
from sgbn.learn.sgbn import SGBN
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.l1mb import L1MB
from sgbn.paper.markov import GS, IAMB, InterIAMB
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.paper.penalised import PenalizedEstimator
from sgbn.paper.tc import TC, TCbw


def test_numbers_follow_the_order_of_citation_and_repeat():
    cite = Citations()
    assert cite("b") == "[1]"
    assert cite("a", "b") == "[1, 2]"
    assert cite("a") == "[2]"


def test_every_citation_is_in_the_list_and_every_reference_cited(compared):
    methods = describe_methods(compared)
    text = "\n".join(methods.paragraphs)
    cited = {int(n) for group in re.findall(r"\[([\d, ]+)\]", text) for n in group.split(",")}
    assert cited == set(range(1, len(methods.references) + 1))


def of_cohort(comparison, **changes):
    cohort = replace(comparison.cohort, **changes)
    return replace(comparison, review=replace(comparison.review, cohort=cohort))


def with_gaps_of_age(comparison):
    covariates = comparison.cohort.covariates
    return of_cohort(
        comparison, covariates=covariates | {"age": np.r_[[np.nan] * 3, covariates["age"][3:]]}
    )


def with_learners(comparison, **parameters):
    learners = {
        group: copy(one).set_params(**parameters) for group, one in comparison.learners.items()
    }
    return replace(comparison, learners=learners)


def with_persons(comparison, **more):
    person = [f"{group}{k // 2}" for k, group in enumerate(comparison.cohort.group)]
    return replace(of_cohort(comparison, person=np.array(person)), **more)


def of_exchangeable_rows(comparison):
    """Neither covariates, sites nor gaps."""
    values = np.nan_to_num(comparison.cohort.values)
    return of_cohort(comparison, covariates={}, site=None, values=values)


# What a comparison of the golden texts is not like.
SAID = [
    (with_gaps_of_age, "Covariates were missing in some subjects (age in 3)"),
    (of_exchangeable_rows, "permutations are exact"),
    (lambda one: replace(one, tests=None), "were left out of networks: "),
    (with_persons, "Rows of one person were exchanged, halved and cross-validated together."),
    (lambda one: with_persons(one, accuracy=None), "were exchanged and halved together."),
    (
        lambda one: of_cohort(one, smooth=("age",)),
        "Linear effects of sex and smooth effects of age",
    ),
    (lambda one: of_cohort(one, smooth=("age",)), "Pomponio"),
    (lambda one: with_learners(one, min_direction=0.95), "at least 95%"),
    (
        lambda one: replace(one, searcher=SGBN()),
        f"with gamma = {default_gamma(120):.3g} learned from the pooled residuals",
    ),
]


@pytest.mark.parametrize(("change", "said"), SAID)
def test_what_was_done_otherwise_is_said(compared, change, said):
    assert said not in describe_methods(compared).text
    assert said in describe_methods(change(compared)).text


def one_site(comparison):
    return of_cohort(comparison, site=np.full(len(comparison.cohort), "A"))


@pytest.mark.parametrize(
    ("change", "gone"),
    [
        ({"tests": None}, ["permutations", "Freedman", "Westfall", "Zalesky"]),
        ({"accuracy": None, "models": {}}, ["cross-validation", "Nadeau"]),
        ({"models": {}}, ["factor analysis", "Jöreskog", "graphical lasso"]),
        ({"confidence": {}}, ["half samples", "Shah"]),
        ({"accuracy": None, "refinements": {}}, ["refined"]),
        ({"deviations": None}, ["deviation of each subject"]),
        (lambda one: {"tests": replace(one.tests, components=[])}, ["Zalesky"]),
        (lambda one: {"settings": replace(one.settings, outliers="keep")}, ["robust standard"]),
        (lambda one: {"review": one_site(one).review}, ["ComBat", "within sites", "sites held"]),
    ],
)
def test_it_does_not_say_what_was_not_done(compared, change, gone):
    text = describe_methods(compared).text
    less = describe_methods(replace(compared, **change(compared) if callable(change) else change))
    for said in gone:
        assert said in text
        assert said not in less.text


def test_white_space_of_names_stays_as_it_is(compared):
    name = "age\u00a0at  scan"
    found = of_cohort(compared, covariates={name: compared.cohort.covariates["age"]})
    text = "\n".join(describe_methods(found).paragraphs)
    assert f"Linear effects of {name}, estimated within the groups" in text
    assert "  " not in text.replace(name, "age")  # the templates' own white space is removed


def test_bibtex_has_all_references_and_the_program(compared):
    methods = describe_methods(compared)
    for work in methods.references:
        assert f"{{{work.key}," in methods.bibtex
    assert "@software{sgbn," in methods.bibtex


@pytest.fixture(scope="module")
def values():
    found = np.random.default_rng(0).normal(size=(100, 4))
    found[:, 2] += found[:, 0] + found[:, 1]
    return found


def cite(*keys):
    return f"[{', '.join(keys)}]"


def test_every_source_is_a_reference():
    assert set(SOURCES.values()) <= set(REFERENCES)


@pytest.mark.parametrize(
    ("learner", "said"),
    [
        (GS(0.01), "by GS [margaritis1999] with tests at level 0.01"),
        (IAMB(), "by IAMB [tsamardinos2003] with tests at level 0.05"),
        (InterIAMB(), "by InterIAMB [tsamardinos2003] with tests at level 0.05"),
        (L1MB(), "by L1MB [schmidt2007]"),
        (TC(), "by TC [pellet2008]"),
        (TCbw(0.02), "by TCbw [pellet2008] with tests at level 0.02"),
        (ORSGBN(0.2), "by ORSGBN [zhou2016] with the penalty alpha = 0.2"),
        (HSGBN(0.2), "by HSGBN [huang2013] with the penalty alpha = 0.2"),
    ],
)
def test_a_learner_is_named_with_its_own_source_and_setting(values, learner, said):
    if isinstance(learner, PenalizedEstimator):  # what is said of the others is known before
        learner.fit(values)
    assert learned_by([learner], cite) == said


@pytest.mark.parametrize(
    ("learner", "lasso"),
    [
        (SGBN(), False),
        (SGBN(weights="lasso"), True),
        (ORSGBN(), True),
        (ORSGBN(refit=True), False),
        (HSGBN(), True),
        (IAMB(), False),
    ],
)
def test_weights_are_what_the_learner_makes_them(learner, lasso):
    assert ("lasso" in weights_are(learner)) is lasso


def test_every_reference_has_what_a_list_and_bibtex_need():
    for key, work in REFERENCES.items():
        assert work.key == key
        assert str(work.year) in work.text
        assert work.title in work.text
        assert work.bibtex.count("{") == work.bibtex.count("}")
        assert work.bibtex.startswith(f"@{work.kind}{{{key},")
        assert not work.doi or re.fullmatch(r"10\.\d{4,}/\S+", work.doi)


@pytest.mark.parametrize(
    ("learners", "said"),
    [
        ([SGBNEnsemble(0.5, n_chains=2, n_pairs=0)], ("by 2 chains", "to the power of -0.5,")),
        ([ORSGBN("bic")], (", chosen by bic",)),
        ([SGBN(0.5), SGBN(1.0), SGBN(0.5)], ("with gamma = 0.5 and 1.",)),
    ],
)
def test_settings_of_a_learner_are_those_that_it_has(values, learners, said):
    text = learned_by([one.fit(values) for one in learners], cite)
    assert all(words in text for words in said)


def with_far(comparison):
    findings = [Finding("warning", "far").leaving_out(names) for names in ("ab", "c")]
    return replace(comparison, review=comparison.review.with_findings(findings))


def without_motion(comparison):
    return of_cohort(comparison, covariates={"age": comparison.cohort.covariates["age"]})


@pytest.mark.parametrize(
    ("change", "said", "gone"),
    [
        (without_motion, "Motion was not among the covariates.", "mean_fd"),
        (with_far, "volumes: 3 of the subjects.", "volumes: none of the subjects."),
        (
            lambda one: with_learners(one, lagged=True),
            "Linear effects of all regions at the previous volume were removed",
            "autoregressive",
        ),
    ],
)
def test_series_that_were_treated_otherwise_are_told_as_they_are(
    compared_series, change, said, gone
):
    before = describe_methods(compared_series).text
    after = describe_methods(change(compared_series)).text
    assert (said in before, gone in before) == (False, True)
    assert (said in after, gone in after) == (True, False)


def test_steps_that_were_not_done_are_not_described(compared_series):
    less = replace(compared_series, tests=None, accuracy=None, sensitivity=None, confidence={})
    text = describe_methods(less).text
    for word in ("permutations", "cross-validation", "half samples"):
        assert word not in text
