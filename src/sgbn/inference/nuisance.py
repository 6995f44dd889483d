r"""What is held fixed when rows are permuted: means of the groups, covariates, sites.

The regions are regressed on the nuisance design N, and the rows of what is left,
:math:`E = (I - N N^+) Y`, are exchanged (Freedman and Lane, 1983). A permuted table has its
nuisance effects back and is regressed on N again, which comes to :math:`(I - N N^+) \Pi E`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.exceptions import InputError, listed

Array = NDArray[np.float64]

DEPENDENT = 1e-10  # share of a design column that others do not explain, below which they do


@dataclass(frozen=True)
class Nuisance:
    """Orthonormal columns that span the nuisance design.

    Attributes
    ----------
    basis : ndarray of shape (n, p)
    """

    basis: Array

    def residuals(self, values: Array) -> Array:
        """Rows without their nuisance effects."""
        left: Array = values - self.basis @ (self.basis.T @ values)
        return left

    @property
    def rank(self) -> int:
        """Degrees of freedom that nuisance effects take, the means of the groups among them."""
        return self.basis.shape[1]


def nuisance_of(
    codes: NDArray[np.intp],
    covariates: Mapping[str, NDArray[Any]] | None = None,
    sites: NDArray[Any] | None = None,
) -> Nuisance:
    """Means of the groups, slopes of the covariates, means of the sites.

    Columns that others determine are left out.
    """
    columns = [_indicators(codes)]
    for name, column in (covariates or {}).items():
        columns.append(_covariate(name, np.asarray(column)))
    if sites is not None:
        columns.append(_indicators(np.unique(sites, return_inverse=True)[1]))
    design = np.column_stack(columns)
    Q, R = np.linalg.qr(design)
    lengths = np.linalg.norm(design, axis=0)
    return Nuisance(np.ascontiguousarray(Q[:, np.abs(np.diag(R)) > DEPENDENT * lengths]))


def permuted(
    rng: np.random.Generator,
    blocks: NDArray[np.intp] | None,
    pairs: NDArray[np.intp] | None,
    n: int,
) -> NDArray[np.intp]:
    """Draw an exchange of rows: any, within blocks, or of the rows of a pair.

    `blocks` and `pairs` number the block and the pair of each row.
    """
    places = np.arange(n)
    if pairs is not None:
        order = np.argsort(pairs, kind="stable").reshape(-1, 2)
        swap = rng.random(len(order)) < 0.5
        places[order[swap]] = order[swap][:, ::-1]
        return places
    if blocks is None:
        return rng.permutation(n)
    for block in range(int(blocks.max()) + 1):
        own = np.flatnonzero(blocks == block)
        places[own] = rng.permutation(own)
    return places


def check_pairs(ids: Sequence[Any], codes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Give the number of the pair of each row: every id once in each of two groups."""
    labels, pairs = np.unique(np.asarray(ids, dtype=str), return_inverse=True)
    counts = np.array([np.bincount(pairs[codes == c], minlength=len(labels)) for c in (0, 1)])
    wrong = labels[(counts != 1).any(axis=0)]
    if codes.max() != 1 or len(wrong):
        which = f": {listed(wrong.tolist())} is not" if len(wrong) else ""
        raise InputError(
            f"pairs need two groups with each subject once in both{which}. Leave out subjects "
            "without a partner, or compare the groups unpaired."
        )
    return pairs.astype(np.intp)


def _indicators(codes: NDArray[np.intp]) -> Array:
    found: Array = (codes[:, None] == np.arange(codes.max() + 1)).astype(float)
    return found


def _covariate(name: str, column: NDArray[Any]) -> Array:
    if column.dtype.kind in "fiub":
        numbers = column.astype(float)
        if not np.isfinite(numbers).all():
            raise InputError(
                f"covariate {name!r} has {int((~np.isfinite(numbers)).sum())} missing values. "
                "Fill them in, or leave these subjects out."
            )
        return (numbers - numbers.mean())[:, None]
    if (column == "").any():
        raise InputError(f"covariate {name!r} is missing in some subjects: leave these out.")
    return _indicators(np.unique(column, return_inverse=True)[1])[:, 1:]
