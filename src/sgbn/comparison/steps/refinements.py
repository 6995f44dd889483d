"""The refinement of networks to tell the groups apart, with one task of a study per method."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sgbn.comparison.step import Job, Step
from sgbn.core.problems import DataWarning, Problem, give, problem_of
from sgbn.core.types import Labels
from sgbn.core.validation import numbered
from sgbn.learn.base import LearnedNetwork
from sgbn.paper.kl_sgbn import KLSGBNClassifier
from sgbn.paper.mm_sgbn import CLSGBNClassifier, MMSGBNClassifier
from sgbn.paper.moved import CHANGE_FIELDS
from sgbn.prepare.outliers import OutlierWarning
from sgbn.runs.tasks import parallel
from sgbn.write.tables import to_frame

if TYPE_CHECKING:
    import pandas as pd

    from sgbn.comparison.result import Comparison


REFINED_BY = {  # the keys are the names in `Settings.refinements`
    "KL-SGBN": KLSGBNClassifier,
    "MM-SGBN": MMSGBNClassifier,
    "CL-SGBN": CLSGBNClassifier,
}
WARNINGS = "warnings"  # the entry of a result with its warnings, which would be lost otherwise


class RefinementsStep(Step):
    """Refine the networks so that they tell the groups apart."""

    name, title, still = "refinements", "Discriminative refinement", "refined networks"
    setting, off = "refinements", ()
    not_for_series = "they need networks that were learned from one row per subject"

    def run(self, job: Job, found: dict[str, Any]) -> None:
        """Refine the networks by each method that was asked for."""
        labels, methods = np.asarray(job.cohort.group), job.settings.refinements
        results = job.study.part(self.name).run(
            _refined,
            {method: {"method": method} for method in methods},
            {
                **{"learner": repr(job.searcher), "data": job.cohort.fingerprint},
                # Numbers in place of names, because the bytes of names depend on their storage.
                "labels": joblib.hash(numbered(labels.astype(str))[1]),
            },
            shared={"learner": job.searcher, "regions": job.table, "labels": labels},
        )
        # A second start reads the results from the folder, and must warn like the first start.
        warn_again(results.values())
        found["refinements"] = {method: _changes(results[method]) for method in methods}

    def tables(self, comparison: Comparison) -> dict[str, pd.DataFrame]:
        """Return the changes of the weights."""
        return {"refinements": to_frame(comparison.refinements, "method")}


def _refined(
    method: str, learner: LearnedNetwork, regions: pd.DataFrame, labels: Labels
) -> dict[str, Any]:
    # The temperature only scales probabilities, and its fit would take most of the time.
    classifier = REFINED_BY[method](clone(learner), temperature=1.0)
    changes, messages = with_warnings(lambda _: classifier.fit(regions, labels).edge_changes(), ())
    # Names become text of fixed width, because files of results cannot hold objects.
    texts = {name: changes[name].astype(str) for name, kind in CHANGE_FIELDS if kind is object}
    numbers = {name: changes[name] for name, _ in CHANGE_FIELDS if name not in texts}
    return texts | numbers | {WARNINGS: np.array(messages, dtype=str)}


def _changes(kept: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return the changes that a task kept, as a structured array."""
    rows = zip(*(kept[name].tolist() for name, _ in CHANGE_FIELDS), strict=True)
    return np.array([*rows], dtype=list(CHANGE_FIELDS))


def warn_again(results: Iterable[Mapping[str, NDArray[Any]]]) -> None:
    """Give each warning of the tasks once, in this process."""
    for message in dict.fromkeys(text for result in results for text in result[WARNINGS].tolist()):
        give(DataWarning(Problem.from_json(message)))


def with_warnings(function: Callable[[Any], Any], task: Any) -> tuple[Any, list[str]]:
    """Return the result of a task and its warnings as JSON, without warnings about outliers."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")  # even if an earlier task gave the same warning
        result = function(task)
    told = [w.message for w in caught if not issubclass(w.category, OutlierWarning)]
    messages = [problem_of(message).to_json() for message in told]
    return result, messages


def in_parallel(function: Callable[[Any], Any], tasks: Iterable[Any], n_jobs: int | None) -> Any:
    """Run tasks in parallel, and give their warnings in this process.

    The warnings of other processes would be lost.
    """
    done = parallel(partial(with_warnings, function), tasks, n_jobs)
    warn_again({WARNINGS: np.array(messages, str)} for _, messages in done)
    return [result for result, _ in done]
