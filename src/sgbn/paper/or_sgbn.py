r"""OR-SGBN: a sparse network whose acyclicity is kept by order variables (Section 4).

.. math:: \min_{\Theta, o, \Upsilon} \sum_i \|x_i - PA_i^T \theta_i\|^2
          + \lambda_1 \|\theta_i\|_1 + \lambda_{dag} \epsilon_i^T |\theta_i|
          \quad \text{s.t.} \quad o_j - o_i \ge \Delta/m - \Upsilon_{ij},\;
          \Upsilon \ge 0,\; 0 \le o \le \Delta

This is Eq. 4.2, solved by Algorithm 3; :math:`\epsilon_i` is column i of :math:`\Upsilon`. With
Delta = m and divided by 2n it becomes
:math:`\frac{1}{2n} RSS + \sum_{ij} (\alpha + \mu \Upsilon_{ij}) |\Theta_{ij}|`, in which
alpha = lambda_1 / 2n and mu = lambda_dag / 2n. Two steps alternate: the weights are solved for a
fixed order (`sgbn.learn.lasso`), and the order is solved for fixed weights
(`sgbn.paper.or_sgbn`). The other symbols are those of docs/conventions.md.

The order step: find the order variables of least cost for fixed weights.

.. math:: \min_{o \in \mathbb{Z}_{\ge 0}^m} \sum_{ij} |\Theta_{ij}| \max(0, 1 - (o_j - o_i))

is Eq. 4.2 of the paper for fixed Theta, with Delta = m and Upsilon eliminated. Its dual is a
circulation x of least cost: a flow on the edges that enters and leaves every node in equal amounts,
with 0 <= x_ij <= |Theta_ij|. An order o and a circulation x are both optimal if

- x_ij = |Theta_ij| on edges that the order violates (o_j - o_i < 1),
- x_ij = 0 on edges that span more than one level (o_j - o_i > 1),
- x_ij is anything in between on tight edges (o_j - o_i = 1).

The primal-dual method keeps these three conditions and balances the nodes. It pushes flow from
nodes with an excess along the tight edges. When no flow can move any further, it raises all nodes
that the remaining excess reaches (the source side of a minimum cut) by one level. This makes new
edges tight. The weights are rounded to whole steps, so that o and x stay integers.

Ties: if several orders are optimal, the method ends at the lowest one, with every node on the
lowest level that an optimum allows. Amounts of up to `TIE` steps count as zero, so that weights
that differ only by round-off count as equal. For example, two variables with
|theta_12| = |theta_21| stay on one level whatever the last bits are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sgbn.core.graph import levels_of_edges
from sgbn.core.jit import jit, jit_inside
from sgbn.core.moments import Moments
from sgbn.core.types import Array, Indices
from sgbn.core.validation import OneOf, allowed
from sgbn.learn.knowledge import Knowledge, TakesKnowledge
from sgbn.learn.lasso import SolverResult, column_objective, penalty_units, solve_column
from sgbn.paper.penalised import (
    Learned,
    PenalizedEstimator,
    initial_weights,
    penalty_path,
    strongest_penalty,
)


@jit_inside
def _prices(A, mu, o, units, j, w):  # type: ignore[no-untyped-def]
    """Fill ``w[k]`` with the price of k -> j, which is A_jk + mu Upsilon_kj, in solver units.

    A variable without an order variable is the bias, which breaks no order.
    """
    for k in range(w.size):
        # Upsilon_kj is the amount by which o_j - o_k is below 1, the smallest step of integers.
        gap = 1 - (o[j] - o[k]) if k < o.size else 0
        w[k] = (A[j, k] + mu * max(gap, 0)) * units[j] * units[k]


@jit_inside
def _still_optimal(b, w, w_old):  # type: ignore[no-untyped-def]
    """Return whether `b`, optimal for the prices `w_old`, must be optimal for the prices `w`.

    This holds if the prices of all edges in `b` are the same, and no other price has fallen.
    """
    for k in range(b.size):
        if w[k] < w_old[k] or (b[k] != 0.0 and w[k] != w_old[k]):
            return False
    return True


@jit
def _lasso_step(R, A, mu, o, mu_old, o_old, units, B, fresh):  # type: ignore[no-untyped-def]
    """Solve the rows of `B` in place for the order `o` and the penalty `mu`.

    Unless `fresh`, `B` is optimal for `o_old` and `mu_old`, and rows that must stay optimal are
    skipped. Return the objective and the worst KKT violation.
    """
    m, p = B.shape
    w = np.empty(p)
    w_old = np.empty(p)
    total = 0.0
    worst = 0.0
    for j in range(m):
        _prices(A, mu, o, units, j, w)
        _prices(A, mu_old, o_old, units, j, w_old)
        # The prices of most columns do not change from one order to the next.
        if fresh or not _still_optimal(B[j], w, w_old):
            _, violation = solve_column(R, j, w, B[j])
            worst = max(worst, violation)
        # Solver units differ by column: the terms are added up in the units of the penalty.
        total += column_objective(R, j, w, B[j]) / units[j] ** 2
    return total, worst


def _edges(B: Array, units: Array) -> tuple[Indices, Indices, Array]:
    """Return the tails, the heads and the absolute weights in the units of the penalty."""
    heads, tails = np.nonzero(B[:, : len(B)])
    return tails, heads, np.abs(B[heads, tails]) * units[tails] / units[heads]


class _Alternation:
    """The alternation of weights and order. It keeps its state from one penalty to the next.

    Parameters
    ----------
    R : ndarray of shape (p, p)
        Gram matrix with a unit diagonal.
    units : ndarray of shape (p,)
        Result of `penalty_units`.
    A : ndarray of shape (m, p)
        ``A[j, k]`` is the price of k -> j if the edge does not break the order.
    required : ndarray of shape (r, 2)
        Pairs (j, k) for the r required edges k -> j.
    B : ndarray of shape (m, p)
        Weights to start from; changed in place.
    fresh : bool
        Whether the first step has to solve all rows, because `B` is not the optimum for mu = 0.
    """

    def __init__(
        self, R: Array, units: Array, A: Array, required: Indices, B: Array, fresh: bool
    ) -> None:
        self.R, self.units, self.A, self.required = R, units, A, required
        self.B, self.fresh = B, fresh
        # The penalty and the order for which B is optimal; mu = 0 is the lasso without an order.
        self.solved_for = (0.0, np.zeros(len(B), np.int64))
        self.order = self._solve_order()
        self.steps: list[tuple[float, float]] = []
        self.violation = 0.0

    def converge(self, mu: float, max_iter: int) -> bool:
        """Alternate at one penalty until the order stays the same; return whether it did."""
        for _ in range(max_iter):
            value, violation = _lasso_step(
                self.R, self.A, mu, self.order, *self.solved_for, self.units, self.B, self.fresh
            )
            self.fresh, self.solved_for = False, (mu, self.order)
            self.steps.append((mu, value))
            self.violation = max(self.violation, violation)
            before, self.order = self.order, self._solve_order()
            if np.array_equal(before, self.order):
                return True
        return False

    def _solve_order(self) -> NDArray[np.int64]:
        """Return the best order for the current weights; store their edges."""
        self.edges = tails, heads, weights = _edges(self.B, self.units)
        if self.required.size:
            # One required edge weighs more than all learned edges together, so that the best order
            # never breaks one.
            decisive = np.full(len(self.required), 1.0 + 2.0 * weights.sum())
            tails = np.concatenate([tails, self.required[:, 1]])
            heads = np.concatenate([heads, self.required[:, 0]])
            weights = np.concatenate([weights, decisive])
        return solve_order(tails, heads, weights, len(self.B)).x

    def is_dag(self) -> bool:
        """Return whether no edge breaks the order; then a stronger penalty changes nothing."""
        tails, heads, _ = self.edges
        return bool(np.all(self.order[heads] > self.order[tails]))


@dataclass(eq=False, repr=False, kw_only=True)
class ORSGBN(PenalizedEstimator, TakesKnowledge):
    r"""Sparse Gaussian Bayesian network by order variables (OR-SGBN).

    It minimises, over the weights and over orders that no edge may break,

    .. math:: \sum_j \frac{1}{2n} \|x_j - \theta_{0j} - X \theta_j\|^2 + \alpha \|\theta_j\|_1

    It alternates between a lasso for a given order and the best order for given weights. The result
    is always a DAG. It does not depend on the order of the columns and, with `standardize`, it does
    not depend on their units. Paper: Section 4, Algorithm 3.

    Parameters
    ----------
    alpha : float or {"bic", "ebic", "cv_error", "cv_likelihood"}, default=0.1
        Sparsity, as in scikit-learn's `Lasso`; the paper's lambda_1 is 2 n alpha. A text names the
        criterion that chooses alpha from `alphas`: BIC or EBIC of the refitted network,
        cross-validated prediction error, or cross-validated likelihood.
    path : {"homotopy", "literal"}, default="homotopy"
        "homotopy" raises the penalty for breaking the order step by step, and alternates within
        each step, as the text of the paper describes. It stops as soon as the network is a DAG,
        because a stronger penalty would then change nothing. "literal" is Algorithm 3 as printed:
        the order is fixed while the penalty rises, so that only the strongest penalty has an
        effect.
    init : {"lasso", "ols", "l1mb"}, default="lasso"
        Weights from which the first order is computed: a lasso at `alpha`, least squares of each
        variable on all others, or the first stage of L1MB. For each variable, the first stage of
        L1MB takes the lasso support with the best BIC, and refits its weights. The paper names all
        three.
    standardize : bool, default=True
        Whether to divide columns by their standard deviation (ddof=0) before learning. Use False
        for raw scales, or for groups that were standardised together.
    penalize_intercept : bool, default=False
        Whether the L1 norm includes the intercept, which is the literal reading of the paper's
        bias node. It needs ``standardize=False``.
    refit : bool, default=False
        Whether to replace the weights of the lasso by least squares on the chosen parents.
    forbidden, required, tiers : optional
        Prior knowledge, as in `SGBN`. Required edges are not penalised.
    alphas : array-like, optional
        Values of alpha that a criterion chooses from; by default 20 values from `alpha_max`
        downwards.
    cv : int or splitter, default=5
        Folds for the cross-validated criteria.
    max_iter : int, default=100
        The largest number of alternations at one penalty; 2 or 3 are usual.
    n_jobs : int, optional
        Number of processes for the choice of alpha. The result does not depend on it.

    Attributes
    ----------
    coef_ : ndarray of shape (m, m)
        ``coef_[i, j]`` is the weight of i -> j in the units of the data.
    coef_std_ : ndarray of shape (m, m)
        The same weights per standard deviation.
    intercept_, noise_variance_ : ndarray of shape (m,)
        Intercepts and noise variances in the units of the data. A variance is the residual sum of
        squares divided by n - k, where k counts the parents and the intercept.
    order_ : ndarray of shape (m,)
        Order variables in whole numbers: ``order_[j] > order_[i]`` for every edge i -> j.
        `sgbn.certifies_dag` checks them.
    cpdag_, edge_kinds_
        What decides the directions, as in `SGBN`.
    network_ : GaussianNetwork
        The learned network.
    alpha_ : float
        The alpha used. With a criterion there are also `alphas_` (the values it chose from) and
        `criterion_path_` (the criterion at each; smaller is better).
    n_iter_ : int
        Number of lasso steps, over all penalties.
    objective_path_ : ndarray of records (penalty, objective)
        The penalty of each lasso step (divided by 2n), and the objective after it (Eq. 4.2 divided
        by 2n). At the same penalty the objective never rises.
    n_features_in_, feature_names_in_
        As in all estimators of scikit-learn.

    Notes
    -----
    If several orders are equally good, each variable takes the lowest level that an optimal order
    allows. Variables on the same level are not joined. So a sample of only two variables gives an
    empty network: their weights are equal in both directions, and the data do not say which
    variable comes first.

    Examples
    --------
    >>> import numpy as np
    >>> from sgbn.paper.or_sgbn import ORSGBN
    >>> rng = np.random.default_rng(0)
    >>> a = rng.standard_normal((500, 3))
    >>> a[:, 2] += a[:, 0] + a[:, 1]
    >>> learner = ORSGBN(alpha=0.1).fit(a)
    >>> learner.network_
    GaussianNetwork(3 variables, 2 edges)
    >>> learner.order_[[0, 1]].tolist()  # x0 and x1 are not joined: they share a level
    [1, 1]
    """

    path: str = allowed("homotopy", OneOf("homotopy", "literal"))

    def learn(self, moments: Moments, values: Array, names: list[str]) -> Self:
        """Read the prior knowledge, and learn as `PenalizedEstimator` does."""
        self._knowledge: Knowledge = self._read_knowledge(names)
        return super().learn(moments, values, names)

    def learn_weights(self, moments: Moments, alpha: float) -> Learned:
        """Learn weights and order in turn, with a rising penalty for edges that break the order."""
        units = penalty_units(moments, self.standardize)
        allowed, required = self._knowledge.rows(moments)
        A = np.full((moments.m, len(moments.R)), alpha)
        strongest = strongest_penalty(units, alpha)
        # A price that no forbidden edge is worth in any order. It is finite, so that all steps of
        # the lasso are finite as well.
        A[:, : moments.m][~allowed] = alpha + 2.0 * strongest
        A[:, : moments.m][required] = 0.0
        start = initial_weights(self.init, moments, units, A)
        # Least squares and L1MB do not use the prices: their forbidden weights are removed here.
        start.x[:, : moments.m][~allowed] = 0.0
        # Only the lasso starts at the optimum for mu = 0, so that the first step can skip columns.
        is_lasso = self.init == "lasso" and start.converged
        state = _Alternation(
            moments.R, units, A, np.argwhere(required), start.x, fresh=not is_lasso
        )
        converged = True
        # These penalties for breaking the order are used one after the other.
        for mu in [strongest] if self.path == "literal" else penalty_path(strongest):
            converged = state.converge(mu, self.max_iter)
            if state.is_dag():
                break
        return Learned(state.B, len(state.steps), state.steps, state.violation, converged)


RESOLUTION = 2.0**40  # steps of the largest weight; int64 holds the sum of 2^22 such weights
MAX_RISES_PER_NODE = 2  # an optimal order has at most m levels; more rises are round-off
TIE = 64  # steps: 6e-11 of the largest weight, above round-off and below any weight of interest


@jit
def _tight_network(tails, heads, w, x, o):  # type: ignore[no-untyped-def]
    """Return the residual network of the tight edges, with two arcs per edge.

    The result is ``first, to, twin, capacity, forward``. The arcs that leave node u are
    ``first[u]`` to ``first[u + 1] - 1``. Arc a leads to node ``to[a]`` and can carry
    ``capacity[a]`` more steps. ``twin[a]`` is the arc of the same edge in the other direction.
    ``forward[e]`` is the arc of edge e, or -1 if the edge is not tight.
    """
    m = o.size
    first = np.zeros(m + 1, np.int64)
    for e in range(w.size):
        if o[heads[e]] - o[tails[e]] == 1:
            first[tails[e] + 1] += 1
            first[heads[e] + 1] += 1
    for u in range(m):
        first[u + 1] += first[u]
    to = np.empty(first[m], np.int64)
    twin = np.empty(first[m], np.int64)
    capacity = np.empty(first[m], np.int64)
    forward = np.empty(w.size, np.int64)
    place = first[:-1].copy()
    for e in range(w.size):
        i, j = tails[e], heads[e]
        forward[e] = -1
        if o[j] - o[i] == 1:
            a, b = place[i], place[j]
            place[i] += 1
            place[j] += 1
            to[a], capacity[a], twin[a] = j, w[e] - x[e], b
            to[b], capacity[b], twin[b] = i, x[e], a
            forward[e] = a
    return first, to, twin, capacity, forward


@jit
def _distances_to_deficit(first, to, twin, capacity, excess):  # type: ignore[no-untyped-def]
    """Return the number of arcs from each node to the nearest deficit, or m if there is no path.

    Paths use only arcs with capacity left.
    """
    # A breadth-first search from all deficits at once, against the direction of the arcs.
    m = excess.size
    distance = np.empty(m, np.int64)
    queue = np.empty(m, np.int64)
    tail = 0
    for v in range(m):
        distance[v] = m
        if excess[v] < 0:
            distance[v] = 0
            queue[tail] = v
            tail += 1
    head = 0
    while head < tail:
        v = queue[head]
        head += 1
        for b in range(first[v], first[v + 1]):
            u = to[b]
            if distance[u] == m and capacity[twin[b]] > TIE:
                distance[u] = distance[v] + 1
                queue[tail] = u
                tail += 1
    return distance


@jit_inside
def _push(twin, capacity, excess, path, source, sink):  # type: ignore[no-untyped-def]
    """Push as much as the path can carry, and return the position of its first full arc.

    The path up to this arc still has capacity, so that the search can continue from there.
    """
    amount = min(excess[source], -excess[sink])
    for a in path:
        amount = min(amount, capacity[a])
    full = path.size
    for i in range(path.size - 1, -1, -1):
        capacity[path[i]] -= amount
        capacity[twin[path[i]]] += amount
        if capacity[path[i]] <= TIE:
            full = i
    excess[source] -= amount
    excess[sink] += amount
    return full


@jit_inside
def _relabel(u, first, to, capacity, label, count):  # type: ignore[no-untyped-def]
    """Raise the label of u to one more than the lowest label that an arc with capacity reaches."""
    m = label.size
    old = label[u]
    lowest = m - 1
    for a in range(first[u], first[u + 1]):
        if capacity[a] > TIE:
            lowest = min(lowest, label[to[a]])
    label[u] = lowest + 1
    count[old] -= 1
    count[label[u]] += 1
    # Labels along a path fall by at most one. So if no node has the old label any more, no path
    # leads from the nodes with higher labels to a deficit (the gap heuristic).
    if count[old] == 0:
        for v in range(m):
            if old < label[v] < m:
                count[label[v]] -= 1
                label[v] = m


@jit
def _push_to_deficits(first, to, twin, capacity, excess):  # type: ignore[no-untyped-def]
    """Push the maximum flow from excesses to deficits, in place, by shortest augmenting paths.

    Labels are lower bounds of the distance to a deficit. A path follows labels that fall by one. If
    it cannot leave a node this way, the node is relabelled.
    """
    m = excess.size
    label = _distances_to_deficit(first, to, twin, capacity, excess)
    count = np.zeros(m + 1, np.int64)
    for u in range(m):
        count[label[u]] += 1
    pointer = first[:-1].copy()  # arcs before it cannot be used until the node is relabelled
    path = np.empty(m, np.int64)
    nodes = np.empty(m + 1, np.int64)
    for source in range(m):
        nodes[0] = source
        length = 0
        while excess[source] > TIE and label[source] < m:
            u = nodes[length]
            if excess[u] < 0:
                length = _push(twin, capacity, excess, path[:length], source, u)
                continue
            a = pointer[u]
            while a < first[u + 1] and not (label[to[a]] == label[u] - 1 and capacity[a] > TIE):
                a += 1
            pointer[u] = a
            if a < first[u + 1]:
                path[length] = a
                length += 1
                nodes[length] = to[a]
            else:
                _relabel(u, first, to, capacity, label, count)
                pointer[u] = first[u]
                length = max(length - 1, 0)  # go back by one arc


@jit
def _reached_by_excess(first, to, capacity, excess):  # type: ignore[no-untyped-def]
    """Return a mask of the nodes that an excess reaches: the source side of a minimum cut."""
    reached = excess > TIE
    stack = np.empty(excess.size, np.int64)
    size = 0
    for u in range(excess.size):
        if reached[u]:
            stack[size] = u
            size += 1
    while size > 0:
        size -= 1
        u = stack[size]
        for a in range(first[u], first[u + 1]):
            if capacity[a] > TIE and not reached[to[a]]:
                reached[to[a]] = True
                stack[size] = to[a]
                size += 1
    return reached


@jit_inside
def _raise_nodes(tails, heads, w, x, o, excess, reached):  # type: ignore[no-untyped-def]
    """Raise the reached nodes by one level, in place."""
    # Edges that are no longer tight must be full or empty, to keep the conditions of optimality.
    # Their flow changes by at most TIE, and the excess of their ends balances the change.
    for e in range(x.size):
        i, j = tails[e], heads[e]
        if o[j] - o[i] == 1 and reached[i] != reached[j]:
            left = (w[e] if reached[i] else 0) - x[e]
            x[e] += left
            excess[i] -= left
            excess[j] += left
    for u in range(o.size):
        o[u] += reached[u]


@jit
def _primal_dual(tails, heads, w, o):  # type: ignore[no-untyped-def]
    """Raise `o` in place from zero to the lowest optimal order, and return the number of rises."""
    m = o.size
    x = w.copy()  # with o = 0 the order violates every edge, so that every edge is full
    excess = np.zeros(m, np.int64)
    for e in range(w.size):
        excess[heads[e]] += w[e]
        excess[tails[e]] -= w[e]
    n_rises = 0
    while True:
        first, to, twin, capacity, forward = _tight_network(tails, heads, w, x, o)
        _push_to_deficits(first, to, twin, capacity, excess)
        for e in range(w.size):
            if forward[e] >= 0:
                x[e] = w[e] - capacity[forward[e]]
        reached = _reached_by_excess(first, to, capacity, excess)
        if not np.any(reached) or n_rises == MAX_RISES_PER_NODE * m:
            return n_rises
        _raise_nodes(tails, heads, w, x, o, excess, reached)
        n_rises += 1


def solve_order(tails: Indices, heads: Indices, weights: Array, m: int) -> SolverResult:
    """Return the order variables of least cost. If several are optimal, return the lowest.

    Paper: Eq. 4.2 for fixed Theta.

    Parameters
    ----------
    tails, heads : ndarray of shape (n_edges,)
        Edges i -> j of the graph, which may have cycles.
    weights : ndarray of shape (n_edges,)
        |Theta_ij| > 0: the cost per level by which o_j is below o_i + 1.
    m : int
        Number of nodes.

    Returns
    -------
    SolverResult
        `x` is the order, in integers from 0. `n_iter` is the number of rises. `violation` is always
        0. `converged` is False if the limit of rises was reached.
    """
    o = np.zeros(m, np.int64)
    if weights.size == 0:
        return SolverResult(o, 0, 0.0, True)
    tails, heads = np.ascontiguousarray(tails), np.ascontiguousarray(heads)
    lowest = levels_of_edges(tails, heads, m)
    if np.all(lowest >= 0):  # the graph is a DAG, so that an order of cost 0 exists
        return SolverResult(lowest, 0, 0.0, True)
    whole = np.rint(weights * (RESOLUTION / weights.max())).astype(np.int64)
    count = whole > TIE
    n_rises = _primal_dual(tails[count], heads[count], whole[count], o)
    return SolverResult(o, n_rises, 0.0, n_rises < MAX_RISES_PER_NODE * m)


def order_cost(tails: Indices, heads: Indices, weights: Array, o: NDArray[np.int64]) -> float:
    """Return the objective of the order step: sum of |Theta_ij| max(0, 1 - (o_j - o_i))."""
    return float(weights @ np.maximum(0, 1 - (o[heads] - o[tails])))
