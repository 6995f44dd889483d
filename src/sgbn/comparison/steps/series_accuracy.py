"""Repeated cross-validation of networks of time series, and of nilearn's connectivity.

All methods have the same folds, the same treatment of sites and covariates (`make_analysis`) and
the same logistic regression. Folds inside the training part choose its penalty. The methods differ
in the features. The graph of each training part is learned from its subjects, without their labels.
The networks of the groups have this graph.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.stats import zscore
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline

from sgbn.cohort.design import Exchange
from sgbn.cohort.series import SeriesCohort, SubjectMoments
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps.accuracy import OURS, Accuracy, parts_of
from sgbn.comparison.steps.cross_validation import (
    collected,
    folds_of_repeats,
    inner_folds,
    run_exchanges,
    shown_parts,
    two_likeliest,
)
from sgbn.core.moments import one_blas_thread
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Labels, Mask
from sgbn.learn.peers import COVARIATES_ALONE, LOG_LOSS, covariates_alone
from sgbn.learn.series import SeriesSGBN
from sgbn.learn.series_features import SeriesLikelihoods, SeriesWeights, as_moments, common_graph
from sgbn.prepare.pipeline import cohort_table, make_analysis
from sgbn.runs.study import Study
from sgbn.write.tables import frame_of

if TYPE_CHECKING:
    import pandas as pd


LIKELIHOOD = "likelihood under networks (SGBN)"
CONNECTIVITY = {  # the kind of nilearn's ConnectivityMeasure by method
    "tangent space (nilearn)": "tangent",
    "partial correlation (nilearn)": "partial correlation",
    "correlation (nilearn)": "correlation",
}
FIRST_PEER = next(iter(CONNECTIVITY))
Cs = np.logspace(-6, 1, 8)  # values of C to try, for hundreds to 20 000 features of variance 1


def cross_validate_series(
    cohort: SeriesCohort, settings: Settings, study: Study, learner: SeriesSGBN | None = None
) -> Accuracy:
    """Classify every subject by models that have not seen it, `n_repeats` times.

    Our features are the subject's weights on a graph that is learned from all training subjects
    without their labels. For comparison, the features of nilearn's tangent space are tried. With
    ``settings.peers``, its other kinds of connectivity and likelihoods under one network per group
    are tried too.

    Parameters
    ----------
    cohort : SeriesCohort
        The reviewed cohort, in which no region is empty. Sites and covariates are taken out of the
        features. Their effects are learned in each training part.
    settings : Settings
        The settings: folds, repeats, peers and seed are used.
    study : Study
        The study that learns one graph per fold, and then runs one task per fold and method.
    learner : SeriesSGBN, optional
        The learner of the graphs.

    Returns
    -------
    Accuracy
        The probabilities of all subjects. Explanations are the largest parts of the log odds of the
        likeliest group over the second likeliest group.

    Raises
    ------
    InputError
        If the groups are too small for folds within folds.
    """
    _check(cohort, settings)
    folds = folds_of_repeats(cohort, settings)
    methods = _methods(cohort, settings)
    described = _described(cohort, settings, learner)
    # Shared, because the moments of a subject do not depend on labels or on other subjects.
    moments = as_moments(cohort, learner)
    parts = {
        f"{repeat}-{fold}": {"test": test}
        for repeat, fold_of in enumerate(folds)
        for fold, test in enumerate(parts_of(fold_of))
    }
    of_graphs = {"moments": moments, "learner": learner}
    graphs = study.part("graphs").run(_graph_task, parts, described, shared=of_graphs)
    # Graphs are learned first, in their own tasks, because all methods of a fold share a graph.
    tasks = {
        f"{name}-{number}": part
        | {"graph": graphs[name]["graph"], "method": method}
        # Only the first repeat, whose names begin with "0-", is explained.
        | {"explained": name.startswith("0-") and method == OURS}
        for name, part in parts.items()
        for number, method in enumerate(methods)
    }
    shared = {"cohort": cohort, "moments": moments, "settings": settings}
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
        It draws the exchanges that the design allows.

    Returns
    -------
    ndarray of shape (accuracy_permutations,)
        The balanced accuracy after each exchange: the mean over the folds of one repeat.
    """
    _check(cohort, settings)
    described = _described(cohort, settings, learner)
    classify = partial(_probabilities, as_moments(cohort, learner), settings, learner)
    return run_exchanges(cohort, exchange, settings, study, described, classify)


def _probabilities(
    moments: SubjectMoments,
    settings: Settings,
    learner: SeriesSGBN | None,
    cohort: SeriesCohort,
    test: Mask,
) -> Array:
    """Return the probabilities of the test subjects, by our classifier."""
    # Exchanged labels give other folds, so the graphs of the true folds cannot be used.
    graph = common_graph(moments.take(~test), learner)
    result = _task(cohort, moments, settings, test, graph, OURS, explained=False)
    return np.asarray(result["probabilities"])


def _check(cohort: SeriesCohort, settings: Settings) -> None:
    if inner_folds(cohort, settings) < 2:
        raise InputError("folds.small-group").says(
            "a group has too few subjects for folds within the training part",
            "Give at least 3 subjects per group, or {n_repeats=0}.",
        )


def _described(
    cohort: SeriesCohort, settings: Settings, learner: SeriesSGBN | None
) -> dict[str, Any]:
    """Describe the study. Kept results are used only if the description is the same."""
    return {
        "folds": [settings.n_folds, settings.repeats(cohort), settings.seed],
        # Results do not depend on n_jobs, and the text of a client of a cluster changes.
        "learner": None if learner is None else repr(clone(learner).set_params(n_jobs=None)),
        "data": cohort.fingerprint,
    }


def _methods(cohort: SeriesCohort, settings: Settings) -> list[str]:
    methods = [OURS]
    connectivity = list(CONNECTIVITY) if settings.peers else [FIRST_PEER]
    if settings.peers:
        methods.append(LIKELIHOOD)
    try:
        # The extra "brain" is optional, and our own features do not need it.
        import_module("nilearn.connectome")
        methods += connectivity
    except ImportError:
        Problem("nilearn.missing").warn(
            "nilearn is not installed, so networks are not compared with its connectivity",
            "Install it with: pip install 'sgbn[brain]'.",
        )
    if cohort.covariates or cohort.site is not None:
        methods.append(COVARIATES_ALONE)
    return methods


class _Part(NamedTuple):
    """A training part, and the test subjects that are left out of it."""

    cohort: SeriesCohort
    moments: SubjectMoments
    settings: Settings
    test: Mask
    graph: Mask  # learned from the training subjects

    @property
    def labels(self) -> Labels:
        """Return the groups of the training subjects."""
        return np.asarray(self.cohort.group)[~self.test]

    @property
    def units(self) -> Labels | None:
        """Return the persons or families of the training subjects. Folds keep them together."""
        return None if self.cohort.units is None else self.cohort.units[~self.test]

    @property
    def folds(self) -> int:
        """Return the number of folds inside the training part."""
        return inner_folds(self.cohort, self.settings)

    @property
    def nuisance(self) -> pd.DataFrame:
        """Return the covariates and the site of all subjects."""
        table = cohort_table(self.cohort)
        return table[[name for name in table if name not in self.cohort.regions]]


class _Features(NamedTuple):
    """The features of training subjects and of test subjects, and the edges of the features."""

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
    """Return the probabilities of the test subjects and, if asked for, the explanations."""
    part = _Part(cohort, moments, settings, test, graph)
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore")  # a warning about one of many training parts says little
        try:
            if method == COVARIATES_ALONE:
                return {"probabilities": _by_covariates(part)}
            features = _features(part, method)
            analysis = _fitted(part, features)
        except ValueError as error:
            raise InputError("model.unfitted", method=str(method), cause=error).says(
                "{method:s} cannot be fitted to a training part", "{cause}"
            ) from error
        new = _table(features.test, part.nuisance[test])
        result = {"probabilities": analysis.predict_proba(new)}
        if explained:
            values = analysis[:-1].transform(new).to_numpy()
            result |= _largest_parts(analysis[-1], values, features.edges, result["probabilities"])
    return result


def _features(part: _Part, method: str) -> _Features:
    """Learn the features from the training subjects, and compute them for all subjects."""
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
    """Compute nilearn's connectivity. The training part gives the centre of the tangent space."""
    from nilearn.connectome import ConnectivityMeasure

    # An array of objects can be indexed by masks. np.array would stack series of equal length.
    series = np.empty(len(part.cohort), dtype=object)
    series[:] = list(map(zscore, part.cohort.series))  # so that units do not change the shrinkage
    # The diagonal is left out, because it is always 1 in correlations.
    measure = ConnectivityMeasure(kind=kind, vectorize=True, discard_diagonal=True)
    known = measure.fit_transform(list(series[~part.test]))
    return _Features(known, measure.transform(list(series[part.test])))


def _fitted(part: _Part, features: _Features) -> Pipeline:
    """Take sites and covariates out of the features, and fit the logistic regression."""
    analysis = make_analysis(part.cohort, classifier=_logistic(part))
    groups = {} if part.units is None else {"classify__tune__groups": part.units}
    table = _table(features.train, part.nuisance[~part.test])
    return analysis.fit(table, part.labels, **groups)


def _logistic(part: _Part) -> Pipeline:
    """Make an L2 logistic regression in the space of the training rows.

    Its result is the same as in the space of all features, but it is much faster.
    """
    splitter = StratifiedKFold if part.units is None else StratifiedGroupKFold
    folds = splitter(part.folds, shuffle=True, random_state=part.settings.seed)
    plain = LogisticRegression(max_iter=2000, class_weight="balanced")
    tuned = GridSearchCV(plain, {"C": Cs}, cv=folds, scoring=LOG_LOSS)
    return Pipeline([("rotate", PCA(svd_solver="full")), ("tune", tuned)])


def _by_covariates(part: _Part) -> Array:
    alone = covariates_alone(part.cohort.smooth)
    # The groups are balanced as in the other methods, so that the methods can be compared.
    alone.set_params(logisticregression__class_weight="balanced")
    alone.fit(part.nuisance[~part.test], part.labels)
    return np.asarray(alone.predict_proba(part.nuisance[part.test]))


def _table(features: Array, nuisance: pd.DataFrame) -> pd.DataFrame:
    """Return the features with covariates and site, in the form for `make_analysis`."""
    # The place of a feature tells its edge. A covariate is unlikely to have one of these names.
    names = [f"feature {k}" for k in range(features.shape[1])]
    return frame_of(features, names).set_index(nuisance.index).join(nuisance)


def _largest_parts(
    classifier: Pipeline, values: Array, edges: Sequence[tuple[str, str]], probabilities: Array
) -> dict[str, Any]:
    """Return the largest parts of the log odds of the likeliest group over the second likeliest.

    Returns
    -------
    dict of str to ndarray
        ``sources``, ``targets``, ``values`` and ``likeliest``, as in
        `sgbn.comparison.steps.cross_validation.largest_parts`.
    """
    likeliest = two_likeliest(probabilities)
    rotation, tuned = classifier["rotate"], classifier["tune"]
    # This turns the slopes from the rotated space into one slope per edge.
    slopes = tuned.best_estimator_.coef_ @ rotation.components_
    if len(slopes) == 1:
        # Two groups have one row of slopes, for the log odds of the second over the first. Half of
        # it with each sign gives one row per group, with the same difference.
        slopes = np.vstack([-slopes / 2, slopes / 2])
    parts = (values - rotation.mean_) * (slopes[likeliest[:, 0]] - slopes[likeliest[:, 1]])
    sources, targets, values = shown_parts(parts, edges)
    texts = {"sources": sources.astype(str), "targets": targets.astype(str)}
    return texts | {"values": values, "likeliest": likeliest}
