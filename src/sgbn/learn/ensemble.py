r"""SGBNEnsemble: one network that many networks agree on, and how sure each edge is.

The estimate and its confidence come from different parts of the rows. The estimate is the consensus
of networks drawn from posteriors of nearly all rows; each leaves out a tenth. Halves would give a
worse estimate. All rows would give an estimate that changes with a few subjects more or less. The
confidence comes from halves. A posterior of all rows is too sure whenever the model is not exactly
true, and real brains are not sparse Gaussian networks.

The attributes of a fitted learner that come from half samples.

Networks drawn from the posteriors of parts of a sample: nearly all rows, and halves.

Halves are used and not bootstrap samples. A row that is drawn twice looks like two subjects who
agree, and this leads to several times as many false edges. All that is fitted to rows (effects
of covariates and sites, outliers, normal scores, scales) is fitted to each half separately.

Intervals of the weights of a fixed graph, from half samples.

Let :math:`\hat\theta` be a weight fitted to all rows, and :math:`\hat\theta_h` the same weight
fitted to half h of H halves. The delete-half jackknife of Shao and Wu (1989) uses

.. math:: s^2 = \frac{1}{H} \sum_h (\hat\theta_h - \hat\theta)^2, \qquad \hat\theta \pm 1.96 \, s.

The weight of a half has twice the variance of the weight of all rows, and the rows of the half are
a part of all rows. So the difference of the two has the same variance as the weight of all rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from sgbn.cohort.design import Design
from sgbn.cohort.effects import without_nuisance
from sgbn.cohort.rows import N_TENTHS, Rows, check_rows_agree, enough_left, row_labels
from sgbn.core.moments import Moments, constant_columns, moments_of, one_blas_thread
from sgbn.core.problems import DataWarning, InputError, Problem
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import (
    FEW_SAMPLES,
    JOBS,
    SEED,
    UP_TO_ONE,
    OneOf,
    Whole,
    allowed,
    check_data,
    check_parameters,
    column_names,
    warn_about_moments,
    warn_few_values,
)
from sgbn.learn.base import Arrows, LearnedNetwork, NetworkEstimator, least_squares
from sgbn.learn.confidence import (
    MIN_ADJACENCY,
    MIN_DIRECTION,
    EdgeConfidence,
    agreement_from,
    agreement_of,
    consensus,
    drawn_graph,
)
from sgbn.learn.knowledge import Knowledge, TakesKnowledge, check_few_required
from sgbn.learn.posterior import MAX_REQUIRED_PARENTS, ChainPlan, sample_networks
from sgbn.learn.search.plan import most_parents
from sgbn.learn.sgbn import SGBN, SearchParameters
from sgbn.prepare.outliers import TRANSFORMS, normal_scores
from sgbn.runs.files import Arrays
from sgbn.runs.study import Study


@dataclass(eq=False, repr=False, kw_only=True)
class ConfidentNetwork(TakesKnowledge, LearnedNetwork):
    """The base class of learners with half samples.

    `confidence_` is None if there are no half samples.
    """

    confidence_: EdgeConfidence | None = field(init=False)

    n_pairs: int = allowed(50, Whole(0))
    min_adjacency: float = allowed(MIN_ADJACENCY, UP_TO_ONE)
    min_direction: float = allowed(MIN_DIRECTION, UP_TO_ONE)
    random_state: int = allowed(0, SEED)
    n_jobs: int | None = allowed(None, JOBS)

    @property
    def adjacency_(self) -> Array:
        """Return the share of half-sample networks that join i and j; 0 without half samples."""
        return self._shares("adjacency_")

    @property
    def arrow_(self) -> Array:
        """Return the share of half-sample networks with i -> j; 0 without half samples."""
        return self._shares("arrow_")

    def _shares(self, name: str) -> Array:
        check_is_fitted(self)
        if self.confidence_ is None:
            return np.zeros(self.coef_.shape)
        return getattr(self.confidence_, name)

    @property
    def supported_(self) -> Mask:
        """Return a mask of the edges of `network_` with a direction that half samples support."""
        check_is_fitted(self)
        if self.confidence_ is None:
            return np.zeros(self.coef_.shape, bool)
        return self.confidence_.supported(self.coef_, self.min_adjacency, self.min_direction)

    @property
    def drawn_graph_(self) -> Mask:
        """Return `network_` as a graph to draw: supported edges are arrows, others are lines.

        An arrow i -> j is True only at ``[i, j]``, a line also at ``[j, i]``.
        """
        return drawn_graph(self.coef_, self.supported_)


MIN_ROWS_TO_HALVE = 2 * FEW_SAMPLES  # halves of fewer rows say nothing about edges
# Weight of the rarer direction of a pair in the consensus; 1 makes 3 % more errors at n = 100.
OTHER_WAY_WEIGHT = 0.5


@dataclass(eq=False, repr=False, kw_only=True)
class SGBNEnsemble(SearchParameters, ConfidentNetwork, NetworkEstimator):
    r"""A stable network with a measured confidence of every edge: the learner to recommend.

    `network_` is the consensus of many networks drawn from posteriors of nearly all rows. Each pair
    has its more frequent direction. The pair is in the network if the share of this direction, plus
    half the share of the opposite direction, is at least one half.

    `confidence_` comes from many halves of the rows, each with its own posterior. It says how often
    these networks join two regions, and in which direction. A direction is supported if at least
    `min_adjacency` of the networks join the pair, and at least `min_direction` of these have the
    direction. Only edges with a supported direction are drawn as arrows. Other edges are lines.

    Parameters
    ----------
    gamma : float, optional
        How much the number of possible parents counts in the prior; see `NetworkPosterior`.
    max_parents : int, optional
        The largest number of parents of a variable. It is never more than 60, or more than a third
        of the number of samples. This limit is the default.
    n_chains : int, default=100
        Number of chains whose networks make the estimate. Each leaves out a tenth of the rows.
    n_pairs : int, default=50
        Number of splits of the rows into two halves; 50 splits give 100 half samples, and a share
        of .9 then has a standard error of .03. With 0 there is no confidence.
    min_adjacency : float, default=0.8
        A direction is supported only if at least this share of the networks of half samples joins
        the pair. With 0.5, a third of the arrows came back in fresh halves of real tables.
    min_direction : float, default=0.9
        A direction is supported only if at least this share of the networks that join the pair has
        this direction.
    forbidden, required : list of (source, target), optional
        Edges that the network must not have, and edges that it must have. Variables are given by
        column name or index.
    tiers : list of lists, or mapping from variable to tier, optional
        Groups of variables, the earliest first; see `SGBN`.
    outliers : {"trim", "keep"}, default="trim"
        "trim" leaves out rows that lie far from all others, in the whole sample and again in each
        part of it; see `SGBN`.
    column_transform : {"none", "normal-scores"}, default="none"
        Whether graphs are learned from normal scores; see `SGBN`.
    random_state : int, default=0
        Seed of the chains and the splits.
    n_jobs : int, optional
        Number of processes. Results do not depend on it.

    Attributes
    ----------
    network_ : GaussianNetwork
        The consensus DAG, with weights refitted on all rows.
    coef_, coef_std_, intercept_, noise_variance_, order_, cpdag_, edge_kinds_
        The numbers of `network_`, as in `SGBN`. `edge_kinds_` describes this one graph. Whether
        the data support a direction is in `supported_`.
    coef_low_, coef_high_ : ndarray of shape (m, m)
        Ends of 95 % intervals of `coef_` on this graph, from the spread of the weights over the
        half samples (delete-half jackknife). They are NaN without half samples. They do not include
        the uncertainty of the graph, which was chosen in the same rows.
    posterior_ : ndarray of shape (m, m)
        Share of the networks of the estimate with i -> j.
    confidence_ : EdgeConfidence or None
        The shares of networks of half samples; None with fewer than 20 rows.
    adjacency_, arrow_ : ndarray of shape (m, m)
        Share of the networks of half samples that join i and j, and share with i -> j:
        ``arrow_ + arrow_.T == adjacency_``.
    supported_ : ndarray of shape (m, m), bool
        ``[i, j]`` is True if `network_` has i -> j, and half samples support this direction.
    drawn_graph_ : ndarray of shape (m, m), bool
        The graph to draw. If only ``[i, j]`` is set, it is the arrow i -> j. If ``[j, i]`` is set
        as well, it is a line.
    outliers_ : ndarray of shape (n_samples,), bool
        Rows that were left out.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    Notes
    -----
    A share describes these rows. It is not a probability. A table in ``docs/arrows.md`` shows what
    fresh halves of real tables found at each share (``benchmarks/replication.py``).

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.learn.ensemble import SGBNEnsemble
    >>> X = np.random.default_rng(0).standard_normal((400, 4))
    >>> X[:, 2] += X[:, 0] + X[:, 1]
    >>> learner = SGBNEnsemble(n_pairs=10).fit(X)
    >>> np.argwhere(learner.coef_).tolist()
    [[0, 2], [1, 2]]
    """

    n_chains: int = allowed(100, Whole(1))
    column_transform: str = allowed("none", OneOf(*TRANSFORMS))

    def fit(
        self,
        X: ArrayLike,
        y: Any = None,  # noqa: ARG002
        *,
        nuisance: ArrayLike | None = None,
        strata: ArrayLike | None = None,
        persons: ArrayLike | None = None,
        blocks: ArrayLike | None = None,
        folder: str | Path | None = None,
        progress: bool = False,
    ) -> Self:
        """Learn the consensus network, and how sure its edges are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            One row per subject, one column per region. Column names of a DataFrame are kept.
        y : ignored
            Accepted because scikit-learn passes it.
        nuisance : array-like of shape (n_samples, p) or (n_samples,), optional
            Columns of numbers, such as age, or 0 and 1 for sites. Their linear effects are taken
            out of all rows, and again of each part.
        strata : array-like of shape (n_samples,), optional
            Labels, such as sites, that all parts have in nearly equal numbers.
        persons : array-like of shape (n_samples,), optional
            The person of each row. All rows of a person stay together, and count as one subject.
        blocks : array-like of shape (n_samples,), optional
            Labels such as families, whose rows also stay together. Each person is in one block.
        folder : path, optional
            A folder that keeps finished parts, so that a second start only does what is missing.
        progress : bool
            Whether to show a bar with the time left.

        Returns
        -------
        self
            The fitted learner.
        """
        values = check_data(self, X)
        names, n = tuple(column_names(self, X)), len(values)
        ids = tuple(row_labels(X) or range(n))
        check_rows_agree(X, nuisance=nuisance, strata=strata, persons=persons, blocks=blocks)
        called = {"site": "strata", "person": "persons", "block": "blocks"}
        design = Design.of(ids, site=strata, person=persons, block=blocks, called=called)
        rows = Rows(values, names, ids, design, checked_effects(nuisance, n)).in_order()
        return self.fit_rows(rows, Study(folder, self.n_jobs, progress))

    def fit_rows(self, rows: Rows, study: Study) -> Self:
        """Learn from complete rows, and take their `effects` out of every part."""
        if not hasattr(self, "n_features_in_"):  # `fit` has checked the table, and set both
            self.n_features_in_ = len(rows.names)
            self.feature_names_in_ = np.array(rows.names, dtype=object)
        warn_few_values(rows.values, rows.names)
        check_parameters(self)
        with one_blas_thread():
            # Out of all rows, for the estimate. Each part takes them out again, on its own rows.
            values, lost = without_nuisance(rows.values, rows.effects)
        n = len(values)
        if not enough_left(n, lost):
            raise InputError("nuisance.many", lost=lost, n=n, least=FEW_SAMPLES).says(
                "the nuisance columns use up {lost} of {n} rows",
                "Give fewer, so that each part keeps {least}.",
            )
        # This sets `outliers_`. The next line takes these rows out, together with their labels.
        self.clean(values, list(rows.names), rows.ids)
        kept = replace(rows, values=values).subset(~self.outliers_)
        moments = moments_of(kept.values, kept.names).of_residuals(lost)
        warn_about_moments(moments, kept.names)
        return self._learn(kept, moments, study)._of_user(rows.places)

    def fit_moments(self, moments: Moments) -> Self:  # noqa: ARG002
        """Raise InputError, because half samples need rows and moments do not hold rows."""
        raise InputError("moments.halves").says(
            "SGBNEnsemble needs rows, which moments do not hold", "Call fit, or SGBN().fit_moments."
        )

    def learn(self, moments: Moments, values: Array, names: list[str]) -> Self:
        """Learn from rows without nuisance columns, strata, persons or blocks."""
        n = len(values)
        rows = Rows(values, tuple(names), tuple(range(n)), Design(n))
        return self._learn(rows, moments, Study(n_jobs=self.n_jobs))

    def _learn(self, rows: Rows, moments: Moments, study: Study) -> Self:
        """Learn the consensus network, its confidence and its intervals, and store them."""
        names = list(rows.names)
        searcher = self._searcher(column_transform=self.column_transform)
        most = most_parents(moments.n, moments.m, self.max_parents)
        knowledge = self._read_knowledge(names, most)
        check_few_required(knowledge.required, MAX_REQUIRED_PARENTS, names)
        n_pairs = self._pairs_for(rows, len(rows) - moments.n)
        seed = int(self.random_state)
        self.posterior_, self.confidence_ = learn_parts(
            rows, searcher, knowledge, self.n_chains, n_pairs, seed, study
        )
        # In the canonical order, so that ties do not depend on the order of the columns.
        canonical = np.ix_(moments.columns, moments.columns)
        graph = np.zeros(self.posterior_.shape, bool)
        graph[canonical] = consensus(
            self.posterior_[canonical], other_way=OTHER_WAY_WEIGHT, max_parents=most
        )
        B = least_squares(moments, moments.to_canonical(graph.astype(float)), names)
        self._store(moments, B, names, Arrows(graph, knowledge))
        self.coef_low_, self.coef_high_ = weight_limits(
            rows, graph, self.coef_, moments.columns, n_pairs, seed
        )
        return self

    def _pairs_for(self, rows: Rows, lost: int) -> int:
        """Return the number of splits; warn and return 0 if there are too few rows for halves.

        `lost` is the number of degrees of freedom of the nuisance columns.
        """
        n, units = len(rows), rows.design.n_units
        if units < 2:
            raise InputError("persons.one", n=n).says(
                "all {n} rows belong to one person or block",
                "Give rows of several, or leave {persons=} and {blocks=} out.",
            )
        # Each half loses the same number of degrees of freedom as the whole: they count twice.
        if not self.n_pairs or min(units, n - 2 * lost) >= MIN_ROWS_TO_HALVE:
            return int(self.n_pairs)
        Problem("halves.few", units=units, least=MIN_ROWS_TO_HALVE + 2 * lost).warn(
            "confidence_ is None: half samples of {units:independent row} are too small",
            "Give {least} or more. {n_pairs=0} silences this warning.",
        )
        return 0


def checked_effects(nuisance: ArrayLike | None, n: int) -> Array:
    """Return the nuisance columns as checked numbers of shape (n, p); p is 0 if none are given."""
    if nuisance is None:
        return np.empty((n, 0))
    try:
        design = np.asarray(nuisance, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError("nuisance.text").says(
            "nuisance holds cells that are not numbers", "Give labels as columns of 0 and 1."
        ) from error
    # One covariate, such as a column of a table, becomes a design of one column.
    if design.ndim == 1:
        design = design[:, None]
    if design.ndim != 2 or len(design) != n:
        raise InputError("nuisance.shape", shape=design.shape, n=n).says(
            "nuisance has shape ({shape:s})", "Give one row for each of {n:row} of X."
        )
    unknown = np.argwhere(~np.isfinite(design))
    if len(unknown):
        row, column = unknown[0].tolist()
        raise InputError("nuisance.gaps", row=row, column=column, n=len(unknown)).says(
            "nuisance is not finite in row {row}, column {column} (counted from 0)",
            "Fill it in, or leave this row out ({n:such cell}).",
        )
    return design


N_CANDIDATE_PARENTS = 10  # per variable (benchmarks/replication.py)
PLAN = ChainPlan(n_candidates=N_CANDIDATE_PARENTS, n_chains=1, n_burn=60, n_kept=100, thin=1.0)
# Each use of random numbers has its own stream. So more chains or more pairs never change the
# numbers that the other chains and pairs draw.
WHOLES, WHOLE_CHAINS, HALVES, HALF_CHAINS = range(4)


def graph_moments(learner: SGBN, values: Array, names: Sequence[str]) -> Moments:
    """Return the moments of the rows, or of their normal scores if the learner wants these."""
    if learner.column_transform == "normal-scores":
        values = normal_scores(values)
    return moments_of(values, list(names))


def learn_parts(
    rows: Rows,
    learner: SGBN,
    knowledge: Knowledge,
    n_chains: int,
    n_pairs: int,
    seed: int,
    study: Study,
) -> tuple[Array, EdgeConfidence | None]:
    """Return the share of each arrow in posteriors of nearly all rows, and the edge confidence.

    The confidence comes from half samples; it is None if `n_pairs` is 0.

    Parameters
    ----------
    rows : Rows
        The rows.
    learner : SGBN
        The learner of the starting points, not fitted; its settings also define the posterior.
    knowledge : Knowledge
        The allowed and the required edges.
    n_chains : int
        Number of chains on nearly all rows.
    n_pairs : int
        Number of splits of the rows into two halves.
    seed : int
        Seed of the splits and of the chains.
    study : Study
        Runs the tasks, and keeps their results. The result of a task depends only on the data, the
        learner, the seed and the number of the task. So a study can be continued with more pairs.
    """
    settings = described(rows, learner, seed=seed, plan=list(PLAN))
    wholes = {f"whole{k:05d}": {"kind": "whole", "number": k} for k in range(n_chains)}
    pairs = {f"pair{k:05d}": {"kind": "pair", "number": k} for k in range(n_pairs)}
    # These are sent to each worker once, and not with every task.
    shared = {"rows": rows, "learner": learner, "knowledge": knowledge, "seed": seed}
    tasks = wholes | pairs
    kinds = {name: str(task["kind"]) for name, task in tasks.items()}
    results = study.run(learn_task, tasks, settings, shared=shared, kinds=kinds)
    arrows: Array = np.mean([results[name]["arrows"] for name in wholes], axis=0)
    if not n_pairs:
        return arrows, None
    return arrows, gather_pairs([results[name] for name in pairs], rows.names)


def described(rows: Rows, learner: NetworkEstimator, **more: Any) -> dict[str, Any]:
    """Return the settings of a study of parts: everything that its results depend on."""
    return {
        "data": joblib.hash(rows.content),
        "learner": repr(learner),
        # The repr cuts long parameters, so that it alone is not enough.
        "learner_parameters": joblib.hash(learner.get_params()),
        **more,
    }


def learn_task(
    rows: Rows, learner: SGBN, knowledge: Knowledge, seed: int, kind: str, number: int
) -> Arrays:
    """Return the share of each arrow, from nine tenths of the rows or from a pair of halves."""
    if kind == "whole":
        # Ten chains share one division of the rows into tenths. Each leaves out another tenth.
        tenths = deal(rows, seed, WHOLES, number // N_TENTHS, N_TENTHS)
        part = rows.subset(tenths != number % N_TENTHS)
        arrows, _ = _learn_part(part, learner, knowledge, [seed, WHOLE_CHAINS, number])
        return {"arrows": arrows}
    halves = deal(rows, seed, HALVES, number)
    shares, constant = [], []
    for which in range(2):
        half, half_seed = rows.subset(halves == which), [seed, HALF_CHAINS, number, which]
        arrows, is_constant = _learn_part(half, learner, knowledge, half_seed)
        shares.append(arrows)
        constant.append(is_constant)
    return pair_result(shares, constant)


def pair_result(shares: Sequence[Array], constant: Sequence[Mask]) -> Arrays:
    """Return what is kept of two halves: mean shares, counts of agreement, constant columns."""
    first, second = shares
    return {
        "arrows": (first + second) / 2,
        "agreement": agreement_of(first, second),
        "constant": np.array(constant),
    }


def gather_pairs(pairs: Sequence[Arrays], names: Sequence[str]) -> EdgeConfidence:
    """Return the confidence from the results of all pairs of halves (see `pair_result`)."""
    _warn_about_constants(np.concatenate([pair["constant"] for pair in pairs]), names)
    return EdgeConfidence(
        tuple(names),
        2 * len(pairs),
        np.mean([pair["arrows"] for pair in pairs], axis=0),
        agreement_from(np.sum([pair["agreement"] for pair in pairs], axis=0), 2 * len(pairs)),
    )


def deal(rows: Rows, seed: int, stream: int, number: int, n_parts: int = 2) -> Indices:
    """Return the part of each row in one random division of the rows (see `Design.deal`)."""
    return rows.design.deal(np.random.default_rng([seed, stream, number]), n_parts)


def _learn_part(
    rows: Rows, learner: SGBN, knowledge: Knowledge, seed: Sequence[int]
) -> tuple[Array, Mask]:
    """Return the share of each arrow in a part of the rows, and which columns are constant there.

    A constant column has no arrows.
    """
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)  # there are many parts, with similar warnings
        values, lost = without_nuisance(rows.values, rows.effects)
        # A clone, because `clean` stores in the learner which rows it left out.
        values = clone(learner).clean(np.ascontiguousarray(values), list(rows.names))
        constant = constant_columns(values)
        # A column such as a rare lesion may be constant in a half. The others still have a network.
        kept = np.flatnonzero(~constant)
        names = [rows.names[k] for k in kept.tolist()]
        moments = graph_moments(learner, np.ascontiguousarray(values[:, kept]), names)
        # Repeated visits and lost degrees of freedom must not count as subjects in the posterior.
        moments = moments.of_residuals(lost + rows.design.repeats())
        sampled = sample_networks(moments, knowledge.among(kept), learner, PLAN, seed)
        arrows = np.zeros((len(constant), len(constant)))
        arrows[np.ix_(kept, kept)] = moments.to_user(sampled.arrows)
    return arrows, constant


def _warn_about_constants(constant: Mask, names: Sequence[str]) -> None:
    """Warn if columns are constant in some halves; `constant` has one row per half."""
    counts = constant.sum(axis=0)
    if counts.any():
        worst = int(np.argmax(counts))
        numbers = {"n": counts[worst], "halves": len(constant), "columns": (counts > 0).sum()}
        Problem("halves.constant", column=names[worst], **numbers).warn(
            "{column} is constant in {n} of {halves} halves, so its shares are too low",
            "Leave it out.",
        )


LEVEL = 0.95  # level of the intervals
# Added to a unit diagonal, so that parents that are copies of each other in a half share a weight.
RIDGE = 1e-10


def weight_limits(
    rows: Rows, graph: Mask, coef: Array, columns: Indices, n_pairs: int, seed: int
) -> tuple[Array, Array]:
    """Return the lower and the upper ends of 95 % intervals of the weights of a graph.

    They are zero where the graph has no edge. The intervals do not include the uncertainty of the
    graph, which was chosen in the same rows. Without halves, the ends are NaN for all edges.

    Parameters
    ----------
    rows : Rows
        The rows.
    graph : ndarray of bool, shape (m, m)
        The graph: ``[i, j]`` is True for i -> j.
    coef : ndarray of shape (m, m)
        Its weights from all rows.
    columns : ndarray of shape (m,)
        The user's columns in the canonical order, in which the weights are computed.
    n_pairs : int
        Number of splits into halves. The halves are the same as for the confidence.
    seed : int
        Seed of the splits.
    """
    if not n_pairs:
        unknown = np.where(graph, np.nan, 0.0)
        return unknown, unknown.copy()
    canonical = np.ix_(columns, columns)
    squares = np.zeros(coef.shape)
    with one_blas_thread():
        for pair in range(n_pairs):
            # The same stream of random numbers, and so the same halves, as for the confidence.
            halves = deal(rows, seed, HALVES, pair)
            for which in range(2):
                half = halves == which
                values, _ = without_nuisance(rows.values[half], rows.effects[half])
                squares[canonical] += np.square(
                    _weights(values[:, columns], graph[canonical]) - coef[canonical]
                )
    reach = float(ndtri((1 + LEVEL) / 2)) * np.sqrt(squares / (2 * n_pairs))
    return np.where(graph, coef - reach, 0.0), np.where(graph, coef + reach, 0.0)


def _weights(values: Array, graph: Mask) -> Array:
    """Return the least-squares weights of a graph, in the units of the data."""
    centred = values - values.mean(axis=0)
    sd = np.sqrt(np.square(centred).mean(axis=0))
    # A column that is constant in a half gets the weight 0 there, without a division by zero.
    scale = np.where(sd > 0, sd, 1.0)
    R = (centred / scale).T @ (centred / scale) / len(values)
    weights = np.zeros(graph.shape)
    for j in np.flatnonzero(graph.any(axis=0)):
        P = np.flatnonzero(graph[:, j])
        gram = R[np.ix_(P, P)] + RIDGE * np.eye(len(P))
        weights[P, j] = np.linalg.solve(gram, R[P, j]) * scale[j] / scale[P]
    return weights
