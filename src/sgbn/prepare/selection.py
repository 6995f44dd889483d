"""The transformer that selects regions."""

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

from sgbn.core.problems import InputError
from sgbn.core.types import Array, Indices, Mask
from sgbn.core.validation import ANYTHING, NONE, OneOf, Parameters, Whole
from sgbn.prepare.columns import NamedColumnTransformer, Names, Table, as_names, find, labels_of

TIE_DIGITS = 10  # scores that agree in this many digits are a tie: the rest is round-off


class RegionSelector(SelectorMixin, NamedColumnTransformer):
    """Keep the k regions that are most strongly related to y, or the regions of a list.

    The order of the columns stays the same. If regions have equal scores, the first in alphabetical
    order is preferred, or in an array the first by position. A region that is constant in training
    comes last.

    Parameters
    ----------
    k : int
        Number of regions to keep. If X has no more than k regions, all are kept.
    by : {"f", "correlation"}
        The score of a region: F of a one-way analysis of variance between the groups y, or absolute
        Pearson correlation with y. For "correlation", y must be numeric or have two groups.
    regions : sequence of column names, optional
        Names of the regions to keep. `k`, `by` and y are then not used.

    Attributes
    ----------
    support_ : array of shape (columns of X,)
        Whether each column is kept.
    scores_ : array of shape (columns of X,), or None with `regions`
        Score of each region; NaN for a constant region.
    n_features_in_, feature_names_in_
        Number and names of the columns of X in `fit`.
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
            The regions.
        y : array-like of shape (n_samples,)
            Group or number of each row. Not used if `regions` are given.

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
                raise InputError("selector.empty").says(
                    "{regions=} is empty", "Name at least one region, or leave it out."
                )
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
        values, labels, places = table.values[:, kept], table.labels[kept], table.places[kept]
        return replace(table, values=values, labels=labels, places=places)

    def _scores(self, values: Array, y: Any) -> Array:
        if y is None:
            raise InputError("labels.none").says(
                "the selection of regions requires y to be passed, but the target y is None",
                "Give the groups, or name the regions.",
            )
        # Constant regions are found before centring, which would leave round-off in them.
        constant = np.ptp(values, axis=0) == 0
        # Without centring, f_classif would lose digits if the mean is large.
        centred = values - values.mean(axis=0)
        scores = _f_scores(centred, y) if self.by == "f" else _correlations(centred, y)
        return np.where(constant, np.nan, scores)


def _f_scores(centred: Array, y: Any) -> Array:
    codes, groups = labels_of(y, len(centred))
    if type_of_target(np.asarray(y)) == "continuous":
        raise InputError("selector.continuous").says(
            "{by='f'} compares groups, but y is continuous", "Give {by='correlation'}, or groups."
        )
    if len(groups) < 2:
        raise InputError("classes.one", label=groups[0]).says(
            "y has one class, {label}, but two are needed", "Add rows of another class."
        )
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # f_classif warns of constant regions, which come last anyway.
        warnings.simplefilter("ignore")
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
        raise InputError("selector.groups", n=len(groups)).says(
            "{by='correlation'} needs a numeric y or two groups, but y has {n:group}",
            "Give {by='f'}.",
        )
    target = target - target.mean()
    spread = np.sqrt((centred**2).sum(axis=0) * (target**2).sum())
    # A constant region divides by zero. The caller replaces its score by NaN.
    with np.errstate(all="ignore"):
        correlations: Array = np.abs(target @ centred) / spread
    return correlations


def _best(scores: Array, labels: pd.Index[Any]) -> Indices:
    """Return the places of the regions, best first. Ties are sorted by name, and NaN is last."""
    # Scores are rounded, so that copies of a region in other units are a tie.
    mantissa, exponent = np.frexp(np.where(np.isnan(scores), -np.inf, scores))
    rounded = np.ldexp(np.round(mantissa, TIE_DIGITS), exponent)
    names = np.arange(len(labels)) if isinstance(labels, pd.RangeIndex) else labels.astype(str)
    # For lexsort the last key is the most important one: the score, then the name.
    return np.lexsort((np.asarray(names), -rounded))
