r"""What discriminative learning minimises: functions of the parameters of all classes.

Each objective maps the parameters Theta_c (m + 1, m), one array a class with the biases in the last
row, to its value and its gradients in them. Log-likelihoods up to a constant are

.. math:: L_c(x) = -\sum_j \frac{(x_j - \tilde x^T \theta_{cj})^2}{2 \sigma_{cj}^2}
          - \sum_j \log \sigma_{cj} + \log \pi_c
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from sgbn.discriminative.moves import with_bias
from sgbn.solvers.max_margin import max_margin, smoothed_max_margin
from sgbn.solvers.svm import L2SVM, l2_svm, total_scatter

Array = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Sample:
    """Rows, their classes, and what is fixed of the networks.

    Attributes
    ----------
    values : ndarray of shape (n, m)
    codes : ndarray of shape (n,)
        Class of each row, numbered from 0.
    variances : ndarray of shape (classes, m)
    log_priors : ndarray of shape (classes,)
    """

    values: Array
    codes: Codes
    variances: Array
    log_priors: Array

    @cached_property
    def biased(self) -> Array:
        """Rows with a last column of ones, made once for many evaluations."""
        return with_bias(self.values)

    def likelihoods(self, thetas: Sequence[Array]) -> tuple[Array, list[Array]]:
        """Log-likelihoods (n, classes), and residuals over variance of each class."""
        X = self.biased
        columns, scaled = [], []
        for theta, variance, prior in zip(thetas, self.variances, self.log_priors, strict=True):
            R = self.values - X @ theta
            scaled.append(R / variance)
            constant = prior - np.log(variance).sum() / 2
            columns.append(constant - (R * scaled[-1]).sum(axis=1) / 2)
        return np.column_stack(columns), scaled

    def gradients(self, in_likelihoods: Array, scaled: Sequence[Array]) -> list[Array]:
        """Gradients in the parameters from those in the log-likelihoods."""
        X = self.biased
        return [X.T @ (in_likelihoods[:, [c]] * R) for c, R in enumerate(scaled)]


class MaxMarginObjective:
    r"""Soft margin of the log-likelihood ratios, with the strongest wrong class as the rival.

    .. math:: F = \min_{r \ge 0} -r + \frac{1}{\nu n} \sum_i \max(0, r - g_i), \qquad
              g_i = L_{y_i}(x_i) - \max_{c \ne y_i} L_c(x_i)

    Paper: Eq. 3.11, in its nu form.
    """

    def __init__(self, sample: Sample, nu: float, delta: float = 0.0) -> None:
        self.sample, self.nu, self.delta = sample, nu, delta

    def __call__(self, thetas: Sequence[Array]) -> tuple[float, list[Array]]:
        """Value and gradients."""
        L, scaled = self.sample.likelihoods(thetas)
        margins, rivals = margins_of(L, self.sample.codes)
        soft = (
            smoothed_max_margin(margins, self.nu, self.delta)
            if self.delta
            else max_margin(margins, self.nu)
        )
        G = np.zeros_like(L)
        rows = np.arange(len(L))
        G[rows, self.sample.codes] -= soft.weights
        G[rows, rivals] += soft.weights
        return soft.value, self.sample.gradients(G, scaled)


class ConditionalLikelihood:
    r"""Mean of -log p(y | x), with the log-likelihoods times a temperature."""

    def __init__(self, sample: Sample, temperature: float) -> None:
        self.sample, self.temperature = sample, temperature

    def __call__(self, thetas: Sequence[Array]) -> tuple[float, list[Array]]:
        """Value and gradients."""
        L, scaled = self.sample.likelihoods(thetas)
        log_posterior = log_softmax(self.temperature * L, axis=1)
        rows = np.arange(len(L))
        G = np.exp(log_posterior)
        G[rows, self.sample.codes] -= 1.0
        value = -float(log_posterior[rows, self.sample.codes].mean())
        return value, self.sample.gradients(G * self.temperature / len(L), scaled)


class FisherKernelObjective:
    r"""Radius-margin bound of an L2-SVM on Fisher vectors, tr(S_T) J_0.

    The kernel is that of all parameters of all networks. The SVM is solved anew at every
    evaluation, so that its solution drops out of the gradient (envelope theorem): with
    :math:`A = J_0 (I - 1 1^T / n) - tr(S_T) \beta \beta^T / 2` the gradient in the kernel.

    Paper: Eq. 3.8 and Eq. 3.9, with the multipliers optimal for every Theta.
    """

    def __init__(self, sample: Sample, C: float) -> None:
        self.sample, self.C = sample, C
        self.signs = np.where(sample.codes == 0, -1.0, 1.0)
        self.inner = sample.values @ sample.values.T + 1.0
        self._support: Codes | None = None  # of the last SVM: the next one differs little

    def kernel(self, thetas: Sequence[Array]) -> tuple[Array, list[Array]]:
        """Fisher kernel, and residuals over variance of each class."""
        _, scaled = self.sample.likelihoods(thetas)
        K = np.zeros_like(self.inner)
        for R in scaled:
            Q = R * self.sample.values
            K += (R @ R.T) * self.inner - Q @ Q.T
        return K, scaled

    def svm(self, K: Array) -> L2SVM:
        """L2-SVM on a kernel of the training rows."""
        found = l2_svm(K, self.signs, self.C, self._support)
        self._support = found.support
        return found

    def __call__(self, thetas: Sequence[Array]) -> tuple[float, list[Array]]:
        """Value and gradients."""
        K, scaled = self.kernel(thetas)
        n = len(K)
        svm = self.svm(K)
        scatter = total_scatter(K) + (n - 1) / self.C
        gradients = [
            self._gradient(R, variance, svm, scatter)
            for R, variance in zip(scaled, self.sample.variances, strict=True)
        ]
        return scatter * svm.objective, gradients

    def _gradient(self, R: Array, variance: Array, svm: L2SVM, scatter: float) -> Array:
        X, Xb, n, beta = self.sample.values, self.sample.biased, len(R), svm.beta[:, None]
        Q = R * X
        norms = np.diag(self.inner)[:, None]
        # (A o H) R and A Q for A = J0 (I - 11'/n) - scatter beta beta' / 2, without n x n products
        AHR = svm.objective * (norms * R - Xb @ (Xb.T @ R) / n)
        AHR -= scatter / 2 * beta * (Xb @ (Xb.T @ (beta * R)))
        AQ = svm.objective * (Q - Q.mean(axis=0)) - scatter / 2 * beta * (beta.T @ Q)
        in_residuals = 2 * (AHR - AQ * X) / variance
        gradient: Array = -Xb.T @ in_residuals
        return gradient


def margins_of(L: Array, codes: Codes) -> tuple[Array, Codes]:
    """Log-likelihood of the own class less that of the strongest other one, and which that is.

    Paper: Eq. 3.10, and the remark on several classes.
    """
    rows = np.arange(len(L))
    others = L.copy()
    others[rows, codes] = -np.inf
    rivals = others.argmax(axis=1)
    return L[rows, codes] - L[rows, rivals], rivals
