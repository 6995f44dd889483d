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
from sgbn.types import Array, Indices, Mask

DEPENDENT = 1e-8  # share of a design column that others do not explain, below which they do
MISSING = ("", "nan", "NaT", "<NA>", "inf", "-inf")  # cells as text


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
        left: Array = self.basis @ (self.basis.T @ values)
        return np.subtract(values, left, out=left)  # in place: a table may be large

    @property
    def rank(self) -> int:
        """Degrees of freedom that nuisance effects take, the means of the groups among them."""
        return self.basis.shape[1]


def nuisance_of(
    codes: Indices,
    covariates: Mapping[str, Any] | None = None,
    sites: NDArray[Any] | None = None,
) -> Nuisance:
    """Means of the groups, slopes of the covariates, means of the sites.

    Columns that others determine take no degree of freedom, wherever they stand.
    """
    groups = _indicators(codes)
    means = groups / np.sqrt(groups.sum(axis=0))
    design = design_of(len(codes), covariates, sites)
    centred = design - means @ (means.T @ design)
    lengths = np.linalg.norm(centred, axis=0)
    varies = lengths > DEPENDENT * np.linalg.norm(design, axis=0)
    U, sizes, _ = np.linalg.svd(centred[:, varies] / lengths[varies], full_matrices=False)
    return Nuisance(np.column_stack([means, U[:, sizes > DEPENDENT]]))


def design_of(
    n: int, covariates: Mapping[str, Any] | None = None, sites: NDArray[Any] | None = None
) -> Array:
    """Columns of the covariates and one indicator per site, of shape (n, p) and not centred."""
    columns = [np.empty((n, 0))]
    for name, column in (covariates or {}).items():
        columns.append(_covariate(name, column, n))
    if sites is not None:
        columns.append(_indicators(np.unique(sites, return_inverse=True)[1]))
    return np.column_stack(columns)


def residuals_of_training(values: Array, design: Array, train: Mask) -> tuple[Array, int]:
    """All rows less the mean and the nuisance effects that the training rows show.

    Effects are least squares of least norm on the centred design: a site without training rows has
    the average effect of the others.

    Returns
    -------
    residuals : ndarray of shape (n, m)
    rank : int
        Degrees of freedom that the effects take of the training rows, beside those of the means.
    """
    left: Array = values - values[train].mean(axis=0)
    centred = design - design[train].mean(axis=0)
    lengths = np.linalg.norm(centred[train], axis=0)
    varies = lengths > DEPENDENT * np.linalg.norm(design[train], axis=0)
    centred = centred[:, varies] / lengths[varies]
    slopes, _, rank, _ = np.linalg.lstsq(centred[train], left[train], rcond=DEPENDENT)
    return left - centred @ slopes, int(rank)


def check_pairs(ids: Sequence[Any], codes: Indices) -> Indices:
    """Give the number of the person of each row: every id once in each group."""
    labels, pairs = np.unique(np.asarray(ids, dtype=str), return_inverse=True)
    counts = np.zeros((len(labels), codes.max() + 1), int)
    np.add.at(counts, (pairs, codes), 1)
    wrong = labels[(counts != 1).any(axis=1)]
    if len(wrong):
        raise InputError(
            f"pairs need each subject once in every group: {listed(wrong.tolist())} is not. Leave "
            "out subjects without a partner, or compare the groups unpaired."
        )
    return pairs.astype(np.intp)


def missing_rows(values: NDArray[Any]) -> list[int]:
    """Rows that hold nothing, or no number; numpy makes the text "nan" of a gap among texts."""
    return [
        row
        for row, cell in enumerate(values.tolist())
        if cell is None or str(cell).strip() in MISSING
    ]


def _indicators(codes: Indices) -> Array:
    found: Array = (codes[:, None] == np.arange(codes.max() + 1)).astype(float)
    return found


def _covariate(name: str, column: Any, n: int) -> Array:
    """Columns of the design for numbers, or for the levels of a text."""
    values = np.asarray(column)
    if values.shape != (n,):
        raise InputError(
            f"covariate {name!r} has shape {values.shape}: give one value for each of the {n} "
            "subjects."
        )
    missing = missing_rows(values)
    if missing:
        raise InputError(
            f"covariate {name!r} has {len(missing)} missing values, the first in row {missing[0]} "
            "(counted from 0). Fill them in, or leave these subjects out."
        )
    if values.dtype.kind == "O" and not any(isinstance(cell, str) for cell in values):
        values = _numbers(name, values)
    if values.dtype.kind in "fiub":
        return values.astype(float)[:, None]
    return _indicators(np.unique(values.astype(str), return_inverse=True)[1])[:, 1:]


def _numbers(name: str, values: NDArray[Any]) -> Array:
    """Numbers that came as objects."""
    try:
        return values.astype(float)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"covariate {name!r} holds a {type(values[0]).__name__}: give numbers or text."
        ) from error
