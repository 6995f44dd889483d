import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import comb
from sklearn.linear_model import Lasso, LassoCV
from sklearn.model_selection import KFold
from tests.codes import refused, warned

from sgbn.cohort.simulate import load_network, simulate_sem
from sgbn.core.equivalence import compare_graphs, cpdag
from sgbn.core.graph import is_dag, random_dag
from sgbn.core.moments import Moments, moments_of
from sgbn.learn.lasso import alpha_grid
from sgbn.learn.search import plan, trees
from sgbn.learn.search.plan import SearchProblem
from sgbn.learn.sgbn import SGBN
from sgbn.paper.or_sgbn import ORSGBN


def sample(name, n, seed, noise="equal"):
    rng = np.random.default_rng(seed)
    graph = load_network(name).graph
    order = rng.permutation(len(graph))
    return simulate_sem(graph[np.ix_(order, order)], n, noise=noise, random_state=rng)


@pytest.mark.parametrize(
    "name",
    ["alarm", *(pytest.param(k, marks=pytest.mark.long) for k in ("hailfinder", "water", "carpo"))],
)
def test_it_finds_the_equivalence_class_of_published_networks(name):
    X, network = sample(name, 5000, 1, noise="unequal")
    learner = SGBN().fit(X)
    assert compare_graphs(learner.coef_, network.coef).shd_cpdag <= 1


def test_with_plentiful_samples_a_rough_order_first_finds_the_class_and_keeps_knowledge():
    rng = np.random.default_rng(0)
    m = plan.LARGE_VARIABLES + 10
    graph = random_dag(m, 3.0, rng)
    X, network = simulate_sem(
        graph, plan.MIN_SAMPLES_PER_VARIABLE * m, noise="unequal", random_state=rng
    )
    learner = SGBN().fit(X)
    assert compare_graphs(learner.coef_, network.coef).shd_cpdag <= 1
    i, j = np.argwhere(learner.coef_)[0]
    knowing = SGBN(forbidden=[(int(i), int(j))], required=[(int(j), int(i))]).fit(X)
    assert knowing.coef_[j, i] != 0
    assert is_dag(knowing.coef_)


@pytest.mark.parametrize("name", ["factors", "insurance"])
def test_equal_variances_give_every_direction(name):
    X, network = sample(name, 1000, 2)
    learner = SGBN(noise="equal").fit(X * 7 + 3)  # one unit for all changes nothing
    assert compare_graphs(learner.coef_, network.coef).errors <= 2
    assert set(learner.edge_kinds_) <= {"compelled", "equal variances"}


def test_the_criterion_is_ebic_of_the_network_returned(simulate):
    X, _ = simulate(15, 200, 4)
    for gamma in (0.0, 0.5, 1.0):
        learner = SGBN(gamma).fit(X)
        residual = learner.network_.residuals(X) / X.std(axis=0)
        k = np.count_nonzero(learner.coef_, axis=0)
        price = k * np.log(200) + 2 * gamma * np.log(comb(14, k))
        ebic = 200 * np.log(np.square(residual).mean(axis=0)) + price
        assert learner.score_ == pytest.approx(ebic.sum(), rel=1e-9)


def test_larger_gamma_gives_fewer_edges_and_max_parents_is_kept(simulate):
    X, _ = simulate(20, 100, 5, degree=6.0)
    counts = [SGBN(gamma).fit(X).network_.n_edges for gamma in (0.0, 0.5, 1.0, 3.0)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]
    for most in (0, 1, 2):
        assert np.count_nonzero(SGBN(0.0, max_parents=most).fit(X).coef_, axis=0).max() <= most


@pytest.mark.parametrize("learner", [SGBN(), SGBN(weights="lasso", alpha=0.1)])
@settings(max_examples=settings.default.max_examples // 10)
@given(seed=st.integers(0, 10**6))
def test_columns_in_another_order_give_the_same_to_the_bit(learner, seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(3, 14))
    n = int(rng.integers(max(4, m // 2), 60))
    X = rng.standard_normal((n, m)) @ rng.uniform(-1, 1, (m, m))
    order = rng.permutation(m)
    learner.fit(X)
    coef, score, noise = learner.coef_, learner.score_, learner.noise_variance_
    learner.fit(X[:, order])
    assert np.array_equal(learner.coef_, coef[np.ix_(order, order)])
    assert np.array_equal(learner.noise_variance_, noise[order])
    assert learner.score_ == score


@settings(max_examples=settings.default.max_examples // 10)
@given(seed=st.integers(0, 10**6))
def test_other_units_give_the_same_edges(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((80, 10)) @ rng.uniform(-1, 1, (10, 10))
    scale = 10.0 ** rng.uniform(-3, 3, 10)
    plain, other = SGBN().fit(X), SGBN().fit(X * scale + 5)
    assert np.array_equal(plain.coef_ != 0, other.coef_ != 0)
    np.testing.assert_allclose(other.coef_std_, plain.coef_std_, rtol=1e-8, atol=1e-10)
    # columns that others nearly determine: their noise is what + 5 has left of their digits
    assert other.score_ == pytest.approx(plain.score_, rel=1e-6)


def test_a_tie_of_direction_is_decided_by_name():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((200, 2))
    X[:, 1] += X[:, 0]
    for seed in range(4):
        rows = np.random.default_rng(seed).choice(200, 120)
        table = pd.DataFrame(X[rows], columns=["b", "a"])
        learner = SGBN().fit(table)
        assert learner.network_.edges()["source"].tolist() == ["a"]
        assert learner.edge_kinds_.tolist() == ["reversible"]


@settings(max_examples=settings.default.max_examples // 10)
@given(seed=st.integers(0, 10**6))
def test_another_seed_that_finds_the_same_class_gives_the_same_network(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((100, 9)) @ rng.uniform(-1, 1, (9, 9))
    first, second = SGBN().fit(X), SGBN(random_state=1, n_starts=3).fit(X)
    if np.array_equal(cpdag(first.coef_), cpdag(second.coef_)):
        assert np.array_equal(first.coef_, second.coef_)
    else:
        assert first.score_ != second.score_


@pytest.mark.parametrize(("n", "m"), [(12, 40), (30, 8), (20, 100)])
def test_noise_gives_few_edges(n, m):
    X = np.random.default_rng(n * m).standard_normal((n, m))
    learner = SGBN().fit(X)
    assert learner.network_.n_edges <= 0.2 * m


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 30)])
def test_hardly_any_samples_warn_and_still_give_a_network(n, m):
    X = np.random.default_rng(n * m).standard_normal((n, m))
    with warned("rows.few-for-columns"):
        learner = SGBN().fit(X)
    assert is_dag(learner.coef_)
    assert np.isfinite(learner.score(X))


def test_copies_of_a_column_are_told_and_survived(simulate):
    X, _ = simulate(5, 100, 1)
    twins = np.column_stack([X, X[:, 0], X[:, 0] + X[:, 1]])
    with warned("columns.copies"):
        learner = SGBN().fit(twins)
    assert is_dag(learner.coef_)


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({"effort": "much"}, "argument"),
        ({"non_gaussian": "maybe"}, "argument"),
        *(({"weights": "lasso", "alpha": a}, "argument") for a in (0.0, -1.0, "bic", np.nan, True)),
        ({"alpha": 0.1}, "alpha.weights"),
        ({"required": [("x0", "x9")]}, "columns.unknown"),
        ({"noise": "equal", "non_gaussian": "orient"}, "noise.directions"),
        ({"column_transform": "normal-scores", "noise": "equal"}, "transform.directions"),
        ({"column_transform": "normal-scores", "non_gaussian": "orient"}, "transform.directions"),
    ],
)
def test_bad_parameters_are_refused(parameters, code, simulate):
    X, _ = simulate(4, 40, 4)
    with refused(code):
        SGBN(**parameters).fit(X)


def test_many_variables_are_screened_and_found(monkeypatch, simulate):
    X, network = simulate(60, 1000, 7)
    dense = SGBN(n_kicks=0).fit(X)
    monkeypatch.setattr(plan, "MIN_SCREENED_VARIABLES", 50)
    screened = SGBN(n_kicks=0).fit(X)
    none = np.zeros((60, 60), bool)
    problem = SearchProblem.of(moments_of(X, [""] * 60), (~none, none), 1.0, 10)
    assert not problem.partly_correlated(plan.SCREENING_Z).all()
    assert compare_graphs(dense.coef_, network.coef).shd_cpdag <= 8
    assert compare_graphs(screened.coef_, network.coef).shd_cpdag <= 8


def test_the_lasso_says_which_edges_only_the_order_directs():
    X, _ = simulate_sem(np.eye(10, k=1), 500, random_state=0)  # a chain: nothing is decidable
    learner = SGBN(weights="lasso").fit(X)
    kinds = dict(zip(map(tuple, np.argwhere(learner.coef_)), learner.edge_kinds_, strict=True))
    assert set(kinds.values()) == {"reversible", "order only"}
    assert all(abs(i - j) == 1 for (i, j), kind in kinds.items() if kind == "reversible")
    assert np.array_equal(learner.cpdag_, SGBN().fit(X).cpdag_)


def test_equal_variances_ask_for_the_units_of_the_data(simulate):
    X, _ = simulate(5, 100, 2)
    with warned("columns.standardised"):
        SGBN(noise="equal").fit(X / X.std(axis=0))
    with warned("columns.units"):
        SGBN(noise="equal").fit(X * [1, 1, 1, 1, 1000.0])


def test_kicks_go_on_as_long_as_they_help():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 30)) @ rng.uniform(-1, 1, (30, 30))
    scores = [SGBN(n_kicks=k).fit(X).score_ for k in (0, 3, 20)]
    assert scores[0] > scores[1] > scores[2]


def test_bounded_trees_still_end_and_give_a_network(monkeypatch, simulate):
    X, _ = simulate(30, 300, 4, degree=6.0)
    free = SGBN(0.0, n_kicks=0).fit(X)
    monkeypatch.setattr(trees, "MAX_TREE_BYTES", 2**20)
    monkeypatch.setattr(trees, "NODES_PER_TREE", 20)
    monkeypatch.setattr(trees, "CHILDREN_PER_TREE", 200)
    bounded = SGBN(0.0, n_kicks=0).fit(X)
    assert is_dag(bounded.coef_)
    assert bounded.score_ == pytest.approx(free.score_, rel=0.05)


@pytest.mark.parametrize(
    "parameters",
    [{}, {"noise": "equal"}, {"weights": "lasso", "alpha": 0.1}, {"tiers": [["e"], ["a", "b"]]}],
)
def test_a_covariance_matrix_gives_the_network_of_its_rows(parameters, simulate):
    X, _ = simulate(8, 150, 3)
    table = pd.DataFrame(3 + X * np.linspace(1, 5, 8), columns=list("abcdefgh"))
    rows = SGBN(outliers="keep", **parameters).fit(table)
    moments = Moments.from_covariance(table.cov(), 150, mean=table.mean())
    given = SGBN(**parameters).fit(table).fit_moments(moments)
    assert np.array_equal(given.coef_ != 0, rows.coef_ != 0)
    for name in ("coef_", "intercept_", "noise_variance_", "score_", "coef_std_"):
        np.testing.assert_allclose(getattr(given, name), getattr(rows, name), rtol=1e-8, atol=1e-9)
    assert given.edge_kinds_.tolist() == rows.edge_kinds_.tolist()
    assert given.feature_names_in_.tolist() == list("abcdefgh")
    assert given.n_features_in_ == 8
    assert not hasattr(given, "outliers_")
    assert given.score(table) == pytest.approx(rows.score(table))


@settings(max_examples=settings.default.max_examples // 10)
@given(seed=st.integers(0, 10**6))
def test_the_order_of_a_covariance_matrix_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    S = np.cov(rng.standard_normal((40, 6)) @ rng.uniform(-1, 1, (6, 6)), rowvar=False)
    order = rng.permutation(6)
    coef = SGBN().fit_moments(Moments.from_covariance(S, 40)).coef_
    permuted = SGBN().fit_moments(Moments.from_covariance(S[np.ix_(order, order)], 40))
    assert np.array_equal(permuted.coef_, coef[np.ix_(order, order)])
    assert permuted.network_.names == tuple(f"x{k}" for k in range(6))


@pytest.mark.parametrize(
    "parameters",
    [{"weights": "lasso"}, {"column_transform": "normal-scores"}, {"non_gaussian": "orient"}],
)
def test_what_needs_rows_refuses_moments(parameters):
    with refused("moments.rows"):
        SGBN(**parameters).fit_moments(Moments.from_covariance(np.eye(3), 50))


def test_fit_moments_tells_of_copies_and_few_samples_and_refuses_a_matrix():
    S = np.array([[1, 1, 0.5], [1, 1, 0.5], [0.5, 0.5, 1]])
    with warned("columns.copies"):
        SGBN().fit_moments(Moments.from_covariance(S, 100, ["a", "b", "c"]))
    with warned("rows.few-for-columns"):
        SGBN().fit_moments(Moments.from_covariance(np.eye(3), 5))
    with refused("moments.type"):
        SGBN().fit_moments(S)


def test_more_effort_never_scores_worse_and_up_to_twenty_variables_there_is_no_better(simulate):
    X, _ = simulate(18, 150, 1, degree=5.0)
    fast, standard, thorough = (
        SGBN(effort=effort).fit(X).score_ for effort in ("fast", "standard", "thorough")
    )
    assert fast >= standard >= thorough - 1e-9
    kicked = [SGBN(n_kicks=30, n_starts=4, random_state=seed).fit(X).score_ for seed in range(3)]
    assert thorough <= min(kicked) + 1e-6


def test_fast_is_a_search_without_kicks(simulate):
    X, _ = simulate(30, 200, 2)
    fast, named = SGBN(effort="fast").fit(X), SGBN(n_kicks=0).fit(X)
    assert fast.score_ == named.score_
    assert np.array_equal(fast.coef_, named.coef_)


@pytest.fixture
def short(monkeypatch):
    """Thorough searches that end soon; of 21 variables not all networks are compared."""
    tables = plan.THOROUGH._replace(n_islands=2, steps=2, n_random=1, n_warm=2, max_rounds=3)
    monkeypatch.setattr(plan, "THOROUGH", tables)
    monkeypatch.setattr(plan, "N_QUICK_SEARCHES", 3)


@pytest.mark.parametrize("effort", ["standard", "thorough"])
def test_tables_know_nothing_of_the_order_of_columns(simulate, short, effort):
    X, _ = simulate(21, 120, 3, degree=5.0)
    order = np.random.default_rng(0).permutation(21)
    first, second = (SGBN(effort=effort).fit(values) for values in (X, X[:, order]))
    assert first.score_ == second.score_
    assert np.array_equal(first.coef_[np.ix_(order, order)], second.coef_)


@pytest.mark.parametrize("effort", ["standard", "thorough"])
@pytest.mark.parametrize("m", [12, 21])
def test_tables_keep_prior_knowledge(simulate, short, effort, m):
    X, _ = simulate(m, 150, 4, degree=4.0)
    free = SGBN(effort=effort).fit(X)
    edges = np.argwhere(free.coef_)
    required = [(int(j), int(i)) for i, j in edges[:2]]
    forbidden = [(int(i), int(j)) for i, j in edges[-2:]]
    tiers = [[int(v) for v in edges[m // 2]][::-1][:1], [int(edges[m // 2][0])]]
    knowing = SGBN(effort=effort, required=required, forbidden=forbidden).fit(X)
    assert all(knowing.coef_[i, j] != 0 for i, j in required)
    assert not any(knowing.coef_[i, j] for i, j in forbidden)
    assert knowing.score_ > free.score_
    in_tiers = SGBN(effort=effort, tiers=tiers).fit(X)
    assert in_tiers.coef_[tiers[1][0], tiers[0][0]] == 0
    assert is_dag(knowing.coef_)


def test_equal_variances_are_searched_on_trees(simulate):
    X, _ = simulate(12, 150, 5)
    thorough = SGBN(noise="equal", effort="thorough").fit(X)
    assert np.array_equal(thorough.coef_, SGBN(noise="equal", n_kicks=100).fit(X).coef_)


def order_of(learner, X):
    """A total order of the lasso's network, which is full enough to have one only."""
    return np.argsort(learner.order_, kind="stable")


def test_equals_scikit_learns_lasso_on_the_variables_before(simulate):
    X, _ = simulate(8, 100, 0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    learner = SGBN(weights="lasso", alpha=0.02).fit(Z)
    order = order_of(learner, Z)
    assert learner.network_.n_edges > SGBN().fit(Z).network_.n_edges
    for place, j in enumerate(order[1:], start=1):
        parents = np.flatnonzero(learner.coef_[:, j])
        assert set(parents) <= set(order[:place])
        lasso = Lasso(0.02, tol=1e-12, max_iter=100_000).fit(Z[:, parents], Z[:, j])
        np.testing.assert_allclose(learner.coef_[parents, j], lasso.coef_, atol=1e-8)


def test_the_penalty_of_each_variable_is_scikit_learns_lasso_cv(simulate):
    """The last variable in the order has all others before it: its penalty can be checked."""
    X, _ = simulate(6, 120, 1)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    learner = SGBN(weights="lasso", cv=KFold(4)).fit(Z)
    last = int(np.argmax(learner.order_))
    others = np.delete(np.arange(6), last)
    alphas = alpha_grid(Z)
    peer = LassoCV(alphas=alphas, cv=KFold(4), tol=1e-10, max_iter=100_000)
    peer.fit(Z[:, others], Z[:, last])
    # LassoCV centres, but does not scale, within a fold: nearly the same errors.
    ours = learner.coef_[others, last]
    candidates = [Lasso(a, tol=1e-10).fit(Z[:, others], Z[:, last]).coef_ for a in alphas]
    chosen = int(np.argmin([np.abs(ours - c).max() for c in candidates]))
    np.testing.assert_allclose(ours, candidates[chosen], atol=1e-6)
    assert abs(chosen - int(np.argmin(np.abs(alphas - peer.alpha_)))) <= 2


def test_it_predicts_better_than_the_refit_where_many_weak_edges_are():
    rng = np.random.default_rng(2)
    mixing = np.eye(30) + 0.15 * rng.standard_normal((30, 30))
    X = rng.standard_normal((1080, 30)) @ mixing
    train, test = X[:80], X[80:]
    lasso, refit = SGBN(weights="lasso").fit(train), SGBN().fit(train)
    assert lasso.score(test) > refit.score(test)


def test_tiers_are_the_order_where_the_graph_leaves_it_open():
    """Nothing joins the columns, so that every edge forward in the tiers is free to be there."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6))
    tiers = [[4], [2], [0], [5], [1], [3]]
    lasso = SGBN(5.0, weights="lasso", alpha=0.01, tiers=tiers).fit(X)
    along = ORSGBN(0.01, tiers=tiers).fit(X)
    np.testing.assert_array_equal(lasso.coef_ != 0, along.coef_ != 0)
    np.testing.assert_allclose(lasso.coef_, along.coef_, atol=1e-6)
