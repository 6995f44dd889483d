"""Other methods that find differences between groups, with which the tests are compared.

Correlations r1 and r2 of two groups of n1 and n2 subjects, with k regions held fixed, are compared
by Fisher's z,

    ``z = (atanh r2 - atanh r1) / sqrt(1 / (n1 - k - 3) + 1 / (n2 - k - 3))``

The debiased precision is that of Jankova and van de Geer (2017). A lasso of each region on all
others gives the matrix Theta. With the covariance matrix S of n rows, the estimate is

    ``T = Theta + Theta' - Theta' S Theta``, with variance ``(Theta_ii Theta_jj + Theta_ij^2) / n``.

DCI (package causaldag) and NBS (package bctpy) are run if their packages are installed.
"""

import contextlib
import io
import warnings
from typing import NamedTuple

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import ndtr
from scipy.stats import false_discovery_control
from sklearn.linear_model import Lasso

from sgbn.learn.sgbn import SGBN

from .cohorts import draw
from .score import EQUAL, LEVEL, N_PERMUTATIONS, against_truth, quiet

FISHER_LOSS = 3  # the variance of Fisher's z is 1 / (n - 3)
NBS_Z = 3.0  # threshold: pairs with a larger |z| form components
LASSO_MAX_ITER = 5000
# Multiple of sqrt(log m / n). Of 1, 0.5 and 0.25, it had the best recall at n = 200 on other seeds.
PENALTY = 0.5


class Found(NamedTuple):
    """The edges that a method finds. `equal` marks pairs that are equal in the population."""

    edges: np.ndarray
    equal: np.ndarray | None = None


def naive(pair):
    """Return the pairs in only one of two networks, or in both with opposite signs."""
    signs = []
    for rows in pair.rows:
        coef = SGBN(n_kicks=0).fit(rows).coef_
        # A DAG has at most one weight per pair, and the sum is this weight.
        signs.append(np.sign(coef + coef.T))
    return Found(signs[0] != signs[1])


def correlation(pair):
    """Return the differences of correlations at a false discovery rate of 5 %."""
    return Found(_discoveries(_z_of(*pair.rows)), _equal_correlations(pair))


def partial_correlation(pair):
    """Return the differences of partial correlations, or None if there are too few rows."""
    m = pair.values.shape[1]
    # Each region that is held fixed costs one row.
    sizes = [n - (m - 2) for n in _sizes(pair)]
    if min(sizes) <= FISHER_LOSS:
        return None
    population = [_partial(network.covariance) for network in pair.networks]
    equal = np.abs(population[0] - population[1]) < EQUAL
    first, second = (_partial(np.cov(rows.T)) for rows in pair.rows)
    return Found(_discoveries(_fisher(first, second, *sizes)), equal)


def network_based_statistic(pair):
    """Return the pairs in components that are larger than in most permutations."""
    rng = np.random.default_rng(pair.seed)
    # Groups are centred before rows are exchanged: means are not part of the networks.
    first, second = (rows - rows.mean(axis=0) for rows in pair.rows)
    pooled = np.vstack([first, second])
    n = len(first)
    largest = [
        max(_components(_z_of(pooled[places[:n]], pooled[places[n:]]))[1], default=0)
        for places in (rng.permutation(len(pooled)) for _ in range(N_PERMUTATIONS))
    ]
    z = _z_of(first, second)
    labels, sizes = _components(z)
    # The cohort itself counts as one of the permutations.
    p = [(1 + np.sum(np.array(largest) >= size)) / (1 + N_PERMUTATIONS) for size in sizes]
    kept = (np.array(sizes) > 0) & (np.array(p) <= LEVEL)
    return Found((np.abs(z) > NBS_Z) & kept[labels][:, None], _equal_correlations(pair))


def nbs_of_bctpy(pair):
    """Return the finds of bctpy's NBS on the products of each subject's standardised regions."""
    import bct

    products = []
    for rows in pair.rows:
        z = (rows - rows.mean(axis=0)) / rows.std(axis=0)
        # NBS needs one matrix per subject. The mean of these products is a correlation.
        products.append(np.einsum("ni,nj->ijn", z, z))
    with contextlib.redirect_stdout(io.StringIO()):  # it reports every permutation
        try:
            p, labels, _ = bct.nbs.nbs_bct(
                *products, thresh=NBS_Z, k=N_PERMUTATIONS, seed=pair.seed
            )
        except bct.BCTParamError:  # no pair is beyond the threshold
            p, labels = np.ones(0), np.zeros(pair.changed.shape)
    kept = 1 + np.flatnonzero(p <= LEVEL)  # components are numbered from 1
    return Found(np.isin(labels, kept), _equal_correlations(pair))


def difference_causal_inference(pair):
    """Return the edges of the difference of two networks, by DCI at its defaults."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from causaldag import dci

        return Found(np.asarray(dci(*pair.rows)) != 0)


def debiased_precision(pair):
    """Return the differences of debiased precision matrices at a false discovery rate of 5 %."""
    sd = pair.values.std(axis=0)
    (first, v1), (second, v2) = (debiased(rows / sd) for rows in pair.rows)
    P = [np.linalg.inv(network.covariance) for network in pair.networks]
    return Found(_discoveries((second - first) / np.sqrt(v1 + v2)), np.abs(P[0] - P[1]) < EQUAL)


def debiased(rows):
    """Return the debiased precision matrix, and the variance of each entry."""
    n, m = rows.shape
    X, penalty = rows - rows.mean(axis=0), PENALTY * np.sqrt(np.log(m) / n)
    Theta = np.eye(m)
    for j in range(m):
        rest = np.arange(m) != j
        # The penalty is in units of the region's standard deviation.
        lasso = Lasso(penalty * X[:, j].std(), fit_intercept=False, max_iter=LASSO_MAX_ITER)
        lasso.fit(X[:, rest], X[:, j])
        tau2 = X[:, j] @ (X[:, j] - X[:, rest] @ lasso.coef_) / n
        Theta[rest, j] = -lasso.coef_
        Theta[:, j] /= tau2
    S = X.T @ X / n
    T = Theta + Theta.T - Theta.T @ S @ Theta
    return T, (np.outer(np.diag(Theta), np.diag(Theta)) + Theta**2) / n


PEERS = {
    "difference of two networks": naive,
    "correlations": correlation,
    "partial correlations": partial_correlation,
    "debiased precision": debiased_precision,
    "NBS on correlations": network_based_statistic,
    "NBS (bctpy)": nbs_of_bctpy,
    "DCI (causaldag)": difference_causal_inference,
}


def score_peers(design, cohort, seed):
    """Score all installed peers on one cohort."""
    return quiet(lambda: peer_figures(draw(design, cohort, seed)))


def peer_figures(pair):
    """Return the figures of each peer that is installed and has enough subjects."""
    scores = {}
    for name, peer in PEERS.items():
        try:
            finds = peer(pair)
        except ModuleNotFoundError:
            continue
        if finds is not None:
            scores[name] = figures_of(pair, finds)
    return scores


def figures_of(pair, finds):
    """Compare finds with the truth. Pairs that are equal in the population are false finds."""
    figures = against_truth(pair, finds.edges)
    # Most methods find pairs without a direction, which cannot be right or wrong.
    figures.pop("right_way", None)
    if finds.equal is not None:
        either = np.triu(finds.edges | finds.edges.T, 1)
        figures["false_share"] = (either & finds.equal).sum() / max(either.sum(), 1)
    return figures


def _sizes(pair):
    first, second = np.bincount(pair.codes).tolist()
    return first, second


def _fisher(first, second, n1, n2):
    """Return z of the difference of two correlation matrices, with 0 on the diagonal."""
    off = ~np.eye(len(first), dtype=bool)
    difference = np.arctanh(np.where(off, second, 0.0)) - np.arctanh(np.where(off, first, 0.0))
    return difference / np.sqrt(1 / (n1 - FISHER_LOSS) + 1 / (n2 - FISHER_LOSS))


def _z_of(first, second):
    return _fisher(np.corrcoef(first.T), np.corrcoef(second.T), len(first), len(second))


def _partial(S):
    P = np.linalg.inv(S)
    d = np.sqrt(np.diag(P))
    return -P / np.outer(d, d)


def _equal_correlations(pair):
    R = []
    for network in pair.networks:
        sd = np.sqrt(np.diag(network.covariance))
        R.append(network.covariance / np.outer(sd, sd))
    return np.abs(R[0] - R[1]) < EQUAL


def discoveries(z, tested):
    """Return the tested edges that the rule of Benjamini and Hochberg finds."""
    edges = np.zeros(z.shape, bool)
    if tested.any():
        edges[tested] = false_discovery_control(2 * ndtr(-np.abs(z[tested]))) <= LEVEL
    return edges


def _discoveries(z):
    """Return the pairs that are found if each is tested once."""
    return discoveries(z, np.triu(np.ones(z.shape, bool), 1))


def _components(z):
    """Return the component of each region, and the number of pairs in each component."""
    i, j = np.nonzero(np.triu(np.abs(z) > NBS_Z, 1))
    graph = coo_array((np.ones(len(i)), (i, j)), shape=z.shape)
    n, labels = connected_components(graph, directed=False)
    return labels, np.bincount(labels[i], minlength=n).tolist()
