"""The learners of a comparison, and the network of one group."""

from __future__ import annotations

from typing import Any, TypeVar

from numpy.typing import NDArray
from sklearn.base import clone

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import group_sample
from sgbn.comparison.settings import Settings
from sgbn.learn.base import LearnedNetwork
from sgbn.learn.classifier import default_learner
from sgbn.learn.ensemble import MIN_ROWS_TO_HALVE, ConfidentNetwork, SGBNEnsemble
from sgbn.learn.knowledge import KNOWLEDGE
from sgbn.learn.sgbn import SGBN
from sgbn.prepare.pipeline import regions_table
from sgbn.runs.study import Study

# Learners that draw half samples themselves, of tables or of time series.
Confident = TypeVar("Confident", bound=ConfidentNetwork)


def default_ensemble(settings: Settings, gamma: float | None = None) -> SGBNEnsemble:
    """Make the default learner of the networks, with `n_pairs` splits into half samples.

    It has at most as many chains as half samples. Without half samples it has the default number
    of chains of an `SGBNEnsemble`.
    """
    ensemble = SGBNEnsemble(gamma, n_pairs=settings.n_pairs, random_state=settings.seed)
    if settings.n_pairs:
        # A quick run has few half samples, two per pair. More chains would take most of its time.
        ensemble.n_chains = min(ensemble.n_chains, 2 * settings.n_pairs)
    return ensemble


def searcher_of(learner: LearnedNetwork, labels: NDArray[Any]) -> LearnedNetwork:
    """Return the learner for steps with hundreds of networks: `SGBN` in place of an ensemble.

    It has the prior knowledge and `max_parents` of the ensemble, and one gamma for all groups. The
    gamma of an ensemble belongs to a prior, and has another meaning than the gamma of `SGBN`.
    """
    if not isinstance(learner, SGBNEnsemble):
        return learner
    # Prior knowledge of the regions holds in every step, for every learner.
    shared = {name: getattr(learner, name) for name in ("max_parents", *KNOWLEDGE)}
    return default_learner(labels).set_params(**shared)


def fast_learner(learner: Any) -> Any:
    """Return a faster version of a learner, for steps that learn many networks.

    Its networks are nearly as good as the networks of the learner itself. For SGBN, this is the
    learner with ``effort="fast"`` and without kicks (new local searches from random changes of the
    best order). Other learners are returned as they are.
    """
    if not isinstance(learner, SGBN):
        return learner
    return clone(learner).set_params(effort="fast", n_kicks=0)


def steps_of(settings: Settings, learner: LearnedNetwork | None = None) -> tuple[str, ...]:
    """Return the names of the steps of a comparison with this learner.

    Some learners draw half samples themselves, like the default. They learn the confidence of edges
    in the step "networks", so there is no step "confidence".
    """
    # None means the default ensemble.
    one_step = learner is None or isinstance(learner, ConfidentNetwork)
    return tuple(name for name in settings.steps if not (one_step and name == "confidence"))


def learn_network(
    learner: LearnedNetwork, cohort: Cohort, group: str, study: Study
) -> LearnedNetwork:
    """Learn the network of one group of a prepared cohort, with any learner that takes a table."""
    if isinstance(learner, SGBNEnsemble):
        return learn_ensemble(learner, cohort, group, study)
    fitted: LearnedNetwork = clone(learner).fit(regions_table(cohort)[cohort.group == group])
    return fitted


def learn_ensemble(
    ensemble: SGBNEnsemble, cohort: Cohort, group: str, study: Study
) -> SGBNEnsemble:
    """Learn the network of one group of a prepared cohort by an ensemble.

    In each half sample, the effects of covariates and sites are taken out again. Sites are balanced
    between the halves, and the rows of a person or of a family stay together.
    """
    sample = group_sample(cohort, group)
    return fit_with_halves(
        ensemble,
        sample.n_units >= MIN_ROWS_TO_HALVE,
        study,
        regions_table(cohort)[cohort.group == group],
        nuisance=sample.nuisance,
        strata=sample.strata,
        persons=sample.persons,
        blocks=sample.blocks,
    )


def fit_with_halves(
    learner: Confident, can_halve: bool, study: Study, data: Any, **more: Any
) -> Confident:
    """Fit a copy of a learner that draws half samples.

    If the subjects are too few (`can_halve` is False), there are no half samples. After the fit,
    the copy has the parameters `n_jobs` and `n_pairs` of the given learner.
    """
    given = {name: getattr(learner, name) for name in ("n_jobs", "n_pairs")}
    fitted = clone(learner).set_params(n_jobs=study.n_jobs)
    if not can_halve:
        fitted.set_params(n_pairs=0)  # `compare` says why there is no confidence
    fitted.fit(data, **more, folder=study.folder, progress=study.progress)
    # Results do not depend on n_jobs, and a client of a cluster cannot be written to files.
    return fitted.set_params(**given)
