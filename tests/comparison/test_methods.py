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
    prepared_in_folds,
    software,
    weights_are,
)
from sgbn.comparison.names import joined
from sgbn.inference.difference_tables import Among
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.search.plan import default_gamma
from sgbn.learn.sgbn import SGBN
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.l1mb import L1MB
from sgbn.paper.markov import GS, IAMB, InterIAMB
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.paper.penalised import PenalizedEstimator
from sgbn.paper.tc import TC, TCbw
from sgbn.prepare.findings import Finding


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


def test_it_says_what_was_done(compared):
    text = describe_methods(compared).text
    for said in ("ComBat", "age and sex", "2 sites", "39 permutations", "8 half samples"):
        assert said in text
    for cited in ("Zhou", "Chen", "Shah", "Freedman", "Westfall", "Nadeau", "Fortin"):
        assert cited in text
    for cited in ("MacKinnon JG, White H (1985)", "Benjamini Y, Hochberg Y (1995)"):
        assert cited in text
    assert "tested in both directions and by its partial correlation" in text
    assert "sgbn 0" in text


@pytest.mark.parametrize(
    ("without", "gone"),
    [
        ({"tests": None}, ["permutations", "Freedman", "Westfall", "Zalesky"]),
        ({"accuracy": None, "models": {}}, ["cross-validation", "Nadeau"]),
        ({"models": {}}, ["factor analysis", "Jöreskog", "graphical lasso"]),
        ({"confidence": {}}, ["half samples", "Shah"]),
        ({"refinements": {}}, ["refined"]),
        ({"deviations": None}, ["deviation of each subject"]),
    ],
)
def test_it_does_not_say_what_was_not_done(compared, without, gone):
    kept = {"accuracy": None} | without if "refinements" in without else without
    text = describe_methods(replace(compared, **kept)).text
    for said in gone:
        assert said not in text


def test_gaps_of_covariates_are_said_with_their_number(compared):
    assert "Covariates were missing" not in describe_methods(compared).text
    cohort = compared.cohort
    age = cohort.covariates["age"].copy()
    age[:3] = np.nan
    gaps = replace(cohort, covariates=cohort.covariates | {"age": age})
    text = describe_methods(replace(compared, review=replace(compared.review, cohort=gaps))).text
    assert "Covariates were missing in some subjects (age in 3)" in text


def test_without_sites_covariates_and_gaps_nothing_of_the_kind_is_said(three_compared):
    text = describe_methods(three_compared).text
    for said in ("ComBat", "regressed", "Missing", "Johnson"):
        assert said not in text
    assert "Wald statistic of its weights in the 3 groups, with HC3 variances" in text
    assert "closed tests" in text
    assert "Marcus R, Peritz E, Gabriel KR (1976)" in text


def test_permutations_are_called_exact_only_where_they_are(compared, three_compared):
    assert "permutations are exact" in describe_methods(three_compared).text
    assert "exact" not in describe_methods(compared).text  # covariates are held fixed by regression


def test_closed_tests_and_what_was_named_are_said_only_where_they_were_done(compared):
    text = describe_methods(compared).text
    for said in ("closed tests", "Marcus", "before the data were seen"):
        assert said not in text
    found = compared.tests
    among = Among(compared.cohort.regions[:2], 0.1, 0.1, found.edges[:1])
    more = replace(compared, tests=replace(found, named=found.edges[:1], among=among))
    text = describe_methods(more).text
    assert f"({found.edges['source'][0]} to {found.edges['target'][0]}) were tested by" in text
    assert f"All edges among {' and '.join(compared.cohort.regions[:2])}, which we declare" in text


def test_white_space_of_names_stays_as_it_is(compared):
    name = "age\u00a0at  scan"
    cohort = replace(compared.cohort, covariates={name: compared.cohort.covariates["age"]})
    methods = describe_methods(replace(compared, review=replace(compared.review, cohort=cohort)))
    text = "\n".join(methods.paragraphs)
    assert f"Linear effects of {name}, estimated within the groups" in text
    assert f"effects of {name} (over all its subjects" in text
    # the templates' own white space is removed
    assert "  " not in text.replace(name, "age")
    assert text.count("\n") == len(methods.paragraphs) - 1


def test_who_was_left_out_is_said_with_counts(compared):
    text = describe_methods(compared).text
    counts = [f"{len(compared.left_out[group])} of 60 {group}" for group in compared.groups]
    assert f"were left out of networks and tests of differences: {' and '.join(counts)}." in text
    untested = describe_methods(replace(compared, tests=None)).text
    assert f"were left out of networks: {' and '.join(counts)}." in untested
    kept = replace(compared, settings=replace(compared.settings, outliers="keep"))
    assert "robust standard deviations" not in describe_methods(kept).text


def test_components_are_cited_only_where_there_are_any(compared):
    none = replace(compared, tests=replace(compared.tests, components=[]))
    assert "Zalesky" not in describe_methods(none).text


def test_the_threshold_of_components_is_that_of_the_number_of_groups(compared, three_compared):
    # The statistic of three groups has no sign, and its threshold is not the one of two groups.
    said = {"rarer than a z of 3": three_compared, "larger in size than 3": compared}
    for words, comparison in said.items():
        assert len(comparison.tables.components)
        text = describe_methods(comparison).text
        assert [other for other in said if other in text] == [words]


def test_pairs_are_said(compared):
    cohort = replace(compared.cohort, pair=np.tile([f"p{k}" for k in range(60)], 2))
    paired = replace(compared, review=replace(compared.review, cohort=cohort))
    text = describe_methods(paired).text
    assert "paired visits of 60 persons" in text
    assert "persons without exactly one visit in each group" in text
    assert "within sites and persons" in text
    assert "visits of a person in one fold" in text


def test_persons_and_families_are_said(compared):
    person = np.array([f"{one}{k // 2}" for k, one in enumerate(compared.cohort.group)])
    cohort = replace(compared.cohort, person=person)
    several = replace(compared, review=replace(compared.review, cohort=cohort))
    text = describe_methods(several).text
    assert f"120 rows of these {len(set(person))} persons" in text
    assert "control (n = 30) and patient (n = 30)" in text
    assert "Rows of one person were exchanged, halved and cross-validated together." in text
    without = replace(several, accuracy=None)
    assert "were exchanged and halved together." in describe_methods(without).text
    assert "within sites (all rows of a person" in text
    assert "the rows of a person in one fold" in text
    assert "Winkler" in describe_methods(several).bibtex
    cohort = replace(cohort, block=person)
    families = replace(compared, review=replace(compared.review, cohort=cohort))
    text = describe_methods(families).text
    assert "Rows of one person and of one family were exchanged" in text
    assert "families of one group as a whole and members of other families among themselves" in text
    assert "the rows of a family in one fold" in text


def test_bibtex_has_all_references_and_the_program(compared):
    methods = describe_methods(compared)
    for work in methods.references:
        assert f"{{{work.key}," in methods.bibtex
    assert "@software{sgbn," in methods.bibtex


def test_another_learner_is_named(three_compared):
    learners = {
        group: ORSGBN().fit(three_compared.regions[three_compared.cohort.group == group])
        for group in three_compared.groups
    }
    found = replace(three_compared, learners=learners, searcher=ORSGBN())
    text = describe_methods(found).text
    assert "learned by ORSGBN" in text
    assert "with the penalty alpha = 0.1" in text
    assert "Weights are lasso coefficients" in text
    assert "n_kicks" not in text
    assert f"with gamma = {default_gamma(90):.3g} learned from the pooled" in text


def test_each_step_names_the_learner_that_it_has(compared):
    gamma = compared.searcher.gamma
    text = describe_methods(compared).text
    assert "Weights are least-squares coefficients" in text
    assert "learned by SGBNEnsemble" in text
    assert "8 chains" in text
    assert "a posterior of each of 8 half samples" in text
    assert "networks learned by SGBN were refined" in text
    assert "n_kicks" not in text
    assert f"with gamma = {gamma:.3g} learned from the pooled residuals" in text
    assert "one SGBN per group, with settings found inside the training part" in text


def test_a_gamma_that_was_not_given_is_that_of_all_rows(compared):
    learners = {
        group: SGBN().fit(compared.regions[compared.cohort.group == group])
        for group in compared.groups
    }
    text = describe_methods(replace(compared, learners=learners, searcher=SGBN())).text
    assert "without the random kicks of the search (n_kicks = 0)" in text
    assert f"with gamma = {default_gamma(120):.3g} learned from the pooled residuals" in text


def test_what_supported_means_is_said_and_compelled_is_not(compared):
    text = describe_methods(compared).text
    assert "called supported if at least 80% of these networks join its two regions" in text
    assert "at least 90% of the networks that join them have this direction" in text
    assert "removed from each half by itself. Sites were balanced" in text
    assert not any(word in text for word in ("compelled", "decide", "reversible"))
    learners = {group: copy(one) for group, one in compared.learners.items()}
    for learner in learners.values():
        learner.set_params(min_direction=0.95)
    assert "at least 95%" in describe_methods(replace(compared, learners=learners)).text


def test_one_site_is_no_site(compared):
    cohort = replace(compared.cohort, site=np.full(len(compared.cohort), "A"))
    text = describe_methods(replace(compared, review=replace(compared.review, cohort=cohort))).text
    for said in ("ComBat", "within sites", "and sites held fixed", "at the same site"):
        assert said not in text


def test_preparation_inside_the_folds_is_told_as_it_is(compared, three_compared):
    chosen = replace(compared, settings=replace(compared.settings, select=5))
    said = prepared_in_folds(chosen)
    for step in ("without regard to the groups", "not within the groups", "missing cells"):
        assert step in said
    assert "the 5 regions with the largest F" in said
    assert said in describe_methods(chosen).text
    plain = prepared_in_folds(three_compared)
    assert "standardised" in plain
    for step in ("ComBat", "missing", "effects of", "largest F"):
        assert step not in plain


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


@pytest.fixture(scope="module")
def values():
    found = np.random.default_rng(0).normal(size=(100, 4))
    found[:, 2] += found[:, 0] + found[:, 1]
    return found


def cite(*keys):
    return f"[{', '.join(keys)}]"


def test_lists_read_as_a_sentence():
    assert joined([]) == ""
    assert joined(["a"]) == "a"
    assert joined(["a", "b", "c"]) == "a, b and c"


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


def test_an_ensemble_says_how_many_chains_and_which_prior(values):
    said = learned_by([SGBNEnsemble(0.5, n_chains=2, n_pairs=0).fit(values)], cite)
    assert said.startswith("by SGBNEnsemble, the consensus of networks drawn from posteriors")
    assert "[friedman2003] by 2 chains" in said
    assert "to the power of -0.5, with m regions" in said
    assert "-0.75" in learned_by([SGBNEnsemble()], cite)  # the default of the prior


def test_a_penalty_that_was_chosen_says_by_what(values):
    assert learned_by([ORSGBN("bic").fit(values)], cite).endswith(", chosen by bic")


def test_every_gamma_is_named_once(values):
    fitted = [SGBN(gamma).fit(values) for gamma in (0.5, 1.0, 0.5)]
    assert "with gamma = 0.5 and 1." in learned_by(fitted, cite)


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


def test_the_paper_is_that_of_the_citation_file():
    work = REFERENCES["zhou2016"]
    assert work.doi == "10.1109/TPAMI.2015.2511754"
    assert work.text.startswith("Zhou L, Wang L, Liu L, Ogunbona P, Shen D (2016).")


def test_more_authors_are_et_al_in_text_and_others_in_bibtex():
    assert "et al." in REFERENCES["fortin2018"].text
    assert "and others" in REFERENCES["fortin2018"].bibtex


def test_the_program_is_cited_with_its_version():
    assert "Version 1.2.3" in software("1.2.3").text
    assert "year" not in software("1.2.3").bibtex


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
