"""Which regions to keep."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.feature_selection import SelectorMixin, f_classif
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import type_of_target

from sgbn.exceptions import InputError, shown
from sgbn.parameters import ANYTHING, NONE, OneOf, Parameters, Whole
from sgbn.preprocessing.columns import (
    NamedColumnTransformer,
    Names,
    Table,
    as_names,
    find,
    labels_of,
)
from sgbn.types import Array, Indices, Mask

TIE_DIGITS = 10  # scores that agree to so many digits are a tie: the rest is round-off


class RegionSelector(SelectorMixin, NamedColumnTransformer):
    """Keep the k regions that tell most about y, or those of a list.

    The order of the columns is kept. Ties go to the first by name, whatever the order of the
    columns; in an array, by position. A region that is constant in training comes last.

    Parameters
    ----------
    k : int
        Regions to keep; all if there are no more.
    by : {"f", "correlation"}
        One-way analysis of variance between the groups y, or absolute Pearson correlation with y,
        which is then numeric or has two groups.
    regions : sequence of column names, optional
        Keep these, and use neither k, by nor y.

    Attributes
    ----------
    support_ : array of shape (columns of X,)
        Which columns are kept.
    scores_ : array of shape (columns of X,), or None with `regions`
        F or absolute correlation; NaN for a constant region.
    n_features_in_, feature_names_in_
        Columns of X in `fit`.
    """

    _parameters: ClassVar[Parameters] = {
        "k": NONE | Whole(1),
        "by": OneOf("f", "correlation"),
        "regions": ANYTHING,
    }

    def __init__(self, k: int = 40, *, by: str = "f", regions: Names = None) -> None:
        self.k = k
        self.by = by
        self.regions = regions

    def _check_together(self) -> None:
        if self.regions is None:
            Whole(1).check("k", self.k)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.regions is None
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Choose the regions.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_regions)
        y : array-like of shape (n_samples,)
            Groups or numbers; not used if `regions` are given.

        Returns
        -------
        self
        """
        table = self._open(X)
        self.support_ = np.zeros(len(table.labels), bool)
        if self.regions is not None:
            self.scores_ = None
            wanted = [find(name, table.labels, "regions") for name in as_names(self.regions)]
            if not wanted:
                raise InputError("regions is empty: name one region or more, or set k.")
        else:
            self.scores_ = self._scores(table.values, y)
            wanted = _best(self.scores_, table.labels)[: self.k].tolist()
        self.support_[wanted] = True
        return self

    def transform(self, X: ArrayLike) -> Any:
        """Keep the chosen regions of X; see `NamedColumnTransformer.transform`."""
        return NamedColumnTransformer.transform(self, X)

    def _get_support_mask(self) -> Mask:
        return self.support_

    def _changed(self, table: Table) -> Table:
        kept = np.flatnonzero(self.support_)
        return replace(
            table,
            values=table.values[:, kept],
            labels=table.labels[kept],
            places=table.places[kept],
        )

    def _scores(self, values: Array, y: Any) -> Array:
        if y is None:
            raise InputError(
                f"by={self.by!r} requires y to be passed, but the target y is None. Give "
                "the groups, or name the regions."
            )
        # before centring, which leaves round-off of a constant
        constant = np.ptp(values, axis=0) == 0
        centred = values - values.mean(axis=0)  # f_classif would lose the digits of a large mean
        scores = _f_scores(centred, y) if self.by == "f" else _correlations(centred, y)
        return np.where(constant, np.nan, scores)


def _f_scores(centred: Array, y: Any) -> Array:
    codes, groups = labels_of(y, len(centred))
    if type_of_target(np.asarray(y)) == "continuous":
        raise InputError(
            "by='f' compares groups, and y is continuous: set by='correlation', or give groups."
        )
    if len(groups) < 2:
        raise InputError(f"y has one class only, {shown(groups[0])}. Give two or more groups.")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of constant regions, which come last anyway
        scores: Array = f_classif(centred, codes)[0]
    return scores


def _correlations(centred: Array, y: Any) -> Array:
    codes, groups = labels_of(y, len(centred))
    labels = pd.Series(column_or_1d(y)).infer_objects()
    if len(groups) == 2:
        target = codes.astype(float)
    elif pd.api.types.is_numeric_dtype(labels.dtype):
        target = labels.to_numpy(np.float64)
    else:
        raise InputError(
            f"by='correlation' needs a numeric y or two groups, and y has {len(groups)} groups: "
            "set by='f'."
        )
    target = target - target.mean()
    spread = np.sqrt((centred**2).sum(axis=0) * (target**2).sum())
    # a constant region divides by zero; its score is replaced by NaN
    with np.errstate(all="ignore"):
        correlations: Array = np.abs(target @ centred) / spread
    return correlations


def _best(scores: Array, labels: pd.Index[Any]) -> Indices:
    """Places of the regions, best first; ties by name, NaN last."""
    # round to significant digits, so that copies of a region in other units tie
    mantissa, exponent = np.frexp(np.where(np.isnan(scores), -np.inf, scores))
    rounded = np.ldexp(np.round(mantissa, TIE_DIGITS), exponent)
    names = np.arange(len(labels)) if isinstance(labels, pd.RangeIndex) else labels.astype(str)
    # the last key counts most: score, then name
    return np.lexsort((np.asarray(names), -rounded))
