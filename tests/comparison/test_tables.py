from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sgbn.comparison import tables
from sgbn.comparison.steps import differences
from sgbn.core.graph import kinds_of_change
from sgbn.inference.difference_tables import Among


def test_edges_of_all_groups_with_confidence_and_truth(whole):
    table = whole.tables.edges
    assert table["group"].unique().tolist() == ["patient", "control"]
    for group, learner in whole.learners.items():
        own = table[table["group"] == group]
        assert len(own) == np.count_nonzero(learner.coef_)
        confidence = whole.confidence[group]
        place = {name: k for k, name in enumerate(whole.cohort.regions)}
        for row in own.itertuples():
            i, j = place[row.source], place[row.target]
            assert row.adjacent == confidence.adjacency_[i, j]
            assert row.supported == whole.supported[group][i, j]
            assert row.low <= row.weight <= row.high
            assert row.weight == pytest.approx(learner.coef_[i, j])
            assert row.true_weight_std == whole.truth[group][i, j]
            assert row.source_lobe == whole.cohort.lobes[i]
    assert table["this_way"].dropna().between(0, 1).all()


def test_edges_say_which_stay_beside_factors(whole):
    table = whole.tables.edges.set_index(["group", "source", "target"])
    for group, found in whole.beside_factors.items():
        for row in found:
            said = table.loc[(group, row.source, row.target), "beside_factors"]
            assert said == ("stays" if row.stays else "goes")


def test_changes_have_intervals_of_single_edges(whole):
    table = whole.tables.differences
    low, high = stats.norm.interval(0.95, table["difference_std"], table["standard_error"])
    np.testing.assert_allclose(table[["low", "high"]], np.column_stack([low, high]))
    narrow = replace(whole, settings=replace(whole.settings, level=0.32))
    width = narrow.tables.differences["high"] - narrow.tables.differences["low"]
    np.testing.assert_allclose(width / 2, table["standard_error"], rtol=0.01)


def test_models_have_a_row_each(whole):
    table = whole.tables.models
    assert table["group"].unique().tolist() == ["patient", "control"]
    own = table[table["group"] == "control"].set_index("model")
    expected = whole.models["control"]
    assert own.loc["network", "difference"] == 0
    assert own.loc["factor analysis", "factors"] == expected.n_factors
    assert own["factors"].notna().sum() == 1
    np.testing.assert_array_equal(own["log_likelihood"], expected.table.log_likelihood)


def test_differences_say_which_are_true(whole):
    table = whole.tables.differences
    assert len(table) == len(whole.tests.edges)
    for each in (table, whole.tables.hubs, whole.tables.lobes):
        assert each["p_fwer"].is_monotonic_increasing  # the surest first
    true = (table["true_control"] - table["true_patient"]).abs() > differences.PRESENT
    np.testing.assert_array_equal(table["true_change"], true)


def test_differences_have_both_ways_and_no_property_of_a_graph(whole):
    table = whole.tables.differences
    assert {"q_both", "p_fwer_both", "p_both", "standard_error", "from_pool"} <= set(table)
    assert "graph_direction" not in table


def test_what_was_named_and_pairs_of_groups_are_tables(whole):
    for name in ("named", "among", "pairwise"):
        assert getattr(whole.tables, name).empty
    edges = whole.tests.edges
    among = Among(("a", "b"), 0.2, 0.1, edges[::-1])
    more = replace(
        whole.tests,
        named=edges[:2],
        among=among,
        pairwise={("x", "y"): edges[:3], ("x", "z"): edges[:1]},
    )
    found = replace(whole, tests=more)
    assert found.tables.named["source"].tolist() == edges["source"][:2].tolist()
    assert found.tables.among["p_fwer"].is_monotonic_increasing
    pairs = found.tables.pairwise[["group", "other"]].to_numpy().tolist()
    assert pairs == [["x", "y"]] * 3 + [["x", "z"]]


def test_a_difference_is_an_arrow_where_any_group_supports_it(whole):
    sure = whole.learners["control"].coef_ != 0
    known = replace(whole)
    vars(known)["supported"] = {group: sure * (group == "control") for group in known.groups}
    found = known.tables.differences
    place = {name: k for k, name in enumerate(whole.cohort.regions)}
    wanted = [sure[place[row.source], place[row.target]] for row in found.itertuples()]
    assert found["supported"].tolist() == wanted
    assert any(wanted)
    assert not all(wanted)


def test_a_change_is_named_from_the_reference_on(whole):
    reference, other = whole.groups
    table = whole.tables.differences
    before, after = (table[f"weight_std_{group}"] for group in (reference, other))
    assert table[f"kind_{other}"].tolist() == kinds_of_change(before, after).tolist()
    assert f"kind_{reference}" not in table


def test_weights_per_sd_give_the_difference_per_sd(whole):
    table = whole.tables.differences
    last, first = (table[f"weight_std_{group}"] for group in ("control", "patient"))
    np.testing.assert_allclose(last - first, table["difference_std"], atol=1e-12)
    assert "weight_control" in table


def test_scale_of_an_unchanged_edge_is_nearly_that_of_the_table(whole):
    table = whole.tables.differences
    known = differences._per_sd(whole, table)
    guessed = differences._per_sd(whole, table.assign(difference=0.0))
    np.testing.assert_allclose(guessed, known, rtol=0.05)


def test_subjects_have_probabilities_and_reasons(whole):
    table = whole.tables.subjects
    assert table["subject"].tolist() == list(whole.given)
    both = table[["probability_control", "probability_patient"]]
    np.testing.assert_allclose(both.sum(axis=1), 1)
    best = both.idxmax(axis=1).str.removeprefix("probability_")
    assert (best == table["predicted"]).all()
    assert table["because"].str.len().min() > 0


def test_what_speaks_for_the_predicted_group_is_positive():
    parts = np.array(
        [("", "x", 2.0), ("x", "y", -1.0)],
        dtype=[("source", object), ("target", object), ("value", float)],
    )
    assert tables._because(parts, ["a", "b"], "a") == "x +2.00; x – y -1.00"
    assert tables._because(parts, ["a", "b"], "b") == "x -2.00; x – y +1.00"
    assert tables._because(parts, ["a", "b"], "c").startswith("a over b: x +2.00")
    parts["value"] = -0.001
    assert "-0.00" not in tables._because(parts, ["a", "b"], "a")


def test_steps_that_were_left_out_give_empty_tables(networks_alone):
    for name in ("named", "among", "pairwise"):
        assert getattr(networks_alone.tables, name).empty
    for name in ("models", "differences", "hubs", "lobes", "components", "accuracy", "refinements"):
        assert getattr(networks_alone.tables, name).empty
    assert networks_alone.tables.subjects.columns.tolist() == ["subject", "group"]
    assert "adjacent" not in networks_alone.tables.edges


def test_components_are_listed_edge_by_edge(whole):
    table = whole.tables.components
    assert len(table) == sum(len(one.pairs) for one, *_ in whole.tests.components)


def test_tables_are_made_once_and_anew_for_another_comparison(whole):
    assert whole.tables is whole.tables
    assert replace(whole, tests=None).tables.differences.empty
    assert len(whole.tables.differences)
