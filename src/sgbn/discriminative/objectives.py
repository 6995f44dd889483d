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
        One network per class, or one for all.
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
        """Make the object from a sample: children whose weights move, apart from all others."""
        columns = np.ascontiguousarray(with_bias(sample.values).T)
        n = len(sample.codes)
        # One array for all classes, filled part by part: the kernels take no lists.
        D, A, rest, still, sds = np.empty((len(moves.u0), n)), [], [], [], []
        for class_moves, part, variance, prior in zip(
            moves.classes, _parts(D, moves), sample.variances, sample.log_priors, strict=True
        ):
            sd = np.sqrt(variance)
            R = (sample.values - columns.T @ class_moves.theta(np.zeros(len(class_moves.u0)))) / sd
            regressors(
                class_moves.factors,
                class_moves.starts,
                columns,
                class_moves.parents,
                sd[class_moves.moving],
                part,
            )
            stays = class_moves.still
            # log(2 pi) is left out: it is the same for all classes
            rest.append(prior - np.log(sd).sum() - np.square(R[:, stays]).sum(axis=1) / 2)
            A.append(R[:, class_moves.moving].T)
            still.append(R[:, stays] / sd[stays])
            sds.append(sd[class_moves.moving])
        # Blocks of all classes follow each other; `starts` count through the whole vector u.
        owner = np.repeat(np.arange(len(A)), [len(rows) for rows in A])
        pairs = zip(moves.classes, moves.offsets[:-1], strict=True)
        # Without the last of each class: it is the first of the next one.
        starts = [class_moves.starts[:-1] + offset for class_moves, offset in pairs]
        residuals = LinearResiduals(
            D,
            np.concatenate(A),
            np.append(np.concatenate(starts), len(D)),
            owner,
            np.array(rest),
            np.asarray(sample.codes, np.int64),  # another type would compile the kernels anew
        )
        children = np.concatenate([class_moves.moving for class_moves in moves.classes])
        return cls(sample, moves, residuals, still, children, np.concatenate(sds))

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
    # views of D, which `regressors` fills in place
    return [D[a:b] for a, b in zip(moves.offsets, moves.offsets[1:], strict=False)]
