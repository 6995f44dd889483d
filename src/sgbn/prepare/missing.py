"""The transformer that fills in missing cells, with the imputers of scikit-learn."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

# This import must come before the import of IterativeImputer.
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import (  # type: ignore[attr-defined]
    IterativeImputer,
    KNNImputer,
    SimpleImputer,
)
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sgbn.core.problems import InputError, Problem
from sgbn.core.types import Array
from sgbn.core.validation import OneOf, Parameters
from sgbn.prepare.columns import (
    COLUMNS,
    Name,
    NamedColumnTransformer,
    Names,
    Table,
    as_names,
    filled_labels,
)
from sgbn.prepare.covariates import is_categorical, numeric_cells

MIN_CELLS_PER_SITE = 5  # known cells of a region: with fewer, the median of all sites is used
MAX_PREDICTORS = 20  # regions that predict a missing one: time grows with the cube of their number


class RegionImputer(NamedColumnTransformer):
    """Fill in missing cells from the training rows.

    Gaps of regions are filled by the strategy, gaps of numeric covariates by the median, and gaps
    of categorical covariates by the most frequent level. Covariates and site stay in X. Cells that
    are not missing keep their values, but numeric covariates are returned as floats.

    If `site` is named, the strategy works on differences from the median of each site, so that a
    cell is filled in at the level of its site. The median over all sites is used instead for a
    site that training did not have, and for a region that is known for fewer than five subjects of
    the site.

    Parameters
    ----------
    strategy : {"median", "mean", "knn", "iterative"}
        How gaps of regions are filled. "median" and "mean" use the median or mean of the column,
        "knn" uses the mean of the five nearest training subjects, and "iterative" repeatedly
        predicts each region by regression on other regions. "knn" and "iterative" standardise the
        regions.
    covariates : sequence of column names
        Columns of the covariates. For an array, positions of columns.
    site : column name, optional
        Column of the site of each subject. A missing site is an error, because it cannot be
        guessed reliably.
    passthrough : sequence of column names
        Columns that are not regions and that this step does not use. They stay in X.

    Attributes
    ----------
    n_missing_ : Series
        Number of missing cells of each column in training.
    n_imputed_ : int
        Number of missing cells of all columns in training.
    n_features_in_, feature_names_in_
        Number and names of the columns of X in `fit`.
    """

    _accepts_gaps = True
    _parameters: ClassVar[Parameters] = {
        "strategy": OneOf("median", "mean", "knn", "iterative"),
        "covariates": COLUMNS,
        "site": COLUMNS,
        "passthrough": COLUMNS,
    }

    def __init__(
        self,
        strategy: str = "median",
        *,
        covariates: Names = (),
        site: Name | None = None,
        passthrough: Names = (),
    ) -> None:
        self.strategy = strategy
        self.covariates = covariates
        self.site = site
        self.passthrough = passthrough

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Learn from the training rows what to fill in.

        Parameters
        ----------
        X : DataFrame or array of shape (n_samples, n_columns)
            A table with the regions, the covariates and the site.
        y : ignored
            Not used.

        Returns
        -------
        self
        """
        table = self._open(X)
        self.n_missing_ = self._count(table)
        self.n_imputed_ = int(self.n_missing_.sum())
        self._centres = _site_medians(table, self._site)
        # Differences from the site's median are used, so that unequal sites do not blur a region.
        self._imputer = _fit_imputer(self.strategy, table.values - self._levels(table))
        # A simple filling is enough for covariates: it only keeps their rows in the analysis.
        self._fillings = {name: _filling(table.named[name]) for name in as_names(self.covariates)}
        return self

    def _count(self, table: Table) -> pd.Series[int]:
        gaps = np.hstack([np.isnan(table.values), table.named.isna().to_numpy()])
        counts = pd.Series(gaps.sum(axis=0), index=[*table.labels, *table.named.columns])
        empty = counts.index[counts == len(table.values)]
        if len(empty):
            raise InputError("columns.empty", columns=empty).says(
                "{columns:column has/columns have} no value in any training row: {columns}",
                "Leave them out.",
            )
        return counts

    def _levels(self, table: Table) -> Array:
        """Return the medians of the regions at the site of each row; 0 if no site is named."""
        if self._site is None:
            return np.zeros((len(table.values), 1))
        rest = self._centres[None]
        sites = filled_labels(table.named[self._site])
        return np.array([self._centres.get(site, rest) for site in sites])

    def _changed(self, table: Table) -> Table:
        named = table.named.copy()
        for name, filling in self._fillings.items():
            named[name] = _filled(named[name], filling)
        levels = self._levels(table)
        filled = table.values - levels
        # The imputers are slow even for tables without gaps.
        if np.isnan(filled).any():
            filled = self._imputer.transform(filled)
            if "standardise" in self._imputer.named_steps:
                filled = self._imputer.named_steps["standardise"].inverse_transform(filled)
        # Known cells are copied, because subtracting and adding a median changes the last digits.
        values = np.where(np.isnan(table.values), filled + levels, table.values)
        return replace(table, values=values, named=named)


def _site_medians(table: Table, site: Any) -> dict[Any, Array]:
    """Map each site to the training medians of the regions, and None to the medians of all rows."""
    everywhere = np.nanmedian(table.values, axis=0)
    medians: dict[Any, Array] = {None: everywhere}
    if site is None:
        return medians
    for name, rows in table.named.groupby(site, observed=True).indices.items():
        site_values = table.values[rows]
        # Each region is judged separately: a site may have one of them and lack another.
        enough = np.count_nonzero(~np.isnan(site_values), axis=0) >= MIN_CELLS_PER_SITE
        medians[name] = everywhere.copy()
        if enough.any():
            medians[name][enough] = np.nanmedian(site_values[:, enough], axis=0)
    return medians


def _fit_imputer(strategy: str, values: Array) -> Pipeline:
    if strategy in ("median", "mean"):
        return Pipeline([("impute", SimpleImputer(strategy=strategy))]).fit(values)
    imputer: KNNImputer | IterativeImputer = KNNImputer()
    if strategy == "iterative":
        nearest = MAX_PREDICTORS if values.shape[1] > MAX_PREDICTORS + 1 else None
        imputer = IterativeImputer(n_nearest_features=nearest, random_state=0)
    # Neighbours and ridge penalties depend on units, and regions may have different units.
    pipeline = Pipeline([("standardise", StandardScaler()), ("impute", imputer)])
    with warnings.catch_warnings():
        # The warning below says this too, with a remedy.
        warnings.simplefilter("ignore", ConvergenceWarning)
        pipeline.fit(values)
    if isinstance(imputer, IterativeImputer) and imputer.n_iter_ >= imputer.max_iter:
        Problem("imputer.rounds", n=imputer.n_iter_).warn(
            "iterative imputation did not converge in {n:round}",
            "Its cells can be used. Compare with {strategy='knn'}, which has no rounds.",
        )
    return pipeline


class Filling(NamedTuple):
    """The value for missing cells of a covariate: its most frequent level, or its median."""

    is_categorical: bool
    value: Any


def _filling(cells: pd.Series[Any]) -> Filling:
    if is_categorical(cells):
        known = np.asarray(cells.dropna(), object)[:, None]
        return Filling(True, SimpleImputer(strategy="most_frequent").fit(known).statistics_[0])
    known = numeric_cells(cells)[:, None]
    return Filling(False, SimpleImputer(strategy="median").fit(known).statistics_[0])


def _filled(cells: pd.Series[Any], filling: Filling) -> pd.Series[Any]:
    if not filling.is_categorical:
        values = numeric_cells(cells)
        return pd.Series(np.where(np.isnan(values), filling.value, values), index=cells.index)
    gaps = cells.isna().to_numpy()
    if not gaps.any():
        return cells
    filled = cells.copy()
    # A category that only occurred in training must be added before it can be assigned.
    if isinstance(cells.dtype, pd.CategoricalDtype) and filling.value not in cells.cat.categories:
        filled = cells.cat.add_categories([filling.value])
    filled[gaps] = filling.value
    return filled
