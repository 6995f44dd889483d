"""Networks of parts of a sample: halves, and all but one fold."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone

from sgbn.exceptions import DataWarning, InputError
from sgbn.moments import one_blas_thread
from sgbn.parameters import check_parameters
from sgbn.structure.base import NetworkEstimator
from sgbn.structure.samples import Sample
from sgbn.types import Array


def check_learner(learner: Any) -> NetworkEstimator:
    """Refuse what is not a learner of sgbn, or has parameters that mean nothing."""
    if not isinstance(learner, NetworkEstimator):
        raise InputError(f"learner is a {type(learner).__name__}: give a learner of sgbn.")
    check_parameters(learner)
    return learner


def described(sample: Sample, learner: NetworkEstimator, **more: int) -> dict[str, Any]:
    """Return the settings of a study of parts: all that its results depend on."""
    return {
        "data": joblib.hash([*sample]),
        "learner": repr(learner),
        "learner_parameters": joblib.hash(learner.get_params()),  # long ones are cut in the repr
        **more,
    }


def clean_part(learner: NetworkEstimator, values: Array, names: Sequence[str]) -> Array:
    """Rows of a part that the learner learns from, without those that it leaves out."""
    with warnings.catch_warnings():
        # What the part alone lacks is not news: the whole sample has been looked at.
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
    """Fit a copy of a learner to part of a sample whose whole has been checked.

    Outliers are those of the part, unless `clean_part` has left them out before (`is_clean`). What
    is wrong with the part only is not warned about: there are many parts. A learner without a seed
    gets `seed`, so that results can be repeated.
    """
    copy = clone(learner)
    # Learners without this parameter need no seed.
    if copy.get_params().get("random_state", 0) is None:
        copy.set_params(random_state=seed)
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)
        values = np.ascontiguousarray(values)
        if not is_clean:
            values = copy.clean(values, list(names))
        return copy.learn(copy.moments(values, list(names)), values, list(names))
