r"""Effects of covariates and sites: the columns that span them, and rows without them.

A covariate of numbers is one column, a smooth one the columns of its spline
(`sgbn.structure.smooth`), one of labels has an indicator for each level but the first; each site
has an indicator.

Where rows are permuted, the regions are regressed on the nuisance design N, and the rows of what is
left, :math:`E = (I - N N^+) Y`, are exchanged (Freedman and Lane, 1983). A permuted table has its
nuisance effects back and is regressed on N again, which comes to :math:`(I - N N^+) \Pi E`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.exceptions import InputError, counted
from sgbn.types import Array, Indices, Mask

DEPENDENT = 1e-8  # share of a design column that is left: below it, others explain the column
MISSING_TEXTS = ("", "nan", "NaT", "<NA>", "inf", "-inf")  # what numpy writes for a gap


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
    groups = indicators(codes)
    means = groups / np.sqrt(groups.sum(axis=0))
    design = design_of(len(codes), covariates, sites)
    # the means of groups come first and whole: what is left of the design is orthogonal to them
    return Nuisance(np.column_stack([means, _span(design, design - means @ (means.T @ design))]))


def design_of(
    n: int, covariates: Mapping[str, Any] | None = None, sites: NDArray[Any] | None = None
) -> Array:
    """Columns of the covariates and one indicator per site, of shape (n, p) and not centred."""
    columns = [np.empty((n, 0))]
    for name, column in (covariates or {}).items():
        columns.append(_covariate(name, column, n))
    if sites is not None:
        columns.append(indicators(np.unique(sites, return_inverse=True)[1]))
    return np.column_stack(columns)


def indicators(codes: Indices, n_levels: int | None = None) -> Array:
    """One column of 0 and 1 per level; levels are numbered from 0, and -1 is none of them."""
    n_levels = codes.max() + 1 if n_levels is None else n_levels
    return (codes[:, None] == np.arange(n_levels)).astype(float)


def without_nuisance(values: Array, nuisance: Array) -> tuple[Array, int]:
    """Rows without what the columns of `nuisance` explain, and the degrees of freedom it takes.

    Means are kept.
    """
    if not nuisance.shape[1]:
        return values, 0
    basis = np.ascontiguousarray(_span(nuisance, nuisance - nuisance.mean(axis=0)))
    left = np.empty(values.shape)
    for k, column in enumerate(np.ascontiguousarray(values.T)):
        # one by one: the bits of a column then do not depend on where it stands
        left[:, k] = column - basis @ (basis.T @ (column - column.mean()))
    return left, basis.shape[1]


def column_lengths(design: Array, centred: Array) -> tuple[Array, Mask]:
    """Length of each centred column, and whether it is more than round-off of the design."""
    lengths = np.linalg.norm(centred, axis=0)
    return lengths, lengths > DEPENDENT * np.linalg.norm(design, axis=0)


def missing_rows(values: NDArray[Any]) -> list[int]:
    """Rows that hold nothing, or no number; numpy makes the text "nan" of a gap among texts."""
    return [
        row
        for row, cell in enumerate(values.tolist())
        if cell is None or str(cell).strip() in MISSING_TEXTS
    ]


def _span(design: Array, centred: Array) -> Array:
    """Orthonormal columns that span those of a centred design."""
    lengths, varies = column_lengths(design, centred)
    # columns of unit length: else the units of a covariate would decide what is dependent
    U, sizes, _ = np.linalg.svd(centred[:, varies] / lengths[varies], full_matrices=False)
    return U[:, sizes > DEPENDENT]


def _covariate(name: str, column: Any, n: int) -> Array:
    """Columns of the design for numbers, or for the levels of a text."""
    values = np.asarray(column)
    if values.ndim == 2 and len(values) == n and values.size and values.dtype.kind == "f":
        return _spline_columns(name, values)
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
    # numbers with gaps come from pandas as objects; text among them means levels
    if values.dtype.kind == "O" and not any(isinstance(cell, str) for cell in values):
        values = _numbers(name, values)
    if values.dtype.kind in "fiub":
        return values.astype(float)[:, None]
    # without the first level: with all of them, the columns would add up to a constant
    return indicators(np.unique(values.astype(str), return_inverse=True)[1])[:, 1:]


def _spline_columns(name: str, columns: Array) -> Array:
    """Columns of one covariate; a gap would make its column look constant, so it is refused."""
    gaps = np.flatnonzero(~np.isfinite(columns).all(axis=1))
    if len(gaps):
        raise InputError(
            f"covariate {name!r} has {counted(len(gaps), 'row')} with a missing or infinite value, "
            f"the first is row {gaps[0]} (counted from 0). Fill them in, or leave these rows out."
        )
    return columns


def _numbers(name: str, values: NDArray[Any]) -> Array:
    """Numbers that came as objects."""
    try:
        return values.astype(float)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"covariate {name!r} holds a {type(values[0]).__name__}: give numbers or text."
        ) from error
