"""Repeated cross-validation of networks of time series, beside nilearn's connectivity.

All methods have the same folds, the same treatment of sites and covariates (`make_analysis`) and
the same logistic regression, whose strength is chosen by folds inside the training part. They
differ in the features. The graph of each training part is learned from its subjects, without their
labels; networks of groups have that graph.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from sgbn.comparison.accuracy import OURS, Accuracy, parts_of
from sgbn.comparison.cross_validation import collected, shown_parts, two_likeliest
from sgbn.comparison.folds import (
    exchanged_accuracy,
    folds_of_repeats,
    inner_folds,
    run_exchanges,
)
from sgbn.comparison.peers import COVARIATES_ALONE, LOG_LOSS, covariates_alone
from sgbn.comparison.settings import Settings
from sgbn.discriminative.series_features import (
    SeriesLikelihoods,
    SeriesWeights,
    as_moments,
    common_graph,
)
from sgbn.exceptions import InputError, warn
from sgbn.inference.exchange import Exchange
from sgbn.moments import one_blas_thread
from sgbn.preprocessing import cohort_table, make_analysis
from sgbn.runs import Study
from sgbn.series_cohort import SeriesCohort
from sgbn.structure.series import SeriesSGBN, SubjectMoments
from sgbn.types import Array, Labels, Mask

LIKELIHOOD = "likelihood under networks (SGBN)"
CONNECTIVITY = {  # method -> kind of nilearn's ConnectivityMeasure
    "tangent space (nilearn)": "tangent",
    "partial correlation (nilearn)": "partial correlation",
    "correlation (nilearn)": "correlation",
}
FIRST_PEER = next(iter(CONNECTIVITY))
Cs = np.logspace(-6, 1, 8)  # for features of variance one, from hundreds to 20 000 of them


def cross_validate_series(
    cohort: SeriesCohort, settings: Settings, study: Study, learner: SeriesSGBN | None = None
) -> Accuracy:
    """Classify every subject by its series and models that have not seen it, `n_repeats` times.

    Our features are the subject's weights on a graph that is learned from all training subjects
    without their labels. With ``settings.peers``, likelihoods under one network per group and all
    of nilearn's kinds of connectivity are tried beside it; else tangent space alone.

    Parameters
    ----------
    cohort : SeriesCohort
        As reviewed: no region is empty. Sites and covariates are taken out of the features, with
        effects that are learned in each training part.
    settings : Settings
        Folds, repeats, peers, seed.
    study : Study
        Learns one graph per fold, then runs one task per fold and method.
    learner : SeriesSGBN, optional
        Of the graphs.

    Returns
    -------
    Accuracy
        Explanations are the largest parts of the log odds of the likeliest group over the next.

    Raises
    ------
    InputError
        If the groups are too small for folds within folds.
    """
    _check(cohort, settings)
    folds = folds_of_repeats(cohort, settings)
    methods = _methods(cohort, settings)
    described = _described(cohort, settings, learner)
    shared = _shared(cohort, settings, learner)
    parts = {
        f"{repeat}-{fold}": {"test": test}
        for repeat, fold_of in enumerate(folds)
        for fold, test in enumerate(parts_of(fold_of))
    }
    of_graphs = {"moments": shared["moments"], "learner": learner}
    graphs = study.part("graphs").run(_graph_task, parts, described, shared=of_graphs)
    # Graphs come first, in tasks of their own: all methods of a fold share one.
    tasks = {
        f"{name}-{number}": part
        | {"graph": graphs[name]["graph"], "method": method}
        # "0-" is the first repeat, the only one that is explained.
        | {"explained": name.startswith("0-") and method == OURS}
        for name, part in parts.items()
        for number, method in enumerate(methods)
    }
    results = study.run(_task, tasks, described | {"methods": methods}, shared=shared)
    return collected(cohort, settings, folds, methods, results)


def permuted_series_accuracies(
    cohort: SeriesCohort,
    exchange: Exchange,
    settings: Settings,
    study: Study,
    learner: SeriesSGBN | None = None,
) -> Array:
    """Cross-validate our features with exchanged labels, ``accuracy_permutations`` times.

    Parameters
    ----------
    cohort, settings, study, learner
        As in `cross_validate_series`. Covariates and sites stay with their rows.
    exchange : Exchange
        What the design allows.

    Returns
    -------
    ndarray of shape (accuracy_permutations,)
        Balanced accuracy, the mean over the folds of one repeat.
    """
    _check(cohort, settings)
    shared = _shared(cohort, settings, learner) | {"exchange": exchange, "learner": learner}
    described = _described(cohort, settings, learner)
    return run_exchanges(_permuted_task, settings, study, described, shared)


def _permuted_task(
    cohort: SeriesCohort,
    moments: SubjectMoments,
    settings: Settings,
    learner: SeriesSGBN | None,
    exchange: Exchange,
    number: int,
) -> dict[str, Any]:
    def classify(exchanged: SeriesCohort, test: Mask) -> Array:
        # Exchanged labels give other folds, so that the graphs of the true labels do not serve.
        graph = common_graph(moments.take(~test), learner)
        result = _task(exchanged, moments, settings, test, graph, OURS, explained=False)
        return np.asarray(result["probabilities"])

    return exchanged_accuracy(cohort, settings, exchange, number, classify)


def _check(cohort: SeriesCohort, settings: Settings) -> None:
    if settings.select is not None:
        raise InputError(
            "select chooses regions of a table, and edges of series are not chosen. Leave it out."
        )
    if inner_folds(cohort, settings) < 2:
        raise InputError(
            "a group has too few subjects for folds within the training part. Give 3 or more per "
            "group, or leave out the cross-validation (n_repeats=0)."
        )


def _described(
    cohort: SeriesCohort, settings: Settings, learner: SeriesSGBN | None
) -> dict[str, Any]:
    """Say what makes a study of this cohort what it is."""
    return {
        "folds": [settings.n_folds, settings.repeats(cohort), settings.seed],
        # without n_jobs: results do not depend on it, and a client of a cluster has no stable text
        "learner": None if learner is None else repr(clone(learner).set_params(n_jobs=None)),
        "data": cohort.fingerprint,
    }


def _shared(cohort: SeriesCohort, settings: Settings, learner: SeriesSGBN | None) -> dict[str, Any]:
    """Return the arguments that all tasks share.

    Moments may be shared: those of a subject depend neither on labels nor on other subjects.
    """
    return {"cohort": cohort, "moments": as_moments(cohort, learner), "settings": settings}


def _methods(cohort: SeriesCohort, settings: Settings) -> list[str]:
    methods = [OURS]
    connectivity = list(CONNECTIVITY) if settings.peers else [FIRST_PEER]
    if settings.peers:
        methods.append(LIKELIHOOD)
    try:
        # The extra "brain" is optional, and our own features do without it.
        import_module("nilearn.connectome")
        methods += connectivity
    except ImportError:
        warn(
            "nilearn is not installed, so that its connectivity is not tried beside networks. "
            "Install it with: pip install 'sgbn[brain]'."
        )
    if cohort.covariates or cohort.site is not None:
        methods.append(COVARIATES_ALONE)
    return methods


class _Part(NamedTuple):
    """A training part, and the subjects that are left out of it."""

    cohort: SeriesCohort
    moments: SubjectMoments
    settings: Settings
    test: Mask
    graph: Mask  # of the training subjects

    @property
    def labels(self) -> Labels:
        """Groups of the training subjects."""
        return np.asarray(self.cohort.group)[~self.test]

    @property
    def units(self) -> Labels | None:
        """Persons or families of the training subjects, which folds do not part."""
        return None if self.cohort.units is None else self.cohort.units[~self.test]

    @property
    def folds(self) -> int:
        """Number of folds inside the training part."""
        return inner_folds(self.cohort, self.settings)

    @property
    def beside(self) -> pd.DataFrame:
        """Covariates and site of all subjects."""
        table = cohort_table(self.cohort)
        return table[[name for name in table if name not in self.cohort.regions]]


class _Features(NamedTuple):
    """Features of training subjects and of those left out, and the edges that they belong to."""

    train: Array
    test: Array
    edges: Sequence[tuple[str, str]] = ()


def _graph_task(moments: SubjectMoments, learner: SeriesSGBN | None, test: Mask) -> dict[str, Any]:
    return {"graph": common_graph(moments.take(~test), learner)}


def _task(
    cohort: SeriesCohort,
    moments: SubjectMoments,
    settings: Settings,
    test: Mask,
    graph: Mask,
    method: str,
    explained: bool,
) -> dict[str, Any]:
    """Probabilities of the subjects left out, and what speaks for them."""
    part = _Part(cohort, moments, settings, test, graph)
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")  # of one of many training parts
        try:
            if method == COVARIATES_ALONE:
                return {"probabilities": _by_covariates(part)}
            features = _features(part, method)
            analysis = _fitted(part, features)
        except ValueError as error:
            raise InputError(f"{method} cannot be fitted to a training part: {error}") from error
        new = _table(features.test, part.beside[test])
        result = {"probabilities": analysis.predict_proba(new)}
        if explained:
            values = analysis[:-1].transform(new).to_numpy()
            result |= _largest_parts(analysis[-1], values, features.edges, result["probabilities"])
    return result


def _features(part: _Part, method: str) -> _Features:
    """Learn from the training subjects, and measure all."""
    train, test = part.moments.take(~part.test), part.moments.take(part.test)
    if method == OURS:
        weights = SeriesWeights(graph=part.graph).fit(train)
        return _Features(weights.transform(train), weights.transform(test), weights.edges_)
    if method == LIKELIHOOD:
        networks = SeriesLikelihoods(
            graph=part.graph, n_folds=part.folds, random_state=part.settings.seed
        )
        known = networks.fit_transform(train, part.labels, part.units)
        return _Features(known, networks.transform(test))
    return _connectivity(part, CONNECTIVITY[method])


def _connectivity(part: _Part, kind: str) -> _Features:
    """Pairs of regions by nilearn; the middle of the tangent space is that of the training part."""
    from nilearn.connectome import ConnectivityMeasure

    # An array of objects takes masks. np.array(series) would stack series of one length.
    series = np.empty(len(part.cohort), dtype=object)
    series[:] = part.cohort.series
    # Without the diagonal, which of correlations is 1 throughout.
    measure = ConnectivityMeasure(kind=kind, vectorize=True, discard_diagonal=True)
    known = measure.fit_transform(list(series[~part.test]))
    return _Features(known, measure.transform(list(series[part.test])))


def _fitted(part: _Part, features: _Features) -> Pipeline:
    """Take sites and covariates out of the features, and fit the logistic regression."""
    analysis = make_analysis(part.cohort, classifier=_logistic(part))
    groups = {} if part.units is None else {"classify__tune__groups": part.units}
    table = _table(features.train, part.beside[~part.test])
    return analysis.fit(table, part.labels, **groups)


def _logistic(part: _Part) -> Pipeline:
    """Fit L2 logistic regression in the space of the training rows: the same, but much faster."""
    splitter = StratifiedKFold if part.units is None else StratifiedGroupKFold
    folds = splitter(part.folds, shuffle=True, random_state=part.settings.seed)
    plain = LogisticRegression(max_iter=2000, class_weight="balanced")
    tuned = GridSearchCV(plain, {"C": Cs}, cv=folds, scoring=LOG_LOSS)
    return Pipeline([("rotate", PCA(svd_solver="full")), ("tune", tuned)])


def _by_covariates(part: _Part) -> Array:
    alone = covariates_alone(part.cohort.smooth)
    # balanced as the other methods are, so that groups of unequal size are compared alike
    alone.set_params(logisticregression__class_weight="balanced")
    alone.fit(part.beside[~part.test], part.labels)
    return np.asarray(alone.predict_proba(part.beside[part.test]))


def _table(features: Array, beside: pd.DataFrame) -> pd.DataFrame:
    """Features with covariates and site, as `make_analysis` takes them."""
    # numbers in the names, as edges are told by place; a covariate of this name is most unlikely
    names = [f"feature {k}" for k in range(features.shape[1])]
    columns = pd.DataFrame(features, index=beside.index, columns=names)
    return pd.concat([columns, beside], axis=1)


def _largest_parts(
    classifier: Pipeline, values: Array, edges: Sequence[tuple[str, str]], probabilities: Array
) -> dict[str, Any]:
    """Find the largest parts of the log odds of the likeliest group over the next.

    Returns
    -------
    dict of str to ndarray
        As `sgbn.comparison.cross_validation.largest_parts`: ``sources``, ``targets``, ``values``
        and ``likeliest``.
    """
    likeliest = two_likeliest(probabilities)
    rotation, tuned = classifier["rotate"], classifier["tune"]
    # Back from the rotated space to one slope per edge.
    slopes = tuned.best_estimator_.coef_ @ rotation.components_
    if len(slopes) == 1:
        # Two groups have one row of slopes, the log odds of the second over the first. Halves of
        # both signs make it one row per group, whose difference is the same.
        slopes = np.vstack([-slopes / 2, slopes / 2])
    parts = (values - rotation.mean_) * (slopes[likeliest[:, 0]] - slopes[likeliest[:, 1]])
    sources, targets, values = shown_parts(parts, edges)
    texts = {"sources": sources.astype(str), "targets": targets.astype(str)}
    return texts | {"values": values, "likeliest": likeliest}
