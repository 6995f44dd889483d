r"""SeriesSGBN: one graph for subjects with time series, and the weights of each subject on it.

.. math:: \min_{DAG} \sum_s \sum_j n_s \log RSS_{sj} + c \, k_j \log n_s

`SeriesSGBN` explains the symbols, and `sgbn.learn.search.search` has the search. The subject is the
unit: each subject has its own weights, noise and filter, and half samples are halves of the
subjects, never of the volumes.

Networks of halves of the subjects, and the confidence of edges from them.

Non-Gaussian residuals of series, with the subject as the unit.

Each subject has its own weights, and counts once.

Weights of each subject on a graph, and the gain of each edge in each subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, stdtrit

from sgbn.cohort.design import Design
from sgbn.cohort.rows import row_order
from sgbn.cohort.series import (
    SeriesCohort,
    SubjectMoments,
    as_cohort,
    filtered_series,
    subject_moments,
)
from sgbn.core.equivalence import Parents
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import levels
from sgbn.core.moments import one_blas_thread
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Graph, Indices
from sgbn.core.validation import (
    NONE,
    POSITIVE,
    TRUTH,
    OneOf,
    Whole,
    allowed,
    check_parameters,
)
from sgbn.learn.base import Arrows
from sgbn.learn.confidence import EdgeConfidence
from sgbn.learn.ensemble import ConfidentNetwork, gather_pairs, pair_result
from sgbn.learn.knowledge import Knowledge
from sgbn.learn.orient import Residuals, decide_directions, least_squares_residual
from sgbn.learn.search.plan import most_parents
from sgbn.learn.search.search import TABLES, SubjectsProblem, residual_shares, search_subjects
from sgbn.learn.search.trees import SMALLEST_RSS
from sgbn.runs.files import Arrays
from sgbn.runs.study import Study

MIN_SUBJECTS_TO_HALVE = 4  # a half then has two subjects; one is not a sample of a group
LEVEL = 0.95  # level of the intervals of mean weights
STRONGEST_SHARE = 0.1  # share of the subjects that are left out for `survives_`
MIN_SUBJECTS_TO_ORIENT = 10  # with fewer, residuals decide directions even in Gaussian data


@dataclass(eq=False, repr=False)
class SeriesSGBN(ConfidentNetwork):
    r"""One directed network of a group from the time series of its subjects.

    It minimises the sum of the scores of all subjects over DAGs,

    .. math:: \sum_s \sum_j n_s \log RSS_{sj} + c \, k_j \log n_s

    where :math:`n_s` is the effective number of volumes of subject s, :math:`k_j` the number of
    parents of region j, :math:`RSS_{sj}` the residual sum of squares of region j on its parents in
    subject s, and c the `penalty`. A small term for the number of possible parents is added (see
    `sgbn.learn.search.search`). Rows of different subjects are never put in one table: each subject
    has its own weights and noise, and only the graph is shared. An edge must be worth its price in
    the mean over subjects, and a larger number of subjects does not change this. But a few subjects
    with a very strong edge can be enough for it: see `support_share_` and `survives_`.

    Parameters
    ----------
    penalty : float, default=1.0
        The factor c of the price of an edge. A larger value leaves out weaker edges.
    max_parents : int, optional
        The largest number of parents of a region. It cannot exceed a third of the median of the
        subjects' effective numbers of volumes.
    n_pairs : int, default=50
        Number of splits of the subjects into two halves, for the confidence of edges. With 0 there
        is no confidence.
    min_adjacency, min_direction : float
        Shares of half samples that a supported direction needs; see `SGBNEnsemble`.
    forbidden, required : list of (source, target), optional
        Edges that the network must not have, and edges that it must have. Regions are given by name
        or index.
    tiers : list of lists, or mapping from region to tier, optional
        Groups of regions, the earliest first; see `SGBN`.
    lagged : bool, default=False
        Whether to take linear effects of all regions one volume before out of each subject's
        series, instead of the filter. This needs at least twice as many volumes as regions.
    non_gaussian : {"ignore", "orient"}, default="ignore"
        "orient" decides directions that the equivalence class leaves open by residuals that are not
        Gaussian; see `SGBN`. Subjects are the unit here as well. With fewer than ten subjects it
        has no effect.
    random_state : int, default=0
        Seed of the search and of the splits.
    n_jobs : int, optional
        Number of processes. Results do not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (m, m)
        ``coef_[i, j]`` is the mean over subjects of the weight of i -> j, per standard deviation of
        the filtered series, because the scale of series is arbitrary.
    coef_low_, coef_high_ : ndarray of shape (m, m)
        Ends of 95 % intervals of this mean, from the spread over subjects. They do not include the
        uncertainty of the graph, which was chosen in the same subjects.
    subject_weights_ : ndarray of shape (S, m, m)
        Weights of each of the S series on the graph: one series per subject, or per session.
    support_share_ : ndarray of shape (m, m)
        Share of the subjects whose own score supports the edge.
    survives_ : ndarray of shape (m, m), bool
        Whether the edge is worth its price without the tenth of subjects that support it most.
    network_ : GaussianNetwork
        The network with the mean weights, and with `noise_variance_`.
    noise_variance_ : ndarray of shape (m,)
        The share of each region's variance that its parents do not explain, as the mean over
        subjects.
    confidence_ : EdgeConfidence or None
        The shares of half samples of subjects; None with fewer than 4 subjects.
    adjacency_, arrow_ : ndarray of shape (m, m)
        Share of half samples that join i and j, and share with i -> j. If the equivalence class of
        a half sample leaves a direction open, it counts one half for each direction.
    supported_, drawn_graph_ : ndarray of shape (m, m), bool
        Edges with a direction that half samples support, and the graph to draw; see `SGBNEnsemble`.
    cpdag_, edge_kinds_, arrows_, order_, coef_std_
        As in `SGBN`.
    score_ : float
        The criterion divided by the number of subjects; smaller is better.
    moments_ : SubjectMoments
        The correlations of each subject that the network was learned from.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    Notes
    -----
    There is no p value of an edge here: the subjects that chose an edge cannot test it.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.learn.series import SeriesSGBN
    >>> rng = np.random.default_rng(0)
    >>> series = rng.standard_normal((12, 150, 3))
    >>> series[:, :, 2] += series[:, :, 0] + series[:, :, 1]
    >>> learner = SeriesSGBN(n_pairs=10).fit(list(series))
    >>> learner.network_
    GaussianNetwork(3 variables, 2 edges)
    >>> np.argwhere(learner.supported_).tolist()
    [[0, 2], [1, 2]]
    """

    penalty: float = allowed(1.0, POSITIVE)
    _: KW_ONLY
    max_parents: int | None = allowed(None, NONE | Whole(0))
    lagged: bool = allowed(False, TRUTH)
    non_gaussian: str = allowed("ignore", OneOf("ignore", "orient"))

    def fit(
        self,
        series: SeriesCohort | Sequence[ArrayLike],
        y: Any = None,  # noqa: ARG002
        *,
        run_lengths: Sequence[Sequence[int]] | None = None,
        strata: ArrayLike | None = None,
        units: ArrayLike | None = None,
        folder: str | Path | None = None,
        progress: bool = False,
    ) -> Self:
        """Learn a network from the series of several subjects.

        Parameters
        ----------
        series : SeriesCohort, or sequence of array-like of shape (volumes, m)
            One array per subject. From a SeriesCohort, the subjects of all groups are used. Its
            sites are balanced between halves, and persons and blocks stay together.
        y : ignored
            Accepted because scikit-learn passes it.
        run_lengths : sequence of sequence of int, optional
            Number of volumes of each run, for each subject.
        strata : array-like of shape (S,), optional
            Labels, such as sites, that both halves have in nearly equal numbers.
        units : array-like of shape (S,), optional
            Labels, such as persons with two sessions, whose series stay together.
        folder : path, optional
            A folder that keeps finished halves, so that a second start only does what is missing.
        progress : bool
            Whether to show a bar with the time left.

        Returns
        -------
        self
            The fitted learner.
        """
        check_parameters(self)
        cohort = as_cohort(series, run_lengths)
        moments = subject_moments(cohort, lagged=self.lagged)
        design = _design(cohort.ids, strata, units, cohort.design)
        filtered = None
        if self.non_gaussian == "orient" and design.n_units < MIN_SUBJECTS_TO_ORIENT:
            Problem("series.few-to-orient", least=MIN_SUBJECTS_TO_ORIENT).warn(
                "{non_gaussian='orient'} has no effect on fewer than {least} subjects",
                "Leave it out.",
            )
        elif self.non_gaussian == "orient":
            filtered = [subject.rows for subject in filtered_series(cohort, self.lagged)]
        return self._learn(moments, design, Study(folder, self.n_jobs, progress), filtered)

    def fit_moments(
        self,
        moments: SubjectMoments,
        *,
        strata: ArrayLike | None = None,
        units: ArrayLike | None = None,
        study: Study | None = None,
    ) -> Self:
        """Learn from the correlations that `subject_moments` returns; see `fit`."""
        check_parameters(self)
        if self.non_gaussian == "orient":
            raise InputError("moments.series").says(
                "{non_gaussian='orient'} needs the series, not moments",
                "Call fit, or leave it out.",
            )
        design = _design(moments.ids, strata, units)
        return self._learn(moments, design, study or Study(n_jobs=self.n_jobs))

    def _learn(
        self,
        moments: SubjectMoments,
        design: Design,
        study: Study,
        filtered: Sequence[Array] | None = None,
    ) -> Self:
        """Search the graph, decide open directions by filtered series, and learn the halves."""
        given = moments
        order = row_order(moments.R.reshape(len(moments), -1), design)
        moments, design = moments.take(order), design.subset(order)
        names, seed = list(moments.names), int(self.random_state)
        # By the median, so that one short series does not limit the parents for all subjects.
        most = most_parents(int(np.median(moments.n)), moments.m, self.max_parents)
        knowledge = self._read_knowledge(names, most)
        rules = Rules(knowledge, self.penalty, most)
        problem = rules.problem(moments)
        best = search_subjects(problem, np.random.RandomState(seed))
        self.score_ = best.score
        arrows = Arrows(problem.to_user(best.parents), knowledge)
        if filtered is not None:
            residuals = SubjectResiduals([filtered[row] for row in order], design.unit_codes)
            decided = decide_directions(residuals, arrows.equivalence_class())
            arrows = arrows._replace(non_gaussian=decided)
        self._store(moments, arrows.hubs_first(problem.columns), design.unit_codes, order)
        self.moments_ = given
        self.confidence_ = None
        if self.n_pairs and design.n_units < MIN_SUBJECTS_TO_HALVE:
            Problem("halves.few", n=design.n_units, least=MIN_SUBJECTS_TO_HALVE).warn(
                "confidence_ is None: half samples of {n:subject} are too small",
                "Give {least} or more. {n_pairs=0} silences this warning.",
            )
        elif self.n_pairs:
            self.confidence_ = learn_halves(moments, design, rules, self.n_pairs, seed, study)
        return self

    def _store(
        self, moments: SubjectMoments, arrows: Arrows, persons: Indices, order: Indices
    ) -> None:
        """Store the weights of each series on the graph, and their summaries over subjects.

        The sessions of a person count as one subject in all summaries. `order` has the place of
        each series in the data.
        """
        graph = arrows.graph != 0
        self.arrows_ = arrows
        self.n_features_in_ = moments.m
        self.feature_names_in_ = np.array(moments.names, dtype=object)
        weights = subject_weights(moments, graph)
        self.subject_weights_ = weights[np.argsort(order)]
        of_persons = _means_of_persons(weights, persons)
        self.coef_ = self.coef_std_ = of_persons.mean(axis=0)
        self.coef_low_, self.coef_high_ = _limits(of_persons)
        # The series are centred.
        self.intercept_ = np.zeros(moments.m)
        self.noise_variance_ = _means_of_persons(noise_shares(moments, graph), persons).mean(axis=0)
        numbers = self.coef_, self.intercept_, self.noise_variance_
        self.network_ = GaussianNetwork(*numbers, moments.names)
        self.order_ = levels(graph)
        gains = _means_of_persons(edge_gains(moments, graph, self.penalty), persons)
        self.support_share_ = (gains > 0).mean(axis=0)
        # At least one subject is left out, even if there are fewer than ten.
        kept = len(gains) - int(np.ceil(STRONGEST_SHARE * len(gains)))
        self.survives_ = np.sort(gains, axis=0)[:kept].sum(axis=0) > 0


def _limits(weights: Array) -> tuple[Array, Array]:
    """Return the limits of 95 % intervals of the mean over subjects; NaN with one subject."""
    S = len(weights)
    if S < 2:
        unknown = np.where(weights[0] != 0, np.nan, 0.0)
        return unknown, unknown.copy()
    mean = weights.mean(axis=0)
    # Student's t and not the normal distribution, because there may be few subjects.
    reach = stdtrit(S - 1, (1 + LEVEL) / 2) * weights.std(axis=0, ddof=1) / np.sqrt(S)
    return mean - reach, mean + reach


def _design(
    ids: Sequence[Any],
    strata: ArrayLike | None,
    units: ArrayLike | None,
    own: Design | None = None,
) -> Design:
    """Return the design with the given strata as sites, and the given units as blocks."""
    own = Design(len(ids)) if own is None else own
    given = Design.of(ids, site=strata, block=units, called={"site": "strata", "block": "units"})
    if strata is not None:
        own = replace(own, site=given.site)
    if units is not None:
        own = replace(own, block=given.block, person=None, pair=None)
    return own


def _means_of_persons(values: Array, persons: Indices) -> Array:
    """Return the mean over the series of each person; `values` has one entry per series."""
    sums = np.zeros((int(persons.max()) + 1, *values.shape[1:]))
    # Unlike `sums[persons] += values`, this adds up all sessions of a person.
    np.add.at(sums, persons, values)
    return (sums.T / np.bincount(persons)).T


DIGITS = 8  # decimals of correlations on which machines agree, so that folders can be moved
PLAN = TABLES._replace(patience=1)  # a shorter search, because the mean of many halves counts


class Rules(NamedTuple):
    """The rules of a search: knowledge, the factor of the price of an edge, and most parents."""

    knowledge: Knowledge
    penalty: float
    max_parents: int

    def problem(self, moments: SubjectMoments) -> SubjectsProblem:
        """Return the search problem of some series."""
        return SubjectsProblem.of_subjects(moments.R, moments.n, *self, moments.names)


def learn_halves(
    moments: SubjectMoments, design: Design, rules: Rules, n_pairs: int, seed: int, study: Study
) -> EdgeConfidence:
    """Return the confidence of edges from both halves of `n_pairs` splits; see `SeriesSGBN`.

    The result of a task depends only on the subjects, the seed and the number of the task. So a
    study can be continued with more pairs.
    """
    numbers = [np.round(moments.R, DIGITS), moments.n, design.unit_codes, design.site]
    settings = {
        "data": joblib.hash([*numbers, *rules.knowledge]),
        "names": list(moments.names),
        "penalty": rules.penalty,
        "max_parents": rules.max_parents,
        "seed": seed,
        "plan": list(PLAN),
    }
    shared = {"moments": moments, "design": design, "rules": rules, "seed": seed}
    tasks = {f"pair{k:05d}": {"number": k} for k in range(n_pairs)}
    results = study.run(learn_pair, tasks, settings, shared=shared)
    return gather_pairs([results[name] for name in tasks], moments.names)


def learn_pair(
    moments: SubjectMoments, design: Design, rules: Rules, seed: int, number: int
) -> Arrays:
    """Return the mean share of each arrow in two halves, and the counts of their agreement."""
    halves = design.deal(np.random.default_rng([seed, number]))
    shares = []
    with one_blas_thread():
        for which in range(2):
            problem = rules.problem(moments.take(halves == which))
            best = search_subjects(problem, np.random.RandomState([seed, number, which]), PLAN)
            arrows = Arrows(problem.to_user(best.parents), rules.knowledge)
            shares.append(arrow_shares(arrows.equivalence_class()))
    # No region is constant in a half, because the series of each subject was checked before.
    none = np.zeros(moments.m, bool)
    return pair_result(shares, [none, none])


def arrow_shares(P: NDArray[np.bool_]) -> Array:
    """Return 1 for an arrow of an equivalence class, and 0.5 for each direction of an open edge."""
    return np.where(P & P.T, 0.5, P.astype(float))


class SubjectResiduals(Residuals):
    """The residuals of separate regressions in each subject, one subject after the other.

    Gains in log density are summed over the volumes of each person, over all sessions. So the
    standard error of a difference comes from the spread over persons. The spread over volumes
    would be wrong, because volumes are not independent.

    Parameters
    ----------
    series : sequence of ndarray of shape (volumes, m)
        Filtered series, with columns of mean 0 and mean square 1.
    units : ndarray of shape (S,), optional
        Code of each series' person, from 0 upwards; by default all persons differ.
    """

    def __init__(self, series: Sequence[Array], units: Indices | None = None) -> None:
        super().__init__(np.concatenate(series))
        # The row of the stacked series at which the volumes of each subject begin.
        self.starts = np.cumsum([0, *map(len, series[:-1])])
        self.units = np.arange(len(series)) if units is None else units

    def residual(self, j: int, parents: Parents) -> Array:
        """Return the least-squares residuals of each subject, scaled to a mean square of 1.

        A residual of zero stays zero.
        """
        residuals = self._by_subject(j, parents)
        return np.concatenate([r / (np.sqrt(np.square(r).mean()) or 1.0) for r in residuals])

    def _by_subject(self, j: int, parents: Parents) -> list[Array]:
        """Return the least-squares residual of j in each subject."""
        subjects = np.split(self.Z, self.starts[1:])
        return [least_squares_residual(rows, j, parents) for rows in subjects]

    def _target(self, j: int, parents: Parents) -> Array:
        # In one common fit, differences between the weights of subjects would look like curves.
        return np.concatenate(self._by_subject(j, parents))

    def gain(self, j: int, parents: Parents) -> Array:
        """Return the gain in log density of each person."""
        return self._sums(super().gain(j, parents))

    def bent(self, j: int, parents: Parents) -> tuple[Array, Array]:
        """Return two log densities of j per person, if its parents may have curved effects."""
        smooth, rough = super().bent(j, parents)
        return self._sums(smooth), self._sums(rough)

    @staticmethod
    def exceeds(difference: Array, least: float) -> bool:
        """Return whether a sum over persons clearly exceeds 0.

        `least` is a quantile of the normal distribution. The quantile of Student's t for the same
        probability is used instead, because there may be few persons.
        """
        n = len(difference)
        # With one person there is no spread over persons.
        if n < 2:
            return False
        error = float(difference.std(ddof=1)) * n**0.5
        return bool(difference.sum() > stdtrit(n - 1, ndtr(least)) * error)

    def _sums(self, gains: Array) -> Array:
        """Return the sum over the volumes of each person."""
        return np.bincount(self.units, np.add.reduceat(gains, self.starts)).astype(float)


def subject_weights(moments: SubjectMoments, graph: Graph) -> Array:
    """Return the least-squares weights of each subject on a DAG, per standard deviation.

    Parameters
    ----------
    moments : SubjectMoments
        Correlations of each of the S subjects.
    graph : ndarray of shape (m, m)
        The DAG: ``graph[i, j] != 0`` is the edge i -> j.

    Returns
    -------
    ndarray of shape (S, m, m)
        The weights; zero if the graph does not have the edge.
    """
    R, edges = moments.R, np.asarray(graph) != 0
    weights = np.zeros(R.shape)
    with one_blas_thread():
        for j in np.flatnonzero(edges.any(axis=0)):
            P = np.flatnonzero(edges[:, j])
            weights[:, P, j] = np.linalg.solve(R[:, P[:, None], P], R[:, P, j][:, :, None])[:, :, 0]
    return weights


def noise_shares(moments: SubjectMoments, graph: Graph) -> Array:
    """Return the residual variance of each region given its parents, in each subject.

    The result has the shape (S, m). It is 1 for a region without parents.
    """
    edges = np.asarray(graph) != 0
    shares = np.ones((len(moments), moments.m))
    with one_blas_thread():
        for j in np.flatnonzero(edges.any(axis=0)):
            shares[:, j] = residual_shares(moments.R, int(j), np.flatnonzero(edges[:, j]))
    return np.maximum(shares, SMALLEST_RSS)


def edge_gains(moments: SubjectMoments, graph: Graph, penalty: float) -> Array:
    r"""Return the gain of each edge i -> j in the score of each subject s.

    .. math:: n_s \log \frac{RSS_{s, PA_j \setminus i}}{RSS_{s, PA_j}} - c \log n_s

    Here :math:`PA_j` are all parents of j, :math:`n_s` is the effective number of volumes, and c is
    the `penalty`.

    Returns
    -------
    ndarray of shape (S, m, m)
        The gains: positive if the subject's own score supports the edge, and zero if there is no
        edge.
    """
    edges = np.asarray(graph) != 0
    with_all = np.log(noise_shares(moments, edges))
    gains = np.zeros((len(moments), *edges.shape))
    with one_blas_thread():
        for i, j in np.argwhere(edges).tolist():
            other_parents = np.setdiff1d(np.flatnonzero(edges[:, j]), i)
            # Without other parents this is 1, because all of the variance is left.
            left = np.maximum(residual_shares(moments.R, j, other_parents), SMALLEST_RSS)
            better = np.log(left) - with_all[:, j]
            gains[:, i, j] = moments.n * better - penalty * np.log(moments.n)
    return gains
