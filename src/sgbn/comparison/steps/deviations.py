"""The deviations of all subjects from the network of the reference, kept by a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from sgbn.comparison.step import Job, Step
from sgbn.comparison.steps.refinements import WARNINGS, warn_again, with_warnings
from sgbn.core.types import Labels, Mask
from sgbn.core.validation import numbered
from sgbn.inference.deviation import Deviations, NormativeDeviation

if TYPE_CHECKING:
    import pandas as pd


# Fields of `Deviations`: arrays with one row per subject, then tuples of names.
OF_SUBJECTS = ("regions", "edges", "distance", "log_likelihood", "p_chi2", "p_reference")
NAMES = ("names", "sources", "targets")


class DeviationsStep(Step):
    """Measure how far each subject is from the network of the reference."""

    name, title = "deviations", "Deviation of each subject"
    still = "the deviation of each subject"
    setting = "deviations"
    not_for_series = "they need one row per subject"

    def run(self, job: Job, found: dict[str, Any]) -> None:
        """Measure the deviations. The folds of the reference keep persons and families together."""
        reference = np.asarray(job.cohort.group) == job.groups[0]
        norm = NormativeDeviation(
            clone(job.searcher), random_state=job.settings.seed, n_jobs=job.study.n_jobs
        )
        persons = job.cohort.units
        task = {"norm": norm, "regions": job.table, "reference": reference, "persons": persons}
        settings = {
            **{"learner": repr(norm.learner), "seed": norm.random_state},
            **{"data": job.cohort.fingerprint, "reference": joblib.hash(reference)},
            # Numbers in place of names, because the bytes of names depend on their storage.
            "persons": None if persons is None else joblib.hash(numbered(persons)[1]),
        }
        # There is only one task, because the folds inside it run in parallel.
        study = replace(job.study.part(self.name), n_jobs=1, progress=False)
        results = study.run(_deviations, {"all": task}, settings)
        warn_again(results.values())
        found["deviations"] = _unpacked(results["all"])


def _deviations(
    norm: NormativeDeviation, regions: pd.DataFrame, reference: Mask, persons: Labels | None
) -> dict[str, Any]:
    fitted = clone(norm)

    def score(rest: pd.DataFrame) -> Deviations:
        fitted.fit(regions[reference], persons=None if persons is None else persons[reference])
        return fitted.deviations(rest)

    rest, messages = with_warnings(score, regions[~reference])
    # Subjects of the reference are cross-fitted, because their deviations from a network that was
    # learned from them would be too small.
    merged = _merged(fitted.reference_, rest, reference)
    kept = {part.name: getattr(merged, part.name) for part in fields(merged)}
    return kept | {WARNINGS: np.array(messages, dtype=str)}


def _unpacked(kept: Mapping[str, NDArray[Any]]) -> Deviations:
    content: dict[str, Any] = {name: kept[name] for name in OF_SUBJECTS}
    return Deviations(**content | {name: tuple(kept[name].tolist()) for name in NAMES})


def _merged(reference: Deviations, rest: Deviations, in_reference: Mask) -> Deviations:
    """Return the deviations of all subjects, in the order of the cohort."""
    merged: dict[str, Any] = {}
    for name in OF_SUBJECTS:
        first, second = getattr(reference, name), getattr(rest, name)
        # Some fields have one number per subject, others one number per region or edge.
        both = np.empty((len(in_reference), *first.shape[1:]))
        both[in_reference], both[~in_reference] = first, second
        merged[name] = both
    return replace(reference, **merged)
