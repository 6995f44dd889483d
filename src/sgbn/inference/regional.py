r"""Differences between groups in the means of single regions.

Networks do not show these differences, since means are taken out first. Each region y is regressed
on the groups, covariates and sites. The difference of two groups is a weighted sum
:math:`\sum_i c_i y_i` over the rows i. The residual variances :math:`s_g^2` may differ between the
groups g. The variance V of the difference and its degrees of freedom are

.. math:: V = \sum_g a_g s_g^2, \quad a_g = \sum_{i \in g} c_i^2, \qquad
          df = V^2 / \sum_g (a_g s_g^2)^2 / \nu_g,

where h are the leverages and :math:`\nu_g = \sum_{i \in g} (1 - h_{ii})` are the residual degrees
of freedom of a group. Without covariates and sites this is Welch's t. With covariates and sites it
allows for the uncertainty of their effects. A t of values that were adjusted beforehand would not
allow for it. Paired visits are compared by a paired t of the differences within persons instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr

from sgbn.cohort.cohort import Cohort
from sgbn.cohort.effects import indicators
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Indices
from sgbn.core.validation import numbered
from sgbn.inference.difference_tables import records
from sgbn.inference.permutations import discovery_rates, holm

FAMILIES = (
    "means of regions are not compared, because members of a family (blocks) are not independent"
)


class _Contrast(NamedTuple):
    """The difference of each region between two groups.

    Attributes
    ----------
    difference, error, df : ndarray of shape (m,)
        Difference, its standard error, and its degrees of freedom.
    sd : ndarray of shape (m,)
        Standard deviation of each region within the two groups.
    freedom : float
        Degrees of freedom of `sd`.
    """

    difference: Array
    error: Array
    df: Array
    sd: Array
    freedom: float


def regional_differences(
    cohort: Cohort, groups: Sequence[str] | None = None, level: float = 0.05
) -> NDArray[Any]:
    """Compare the mean of each region in each group with its mean in the first group.

    Parameters
    ----------
    cohort : Cohort
        The cohort, after `sgbn.prepare.prepare`. Covariates and sites are held fixed again,
        except in paired visits.
    groups : sequence of str, optional
        Names of the groups, the reference first. By default they are sorted by name.
    level : float
        Intervals have the coverage ``1 - level``.

    Returns
    -------
    structured ndarray
        One row per group and region, sorted by p. Its fields are

        - group, region
        - difference: the group minus the reference, in the units of the data
        - hedges_g, low, high: the difference per standard deviation within the two groups,
          corrected for small samples, and its interval
        - t, df, p: the test of the difference
        - p_holm, q: p corrected over all rows, by Holm and by Benjamini and Hochberg

    Raises
    ------
    InputError
        If the cohort has families (blocks).

    Notes
    -----
    Rows of one person are averaged. Paired visits are compared by a paired t of the differences
    within persons, without covariates and sites. Their hedges_g is per standard deviation within
    the two groups of visits.
    """
    if cohort.block is not None:
        raise InputError("regional.families").says(FAMILIES)
    names = tuple(cohort.groups if groups is None else groups)
    others = range(1, len(names))
    parts = [_rows(cohort, names[k], _contrast(cohort, names, k), level) for k in others]
    table = np.concatenate(parts)
    table["p_holm"], table["q"] = holm(table["p"]), discovery_rates(table["p"])
    return table[np.argsort(table["p"], kind="stable")]


def _contrast(cohort: Cohort, groups: Sequence[str], k: int) -> _Contrast:
    """Return the difference of group k from group 0."""
    if cohort.pair is not None:
        return _paired(cohort, groups[0], groups[k])
    codes = np.array([groups.index(label) for label in np.asarray(cohort.group).tolist()], np.intp)
    design = cohort.design.columns()
    # Sessions of one person are dependent. So their mean counts as one row.
    values = cohort.values
    if cohort.person is not None:
        values, design, codes = _per_person(cohort.person, codes, values, design)
    return _adjusted(values, codes, design - design.mean(axis=0), k)


def _per_person(
    person: NDArray[Any], codes: Indices, values: Array, design: Array
) -> tuple[Array, Array, Indices]:
    """Return the mean row of each person in each group: values, design and group code."""
    units = numbered(person)[1] * (codes.max() + 1) + codes
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    mean = indicators(unit).T
    mean /= mean.sum(axis=1, keepdims=True)
    return mean @ values, mean @ design, codes[first]


def _adjusted(values: Array, codes: Indices, nuisance: Array, k: int) -> _Contrast:
    """Return the difference of group k from group 0, given nuisance columns.

    Variances of the groups may differ.
    """
    members = indicators(codes)
    design = np.column_stack([members, nuisance])
    inverse = np.linalg.pinv(design)  # sites may determine each other
    # The leverages are the diagonal of the hat matrix.
    leverage = np.einsum("ij,ji->i", design, inverse)
    residuals = values - design @ (inverse @ values)
    # Residual degrees of freedom of each group: its rows minus its share of the fit.
    freedom = members.T @ (1 - leverage)
    variances = (members.T @ np.square(residuals)) / freedom[:, None]
    weights = inverse[k] - inverse[0]
    shares = (members.T @ np.square(weights))[:, None] * variances
    total = shares.sum(axis=0)
    both = [0, k]
    # Hedges' g is per standard deviation of the two groups that are compared.
    pooled = (freedom[both, None] * variances[both]).sum(axis=0) / freedom[both].sum()
    return _Contrast(
        weights @ values,
        np.sqrt(total),
        np.square(total) / (np.square(shares) / freedom[:, None]).sum(axis=0),
        np.sqrt(pooled),
        float(freedom[both].sum()),
    )


def _paired(cohort: Cohort, reference: str, group: str) -> _Contrast:
    """Return the difference between paired visits, from differences within persons."""
    member, pair = np.asarray(cohort.group), np.asarray(cohort.pair)
    visits = []
    for visit in (reference, group):
        rows = np.flatnonzero(member == visit)
        # Rows of both visits must have the same order of persons.
        visits.append(cohort.values[rows[np.argsort(pair[rows])]])
    change, n = visits[1] - visits[0], len(visits[0])
    sd = np.sqrt(np.mean([rows_of_visit.var(axis=0, ddof=1) for rows_of_visit in visits], axis=0))
    df = np.full(change.shape[1], n - 1.0)
    return _Contrast(change.mean(axis=0), change.std(axis=0, ddof=1) / np.sqrt(n), df, sd, n - 1.0)


def _rows(cohort: Cohort, group: str, contrast: _Contrast, level: float) -> NDArray[Any]:
    """Return the table of one group. p_holm and q still hold the uncorrected p."""
    t = contrast.difference / contrast.error
    # Hedges' correction: in small samples the standardised difference is too large.
    small = 1 - 3 / (4 * contrast.freedom - 1)
    g = small * contrast.difference / contrast.sd
    error = np.sqrt(np.square(contrast.error / contrast.sd) + np.square(g) / (2 * contrast.freedom))
    half = ndtri(1 - level / 2) * error
    p = 2 * stdtr(contrast.df, -np.abs(t))
    columns = {
        "group": np.full(len(t), group, dtype=object),
        "region": np.array(cohort.regions, dtype=object),
        "difference": contrast.difference,
        "hedges_g": g,
        "low": g - half,
        "high": g + half,
        "t": t,
        "df": contrast.df,
    }
    return records(columns | dict.fromkeys(("p", "p_holm", "q"), p))
