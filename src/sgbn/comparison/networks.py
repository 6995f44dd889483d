"""The network of each group by an ensemble, which also says how sure its edges are."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

from sgbn.cohort import Cohort
from sgbn.comparison.preparation import prepared_cohort
from sgbn.comparison.settings import Settings
from sgbn.discriminative.class_networks import default_learner
from sgbn.exceptions import DataWarning, warn
from sgbn.inference.nuisance import nuisance_of
from sgbn.moments import one_blas_thread
from sgbn.quality import Review, review_prepared
from sgbn.runs import Study
from sgbn.structure.base import NetworkEstimator
from sgbn.structure.ensemble import SGBNEnsemble
from sgbn.structure.ensemble.parts import Sample, without_nuisance
from sgbn.structure.ensemble.sgbn_ensemble import FEWEST_ROWS, enough_left
from sgbn.structure.knowledge import KNOWLEDGE
from sgbn.types import Array

SUBJECTS_PER_EFFECT = 4  # so that a half has twice as many subjects as covariates and sites


def default_ensemble(settings: Settings, gamma: float | None = None) -> SGBNEnsemble:
    """Make the learner of the networks: `n_pairs` splits, and chains in proportion.

    Without half samples there are as many chains as an `SGBNEnsemble` has by default.
    """
    ensemble = SGBNEnsemble(gamma, n_pairs=settings.n_pairs, random_state=settings.seed)
    if settings.n_pairs:
        ensemble.n_chains = min(ensemble.n_chains, 2 * settings.n_pairs)
    return ensemble


def searcher_of(learner: NetworkEstimator, labels: NDArray[Any]) -> NetworkEstimator:
    """Learner of the steps that need hundreds of networks: `SGBN` in place of an ensemble.

    It has the ensemble's prior knowledge and most parents, and one gamma for all groups. The gamma
    of an ensemble is that of a prior, and not one of the criterion that is searched here.
    """
    if not isinstance(learner, SGBNEnsemble):
        return learner
    shared = {name: getattr(learner, name) for name in ("max_parents", *KNOWLEDGE)}
    return default_learner(labels).set_params(**shared)


def steps_of(settings: Settings, learner: NetworkEstimator | None = None) -> tuple[str, ...]:
    """Names of the steps of a comparison by this learner.

    An ensemble, the default, has the confidence of its edges from the step "networks".
    """
    one_step = learner is None or isinstance(learner, SGBNEnsemble)
    return tuple(name for name in settings.steps if not (one_step and name == "confidence"))


def learn_ensemble(
    ensemble: SGBNEnsemble, cohort: Cohort, regions: pd.DataFrame, group: str, study: Study
) -> SGBNEnsemble:
    """Learn the network of one group.

    Effects of its covariates and sites are taken out of each part of its subjects again, sites are
    balanced between halves, and the rows of a person and of a family stay together.
    """
    given = {name: getattr(ensemble, name) for name in ("n_jobs", "n_pairs")}
    fitted = clone(ensemble).set_params(n_jobs=study.n_jobs)
    sample = group_sample(cohort, regions, group)
    if sample.n_units < FEWEST_ROWS:
        fitted.set_params(n_pairs=0)  # `compare` says that there is no confidence, and why
    fitted.fit(
        regions[np.asarray(cohort.group) == group],
        nuisance=sample.nuisance,
        strata=sample.strata,
        persons=sample.persons,
        blocks=sample.blocks,
        folder=study.folder,
        progress=study.progress,
    )
    # results do not depend on it, and a client of a cluster cannot be kept in files
    return fitted.set_params(**given)


def group_sample(cohort: Cohort, regions: pd.DataFrame, group: str) -> Sample:
    """Return the prepared rows of a group, with what is taken out of each half of them again."""
    own = np.asarray(cohort.group) == group
    blocks = None if cohort.block is None else cohort.units
    labels = (cohort.site, cohort.persons, blocks)
    parted = (None if one is None else np.asarray(one)[own] for one in labels)
    nuisance = nuisance_columns(prepared_cohort(cohort, regions), group)
    names = [str(name) for name in regions.columns]
    return Sample(regions[own].to_numpy(float), names, nuisance, *parted)


def review_regions(
    reviewed: Review, regions: pd.DataFrame, outliers: str = "trim", transform: str = "none"
) -> Review:
    """Add to a review what the rows that networks are learned from show.

    See `sgbn.quality.review_prepared`. Effects are taken out of each group once more, as
    `SGBNEnsemble` does it, so that the same subjects lie far out.
    """
    cohort = prepared_cohort(reviewed.cohort, regions)
    values = cohort.values.copy()
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)  # the networks say it
        for group in cohort.groups:
            own = group_sample(reviewed.cohort, regions, group)
            rows = np.asarray(cohort.group) == group
            values[rows], _ = without_nuisance(own.values, own.nuisance)
    return reviewed.with_findings(
        review_prepared(replace(cohort, values=values), outliers, transform)
    )


def nuisance_columns(cohort: Cohort, group: str) -> Array:
    """Columns that span the effects of covariates and sites in a group, without its mean.

    None, with a warning, where a half has too few subjects to estimate them: they have been taken
    out over all subjects before.
    """
    columns = _effects(cohort, group)
    n, p = columns.shape
    if not _can_lose(n, p):
        warn(
            f"group {group!r}: {n} subjects are too few to take {p} effects of covariates and sites"
            " out of each half. They were taken out over all subjects only; name fewer covariates, "
            "or join small sites."
        )
        return columns[:, :0]
    return columns


def takes_effects_out(cohort: Cohort, regions: pd.DataFrame) -> bool:
    """Whether the effects of covariates and sites are taken out of each half of every group."""
    shapes = [_effects(prepared_cohort(cohort, regions), group).shape for group in cohort.groups]
    return any(p for _, p in shapes) and all(_can_lose(n, p) for n, p in shapes)


def _can_lose(n: int, p: int) -> bool:
    """Whether each part of n subjects has enough of them to take p effects out."""
    return n >= SUBJECTS_PER_EFFECT * p and enough_left(n, p)


def _effects(cohort: Cohort, group: str) -> Array:
    own = np.asarray(cohort.group) == group
    covariates = {name: np.asarray(column)[own] for name, column in cohort.covariates.items()}
    sites = None if cohort.site is None else np.asarray(cohort.site)[own]
    return nuisance_of(np.zeros(own.sum(), np.intp), covariates, sites).basis[:, 1:]
