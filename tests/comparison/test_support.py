from types import SimpleNamespace

import numpy as np

from sgbn.comparison.names import called
from sgbn.comparison.steps.networks import agreement_words, min_shares, support_words, trust_words
from sgbn.learn.confidence import Agreement

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
    no_arrow = Agreement(4.0, 0.25, 0.0, NAN)
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
