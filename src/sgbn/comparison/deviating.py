"""Deviations of all subjects from the network of the reference, kept by the study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import joblib
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from sgbn.comparison.refined import WARNINGS, warn_again, with_warnings
from sgbn.inference import Deviations, NormativeDeviation
from sgbn.runs import Study
from sgbn.types import Labels, Mask

OF_SUBJECTS = ("regions", "edges", "distance", "log_likelihood", "p_chi2", "p_reference")
NAMES = ("names", "sources", "targets")


def kept_deviations(
    norm: NormativeDeviation,
    regions: pd.DataFrame,
    reference: Mask,
    persons: Labels | None,
    study: Study,
    data: str,
) -> Deviations:
    """Say how far each subject is from the network of the reference.

    Parameters
    ----------
    norm : NormativeDeviation
        Not fitted.
    regions : DataFrame
        Prepared, of all subjects.
    reference : ndarray of bool
        Marks the subjects of the reference.
    persons : ndarray or None
        Person of each row, where they have several.
    study : Study
        Keeps the deviations.
    data : str
        Fingerprint of the cohort.
    """
    task = {"norm": norm, "regions": regions, "reference": reference, "persons": persons}
    settings = {
        **{"learner": repr(norm.learner), "seed": norm.random_state, "data": data},
        "reference": joblib.hash(reference),
        "persons": None
        if persons is None
        else joblib.hash(np.unique(persons, return_inverse=True)[1]),
    }
    # one task: here its own folds run in parallel, and on a cluster one worker has them all
    found = replace(study, n_jobs=1, progress=False).run(_deviations, {"all": task}, settings)
    warn_again(found.values())
    return _unpacked(found["all"])


def _deviations(
    norm: NormativeDeviation, regions: pd.DataFrame, reference: Mask, persons: Labels | None
) -> dict[str, Any]:
    own = None if persons is None else persons[reference]

    fitted = clone(norm)

    def score(others: pd.DataFrame) -> Deviations:
        fitted.fit(regions[reference], persons=own)
        return fitted.deviations(others)

    others, messages = with_warnings(score, regions[~reference])
    merged = _merged(fitted.reference_, others, reference)
    kept = {one.name: getattr(merged, one.name) for one in fields(merged)}
    return kept | {WARNINGS: np.array(messages, dtype=str)}


def _unpacked(kept: Mapping[str, NDArray[Any]]) -> Deviations:
    content: dict[str, Any] = {name: kept[name] for name in OF_SUBJECTS}
    return Deviations(**content | {name: tuple(kept[name].tolist()) for name in NAMES})


def _merged(reference: Deviations, others: Deviations, own: Mask) -> Deviations:
    """Deviations of all subjects, in the order of the cohort."""
    merged: dict[str, Any] = {}
    for name in OF_SUBJECTS:
        first, second = getattr(reference, name), getattr(others, name)
        both = np.empty((len(own), *first.shape[1:]))
        both[own], both[~own] = first, second
        merged[name] = both
    return replace(reference, **merged)
