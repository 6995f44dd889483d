from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sgbn import Cohort
from sgbn.cohort.rows import prepared_rows
from sgbn.comparison.names import called
from sgbn.comparison.report import skipped_steps
from sgbn.comparison.settings import Settings
from sgbn.comparison.step import steps_of
from sgbn.comparison.steps import networks
from sgbn.comparison.steps.accuracy import accuracy_section
from sgbn.comparison.steps.differences import differences_section
from sgbn.comparison.steps.networks import (
    agreement_words,
    default_ensemble,
    fast_learner,
    learn_network,
    min_shares,
    searcher_of,
    support_words,
    trust_words,
)
from sgbn.learn.confidence import Agreement
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.sgbn import SGBN
from sgbn.paper.h_sgbn import HSGBN
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.prepare.pipeline import prepare, regions_table
from sgbn.runs.study import Study

GROUP = np.repeat(["a", "b"], 40)
SITE = np.tile(["one", "two", "three", "four"], 20)


def cohort_of(**more):
    values = np.random.default_rng(0).standard_normal((80, 4))
    values[:, 1] += values[:, 0]
    return Cohort(values, ["p", "q", "r", "s"], range(80), group=GROUP, **more)


@pytest.mark.parametrize(
    ("settings", "n_pairs", "n_chains"),
    [
        (Settings(), 50, 100),
        (Settings.quick(), 17, 34),
        (Settings(n_pairs=400), 400, 100),
        (Settings(n_pairs=0), 0, 100),
    ],
)
def test_chains_go_with_the_pairs(settings, n_pairs, n_chains):
    ensemble = default_ensemble(settings)
    assert (ensemble.n_pairs, ensemble.n_chains) == (n_pairs, n_chains)


def test_the_seed_and_gamma_are_handed_on():
    ensemble = default_ensemble(Settings(seed=7), 0.5)
    assert (ensemble.random_state, ensemble.gamma) == (7, 0.5)


def test_other_steps_have_an_sgbn_in_place_of_an_ensemble():
    labels = np.repeat([0, 1], [1000, 10])
    assert searcher_of(SGBNEnsemble(), labels).gamma == 1.5  # of the largest group
    knowing = SGBNEnsemble(0.3, max_parents=3, forbidden=[(0, 1)], tiers=[[0], [1]])
    found = searcher_of(knowing, labels)
    assert found.gamma == 1.5  # an ensemble's gamma is that of its prior
    assert (found.max_parents, found.forbidden) == (3, [(0, 1)])
    assert found.tiers == [[0], [1]]
    given = HSGBN()
    assert searcher_of(given, labels) is given


def test_an_ensemble_has_no_step_of_its_own_for_the_confidence():
    settings = Settings.networks_only(n_pairs=3)
    assert steps_of(settings) == steps_of(settings, SGBNEnsemble()) == ("networks",)
    assert steps_of(settings, SGBN()) == ("networks", "confidence")


def test_the_fit_of_a_group_equals_that_of_the_ensemble_itself(tmp_path):
    cohort = prepare(cohort_of(site=SITE))
    ensemble = SGBNEnsemble(n_chains=3, n_pairs=2)
    found = learn_network(ensemble, cohort, "b", Study(tmp_path / "x", n_jobs=1))
    own, rows = GROUP == "b", prepared_rows(cohort, "b")
    effects = rows.effects[np.argsort(rows.places)]
    by_hand = SGBNEnsemble(n_chains=3, n_pairs=2).fit(
        regions_table(cohort)[own], nuisance=effects, strata=SITE[own]
    )
    np.testing.assert_array_equal(found.arrow_, by_hand.arrow_)
    np.testing.assert_array_equal(found.coef_, by_hand.coef_)
    assert any((tmp_path / "x").iterdir())
    assert found.n_jobs is None


def test_a_small_group_has_a_network_without_confidence(recwarn):
    cohort = prepare(cohort_of().subset(rows=np.r_[0:18, 40:80]))
    found = learn_network(SGBNEnsemble(n_chains=2, n_pairs=2), cohort, "a", Study())
    assert found.confidence_ is None
    assert found.n_pairs == 2
    assert not any("confidence_" in str(one.message) for one in recwarn)


def test_a_fast_learner_is_sgbn_without_kicks_and_tables_and_no_other_is_changed():
    given = SGBN(0.7, max_parents=3)
    fast = fast_learner(given)
    assert (fast.gamma, fast.max_parents) == (0.7, 3)
    assert (fast.effort, fast.n_kicks) == ("fast", 0)
    assert given.effort == "standard"
    other = ORSGBN()
    assert fast_learner(other) is other
    assert fast_learner(None) is None


NAN = float("nan")


def comparison_of(supported, agreements=(), skipped=None, agreed=None, **learner):
    """Comparison that has a count of supported edges, of 3, and an agreement, for each group."""
    coef = np.triu(np.ones((3, 3)), 1)
    groups = list(supported)
    masks = {group: np.arange(9).reshape(3, 3) < supported[group] for group in groups}
    return SimpleNamespace(
        learners={group: SimpleNamespace(coef_=coef, **learner) for group in groups},
        confidence={
            group: SimpleNamespace(agreement=one)
            for group, one in zip(groups, agreements, strict=False)
        },
        supported=masks,
        agreed={group: masks[group] | (agreed or masks)[group] for group in groups},
        groups=tuple(groups),
        reference=groups[0],
        skipped=skipped or {},
        models={},
        of_series=False,
    )


SOME = Agreement(20.0, 0.5, 2.5, 0.8)


def test_each_group_has_its_count():
    said = support_words(comparison_of({"a": 2, "b": 0, "c": 1}, [SOME] * 3))
    assert said.startswith("The direction of 2 of 3 edges in a, 0 of 3 in b and 1 of 3 in c is sup")
    assert "at least 80% of the networks of half samples join the pair, and at least 90%" in said


def test_one_edge_is_singular():
    found = comparison_of({"a": 0, "b": 1}, [SOME] * 2)
    found.learners["a"].coef_ = np.eye(3, k=2)
    assert support_words(found).startswith("The direction of 0 of 1 edge in a and 1 of 3 in b is")


def test_directions_of_shadows_are_said_and_not_counted():
    agreed = {"a": np.arange(9).reshape(3, 3) < 4, "b": np.zeros((3, 3), bool)}
    said = support_words(comparison_of({"a": 1, "b": 0}, [SOME] * 2, agreed=agreed))
    assert said.startswith("The direction of 1 of 3 edges in a and 0 of 3 in b is supported")
    assert "Half samples agree on further directions (3 in a). These do not count" in said


def test_the_threshold_is_that_of_the_ensemble():
    found = comparison_of({"a": 1}, [SOME], min_direction=0.975)
    assert min_shares(found) == (0.8, 0.975)
    assert "at least 97.5% of these have" in support_words(found)


def test_a_group_without_half_samples_is_not_counted():
    said = support_words(comparison_of({"a": 1, "b": 0}, [SOME]))
    assert "in a is supported" in said
    assert " b" not in said.split(":")[0]
    assert said.endswith("b has too few subjects for half samples.")


def test_trust_is_said_in_short():
    said = trust_words(comparison_of({"a": 2, "b": 0}, [SOME, Agreement(NAN, NAN, NAN, NAN)]))
    assert "half samples support: 2 of 3 in a and 0 of 3 in b." in said
    assert said.endswith("Edges that come back in the other half of the subjects: 50% in a.")
    assert "not asked for" in trust_words(comparison_of({"a": 0}))


def test_trust_leaves_out_groups_without_halves_and_names_shadows():
    found = comparison_of({"a": 2, "b": 0}, [SOME])
    found.models = {"a": SimpleNamespace(edges_may_be_shadows=True, edges_may_be_chance=False)}
    said = trust_words(found)
    assert "support: 2 of 3 in a. The other" in said
    assert "b has too few subjects for half samples." in said
    assert "In a, hidden common causes predict unseen subjects better" in said
    assert said.endswith("do not rely on single edges.")


def test_several_groups_without_halves_are_plural():
    said = support_words(comparison_of({"a": 1, "b": 0, "c": 0}, [SOME]))
    assert said.endswith("b and c have too few subjects for half samples.")


def test_trust_names_the_groups_whose_edges_may_be_chance():
    found = comparison_of({"a": 2, "b": 0}, [SOME] * 2)
    found.models = {
        group: SimpleNamespace(edges_may_be_shadows=False, edges_may_be_chance=chance)
        for group, chance in (("a", False), ("b", True))
    }
    said = trust_words(found)
    assert "In b, the network does not clearly predict unseen subjects better" in said
    assert "shadow" not in said
    assert "hidden" not in said


def test_without_half_samples_the_reason_is_said():
    assert "not asked for" in support_words(comparison_of({"a": 0}))
    assert "too few" in support_words(comparison_of({"a": 0}, skipped={"confidence": "too few."}))
    assert agreement_words(comparison_of({"a": 0})) == ""


def test_agreement_leaves_out_what_there_is_none_of():
    none = Agreement(0.0, NAN, 0.0, NAN)
    no_arrow = Agreement(4.0, 0.25, 0.02, 1.0)  # one direction in one of 50 halves
    said = agreement_words(comparison_of({"a": 0, "b": 0, "c": 0}, [SOME, none, no_arrow]))
    assert "half of a joins 20 pairs of regions on average, and the other half joins 50%" in said
    assert "One half is sure of 2.5 directions on average, and the other half has 80%" in said
    assert "half of b" not in said
    assert "half of c joins 4 pairs of regions on average, and the other half joins 25%" in said
    assert said.count("directions on average") == 1
    assert agreement_words(comparison_of({"b": 0}, [none])) == ""


def test_halves_of_series_have_one_network_each():
    found = comparison_of({"a": 1}, [SOME])
    found.of_series = True
    said = agreement_words(found)
    assert "The network of one half has 2.5 directions on average, and the other" in said
    assert "networks of half samples of the subjects join the pair" in support_words(found)


def test_a_group_that_is_a_number_is_called_a_group():
    assert [called(one) for one in ("0", "1.5", "CTR", "1a", "-1")] == [
        *("group 0", "group 1.5", "CTR", "1a"),
        "-1",
    ]
    assert "2 of 3 in group 1" in trust_words(comparison_of({"1": 2}, [SOME]))


def column(table, source):
    k = [field.source for field in table.fields].index(source)
    return [row.cells[k] for row in table.rows]


def test_nothing_tested_is_no_section(compared):
    assert differences_section(replace(compared, tests=None)) is None
    assert accuracy_section(replace(compared, accuracy=None)) is None
    assert networks.refinements_table(replace(compared, refinements={})) is None


def test_all_edges_are_there_with_their_confidence(compared):
    table = networks.edges_table(compared)
    assert table.total == len(compared.tables.edges) == len(table.rows)
    shares = [float(cell.exact) for cell in column(table, "adjacent")]
    assert all(0 <= share <= 1 for share in shares)


def test_subjects_say_whether_the_prediction_is_right(compared):
    table = networks.subjects_table(compared)
    assert len(table.rows) == len(compared.cohort)
    for group, predicted, right in zip(
        *(column(table, name) for name in ("group", "predicted", "right")), strict=True
    ):
        assert right.text == ("yes" if group.text == predicted.text else "no")


def test_refinements_say_whether_the_groups_differ(compared, nothing_differs):
    assert not networks.refinements_section(nothing_differs)["differ"]
    found = compared.tests
    some = replace(nothing_differs, tests=replace(nothing_differs.tests, global_p=0.01))
    assert networks.refinements_section(some)["differ"]
    assert not networks.groups_differ(replace(compared, tests=None))
    assert networks.groups_differ(compared) == (
        found.global_p <= 0.05 or (found.edges["q_both"] <= 0.05).any()
    )


def test_rows_of_persons_are_not_called_subjects(compared):
    person = np.array([f"{one}{k // 2}" for k, one in enumerate(compared.cohort.group)])
    cohort = replace(compared.cohort, person=person)
    known = replace(compared, review=replace(compared.review, cohort=cohort))
    titles = [field.title for field in networks.networks_table(known).fields]
    assert "rows" in titles
    assert "subjects" not in titles


def test_without_an_atlas_no_table_speaks_of_lobes(compared, three_compared):
    for one, there in ((compared, True), (three_compared, False)):
        section = differences_section(one)
        assert (section["lobes"] is not None) == there
        for table in (section["table"], networks.edges_table(one)):
            assert any("lobe" in field.title for field in table.fields) == there


@pytest.mark.parametrize("gone", ["accuracy", "deviations"])
def test_subjects_without_a_step_still_have_a_table(compared, gone):
    table = networks.subjects_table(replace(compared, **{gone: None}))
    assert len(table.rows) == len(compared.cohort)


def test_networks_say_what_is_supported_and_what_halves_find_again(compared):
    table = networks.networks_table(compared)
    names = ("edges", "supported", "halves", "edges_again")
    rows = zip(*(column(table, name) for name in names), strict=True)
    for group, (edges, supported, halves, again) in zip(compared.groups, rows, strict=True):
        assert int(edges.text) == np.count_nonzero(compared.learners[group].coef_)
        assert int(supported.text) == compared.supported[group].sum()
        assert int(halves.text) == compared.confidence[group].n_halves
        assert float(again.exact) == pytest.approx(compared.confidence[group].agreement.edges)


def test_what_no_learner_has_is_no_column(compared):
    titles = [field.source for field in networks.networks_table(compared).fields]
    assert "gamma" not in titles
    bare = networks.networks_table(replace(compared, confidence={}))
    assert "edges_again" not in [field.source for field in bare.fields]


def test_skipped_steps_have_their_words():
    few = SimpleNamespace(
        groups=("a", "b"),
        confidence={"a": None},
        skipped={"accuracy": "too few", "confidence": "few"},
    )
    assert skipped_steps(few) == [
        ("Telling the groups apart, cross-validated", "too few"),
        ("Confidence of edges, from half samples, of b", "few"),
    ]


def test_support_is_a_word_in_the_tables(compared):
    for table in (networks.edges_table(compared), differences_section(compared)["table"]):
        assert {cell.text for cell in column(table, "supported")} <= {"yes", "no"}
