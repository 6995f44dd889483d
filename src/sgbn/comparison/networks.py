"""The network of each group by an ensemble, which also says how sure its edges are."""

from __future__ import annotations

from typing import Any, TypeVar

from numpy.typing import NDArray
from sklearn.base import clone

from sgbn.cohort import Cohort
from sgbn.comparison.settings import Settings
from sgbn.discriminative.class_networks import default_learner
from sgbn.preprocessing.preparation import regions_table
from sgbn.runs import Study
from sgbn.structure import SGBN
from sgbn.structure.base import LearnedNetwork
from sgbn.structure.ensemble import SGBNEnsemble
from sgbn.structure.ensemble.confident_network import ConfidentNetwork
from sgbn.structure.ensemble.sgbn_ensemble import MIN_ROWS_TO_HALVE
from sgbn.structure.knowledge import KNOWLEDGE
from sgbn.structure.samples import group_sample

# learners that draw half samples themselves, of tables or of time series
Confident = TypeVar("Confident", bound=ConfidentNetwork)


def default_ensemble(settings: Settings, gamma: float | None = None) -> SGBNEnsemble:
    """Make the learner of the networks, with `n_pairs` splits and chains in proportion.

    Without half samples it has as many chains as an `SGBNEnsemble` by default.
    """
    ensemble = SGBNEnsemble(gamma, n_pairs=settings.n_pairs, random_state=settings.seed)
    if settings.n_pairs:
        # a quick run asks for few half samples, two per pair; more chains would then cost the most
        ensemble.n_chains = min(ensemble.n_chains, 2 * settings.n_pairs)
    return ensemble


def searcher_of(learner: LearnedNetwork, labels: NDArray[Any]) -> LearnedNetwork:
    """Return the learner of steps with hundreds of networks: `SGBN` in place of an ensemble.

    It has the ensemble's prior knowledge and most parents, and one gamma for all groups. The gamma
    of an ensemble is that of a prior, and not one of the criterion that is searched here.
    """
    if not isinstance(learner, SGBNEnsemble):
        return learner
    # What is known of the regions holds in every step, whoever learns.
    shared = {name: getattr(learner, name) for name in ("max_parents", *KNOWLEDGE)}
    return default_learner(labels).set_params(**shared)


def fast_learner(learner: Any) -> Any:
    """Return a fast learner for many networks: SGBN without kicks and tables, nearly as good.

    Learners of other kinds are returned as they are.
    """
    if not isinstance(learner, SGBN):
        return learner
    return clone(learner).set_params(effort="fast", n_kicks=0)


def steps_of(settings: Settings, learner: LearnedNetwork | None = None) -> tuple[str, ...]:
    """Names of the steps of a comparison by this learner.

    A learner that draws half samples by itself, as the default does, learns the confidence of its
    edges in the step "networks".
    """
    # None stands for the default ensemble.
    one_step = learner is None or isinstance(learner, ConfidentNetwork)
    return tuple(name for name in settings.steps if not (one_step and name == "confidence"))


def learn_network(
    learner: LearnedNetwork, cohort: Cohort, group: str, study: Study
) -> LearnedNetwork:
    """Learn the network of one group of a prepared cohort, with any learner that fits a table."""
    if isinstance(learner, SGBNEnsemble):
        return learn_ensemble(learner, cohort, group, study)
    fitted: LearnedNetwork = clone(learner).fit(regions_table(cohort)[cohort.group == group])
    return fitted


def learn_ensemble(
    ensemble: SGBNEnsemble, cohort: Cohort, group: str, study: Study
) -> SGBNEnsemble:
    """Learn the network of one group of a prepared cohort.

    Effects of its covariates and sites are taken out of each part of its subjects again, sites are
    balanced between halves, and the rows of a person and of a family stay together.
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
    """Fit a copy of a learner that draws half samples, unless there are too few subjects for them.

    The copy shows the parameters that were given, not those of this fit.
    """
    given = {name: getattr(learner, name) for name in ("n_jobs", "n_pairs")}
    fitted = clone(learner).set_params(n_jobs=study.n_jobs)
    if not can_halve:
        fitted.set_params(n_pairs=0)  # `compare` says that there is no confidence, and why
    fitted.fit(data, **more, folder=study.folder, progress=study.progress)
    # results do not depend on processes, and a client of a cluster cannot be kept in files
    return fitted.set_params(**given)
