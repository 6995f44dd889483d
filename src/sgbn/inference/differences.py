r"""Tests of which edges differ between groups.

The null hypothesis of an edge i -> j, given the learned order and parents, is that its weight is
the same in all groups. Means and noise variances may differ. The statistic is Wald's statistic with
HC3 variances, see `sgbn.inference.difference_problem`. For its null distribution, whole rows of
residuals are exchanged between the groups and then centred within the groups again. In every
permutation the pooled rows and each group choose parents again. The order stays the same. The group
labels influenced it only because the means of the groups were taken out before. The module
`sgbn.inference.permutations` says how statistics become p.

If an arrow is learned the wrong way round, unequal noise alone makes its weights unequal. So every
pair is also tested both ways: i -> j and j -> i, each given the parents of both regions. A change
of the scale of a region changes both weights, but not their partial correlation. So the partial
correlation must differ too. The largest of the three p counts.

The fit of parents and weights to the groups of a table, for the data and each permutation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.design import Design
from sgbn.cohort.effects import Nuisance
from sgbn.cohort.rows import Rows, check_groups_vary, check_rows_agree, rows_of_groups
from sgbn.cohort.series import SeriesCohort
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.moments import one_blas_thread
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Graph, Indices
from sgbn.core.validation import POSITIVE, copies
from sgbn.inference.difference_problem import (
    EdgeProblem,
    Fit,
    GroupColumns,
    Members,
    NamedEdges,
    UnitSums,
    all_ways,
    check_request,
    fingerprint,
    group_columns,
    one_way,
    parents_of_both,
    read_among,
    read_edges,
)
from sgbn.inference.difference_tables import Differences, summarised
from sgbn.inference.joint import (
    GROUP_GAMMA,
    POOLED_GAMMA,
    SharedOrder,
    check_weights,
    covariances,
    weights_on,
)
from sgbn.inference.permutations import permuted_statistics
from sgbn.learn.sgbn import SGBN
from sgbn.prepare.outliers import without_outliers
from sgbn.runs.study import Study


def edge_differences(
    X: ArrayLike | Cohort,
    groups: ArrayLike | None = None,
    *,
    covariates: Mapping[str, ArrayLike] | None = None,
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
        The rows, without missing cells. A cohort has its own groups, covariates, sites, pairs,
        persons and blocks. An argument that you give replaces them.
    groups : array-like of shape (n_subjects,)
        Group of each row. A cohort has its own groups.
    covariates : mapping of name to values, or DataFrame, optional
        Covariates whose linear effects are held fixed.
    sites : array-like of shape (n_subjects,), optional
        Site of each row. The mean of each site is held fixed, and rows are exchanged only within a
        site.
    pairs : array-like of shape (n_subjects,), optional
        Person of each row, if each person has exactly one row in every group. Rows are then
        exchanged only within persons.
    persons : array-like of shape (n_subjects,), optional
        Person of each row, if a person has several rows in one group. All rows of a person are
        exchanged together, with the rows of another person who has the same number of rows.
    blocks : array-like of shape (n_subjects,), optional
        Family of each row, or another label of rows that are not independent. A family within one
        group is exchanged as a whole, with another family that has as many persons and rows.
        In a family with members in several groups, the members are exchanged with each other
        (Winkler et al., 2015).
    reference : str, optional
        The group that the others are compared with. It comes first, and the others follow by name.
        By default it is the group with a usual name of controls (control, CTR, HC, CN, healthy,
        ...). If all names are numbers, the group 0 counts as controls. If no group looks like
        controls, it is the first by name. See `sgbn.cohort.design.usual_reference`.
    learner : SGBN, optional
        The estimator that finds the order in the pooled residuals. The default is `SGBN()`.
    separate_parents : bool
        Whether edges from parents that only one group chooses are tested too, see `JointSGBN`.
    penalty : float
        Factor of the usual penalty for a parent. The usual penalty is BIC in the pooled rows, and
        extended BIC in a single group. With a smaller factor more edges are tested. The order does
        not depend on this factor: the learner has its own penalty.
    outliers : {"trim", "keep"} or array-like of bool of shape (n_subjects,)
        "trim" leaves out subjects that lie far from the others of their group, once, before the
        permutations. "keep" keeps all subjects. An array marks the subjects to leave out.
        `Differences.left_out` names the subjects that were left out.
    edges : sequence of (source, target), optional
        Edges that you chose before you saw the data. They are corrected for their own number only,
        and the p of each edge comes from its own permutations. See `Differences.named`.
    among : sequence of str, optional
        Regions or lobes that you chose before you saw the data. All edges between them are tested
        together, and corrected for the number of these edges only.
    n_permutations : int
        Number of permutations, 19 or more.
    alternative : {"two-sided", "greater", "less"}
        "greater" tests whether the weight is greater in the last group than in the first. "greater"
        and "less" need exactly two groups. They apply to edges only. The global test, components,
        hubs and lobes stay two-sided.
    random_state : int
        Seed of the permutations, 0 or more. Results do not depend on `n_jobs`.
    n_jobs : int, optional
        Number of processes.
    folder : path, optional
        Folder that keeps the finished permutations. A second start computes only the missing ones.
        Another number of permutations needs another folder.
    progress : bool
        Whether to show a bar with the time left.

    Notes
    -----
    In the data and in the permutations, a region has at most n / 5 parents. Here n is the number
    of subjects in the smallest group, minus the degrees of freedom that means, covariates and sites
    use up in it. The test of a pair in both directions holds the parents of both regions fixed.

    `p` compares the statistic of an edge with the statistics of all edges in all permutations. They
    are comparable because each statistic is studentised. There are two kinds of edges: edges that
    the pooled rows choose, and edges that only a group chooses. Each edge is compared only with
    edges of its kind, since edges of the second kind were chosen because the groups look different.
    To test an edge that you chose beforehand, give `edges`.

    If the groups differ in nothing but their means, permutations without covariates and sites are
    exact, apart from the estimated means and the rows left out. With covariates and sites they are
    nearly exact (Freedman and Lane 1983).

    `p_both` is the largest p of i -> j, j -> i and their partial correlation. Each of the three is
    compared with its own permuted statistics. The null hypothesis is that at least one of the three
    is unchanged. For `p_fwer_both`, each of the three p is corrected over the three p of all pairs,
    and then the largest corrected p of a pair is taken. `q_both` is the q of Benjamini and Hochberg
    over `p_both`. (A q over the three p of all pairs would not be valid, because many directions
    that truly change would let others pass.) A difference in one direction only may be a change of
    variance. The level of these tests is measured by simulation (benchmarks/calibration.py). It is
    not guaranteed: if the order is wrong, descendants may be among the parents of either region.

    With three to five groups, each pair of groups is compared too, in closed tests; see
    `sgbn.inference.difference_problem`. More than five groups are only compared all together.

    Components of more than two groups have no sign.

    Edges differ *given the order and the parents that were found*. If the order is wrong, a true
    change shows at neighbouring edges too. These edges then differ in the result, but not in
    nature.

    This function does not check that each row is a different subject. `sgbn.review` and
    `compare` check it.
    """
    if isinstance(X, SeriesCohort):
        raise InputError("cohort.series").says(
            "X is a SeriesCohort, which holds time series", "Call series_differences."
        )
    rows = rows_of_groups(X, groups, covariates, sites, pairs, reference, persons, blocks)
    check_rows_agree(X, outliers=outliers)
    # Outliers go before sizes are checked: the rows that remain must be enough.
    rows, left_out = without_outliers(rows, outliers)
    n_permutations, seed = check_request(n_permutations, alternative, random_state, rows.design)
    POSITIVE.check("penalty", penalty)
    learner = SGBN() if learner is None else learner
    chosen = read_edges(edges, rows.names), read_among(among, rows.names, rows.lobes)
    with one_blas_thread():
        problem = problem_of(rows, learner, separate_parents, alternative, *chosen, penalty)
        fit = problem.fit(problem.residuals)
        networks = _networks(problem, fit)  # raises its error before the long computation
    # A folder is continued only if these settings are the same as before.
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
    design, regions, sd = problem.design, problem.regions, problem.sd
    # Problems hold residuals in standard deviations. Networks are in the units of the data.
    groups = covariances(problem.residuals, design.group_codes)
    fitted = weights_on(groups, fit.parents, problem.nuisance.rank / design.n)
    check_weights(fitted, design.groups, regions)
    networks = {}
    for name, weights in zip(design.groups, fitted, strict=True):
        coef, noise = weights.weights * sd / sd[:, None], weights.noise * sd**2
        networks[name] = GaussianNetwork(coef, noise_variance=noise, names=regions)
    return networks


ROWS_PER_PARENT = 5  # in the smallest group; with fewer, single rows decide the statistics
COPY = 1e-8  # 1 - |correlation| of residuals, below which one region is a copy of another


@dataclass(frozen=True, kw_only=True)
class TableProblem(EdgeProblem):
    """The data that every permutation of the rows of a table needs.

    Attributes
    ----------
    residuals : ndarray of shape (n, m)
        The values without nuisance effects, in units of the standard deviations `sd`. Workers
        receive the residuals instead of the values.
    nuisance : Nuisance
        Means of the groups, and effects of covariates and sites.
    shared : SharedOrder
        The order of the regions, along which parents are chosen.
    units : UnitSums
        Sets of rows that belong to one person or family, or single rows that are independent.
    separate : bool
        Whether parents that only one group chooses are added to the parents of the pooled rows.
    most_parents : int
        Largest number of parents of a region; see `most_parents_of`.
    """

    residuals: Array
    nuisance: Nuisance
    shared: SharedOrder
    units: UnitSums
    separate: bool
    most_parents: int

    @property
    def content(self) -> Array:
        """The residuals: all statistics are computed from them."""
        return self.residuals

    def refit(self, members: Members) -> Callable[[Indices], Fit]:  # noqa: ARG002
        """Return a function that fits permuted rows; it takes the row that moves to each place."""
        return lambda rows: self.fit(self.nuisance.residuals(self.residuals[rows]))

    def fit(self, residuals: Array) -> Fit:
        """Choose the parents of each region, and estimate the weights in each group."""
        groups = group_columns(residuals, self.units)
        pooled, parents = self.choose(groups)
        targets, sources = np.nonzero(parents.T)
        edges = np.column_stack([sources, targets]).astype(np.int64)
        named = None if self.named is None else all_ways(groups, *self.named, self.units)
        return Fit(
            parents,
            edges,
            pooled[sources, targets],
            one_way(groups, edges, self.units),
            all_ways(groups, edges, parents_of_both(parents, edges), self.units),
            named,
        )

    def choose(self, groups: Sequence[GroupColumns]) -> tuple[Graph, Graph]:
        """Return the parents of the pooled rows, and their union with the parents of the groups."""
        n, most = len(self.residuals), self.most_parents
        products = [group.products for group in groups]
        S = np.sum(products, axis=0) / n
        # Pooled parents are chosen without the group labels, the parents of a group with them. So
        # edges are compared only with edges of the same kind (`from_pool`).
        pooled = self.shared.parents_of(S, n, POOLED_GAMMA, most)
        parents = pooled.copy()
        for group in groups if self.separate else ():
            size = group.columns.shape[1]
            parents |= self.shared.parents_of(group.products / size, size, GROUP_GAMMA, most)
        return pooled, surest_parents(parents, pooled, products, most)


def surest_parents(parents: Graph, pooled: Graph, products: Sequence[Array], most: int) -> Graph:
    """Keep at most `most` parents of each region.

    Parents that the pooled rows chose come first. Then come the parents with the largest
    correlation with the region in any group.
    """
    kept = parents.copy()
    for j in np.flatnonzero(parents.sum(axis=0) > most):
        # Squared correlations are at most 1, so that adding 2 puts the pooled parents first.
        sizes = [np.square(S[:, j]) / (np.diag(S) * S[j, j]) for S in products]
        rank = np.where(parents[:, j], np.max(sizes, axis=0) + 2 * pooled[:, j], -1.0)
        kept[np.argsort(-rank, kind="stable")[most:], j] = False
    return kept


def problem_of(
    rows: Rows,
    learner: SGBN,
    separate: bool,
    alternative: str,
    edges: Sequence[tuple[int, int]] = (),
    among: Graph | None = None,
    penalty: float = 1.0,
) -> TableProblem:
    """Take nuisance effects out of the values, and learn the order of the regions.

    The parameters are the same as in `edge_differences`, but `edges` and `among` hold numbers of
    regions.
    """
    design, regions = rows.design, rows.names
    nuisance = design.nuisance()
    most = most_parents_of(design, nuisance.rank)
    check_groups_vary(rows.values, design.group_codes, design.groups, regions)
    residuals = nuisance.residuals(rows.values)
    sd = residuals.std(axis=0)
    # In standard deviations, so that one threshold for singular matrices suits all regions.
    residuals /= sd
    _refuse_copies(residuals, regions)
    shared = SharedOrder(residuals, learner, regions, penalty)
    if shared.max_parents is not None:
        most = min(most, shared.max_parents)
    return TableProblem(
        design=design,
        regions=regions,
        lobes=rows.lobes,
        sd=sd,
        alternative=alternative,
        named=_named(edges, shared, residuals, most),
        among=among,
        residuals=residuals,
        nuisance=nuisance,
        shared=shared,
        units=UnitSums.of(design.group_codes, design.codes("units"), nuisance.rank),
        separate=separate,
        most_parents=most,
    )


def _named(
    edges: Sequence[tuple[int, int]], shared: SharedOrder, residuals: Array, most: int
) -> NamedEdges | None:
    """Return the edges that were named beforehand, with the other regressors of each test.

    These regressors are the parents of both regions. The pooled rows choose them, without the group
    labels. They stay the same in all permutations, so that the p of an edge comes from its own
    permutations. Both regions together have at most as many parents as one region may have.
    """
    if not len(edges):
        return None
    # Each region has half as many parents as usual, since the test uses the parents of both.
    n, pairs = len(residuals), np.array(edges, np.int64)
    pooled = shared.parents_of(residuals.T @ residuals / n, n, POOLED_GAMMA, max(1, most // 2))
    return NamedEdges(pairs, parents_of_both(pooled, pairs))


def most_parents_of(design: Design, rank: int) -> int:
    """Return the largest number of parents that a region may have.

    Nuisance effects use up `rank` degrees of freedom. The smallest group's share of them is
    subtracted from its number of subjects, and a fifth of the rest is returned. Rows of one person
    or family count as one subject.

    Raises
    ------
    InputError
        If the smallest group has too few subjects for even one parent.
    """
    group, size = min(design.counts(design.units).items(), key=lambda item: item[1])
    # Nuisance effects are estimated over all rows: each group loses in proportion to its size.
    lost = rank / design.n * size
    most = int((size - lost) / ROWS_PER_PARENT)
    if most < 1:
        numbers = {"n": size, "lost": lost, "least": ROWS_PER_PARENT}
        raise InputError("groups.effects", group=group, **numbers).says(
            "{lost:.1f} of {n:subject} of group {group} are used up by means, covariates and sites",
            "Add subjects, or leave out covariates or sites, so that {least} remain.",
        )
    return most


def _refuse_copies(residuals: Array, regions: Sequence[str]) -> None:
    """Raise InputError if two regions are copies after nuisance effects are taken out."""
    R = np.abs(residuals.T @ residuals) / len(residuals)
    pairs = np.argwhere(np.triu(R > 1 - COPY, 1)).tolist()
    if pairs:
        raise InputError(copies(pairs, regions))
