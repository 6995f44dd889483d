import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import check_estimator
from tests.codes import refused, warned

from sgbn.cohort.rows import Rows
from sgbn.core.graph import is_dag
from sgbn.core.moments import moments_of
from sgbn.learn.ensemble import (
    SGBNEnsemble,
    graph_moments,
    learn_parts,
    learn_task,
    weight_limits,
)
from sgbn.learn.knowledge import read_knowledge
from sgbn.learn.series import SeriesSGBN
from sgbn.learn.sgbn import SGBN
from sgbn.runs.study import Study
from sgbn.write.model_files import load, save

FEW = {"n_chains": 5, "n_pairs": 3}


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 6))
    X[:, 2] += X[:, 0] + X[:, 1]
    X[:, 3] += X[:, 2]
    X[:, 5] += 0.8 * X[:, 4]
    return pd.DataFrame(X, columns=list("abcdef"))


@pytest.fixture(scope="module")
def fitted(X):
    return SGBNEnsemble(**FEW).fit(X)


@pytest.mark.filterwarnings("ignore")
def test_it_is_a_scikit_learn_estimator():
    check_estimator(SGBNEnsemble(n_chains=1, n_pairs=1))


def test_the_network_has_the_true_pairs(fitted):
    joined = {frozenset(pair) for pair in np.argwhere(fitted.coef_).tolist()}
    assert joined == {frozenset(pair) for pair in ((0, 2), (1, 2), (2, 3), (4, 5))}
    assert is_dag(fitted.coef_)
    assert list(fitted.feature_names_in_) == list("abcdef")


def test_only_directions_that_come_back_are_arrows(X):
    fitted = SGBNEnsemble(**FEW, min_direction=0.8).fit(X)
    assert fitted.supported_[0, 2]
    assert fitted.supported_[1, 2]
    assert not fitted.supported_[4, 5]  # nothing tells 4 -> 5 from 5 -> 4
    assert not fitted.supported_[5, 4]
    drawn = fitted.drawn_graph_
    assert drawn[0, 2]
    assert not drawn[2, 0]
    assert drawn[4, 5]
    assert drawn[5, 4]


def test_shares_add_up_and_support_follows_from_them(fitted):
    assert np.array_equal(fitted.arrow_ + fitted.arrow_.T, fitted.adjacency_)
    assert fitted.adjacency_.max() <= 1 + 1e-12
    share = fitted.arrow_ / np.where(fitted.adjacency_ > 0, fitted.adjacency_, 1)
    expected = (fitted.coef_ != 0) & (fitted.adjacency_ >= 0.8) & (share >= 0.9)
    assert np.array_equal(fitted.supported_, expected)
    assert fitted.confidence_.n_halves == 6


def test_weights_have_intervals(fitted):
    edges = fitted.coef_ != 0
    assert (fitted.coef_low_ < fitted.coef_)[edges].all()
    assert (fitted.coef_ < fitted.coef_high_)[edges].all()
    assert fitted.coef_low_[0, 2] < 1 < fitted.coef_high_[0, 2]


def test_columns_units_and_processes_change_nothing(X, fitted):
    order = np.array([3, 0, 5, 4, 1, 2])
    units = np.array([3.7, 0.01, 1.0, 250.0, 1 / 3, 9.0])
    other = SGBNEnsemble(**FEW, n_jobs=2).fit(X.iloc[:, order] * units)
    here = np.ix_(order, order)
    assert np.array_equal(other.arrow_, fitted.arrow_[here])
    assert np.array_equal(other.posterior_, fitted.posterior_[here])
    assert np.array_equal(other.coef_ != 0, (fitted.coef_ != 0)[here])
    np.testing.assert_allclose(other.coef_std_, fitted.coef_std_[here], rtol=1e-8)


def test_the_order_of_columns_changes_no_bit_of_what_nuisance_leaves():
    rng = np.random.default_rng(0)
    X, N = rng.standard_normal((120, 37)), rng.standard_normal((120, 5))
    order = rng.permutation(37)
    first, second = (
        SGBNEnsemble(n_chains=2, n_pairs=2).fit(rows, nuisance=N) for rows in (X, X[:, order])
    )
    for name in ("arrow_", "coef_", "coef_low_", "coef_high_"):
        found, other = getattr(first, name), getattr(second, name)
        assert np.array_equal(found[np.ix_(order, order)], other), name


def test_nuisance_columns_cost_degrees_of_freedom():
    rng = np.random.default_rng(0)
    X, N = rng.standard_normal((96, 12)), rng.standard_normal((96, 24))
    joined = [
        SGBNEnsemble(n_chains=2, n_pairs=10).fit(X, nuisance=own).adjacency_.sum() / 2
        for own in (None, N)
    ]
    assert joined[1] < 1.7 * joined[0] + 1  # three times as many, were rows counted as they are
    wide = SGBNEnsemble(n_chains=2, n_pairs=0).fit(X, nuisance=N)
    np.testing.assert_allclose(wide.noise_variance_.mean(), 1.0, atol=0.2)


def test_persons_are_whole_and_few_of_them_have_no_confidence(X):
    persons = np.arange(len(X)) // 2
    twice = X.iloc[persons * 2].set_axis(X.index)  # two rows of each person, which are the same
    whole = SGBNEnsemble(**FEW).fit(twice, persons=persons)
    halves = SGBNEnsemble(**FEW).fit(twice)
    assert not np.array_equal(whole.arrow_, halves.arrow_)


def test_rows_of_a_person_count_as_one_subject():
    rng = np.random.default_rng(0)
    persons = np.repeat(np.arange(40), 5)
    X = rng.standard_normal((40, 12))[persons] + 0.5 * rng.standard_normal((200, 12))
    counts = [
        SGBNEnsemble(n_chains=10, n_pairs=0).fit(X, persons=own).posterior_.sum()
        for own in (persons, None)
    ]
    assert counts[0] < counts[1] / 2


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"nuisance": np.array([["F"], ["M"]] * 30)}, "nuisance.text"),
        ({"nuisance": np.full((60, 2), np.nan)}, "nuisance.gaps"),
        ({"nuisance": np.zeros((59, 1))}, "nuisance.shape"),
        ({"nuisance": np.random.default_rng(0).standard_normal((60, 45))}, "nuisance.many"),
        ({"persons": np.zeros(60)}, "persons.one"),
        ({"blocks": np.zeros(60)}, "persons.one"),
        ({"persons": np.arange(60) // 2, "blocks": np.arange(60) % 2}, "persons.blocks"),
    ],
)
def test_designs_that_cannot_be_used_are_refused(X, options, code):
    with refused(code):
        SGBNEnsemble(**FEW).fit(X[:60], **options)


@pytest.mark.parametrize(
    ("fit", "code"),
    [
        (lambda X: SGBNEnsemble().fit_moments(moments_of(X, range(18))), "moments.halves"),
        (lambda X: SGBNEnsemble(required=[(k, 17) for k in range(15)]).fit(X), "required.many"),
    ],
)
def test_moments_and_more_required_parents_than_can_be_tabled_are_refused(fit, code):
    with refused(code):
        fit(np.random.default_rng(0).standard_normal((200, 18)))


def test_many_nuisance_columns_cost_the_confidence(X):
    rng = np.random.default_rng(0)
    with warned("halves.few"):
        few = SGBNEnsemble(**FEW).fit(X[:60], nuisance=rng.standard_normal((60, 22)))
    assert few.confidence_ is None


def test_most_parents_hold_in_the_consensus():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((60, 4))
    X[:, 3] += 0.6 * X[:, :3].sum(axis=1)
    learner = SGBNEnsemble(n_chains=20, n_pairs=0, max_parents=2, tiers=[[0, 1, 2], [3]]).fit(X)
    assert (learner.coef_ != 0).sum(axis=0).max() == 2


def test_prior_knowledge_is_kept(X):
    learner = SGBNEnsemble(**FEW, forbidden=[("a", "c")], required=[("f", "e")]).fit(X)
    assert learner.arrow_[0, 2] == 0
    assert learner.posterior_[5, 4] == 1
    assert learner.supported_[5, 4]


def test_nuisance_effects_make_no_edges(X):
    rng = np.random.default_rng(1)
    site = rng.integers(2, size=len(X))
    shifted = X + 3.0 * site[:, None]
    with_site = SGBNEnsemble(**FEW).fit(shifted, nuisance=site[:, None], strata=site)
    assert (with_site.adjacency_[4, :4] < 0.5).all()
    assert (SGBNEnsemble(**FEW).fit(shifted).adjacency_[4, :4] > 0.5).any()


def test_few_rows_have_no_confidence(X):
    with warned("halves.few"):
        learner = SGBNEnsemble(**FEW).fit(X[:15])
    assert learner.confidence_ is None
    assert not learner.supported_.any()
    assert np.isnan(learner.coef_low_[learner.coef_ != 0]).all()


def test_far_rows_are_left_out_by_name(X):
    bad = X.copy()
    bad.iloc[[3, 8]] += 30.0
    with warned("outliers.trimmed"):
        learner = SGBNEnsemble(**FEW).fit(bad)
    assert np.flatnonzero(learner.outliers_).tolist() == [3, 8]


def test_fewer_rows_than_columns():
    X = np.random.default_rng(0).standard_normal((24, 40))
    learner = SGBNEnsemble(n_chains=2, n_pairs=2).fit(X)
    assert is_dag(learner.coef_)
    assert not learner.supported_.any()


def test_a_model_file_keeps_it(fitted, tmp_path):
    path = tmp_path / "ensemble.sgbn"
    save(fitted, path)
    again = load(path)
    assert np.array_equal(again.supported_, fitted.supported_)
    assert again.confidence_.agreement == fitted.confidence_.agreement


@pytest.mark.parametrize("name", ["persons", "blocks"])
def test_few_persons_or_blocks_have_no_confidence(X, name):
    with warned("halves.few"):
        assert SGBNEnsemble(**FEW).fit(X, **{name: np.arange(len(X)) % 8}).confidence_ is None


@pytest.fixture
def rows():
    X = np.random.default_rng(0).standard_normal((60, 4))
    X[:, 1] += X[:, 0]
    return Rows.of(X)


def test_more_pairs_go_on_where_fewer_ended(rows, tmp_path):
    learner, knowledge = SGBN(), read_knowledge(None, None, None, list(rows.names))
    _, two = learn_parts(rows, learner, knowledge, 2, 2, 0, Study(tmp_path))
    _, three = learn_parts(rows, learner, knowledge, 2, 3, 0, Study(tmp_path))
    third = learn_task(rows, learner, knowledge, 0, "pair", 2)["arrows"]
    assert np.allclose(3 * three.arrow_, 2 * two.arrow_ + third)
    assert three.n_halves == 6


def test_a_column_that_is_constant_in_a_half_is_named(rows):
    rows.values[:, 3] = 0.0
    rows.values[7, 3] = 1.0
    knowledge = read_knowledge(None, None, None, list(rows.names))
    learner = SGBN(outliers="keep")
    with warned("halves.constant"):
        _, confidence = learn_parts(rows, learner, knowledge, 1, 3, 0, Study())
    assert np.isfinite(confidence.arrow_).all()


def test_normal_scores_take_a_graph_from_the_ranks_alone(rows):
    bent = np.exp(3 * rows.values)  # the ranks stay
    scores = SGBN(column_transform="normal-scores")
    plain, of_bent = (graph_moments(scores, X, rows.names) for X in (rows.values, bent))
    np.testing.assert_array_equal(of_bent.R, plain.R)
    assert not np.allclose(graph_moments(SGBN(), bent, rows.names).R, plain.R)


GRAPH = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]], bool)


def _rows_of_weights(rng, n=80):
    X = rng.standard_normal((n, 3))
    X[:, 1] += 0.5 * X[:, 0]
    X[:, 2] += 0.5 * X[:, 0] - X[:, 1]
    return Rows.of(X)


def _least_squares(X):
    coef = np.zeros((3, 3))
    Z = X - X.mean(axis=0)
    coef[0, 1] = np.linalg.lstsq(Z[:, :1], Z[:, 1])[0][0]
    coef[:2, 2] = np.linalg.lstsq(Z[:, :2], Z[:, 2])[0]
    return coef


def test_intervals_cover_the_true_weights():
    true = np.array([[0, 0.5, 0.5], [0, 0, -1.0], [0, 0, 0]])
    rng = np.random.default_rng(0)
    covered = []
    for seed in range(20):
        rows = _rows_of_weights(rng)
        own = _least_squares(rows.values)
        low, high = weight_limits(rows, GRAPH, own, np.arange(3), 20, seed)
        covered.append(((low <= true) & (true <= high))[GRAPH])
    assert 0.85 <= np.mean(covered) < 1  # 60 intervals of 95 %


def test_without_halves_nothing_is_known():
    rows = _rows_of_weights(np.random.default_rng(0))
    low, high = weight_limits(rows, GRAPH, np.zeros((3, 3)), np.arange(3), 0, 0)
    assert np.isnan(low[GRAPH]).all()
    assert np.isnan(high[GRAPH]).all()
    assert (low[~GRAPH] == 0).all()


@pytest.mark.parametrize("learner", [SGBNEnsemble(), SeriesSGBN()])
def test_nothing_is_said_before_a_fit(learner):
    for name in ("adjacency_", "arrow_", "supported_"):
        with pytest.raises(NotFittedError):
            getattr(learner, name)


def test_without_half_samples_nothing_is_supported_and_all_is_a_line():
    X = np.random.default_rng(0).standard_normal((100, 3))
    X[:, 2] += X[:, 0] + X[:, 1]
    learner = SGBNEnsemble(n_chains=4, n_pairs=0).fit(X)
    assert not learner.supported_.any()
    assert not learner.adjacency_.any()
    assert np.array_equal(learner.drawn_graph_, learner.drawn_graph_.T)
