r"""A graphical lasso by ADMM with a cross-validated penalty: a peer whose search converges.

.. math:: \min_P -\log\det P + tr(S P) + \alpha \sum_{i \ne j} |P_{ij}|

Here S is the covariance and P the precision matrix. On correlated regions, the search of
`sklearn.covariance.GraphicalLassoCV` for alpha does not converge, and ends at an alpha that is too
large. At the alpha found here, scikit-learn's `GraphicalLasso` gives the same likelihood. The steps
are those of Boyd et al. (2011, section 6.5), with their residual balancing.
"""

import numpy as np
from sklearn.covariance import EmpiricalCovariance
from sklearn.model_selection import KFold

MAX_ITER = 2000
TOL = 1e-5  # limit of the primal and the dual residual: root mean square of the entries
# Alphas decrease, so that each solution starts from a sparser one nearby.
ALPHAS = np.geomspace(0.6, 0.01, 14)
FOLDS = 5


def graphical_lasso(S, alpha, start=None):
    """Return the precision matrix for the covariance S. The default start is the identity."""
    m = len(S)
    P = np.eye(m) if start is None else start
    U = np.zeros((m, m))
    price = np.full((m, m), alpha)
    np.fill_diagonal(price, 0.0)  # variances are not penalised
    rho = 1.0
    for _ in range(MAX_ITER):
        values, vectors = np.linalg.eigh(rho * (P - U) - S)
        # The larger root of rho p^2 - value p - 1 = 0 is positive, so that the matrix stays
        # positive definite.
        roots = (values + np.sqrt(values**2 + 4 * rho)) / (2 * rho)
        dense = (vectors * roots) @ vectors.T
        before, both = P, dense + U
        P = np.sign(both) * np.maximum(np.abs(both) - price / rho, 0.0)
        U = both - P
        primal, dual = np.linalg.norm(dense - P), rho * np.linalg.norm(P - before)
        if max(primal, dual) <= TOL * m:
            break
        # If one residual is much larger than the other, the step is too short or too long.
        if not 0.1 <= primal / max(dual, 1e-300) <= 10:
            factor = 2.0 if primal > dual else 0.5
            # U is the multiplier divided by rho, and must be rescaled with it.
            rho, U = rho * factor, U / factor
    return P


def kkt_violation(S, alpha, P):
    """Return the largest violation of the optimality conditions, in the units of alpha."""
    gradient = S - np.linalg.inv(P)
    off = ~np.eye(len(S), dtype=bool)
    used = np.abs(gradient + alpha * np.sign(P))[off & (P != 0)].max(initial=0.0)
    unused = (np.abs(gradient) - alpha)[off & (P == 0)].max(initial=0.0)
    return float(max(used, unused, np.abs(np.diag(gradient)).max()))


class ConvergedGraphicalLassoCV(EmpiricalCovariance):
    """A graphical lasso whose alpha has the largest likelihood in held-out rows."""

    def fit(self, X, y=None):  # noqa: ARG002
        """Choose alpha by cross-validation, and fit all rows."""
        score = np.zeros(len(ALPHAS))
        for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(X):
            # Test rows are centred by the mean of the training part.
            rest = X[test] - X[train].mean(axis=0)
            for k, (_, P) in enumerate(_path(np.cov(X[train].T, bias=True))):
                trace = np.einsum("ij,jk,ik->", rest, P, rest) / len(rest)
                score[k] += np.linalg.slogdet(P)[1] - trace
        # bias=True, because the likelihood divides by n, not by n - 1.
        S = np.cov(X.T, bias=True)
        # The whole path is computed, so that the chosen alpha starts from its neighbour.
        self.alpha_, self.precision_ = list(_path(S))[int(np.argmax(score))]
        self.violation_ = kkt_violation(S, self.alpha_, self.precision_)
        self.location_ = X.mean(axis=0)
        self.covariance_ = np.linalg.inv(self.precision_)
        return self


def _path(S):
    P = None
    for alpha in ALPHAS:
        P = graphical_lasso(S, alpha, P)
        yield alpha, P
