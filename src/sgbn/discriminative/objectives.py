r"""Likelihoods of a sample as functions of the coordinates u of `Moves`.

Log-likelihoods up to a constant are

.. math:: L_c(x) = -\sum_j \frac{(x_j - \tilde x^T \theta_{cj})^2}{2 \sigma_{cj}^2}
          - \sum_j \log \sigma_{cj} + \log \pi_c

and only residuals of children with a moving parameter depend on u, linearly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sgbn.discriminative.linear_residuals import (
    LinearResiduals,
    likelihoods_at,
    margins,
)
from sgbn.discriminative.max_margin import MaxMargin, max_margin
from sgbn.discriminative.moves import Moves, with_bias
from sgbn.discriminative.whitening import regressors
from sgbn.types import Array, Indices


@dataclass(frozen=True)
class Sample:
    """Rows, their classes, and what is fixed of the networks.

    Attributes
    ----------
    values : ndarray of shape (n, m)
    codes : ndarray of shape (n,)
        Class of each row, numbered from 0.
    variances : ndarray of shape (networks, m)
        One network a class, or one for all.
    log_priors : ndarray of shape (networks,)
    """

    values: Array
    codes: Indices
    variances: Array
    log_priors: Array


@dataclass(frozen=True)
class MovingLikelihoods:
    """Likelihoods of a sample as the networks move.

    Attributes
    ----------
    sample : Sample
    moves : Moves
    residuals : LinearResiduals
        Of the children that move, in standard deviations of their noise.
    still : list of ndarray of shape (n, children)
        Of each network, residuals over variance of the children that do not move.
    children : ndarray of shape (blocks,)
    sd : ndarray of shape (blocks,)
        Child of each block and its noise.
    """

    sample: Sample
    moves: Moves
    residuals: LinearResiduals
    still: list[Array]
    children: NDArray[np.int64]
    sd: Array

    @classmethod
    def of(cls, sample: Sample, moves: Moves) -> MovingLikelihoods:
        """Split what moves from what does not."""
        columns = np.ascontiguousarray(with_bias(sample.values).T)
        n = len(sample.codes)
        D, A, rest, still, sds = np.empty((len(moves.u0), n)), [], [], [], []
        for own, part, variance, prior in zip(
            moves.classes, _parts(D, moves), sample.variances, sample.log_priors, strict=True
        ):
            sd = np.sqrt(variance)
            R = (sample.values - columns.T @ own.theta(np.zeros(len(own.u0)))) / sd
            regressors(own.factors, own.starts, columns, own.parents, sd[own.moving], part)
            stays = np.ones(len(sd), bool)
            stays[own.moving] = False
            rest.append(prior - np.log(sd).sum() - np.square(R[:, stays]).sum(axis=1) / 2)
            A.append(R[:, own.moving].T)
            still.append(R[:, stays] / sd[stays])
            sds.append(sd[own.moving])
        owner = np.repeat(np.arange(len(A)), [len(rows) for rows in A])
        pairs = zip(moves.classes, moves.offsets[:-1], strict=True)
        starts = [own.starts[:-1] + offset for own, offset in pairs]
        residuals = LinearResiduals(
            D,
            np.concatenate(A),
            np.append(np.concatenate(starts), len(D)),
            owner,
            np.array(rest),
            np.asarray(sample.codes, np.int64),
        )
        children = np.concatenate([own.moving for own in moves.classes])
        return cls(sample, moves, residuals, still, children, np.concatenate(sds))

    def still_children(self, c: int) -> NDArray[np.int64]:
        """Children of network c that do not move."""
        stays = np.ones(self.sample.values.shape[1], bool)
        stays[self.moves.classes[c].moving] = False
        return np.flatnonzero(stays)

    def log_likelihoods(self, u: Array) -> Array:
        """Log-likelihoods (classes, n)."""
        L = np.empty_like(self.residuals.rest)
        likelihoods_at(self.residuals, u, np.empty_like(self.residuals.A), L)
        return L


def exact_margin(likelihoods: MovingLikelihoods, u: Array, nu: float) -> MaxMargin:
    """Soft margin at u, not smoothed."""
    g, _ = margins(likelihoods.log_likelihoods(u), likelihoods.residuals.codes)
    return max_margin(g, nu)


def _parts(D: Array, moves: Moves) -> Sequence[Array]:
    return [D[a:b] for a, b in zip(moves.offsets, moves.offsets[1:], strict=False)]
