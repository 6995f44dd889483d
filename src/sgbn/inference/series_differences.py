r"""Tests of which edges differ between groups of subjects with time series.

The subject is the unit. One graph is learned from all subjects, without their groups. Each subject
then has one weight per edge of this graph. The null hypothesis of an edge is that the mean weight
is the same in all groups, given covariates and sites. Volumes are never compared or exchanged.
Because the groups did not influence the graph, it stays the same while subjects are exchanged
between groups. So no edge was chosen by the difference that is tested.

The statistics are described in `sgbn.inference.series_differences`. As for tables, each p follows
the rules of `sgbn.inference.permutations`.

The weights of each subject that the tests of series compare.

The graph of these weights was learned without the groups. Each subject has one weight per edge, and
three further numbers per pair: both directions and the partial correlation. The tests use nothing
else of the series. The precision of these numbers differs between subjects, because numbers of
volumes differ. The statistics allow for it, see `sgbn.inference.series_differences`.

Group means of many columns at once, adjusted for covariates and sites.

Each column y has one number per subject s. It is regressed on the design X, which holds an
indicator of each group, and the centred covariates and sites. Let :math:`a_g` be the row of the
pseudo-inverse :math:`X^+` that belongs to group g, h the leverages and e the residuals. Then

.. math:: \mu_g = a_g^T y, \qquad
          C_{gh} = \sum_u \psi^{(g)}_u \psi^{(h)}_u, \qquad
          \psi^{(g)}_s = \frac{a_{gs} \, e_s}{1 - h_s}.

The covariances C are the HC3 estimate (MacKinnon and White 1985). The influences :math:`\psi` of
the rows of one unit u, such as a person with several sessions, are added up first. :math:`\mu_g` is
the mean of the group for subjects with mean covariates. Without covariates, the t of two groups is
Welch's t with :math:`s^2 / (n - 1)` in place of :math:`s^2 / n`.

If each person is in every group (`pairs`), covariates and sites are centred within persons. The
slopes then describe changes within a person, as if the model had one effect per person. For
example, a difference between persons who move much and persons who move little does not show what
more motion does to one person. Covariates that do not change within persons drop out. For the
influences, the rows of a person are left out together. The influence of a person is
:math:`\psi^{(g)}_u = a_{gu}^T (I - H_u)^{-1} e_u`, where :math:`H_u` is the person's block of the
hat matrix. The t of two groups is then the HC3 t of the differences within persons.

In the reduced model some groups share one mean. Permuted values are the fitted values of the
reduced model plus its residuals in another order (Freedman and Lane 1983).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from sgbn.cohort.design import Design
from sgbn.cohort.effects import (
    DEPENDENT,
    Nuisance,
    column_lengths,
    indicators,
    nuisance_of,
)
from sgbn.cohort.rows import Rows, rows_of_groups
from sgbn.cohort.series import SeriesCohort, SubjectMoments, as_cohort, subject_moments
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.moments import one_blas_thread
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Graph, Indices
from sgbn.core.validation import POSITIVE, numbered
from sgbn.inference.difference_problem import (
    EdgeProblem,
    Edges,
    Estimates,
    Fit,
    Members,
    NamedEdges,
    Ways,
    check_request,
    fingerprint,
    parents_of_both,
    read_among,
    read_edges,
)
from sgbn.inference.difference_tables import Differences, summarised
from sgbn.inference.differences import most_parents_of
from sgbn.inference.influence import FULL
from sgbn.inference.permutations import permuted_statistics
from sgbn.learn.series import SeriesSGBN, noise_shares, subject_weights
from sgbn.runs.study import Study

TESTED_PENALTY = 0.5  # factor of the learner's penalty for tested edges (benchmarks/series_tests)


def series_differences(
    series: SeriesCohort | Sequence[ArrayLike],
    groups: ArrayLike | None = None,
    *,
    covariates: Mapping[str, ArrayLike] | None = None,
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
    >>> from sgbn.inference.series_differences import series_differences
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
    rows = rows_of_groups(cohort, groups, covariates, sites, pairs, reference, persons, blocks)
    moments = moments.take(rows.places)
    n_permutations, seed = check_request(n_permutations, alternative, random_state, rows.design)
    POSITIVE.check("penalty", penalty)
    chosen = read_edges(edges, rows.names), read_among(among, rows.names, rows.lobes)
    # n_jobs changes no result. So it must not be among the settings that identify a folder.
    lower = clone(learner).set_params(n_pairs=0, n_jobs=None, penalty=penalty * learner.penalty)
    needs_residuals = lower.non_gaussian == "orient"  # which moments do not contain
    graph = (lower.fit(cohort) if needs_residuals else lower.fit_moments(moments)).coef_ != 0
    with one_blas_thread():
        problem = series_problem_of(rows, moments, graph, alternative, *chosen)
        fit = problem.fit()
        # Networks come before the permutations, so that errors come early.
        networks = _networks(problem, fit, moments)
    settings = {"learner": repr(lower), "data": fingerprint(problem, lower)}
    study = Study(folder, n_jobs, progress)
    null = permuted_statistics(problem, n_permutations, seed, settings, study)
    return summarised(problem, fit, null, networks, left_out=dict.fromkeys(rows.design.groups, ()))


def _networks(
    problem: SeriesProblem, fit: Fit, moments: SubjectMoments
) -> dict[str, GaussianNetwork]:
    """Return the mean network of each group: adjusted mean weights, and mean shares of noise."""
    design, regions = problem.design, problem.regions
    matrices = fit.weights.matrices(fit.edges, len(regions))
    noise = noise_shares(moments, problem.graph)
    return {
        group: GaussianNetwork(
            weights.weights,
            noise_variance=noise[design.group_codes == c].mean(axis=0),
            names=regions,
        )
        for c, (group, weights) in enumerate(zip(design.groups, matrices, strict=True))
    }


N_WAYS = len(Ways._fields)


@dataclass(frozen=True, kw_only=True)
class SeriesProblem(EdgeProblem):
    """The data that every permutation of subjects needs.

    Attributes
    ----------
    graph : ndarray of bool of shape (m, m)
        The graph of all subjects. It is the same in all permutations, since it was learned without
        the groups.
    edges : ndarray of int of shape (k, 2)
        Source and target of each edge, sorted by target.
    weights : ndarray of shape (n, 4 k + 3 l)
        Weights of each subject. First come the k edges. Then come their pairs in three `Ways`: both
        directions and the partial correlation. Last come the l pairs that were named beforehand, in
        the same three ways.
    means : AdjustedMeans
        The model of the group means of these weights.
    """

    graph: Graph
    edges: Edges
    weights: Array
    means: AdjustedMeans

    @property
    def content(self) -> Array:
        """The weights of the subjects: all statistics are computed from them."""
        return self.weights

    def fit(self) -> Fit:
        """Return the fit to the data, without a permutation."""
        return self._fit_of(self.means.estimates(self.weights))

    def refit(self, members: Members) -> Callable[[Indices], Fit]:
        """Return a function that fits permuted rows; it takes the row that moves to each place."""
        permuted = self.means.permuted(self.weights, members)
        return lambda rows: self._fit_of(permuted(rows))

    def _fit_of(self, estimates: Estimates) -> Fit:
        """Return the estimates of all columns of `weights` as a `Fit`."""
        k = len(self.edges)
        n_named = 0 if self.named is None else len(self.named.edges)
        # The columns of `weights` have the order that the docstring of the class describes.
        sizes = [k] * (1 + N_WAYS) + [n_named] * N_WAYS
        ends = np.cumsum([0, *sizes])
        weights, *ways = (estimates.part(slice(first, last)) for first, last in pairwise(ends))
        return Fit(
            self.graph,
            self.edges,
            # The graph was learned without the groups. So all edges are in one class.
            np.full(k, True),
            weights,
            Ways(*ways[:N_WAYS]),
            None if self.named is None else Ways(*ways[N_WAYS:]),
        )


def series_problem_of(
    rows: Rows,
    moments: SubjectMoments,
    graph: Graph,
    alternative: str,
    named: Sequence[tuple[int, int]] = (),
    among: Graph | None = None,
) -> SeriesProblem:
    """Compute the weights of each subject on a graph.

    Parameters
    ----------
    rows : Rows
        Regions and design of the subjects.
    moments : SubjectMoments
        Correlations of the same subjects.
    graph : ndarray of bool of shape (m, m)
        The DAG; ``graph[i, j]`` is i -> j.
    alternative : {"two-sided", "greater", "less"}
        Direction of the tests of edges.
    named : sequence of (int, int)
        Edges that were named beforehand.
    among : ndarray of bool of shape (m, m), optional
        Edges between regions that were named beforehand.
    """
    # Edges must be sorted by target, see `Fit`.
    targets, sources = np.nonzero(graph.T)
    edges = np.column_stack([sources, targets]).astype(np.int64)
    weights = subject_weights(moments, graph)[:, sources, targets]
    parts = [weights, *pair_weights(moments, edges, parents_of_both(graph, edges))]
    beforehand = None
    if len(named):
        pairs = np.array(named, np.int64)
        beforehand = NamedEdges(pairs, parents_of_both(graph, pairs))
        parts += pair_weights(moments, *beforehand)
    means = AdjustedMeans.of(rows.design)
    most_parents_of(
        rows.design, means.rank
    )  # raises InputError if a group is too small for the effects
    return SeriesProblem(
        design=rows.design,
        regions=rows.names,
        lobes=rows.lobes,
        sd=np.ones(len(rows.names)),
        alternative=alternative,
        named=beforehand,
        among=among,
        graph=graph,
        edges=edges,
        weights=np.column_stack(parts),
        means=means,
    )


def pair_weights(moments: SubjectMoments, edges: Edges, given: Graph) -> list[Array]:
    """Return the weight of i -> j, the weight of j -> i, and the partial correlation of each pair.

    Each has the shape (subjects, k). All three are estimated given the same other regions. The
    correlation is Fisher's z.
    """
    by_way = np.empty((N_WAYS, len(moments), len(edges)))
    for e, (i, j) in enumerate(edges.tolist()):
        regions = np.array([*np.flatnonzero(given[e]), i, j])
        C = moments.R[:, regions[:, None], regions]
        # Each step eliminates the first region, for all subjects at once, until the pair is left.
        # Correlations have no zero on the diagonal.
        for _ in range(len(regions) - 2):
            slopes = C[:, 0, 1:] / C[:, :1, 0]
            C = C[:, 1:, 1:] - slopes[:, :, None] * C[:, :1, 1:]
        r, s, product = C[:, 0, 0], C[:, 1, 1], C[:, 0, 1]
        by_way[:, :, e] = product / r, product / s, np.arctanh(product / np.sqrt(r * s))
    return list(by_way)


@dataclass(frozen=True)
class AdjustedMeans:
    """The adjusted means of the groups, as linear functions of the rows.

    Attributes
    ----------
    design : Design
        The groups, covariates and sites of the rows.
    columns : ndarray of shape (n, p)
        Columns of covariates and sites. With pairs they are centred within persons.
    full : Nuisance
        The full model: groups, covariates and sites.
    rows : ndarray of shape (groups, n)
        ``rows @ values`` are the adjusted means of the groups.
    """

    design: Design
    columns: Array
    full: Nuisance
    rows: Array

    @classmethod
    def of(cls, design: Design) -> AdjustedMeans:
        """Return the adjusted means for the groups, covariates and sites of a design.

        Raises
        ------
        InputError
            If covariates or sites explain the groups.
        """
        codes, columns = design.group_codes, _held_fixed(design)
        full = nuisance_of(codes, columns)
        means = indicators(codes)
        means /= means.sum(axis=0)
        # Centred over all rows, so that each mean is for a subject with mean covariates. Slopes
        # come only from variation within groups.
        centred = columns - columns.mean(axis=0)
        of_groups = means.T @ centred
        lengths, varies = column_lengths(columns, centred - of_groups[codes])
        within = (centred - of_groups[codes])[:, varies] / lengths[varies]
        slopes = np.linalg.pinv(within, rcond=DEPENDENT)
        rows = means.T - of_groups[:, varies] / lengths[varies] @ slopes
        adjusted = cls(design, columns, full, rows)
        adjusted._refuse_explained_groups()
        return adjusted

    def estimates(self, values: Array) -> Estimates:
        """Return the adjusted group means of columns (n, k), and their covariances."""
        return Estimates(self.rows @ values, self._covariances(self.full.residuals(values)))

    def permuted(self, values: Array, members: Members) -> Callable[[Indices], Estimates]:
        """Return a function that estimates the means of permuted columns.

        The function takes one row number per place: the row that moves there. `members` are the
        groups that have the same means under the null hypothesis.
        """
        residuals = self._reduced(members).residuals(values)
        expected = self.rows @ (values - residuals)

        def refit(order: Indices) -> Estimates:
            # Fitted values of the reduced model stay in place (Freedman and Lane). What they add
            # to the means is computed once, before the permutations.
            drawn = residuals[order]
            covariances = self._covariances(self.full.residuals(drawn))
            return Estimates(expected + self.rows @ drawn, covariances)

        return refit

    def _reduced(self, members: Members) -> Nuisance:
        """Return the reduced model: nuisance effects, and one mean for all of `members`."""
        # Groups outside of `members` keep their own means: the null does not concern them.
        codes = self.design.group_codes
        merged = np.where(np.isin(codes, members), members[0], codes)
        return nuisance_of(numbered(merged)[1], self.columns)

    def _refuse_explained_groups(self) -> None:
        every = tuple(range(len(self.design.groups)))
        if self.full.rank - self._reduced(every).rank == len(every) - 1:
            return
        # The difference is smaller if a combination of covariates and sites explains the groups.
        fixed = [*self.design.covariates, *(["sites"] if self.design.site is not None else [])]
        raise InputError("groups.explained", names=fixed).says(
            "the groups differ in {names} and cannot be separated from these", "Leave one out."
        )

    @property
    def rank(self) -> int:
        """Number of degrees of freedom that the design uses up. Each row has one.

        In paired designs slopes are estimated from differences within persons. A person with one
        row in each of k groups has only k - 1 such differences. So each slope counts as more than
        one degree of freedom.
        """
        n_groups = len(self.design.groups)
        if self.design.pair is None:
            return self.full.rank
        return n_groups + ceil((self.full.rank - n_groups) * n_groups / (n_groups - 1))

    @cached_property
    def _influences(self) -> Array:
        """Factors of shape (groups, n) that turn residuals into influences on the means.

        An influence is the change of a mean when the row is left out. Rows of a pair are left out
        together.
        """
        basis, pairs = self.full.basis, self.design.codes("pair")
        if pairs is None:
            return self.rows / np.maximum(1 - np.square(basis).sum(axis=1), FULL)
        order = np.argsort(pairs, kind="stable").reshape(-1, len(self.design.groups))
        blocks = basis[order]  # (persons, groups, p)
        # I - H_u is inverted by its eigenvalues. If one person alone determines a slope, H_u has
        # an eigenvalue of 1. FULL then prevents a division by 0.
        leverages, axes = np.linalg.eigh(blocks @ blocks.swapaxes(1, 2))
        left = axes / np.maximum(1 - leverages, FULL)[:, None] @ axes.swapaxes(1, 2)
        influences = np.empty(self.rows.shape)
        influences[:, order] = np.einsum("gui,uij->guj", self.rows[:, order], left)
        return influences

    @cached_property
    def _by_unit(self) -> tuple[Indices, Indices]:
        """Rows in the order of their units, and the positions at which each unit begins."""
        units = self.design.unit_codes
        order = np.argsort(units, kind="stable")
        return order, np.flatnonzero(np.diff(units[order], prepend=-1))

    def _covariances(self, residuals: Array) -> Array:
        """Return the covariances (groups, groups, k) of the means."""
        n_groups, n = self.rows.shape
        if self.design.units is None:
            # If each row is a unit, the sum over units is one matrix product for all columns.
            products = (self._influences[:, None] * self._influences).reshape(-1, n)
            return (products @ np.square(residuals)).reshape(n_groups, n_groups, -1)
        order, starts = self._by_unit
        influences = self._influences[:, order, None] * residuals[order]
        # Rows of a unit are dependent: their influences are added before they are squared.
        sums = np.add.reduceat(influences, starts, axis=1)
        return np.einsum("guk,huk->ghk", sums, sums)


def _held_fixed(design: Design) -> Array:
    """Return the columns of covariates and sites.

    With pairs, the columns are centred within persons, and columns that do not change within
    persons are left out.
    """
    columns, pairs = design.columns(), design.codes("pair")
    if pairs is None:
        return columns
    persons = indicators(pairs)
    centred = columns - (persons.T @ columns / persons.sum(axis=0)[:, None])[pairs]
    return centred[:, column_lengths(columns, centred)[1]]
