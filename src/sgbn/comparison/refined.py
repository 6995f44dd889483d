"""Networks that are refined to tell the groups apart: one task per method, kept by the study."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from sgbn.discriminative import CLSGBNClassifier, KLSGBNClassifier, MMSGBNClassifier
from sgbn.discriminative.moved import CHANGE_FIELDS
from sgbn.exceptions import warn
from sgbn.runs import Study, parallel
from sgbn.structure.base import LearnedNetwork
from sgbn.structure.robust import OutlierWarning
from sgbn.types import Labels

REFINED_BY = {  # names as `Settings.refinements` has them
    "KL-SGBN": KLSGBNClassifier,
    "MM-SGBN": MMSGBNClassifier,
    "CL-SGBN": CLSGBNClassifier,
}
WARNINGS = "warnings"  # entry of a result: what a process warns of would be lost


def refine(
    methods: Sequence[str],
    learner: LearnedNetwork,
    regions: pd.DataFrame,
    labels: Labels,
    study: Study,
    data: str,
) -> dict[str, NDArray[Any]]:
    """Refine the networks by each method.

    Parameters
    ----------
    methods : sequence of str
        Of `REFINED_BY`.
    learner : estimator
        Not fitted.
    regions : DataFrame
        Prepared.
    labels : ndarray
        Group of each row.
    study : Study
        Keeps what each method changes.
    data : str
        Fingerprint of the cohort.

    Returns
    -------
    dict of str to structured ndarray
        See `edge_changes` of the classifiers.
    """
    results = study.run(
        _refined,
        {method: {"method": method} for method in methods},
        {
            **{"learner": repr(learner), "data": data},
            # Numbers in place of names, whose bytes depend on how they are stored.
            "labels": joblib.hash(np.unique(labels.astype(str), return_inverse=True)[1]),
        },
        shared={"learner": learner, "regions": regions, "labels": labels},
    )
    # Also where the result was read from the folder: a second start warns as the first did.
    warn_again(results.values())
    return {method: _changes(results[method]) for method in methods}


def _refined(
    method: str, learner: LearnedNetwork, regions: pd.DataFrame, labels: Labels
) -> dict[str, Any]:
    # the temperature scales probabilities only, and would cost most of the time
    classifier = REFINED_BY[method](clone(learner), temperature=1.0)
    changes, messages = with_warnings(lambda _: classifier.fit(regions, labels).edge_changes(), ())
    # Files of results hold no objects, which would need pickle: names become fixed-width text.
    texts = {name: changes[name].astype(str) for name, kind in CHANGE_FIELDS if kind is object}
    numbers = {name: changes[name] for name, _ in CHANGE_FIELDS if name not in texts}
    return texts | numbers | {WARNINGS: np.array(messages, dtype=str)}


def _changes(kept: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Structured array of what a task kept."""
    rows = zip(*(kept[name].tolist() for name, _ in CHANGE_FIELDS), strict=True)
    return np.array([*rows], dtype=list(CHANGE_FIELDS))


def warn_again(results: Iterable[Mapping[str, NDArray[Any]]]) -> None:
    """Give the warnings of tasks here, each once."""
    for message in dict.fromkeys(text for result in results for text in result[WARNINGS].tolist()):
        warn(message)


def with_warnings(function: Callable[[Any], Any], task: Any) -> tuple[Any, list[str]]:
    """Return the result of a task, and what it warned of beside subjects that lie far out."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")  # also where an earlier task gave the same warning
        result = function(task)
    messages = [str(w.message) for w in caught if not issubclass(w.category, OutlierWarning)]
    return result, messages


def in_parallel(function: Callable[[Any], Any], tasks: Iterable[Any], n_jobs: int | None) -> Any:
    """Run tasks in parallel, and give their warnings here: those of a process are lost."""
    done = parallel(partial(with_warnings, function), tasks, n_jobs)
    for message in dict.fromkeys(text for _, texts in done for text in texts):
        warn(message)
    return [result for result, _ in done]
