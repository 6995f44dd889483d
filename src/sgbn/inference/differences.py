r"""Which edges differ between groups, and how sure that is.

H0 of an edge i -> j, given the learned order and parents: its weight is the same in all groups.
Means and noise variances may differ. The statistic is Wald's with HC3 variances, see
`sgbn.inference.edge_statistics`. Its null distribution comes from whole rows of residuals,
exchanged between the groups and centred in them again. The parents that the pooled rows and each
group choose are chosen anew in every permutation. The order is kept: it has seen the labels only in
so far as the means of the groups were taken out before. `sgbn.inference.permutation_p` has the
rules by which statistics become p.

Where an arrow is learned the wrong way round, unequal noise alone makes its weights unequal. So
every pair is tested both ways as well, i -> j and j -> i, each given the parents of either, and the
larger p counts. A change of the scale of a region changes both weights: their partial correlation,
which it does not change, is the third that must differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from sgbn.cohort import Cohort
from sgbn.exceptions import InputError, shown
from sgbn.gaussian import GaussianNetwork
from sgbn.inference.difference_fit import TableProblem, problem_of
from sgbn.inference.difference_input import Covariates, read_group_data, without_outliers
from sgbn.inference.difference_problem import Fit, fingerprint
from sgbn.inference.difference_request import check_request, read_among, read_edges
from sgbn.inference.difference_result import Differences, summarised
from sgbn.inference.joint import covariances, weights_on
from sgbn.inference.permuted_statistics import permuted_statistics
from sgbn.moments import one_blas_thread
from sgbn.parameters import POSITIVE
from sgbn.runs import Study
from sgbn.series_cohort import SeriesCohort
from sgbn.structure import SGBN


def edge_differences(
    X: ArrayLike | Cohort,
    groups: ArrayLike | None = None,
    *,
    covariates: Covariates | None = None,
    sites: ArrayLike | None = None,
    pairs: ArrayLike | None = None,
    persons: ArrayLike | None = None,
    blocks: ArrayLike | None = None,
    reference: str | None = None,
    learner: SGBN | None = None,
    separate_parents: bool = True,
    penalty: float = 1.0,
    outliers: str | ArrayLike = "trim",
    edges: Sequence[tuple[str, str]] = (),
    among: Sequence[str] = (),
    n_permutations: int = 999,
    alternative: str = "two-sided",
    random_state: int = 0,
    n_jobs: int | None = None,
    folder: str | Path | None = None,
    progress: bool = False,
) -> Differences:
    """Test every edge of the groups' networks for a difference between the groups.

    Parameters
    ----------
    X : Cohort, DataFrame or array-like of shape (n_subjects, n_regions)
        Without missing cells. A cohort brings its groups, covariates, sites, pairs, persons and
        blocks; what is given beside it replaces them.
    groups : array-like of shape (n_subjects,)
        Group of each row. A cohort has its own.
    covariates : mapping of name to values, or DataFrame, optional
        Their linear effects are held fixed.
    sites : array-like of shape (n_subjects,), optional
        Means of sites are held fixed, and rows are exchanged within a site only.
    pairs : array-like of shape (n_subjects,), optional
        Person of each row, where each is there once in every group: rows are exchanged within
        persons only.
    persons : array-like of shape (n_subjects,), optional
        Person of each row, where a person has several rows in one group: the rows of a person are
        exchanged together, with those of a person who has as many.
    blocks : array-like of shape (n_subjects,), optional
        Family of each row, or another label of rows that are not independent. A family that lies in
        one group is exchanged whole with another of as many persons and rows; in a family that
        spans groups its members are exchanged among themselves (Winkler et al., 2015).
    reference : str, optional
        The group that others are compared with: it comes first, and the rest by name. By default
        one that is called like controls (control, CTR, HC, CN, healthy, 0 beside 1, ...), else the
        first by name; see `sgbn.reference.usual_reference`.
    learner : SGBN, optional
        The estimator that finds the order in the pooled residuals; by default `SGBN()`.
    separate_parents : bool
        Whether parents that only one group shows are tested as well, see `JointSGBN`.
    penalty : float
        Factor of the usual price of a parent, which is that of BIC in the pooled rows and of
        extended BIC in a group. A smaller factor tests more edges. The learner has a penalty of its
        own for the order.
    outliers : {"trim", "keep"} or array-like of bool of shape (n_subjects,)
        Whether subjects that lie far from the others of their group are left out, once, before
        anything is permuted; or which ones. `Differences.left_out` names them.
    edges : sequence of (source, target), optional
        Edges that were named before the data were seen. Few tests, each with p from its own
        permutations: see `Differences.named`.
    among : sequence of str, optional
        Regions or lobes that were named beforehand: all edges between them are tested together, and
        corrected among themselves.
    n_permutations : int
        Number of permutations, 19 or more.
    alternative : {"two-sided", "greater", "less"}
        "greater": the weight is greater in the last group than in the first. Two groups only. It
        acts on edges only; the global test, components, hubs and lobes stay two-sided.
    random_state : int
        Seed of the permutations, 0 or more. Results do not depend on `n_jobs`.
    n_jobs : int, optional
        Number of processes.
    folder : path, optional
        Keeps finished permutations; a second start does only what is missing. Another number of
        permutations needs another folder.
    progress : bool
        Show a bar with the time left.

    Notes
    -----
    A region has at most a fifth as many parents as the smallest group has subjects, less what is
    held fixed, in the data and in the permutations; a pair that is tested both ways has those of
    both regions.

    `p` compares with the statistics of edges of all permutations together, which studentising makes
    comparable; edges that the pooled rows choose, and those that only a group chooses, are compared
    with edges of the same kind: the latter are there because the groups look different. For an edge
    that was named beforehand, give `edges`.

    Where the groups have the same distribution but for their means, permutations without
    covariates and sites are exact up to the means that are estimated and the rows that are left
    out; with covariates and sites they are nearly so (Freedman and Lane 1983).

    `p_both` is the largest p of i -> j, j -> i and their partial correlation, each among its own
    permuted statistics; the null is that at least one of the three is unchanged. `p_fwer_both` is
    corrected over all three of all pairs, and then the largest of a pair; `q_both` is Benjamini and
    Hochberg's over `p_both` (over all three it would not hold: many directions that truly change
    let others pass). A difference that holds one way only may be a change of variance. Their level
    is measured by simulation (benchmarks/calibration.py), not guaranteed: under a wrong order the
    parents of either may hold descendants.

    More than two groups are compared pair by pair too, in closed tests, see
    `sgbn.inference.closed_tests`; of more than five only all together.

    Components of more than two groups have no sign.

    An edge that differs *given the order and parents found* need not be one that differs in
    nature: where the order is wrong, a change shows at neighbouring edges as well.

    Whether rows are subjects is not looked at here: `sgbn.quality.review` does, as `compare` does.
    """
    if isinstance(X, SeriesCohort):
        raise InputError("a SeriesCohort has one series per subject. Call series_differences.")
    data = read_group_data(X, groups, covariates, sites, pairs, reference, persons, blocks)
    # Before sizes are checked: what is left must be enough.
    data, left_out = without_outliers(data, outliers)
    n_permutations, seed = check_request(n_permutations, alternative, random_state, data)
    POSITIVE.check("penalty", penalty)
    learner = SGBN() if learner is None else learner
    chosen = read_edges(edges, data), read_among(among, data)
    with one_blas_thread():
        problem = problem_of(data, learner, separate_parents, alternative, *chosen, penalty)
        fit = problem.fit(problem.residuals)
        networks = _networks(problem, fit)  # refuses what has none before the long work begins
    settings = {
        "learner": repr(learner),
        "separate_parents": separate_parents,
        "penalty": penalty,
        "data": fingerprint(problem, learner),
    }
    study = Study(folder, n_jobs, progress)
    null = permuted_statistics(problem, n_permutations, seed, settings, study)
    return summarised(problem, fit, null, networks, left_out)


def _networks(problem: TableProblem, fit: Fit) -> dict[str, GaussianNetwork]:
    """Return the networks of the groups, in the units of the data."""
    data, sd = problem.data, problem.sd
    groups = covariances(problem.residuals, data.codes)
    fitted = weights_on(groups, fit.parents, problem.nuisance.rank / len(data.codes))
    networks = {}
    for name, weights in zip(data.groups, fitted, strict=True):
        unknown = np.flatnonzero(np.isnan(weights.noise))
        if len(unknown):
            raise InputError(
                f"the parents of {data.regions[unknown[0]]!r} determine each other in the group "
                f"{shown(name)}. Leave out regions that are sums or copies of others."
            )
        networks[name] = GaussianNetwork(
            weights.weights * sd / sd[:, None],
            noise_variance=weights.noise * sd**2,
            names=data.regions,
        )
    return networks
