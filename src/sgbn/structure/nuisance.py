r"""Effects of covariates and sites: the design columns that span them, and rows without them.

A covariate of numbers is one design column. A smooth covariate has the columns of its spline
(`sgbn.structure.smooth`). A covariate of labels has one indicator column for each level except the
first. Each site has one indicator column.

Permutation tests regress the regions Y on the nuisance design N, whose pseudo-inverse is
:math:`N^+`. They permute the rows of the residuals :math:`E = (I - N N^+) Y` by a permutation
:math:`\Pi` (Freedman and Lane, 1983). The method then adds the nuisance effects to the permuted
rows and regresses the sum on N again, which gives :math:`(I - N N^+) \Pi E`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.core.exceptions import InputError, counted
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import is_number

# If less than this share of a design column is left, the other columns explain it.
DEPENDENT = 1e-8
MISSING_TEXTS = ("", "nan", "NaT", "<NA>", "inf", "-inf")  # texts for a missing value


@dataclass(frozen=True)
class Nuisance:
    """The nuisance design, as orthonormal columns that span it.

    Attributes
    ----------
    basis : ndarray of shape (n, p)
        The p orthonormal columns, for n rows.
    """

    basis: Array

    def residuals(self, values: Array) -> Array:
        """Return the rows without their nuisance effects."""
        effects: Array = self.basis @ (self.basis.T @ values)
        return np.subtract(values, effects, out=effects)  # in place, because a table may be large

    @property
    def rank(self) -> int:
        """Return the degrees of freedom of the nuisance effects, which include the group means."""
        return self.basis.shape[1]


def nuisance_of(
    codes: Indices,
    covariates: Mapping[str, Any] | None = None,
    sites: NDArray[Any] | None = None,
) -> Nuisance:
    """Return the design of group means, effects of covariates and means of sites.

    A design column that the other columns determine takes no degree of freedom. The order of the
    columns does not matter.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Number of each row's group, from 0 upwards.
    covariates : mapping from name to column, optional
        Columns of numbers or labels, or the columns of a spline.
    sites : ndarray of shape (n,), optional
        Label of each row's site.
    """
    groups = indicators(codes)
    means = groups / np.sqrt(groups.sum(axis=0))
    design = design_of(len(codes), covariates, sites)
    # The group means come first. The rest of the design is made orthogonal to them.
    return Nuisance(np.column_stack([means, _span(design, design - means @ (means.T @ design))]))


def design_of(
    n: int, covariates: Mapping[str, Any] | None = None, sites: NDArray[Any] | None = None
) -> Array:
    """Return the columns of the covariates and one indicator per site, not centred.

    The result has the shape (n, p), for n rows and p design columns.
    """
    columns = [np.empty((n, 0))]
    for name, column in (covariates or {}).items():
        columns.append(_covariate(name, column, n))
    if sites is not None:
        columns.append(indicators(np.unique(sites, return_inverse=True)[1]))
    return np.column_stack(columns)


def indicators(codes: Indices, n_levels: int | None = None) -> Array:
    """Return one column of 0 and 1 per level.

    `codes` holds the number of each row's level, from 0 upwards. The code -1 belongs to no level.
    """
    n_levels = codes.max() + 1 if n_levels is None else n_levels
    return (codes[:, None] == np.arange(n_levels)).astype(float)


def without_nuisance(values: Array, nuisance: Array) -> tuple[Array, int]:
    """Return the rows without the effects of `nuisance`, and the degrees of freedom these take.

    The means of the columns stay the same.
    """
    if not nuisance.shape[1]:
        return values, 0
    basis = np.ascontiguousarray(_span(nuisance, nuisance - nuisance.mean(axis=0)))
    left = np.empty(values.shape)
    for k, column in enumerate(np.ascontiguousarray(values.T)):
        # One by one, so that the rounding of a column does not depend on its place.
        left[:, k] = column - basis @ (basis.T @ (column - column.mean()))
    return left, basis.shape[1]


def column_lengths(design: Array, centred: Array) -> tuple[Array, Mask]:
    """Return the length of each centred column, and whether it is more than round-off."""
    lengths = np.linalg.norm(centred, axis=0)
    return lengths, lengths > DEPENDENT * np.linalg.norm(design, axis=0)


def missing_rows(values: NDArray[Any]) -> list[int]:
    """Return the rows whose value is missing or infinite.

    Texts such as "nan" count as missing, because numpy writes them for a gap in a column of texts.
    """
    return [
        row
        for row, cell in enumerate(values.tolist())
        if cell is None or str(cell).strip() in MISSING_TEXTS
    ]


def _span(design: Array, centred: Array) -> Array:
    """Return orthonormal columns that span the columns of a centred design."""
    lengths, varies = column_lengths(design, centred)
    # Scaled to unit length, so that the units of a covariate do not decide what is dependent.
    U, sizes, _ = np.linalg.svd(centred[:, varies] / lengths[varies], full_matrices=False)
    return U[:, sizes > DEPENDENT]


def _covariate(name: str, column: Any, n: int) -> Array:
    """Return the design columns of one covariate: numbers, levels of a text, or a spline."""
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
            f"covariate {name!r} has {counted(len(missing), 'missing value')}, the first in row "
            f"{missing[0]} (counted from 0). Fill them in, or leave these subjects out."
        )
    # pandas may give numbers as objects. A text among them means that the values are levels.
    if values.dtype.kind == "O" and not any(isinstance(cell, str) for cell in values):
        values = _numbers(name, values)
    if values.dtype.kind in "fiub":
        return values.astype(float)[:, None]
    # Without the first level, because the columns of all levels add up to a constant.
    return indicators(np.unique(values.astype(str), return_inverse=True)[1])[:, 1:]


def _spline_columns(name: str, columns: Array) -> Array:
    """Return the spline columns of a covariate; raise InputError if one has a gap.

    A column with a gap would look constant and be left out without notice.
    """
    gaps = np.flatnonzero(~np.isfinite(columns).all(axis=1))
    if len(gaps):
        raise InputError(
            f"covariate {name!r} has {counted(len(gaps), 'row')} with a missing or infinite value. "
            f"The first is row {gaps[0]} (counted from 0). Fill them in, or leave these rows out."
        )
    return columns


def _numbers(name: str, values: NDArray[Any]) -> Array:
    """Return numbers that were given as objects."""
    try:
        return values.astype(float)
    except (TypeError, ValueError) as error:
        odd = next((cell for cell in values if not is_number(cell)), values[0])
        raise InputError(
            f"covariate {name!r} holds a {type(odd).__name__}: give numbers or text."
        ) from error
