"""Variants of the lasso along an order, as covariance matrices, which `representation.py` compares.

All work on standardised rows.

- "common": all variables have the same alpha, with the smallest sum of log held-out errors.
- "held-out": noise variances are the held-out errors at this alpha, instead of RSS / (n - k).
- "shrunken": correlations are first shrunken towards their mean, by the intensity of Schaefer and
  Strimmer (2005).
- "averaged": the mean of the covariances along ten orders, which are the searched order, its
  reverse, and eight random orders.
"""

import numpy as np
from sklearn.model_selection import KFold

from sgbn.learn.lasso import alpha_grid, lasso_gram
from sgbn.learn.sgbn import SGBN

FOLDS = 5
RANDOM_ORDERS = 8
FORBIDDING = 2.0  # price that forbids an edge, as in sgbn.learn.sgbn


def shrunken(Z):
    """Return the correlations, shrunken towards their mean."""
    n, m = Z.shape
    R = Z.T @ Z / n
    # The mean of the entries off the diagonal. The diagonal has m ones.
    target = np.full((m, m), (R.sum() - m) / (m * (m - 1)))
    np.fill_diagonal(target, 1.0)
    # This is Schaefer and Strimmer's ratio: (1 - r^2)^2 / n is the variance of a correlation.
    intensity = np.square(1 - R**2).sum() / n / np.square(R - target).sum()
    return R + min(1.0, intensity) * (target - R)


def plain(Z):
    return Z.T @ Z / len(Z)


def searched_order(Z):
    """Return an order of the variables that agrees with the network that SGBN learns."""
    # `order_` has the place of each variable: argsort lists the variables by place.
    return np.argsort(SGBN(weights="lasso").fit(Z).order_, kind="stable")


def rows(R, order, alpha, start=None):
    """Return the weights of the lasso along an order, with one row per variable."""
    place = np.argsort(order)
    # Variables after a variable are so expensive that they cannot become its parents.
    price = np.where(place[None, :] < place[:, None], alpha, FORBIDDING)
    return lasso_gram(np.ascontiguousarray(R), price, start=start).x


def held_out_errors(Z, order, alphas, correlations):
    """Return the mean squared errors in held-out rows, of shape (alphas, variables)."""
    errors = np.zeros((len(alphas), Z.shape[1]))
    for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(Z):
        # Rows are standardised by the training part, so that test rows are not used.
        mean, sd = Z[train].mean(axis=0), Z[train].std(axis=0)
        R = correlations((Z[train] - mean) / sd)
        rest = (Z[test] - mean) / sd
        B = None
        for k, alpha in enumerate(alphas):
            B = rows(R, order, alpha, B)
            # Multiplying by sd gives the errors of all folds in the units of Z.
            errors[k] += np.square((rest - rest @ B.T) * sd).sum(axis=0)
    return errors / len(Z)


def along(Z, order, correlations=plain, held_out=True):
    """Return the covariance of the lasso along an order with a common alpha."""
    alphas = alpha_grid(Z)
    errors = held_out_errors(Z, order, alphas, correlations)
    # The sum of logarithms is the likelihood of independent residuals, up to constants.
    best = int(np.argmin(np.log(errors).sum(axis=1)))
    B = rows(correlations(Z), order, alphas[best])
    n_parents = np.count_nonzero(B, axis=1)
    rss = np.square(Z - Z @ B.T).sum(axis=0)
    # The divisor is at least 1, even if a variable has as many parents as there are rows.
    noise = errors[best] if held_out else rss / np.maximum(len(Z) - n_parents - 1, 1)
    paths = np.linalg.inv(np.eye(len(B)) - B)
    return (paths * noise) @ paths.T


def averaged(Z, order, correlations=plain):
    rng = np.random.default_rng(0)
    random_orders = [rng.permutation(len(order)) for _ in range(RANDOM_ORDERS)]
    return np.mean(
        [along(Z, o, correlations) for o in (order, order[::-1], *random_orders)], axis=0
    )


VARIANTS = {
    "common": lambda Z, order: along(Z, order, held_out=False),
    "common, held-out": along,
    "common, held-out, shrunken": lambda Z, order: along(Z, order, shrunken),
    "common, held-out, averaged": averaged,
    "common, held-out, shrunken, averaged": lambda Z, order: averaged(Z, order, shrunken),
}
