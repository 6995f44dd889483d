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
        The mean of each site is taken into account, and rows are exchanged only within a site.
    pairs : array-like of shape (n_subjects,), optional
        Person of each row, if each person has exactly one row in every group: rows are exchanged
        only within persons.
    persons : array-like of shape (n_subjects,), optional
        Person of each row, if a person has several rows in one group. All rows of a person are
        exchanged together, with the rows of another person who has the same number.
    blocks : array-like of shape (n_subjects,), optional
        Family of each row, or another label of rows that are not independent. A family within one
        group is exchanged as a whole, with another family of the same number of persons and rows.
        In a family with members in several groups, the members are exchanged with each other
        (Winkler et al., 2015).
    reference : str, optional
        The group that the others are compared with. It comes first; the others follow by name. By
        default it is the group with a usual name of controls (control, CTR, HC, CN, healthy, 0 if
        the other is 1, ...), or else the first by name; see `sgbn.reference.usual_reference`.
    learner : SGBN, optional
        The estimator that finds the order in the pooled residuals; by default `SGBN()`.
    separate_parents : bool
        Whether parents that only one group shows are tested as well, see `JointSGBN`.
    penalty : float
        The usual price of a parent is multiplied by this factor. The usual price is that of BIC in
        the pooled rows, and that of extended BIC in a single group. With a smaller factor more
        edges are tested. The order does not depend on it: the learner has its own penalty.
    outliers : {"trim", "keep"} or array-like of bool of shape (n_subjects,)
        "trim" leaves out subjects that lie far from the others of their group; this is done once,
        before the permutations. An array marks the subjects to leave out. `Differences.left_out`
        names them.
    edges : sequence of (source, target), optional
        Edges that you chose before you saw the data. They are corrected for their own number only,
        and the p of each comes from its own permutations: see `Differences.named`.
    among : sequence of str, optional
        Regions or lobes that you chose before you saw the data. All edges between them are tested
        together, and corrected for the number of these edges only.
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
        Finished permutations are kept there, and a second start computes only the missing ones.
        Another number of permutations needs another folder.
    progress : bool
        Show a bar with the time left.

    Notes
    -----
    In the data and in the permutations, a region has at most n / 5 parents. Here n is the number
    of subjects in the smallest group, less what covariates and sites use up. A pair that is tested
    both ways has the parents of both regions.

    `p` compares the statistic of an edge with those of all edges in all permutations. They are
    comparable because each statistic is studentised. Edges that the pooled rows choose, and edges
    that only one group chooses, are compared only with edges of the same kind: the latter were
    chosen because the groups look different. To test an edge that you chose beforehand, give
    `edges`.

    If the groups differ in nothing but their means, permutations without covariates and sites are
    exact, apart from the estimated means and the rows left out. With covariates and sites they are
    nearly exact (Freedman and Lane 1983).

    `p_both` is the largest p of i -> j, j -> i and their partial correlation; each of the three is
    compared with its own permuted statistics. Its null hypothesis is that at least one of the three
    is unchanged. For `p_fwer_both`, each of the three is corrected over all three of all pairs, and
    then the largest of a pair is taken. `q_both` is the q of Benjamini and Hochberg over `p_both`.
    (Over all three it would not hold: many directions that truly change would let others pass.) A
    difference in one direction only may be a change of variance. The level of these tests is
    measured by simulation (benchmarks/calibration.py), and not guaranteed: if the order is wrong,
    descendants may be among the parents of either region.

    With three to five groups, each pair of groups is compared too, in closed tests; see
    `sgbn.inference.closed_tests`. More than five groups are only compared all together.

    Components of more than two groups have no sign.

    Edges differ *given the order and the parents that were found*. If the order is wrong, a true
    change shows at neighbouring edges as well, which then differ here but not in nature.

    This function does not check that each row is another subject. `sgbn.quality.review` checks it,
    and so does `compare`.
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
    # A folder goes on only where all of these are the same as when it was begun.
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
    # Problems hold residuals per standard deviation; networks are in the units of the data.
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
