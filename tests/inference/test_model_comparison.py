import numpy as np
import pandas as pd
import pytest

import sgbn
from sgbn.cohort.simulate import load_network, simulate_sem
from sgbn.core.exceptions import InputError
from sgbn.inference.models import MODELS, ModelComparison, compare_models
from sgbn.learn.sgbn import SGBN


def hidden(n, m, k=1, seed=0):
    rng = np.random.default_rng(seed)
    loadings = rng.uniform(0.5, 1, (k, m)) * rng.choice([-1, 1], (k, m))
    return rng.standard_normal((n, k)) @ loadings + rng.standard_normal((n, m))


def made(network, factors, lasso=-1.3, independence=-1.42, n_factors=3, wobble=0.001):
    """Comparison with given means, whose folds differ a little."""
    folds = np.array([network, factors, lasso, independence]) + np.zeros((5, 1))
    folds[:, 1:] += wobble * np.array([-2, -1, 0, 1, 2])[:, None]
    return ModelComparison(100, 20, folds, np.full(5, n_factors))


@pytest.mark.parametrize("k", [1, 3])
def test_hidden_factors_without_edges_bring_the_warning(k):
    found = compare_models(hidden(150, 12 + 4 * (k > 1), k), learner=SGBN(n_kicks=0), n_folds=3)
    assert found.edges_may_be_shadows
    assert found.n_factors == k
    assert "edges may be shadows of common causes" in found.verdict


def test_a_sparse_network_does_not():
    X, _ = simulate_sem(load_network("alarm"), 150, random_state=0)
    found = compare_models(X, learner=SGBN(n_kicks=0), n_folds=3)
    assert found.compare("factor analysis") == -1
    assert found.verdict.startswith("The network predicts unseen subjects better than")
    assert found.n_factors > found.leading_factors == 3


def test_leading_factors_are_all_that_predict_better_or_a_few():
    assert made(-1.2, -1.1, n_factors=5).leading_factors == 5
    assert made(-1.1, -1.2, n_factors=5).leading_factors == 2  # of 20 columns
    assert made(-1.1, -1.2, n_factors=1).leading_factors == 1


def test_independent_columns_have_no_network_to_rely_on():
    X = np.random.default_rng(0).standard_normal((60, 6))
    found = compare_models(X, learner=SGBN(n_kicks=0), n_folds=3)
    assert found.edges_may_be_chance
    assert "independent variables" in found.verdict


def test_standard_errors_allow_for_training_parts_that_overlap():
    rng = np.random.default_rng(0)
    folds = rng.normal(-1, 0.1, (5, 4))
    table = ModelComparison(50, 4, folds, np.ones(5, int)).table
    gain = folds[:, 1] - folds[:, 0]
    assert table.model.tolist() == list(MODELS)
    assert table.difference[1] == pytest.approx(gain.mean())
    assert table.standard_error[1] == pytest.approx(gain.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4))
    assert table.difference[0] == table.standard_error[0] == 0


@pytest.mark.parametrize(
    ("compared", "words"),
    [
        (
            made(-1.2, -1.1),
            "Three hidden factors without any edge predict unseen subjects better than this "
            "network (−1.100 against −1.200 per variable, standard error of the difference 0.001): "
            "edges may be shadows of common causes.",
        ),
        (made(-1.2, -1.1, n_factors=1), "One hidden factor without any edge predicts unseen"),
        (made(-1.2, -1.1, n_factors=12), "12 hidden factors without any edge predict unseen"),
        (
            made(-1.1, -1.2),
            "The network predicts unseen subjects better than three hidden factors without any "
            "edge (−1.100 against −1.200 per variable",
        ),
        (made(-1.1, -1.1004), "cannot be told apart by how they predict unseen subjects"),
        (made(-1.1, -1.2, -1.0), "no arrows, predicts them better than the network."),
        (made(-1.5, -1.2), "Independent variables predict them better than the network (−1.500"),
        (made(-1.4195, -1.5), "It is not clear that the network predicts them better than indep"),
    ],
)
def test_the_verdict_says_it_in_words(compared, words):
    assert words in compared.verdict


def test_a_lasso_that_could_not_be_fitted_is_not_spoken_of():
    compared = made(-1.1, -1.2, np.nan)
    assert compared.compare("graphical lasso") == 0
    assert "lasso" not in compared.verdict


def test_order_and_units_of_columns_do_not_matter_and_a_stopped_run_goes_on(tmp_path):
    X = hidden(60, 8)
    names = [f"r{k}" for k in range(8)]
    options = {"learner": SGBN(n_kicks=0), "n_folds": 3}
    plain = compare_models(pd.DataFrame(X, columns=names), **options)
    turned = pd.DataFrame(X[:, ::-1] * 7 + 3, columns=names[::-1])
    np.testing.assert_allclose(
        compare_models(turned, **options).log_likelihood,
        plain.log_likelihood,
        atol=2e-3,
    )
    kept = compare_models(X, folder=tmp_path, **options)
    (tmp_path / "tasks" / "fold002.npz").unlink()
    again = compare_models(X, folder=tmp_path, **options)
    np.testing.assert_array_equal(kept.log_likelihood, again.log_likelihood)
    np.testing.assert_array_equal(X, hidden(60, 8))


def test_a_cohort_is_compared_group_by_group():
    cohort = sgbn.simulate_cohort(60, 0, regions=8, n_sites=2, covariates=["age"])
    group = cohort.groups[0]
    found = compare_models(cohort, group, SGBN(n_kicks=0))
    assert (found.n, found.m) == (cohort.sizes[group], 8)
    with pytest.raises(InputError, match="name one of them with group="):
        compare_models(cohort)


def test_fewer_rows_than_columns_have_an_answer():
    found = compare_models(hidden(24, 40), learner=SGBN(n_kicks=0))
    assert np.isfinite(found.log_likelihood).all()
    assert found.edges_may_be_shadows


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (hidden(19, 5), "has 19 subjects: a comparison of models needs 20 or more"),
        (hidden(50, 2), "there are 2 columns"),
        (np.column_stack([hidden(50, 4), np.full(50, 3.0)]), "constant column: 'x4'"),
        (hidden(50, 4)[:, [0, 1, 2, 3, 2]], "columns 'x[24]' and 'x[24]' are copies"),
        (hidden(50, 4) @ np.column_stack([np.eye(4), np.ones(4)]), "linear combination"),
    ],
)
def test_what_has_no_answer_is_refused_by_name(X, message):
    with pytest.raises(InputError, match=message):
        compare_models(X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_folds": 1}, "n_folds is 1"),
        ({"n_folds": 26}, "n_folds is 26; give a whole number from 2 up to 25"),
        ({"learner": "SGBN"}, "learner is a str"),
        ({"random_state": -1}, "random_state is -1"),
        ({"group": "a"}, "needs a Cohort"),
    ],
)
def test_arguments_that_mean_nothing_are_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        compare_models(hidden(50, 5), **arguments)
    with pytest.raises(InputError, match="model is 'tree'"):
        made(-1, -1).compare("tree")
