r"""The likelihoods of a sample as functions of the coordinates u of `Moves`.

The log-likelihood of class c plus its log-prior is, up to a constant,

.. math:: L_c(x) = -\sum_j \frac{(x_j - \tilde x^T \theta_{cj})^2}{2 \sigma_{cj}^2}
          - \sum_j \log \sigma_{cj} + \log \pi_c.

Only the residuals of children with a moving parameter depend on u. They are linear in u.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sgbn.core.types import Array, Indices
from sgbn.discriminative.linear_residuals import (
    LinearResiduals,
    likelihoods_at,
    margins,
)
from sgbn.discriminative.max_margin import MaxMargin, max_margin
from sgbn.discriminative.moves import Moves, with_bias
from sgbn.learn.series_features import regressors


@dataclass(frozen=True)
class Sample:
    """The rows, their classes, and the parts of the networks that do not move.

    Attributes
    ----------
    values : ndarray of shape (n, m)
        The standardised rows.
    codes : ndarray of shape (n,)
        The class of each row, numbered from 0.
    variances : ndarray of shape (networks, m)
        The noise variances of the network of each class, or of the one network of all classes.
    log_priors : ndarray of shape (networks,)
        The logarithm of the prior of each class.
    """

    values: Array
    codes: Indices
    variances: Array
    log_priors: Array


@dataclass(frozen=True)
class MovingLikelihoods:
    """The likelihoods of a sample, as functions of the moving parameters.

    Attributes
    ----------
    sample : Sample
        The rows and their classes.
    moves : Moves
        The moving parameters of the networks.
    residuals : LinearResiduals
        The residuals of the children that move, in standard deviations of their noise.
    still : list of ndarray of shape (n, children)
        The residuals of the children that do not move, divided by their noise variance, for each
        network.
    children : ndarray of shape (blocks,)
        The child of each block.
    sd : ndarray of shape (blocks,)
        The standard deviation of the noise of each block's child.
    """

    sample: Sample
    moves: Moves
    residuals: LinearResiduals
    still: list[Array]
    children: NDArray[np.int64]
    sd: Array

    @classmethod
    def of(cls, sample: Sample, moves: Moves) -> MovingLikelihoods:
        """Make the object. Residuals of children that move and of other children are separate."""
        columns = np.ascontiguousarray(with_bias(sample.values).T)
        n = len(sample.codes)
        # The kernels take no lists, so all classes share one array, which is filled part by part.
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
            # The term log(2 pi) is left out, because it is the same for all classes.
            rest.append(prior - np.log(sd).sum() - np.square(R[:, stays]).sum(axis=1) / 2)
            A.append(R[:, class_moves.moving].T)
            still.append(R[:, stays] / sd[stays])
            sds.append(sd[class_moves.moving])
        # The blocks of all classes follow each other, and `starts` are places in the whole of u.
        owner = np.repeat(np.arange(len(A)), [len(rows) for rows in A])
        pairs = zip(moves.classes, moves.offsets[:-1], strict=True)
        # The last start of a class is left out, because it is the first start of the next class.
        starts = [class_moves.starts[:-1] + offset for class_moves, offset in pairs]
        residuals = LinearResiduals(
            D,
            np.concatenate(A),
            np.append(np.concatenate(starts), len(D)),
            owner,
            np.array(rest),
            np.asarray(sample.codes, np.int64),  # numba would compile again for another type
        )
        children = np.concatenate([class_moves.moving for class_moves in moves.classes])
        return cls(sample, moves, residuals, still, children, np.concatenate(sds))

    def log_likelihoods(self, u: Array) -> Array:
        """Return the log-likelihoods at u, shape (classes, n)."""
        L = np.empty_like(self.residuals.rest)
        likelihoods_at(self.residuals, u, np.empty_like(self.residuals.A), L)
        return L


def exact_margin(likelihoods: MovingLikelihoods, u: Array, nu: float) -> MaxMargin:
    """Return the soft margin at u, without smoothing."""
    g, _ = margins(likelihoods.log_likelihoods(u), likelihoods.residuals.codes)
    return max_margin(g, nu)


def _parts(D: Array, moves: Moves) -> Sequence[Array]:
    # These are views of D, which `regressors` fills in place.
    return [D[a:b] for a, b in zip(moves.offsets, moves.offsets[1:], strict=False)]
