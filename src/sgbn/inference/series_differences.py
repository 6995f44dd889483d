"""Tests of which edges differ between groups of subjects with time series.

The subject is the unit. One graph is learned from all subjects, without their groups. Each subject
then has one weight per edge of this graph. The null hypothesis of an edge is that the mean weight
is the same in all groups, given covariates and sites. Volumes are never compared or exchanged.
Because the groups did not influence the graph, it stays the same while subjects are exchanged
between groups. So no edge was chosen by the difference that is tested.

The statistics are described in `sgbn.inference.adjusted_means`. As for tables, each p follows the
rules of `sgbn.inference.permutation_p`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from numpy.typing import ArrayLike
from sklearn.base import clone

from sgbn.cohort.series import SeriesCohort, SubjectMoments, as_cohort, subject_moments
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.moments import one_blas_thread
from sgbn.core.validation import POSITIVE
from sgbn.inference.difference_input import Covariates, read_group_data
from sgbn.inference.difference_problem import Fit, fingerprint
from sgbn.inference.difference_request import check_request, read_among, read_edges
from sgbn.inference.difference_result import Differences, summarised
from sgbn.inference.permuted_statistics import permuted_statistics
from sgbn.inference.series_problem import SeriesProblem, series_problem_of
from sgbn.learn.series import SeriesSGBN, noise_shares
from sgbn.runs.study import Study

TESTED_PENALTY = 0.5  # factor of the learner's penalty for tested edges (benchmarks/series_tests)


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
        One array per subject. A cohort has its own groups, covariates, sites, pairs, persons and
        blocks. An argument that you give replaces them.
    groups : array-like of shape (n_subjects,)
        Group of each subject. A cohort has its own groups.
    covariates : mapping of name to values, or DataFrame, optional
        Covariates such as age, sex and motion. Their linear effects on the weights are held fixed.
    sites : array-like of shape (n_subjects,), optional
        Site of each subject. The mean of each site is held fixed, and subjects are exchanged only
        within a site.
    pairs : array-like of shape (n_subjects,), optional
        Person of each row, if each person has exactly one row in every group, such as sessions
        before and after a treatment. Rows are then exchanged only within persons, and only changes
        of covariates and sites within persons count.
    persons : array-like of shape (n_subjects,), optional
        Person of each row, if a person has several sessions in one group. All sessions of a person
        are exchanged together, with the sessions of another person who has equally many.
    blocks : array-like of shape (n_subjects,), optional
        Family of each row, as in `edge_differences`.
    reference : str, optional
        The group that the others are compared with, as in `edge_differences`.
    learner : SeriesSGBN, optional
        The estimator that learns the graph from all subjects. Its half samples (`n_pairs`) are not
        drawn.
    penalty : float
        Factor of the penalty of the learner. With a smaller factor more edges are tested. The
        default is below 1, so that edges which only one group has are tested too.
    edges : sequence of (source, target), optional
        Edges that you chose before you saw the data. They are corrected for their own number only,
        and the p of each edge comes from its own permutations. See `Differences.named`.
    among : sequence of str, optional
        Regions or lobes that you chose before you saw the data. All edges between them are tested
        together, and corrected for the number of these edges only.
    n_permutations : int
        Number of permutations, 19 or more.
    alternative : {"two-sided", "greater", "less"}
        Direction of the tests of edges, as in `edge_differences`.
    random_state : int
        Seed of the permutations, 0 or more. Results do not depend on `n_jobs`.
    n_jobs : int, optional
        Number of processes.
    folder : path, optional
        Folder that keeps the finished permutations. A second start computes only the missing ones.
    progress : bool
        Whether to show a bar with the time left.

    Returns
    -------
    Differences
        The same as for tables, with three differences. All weights are standardised, so that
        `difference` and `difference_std` are the same. ``weight_GROUP`` is the mean weight of the
        group's subjects, for subjects with mean covariates, and `networks` have these weights. No
        subject is left out.

    Notes
    -----
    The weights of each subject are least-squares weights from its own correlations, after its
    series is filtered; see `sgbn.subject_moments`. Means and scales of the series
    are not used.

    There is no p for the existence of an edge, since the same subjects chose the graph. An edge
    that is not in the graph is not tested.

    If the groups have the same distribution of weights, permutations without covariates and sites
    are exact. With covariates and sites they are nearly exact (Freedman and Lane 1983). If only the
    spread of weights differs, for example because subjects have different numbers of volumes, they
    are nearly exact because of the HC3 variances. Level and recall are measured on simulated series
    in benchmarks/series_tests.py.

    Motion changes correlations. A group that moves more differs in weights for this reason alone.
    So give motion as a covariate, which takes out its linear effect. The logarithm of mean
    framewise displacement often works better than the mean itself, see docs/series.md.

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
    # n_jobs changes no result. So it must not be among the settings that identify a folder.
    lower = clone(learner).set_params(n_pairs=0, n_jobs=None, penalty=penalty * learner.penalty)
    needs_residuals = lower.non_gaussian == "orient"  # which moments do not contain
    graph = (lower.fit(cohort) if needs_residuals else lower.fit_moments(moments)).coef_ != 0
    with one_blas_thread():
        problem = series_problem_of(data, moments, graph, alternative, *chosen)
        fit = problem.fit()
        # Networks come before the permutations, so that errors come early.
        networks = _networks(problem, fit, moments)
    settings = {"learner": repr(lower), "data": fingerprint(problem, lower)}
    study = Study(folder, n_jobs, progress)
    null = permuted_statistics(problem, n_permutations, seed, settings, study)
    return summarised(problem, fit, null, networks, left_out=dict.fromkeys(data.groups, ()))


def _networks(
    problem: SeriesProblem, fit: Fit, moments: SubjectMoments
) -> dict[str, GaussianNetwork]:
    """Return the mean network of each group: adjusted mean weights, and mean shares of noise."""
    data = problem.data
    matrices = fit.weights.matrices(fit.edges, len(data.regions))
    noise = noise_shares(moments, problem.graph)
    return {
        group: GaussianNetwork(
            weights.weights, noise_variance=noise[data.codes == c].mean(axis=0), names=data.regions
        )
        for c, (group, weights) in enumerate(zip(data.groups, matrices, strict=True))
    }
