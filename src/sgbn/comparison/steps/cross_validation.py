"""Repeated cross-validation of networks, and of other classifiers for comparison.

All methods are fitted to the same training parts by the same Pipeline (`make_analysis`). The rows
of a person or of a family are never divided between training and test. This also holds for the
folds inside a training part.

The folds of a cross-validation, and its accuracy after exchanges of the labels.

All rows of a person or of a family are in the same fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import Exchange
from sgbn.comparison.settings import Settings
from sgbn.comparison.steps.accuracy import METRICS, OURS, REFINED, Accuracy, fold_score, parts_of
from sgbn.comparison.steps.networks import fast_learner
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Indices, Mask
from sgbn.learn.base import NetworkEstimator
from sgbn.learn.classifier import SGBNClassifier
from sgbn.learn.peers import COVARIATES_ALONE, FOLDS, covariates_alone, peers
from sgbn.learn.sgbn import SGBN
from sgbn.paper.classifier_cv import SGBNClassifierCV
from sgbn.paper.mm_sgbn import CLSGBNClassifier
from sgbn.prepare.pipeline import cohort_table, make_analysis
from sgbn.runs.files import Arrays
from sgbn.runs.study import Study
from sgbn.write.model_files import model_of, model_parts

if TYPE_CHECKING:
    import pandas as pd


FIRST_PEER = "shrinkage LDA"
PEERS = (FIRST_PEER, "L2 logistic", "L1 logistic", "random forest")
GAMMAS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.5)  # from dense to sparse networks
SHOWN = 5  # number of largest contributions that are kept per subject
ROWS_PER_BLOCK = 32  # subjects that are explained at once; each has one contribution per edge


def cross_validate(
    cohort: Cohort,
    settings: Settings,
    study: Study,
    learner: NetworkEstimator | None = None,
) -> Accuracy:
    """Classify every subject by models that have not seen it, `n_repeats` times.

    Parameters
    ----------
    cohort : Cohort
        The reviewed cohort. Each training part is imputed, harmonised and regressed by itself.
    settings : Settings
        The settings: folds, repeats, `select`, `peers` and seed are used.
    study : Study
        The study that runs one task per fold and method, and keeps the results.
    learner : estimator, optional
        The learner of the networks that CL-SGBN refines. By default it is `SGBN`.
    """
    folds = folds_of_repeats(cohort, settings)
    methods = _methods(cohort, settings, learner)
    gammas = GAMMAS if settings.peers else ()
    tasks = _tasks(folds, list(methods), gammas)
    # Finished tasks are used again only if all of this is the same.
    described = {
        "methods": list(methods),
        "folds": [settings.n_folds, len(folds), settings.seed],
        "select": settings.select,
        "learner": repr(learner),
        "data": cohort.fingerprint,
    }
    shared = {"cohort": cohort, "settings": settings, "learner": learner}
    # Methods differ much in speed, so the time left is estimated for each method.
    kinds = {name: str(task["method"]) for name, task in tasks.items()}
    results = study.run(_task, tasks, described, shared=shared, kinds=kinds)
    return collected(cohort, settings, folds, methods, results, gammas)


def _tasks(
    folds: Indices, methods: Sequence[str], gammas: Sequence[float]
) -> dict[str, dict[str, Any]]:
    """Return the arguments of each task by its name, in the order in which the tasks begin.

    In each repeat our classifier comes first, and slow peers come last. The first repeat contains
    every method, so that the remaining time can be estimated after it.
    """
    tasks: dict[str, dict[str, Any]] = {}
    for repeat, fold_of in enumerate(folds):
        # Other sparsities are tried in one repeat only: their curve needs no narrow interval.
        tried = {str(repeat): methods, "gamma": gammas if repeat == 0 else ()}
        for name, tried_methods in tried.items():
            for number, method in enumerate(tried_methods):
                explained = repeat == 0 and method == OURS
                for fold, test in enumerate(parts_of(fold_of)):
                    task = {"test": test, "method": method, "explained": explained}
                    # Names of tasks become file names, so they have numbers, not method names.
                    tasks[f"{name}-{fold}-{number}"] = task
    return tasks


def permuted_accuracies(
    cohort: Cohort, exchange: Exchange, settings: Settings, study: Study
) -> Array:
    """Cross-validate our classifier with exchanged labels, ``accuracy_permutations`` times.

    Parameters
    ----------
    cohort : Cohort
        The cohort that `cross_validate` gets. Covariates and sites stay with their rows.
    exchange : Exchange
        It draws the exchanges that the design allows: within sites, of whole persons and families,
        or of visits within persons.
    settings : Settings
        The settings: folds, `select`, `accuracy_permutations` and seed are used.
    study : Study
        The study that runs one task per exchange, and keeps the results.

    Returns
    -------
    ndarray of shape (accuracy_permutations,)
        The balanced accuracy after each exchange: the mean over the folds of one repeat.
    """
    described = {
        "folds": [settings.n_folds, settings.seed],
        "select": settings.select,
        "data": cohort.fingerprint,
    }
    classify = partial(_probabilities, settings)
    return run_exchanges(cohort, exchange, settings, study, described, classify)


def _probabilities(settings: Settings, cohort: Cohort, test: Mask) -> Array:
    """Return the probabilities of the test subjects, by our classifier."""
    result = _task(cohort, settings, None, test, OURS, explained=False)
    return np.asarray(result["probabilities"])


def fit_model(cohort: Cohort, settings: Settings, study: Study) -> Pipeline:
    """Fit the first of the cross-validated analyses to all subjects.

    This is the analysis with `SGBNClassifierCV`. It classifies subjects whose group is not known.
    `cross_validate` estimates its accuracy. Warnings of the fit are not shown, as in the training
    parts.

    Parameters
    ----------
    cohort : Cohort
        The reviewed cohort.
    settings : Settings
        The settings: `select` and the seed are used.
    study : Study
        The study that runs one task and keeps its result. A second start does not fit it again.

    Returns
    -------
    Pipeline
        It turns a table of covariates, site and regions into probabilities. Its ``site_column_``
        is the name of the site column in the table that was read, if that name is known.
    """
    described = {"select": settings.select, "seed": settings.seed, "data": cohort.fingerprint}
    shared = {"cohort": cohort, "settings": settings}
    results = study.run(_fitted_parts, {"parts": {}}, described, shared=shared)
    parts = {name: part.tobytes() for name, part in results["parts"].items()}
    fitted: Pipeline = model_of(parts)
    # This is not part of the task, because the same data may come with another column name.
    if "site_column" in cohort.provenance:
        fitted.site_column_ = str(cohort.provenance["site_column"])  # type: ignore[attr-defined]
    return fitted


def _fitted_parts(cohort: Cohort, settings: Settings) -> dict[str, Any]:
    """Fit our analysis to all subjects. Return the parts of its file as bytes, for a study."""
    analysis = _methods(cohort, settings, None)[OURS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _fit(analysis, cohort, cohort_table(cohort), np.full(len(cohort), True))
        except ValueError as error:
            raise InputError("model.unfitted", method=OURS, cause=error).says(
                "{method:s} cannot be fitted to all subjects", "{cause}"
            ) from error
        parts = model_parts(analysis)
    return {name: np.frombuffer(part, np.uint8) for name, part in parts.items()}


def _methods(
    cohort: Cohort, settings: Settings, learner: NetworkEstimator | None
) -> dict[str, Pipeline]:
    """Return the unfitted analysis of each method: from a table with gaps to probabilities."""
    seed = settings.seed
    # None: `make_analysis` uses the first peer by default.
    classifiers: dict[str, Any] = {OURS: SGBNClassifierCV(random_state=seed), FIRST_PEER: None}
    if settings.peers:
        classifiers[REFINED] = CLSGBNClassifier(fast_learner(learner), random_state=seed)
        n_folds = inner_folds(cohort, settings)
        # The other peers are tuned by folds inside the training part, if the groups allow two.
        if n_folds > 1:
            tuned = peers(seed, n_folds, whole=cohort.units is not None)
            classifiers |= {name: tuned[name] for name in PEERS[1:]}
    methods = {
        name: make_analysis(cohort, k=settings.select, classifier=classifier)
        for name, classifier in classifiers.items()
    }
    if cohort.covariates or cohort.site is not None:
        methods[COVARIATES_ALONE] = covariates_alone(cohort.smooth)
    return methods


def _fit(analysis: Pipeline, cohort: Cohort, table: pd.DataFrame, rows: Mask) -> None:
    """Fit an analysis to some rows. Inner folds keep the rows of a person or family together."""
    name, last = analysis.steps[-1]
    more = {}
    # Only classifiers with inner folds accept groups=. For others, scikit-learn raises an error.
    if cohort.units is not None and (
        isinstance(last, GridSearchCV) or has_fit_parameter(last, "groups")
    ):
        more[f"{name}__groups"] = cohort.units[rows]
    analysis.fit(table[rows], np.asarray(cohort.group)[rows], **more)


def _task(
    cohort: Cohort,
    settings: Settings,
    learner: NetworkEstimator | None,
    test: Mask,
    method: str | float,
    explained: bool,
) -> dict[str, Any]:
    """Return probabilities of the test rows. If `method` is a number, it is the gamma of SGBN."""
    table = cohort_table(cohort)
    if method == COVARIATES_ALONE:
        # The other columns are the covariates and the site.
        table = table[[name for name in table if name not in cohort.regions]]
    if isinstance(method, str):
        analysis = _methods(cohort, settings, learner)[method]
    else:
        searcher = fast_learner(SGBN(method, outliers="keep"))
        # A fixed temperature needs no folds, and does not change the balanced accuracy.
        plain = SGBNClassifier(searcher, temperature=1.0)
        analysis = make_analysis(cohort, k=settings.select, classifier=plain)
    with warnings.catch_warnings():
        # A warning about one of many parts says little, and other steps warn about all data.
        warnings.simplefilter("ignore")
        try:
            _fit(analysis, cohort, table, ~test)
        except ValueError as error:
            raise InputError("model.unfitted", method=str(method), cause=error).says(
                "{method:s} cannot be fitted to a training part", "{cause}"
            ) from error
        result = {"probabilities": analysis.predict_proba(table[test])}
        if explained:
            values = analysis[:-1].transform(table[test])
            # These are the values that the classifier gets: imputed, harmonised and scaled.
            result |= largest_parts(analysis[-1], values, result["probabilities"])
    if not isinstance(method, str):
        networks = analysis[-1].networks_.values()
        result["edges"] = np.mean([np.count_nonzero(network.coef) for network in networks])
    return result


def largest_parts(
    classifier: SGBNClassifier, values: pd.DataFrame, probabilities: Array
) -> dict[str, Any]:
    """Find which edges and regions contribute most to the choice between the two likeliest groups.

    A contribution is a part of the log-likelihood ratio of the likeliest group to the second.

    Parameters
    ----------
    classifier : SGBNClassifier
        The fitted classifier.
    values : DataFrame
        The regions of the rows to explain, as the classifier gets them.
    probabilities : ndarray of shape (n, n_groups)
        The probability of each group for these rows.

    Returns
    -------
    dict of str to ndarray
        ``sources`` ("" for a region itself), ``targets`` and ``values`` hold the `SHOWN` largest
        contributions of each row. ``likeliest`` holds the indices of the two groups.
    """
    likeliest = two_likeliest(probabilities)
    sources = np.empty((len(values), SHOWN), dtype=object)
    targets, parts = sources.copy(), np.empty(sources.shape)
    for pair, rows in _blocks_of_pairs(likeliest):
        of, against = classifier.classes_[pair]
        explanation = classifier.explain(values.iloc[rows], of, against)
        edges = zip(explanation.sources, explanation.targets, strict=True)
        ends = [*(("", name) for name in explanation.names), *edges]
        all_parts = np.hstack([explanation.own, explanation.edges])
        sources[rows], targets[rows], parts[rows] = shown_parts(all_parts, ends)
    return {
        "sources": sources.astype(str),
        "targets": targets.astype(str),
        "values": parts,
        "likeliest": likeliest,
    }


def two_likeliest(probabilities: Array) -> Indices:
    """Return the indices of the two likeliest groups of each row, shape (n, 2)."""
    # A stable sort, so that groups that are equally likely keep their order.
    return np.argsort(-probabilities, axis=1, kind="stable")[:, :2]


def shown_parts(
    parts: Array, ends: Sequence[tuple[str, str]]
) -> tuple[NDArray[Any], NDArray[Any], Array]:
    """Return sources, targets and values of the `SHOWN` largest contributions of each row.

    `parts` has one column per contribution, and `ends` has the source and target of each column.
    """
    largest = np.argsort(-np.abs(parts), axis=1, kind="stable")[:, :SHOWN]
    sources, targets = np.array(ends, dtype=object).T
    # If there are fewer contributions than SHOWN, rows are padded with "" and 0.
    empty = ((0, 0), (0, SHOWN - largest.shape[1]))
    return (
        np.pad(sources[largest], empty, constant_values=""),
        np.pad(targets[largest], empty, constant_values=""),
        np.pad(np.take_along_axis(parts, largest, axis=1), empty),
    )


def _blocks_of_pairs(likeliest: Indices) -> Iterator[tuple[Indices, Indices]]:
    """Yield each pair of groups (likeliest and second likeliest) with its rows, in blocks."""
    for pair in np.unique(likeliest, axis=0):
        rows = np.flatnonzero((likeliest == pair).all(axis=1))
        for first in range(0, len(rows), ROWS_PER_BLOCK):
            yield pair, rows[first : first + ROWS_PER_BLOCK]


def collected(
    cohort: Cohort,
    settings: Settings,
    folds: Indices,
    methods: Iterable[str],
    results: Mapping[str, Arrays],
    gammas: tuple[float, ...] = (),
) -> Accuracy:
    """Return the results of all tasks as one `Accuracy`. Only the first method is explained.

    `folds` holds the fold in which each subject was tested, one row per repeat. The tasks are
    called "repeat-fold-method" and "gamma-fold-number". Methods and gammas are numbered from 0.
    """
    labels = np.asarray(cohort.group)
    n, groups = len(labels), tuple(np.unique(labels).tolist())
    by_method: dict[str, list[Array]] = {method: [] for method in methods}
    for repeat, fold_of in enumerate(folds):
        for number, repeats in enumerate(by_method.values()):
            repeats.append(_joined(fold_of, results, f"{repeat}-{{}}-{number}", "probabilities"))
    tried = [f"gamma-{{}}-{number}" for number in range(len(gammas))]
    by_gamma = [_joined(folds[0], results, name, "probabilities") for name in tried]
    numbers = range(len(parts_of(folds[0])))
    edges = [np.mean([results[name.format(k)]["edges"] for k in numbers]) for name in tried]
    return Accuracy(
        groups,
        labels,
        folds,
        {method: np.array(repeats) for method, repeats in by_method.items()},
        np.array(gammas),
        np.array(edges),
        # np.reshape gives the right shape even without any gamma.
        np.reshape(by_gamma, (len(gammas), n, len(groups))),
        _explanations(folds[0], results),
        _joined(folds[0], results, "0-{}-0", "likeliest"),
        settings.reference,
    )


def _joined(folds: Indices, results: Mapping[str, Arrays], name: str, key: str) -> NDArray[Any]:
    """Return the rows of the tasks of all folds, in the order of the subjects.

    `name` is the name of a task with "{}" in place of the fold.
    """
    tests = parts_of(folds)
    parts = [results[name.format(fold)][key] for fold in range(len(tests))]
    # Texts of different folds have different widths, and the common type has the largest width.
    joined = np.empty((len(folds), *parts[0].shape[1:]), np.result_type(*parts))
    for test, part in zip(tests, parts, strict=True):
        joined[test] = part
    return joined


def _explanations(folds: Indices, results: Mapping[str, Arrays]) -> NDArray[Any]:
    """Return the contributions to the log-likelihood ratios of our classifier in repeat 0."""
    kinds = [("source", object), ("target", object), ("value", float)]
    columns = [_joined(folds, results, "0-{}-0", f"{name}s") for name, _ in kinds]
    explanations = np.empty(columns[-1].shape, dtype=kinds)
    for (name, _), column in zip(kinds, columns, strict=True):
        explanations[name] = column
    return explanations


def folds_of_repeats(cohort: Cohort, settings: Settings) -> Indices:
    """Return the number of the fold of each subject in each repeat, shape (n_repeats, n)."""
    n_repeats = settings.repeats(cohort)
    return np.array([fold_numbers(cohort, settings, repeat) for repeat in range(n_repeats)])


def fold_numbers(cohort: Cohort, settings: Settings, repeat: int) -> Indices:
    """Return the number of the fold of each subject in one repeat."""
    n_folds = min(settings.n_folds, _smallest(cohort))
    if n_folds < 2:
        raise InputError("folds.one-block").says(
            "all rows of a group belong to one person or family, so it cannot be cut into folds",
            "Add other persons or families, or leave out {block=}.",
        )
    folds = np.empty(len(cohort), np.intp)
    # Each repeat has its own seed, so that more repeats do not change the first ones.
    for fold, (_, test) in enumerate(cohort.design.folds(n_folds, settings.seed + repeat)):
        folds[test] = fold
    return folds


def _smallest(cohort: Cohort) -> int:
    """Return the size of the smallest group in subjects, or in persons or families if known."""
    return min(cohort.unit_counts.values())


def inner_folds(cohort: Cohort, settings: Settings) -> int:
    """Return the number of folds that the smallest group allows inside each training part."""
    smallest = _smallest(cohort)
    largest_test = -(-smallest // min(settings.n_folds, smallest))  # rounded up
    return min(FOLDS, smallest - largest_test)


def run_exchanges(
    cohort: Cohort,
    exchange: Exchange,
    settings: Settings,
    study: Study,
    described: Mapping[str, Any],
    classify: Callable[[Any, Mask], Array],
) -> Array:
    """Return the accuracies after ``accuracy_permutations`` exchanges; see `exchanged_accuracy`.

    The study runs one task per exchange. Kept results are used only if `described` is the same.
    """
    tasks = {str(k): {"number": k} for k in range(settings.accuracy_permutations)}
    shared = {"cohort": cohort, "settings": settings, "exchange": exchange, "classify": classify}
    results = study.run(exchanged_accuracy, tasks, described, shared=shared)
    return np.array([float(results[name]["accuracy"]) for name in tasks])


def exchanged_accuracy(
    cohort: Cohort,
    settings: Settings,
    exchange: Exchange,
    number: int,
    classify: Callable[[Any, Mask], Array],
) -> dict[str, Any]:
    """Return the balanced accuracy after one exchange of the labels: the mean over all folds.

    Parameters
    ----------
    cohort : Cohort
        The cohort with the observed labels.
    settings : Settings
        The settings: folds and seed are used.
    exchange : Exchange
        It draws exchanges that the design allows.
    number : int
        The number of the exchange.
    classify : callable
        A function of the cohort with exchanged labels and a mask of test subjects. It trains on the
        other subjects, and returns the probabilities of the test subjects.
    """
    # The number is part of the seed, so that results do not depend on the order of the tasks.
    rows = exchange.draw(np.random.default_rng([settings.seed, number]))
    exchanged = replace(cohort, group=np.asarray(cohort.group)[rows])
    labels = np.asarray(exchanged.group)
    scores = [
        fold_score(METRICS[0], labels[test], classify(exchanged, test), exchanged.groups)
        # The folds are new, balanced by the new labels. One repeat is enough, because p compares
        # with the first repeat.
        for test in parts_of(fold_numbers(exchanged, settings, 0))
    ]
    return {"accuracy": np.mean(scores)}
