r"""SGBNEnsemble: one network that many networks agree on, and how sure each edge is.

The estimate and its confidence come from different parts of the rows. The estimate is the consensus
of networks drawn from posteriors of nearly all rows; each leaves out a tenth. Halves would give a
worse estimate. All rows would give an estimate that changes with a few subjects more or less. The
confidence comes from halves. A posterior of all rows is too sure whenever the model is not exactly
true, and real brains are not sparse Gaussian networks.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sgbn.cohort.design import Sample, enough_left
from sgbn.cohort.effects import without_nuisance
from sgbn.core.exceptions import InputError, counted, listed, warn
from sgbn.core.moments import Moments, moments_of, one_blas_thread
from sgbn.core.types import Array, Mask
from sgbn.core.validation import (
    FEW_SAMPLES,
    JOBS,
    SEED,
    UP_TO_ONE,
    Parameters,
    Whole,
    check_data,
    check_parameters,
    column_names,
    warn_about_moments,
)
from sgbn.prepare.outliers import row_labels
from sgbn.runs.study import Study
from sgbn.search.plan import most_parents
from sgbn.structure import SGBN
from sgbn.structure.base import Arrows, NetworkEstimator
from sgbn.structure.ensemble.confidence import MIN_ADJACENCY, MIN_DIRECTION
from sgbn.structure.ensemble.confident_network import ConfidentNetwork
from sgbn.structure.ensemble.parts import learn_parts
from sgbn.structure.ensemble.weights import weight_limits
from sgbn.structure.given_graph import least_squares
from sgbn.structure.knowledge import KNOWLEDGE, Edges, Tiers, read_knowledge
from sgbn.structure.posterior.consensus import consensus
from sgbn.structure.posterior.sampling import check_required

MIN_ROWS_TO_HALVE = 2 * FEW_SAMPLES  # halves of fewer rows say nothing about edges
# Parameters that are passed on to the learner of the starting points.
OF_SEARCH = ("gamma", "max_parents", "outliers", "column_transform", *KNOWLEDGE)
# Weight of the rarer direction of a pair in the consensus; 1 makes 3 % more errors at n = 100.
OTHER_WAY_WEIGHT = 0.5


class SGBNEnsemble(ConfidentNetwork, NetworkEstimator):
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
    >>> from sgbn import SGBNEnsemble
    >>> X = np.random.default_rng(0).standard_normal((400, 4))
    >>> X[:, 2] += X[:, 0] + X[:, 1]
    >>> learner = SGBNEnsemble(n_pairs=10).fit(X)
    >>> np.argwhere(learner.coef_).tolist()
    [[0, 2], [1, 2]]
    """

    _parameters: ClassVar[Parameters] = {
        **{name: SGBN._parameters[name] for name in OF_SEARCH},
        "n_chains": Whole(1),
        "n_pairs": Whole(0),
        "min_adjacency": UP_TO_ONE,
        "min_direction": UP_TO_ONE,
        "random_state": SEED,
        "n_jobs": JOBS,
    }

    def __init__(
        self,
        gamma: float | None = None,
        *,
        max_parents: int | None = None,
        n_chains: int = 100,
        n_pairs: int = 50,
        min_adjacency: float = MIN_ADJACENCY,
        min_direction: float = MIN_DIRECTION,
        forbidden: Edges | None = None,
        required: Edges | None = None,
        tiers: Tiers | None = None,
        outliers: str = "trim",
        column_transform: str = "none",
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.gamma = gamma
        self.max_parents = max_parents
        self.n_chains = n_chains
        self.n_pairs = n_pairs
        self.min_adjacency = min_adjacency
        self.min_direction = min_direction
        self.forbidden = forbidden
        self.required = required
        self.tiers = tiers
        self.outliers = outliers
        self.column_transform = column_transform
        self.random_state = random_state
        self.n_jobs = n_jobs

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
        n = len(values)
        labels = {"strata": strata, "persons": persons, "blocks": blocks}
        groups = (_labels(name, given, n) for name, given in labels.items())
        sample = Sample(values, column_names(self, X), _design(nuisance, n), *groups)
        _check_nested(sample)
        return self.fit_sample(sample, Study(folder, self.n_jobs, progress), row_labels(X))

    def fit_sample(self, sample: Sample, study: Study, labels: Sequence[Any] | None = None) -> Self:
        """Learn from rows that were checked before.

        Messages name the rows by `labels`.
        """
        check_parameters(self)
        with one_blas_thread():
            # Out of all rows, for the estimate. Each part takes them out again, on its own rows.
            values, lost = without_nuisance(sample.values, sample.nuisance)
        _check_freedom(len(values), lost)
        # This sets `outliers_`. The next line takes these rows out, together with their labels.
        self.clean(values, sample.names, labels)
        sample = sample._replace(values=values).take(~self.outliers_)
        moments = moments_of(sample.values, sample.names).of_residuals(lost)
        warn_about_moments(moments, sample.names)
        return self._learn(sample, moments, study)

    def fit_moments(self, moments: Moments) -> Self:  # noqa: ARG002
        """Raise InputError, because half samples need rows and moments do not hold rows."""
        raise InputError(
            "SGBNEnsemble learns from halves of the rows, but moments do not hold rows. Give the "
            "rows to fit, or give the moments to SGBN().fit_moments, which returns no confidence."
        )

    def learn(self, moments: Moments, values: Array, names: list[str]) -> Self:
        """Learn from rows without nuisance columns, strata, persons or blocks."""
        sample = Sample(values, names, _design(None, len(values)))
        return self._learn(sample, moments, Study(n_jobs=self.n_jobs))

    def _learn(self, sample: Sample, moments: Moments, study: Study) -> Self:
        """Learn the consensus network, its confidence and its intervals, and store them."""
        names = sample.names
        searcher = SGBN(**{name: getattr(self, name) for name in OF_SEARCH})
        most = most_parents(moments.n, moments.m, self.max_parents)
        knowledge = read_knowledge(self.forbidden, self.required, self.tiers, names, most)
        check_required(knowledge.required, names)
        self.posterior_, self.confidence_ = learn_parts(
            sample,
            searcher,
            knowledge,
            self.n_chains,
            self._pairs_for(sample, len(sample.values) - moments.n),
            int(self.random_state),
            study,
        )
        graph = _consensus(self.posterior_, moments, most)
        B = least_squares(moments, moments.to_canonical(graph.astype(float)), names)
        self._store(moments, B, names, Arrows(graph, knowledge))
        n_halves = 0 if self.confidence_ is None else self.confidence_.n_halves
        self.coef_low_, self.coef_high_ = weight_limits(
            sample, graph, self.coef_, moments.columns, n_halves // 2, int(self.random_state)
        )
        return self

    def _pairs_for(self, sample: Sample, lost: int) -> int:
        """Return the number of splits; warn and return 0 if there are too few rows for halves.

        `lost` is the number of degrees of freedom of the nuisance columns.
        """
        n = len(sample.values)
        units = sample.n_units
        what = "person" if sample.blocks is None else "block"
        if units < 2:
            raise InputError(
                f"all {n} rows belong to one {what} ({what}s=). Give rows of several {what}s, or "
                f"leave {what}s= out."
            )
        # Each half loses the same number of degrees of freedom as the whole: they count twice.
        if not self.n_pairs or min(units, n - 2 * lost) >= MIN_ROWS_TO_HALVE:
            return int(self.n_pairs)
        noun = "rows" if units == n else f"{what}s"
        counts = f"there are {units} {noun}"
        if lost:
            counts += f", and nuisance columns use up {lost} rows of each half"
        warn(
            f"{counts}. The confidence of edges comes from random halves of the {noun}, and each "
            f"half needs at least {FEW_SAMPLES}. So confidence_ is None. Give at least "
            f"{MIN_ROWS_TO_HALVE + 2 * lost} {noun}. n_pairs=0 silences this warning."
        )
        return 0


def _check_freedom(n: int, lost: int) -> None:
    """Raise InputError if nuisance columns leave too few degrees of freedom."""
    if not enough_left(n, lost):
        raise InputError(
            f"the nuisance columns use up {lost} of {n} rows, and each part leaves out a tenth of "
            f"the rows. At least {FEW_SAMPLES} rows must remain. Give fewer columns, or more rows."
        )


def _check_nested(sample: Sample) -> None:
    """Raise InputError if a person is in two blocks: halves could not keep both together."""
    if sample.persons is None or sample.blocks is None:
        return
    # Each pair of person and block occurs once. So a person who occurs twice is in two blocks.
    both = np.unique(np.column_stack([sample.persons, sample.blocks]).astype(str), axis=0)
    persons, counts = np.unique(both[:, 0], return_counts=True)
    astray = persons[counts > 1].tolist()
    if astray:
        raise InputError(
            f"the rows of {listed(astray)} are in several blocks. Give all rows of a person the "
            "same block."
        )


def _consensus(arrows: Array, moments: Moments, most: int) -> Mask:
    """Return the consensus network.

    It is computed in the canonical order, so that ties do not depend on the order of the columns.
    """
    canonical = np.ix_(moments.columns, moments.columns)
    graph = np.zeros(arrows.shape, bool)
    graph[canonical] = consensus(arrows[canonical], other_way=OTHER_WAY_WEIGHT, max_parents=most)
    return graph


def _design(nuisance: ArrayLike | None, n: int) -> Array:
    """Return the nuisance columns as checked numbers of shape (n, p); p is 0 if none are given."""
    if nuisance is None:
        return np.empty((n, 0))
    try:
        design = np.asarray(nuisance, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"nuisance holds text or other objects ({error}). Give numbers. For labels, give "
            "columns of 0 and 1, such as pandas.get_dummies returns."
        ) from error
    # One covariate, such as a column of a table, becomes a design of one column.
    if design.ndim == 1:
        design = design[:, None]
    if design.ndim != 2 or len(design) != n:
        raise InputError(
            f"nuisance has shape {design.shape}: give one row for each of the {n} rows of X."
        )
    unknown = np.argwhere(~np.isfinite(design))
    if len(unknown):
        row, column = unknown[0].tolist()
        raise InputError(
            f"nuisance is missing or infinite in row {row}, column {column} (counted from 0; "
            f"{counted(len(unknown), 'such cell')}). Fill it in, or leave this row out."
        )
    return design


def _labels(name: str, labels: ArrayLike | None, n: int) -> NDArray[Any] | None:
    """Return labels as an array; raise InputError unless there is one per row."""
    if labels is None:
        return None
    values = np.asarray(labels)
    if values.shape != (n,):
        raise InputError(
            f"{name} has shape {values.shape}. Give one label for each of the {n} rows of X."
        )
    return values
