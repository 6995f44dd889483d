r"""SeriesSGBN: one graph for subjects with time series, and the weights of each subject on it.

.. math:: \min_{DAG} \sum_s \sum_j n_s \log RSS_{sj} + c \, k_j \log n_s

`SeriesSGBN` explains the symbols, and `sgbn.search.subjects` has the search. The subject is the
unit: each subject has its own weights, noise and filter, and half samples are halves of the
subjects, never of the volumes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from sgbn.cohort.design import label_codes
from sgbn.cohort.series import (
    SeriesCohort,
    SubjectMoments,
    as_cohort,
    filtered_series,
    subject_moments,
)
from sgbn.core.exceptions import InputError, counted, warn
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.graph import levels
from sgbn.core.types import Array, Indices
from sgbn.core.validation import (
    ANYTHING,
    JOBS,
    NONE,
    POSITIVE,
    SEED,
    TRUTH,
    UP_TO_ONE,
    OneOf,
    Parameters,
    Whole,
    check_parameters,
)
from sgbn.runs.study import Study
from sgbn.search.plan import most_parents
from sgbn.search.subjects import search_subjects
from sgbn.structure.base import Arrows
from sgbn.structure.ensemble.confidence import MIN_ADJACENCY, MIN_DIRECTION
from sgbn.structure.ensemble.confident_network import ConfidentNetwork
from sgbn.structure.knowledge import KNOWLEDGE, Edges, Tiers, read_knowledge
from sgbn.structure.non_gaussian import decide_directions
from sgbn.structure.series.subject_halves import Subjects, learn_halves
from sgbn.structure.series.subject_residuals import SubjectResiduals
from sgbn.structure.series.subject_weights import edge_gains, noise_shares, subject_weights

MIN_SUBJECTS_TO_HALVE = 4  # a half then has two subjects; one is not a sample of a group
LEVEL = 0.95  # level of the intervals of mean weights
STRONGEST_SHARE = 0.1  # share of the subjects that are left out for `survives_`
MIN_SUBJECTS_TO_ORIENT = 10  # with fewer, residuals decide directions even in Gaussian data


class SeriesSGBN(ConfidentNetwork):
    r"""One directed network of a group from the time series of its subjects.

    It minimises the sum of the scores of all subjects over DAGs,

    .. math:: \sum_s \sum_j n_s \log RSS_{sj} + c \, k_j \log n_s

    where :math:`n_s` is the effective number of volumes of subject s, :math:`k_j` the number of
    parents of region j, :math:`RSS_{sj}` the residual sum of squares of region j on its parents in
    subject s, and c the `penalty`. A small term for the number of possible parents is added (see
    `sgbn.search.subjects`). Rows of different subjects are never put in one table: each subject has
    its own weights and noise, and only the graph is shared. An edge must be worth its price in the
    mean over subjects, and a larger number of subjects does not change this. But a few subjects
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
    >>> from sgbn import SeriesSGBN
    >>> rng = np.random.default_rng(0)
    >>> series = rng.standard_normal((12, 150, 3))
    >>> series[:, :, 2] += series[:, :, 0] + series[:, :, 1]
    >>> learner = SeriesSGBN(n_pairs=10).fit(list(series))
    >>> learner.network_
    GaussianNetwork(3 variables, 2 edges)
    >>> np.argwhere(learner.supported_).tolist()
    [[0, 2], [1, 2]]
    """

    _parameters: ClassVar[Parameters] = {
        "penalty": POSITIVE,
        "max_parents": NONE | Whole(0),
        "n_pairs": Whole(0),
        "min_adjacency": UP_TO_ONE,
        "min_direction": UP_TO_ONE,
        **dict.fromkeys(KNOWLEDGE, ANYTHING),  # read_knowledge checks it
        "lagged": TRUTH,
        "non_gaussian": OneOf("ignore", "orient"),
        "random_state": SEED,
        "n_jobs": JOBS,
    }

    def __init__(
        self,
        penalty: float = 1.0,
        *,
        max_parents: int | None = None,
        n_pairs: int = 50,
        min_adjacency: float = MIN_ADJACENCY,
        min_direction: float = MIN_DIRECTION,
        forbidden: Edges | None = None,
        required: Edges | None = None,
        tiers: Tiers | None = None,
        lagged: bool = False,
        non_gaussian: str = "ignore",
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.penalty = penalty
        self.max_parents = max_parents
        self.n_pairs = n_pairs
        self.min_adjacency = min_adjacency
        self.min_direction = min_direction
        self.forbidden = forbidden
        self.required = required
        self.tiers = tiers
        self.lagged = lagged
        self.non_gaussian = non_gaussian
        self.random_state = random_state
        self.n_jobs = n_jobs

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
        strata = cohort.site if strata is None else strata
        units = cohort.units if units is None else units
        moments = subject_moments(cohort, lagged=self.lagged)
        persons = _person_codes(units, len(moments))
        residuals = None
        if self.non_gaussian == "orient" and _enough_subjects(persons):
            rows = [subject.rows for subject in filtered_series(cohort, self.lagged)]
            residuals = SubjectResiduals(rows, persons)
        study = Study(folder, self.n_jobs, progress)
        return self._learn(moments, strata, units, study, residuals)

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
            raise InputError(
                "non_gaussian='orient' needs the series, but moments do not hold them. Call fit "
                "with the series, or leave non_gaussian out."
            )
        return self._learn(moments, strata, units, study or Study(n_jobs=self.n_jobs))

    def _learn(
        self,
        moments: SubjectMoments,
        strata: ArrayLike | None,
        units: ArrayLike | None,
        study: Study,
        residuals: SubjectResiduals | None = None,
    ) -> Self:
        """Search the graph, decide open directions by residuals if given, and learn the halves."""
        n, names = len(moments), list(moments.names)
        persons = _person_codes(units, n)
        sites = _site_codes(strata, n)
        # By the median, so that one short series does not limit the parents for all subjects.
        most = most_parents(int(np.median(moments.n)), moments.m, self.max_parents)
        knowledge = read_knowledge(self.forbidden, self.required, self.tiers, names, most)
        subjects = Subjects(moments, persons, sites, knowledge, self.penalty, most)
        problem = subjects.problem()
        best = search_subjects(problem, np.random.RandomState(int(self.random_state)))
        self.score_ = best.score
        arrows = Arrows(problem.to_user(best.parents), knowledge)
        if residuals is not None:
            decided = decide_directions(residuals, arrows.equivalence_class())
            arrows = arrows._replace(non_gaussian=decided)
        self._store(moments, arrows.hubs_first(problem.columns), persons)
        self.confidence_ = None
        if self._has_halves(persons.max() + 1):
            seed = int(self.random_state)
            self.confidence_ = learn_halves(subjects, self.n_pairs, seed, study)
        return self

    def _store(self, moments: SubjectMoments, arrows: Arrows, persons: Indices) -> None:
        """Store the weights of each series on the graph, and their summaries over subjects.

        The sessions of a person count as one subject in all summaries.
        """
        graph = arrows.graph != 0
        self.moments_, self.arrows_ = moments, arrows
        self.n_features_in_ = moments.m
        self.feature_names_in_ = np.array(moments.names, dtype=object)
        self.subject_weights_ = subject_weights(moments, graph)
        of_persons = _means_of_persons(self.subject_weights_, persons)
        self.coef_ = self.coef_std_ = of_persons.mean(axis=0)
        self.coef_low_, self.coef_high_ = _limits(of_persons)
        # The series are centred.
        self.intercept_ = np.zeros(moments.m)
        self.noise_variance_ = _means_of_persons(noise_shares(moments, graph), persons).mean(axis=0)
        self.network_ = GaussianNetwork(
            self.coef_, self.intercept_, self.noise_variance_, list(moments.names)
        )
        self.order_ = levels(graph)
        gains = _means_of_persons(edge_gains(moments, graph, self.penalty), persons)
        self.support_share_ = (gains > 0).mean(axis=0)
        # At least one subject is left out, even if there are fewer than ten.
        kept = len(gains) - int(np.ceil(STRONGEST_SHARE * len(gains)))
        self.survives_ = np.sort(gains, axis=0)[:kept].sum(axis=0) > 0

    def _has_halves(self, n_units: int) -> bool:
        """Return whether to learn from half samples; warn if there are too few subjects."""
        if self.n_pairs and n_units < MIN_SUBJECTS_TO_HALVE:
            warn(
                f"{counted(n_units, 'subject is', 'subjects are')} too few for half samples: at "
                f"least {MIN_SUBJECTS_TO_HALVE} are needed. So confidence_ is None. Give more "
                "subjects. n_pairs=0 silences this warning."
            )
        return bool(self.n_pairs) and n_units >= MIN_SUBJECTS_TO_HALVE


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


def _person_codes(units: ArrayLike | None, n: int) -> Indices:
    """Return the code of each series' person, from 0 upwards; by default all persons differ."""
    return np.arange(n) if units is None else label_codes(units, n, "units", "subjects")


def _site_codes(strata: ArrayLike | None, n: int) -> Indices:
    """Return the code of each series' stratum, from 0 upwards; by default there is one stratum."""
    return np.zeros(n, np.intp) if strata is None else label_codes(strata, n, "strata", "subjects")


def _means_of_persons(values: Array, persons: Indices) -> Array:
    """Return the mean over the series of each person; `values` has one entry per series."""
    sums = np.zeros((int(persons.max()) + 1, *values.shape[1:]))
    # Unlike `sums[persons] += values`, this adds up all sessions of a person.
    np.add.at(sums, persons, values)
    return (sums.T / np.bincount(persons)).T


def _enough_subjects(persons: Indices) -> bool:
    """Return whether there are enough subjects to decide directions by residuals; warn if not."""
    n_persons = int(persons.max()) + 1
    if n_persons < MIN_SUBJECTS_TO_ORIENT:
        warn(
            f"{counted(n_persons, 'subject is', 'subjects are')} too few for "
            f"non_gaussian='orient', which needs at least {MIN_SUBJECTS_TO_ORIENT}. It has no "
            "effect. Give more subjects, or leave it out."
        )
    return n_persons >= MIN_SUBJECTS_TO_ORIENT
