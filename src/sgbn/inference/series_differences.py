"""Which edges differ between groups of subjects with time series, and how sure that is.

The subject is the unit. One graph is learned on all subjects without their groups. Each subject's
weights on it are one number per edge, and H0 of an edge is that their mean over subjects is the
same in all groups, given covariates and sites. Volumes are never compared nor exchanged. As the
graph has not seen the groups, it is kept while subjects are exchanged between them: nothing is
tested on what it was chosen by.

The statistics are those of `sgbn.inference.adjusted_means`; all p come by the rules of
`sgbn.inference.permutation_p`, as those of tables do.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from numpy.typing import ArrayLike
from sklearn.base import clone

from sgbn.gaussian import GaussianNetwork
from sgbn.inference.difference_input import Covariates, read_group_data
from sgbn.inference.difference_problem import Fit, fingerprint
from sgbn.inference.difference_request import check_request, read_among, read_edges
from sgbn.inference.difference_result import Differences, summarised
from sgbn.inference.permuted_statistics import permuted_statistics
from sgbn.inference.series_problem import SeriesProblem, series_problem_of
from sgbn.moments import one_blas_thread
from sgbn.parameters import POSITIVE
from sgbn.runs import Study
from sgbn.series_cohort import SeriesCohort
from sgbn.structure.series import SeriesSGBN, SubjectMoments, subject_moments
from sgbn.structure.series.subject_moments import as_cohort
from sgbn.structure.series.subject_weights import noise_shares

TESTED_PENALTY = 0.5  # of edges that are tested, times that of the learner: benchmarks/series_tests


def series_differences(
    series: SeriesCohort | Sequence[ArrayLike],
    groups: ArrayLike | None = None,
    *,
    covariates: Covariates | None = None,
    sites: ArrayLike | None = None,
    pairs: ArrayLike | None = None,
    persons: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    reference: str | None = None,
    learner: SeriesSGBN | None = None,
    penalty: float = TESTED_PENALTY,
    edges: Sequence[tuple[str, str]] = (),
    among: Sequence[str] = (),
    n_permutations: int = 999,
    alternative: str = "two-sided",
    random_state: int = 0,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: bool = False,
) -> Differences:
    """Test every edge of the common network for a difference of its weight between groups.

    Parameters
    ----------
    series : SeriesCohort, or sequence of array-like of shape (volumes, m)
        One array per subject. A cohort brings its groups, covariates, sites, pairs, persons and
        blocks; what is given beside it replaces them.
    groups : array-like of shape (n_subjects,)
        Group of each subject. A cohort has its own.
    covariates : mapping of name to values, or DataFrame, optional
        Such as age, sex and motion. Their linear effects on the weights are held fixed.
    sites : array-like of shape (n_subjects,), optional
        Means of sites are held fixed, and subjects are exchanged within a site only.
    pairs : array-like of shape (n_subjects,), optional
        Person of each row, where each is there once in every group, such as sessions before and
        after a treatment: rows are exchanged within persons only. Effects of covariates and sites
        are then those of their changes within persons.
    persons : array-like of shape (n_subjects,), optional
        Person of each row, where a person has several sessions in one group: they are exchanged
        together, with those of a person who has as many.
    blocks : array-like of shape (n_subjects,), optional
        Family of each row, as in `edge_differences`.
    reference : str, optional
        The group that others are compared with, as in `edge_differences`.
    learner : SeriesSGBN, optional
        The estimator that learns the graph from all subjects. Its half samples (`n_pairs`) are not
        drawn.
    penalty : float
        Factor of the penalty of the learner. A smaller factor tests more edges. It is below 1, so
        that edges which only one group has are tested as well.
    edges : sequence of (source, target), optional
        Edges that were named before the data were seen. Few tests, each with p from its own
        permutations: see `Differences.named`.
    among : sequence of str, optional
        Regions or lobes that were named beforehand: all edges between them are tested together, and
        corrected among themselves.
    n_permutations : int
        Number of permutations, 19 or more.
    alternative : {"two-sided", "greater", "less"}
        As in `edge_differences`.
    random_state : int
        Seed of the permutations, 0 or more. Results do not depend on `n_jobs`.
    n_jobs : int, optional
        Number of processes.
    folder : path, optional
        Keeps finished permutations; a second start does only what is missing.
    progress : bool
        Show a bar with the time left.

    Returns
    -------
    Differences
        As of tables, with these meanings: all weights are standardised, so that `difference` and
        `difference_std` are the same. ``weight_GROUP`` is the mean weight of the group's subjects,
        for subjects with mean covariates. `networks` have these weights. No subject is left out.

    Notes
    -----
    Weights of each subject are least squares on its own correlations, once its series is filtered,
    see `sgbn.structure.series.subject_moments`. Means and scales of volumes carry no information.

    There is no p for the existence of an edge: the same subjects chose the graph. An edge that is
    not in the graph is not tested.

    Where groups have the same distribution of weights, permutations without covariates and sites
    are exact; with covariates and sites they are nearly so (Freedman and Lane 1983), and by HC3
    where only the spread of weights differs, such as by numbers of volumes. Level and recall are
    measured on simulated series in benchmarks/series_tests.py.

    Motion changes correlations. A group that moves more differs in weights by this alone: give
    motion as a covariate. It takes out what is linear in it; the logarithm of mean framewise
    displacement often serves better than the mean itself, see docs/series.md.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.inference import series_differences
    >>> rng = np.random.default_rng(0)
    >>> series = [rng.normal(size=(150, 4)) for _ in range(40)]
    >>> for k, one in enumerate(series):
    ...     one[:, 1] += (0.3 + 0.5 * (k % 2)) * one[:, 0]
    >>> groups = np.tile(["control", "patient"], 20)
    >>> found = series_differences(series, groups, n_permutations=99)
    >>> found.edges[["source", "target", "q"]].tolist()
    [('x1', 'x0', 0.01)]
    """
    learner = SeriesSGBN() if learner is None else learner
    cohort = as_cohort(series)
    moments = subject_moments(cohort, lagged=learner.lagged)  # refuses empty regions by name
    data = read_group_data(cohort, groups, covariates, sites, pairs, reference, persons, blocks)
    n_permutations, seed = check_request(n_permutations, alternative, random_state, data)
    POSITIVE.check("penalty", penalty)
    chosen = read_edges(edges, data), read_among(among, data)
    # without n_jobs, which changes no result: a folder is kept by what does
    lower = clone(learner).set_params(n_pairs=0, n_jobs=None, penalty=penalty * learner.penalty)
    by_residuals = lower.non_gaussian == "orient"  # which moments do not have
    graph = (lower.fit(cohort) if by_residuals else lower.fit_moments(moments)).coef_ != 0
    with one_blas_thread():
        problem = series_problem_of(data, moments, graph, alternative, *chosen)
        fit = problem.fit()
        # Before the permutations: what cannot be a network is refused early.
        networks = _networks(problem, fit, moments)
    settings = {"learner": repr(lower), "data": fingerprint(problem, lower)}
    study = Study(folder, n_jobs, progress)
    null = permuted_statistics(problem, n_permutations, seed, settings, study)
    return summarised(problem, fit, null, networks, left_out=dict.fromkeys(data.groups, ()))


def _networks(
    problem: SeriesProblem, fit: Fit, moments: SubjectMoments
) -> dict[str, GaussianNetwork]:
    """Mean network of each group: adjusted mean weights, and mean shares of noise."""
    data = problem.data
    matrices = fit.weights.matrices(fit.edges, len(data.regions))
    noise = noise_shares(moments, problem.graph)
    return {
        group: GaussianNetwork(
            weights.weights, noise_variance=noise[data.codes == c].mean(axis=0), names=data.regions
        )
        for c, (group, weights) in enumerate(zip(data.groups, matrices, strict=True))
    }
