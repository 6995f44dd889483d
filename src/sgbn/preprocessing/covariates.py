"""Effects of covariates taken out of the regions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from sgbn.exceptions import InputError, listed, warn
from sgbn.parameters import ANYTHING, TRUTH, Parameters, Whole
from sgbn.preprocessing.columns import (
    COLUMNS,
    NamedColumnTransformer,
    Names,
    Table,
    as_names,
    labels_of,
)
from sgbn.preprocessing.design import (
    Design,
    Slopes,
    check_enough_rows,
    learn_design,
    within_group_slopes,
)
from sgbn.preprocessing.mixed import fit_mixed
from sgbn.structure.smooth import MIN_SPLINES, SMOOTH_DF
from sgbn.types import Indices
from sgbn.validation import Label


class CovariateRegressor(NamedColumnTransformer):
    """Remove the effects of covariates from every region.

    The covariates are columns of X and are taken out of it. A numeric column (0 and 1 among them)
    enters as it is; a column of text, truth values or categories enters by one indicator for each
    level but the first. What is removed is ``slope * (covariate - training mean)``, so that each
    region keeps its training mean. Everything is learned in `fit`, from the training rows alone.

    Effects are linear, or curves if they are named in `smooth`: penalised cubic splines, the same
    as in `SiteHarmonizer`. A value outside of the training range has the effect at its end.

    A category that training did not have is taken as the training average of that covariate, and
    a `DataWarning` names it. A covariate that does not vary in training, or that others determine,
    has no slope of its own: the least-squares solution of least norm is taken, with a warning.

    Parameters
    ----------
    covariates : sequence of column names
        For an array, positions of columns.
    smooth : sequence of column names
        Those of `covariates` whose effects are curves.
    smooth_df : int
        B-splines of each curve, 5 or more. Where training has fewer different values of a
        covariate, its effect is linear, with a `DataWarning`.
    reference : group label, optional
        Learn the slopes from the training rows with ``y == reference`` only, such as the controls:
        what a disease does to ageing is then left in the patients. A category that the reference
        group lacks is one that training did not have.
    within_groups : bool
        Learn the slopes from rows centred within their group, so that a difference of the groups
        in means is not taken for an effect of a covariate that differs between them. y is used in
        `fit` only; `transform` does not know the group.

    Attributes
    ----------
    coef_ : array of shape (design columns, regions)
        Slopes, per unit of the covariate; of a smooth one, per unit of its design columns.
    design_names_ : list of str
        Names of the design columns: ``age``, ``sex=M``.
    design_mean_ : array of shape (design columns,)
        Training means, at which they are centred.
    n_rows_ : int
        Training rows that the slopes come from.
    n_features_in_, feature_names_in_
        Columns of X in `fit`.

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
        """Learn the slopes.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_columns)
            Regions and covariates.
        y : array-like of shape (n_samples,), optional
            Groups. Used with `reference` or `within_groups` only, and then required.

        Returns
        -------
        self
        """
        table = self._open(X)
        rows, codes = self._training(y, len(table.values))
        design = learn_design(table.named, rows, as_names(self.smooth), self.smooth_df)
        which = "training rows" if self.reference is None else f"rows of {self.reference!r}"
        check_enough_rows(len(rows), len(np.unique(codes)), design, which)
        D, values = design.rows(table.named.iloc[rows]), table.values[rows]
        # curves are penalised: one more thing to estimate, by region
        if design.smooth:
            slopes = fit_mixed(D, values, codes, design.smooth).slopes
        else:
            slopes = within_group_slopes(D, values, codes)
        _warn_about_rank(slopes, design, which)
        self._design = design
        self.coef_, self.n_rows_ = slopes.coef, len(rows)
        self.design_names_, self.design_mean_ = design.names, design.means
        return self

    def _check_together(self) -> None:
        if self.reference is not None and self.within_groups:
            raise InputError(
                "reference learns the slopes from one group, within_groups from all: give one of "
                "them."
            )

    def _training(self, y: Any, n_rows: int) -> tuple[Indices, Indices]:
        """Return the rows that slopes are learned from, and the number of the intercept of each."""
        rows = np.arange(n_rows)
        if self.reference is None and not self.within_groups:
            return rows, np.zeros(n_rows, np.intp)
        if y is None:
            why = "within_groups" if self.reference is None else f"reference={self.reference!r}"
            raise InputError(f"{why} needs the groups: call fit(X, y) with one label per row.")
        codes, groups = labels_of(y, n_rows)
        if self.reference is None:
            return rows, codes
        wanted = np.flatnonzero(groups == self.reference)
        if not len(wanted):
            raise InputError(
                f"no training row belongs to the reference group {self.reference!r}; y has the "
                f"groups {listed(sorted(groups.tolist(), key=str))}. Give one of these."
            )
        # one group has one intercept: nothing to centre within
        rows = np.flatnonzero(codes == wanted[0])
        return rows, np.zeros(len(rows), np.intp)

    def _changed(self, table: Table) -> Table:
        # rows are centred at training means, so that each region keeps its own
        effect = self._design.rows(table.named) @ self.coef_
        return replace(table, values=table.values - effect)


def _warn_about_rank(slopes: Slopes, design: Design, which: str) -> None:
    if len(slopes.constant):
        warn(
            f"covariate {listed(design.covariates_of(slopes.constant))} has a level or value that "
            f"does not vary among the {which}, so that nothing is removed for it. Drop it, or "
            "merge rare levels."
        )
    # their joint effect is well defined, so that this is not an error
    if len(slopes.collinear):
        warn(
            f"covariates {listed(design.covariates_of(slopes.collinear))} determine each other "
            f"among the {which} (collinear). Their joint effect is removed, but the slopes of "
            "each mean little. Drop one."
        )
