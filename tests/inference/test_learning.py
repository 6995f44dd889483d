import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from sgbn.core.exceptions import InputError
from sgbn.inference.confidence import check_learner, learn_part
from sgbn.learn.sgbn import SGBN
from sgbn.paper.or_sgbn import ORSGBN


def test_a_part_is_learned_as_by_fit_but_without_warnings(simulate):
    X, _ = simulate(30, 9, 0)
    with pytest.warns(match="only 9 samples"):
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
    with pytest.raises(InputError, match="LinearRegression: give a learner of sgbn"):
        check_learner(LinearRegression())
    with pytest.raises(InputError, match="gamma is -1"):
        check_learner(SGBN(-1))
