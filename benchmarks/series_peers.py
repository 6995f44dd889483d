"""Other methods to compare groups with time series: correlation matrices and stacked rows.

Each method returns the pairs of regions that it finds, as a symmetric matrix of bool. Correlations
are those of the unfiltered series, as in most studies. Covariates are held fixed as in
`series_differences`.
"""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import stdtr
from scipy.stats import false_discovery_control

from sgbn.cohort.rows import rows_of_groups
from sgbn.inference.differences import edge_differences
from sgbn.inference.series_differences import AdjustedMeans

NBS_T = 3.0  # threshold: pairs with a larger |t| form components
LEVEL = 0.05


def correlations(cohort):
    """Return Fisher's z of the correlations of each subject, of shape (S, m, m)."""
    return np.arctanh(_off_diagonal([np.corrcoef(x.T) for x in cohort.series]))


def partial_correlations(cohort):
    """Return Fisher's z of each subject's correlations given all other regions."""
    precisions = np.array([np.linalg.inv(np.corrcoef(x.T)) for x in cohort.series])
    sd = np.sqrt(np.einsum("sii->si", precisions))
    return np.arctanh(_off_diagonal(-precisions / (sd[:, :, None] * sd[:, None])))


def _off_diagonal(matrices):
    off = np.array(matrices)
    # arctanh of the ones on the diagonal would be infinite.
    off[:, np.eye(off.shape[1], dtype=bool)] = 0.0
    return off


def false_discoveries(matrices, cohort, covariates):
    """Return the pairs that t tests find with Benjamini and Hochberg's method at 5 %."""
    values, pairs, means = _columns(matrices, cohort, covariates)
    t = means.estimates(values).statistic((0, 1))
    # Each column of the design takes one degree of freedom.
    p = 2 * stdtr(len(values) - means.full.rank, -np.abs(t))
    return _symmetric(pairs, false_discovery_control(p) <= LEVEL, matrices.shape[1])


def network_based_statistic(matrices, cohort, covariates, n_permutations, rng):
    """Return the pairs in components that are larger than by chance (Zalesky et al., 2010)."""
    values, pairs, means = _columns(matrices, cohort, covariates)
    m, exchange = matrices.shape[1], means.design.exchange()
    labels, sizes = components(means.estimates(values).statistic((0, 1)), pairs, m)
    refit = means.permuted(values, (0, 1))
    largest = np.array(
        [
            components(refit(exchange.draw(rng)).statistic((0, 1)), pairs, m)[1].max(initial=0)
            for _ in range(n_permutations)
        ]
    )
    # The cohort itself counts as one of the permutations.
    p = (1 + (largest >= sizes[:, None]).sum(axis=1)) / (1 + n_permutations)
    return _symmetric(pairs, np.isin(labels, np.flatnonzero(p <= LEVEL)), m)


def components(t, pairs, m):
    """Return the component of each pair, or -1 below the threshold, and the components' sizes."""
    beyond = np.abs(t) > NBS_T
    i, j = pairs[:, beyond]
    _, of_region = connected_components(coo_array((np.ones(len(i)), (i, j)), shape=(m, m)), False)
    labels = np.full(len(t), -1)
    if len(i):
        labels[beyond] = np.unique(of_region[i], return_inverse=True)[1]
    return labels, np.bincount(labels[beyond])


def stacked_rows(cohort, n_permutations):
    """Return the pairs that `edge_differences` finds if each volume counts as a subject."""
    # Rows are standardised in each subject: different levels would look like edges.
    rows = np.concatenate([(x - x.mean(axis=0)) / x.std(axis=0) for x in cohort.series])
    groups = np.repeat(cohort.group, cohort.n_volumes)
    tests = edge_differences(rows, groups, outliers="keep", n_permutations=n_permutations)
    return pairs_of(ends_of(tests.significant(LEVEL, by="p_fwer")), tests.regions)


def ends_of(edges):
    """Return source and target of each edge of a table."""
    return edges[["source", "target"]].tolist()


def pairs_of(edges, regions):
    """Return a matrix of pairs, given the names of their regions."""
    place = {name: k for k, name in enumerate(regions)}
    at = np.array([[place[name] for name in edge] for edge in edges], int).reshape(-1, 2)
    return _symmetric(at.T, np.full(len(at), True), len(regions))


def _columns(matrices, cohort, covariates):
    """Return one column per pair, its regions, and the design."""
    pairs = np.array(np.triu_indices(matrices.shape[1], 1))
    data = rows_of_groups(cohort.values, cohort.group, covariates)
    values = matrices[data.places]  # in the order of the rows of the design
    return values[:, pairs[0], pairs[1]], pairs, AdjustedMeans.of(data.design)


def _symmetric(pairs, is_find, m):
    matrix = np.zeros((m, m), bool)
    i, j = pairs[:, is_find]
    matrix[i, j] = matrix[j, i] = True
    return matrix
