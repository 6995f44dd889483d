from itertools import chain, combinations, islice, product

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.codes import warned

from sgbn import paper
from sgbn.cli.options import LEARNERS
from sgbn.cohort.simulate import simulate_sem
from sgbn.core.equivalence import consistent_extension, cpdag, shd, skeleton, v_structures
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import certifies_dag, is_dag, random_dag
from sgbn.learn.base import fit_weights
from sgbn.paper import BASELINES, markov
from sgbn.paper.markov import (
    GS,
    IAMB,
    Collider,
    ConstraintEstimator,
    GraphEstimator,
    IAMBnPC,
    IndependenceTest,
    InterIAMB,
    InterIAMBnPC,
    blanket_matrix,
    closest_dag,
    colliders,
    direct,
    exact_t_borders,
    extends,
    fisher_z_borders,
    neighbours,
    partial_correlations,
    pc_skeleton,
    shrink,
    smaller_sides,
    strongest,
)
from sgbn.paper.tc import TC
from sgbn.write.model_files import load, save

ALL = [getattr(paper, name) for name in BASELINES]  # a new one is tested at once
BY_TESTS = [learner for learner in ALL if issubclass(learner, ConstraintEstimator)]
ANY_SIZE = [learner for learner in ALL if not issubclass(learner, TC)]  # also of few samples
# Variants of another baseline have all of scikit-learn's contract from it.
NEW = [learner for learner in ALL if learner.__base__ in (ConstraintEstimator, GraphEstimator)]
VARIANTS = [learner for learner in ALL if learner not in NEW]


@parametrize_with_checks([learner() for learner in NEW])
def test_scikit_learns_contract(estimator, check):
    check(estimator)


@pytest.mark.long
@parametrize_with_checks([learner() for learner in VARIANTS])
def test_scikit_learns_contract_of_variants(estimator, check):
    check(estimator)


@pytest.mark.parametrize("learner", ALL)
def test_it_comes_back_from_a_file(learner, simulate, tmp_path):
    X, _ = simulate(5, 60, 50)
    fitted = learner().fit(X)
    again = load(save(fitted, tmp_path / "model.sgbn"))
    assert type(again) is learner
    assert np.array_equal(again.coef_, fitted.coef_)
    assert np.array_equal(again.pdag_, fitted.pdag_)


@pytest.mark.parametrize("learner", ALL)
def test_a_collider_has_its_direction(learner):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2000, 3))
    X[:, 2] += X[:, 0] + X[:, 1]  # 0 -> 2 <- 1: the one collider, which data decide
    expected = np.zeros((3, 3), bool)
    expected[:2, 2] = True
    fitted = learner().fit(X)
    assert np.array_equal(fitted.coef_ != 0, expected)
    assert np.array_equal(fitted.pdag_ != 0, expected)


def test_the_command_knows_all_baselines():
    assert set(BASELINES) < set(LEARNERS)


@pytest.mark.parametrize("learner", ALL)
def test_fitted_attributes_fit_together(learner, simulate):
    X, _ = simulate(10, 120, 0)
    X = 5 + X * np.linspace(0.1, 100, 10)
    fitted = learner().fit(pd.DataFrame(X, columns=list("abcdefghij")))
    A = fitted.coef_ != 0
    assert A.any()
    assert is_dag(A)
    assert certifies_dag(A, fitted.order_)
    assert np.array_equal(skeleton(A), skeleton(fitted.pdag_))
    assert fitted.network_.names == tuple("abcdefghij")
    expected = fit_weights(X, A)
    np.testing.assert_allclose(fitted.coef_, expected.coef, rtol=1e-9)
    np.testing.assert_allclose(fitted.intercept_, expected.intercept, rtol=1e-9)
    np.testing.assert_allclose(fitted.noise_variance_, expected.noise_variance, rtol=1e-9)
    assert not fitted.blankets_.diagonal().any()
    assert fitted.pdag_.dtype == fitted.blankets_.dtype == bool


@pytest.mark.parametrize("learner", [learner for learner in ALL if learner is not GS])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_permuting_the_columns_permutes_the_answer(learner, seed, simulate):
    X, _ = simulate(15, 90, [40, seed])
    order = np.random.default_rng(seed).permutation(15)
    first, second = learner().fit(X), learner().fit(X[:, order])
    for attribute in ("coef_", "pdag_", "blankets_"):
        permuted = getattr(first, attribute)[np.ix_(order, order)]
        assert np.array_equal(permuted, getattr(second, attribute)), attribute


@pytest.mark.parametrize("learner", ALL)
def test_units_do_not_matter(learner, simulate):
    X, _ = simulate(12, 90, 41)
    first, second = learner().fit(X), learner().fit(3 + X * np.logspace(-2, 2, 12))
    assert np.array_equal(first.pdag_, second.pdag_)
    np.testing.assert_allclose(first.coef_std_, second.coef_std_, atol=1e-8)


@pytest.mark.parametrize("learner", ALL)
@pytest.mark.parametrize("n", [16, 60])
def test_always_a_dag_with_every_edge_of_the_graph(learner, n, simulate):
    for seed in range(2):
        X, _ = simulate(14, n, [42, seed])
        fitted = learner().fit(X)
        assert is_dag(fitted.coef_)
        assert np.array_equal(skeleton(fitted.coef_), skeleton(fitted.pdag_))
        # a search over DAGs cannot contradict itself, as tests can
        assert fitted.consistent_ or learner in BY_TESTS


@pytest.mark.parametrize("learner", ANY_SIZE)
@pytest.mark.filterwarnings("ignore:only 6 samples")
def test_fewer_samples_than_variables(learner):
    X = np.random.default_rng(43).standard_normal((6, 20))
    fitted = learner().fit(X)
    assert is_dag(fitted.coef_)
    assert np.isfinite(fitted.coef_).all()
    assert fitted.blankets_.sum(axis=1).max() <= 3


@pytest.mark.parametrize("learner", BY_TESTS)
@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(k, marks=pytest.mark.long) for k in range(2, 8))]
)
def test_where_tests_do_not_err_blankets_and_class_are_found(
    learner, seed, population, true_blankets
):
    rng = np.random.default_rng([44, seed])
    A = random_dag(12, 3, rng)
    _, network = simulate_sem(A, 2, random_state=rng)
    learned = learner().learn_graph(population(network))
    assert np.array_equal(learned.blankets, true_blankets(A))
    assert np.array_equal(learned.pdag, cpdag(A))
    assert np.array_equal(cpdag(learned.dag), cpdag(A))


@pytest.fixture(scope="module")
def two_colliders():
    coef = np.zeros((6, 6))
    coef[[0, 1, 2, 3, 5], [2, 2, 3, 4, 4]] = 0.8
    return GaussianNetwork(coef)


@pytest.mark.parametrize("n_samples", [4, pytest.param(20, marks=pytest.mark.long)])
@pytest.mark.parametrize("learner", BY_TESTS)
def test_a_small_network_is_recovered_from_many_samples(learner, n_samples, two_colliders):
    """A test at 5 % errs now and then: several samples are judged together."""
    truth = cpdag(two_colliders.coef)
    samples = [two_colliders.sample(5000, seed) for seed in range(n_samples)]
    errors = [shd(learner().fit(X).pdag_, truth) for X in samples]
    assert np.count_nonzero(errors) <= n_samples / 4
    assert np.mean(errors) < 1


@pytest.mark.parametrize("learner", ALL)
def test_independent_columns_are_seldom_joined(learner):
    X = np.random.default_rng(45).standard_normal((2000, 12))
    assert np.count_nonzero(learner().fit(X).coef_) <= 6


@pytest.mark.parametrize("learner", ALL)
def test_the_callers_table_is_not_changed(learner, simulate):
    X, _ = simulate(6, 60, 46)
    X.setflags(write=False)
    copy = X.copy()
    learner().fit(X)
    assert np.array_equal(X, copy)


def test_large_blankets_are_warned_of(simulate, monkeypatch):
    monkeypatch.setattr(markov, "MAX_QUICK_BLANKET", 1)
    X, _ = simulate(6, 200, 51)
    with warned("blanket.large"):
        TC().fit(X)


@pytest.mark.parametrize("learner", BY_TESTS)
def test_a_stricter_level_leaves_fewer_edges(learner, simulate):
    X, _ = simulate(20, 150, 48)
    n_edges = [np.count_nonzero(learner(level).fit(X).coef_) for level in (1e-12, 1e-4, 0.2)]
    assert n_edges[0] < n_edges[1] < n_edges[2]


@pytest.mark.parametrize("learner", ANY_SIZE)
@pytest.mark.filterwarnings("ignore:columns .* are copies", "ignore:.*exact linear function")
@pytest.mark.filterwarnings("ignore:collinear columns")
def test_copies_and_totals_do_no_harm(learner, simulate):
    X, _ = simulate(8, 100, 49)
    for extra in (2 * X[:, 0], X[:, 0] + X[:, 1] + X[:, 2]):
        fitted = learner().fit(np.column_stack([X, extra]))
        assert is_dag(fitted.coef_)
        assert np.isfinite(fitted.coef_).all()
        assert fitted.pdag_[8].any() or fitted.pdag_[:, 8].any()


def test_matrix_of_blankets():
    members = blanket_matrix([[1, 2], [], [1]])
    assert members.astype(int).tolist() == [[0, 1, 1], [0, 0, 0], [0, 1, 0]]


def test_shrinking_leaves_members_that_all_depend_on_the_target(simulate):
    X, _ = simulate(12, 100, 0)
    test = IndependenceTest(np.corrcoef(X.T), fisher_z_borders(100, 12, 0.05))
    for target in range(12):
        others = [k for k in range(12) if k != target]
        kept = shrink(test, target, others)
        for one in kept:
            assert test.strengths(target, [k for k in kept if k != one])[one] >= 1
        assert kept == [k for k in others if k in kept]
        assert len(others) == 11


def test_of_two_copies_the_oldest_goes():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 3))
    X[:, 1] += X[:, 0]
    X[:, 2] = X[:, 1]
    test = IndependenceTest(np.corrcoef(X.T), fisher_z_borders(200, 3, 0.05))
    assert shrink(test, 0, [2, 1]) == [1]
    assert shrink(test, 0, [1, 2]) == [2]


@pytest.mark.parametrize(
    ("learner", "name"), [(GS, "gs"), (IAMB, "iamb"), (InterIAMB, "inter.iamb")]
)
def test_blankets_and_graphs_equal_bnlearns(learner, name, cases):
    for case in cases:
        fitted = learner().fit(case.X)
        assert np.array_equal(fitted.blankets_, case.blankets[name])
        assert np.array_equal(fitted.pdag_, case.learned[name])


def test_the_order_of_the_columns_matters_which_is_why_it_is_not_recommended(simulate):
    X, _ = simulate(15, 80, 22)
    order = np.arange(15)[::-1]
    first, second = GS().fit(X).blankets_, GS().fit(X[:, order]).blankets_
    assert not np.array_equal(first[np.ix_(order, order)], second)


def test_the_strongest_is_the_one_of_the_smallest_p():
    R = np.array([[1, 0.1, 0.5, -0.6], [0.1, 1, 0, 0], [0.5, 0, 1, 0], [-0.6, 0, 0, 1]])
    test = IndependenceTest(R, fisher_z_borders(100, 4, 0.05))
    assert strongest(test, 0, []) == 3
    assert strongest(test, 0, [3]) == 2
    assert strongest(test, 0, [3, 2]) is None


def test_a_blanket_that_comes_back_ends_the_search():
    class Undecided(InterIAMB):
        """Removes what was just added."""

        n_shrunk = 0

        def _shrink(self, test, target, blanket):
            self.n_shrunk += 1
            return blanket[:-1]

    X = np.random.default_rng(0).standard_normal((100, 2))
    X[:, 1] += X[:, 0]
    learner = Undecided().fit(X)
    assert learner.n_shrunk == 2
    assert not learner.blankets_.any()
    assert learner.score(X) == pytest.approx(learner.network_.log_likelihood(X).mean())


def test_the_skeleton_equals_bnlearns_pc_stable(cases):
    for case in cases:
        n, m = case.X.shape
        test = IndependenceTest(np.corrcoef(case.X.T), fisher_z_borders(n, m, 0.05))
        joined, separators = pc_skeleton(test)
        assert np.array_equal(joined, skeleton(case.learned["pc.stable"]))
        assert set(separators) == {tuple(p) for p in np.argwhere(np.triu(~joined, 1)).tolist()}
        for (i, j), given in separators.items():
            assert test.strengths(i, sorted(given))[j] < 1


def test_without_errors_the_skeleton_is_the_true_one(population):
    for seed in range(4):
        A = random_dag(12, 3, seed)
        _, network = simulate_sem(A, 2, random_state=seed)
        moments = population(network)
        test = IndependenceTest(moments.R, fisher_z_borders(moments.n, 12, 0.05))
        assert np.array_equal(pc_skeleton(test)[0], skeleton(A))


def test_the_order_of_the_variables_does_not_matter(simulate):
    for seed in range(5):
        X, _ = simulate(12, 60, [53, seed])
        R, order = np.corrcoef(X.T), np.random.default_rng(seed).permutation(12)
        test = IndependenceTest(R, fisher_z_borders(60, 12, 0.05))
        permuted = test._replace(R=np.ascontiguousarray(R[np.ix_(order, order)]))
        joined = pc_skeleton(test)[0]
        assert np.array_equal(joined[np.ix_(order, order)], pc_skeleton(permuted)[0])


def test_spouses_stay_in_the_blanket():
    X = np.random.default_rng(0).standard_normal((2000, 3))
    X[:, 2] += X[:, 0] + X[:, 1]
    fitted = IAMBnPC().fit(X)
    assert fitted.blankets_.sum() == 6
    assert np.array_equal(fitted.pdag_, cpdag([[0, 0, 1], [0, 0, 1], [0, 0, 0]]))


def test_it_removes_what_iamb_keeps(simulate):
    """More sets are searched than the one of all other members, so that fewer stay."""
    X, _ = simulate(20, 200, 51)
    assert IAMBnPC().fit(X).blankets_.sum() < IAMB().fit(X).blankets_.sum()


def test_it_takes_the_growth_of_one_parent_and_the_shrinking_of_the_other():
    assert InterIAMBnPC._blanket is InterIAMB._blanket
    assert InterIAMBnPC._shrink is IAMBnPC._shrink


@pytest.mark.parametrize(
    ("one", "other", "n"),
    [(InterIAMB, IAMB, 60), (InterIAMBnPC, InterIAMB, 100), (InterIAMBnPC, IAMBnPC, 100)],
)
def test_variants_differ_now_and_then(one, other, n, simulate):
    samples = (simulate(20, n, [52, seed])[0] for seed in range(20))
    assert any(
        not np.array_equal(one().fit(X).blankets_, other().fit(X).blankets_) for X in samples
    )


def residual(X, v, Z):
    return X[:, v] - LinearRegression().fit(X[:, Z], X[:, v]).predict(X[:, Z])


def all_subsets(members):
    return chain.from_iterable(combinations(members, k) for k in range(len(members) + 1))


@pytest.fixture
def sample(simulate):
    """Correlation matrix, and the border of its tests at 5 %."""
    X, _ = simulate(9, 80, 0)
    return IndependenceTest(np.corrcoef(X.T), fisher_z_borders(80, 9, 0.05))


def test_at_a_level_of_bnlearns_p_a_correlation_is_its_border(bnlearn):
    n_tests = 0
    for case in bnlearn["cases"]:
        R, place = np.corrcoef(np.array(case["data"]).T), case["columns"].index
        for reference in case["pvalues"]:
            z = [reference["z"]] if isinstance(reference["z"], str) else reference["z"]
            given = [place(v) for v in z]
            (r,) = partial_correlations(R, place(reference["x"]), [place(reference["y"])], given)
            n, k = len(case["data"]), len(given)
            for borders, name in ((fisher_z_borders, "zf"), (exact_t_borders, "cor")):
                border = borders(n, k, reference[name][1])[k]
                np.testing.assert_allclose(abs(np.arctanh(r)), border, rtol=1e-8, atol=1e-12)
            n_tests += 1
    assert n_tests == 60


def test_equal_to_correlations_of_residuals(simulate):
    X, _ = simulate(8, 60, 1)
    R = np.corrcoef(X.T)
    Z = [5, 2, 7]
    found = partial_correlations(R, 1, [0, 3, 4, 6], Z)
    expected = [np.corrcoef(residual(X, 1, Z), residual(X, j, Z))[0, 1] for j in (0, 3, 4, 6)]
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(partial_correlations(R, 1, [0, 3], []), R[1, [0, 3]])


@pytest.mark.parametrize("seed", range(3))
def test_redundant_conditions_change_nothing_and_what_they_determine_is_independent(seed, simulate):
    X, _ = simulate(6, 60, [2, seed])
    X = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2]])
    R = np.corrcoef(X.T)
    once = partial_correlations(R, 3, [4, 5], [0, 1, 2])
    np.testing.assert_allclose(partial_correlations(R, 3, [4, 5], [0, 1, 6, 2, 7]), once, atol=1e-9)
    assert partial_correlations(R, 6, [3, 4], [0, 1]).tolist() == [0, 0]
    assert partial_correlations(R, 3, [6], [0, 1]).tolist() == [0]
    copies = IndependenceTest(R, fisher_z_borders(60, 8, 0.05)).strengths(2, [])
    assert np.isfinite(copies).all()
    assert np.argmax(copies) == 7


@pytest.mark.parametrize(("n", "k"), [(5, 2), (4, 9), (2, 0)])
def test_without_degrees_of_freedom_nothing_depends(n, k):
    assert exact_t_borders(4, 10, 0.05)[2] == np.inf
    assert fisher_z_borders(n, 10, 0.05)[k] == np.inf


def test_untestable_pairs_are_separated():
    R = np.full((4, 4), 0.99)
    np.fill_diagonal(R, 1.0)
    test = IndependenceTest(R, fisher_z_borders(5, 4, 0.05))
    assert test.strengths(0, []).max() > 1
    assert test.strengths(0, [1, 2]).max() == 0
    assert test.weakest(0, 3, [], fixed=[1, 2]).separated


def test_exact_t_rejects_as_often_as_it_should():
    rng = np.random.default_rng(3)
    r = [np.corrcoef(rng.standard_normal((2, 6)))[0, 1] for _ in range(1000)]
    for level in (0.05, 0.5):
        rejected = np.mean(np.abs(np.arctanh(r)) >= exact_t_borders(6, 0, level)[0])
        assert rejected == pytest.approx(level, abs=3 * np.sqrt(level * (1 - level) / 1000))


def test_the_weakest_link_is_the_minimum_over_all_subsets(sample):
    n_separated = 0
    for i, j in combinations(range(9), 2):
        fixed, *optional = (k for k in range(9) if k not in (i, j))
        weakest = sample.weakest(i, j, optional[:4], fixed=[fixed])
        given = [[fixed, *some] for some in all_subsets(optional[:4])]
        strengths = [sample.strengths(i, Z)[j] for Z in given]
        assert weakest.separated == (min(strengths) < 1)
        assert sample.strengths(i, weakest.given)[j] == pytest.approx(weakest.strength, rel=1e-9)
        if weakest.separated:  # the first that separates, from small sets to large
            n_separated += 1
            first = next(Z for Z, s in zip(given, strengths, strict=True) if s < 1)
            assert weakest.given.tolist() == first
        else:
            assert weakest.strength == pytest.approx(min(strengths), rel=1e-9)
    assert 0 < n_separated < 36


def test_subsets_of_one_size_alone(sample):
    link = sample.weakest(0, 1, range(2, 9), size=2)
    assert link.given.size == 2
    best = min(sample.strengths(0, Z)[1] for Z in combinations(range(2, 9), 2))
    assert link.separated == (best < 1)
    assert sample.weakest(0, 1, [2], size=0).given.size == 0


def test_inputs_are_not_changed_and_kernels_are_compiled_once(sample):
    R = sample.R.copy()
    Z = np.array([3, 4])
    for optional in (Z, [3, 4], (3, 4), range(3, 5), np.array([3, 4], np.int32)):
        sample.weakest(0, np.int64(1), optional)
        sample.strengths(0, optional)
    assert np.array_equal(R, sample.R)
    assert Z.tolist() == [3, 4]
    for kernel in (markov._weakest, markov._partial_correlations):
        assert len(kernel.signatures) == 1


def graph(m, arrows, edges=()):
    P = np.zeros((m, m), bool)
    for i, j in arrows:
        P[i, j] = True
    for i, j in edges:
        P[i, j] = P[j, i] = True
    return P


@pytest.fixture
def collider_test():
    """Tests in a large sample of 0 -> 2 <- 1."""
    X = np.random.default_rng(0).standard_normal((2000, 3))
    X[:, 2] += X[:, 0] + X[:, 1]
    return IndependenceTest(np.corrcoef(X.T), fisher_z_borders(2000, 3, 0.05))


def test_smaller_sides():
    one, other = np.array([True, False, True]), np.array([False, True, False])
    assert [side.tolist() for side in smaller_sides(one, other)] == [[1]]
    assert [side.tolist() for side in smaller_sides(other, one)] == [[1]]
    assert [side.tolist() for side in smaller_sides(one, one)] == [[0, 2], [0, 2]]


def test_spouses_are_no_neighbours_and_their_child_collides(collider_test):
    blankets = ~np.eye(3, dtype=bool)
    joined = neighbours(collider_test, blankets)
    assert np.array_equal(joined, graph(3, [], [(0, 2), (1, 2)]))
    (found,) = colliders(collider_test, blankets, joined)
    assert found[1:] == (0, 2, 1)
    assert found.strength == pytest.approx(collider_test.strengths(0, [2])[1])
    assert np.array_equal(direct(joined, [found]), graph(3, [(0, 2), (1, 2)]))


def test_all_colliders_give_the_class_of_the_dag():
    for seed in range(20):
        A = random_dag(10, 3, seed)
        found = [Collider(1.0 + k, *v) for k, v in enumerate(v_structures(A))]
        assert np.array_equal(direct(skeleton(A), found), cpdag(A))


def test_of_contradicting_colliders_the_strongest_is_believed():
    path = graph(4, [], [(0, 1), (1, 2), (2, 3)])
    weak, strong = Collider(2.0, 0, 1, 2), Collider(3.0, 1, 2, 3)
    for found in ([weak, strong], [strong, weak]):
        assert np.array_equal(direct(path, found), graph(4, [(1, 2), (3, 2)], [(0, 1)]))


def test_a_collider_that_closes_a_cycle_is_left_out():
    """Three colliders around the triangle 0, 1, 2, each with an own parent outside of it."""
    edges = [(0, 1), (1, 2), (2, 0), (3, 1), (4, 2), (5, 0)]
    found = [Collider(4.0, 0, 1, 3), Collider(3.0, 1, 2, 4), Collider(2.0, 2, 0, 5)]
    P = direct(graph(6, [], edges), found)
    assert is_dag(P & ~P.T)
    assert v_structures(P) == [(0, 1, 3), (0, 2, 4), (1, 2, 4)]  # 0 -> 2 by Meek's second rule
    assert P[0, 5]
    assert P[5, 0]


def test_the_closest_dag_is_an_extension_where_there_is_one():
    for seed in range(20):
        P = cpdag(random_dag(10, 3, seed))
        A = closest_dag(P)
        assert np.array_equal(A, consistent_extension(P))
        assert extends(A, P)


def test_of_a_cycle_one_arrow_is_turned():
    cycle = graph(5, [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)])
    A = closest_dag(cycle)
    assert is_dag(A)
    assert np.array_equal(skeleton(A), skeleton(cycle))
    assert np.count_nonzero(cycle & ~A) == 1
    assert not extends(A, cycle)


def test_a_square_gets_one_new_collider():
    square = graph(4, [], [(0, 1), (1, 2), (2, 3), (3, 0)])
    A = closest_dag(square)
    assert is_dag(A)
    assert len(v_structures(A)) == 1
    assert not extends(A, square)


def test_colliders_that_are_there_already_count_for_nothing():
    P = graph(5, [(1, 0), (2, 4), (3, 0)], [(0, 4), (1, 4)])
    A = closest_dag(P)
    assert consistent_extension(P) is None
    assert not np.any(P & ~P.T & ~A)
    assert len(set(v_structures(A)) - set(v_structures(P))) == 1


@pytest.mark.parametrize("step", [17, pytest.param(1, marks=pytest.mark.long)])
def test_every_pdag_on_four_variables_gets_a_dag_with_its_skeleton(step):
    """All 4^6 of them, or every 17th; arrows stay wherever they form no cycle."""
    pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
    for states in islice(product(range(4), repeat=6), 0, None, step):
        P = np.zeros((4, 4), bool)
        for (i, j), state in zip(pairs, states, strict=True):
            P[i, j], P[j, i] = state & 1, state & 2
        A = closest_dag(P)
        assert is_dag(A)
        assert np.array_equal(skeleton(A), skeleton(P))
        assert extends(A, P) == (consistent_extension(P) is not None)
        directed = P & ~P.T
        assert not np.any(directed & ~A) or not is_dag(directed)


def test_graphs_are_not_changed(collider_test):
    P = graph(3, [(0, 1)], [(1, 2)])
    P.setflags(write=False)
    closest_dag(P)
    direct(P, [])
    blankets = skeleton(P)
    blankets.setflags(write=False)
    neighbours(collider_test, blankets)
    colliders(collider_test, blankets, blankets)
