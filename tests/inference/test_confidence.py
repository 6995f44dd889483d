import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from tests.codes import refused, warned

from sgbn import Cohort
from sgbn.cohort.rows import rows_of_group
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.equivalence import skeleton
from sgbn.core.problems import StudyError
from sgbn.inference.confidence import (
    check_learner,
    edge_confidence,
    learn_halves,
    learn_pair,
    learn_part,
)
from sgbn.learn.base import NetworkEstimator
from sgbn.learn.confidence import selection_bound, supported_of
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.sgbn import SGBN
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.runs.study import Study


def test_on_data_the_true_pairs_are_frequent_and_the_others_are_not(simulate):
    X, truth = simulate(12, 400, 0, degree=2.0)
    confidence = edge_confidence(X, SGBN(n_kicks=0), n_pairs=8)
    pairs = skeleton(truth.coef)
    np.testing.assert_allclose(confidence.arrow_ + confidence.arrow_.T, confidence.adjacency_)
    assert confidence.adjacency_[pairs].mean() > 0.95
    assert confidence.adjacency_[~pairs].mean() < 0.05
    np.testing.assert_array_equal(skeleton(confidence.consensus()), pairs)
    assert confidence.agreement.edges > 0.9


def test_by_default_the_numbers_are_those_of_an_ensemble(simulate):
    X, _ = simulate(5, 200, 0)
    found = edge_confidence(X, n_pairs=2)
    fitted = SGBNEnsemble(n_chains=1, n_pairs=2).fit(X)
    np.testing.assert_array_equal(found.arrow_, fitted.arrow_)
    assert found.agreement == fitted.confidence_.agreement


def test_a_direction_that_the_graph_leaves_open_counts_half():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 2))
    X[:, 1] += 2 * X[:, 0]
    (edge,) = edge_confidence(X, SGBN(), n_pairs=5).edges()
    assert (edge.adjacency, edge.direction) == (1.0, 0.5)


def test_permuting_columns_permutes_the_frequencies(simulate):
    X, _ = simulate(6, 60, 1)
    order = np.random.default_rng(0).permutation(6)
    first, second = (edge_confidence(rows, n_pairs=2) for rows in (X, X[:, order]))
    np.testing.assert_array_equal(second.adjacency_, first.adjacency_[np.ix_(order, order)])


def test_a_group_of_a_cohort_and_its_rows_give_the_same():
    cohort = simulate_cohort(40, regions=6)
    group = cohort.groups[0]
    by_name = edge_confidence(cohort, group=group, n_pairs=2)
    by_rows = edge_confidence(cohort.of_group(group), n_pairs=2)
    np.testing.assert_array_equal(by_name.arrow_, by_rows.arrow_)
    assert by_name.names == cohort.regions


def test_sites_of_a_cohort_make_no_edges():
    rng = np.random.default_rng(0)
    site = np.tile(["A", "B"], 40)
    values = rng.standard_normal((80, 3)) + 4.0 * (site == "B")[:, None]
    ids = [str(k) for k in range(80)]
    before, after = (Cohort(values, ("a", "b", "c"), ids, site=one) for one in (None, site))
    assert edge_confidence(before, SGBN(), n_pairs=5).n_adjacent >= 2
    assert edge_confidence(after, SGBN(), n_pairs=5).n_adjacent < 0.5


def test_warnings_have_the_names_of_the_columns(simulate):
    table = pd.DataFrame(simulate(3, 40, 0)[0], columns=["insula", "amygdala", "copy"])
    table["copy"] = table["insula"]
    with warned("columns.copies") as caught:
        edge_confidence(table, n_pairs=1)
    assert "'copy' and 'insula'" in str(caught[0].message)


def test_the_bound_holds_for_pairs_of_low_probability():
    """Pairs are found in a half when their score in it is high: probabilities are known then."""
    rng = np.random.default_rng(0)
    n, n_pairs, threshold, theta = 40, 20, 0.6, 0.3
    effects = np.repeat([0.0, 0.1, 0.8], [20, 10, 10])
    unstable, chosen = [], []
    for _ in range(80):
        X = rng.standard_normal((n, len(effects))) + effects
        shares = np.zeros(len(effects))
        for _ in range(n_pairs):
            order = rng.permutation(n)
            shares += sum(X[half].mean(axis=0) > 0.2 for half in np.split(order, 2))
        unstable.append((shares >= threshold * 2 * n_pairs)[:30].sum())
        chosen.append(shares[:30].sum() / (2 * n_pairs))
    # the first 30 are chosen from 20 rows with a probability of .19 and .33, the last with .996
    assert np.mean(chosen) / 30 < theta
    assert 0 < np.mean(unstable) <= selection_bound(threshold, 0.33, np.mean(chosen))


def test_support_comes_from_the_learner_else_from_half_samples_else_from_nowhere(simulate):
    X, _ = simulate(4, 60, 0)
    learner = SGBN().fit(X)
    assert not supported_of(learner).any()
    assert not supported_of(learner.network_).any()
    halves = edge_confidence(X, SGBN(n_kicks=0), n_pairs=2)
    wanted = halves.supported(learner.coef_)
    np.testing.assert_array_equal(supported_of(learner, halves), wanted)
    np.testing.assert_array_equal(supported_of(learner.network_, halves), wanted)
    ensemble = SGBNEnsemble(n_chains=1, n_pairs=2, min_direction=0.5).fit(X)
    np.testing.assert_array_equal(supported_of(ensemble, halves), ensemble.supported_)


FAST = SGBN(n_kicks=0)


class Witness(SGBN):
    """A learner that keeps the rows it was given."""

    seen: list = []  # noqa: RUF012

    def learn(self, moments, values, names):
        self.seen.append(values)
        return super().learn(moments, values, names)


@pytest.mark.parametrize("n", [40, 41])
def test_the_halves_of_a_pair_share_no_row(simulate, n):
    X, _ = simulate(4, n, 0)
    Witness.seen.clear()
    learn_pair(rows_of_group(X), Witness(n_kicks=0), 0, 3)
    first, second = ({tuple(row) for row in half} for half in Witness.seen)
    assert sorted([len(first), len(second)]) == [n // 2, n - n // 2]
    assert not first & second
    assert first | second <= {tuple(row) for row in X}


def test_edges_are_those_of_a_fit_to_each_half(simulate):
    X, _ = simulate(6, 80, 1)
    Witness.seen.clear()
    found = learn_pair(rows_of_group(X), Witness(n_kicks=0), 0, 2)["arrows"]
    wanted = np.zeros((6, 6))
    for half in Witness.seen:
        fitted = SGBN(n_kicks=0).fit(half)
        wanted += (fitted.cpdag_ & ~fitted.cpdag_.T) / 2  # the same way in the whole class
        wanted += (fitted.cpdag_ & fitted.cpdag_.T) / 4  # either way
    np.testing.assert_array_equal(found, wanted)


def test_results_do_not_depend_on_jobs_and_can_be_taken_up_again(simulate, tmp_path):
    rows = rows_of_group(simulate(6, 40, 2)[0])
    plain = learn_halves(rows, FAST, 4, 0, Study()).arrow_
    np.testing.assert_array_equal(plain, learn_halves(rows, FAST, 4, 0, Study(n_jobs=2)).arrow_)
    learn_halves(rows, FAST, 2, 0, Study(tmp_path))
    first = tmp_path / "tasks" / "pair00001.npz"
    written = first.stat().st_mtime_ns
    np.testing.assert_array_equal(plain, learn_halves(rows, FAST, 4, 0, Study(tmp_path)).arrow_)
    assert first.stat().st_mtime_ns == written
    with refused("study.settings", kind=StudyError):
        learn_halves(rows, FAST, 4, 1, Study(tmp_path))
    assert not np.array_equal(learn_halves(rows, FAST, 4, 1, Study()).arrow_, plain)


def test_the_data_are_not_changed(simulate):
    X, _ = simulate(5, 40, 3)
    before = X.copy()
    learn_halves(rows_of_group(X), FAST, 2, 0, Study())
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize(
    ("n", "options", "code"),
    [
        (30, {"n_pairs": 0}, "argument"),
        (30, {"random_state": -1}, "argument"),
        (19, {"n_pairs": 1}, "halves.few"),
    ],
)
def test_wrong_numbers_and_too_few_rows_are_refused(simulate, n, options, code):
    with refused(code):
        edge_confidence(simulate(4, n, 0)[0], FAST, **options)


def test_many_columns_for_halves_are_warned_of(simulate):
    with warned("rows.few-for-columns"):
        learn_halves(rows_of_group(simulate(40, 22, 0)[0]), FAST, 1, 0, Study())


def test_a_folder_of_another_learner_is_refused(simulate, tmp_path):
    names = [f"{k:090}" for k in range(12)]  # so long that the repr of a learner is cut
    rows = rows_of_group(pd.DataFrame(simulate(12, 50, 0)[0], columns=names))
    first, second = (
        SGBN(n_kicks=0, tiers=[names[:6], names[6:]]),
        SGBN(n_kicks=0, tiers=[names[:7], names[7:]]),
    )
    assert repr(first) == repr(second)
    learn_halves(rows, first, 1, 0, Study(tmp_path))
    with refused("study.settings", kind=StudyError):
        learn_halves(rows, second, 1, 0, Study(tmp_path))


def test_a_column_that_is_constant_in_some_halves_has_no_edge_there_and_is_named(simulate):
    X, _ = simulate(4, 40, 0)
    X[:, 2] = 0.0
    X[:3, 2] = X[:3, 1]
    with warned("halves.constant"):
        found = learn_halves(rows_of_group(X), FAST, 5, 0, Study())
    assert found.adjacency_[3].any()  # columns after it keep their places
    assert found.adjacency_[2].sum() < found.adjacency_[3].sum()
    with refused("halves.knowledge"):
        learn_halves(rows_of_group(X), SGBN(n_kicks=0, forbidden=[("x3", "x0")]), 5, 0, Study())


def test_prior_knowledge_reaches_the_halves_by_name(simulate):
    rows = rows_of_group(simulate(5, 60, 0)[0])
    tiers = [["x4"], ["x3"], ["x2"], ["x1"], ["x0"]]
    found = learn_halves(rows, SGBN(n_kicks=0, tiers=tiers), 2, 0, Study())
    assert found.arrow_.any()
    assert not np.triu(found.arrow_).any()  # from later to earlier columns alone


def test_any_learner_of_sgbn_will_do(simulate):
    from sgbn.paper.markov import IAMB
    from sgbn.paper.or_sgbn import ORSGBN

    rows = rows_of_group(simulate(5, 60, 0)[0])
    for learner in (ORSGBN(), IAMB()):
        assert isinstance(learner, NetworkEstimator)
        assert learn_halves(rows, learner, 1, 0, Study()).n_halves == 2


def test_a_part_is_learned_as_by_fit_but_without_warnings(simulate):
    X = rows_of_group(simulate(30, 9, 0)[0]).values  # in the order in which fit takes them
    with warned("rows.few-for-columns"):
        fitted = SGBN().fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        part = learn_part(SGBN(), X, [f"x{k}" for k in range(30)])
    np.testing.assert_array_equal(part.coef_, fitted.coef_)


def test_the_learner_is_not_changed_and_gets_a_seed_if_it_has_none(simulate):
    X, _ = simulate(5, 40, 0)
    learner = SGBN(random_state=None)
    part = learn_part(learner, X, list("abcde"), seed=7)
    assert part.random_state == 7
    assert learner.random_state is None
    assert not hasattr(learner, "coef_")
    assert learn_part(SGBN(random_state=3), X, list("abcde"), seed=7).random_state == 3
    assert part.network_.names == tuple("abcde")


def test_only_learners_with_sound_parameters_pass():
    assert check_learner(ORSGBN()).alpha == ORSGBN().alpha
    with refused("learner.type"):
        check_learner(LinearRegression())
    with refused("argument"):
        check_learner(SGBN(-1))
