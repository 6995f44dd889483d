r"""SGBN: a network by order search, the learner to start with.

`SGBN` minimises the extended BIC (Chen and Chen 2008):

.. math:: \min_{DAG} \sum_j n \log \frac{RSS_j}{n} + k_j \log n
          + 2 \gamma \log \binom{m - 1}{k_j}, \quad k_j = |PA_j|

Here :math:`PA_j` are the parents of variable j, :math:`RSS_j` is the residual sum of squares of its
regression on them, and there are n samples of m variables. The search goes through orders of the
variables, and chooses parents greedily for each order (`sgbn.learn.search.orders`). With equal
noise variances the first term is :math:`RSS_j / \sigma^2`.

With ``weights="lasso"``, `lasso_along_order` then replaces least squares by a lasso of every
variable on the variables before it in an order, for weights that predict well:

.. math:: \min_{\theta_j} \frac{1}{2n} \|x_j - X \theta_j\|^2 + \alpha_j \|\theta_j\|_1
          \quad \text{over } \{k : k \text{ before } j\}

There are n samples, :math:`x_j` is the column of variable j, :math:`\theta_j` holds the weights of
its parents k, and :math:`\alpha_j` is its penalty.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, Self

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from sgbn.core.graph import known_order
from sgbn.core.moments import Moments, moments_of
from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array, Mask
from sgbn.core.validation import (
    FOLDS,
    NONE,
    NOT_NEGATIVE,
    POSITIVE,
    RANDOM_STATE,
    OneOf,
    Whole,
    allowed,
    check_parameters,
    column_names,
    warn_about_moments,
)
from sgbn.learn.base import Arrows, NetworkEstimator, least_squares
from sgbn.learn.knowledge import Knowledge, TakesKnowledge
from sgbn.learn.lasso import Folds, folds, grid, lasso_gram
from sgbn.learn.orient import Residuals, decide_directions
from sgbn.learn.search.plan import EFFORTS, SearchPlan, SearchProblem, default_gamma, most_parents
from sgbn.learn.search.search import search_network
from sgbn.prepare.outliers import OUTLIERS, TRANSFORMS, normal_scores

SD_TOLERANCE = 1e-6  # a smaller relative difference of standard deviations is round-off
# Ratio of the largest to the smallest standard deviation; columns of one unit hardly exceed it.
MAX_SD_RATIO = 100.0


@dataclass(eq=False, repr=False)
class SearchParameters(TakesKnowledge):
    """The parameters that learners of many networks pass on to `SGBN`."""

    gamma: float | None = allowed(None, NONE | NOT_NEGATIVE)
    _: KW_ONLY
    max_parents: int | None = allowed(None, NONE | Whole(0))
    outliers: str = allowed("trim", OneOf(*OUTLIERS))

    def _searcher(self, **further: Any) -> SGBN:
        """Return an `SGBN` with these parameters."""
        shared = {part.name: getattr(self, part.name) for part in fields(SearchParameters)}
        return SGBN(**shared, **further)


@dataclass(eq=False, repr=False, kw_only=True)
class SGBN(SearchParameters, NetworkEstimator):
    r"""Sparse Gaussian Bayesian network by order search: the learner to start with.

    It minimises the extended BIC over DAGs by a search over orders of the variables,

    .. math:: \sum_j n \log \frac{RSS_j}{n} + k_j \log n + 2 \gamma \log \binom{m - 1}{k_j}

    where variable j has :math:`k_j` parents. The result is always a DAG. It does not depend on the
    order of the columns and, unless ``noise="equal"``, it does not depend on their units. Gaussian
    data decide directions only up to an equivalence class. So the learner tells for every edge
    what decides its direction (`edge_kinds_`).

    Parameters
    ----------
    gamma : float, optional
        How much the number of possible parents counts; 0 is BIC. Lower values find more weak
        edges, and more false ones. The default is 1 for up to 100 samples, which leaves few false
        edges in pure noise. For n > 100 samples it is log10(n) / 2, for example 1.5 for 1,000
        samples. With more samples fewer edges are missed, and false edges are a larger part of the
        errors.
    noise : {"unequal", "equal"}, default="unequal"
        "equal" assumes that the noise variances are equal in the units of the data. This decides
        every direction. Use it only if they are equal: on standardised data they are not.
    max_parents : int, optional
        The largest number of parents of a variable. It is never more than 60, or more than a third
        of the number of samples. This limit is the default.
    effort : {"standard", "fast", "thorough"}, default="standard"
        How long to search. "fast" makes local searches from two orders. "standard" continues with
        annealing on tables, which hold the scores of all sets of a few candidate parents. If the
        two local searches disagree, it makes kicks first (see `n_kicks`) and anneals for longer.
        "thorough" searches far longer, one or two minutes for 100 variables. It is meant for real
        data, in which many networks have nearly the best score. "standard" finds the best of all
        networks of up to 14 variables, and "thorough" of up to 20. Tables are not used with fewer
        than 50 samples, because the best score would fit noise. They are not used with more than
        500 variables either. "standard" also does not use them if there are more than 100
        variables and at least twice as many samples. Without tables there are only local searches,
        with kicks unless there are too many variables. "fast" and "standard" begin with an order
        for the strong dependences alone if there are at least 200 samples, and at least ten per
        variable. For more than 100 variables, two per variable are enough, and for more than 500
        variables 200 samples are enough.
    n_starts : int, optional
        Number of orders that local searches start from. The first order sorts the variables by
        rising variance inflation, the second by falling variance inflation, and all others are
        random. By default `effort` chooses the number.
    n_kicks : int, optional
        A kick makes random moves in the best order and starts a local search from there. The
        search ends after this many kicks in a row without a better order. By default `effort`
        chooses the number. If `n_starts` or `n_kicks` is given with the standard effort, tables
        are not used.
    forbidden, required : list of (source, target), optional
        Edges that the network must not have, and edges that it must have. Variables are given by
        column name or index.
    tiers : list of lists, or mapping from variable to tier, optional
        Groups of variables, the earliest first. No edge leads from a later group to an earlier
        one. Variables without a group are free.
    weights : {"refit", "lasso"}, default="refit"
        "refit" fits least squares on the chosen parents; use this network to look at. "lasso" fits
        a lasso of every variable on all variables before it in the learned order; use this network
        to predict. It has many more edges.
    alpha : float or "cv", default="cv"
        Penalty of ``weights="lasso"``. "cv" chooses one for each variable by cross-validation.
    cv : int or splitter, default=5
        Folds for ``alpha="cv"``.
    outliers : {"trim", "keep"}, default="trim"
        "trim" leaves out rows that lie far from all others, and warns about them by name (see
        `outliers_`). A few bad scans among a thousand add dozens of false edges. No row is left
        out if there are fewer than 20 rows, or if more than a fifth of the rows lie far from the
        others. In clean Gaussian data about one row in 10,000 is left out.
    column_transform : {"none", "normal-scores"}, default="none"
        "normal-scores" replaces the ranks of each column by quantiles of the normal distribution,
        and learns the graph from these. It is meant for columns that are curved functions of
        normal ones. If relations are linear and only the noise is skewed, it finds less;
        `sgbn check` tells which case it is. The network is fitted to the rows as they are: its
        weights, noise variances and likelihood are always in the units of the data.
    non_gaussian : {"ignore", "orient"}, default="ignore"
        "orient" decides directions that the equivalence class leaves open by residuals that are
        not Gaussian. It decides a direction only if the residuals are clear and no curve explains
        them equally well. It assumes linear relations with independent noise (Shimizu and others
        2006). It never adds or removes an edge.
    random_state : int, RandomState instance or None, default=0
        Seed of the random starts, kicks and annealing.

    Attributes
    ----------
    coef_ : ndarray of shape (m, m)
        ``coef_[i, j]`` is the weight of i -> j in the units of the data.
    coef_std_ : ndarray of shape (m, m)
        The same weights per standard deviation.
    intercept_, noise_variance_ : ndarray of shape (m,)
        Intercepts and noise variances in the units of the data. A variance is the residual sum of
        squares divided by n - k, where k counts the parents and the intercept.
    cpdag_ : ndarray of shape (m, m), bool
        Directions that data, prior knowledge and, if asked for, non-Gaussian residuals decide. If
        only ``cpdag_[i, j]`` is set, the direction is i -> j. If ``cpdag_[j, i]`` is set as well,
        it is open.
    edge_kinds_ : ndarray of str
        What decides the direction of each edge, if the learned edges are right, in the order of
        ``np.argwhere(coef_)``: "compelled" (the data), "prior knowledge", "equal variances" (only
        this assumption), "non-Gaussian" (the shape of residuals), "reversible" (nothing) or, for
        edges that the lasso adds, "order only". `edge_table` shows them beside the edges.
    arrows_ : Arrows
        The learned graph, and what decides its directions. `cpdag_` and `edge_kinds_` are computed
        from it.
    order_ : ndarray of shape (m,)
        Levels in whole numbers: ``order_[j] > order_[i]`` for every edge i -> j.
    network_ : GaussianNetwork
        The learned network.
    gamma_ : float
        The gamma used.
    score_ : float
        The criterion of the learned network before any lasso; smaller is better. If the graph was
        learned from normal scores, it is the criterion on these.
    outliers_ : ndarray of shape (n_samples,), bool
        The rows that were left out; none with ``outliers="keep"``.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    Notes
    -----
    Directions that nothing decides follow a rule that does not depend on how the search went.
    Among the networks of the equivalence class, the chosen one puts variables with more neighbours
    first, then variables of smaller variance inflation. Further ties are broken by name, or by
    content if the columns have no names.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.learn.sgbn import SGBN
    >>> rng = np.random.default_rng(0)
    >>> a = rng.standard_normal((500, 3))
    >>> a[:, 2] += a[:, 0] + a[:, 1]
    >>> learner = SGBN().fit(a)
    >>> learner.network_
    GaussianNetwork(3 variables, 2 edges)
    >>> learner.edge_kinds_.tolist()  # x0 -> x2 <- x1: no other network fits as well
    ['compelled', 'compelled']
    """

    noise: str = allowed("unequal", OneOf("unequal", "equal"))
    effort: str = allowed("standard", OneOf(*EFFORTS))
    n_starts: int | None = allowed(None, NONE | Whole(1))
    n_kicks: int | None = allowed(None, NONE | Whole(0))
    weights: str = allowed("refit", OneOf("refit", "lasso"))
    alpha: float | str = allowed("cv", OneOf("cv") | POSITIVE)
    cv: Folds = allowed(5, FOLDS)
    column_transform: str = allowed("none", OneOf(*TRANSFORMS))
    non_gaussian: str = allowed("ignore", OneOf("ignore", "orient"))
    random_state: int | np.random.RandomState | None = allowed(0, RANDOM_STATE)

    def _check_together(self) -> None:
        """Raise InputError if two parameters contradict each other."""
        by_variance, by_shape = self.noise == "equal", self.non_gaussian == "orient"
        if self.column_transform != "none" and (by_variance or by_shape):
            raise InputError("transform.directions").says(
                "column_transform takes away what noise or non_gaussian needs",
                "Leave one of them out.",
            )
        if by_variance and by_shape:
            raise InputError("noise.directions").says(
                "{noise='equal'} leaves no direction to {non_gaussian=}", "Leave out one of them."
            )
        if self.weights == "refit" and self.alpha != "cv":
            raise InputError("alpha.weights").says(
                "alpha has an effect only with {weights='lasso'}", "Set {gamma=} instead."
            )

    def fit_moments(self, moments: Moments) -> Self:
        """Learn a network from a covariance matrix, if the rows themselves are not available.

        The network is the same as from `fit` on rows with these moments. Without rows, the learner
        cannot look for outliers: `outliers` has no effect, and there is no `outliers_`.

        Parameters
        ----------
        moments : Moments
            The moments, for example the result of ``Moments.from_covariance(S, n, names)``.

        Raises
        ------
        InputError
            If a parameter needs rows: normal scores, non-Gaussian residuals, or a lasso with
            ``alpha="cv"``.
        """
        check_parameters(self)
        if not isinstance(moments, Moments) or moments.has_bias:
            raise InputError("moments.type").says(
                "moments is not a result of Moments.from_covariance", "Call that function first."
            )
        needs_rows = {
            "column_transform": self.column_transform != "none",
            "non_gaussian": self.non_gaussian == "orient",
            "alpha": self.weights == "lasso" and self.alpha == "cv",
        }
        # Only the first one is named: users correct one parameter at a time.
        for argument in filter(needs_rows.get, needs_rows):
            raise InputError("moments.rows", argument=argument, value=getattr(self, argument)).says(
                "{argument} is {value}, which needs rows, not moments", "Choose another value."
            )
        # These may be left from an earlier fit to rows.
        for stale in ("outliers_", "feature_names_in_"):
            self.__dict__.pop(stale, None)
        self.n_features_in_ = moments.m
        if moments.names is not None:
            self.feature_names_in_ = np.array(moments.names, dtype=object)
        names = column_names(self)
        warn_about_moments(moments, names)
        return self.learn(moments, np.empty((0, moments.m)), names)

    def learn(self, moments: Moments, values: Array, names: list[str]) -> Self:
        """Search for a graph, choose the DAG of its class with hubs first, and fit weights."""
        n, m, is_equal = moments.n, moments.m, self.noise == "equal"
        self.gamma_ = default_gamma(n) if self.gamma is None else float(self.gamma)
        if is_equal:
            _warn_about_units(moments, names)
        most = most_parents(n, m, self.max_parents)
        knowledge = self._read_knowledge(names, most)
        learned_from = moments
        if self.column_transform == "normal-scores":
            # n is kept: it is smaller than the number of rows if the rows are residuals.
            learned_from = replace(moments_of(normal_scores(values), names), n=n)
        # Default names x0, x1, ... depend on the order of the columns, and the result must not.
        own_names = names if hasattr(self, "feature_names_in_") else None
        problem = SearchProblem.of(
            learned_from, knowledge, self.gamma_, most, own_names, equal_noise=is_equal
        )
        n_required = int(knowledge.required.sum(axis=0).max())
        effort = self.effort, self.n_starts, self.n_kicks
        plan = SearchPlan.for_size(n, m, *effort, n_required=n_required, equal_noise=is_equal)
        best = search_network(problem, plan, check_random_state(self.random_state))
        self.score_ = best.score
        arrows = Arrows(problem.to_user(best.parents), knowledge, is_equal)
        if self.non_gaussian == "orient":
            arrows = arrows._replace(non_gaussian=_decided_by_residuals(arrows, moments, values))
        # Equal variances decide every direction: no other DAG of the class has the same score.
        if not is_equal:
            arrows = arrows.hubs_first(problem.columns)
        graph = arrows.graph
        if self.weights == "refit":
            B = least_squares(moments, moments.to_canonical(graph.astype(float)), names)
        else:
            B = lasso_along_order(self.alpha, self.cv, moments, values, names, graph, knowledge)
        self._store(moments, B, names, arrows)
        return self


def _warn_about_units(moments: Moments, names: list[str]) -> None:
    """Warn if the units of the columns do not suit the assumption of equal noise variances."""
    small, large = int(np.argmin(moments.sd)), int(np.argmax(moments.sd))
    ratio = moments.sd[large] / moments.sd[small]
    if ratio < 1 + SD_TOLERANCE:
        Problem("columns.standardised").warn(
            "standard deviations are equal, but {noise='equal'} needs the units of the data",
            "Give the data as they were measured, or use {noise='unequal'}.",
        )
    elif ratio > MAX_SD_RATIO:
        Problem("columns.units", large=names[large], small=names[small], ratio=ratio).warn(
            "{large} has {ratio:.0f} times the spread of {small}, which {noise='equal'} cannot use",
            "Use {noise='unequal'} if their units differ.",
        )


def _decided_by_residuals(arrows: Arrows, moments: Moments, values: Array) -> Mask:
    """Return the arrows ``[i, j]`` that the class leaves open and non-Gaussian residuals decide."""
    # In the canonical order, so that the rounding of residuals does not depend on the user's order.
    columns = moments.columns
    Z = (values[:, columns] - moments.mean[columns]) / moments.sd[columns]
    P = arrows.equivalence_class()[np.ix_(columns, columns)]
    return moments.to_user(decide_directions(Residuals(Z), P).T)


FORBIDDING_PRICE = 2.0  # forces a weight of 0: with columns of unit scale, 1 is enough


def lasso_along_order(
    alpha: float | str,
    cv: Folds,
    moments: Moments,
    values: Array,
    names: list[str],
    graph: Mask,
    knowledge: Knowledge,
) -> Array:
    """Return the weights of a lasso along the order of a DAG, as rows in the canonical order.

    Row j holds the weights of the parents of variable j.

    Parameters
    ----------
    alpha : float or "cv"
        The penalty. "cv" chooses one for each variable by its squared error in held-out rows.
    cv : int or splitter
        Folds for ``alpha="cv"``.
    moments, values, names
        The moments of the sample, its rows, and the names of its columns.
    graph : ndarray of shape (m, m), bool
        The learned DAG in the user's order of columns. Only the order of its nodes counts.
    knowledge : Knowledge
        Prior knowledge. Forbidden edges get no weight, and required edges are not penalised.
    """
    place = np.empty(moments.m)
    # Known directions count for the order even if the DAG lacks the edge: the lasso may add it.
    order = known_order(graph, knowledge.directions, np.argsort(moments.columns))
    place[order] = np.arange(moments.m)
    # Prices in units of alpha: 1 for variables that come before, infinity for all others.
    unit = np.where(knowledge.allowed & (place[:, None] < place), 1.0, np.inf)
    # A price of 0, so that the lasso has no reason to leave out a required edge.
    unit[knowledge.required] = 0.0
    if isinstance(alpha, str):
        alphas = _best_alphas(moments, values, names, unit, cv)
    else:
        alphas = np.full(moments.m, alpha)
    result = lasso_gram(moments.R, _prices(moments, unit, alphas))
    if not result.converged:
        Problem("lasso.stopped", violation=result.violation).warn(
            "columns are nearly collinear, which stopped the lasso (KKT violation {violation:.1e})",
            "Drop one of these columns, or raise {alpha=}.",
            ConvergenceWarning,
        )
    return result.x


def _prices(moments: Moments, unit: Array, alpha: Array) -> Array:
    """Return the prices as rows of parents in the canonical order.

    ``unit[i, j]`` is the price of i -> j in units of alpha: 0, 1 or infinity.
    """
    return moments.to_canonical(np.minimum(unit * alpha, FORBIDDING_PRICE))


def _best_alphas(
    moments: Moments, values: Array, names: list[str], unit: Array, cv: Folds
) -> Array:
    """Return for each variable, in the user's order, the penalty of the smallest held-out error."""
    alphas = grid(moments)
    error = np.zeros((len(alphas), moments.m))
    for train, test in folds(cv, len(values)).split(values):
        fold = moments_of(values[train], names)
        # Scaled by the training rows: held-out rows must not have a part in their own scale.
        Z = (values[test] - fold.mean) / fold.sd
        B = None
        for k, alpha in enumerate(alphas):
            # It starts from the solution of the next larger alpha, which is similar.
            B = lasso_gram(fold.R, _prices(fold, unit, np.full(fold.m, alpha)), start=B).x
            error[k] += np.square(Z - Z @ fold.to_user(B)).sum(axis=0)
    return alphas[np.argmin(error, axis=0)]
