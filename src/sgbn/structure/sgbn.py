r"""SGBN: a network by order search, the learner to start with.

.. math:: \min_{DAG} \sum_j n \log \frac{RSS_j}{n} + k_j \log n
          + 2 \gamma \log \binom{m - 1}{k_j}, \quad k_j = |PA_j|

(extended BIC, Chen and Chen 2008), over orders of the variables, with parents chosen greedily for
each order (`sgbn.search.order_search`); with equal noise variances the first term is
:math:`RSS_j / \sigma^2`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Self

import numpy as np
from sklearn.utils import check_random_state

from sgbn.exceptions import InputError, warn
from sgbn.moments import Moments, moments_of
from sgbn.parameters import (
    ANYTHING,
    FOLDS,
    NONE,
    NOT_NEGATIVE,
    POSITIVE,
    RANDOM_STATE,
    OneOf,
    Parameters,
    Whole,
    check_parameters,
)
from sgbn.search.network_search import search_network
from sgbn.search.plan import EFFORTS, SearchPlan, most_parents
from sgbn.search.problem import SearchProblem, default_gamma
from sgbn.structure.base import Arrows, NetworkEstimator
from sgbn.structure.given_graph import least_squares
from sgbn.structure.knowledge import KNOWLEDGE, Edges, Tiers, read_knowledge
from sgbn.structure.lasso_along_order import lasso_along_order
from sgbn.structure.non_gaussian import Residuals, decide_directions
from sgbn.structure.robust import OUTLIERS, TRANSFORMS, normal_scores
from sgbn.structure.selection import Folds
from sgbn.types import Array, Mask
from sgbn.validation import column_names, warn_about_moments

SD_TOLERANCE = 1e-6  # relative difference of standard deviations that is round-off
MAX_SD_RATIO = 100.0  # of the largest to the smallest: one unit hardly explains more


class SGBN(NetworkEstimator):
    r"""Sparse Gaussian Bayesian network by order search: the learner to start with.

    Minimises the extended BIC over DAGs,

    .. math:: \sum_j n \log \frac{RSS_j}{n} + k_j \log n + 2 \gamma \log \binom{m - 1}{k_j}

    (:math:`k_j` parents of variable j) by a search over orders of the variables. The result is
    always a DAG, and does not depend on the order of the columns nor, unless ``noise="equal"``,
    on their units. It says of every edge what its direction rests on (`edge_kinds_`): Gaussian
    data decide directions only up to an equivalence class.

    Parameters
    ----------
    gamma : float, optional
        How much the number of possible parents counts; 0 is BIC. Lower values find more weak
        edges, and more false ones. By default 1 up to 100 samples, which leaves few false edges
        in pure noise, and half their decimal logarithm beyond (1.5 at 1,000): the more samples,
        the fewer edges are missed, and the more of the errors are false ones.
    noise : {"unequal", "equal"}, default="unequal"
        "equal" takes the noise variances to be equal, in the units of the data, which decides
        every direction. Right only if they are: on standardised data they are not.
    max_parents : int, optional
        Most parents of a variable; at most, and by default, a third of the samples (and 60).
    effort : {"standard", "fast", "thorough"}, default="standard"
        How long to search. "fast": local searches from two orders. "standard": then annealing on
        tables of the scores of all sets of few candidate parents, after kicks (see `n_kicks`) and
        for longer if the two searches disagree; up to 14 variables the best of all networks is
        found. "thorough": far longer, for real data, where many networks score
        nearly the best: one or two minutes for 100 variables; up to 20 the best of all is found.
        Tables are not used below 50 samples, of which the best score fits noise, beyond 500
        variables, and by "standard" beyond 100 variables with twice as many samples: there are
        local searches alone, with kicks unless there are so many variables. From 200 samples
        upwards, and ten per variable, local searches of the first two efforts begin with strong
        dependences alone.
    n_starts : int, optional
        Orders that local searches start from: variance inflation rising, then falling, then random
        ones. Given, it wins over `effort`, as `n_kicks` does.
    n_kicks : int, optional
        Local searches from the best order after random moves: the search ends when that many in a
        row found nothing better. With the standard effort, `n_starts` or `n_kicks` ask for a
        search without tables.
    forbidden, required : list of (source, target), optional
        Edges that must not and that must be, by column name or index.
    tiers : list of lists, or mapping from variable to tier, optional
        Groups of variables, the earliest first: no edge leads from a later group into an earlier
        one. Variables in no group are free.
    weights : {"refit", "lasso"}, default="refit"
        "refit": least squares on the chosen parents, the network to look at. "lasso": a lasso of
        every variable on all that come before it in the order found, the network to predict
        with; it has many more edges.
    alpha : float or "cv", default="cv"
        Penalty of ``weights="lasso"``; "cv" chooses one for each variable.
    cv : int or splitter, default=5
        Folds for ``alpha="cv"``.
    outliers : {"trim", "keep"}, default="trim"
        "trim" leaves out rows that lie far from all others, and warns of them by name (see
        `outliers_`): a few bad scans among a thousand add dozens of false edges. None is left out
        among fewer than 20 rows, or where more than a fifth lies far out. In clean Gaussian data
        about one row in 10,000 is left out.
    column_transform : {"none", "normal-scores"}, default="none"
        "normal-scores" learns the graph from the ranks of each column, as quantiles of the normal
        distribution: for columns that are curved functions of normal ones. Where relations are
        linear and only the noise is skewed it finds less; `sgbn check` tells the two apart. The
        network itself, its weights, noise variances and likelihood, is in the units of the data
        in any case: it is fitted to the rows as they are.
    non_gaussian : {"ignore", "orient"}, default="ignore"
        "orient" decides directions that the equivalence class leaves open by residuals that are
        not Gaussian, where these are clear and no curve explains them as well. It supposes linear
        relations with independent noise (Shimizu and others 2006), and changes no edge but in
        direction.
    random_state : int, RandomState instance or None, default=0
        Seed of the random starts, kicks and annealing.

    Attributes
    ----------
    coef_ : ndarray of shape (m, m)
        ``coef_[i, j]`` is the weight of i -> j in the units of the data.
    coef_std_ : ndarray of shape (m, m)
        The same per standard deviation.
    intercept_, noise_variance_ : ndarray of shape (m,)
        In the units of the data. The variance divides by n - k, k counting the intercept.
    cpdag_ : ndarray of shape (m, m), bool
        What data, prior knowledge and, if asked, non-Gaussian residuals decide: i -> j where
        ``cpdag_[i, j]`` alone is set, i - j where ``cpdag_[j, i]`` is set as well.
    edge_kinds_ : ndarray of str
        For each edge, in the order of ``np.argwhere(coef_)``, what its direction rests on, if the
        learned edges are right: "compelled" (the data), "prior knowledge", "equal variances"
        (only that assumption), "non-Gaussian" (the shape of residuals), "reversible" (nothing)
        or, for edges that the lasso adds, "order only". `edge_table` shows them beside the edges.
    arrows_ : Arrows
        The learned graph, and what its directions rest on: behind `cpdag_` and `edge_kinds_`.
    order_ : ndarray of shape (m,)
        Levels in whole numbers: ``order_[j] > order_[i]`` for every edge i -> j.
    network_ : GaussianNetwork
    gamma_ : float
        The gamma used.
    score_ : float
        The criterion of the network found, before any lasso (smaller is better); of the normal
        scores, where the graph was learned from them.
    outliers_ : ndarray of shape (n_samples,), bool
        Rows that were left out; none with ``outliers="keep"``.
    n_features_in_, feature_names_in_
        As in all of scikit-learn.

    Notes
    -----
    Directions that nothing decides follow a rule that does not depend on how the search went:
    among the networks of the equivalence class, variables with more neighbours come first, then
    those of smaller variance inflation, then by name (or content, where columns have no names).

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn import SGBN
    >>> rng = np.random.default_rng(0)
    >>> a = rng.standard_normal((500, 3))
    >>> a[:, 2] += a[:, 0] + a[:, 1]
    >>> learner = SGBN().fit(a)
    >>> learner.network_
    GaussianNetwork(3 variables, 2 edges)
    >>> learner.edge_kinds_.tolist()  # x0 -> x2 <- x1: no other network fits as well
    ['compelled', 'compelled']
    """

    _parameters: ClassVar[Parameters] = {
        "gamma": NONE | NOT_NEGATIVE,
        "noise": OneOf("unequal", "equal"),
        "max_parents": NONE | Whole(0),
        "effort": OneOf(*EFFORTS),
        "n_starts": NONE | Whole(1),
        "n_kicks": NONE | Whole(0),
        **dict.fromkeys(KNOWLEDGE, ANYTHING),  # read_knowledge checks it
        "weights": OneOf("refit", "lasso"),
        "alpha": OneOf("cv") | POSITIVE,
        "cv": FOLDS,
        "outliers": OneOf(*OUTLIERS),
        "column_transform": OneOf(*TRANSFORMS),
        "non_gaussian": OneOf("ignore", "orient"),
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        gamma: float | None = None,
        *,
        noise: str = "unequal",
        max_parents: int | None = None,
        effort: str = "standard",
        n_starts: int | None = None,
        n_kicks: int | None = None,
        forbidden: Edges | None = None,
        required: Edges | None = None,
        tiers: Tiers | None = None,
        weights: str = "refit",
        alpha: float | str = "cv",
        cv: Folds = 5,
        outliers: str = "trim",
        column_transform: str = "none",
        non_gaussian: str = "ignore",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.gamma = gamma
        self.noise = noise
        self.max_parents = max_parents
        self.effort = effort
        self.n_starts = n_starts
        self.n_kicks = n_kicks
        self.forbidden = forbidden
        self.required = required
        self.tiers = tiers
        self.weights = weights
        self.alpha = alpha
        self.cv = cv
        self.outliers = outliers
        self.column_transform = column_transform
        self.non_gaussian = non_gaussian
        self.random_state = random_state

    def _check_together(self) -> None:
        if self.noise == "equal" and self.column_transform != "none":
            raise InputError(
                f"column_transform={self.column_transform!r} gives all columns the same variance, "
                "from which noise='equal' would decide directions wrongly. Leave one of them out."
            )
        if self.non_gaussian == "orient" and self.column_transform != "none":
            raise InputError(
                f"column_transform={self.column_transform!r} makes every column Gaussian, so that "
                "non_gaussian='orient' has nothing to go by. Leave one of them out."
            )
        if self.noise == "equal" and self.non_gaussian == "orient":
            raise InputError(
                "noise='equal' decides every direction already, so that non_gaussian='orient' has "
                "nothing to do. Leave one of them out."
            )
        if self.weights == "refit" and self.alpha != "cv":
            raise InputError(
                f"alpha is {self.alpha!r}, but has an effect with weights='lasso' only. Set gamma "
                "for the sparsity of the network."
            )

    def fit_moments(self, moments: Moments) -> Self:
        """Learn a network from a covariance matrix, where the rows are not at hand.

        The network is that of `fit` on rows with these moments. Rows that lie far out cannot be
        found without them: `outliers` has no effect, and there is no `outliers_`.

        Parameters
        ----------
        moments : Moments
            Such as ``Moments.from_covariance(S, n, names)``.

        Raises
        ------
        InputError
            If parameters need rows: normal scores, or a lasso with ``alpha="cv"``.
        """
        check_parameters(self)
        if not isinstance(moments, Moments) or moments.has_bias:
            raise InputError(
                "moments is not what Moments.from_covariance returns. Call it, and give its result."
            )
        # the first one will do: a user mends one at a time
        for wanted, remedy in self._needs_rows().items():
            raise InputError(f"{wanted} needs rows, and moments have none. {remedy}")
        # of an earlier fit to rows
        for stale in ("outliers_", "feature_names_in_"):
            self.__dict__.pop(stale, None)
        self.n_features_in_ = moments.m
        if moments.names is not None:
            self.feature_names_in_ = np.array(moments.names, dtype=object)
        names = column_names(self)
        warn_about_moments(moments, names)
        return self.learn(moments, np.empty((0, moments.m)), names)

    def _needs_rows(self) -> dict[str, str]:
        """Parameters that moments alone cannot serve, and what to do about each."""
        asked = {}
        if self.column_transform != "none":
            asked[f"column_transform={self.column_transform!r}"] = (
                "Compute the covariance matrix of the normal scores."
            )
        if self.non_gaussian == "orient":
            asked["non_gaussian='orient'"] = "Leave it out."
        if self.weights == "lasso" and self.alpha == "cv":
            asked["alpha='cv'"] = "Give alpha a number."
        return asked

    def learn(self, moments: Moments, values: Array, names: list[str]) -> Self:
        """Search for a graph, take the member of its class that hubs decide, and fit weights."""
        n, m, is_equal = moments.n, moments.m, self.noise == "equal"
        self.gamma_ = default_gamma(n) if self.gamma is None else float(self.gamma)
        if is_equal:
            _warn_about_units(moments, names)
        most = most_parents(n, m, self.max_parents)
        knowledge = read_knowledge(self.forbidden, self.required, self.tiers, names, most)
        learned_from = moments
        if self.column_transform == "normal-scores":
            # n stays the number of rows that count, which may be less than their number
            learned_from = replace(moments_of(normal_scores(values), names), n=n)
        # x0, x1, ... say where a column stands, on which nothing may depend
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
        # equal variances decide every direction: no other member of the class is as good
        if not is_equal:
            arrows = arrows.hubs_first(problem.columns)
        if self.weights == "refit":
            B = least_squares(moments, moments.to_canonical(arrows.graph.astype(float)), names)
        else:
            B = lasso_along_order(
                self.alpha, self.cv, moments, values, names, arrows.graph, knowledge
            )
        self._store(moments, B, names, arrows)
        return self


def _warn_about_units(moments: Moments, names: list[str]) -> None:
    """Equal noise variances are a statement about units: warn where these were made equal."""
    small, large = int(np.argmin(moments.sd)), int(np.argmax(moments.sd))
    ratio = moments.sd[large] / moments.sd[small]
    if ratio < 1 + SD_TOLERANCE:
        warn(
            "all columns have the same standard deviation, as if they were standardised. "
            "noise='equal' needs the units of the measurements: here it would decide directions "
            "wrongly. Give the data as they were measured, or use noise='unequal'."
        )
    elif ratio > MAX_SD_RATIO:
        warn(
            f"the standard deviation of {names[large]!r} is {ratio:.0f} times that of "
            f"{names[small]!r}: noise='equal' supposes that the columns share a unit. Use "
            "noise='unequal' if they do not."
        )


def _decided_by_residuals(arrows: Arrows, moments: Moments, values: Array) -> Mask:
    """Arrows ``[i, j]`` that the class leaves open and non-Gaussian residuals decide."""
    columns = moments.columns  # by content: the bits of residuals depend on the order
    Z = (values[:, columns] - moments.mean[columns]) / moments.sd[columns]
    P = arrows.equivalence_class()[np.ix_(columns, columns)]
    return moments.to_user(decide_directions(Residuals(Z), P).T)
