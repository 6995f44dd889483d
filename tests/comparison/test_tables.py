from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from sgbn import SGBN, simulate_cohort
from sgbn.comparison import Settings, compare, tables
from sgbn.inference.difference_tables import Among
from sgbn.inference.kinds_of_change import kinds_of_change


@pytest.fixture(scope="module")
def comparison():
    settings = Settings(
        reference="patient",
        n_permutations=39,
        n_pairs=3,
        n_folds=2,
        n_repeats=1,
        refinements=("CL-SGBN",),
        peers=False,
    )
    return compare(simulate_cohort(60, regions=8), settings)


def test_edges_of_all_groups_with_confidence_and_truth(comparison):
    table = comparison.tables.edges
    assert table["group"].unique().tolist() == ["patient", "control"]
    for group, learner in comparison.learners.items():
        own = table[table["group"] == group]
        assert len(own) == np.count_nonzero(learner.coef_)
        confidence = comparison.confidence[group]
        place = {name: k for k, name in enumerate(comparison.cohort.regions)}
        for row in own.itertuples():
            i, j = place[row.source], place[row.target]
            assert row.adjacent == confidence.adjacency_[i, j]
            assert row.supported == comparison.supported[group][i, j]
            assert row.low <= row.weight <= row.high
            assert row.weight == pytest.approx(learner.coef_[i, j])
            assert row.true_weight_std == comparison.truth[group][i, j]
            assert row.source_lobe == comparison.cohort.lobes[i]
    assert table["this_way"].dropna().between(0, 1).all()


def test_edges_say_which_stay_beside_factors(comparison):
    table = comparison.tables.edges.set_index(["group", "source", "target"])
    for group, found in comparison.beside_factors.items():
        for row in found:
            said = table.loc[(group, row.source, row.target), "beside_factors"]
            assert said == ("stays" if row.stays else "goes")


def test_changes_have_intervals_of_single_edges(comparison):
    table = comparison.tables.differences
    low, high = stats.norm.interval(0.95, table["difference_std"], table["standard_error"])
    np.testing.assert_allclose(table[["low", "high"]], np.column_stack([low, high]))
    narrow = replace(comparison, settings=replace(comparison.settings, level=0.32))
    width = narrow.tables.differences["high"] - narrow.tables.differences["low"]
    np.testing.assert_allclose(width / 2, table["standard_error"], rtol=0.01)


def test_models_have_a_row_each(comparison):
    table = comparison.tables.models
    assert table["group"].unique().tolist() == ["patient", "control"]
    own = table[table["group"] == "control"].set_index("model")
    expected = comparison.models["control"]
    assert own.loc["network", "difference"] == 0
    assert own.loc["factor analysis", "factors"] == expected.n_factors
    assert own["factors"].notna().sum() == 1
    np.testing.assert_array_equal(own["log_likelihood"], expected.table.log_likelihood)


def test_differences_say_which_are_true(comparison):
    table = comparison.tables.differences
    assert len(table) == len(comparison.tests.edges)
    assert table["p_fwer"].is_monotonic_increasing
    true = (table["true_control"] - table["true_patient"]).abs() > tables.PRESENT
    np.testing.assert_array_equal(table["true_change"], true)


def test_differences_have_both_ways_and_no_property_of_a_graph(comparison):
    table = comparison.tables.differences
    assert {"q_both", "p_fwer_both", "p_both", "standard_error", "from_pool"} <= set(table)
    assert "graph_direction" not in table


def test_what_was_named_and_pairs_of_groups_are_tables(comparison):
    for name in ("named", "among", "pairwise"):
        assert getattr(comparison.tables, name).empty
    edges = comparison.tests.edges
    among = Among(("a", "b"), 0.2, 0.1, edges[::-1])
    more = replace(
        comparison.tests,
        named=edges[:2],
        among=among,
        pairwise={("x", "y"): edges[:3], ("x", "z"): edges[:1]},
    )
    found = replace(comparison, tests=more)
    assert found.tables.named["source"].tolist() == edges["source"][:2].tolist()
    assert found.tables.among["p_fwer"].is_monotonic_increasing
    pairs = found.tables.pairwise[["group", "other"]].to_numpy().tolist()
    assert pairs == [["x", "y"]] * 3 + [["x", "z"]]


def test_a_difference_is_an_arrow_where_any_group_supports_it(comparison):
    sure = comparison.learners["control"].coef_ != 0
    known = replace(comparison)
    vars(known)["supported"] = {group: sure * (group == "control") for group in known.groups}
    found = known.tables.differences
    place = {name: k for k, name in enumerate(comparison.cohort.regions)}
    wanted = [sure[place[row.source], place[row.target]] for row in found.itertuples()]
    assert found["supported"].tolist() == wanted
    assert any(wanted)
    assert not all(wanted)


def test_a_change_is_named_from_the_reference_on(comparison):
    reference, other = comparison.groups
    table = comparison.tables.differences
    before, after = (table[f"weight_std_{group}"] for group in (reference, other))
    assert table[f"kind_{other}"].tolist() == kinds_of_change(before, after).tolist()
    assert f"kind_{reference}" not in table


def test_weights_per_sd_give_the_difference_per_sd(comparison):
    table = comparison.tables.differences
    last, first = (table[f"weight_std_{group}"] for group in ("control", "patient"))
    np.testing.assert_allclose(last - first, table["difference_std"], atol=1e-12)
    assert "weight_control" in table


def test_scale_of_an_unchanged_edge_is_nearly_that_of_the_table(comparison):
    table = comparison.tables.differences
    known = tables._per_sd(comparison, table)
    guessed = tables._per_sd(comparison, table.assign(difference=0.0))
    np.testing.assert_allclose(guessed, known, rtol=0.05)


def test_subjects_have_probabilities_and_reasons(comparison):
    table = comparison.tables.subjects
    assert table["subject"].tolist() == list(comparison.cohort.ids)
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


def test_hubs_and_lobes_have_the_surest_first(comparison):
    for table in (comparison.tables.hubs, comparison.tables.lobes):
        assert table["p_fwer"].is_monotonic_increasing


def test_steps_that_were_left_out_give_empty_tables():
    bare = compare(simulate_cohort(30, regions=6), Settings.networks_only(), learner=SGBN())
    for name in ("named", "among", "pairwise"):
        assert getattr(bare.tables, name).empty
    for name in ("models", "differences", "hubs", "lobes", "components", "accuracy", "refinements"):
        assert getattr(bare.tables, name).empty
    assert bare.tables.subjects.columns.tolist() == ["subject", "group"]
    assert "adjacent" not in bare.tables.edges


def test_components_are_listed_edge_by_edge(comparison):
    table = comparison.tables.components
    assert len(table) == sum(len(one.pairs) for one, *_ in comparison.tests.components)


def test_tables_are_made_once_and_anew_for_another_comparison(comparison):
    assert comparison.tables is comparison.tables
    assert replace(comparison, tests=None).tables.differences.empty
    assert len(comparison.tables.differences)


def test_tables_are_shown_by_their_sizes_alone(comparison):
    text = repr(comparison.tables)
    assert f"differences {len(comparison.differences)} x " in text
    assert "replication" not in text  # not done
    assert len(text) < 300
