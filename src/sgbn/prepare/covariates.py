"""The transformer that removes the effects of covariates from the regions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sgbn.cohort.effects import (
    MIN_SPLINES,
    SMOOTH_DF,
    CovariateColumns,
    Slopes,
    check_enough_rows,
    learn_design,
    within_group_slopes,
)
from sgbn.core.problems import InputError, Problem, did_you_mean
from sgbn.core.types import Indices
from sgbn.core.validation import ANYTHING, TRUTH, Label, Parameters, Whole
from sgbn.prepare.columns import COLUMNS, NamedColumnTransformer, Names, Table, as_names, labels_of
from sgbn.prepare.mixed import fit_mixed


class CovariateRegressor(NamedColumnTransformer):
    """Remove the effects of covariates from every region.

    The covariates are columns of X, and this step takes these columns out of X. A numeric column,
    for example of 0 and 1, is used as it is. A column of text, truth values or categories becomes
    one indicator for each level except the first. The step removes ``slope * (covariate - training
    mean)``, so that each region keeps its training mean. Slopes and means are learned in `fit`,
    from the training rows only.

    Effects are linear, or curves if the covariates are named in `smooth`. Curves are penalised
    cubic splines, the same as in `SiteHarmonizer`. If a value lies outside the training range, its
    effect is the effect at the nearer end of the range.

    If a category did not occur in training, the effect of that covariate is taken as its training
    average, and a `DataWarning` names the category. If a covariate does not vary in training, or
    if other covariates determine it, its slope is not unique: the least-squares solution with the
    smallest norm is used, with a warning.

    Parameters
    ----------
    covariates : sequence of column names
        Columns of the covariates. For an array, positions of columns.
    smooth : sequence of column names
        The names in `covariates` whose effects are curves.
    smooth_df : int
        Number of B-splines of each curve, at least 5. If a covariate has fewer different values in
        training, its effect is linear, with a `DataWarning`.
    reference : group label, optional
        Learn the slopes only from the training rows with ``y == reference``, for example from the
        controls. The change that a disease makes to ageing then stays in the values of the
        patients. A category that does not occur in the reference group counts as one that did not
        occur in training.
    within_groups : bool
        Learn the slopes from rows that are centred within their group. A difference between the
        means of the groups is then not mistaken for an effect of a covariate that differs between
        them. y is used in `fit` only: `transform` does not know the groups.

    Attributes
    ----------
    coef_ : array of shape (design columns, regions)
        Slopes per unit of the covariate. For a smooth covariate, per unit of its design columns.
    design_names_ : list of str
        Names of the design columns, such as ``age`` or ``sex=M``.
    design_mean_ : array of shape (design columns,)
        Training mean of each design column, which is subtracted from it.
    n_rows_ : int
        Number of training rows from which the slopes were learned.
    n_features_in_, feature_names_in_
        Number and names of the columns of X in `fit`.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"insula": [2.0, 3.0, 4.0, 5.0], "age": [20, 30, 40, 50]})
    >>> CovariateRegressor(covariates=["age"]).fit_transform(X)["insula"].round(6).tolist()
    [3.5, 3.5, 3.5, 3.5]
    """

    _consumes: ClassVar[tuple[str, ...]] = ("covariates",)
    _parameters: ClassVar[Parameters] = {
        "covariates": COLUMNS,
        "smooth": ANYTHING,  # compared with `covariates` in fit
        "smooth_df": Whole(MIN_SPLINES),
        "reference": ANYTHING,
        "within_groups": TRUTH,
    }

    def __init__(
        self,
        covariates: Names = (),
        *,
        smooth: Names = (),
        smooth_df: int = SMOOTH_DF,
        reference: Label | None = None,
        within_groups: bool = False,
    ) -> None:
        self.covariates = covariates
        self.smooth = smooth
        self.smooth_df = smooth_df
        self.reference = reference
        self.within_groups = within_groups

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Learn the slopes of the covariates.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_columns)
            A table with the regions and the covariates.
        y : array-like of shape (n_samples,), optional
            Group of each row. Required with `reference` or `within_groups`, otherwise not used.

        Returns
        -------
        self
        """
        table = self._open(X)
        rows, codes = self._training(y, len(table.values))
        design = learn_design(table.named, rows, as_names(self.smooth), self.smooth_df)
        check_enough_rows(len(rows), len(np.unique(codes)), design)
        D, values = design.rows(table.named.iloc[rows]), table.values[rows]
        # The penalty of a curve is estimated too, for each region.
        if design.smooth:
            slopes = fit_mixed(D, values, codes, design.smooth).slopes
        else:
            slopes = within_group_slopes(D, values, codes)
        _warn_about_rank(slopes, design)
        self._design = design
        self.coef_, self.n_rows_ = slopes.coef, len(rows)
        self.design_names_, self.design_mean_ = design.names, design.means
        return self

    def _check_together(self) -> None:
        if self.reference is not None and self.within_groups:
            raise InputError("regressor.reference").says(
                "{reference=} learns the slopes from one group, {within_groups=True} from all",
                "Give only one of them.",
            )

    def _training(self, y: Any, n_rows: int) -> tuple[Indices, Indices]:
        """Return the rows from which slopes are learned, and the group of each as a number."""
        rows = np.arange(n_rows)
        if self.reference is None and not self.within_groups:
            return rows, np.zeros(n_rows, np.intp)
        if y is None:
            raise InputError("regressor.groups").says(
                "{reference=} and {within_groups=True} need the groups",
                "Call fit(X, y) with one label per row.",
            )
        codes, groups = labels_of(y, n_rows)
        if self.reference is None:
            return rows, codes
        wanted = np.flatnonzero(groups == self.reference)
        if not len(wanted):
            near = did_you_mean(self.reference, sorted(groups.tolist(), key=str))
            raise InputError("groups.unknown", group=self.reference, near=near).says(
                "no training row is in the reference group {group}", "{near}"
            )
        # With a single group, all rows have the same intercept.
        rows = np.flatnonzero(codes == wanted[0])
        return rows, np.zeros(len(rows), np.intp)

    def _changed(self, table: Table) -> Table:
        # Design columns are centred at their training means, so that a region keeps its mean.
        effect = self._design.rows(table.named) @ self.coef_
        return replace(table, values=table.values - effect)


def _warn_about_rank(slopes: Slopes, design: CovariateColumns) -> None:
    if len(slopes.constant):
        Problem("covariate.constant", names=design.covariates_of(slopes.constant)).warn(
            "covariates, or levels of them, that do not vary in training: {names}",
            "Nothing is removed for them. Drop them, or merge rare levels.",
        )
    # This is not an error, because the joint effect of these covariates is well defined.
    if len(slopes.collinear):
        Problem("covariate.collinear", names=design.covariates_of(slopes.collinear)).warn(
            "covariates determine each other (collinear): {names}",
            "Their joint effect is removed, but do not interpret separate slopes. Drop one.",
        )
