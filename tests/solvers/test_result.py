import importlib
import inspect
from typing import get_type_hints

import numpy as np
import pytest

from sgbn.learn.lasso import SolverResult


def test_a_result_unpacks_in_the_stated_order():
    x, n_iter, violation, converged = SolverResult(np.zeros(2), 3, 1e-12, True)
    assert (x.tolist(), n_iter, violation, converged) == ([0.0, 0.0], 3, 1e-12, True)


SOLVERS = [
    "learn.lasso",
    "paper.classifier_cv",
    "paper.descent",
    "paper.fisher_svm",
    "paper.or_sgbn",
]


@pytest.mark.parametrize("name", SOLVERS)
def test_what_a_solver_returns_ends_with_how_good_it_is(name):
    module = importlib.import_module(f"sgbn.{name}")
    annotations = [
        get_type_hints(function).get("return")
        for own, function in vars(module).items()
        if inspect.isfunction(function) and not own.startswith("_")
    ]
    answers = [getattr(one, "_fields", ())[-3:] for one in annotations]
    assert ("n_iter", "violation", "converged") in answers
