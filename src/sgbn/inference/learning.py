"""The learning of networks from parts of a sample, such as halves or all folds except one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from sgbn.cohort.design import Sample
from sgbn.core.exceptions import DataWarning, InputError
from sgbn.core.moments import one_blas_thread
from sgbn.core.types import Array
from sgbn.core.validation import check_parameters
from sgbn.learn.base import NetworkEstimator


def check_learner(learner: Any) -> NetworkEstimator:
    """Return the learner; raise InputError for a wrong parameter or another kind of object."""
    if not isinstance(learner, NetworkEstimator):
        raise InputError(f"learner is a {type(learner).__name__}: give a learner of sgbn.")
    check_parameters(learner)
    return learner


def described(sample: Sample, learner: NetworkEstimator, **more: int) -> dict[str, Any]:
    """Return the settings of a study of parts: everything that its results depend on."""
    return {
        "data": joblib.hash([*sample]),
        "learner": repr(learner),
        # The repr cuts long parameters, so that it alone is not enough.
        "learner_parameters": joblib.hash(learner.get_params()),
        **more,
    }


def clean_part(learner: NetworkEstimator, values: Array, names: Sequence[str]) -> Array:
    """Return the rows of a part without the outliers that the learner leaves out."""
    with warnings.catch_warnings():
        # Warnings about single parts are not shown, since the whole sample was checked before.
        warnings.simplefilter("ignore", DataWarning)
        return clone(learner).clean(np.ascontiguousarray(values), list(names))


def learn_part(
    learner: NetworkEstimator,
    values: Array,
    names: Sequence[str],
    seed: int = 0,
    *,
    is_clean: bool = False,
) -> NetworkEstimator:
    """Fit a copy of a learner to a part of a sample. The whole sample was checked before.

    The learner leaves out outliers of the part, unless `is_clean` says that no more rows are to be
    left out. Warnings about single parts are not shown, since there are many parts. A learner
    without a seed gets `seed`, so that results can be repeated.
    """
    copy = clone(learner)
    # Learners without the parameter random_state need no seed.
    if copy.get_params().get("random_state", 0) is None:
        copy.set_params(random_state=seed)
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)
        values = np.ascontiguousarray(values)
        if not is_clean:
            values = copy.clean(values, list(names))
        return copy.learn(copy.moments(values, list(names)), values, list(names))
