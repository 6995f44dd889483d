"""Find the columns that a fitted model needs, and read them from a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from sgbn.cohort.atlas import UNKNOWN_LOBE, Atlas, Region
from sgbn.cohort.cohort import Cohort
from sgbn.core.exceptions import InputError, did_you_mean, listed
from sgbn.prepare.columns import NamedColumnTransformer, as_names
from sgbn.prepare.pipeline import regions_table, table_cells
from sgbn.read.cells import RawTable
from sgbn.read.files import Source
from sgbn.read.roles import Options, find_column
from sgbn.read.table import assemble, load_cells


@dataclass(frozen=True)
class Inputs:
    """Columns that a model was fitted on.

    Attributes
    ----------
    columns : tuple of str
        Names of all columns, in the order of the training data.
    covariates : tuple of str
        Names of the columns that are covariates.
    site : str or None
        Name that the column with the sites has in the model. None if the model uses no sites.
    levels : dict of str to tuple
        Labels in the training data, for the site and for each covariate that is a category.
    site_column : str or None
        Name that the column with the sites had in the training table, if it is known.
    """

    columns: tuple[str, ...]
    covariates: tuple[str, ...]
    site: str | None
    levels: dict[str, tuple[Any, ...]]
    site_column: str | None = None

    @property
    def regions(self) -> tuple[str, ...]:
        """Return the names of the columns that are neither a covariate nor the site."""
        return tuple(c for c in self.columns if c not in self.covariates and c != self.site)


def inputs_of(model: Any) -> Inputs:
    """Return the columns that a fitted model was fitted on.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        A model that was fitted on a DataFrame.

    Returns
    -------
    Inputs
        Names and roles of the columns.

    Raises
    ------
    InputError
        If the model was fitted on an array, whose columns have no names.
    """
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    columns = getattr(steps[0], "feature_names_in_", None)
    if columns is None:
        raise InputError(
            "the model was fitted on an array. Its columns have no names, and cannot be found in a "
            "table. Fit it on a DataFrame, or load it in Python and predict arrays."
        )
    named = [step for step in steps if isinstance(step, NamedColumnTransformer)]
    covariates = [
        name
        for step in named
        for parameter in ("covariates", "preserve", "passthrough", "subject")
        for name in as_names(getattr(step, parameter, None))
    ]
    site = next((step._site for step in named if step._site is not None), None)
    return Inputs(
        tuple(columns.tolist()),
        tuple(dict.fromkeys(covariates)),
        site,
        dict(_levels(named, site)),
        getattr(model, "site_column_", None),
    )


def _levels(steps: Iterable[Any], site: str | None) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield name and training labels of each category. The last pair of a name counts."""
    # An imputer has only the label that it fills in. A later step has all labels.
    for step in steps:
        for name, filling in getattr(step, "_fillings", {}).items():
            if filling.is_categorical:
                yield name, (filling.value,)
    for step in steps:
        for covariate in getattr(getattr(step, "_design", None), "covariates", ()):
            if covariate.levels is not None:
                yield covariate.name, covariate.levels
    for step in steps:
        if site is not None and hasattr(step, "_centres"):
            yield site, tuple(label for label in step._centres if label is not None)
        if site is not None and hasattr(step, "sites_"):
            yield site, tuple(step.sites_)


def read_inputs(
    model: Any,
    source: Source,
    *,
    id: str | None = None,
    site: str | None = None,
    participants: Source | None = None,
    sheet: str | int | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    missing: Any = None,
) -> pd.DataFrame:
    """Read the columns that a model needs from a table. All other columns are left out.

    Parameters
    ----------
    model : fitted estimator or Pipeline
        A model that was fitted on a DataFrame, so that its columns have names.
    source, id, participants, sheet, delimiter, decimal, missing
        Table and options with the same meaning as in `read_table`.
    site : str, optional
        Name of the column with the sites, if it differs from its name in the training data.

    Returns
    -------
    DataFrame
        The columns that the model was fitted on, in the same order. The index holds the ids of the
        subjects.
    """
    inputs = inputs_of(model)
    if site is not None and inputs.site is None:
        raise InputError(f"the model was fitted without sites. Leave out site={site!r} (--site).")

    def read(column: str | None) -> tuple[RawTable, Options]:
        options = Options.of(
            id=id,
            covariates=inputs.covariates,
            site=column,
            regions=inputs.regions,
            missing=missing,
            atlas=_atlas_of(inputs),
        )
        marks = {"sheet": sheet, "delimiter": delimiter, "decimal": decimal}
        return load_cells(source, options, **marks), options

    # In a new table, the column of sites may have its name from the training table or the model.
    names = [site] if site is not None else [inputs.site_column or inputs.site, inputs.site]
    table, options = read(names[0])
    if _lacks(table, names[0]) and not _lacks(table, names[-1]):
        table, options = read(names[-1])  # again, because a column of sites is read as text
    _check_columns(table, options, inputs, joined=participants is not None)
    return _rows(assemble(table, options, participants)[0], inputs)


def _atlas_of(inputs: Inputs) -> Atlas:
    """Return an atlas that consists of the regions of the model.

    With a standard atlas, a region of a user's own atlas could be mistaken for a total, such as
    Left-Cerebral-Cortex.
    """
    nowhere = (np.nan,) * 3  # coordinates are not needed, since no figure is drawn
    regions = (Region(name, "", UNKNOWN_LOBE, *nowhere, np.nan) for name in inputs.regions)
    return Atlas("model", "regions of the model", tuple(regions))


def _lacks(table: RawTable, name: str | None) -> bool:
    return name is not None and find_column(table.columns, name) is None


def _check_columns(table: RawTable, options: Options, inputs: Inputs, joined: bool) -> None:
    """Raise InputError with all columns that the table lacks.

    If another table is `joined`, only regions are checked, since covariates may come from there.
    """
    wanted = list(inputs.regions)
    if not joined:
        wanted += [*inputs.covariates, *([options.site] if options.site else [])]
    missing = [name for name in wanted if _lacks(table, name)]
    if missing:
        free = [name for name in table.columns if name not in wanted]
        near = did_you_mean(missing[0], free) if free else ""
        if not near.startswith("Did you mean"):
            near = f"Its columns are {listed(table.columns)}."
        where = (
            " Give the name of the site column (site=, --site)." if options.site in missing else ""
        )
        raise InputError(
            f"{table.name} lacks {len(missing)} of the {len(inputs.columns)} columns that the "
            f"model was fitted on: {listed(missing)}. {near}{where} Rename the columns of the "
            "table as in the model."
        )


def _rows(cohort: Cohort, inputs: Inputs) -> pd.DataFrame:
    """Return the rows with the columns of the model, in its order, and with its labels."""
    table, named = regions_table(cohort), dict(cohort.covariates)
    if inputs.site is not None and cohort.site is not None:
        named[inputs.site] = cohort.site
    for name, column in named.items():
        cells = table_cells(column)
        if name in inputs.levels:
            # The cell "1" becomes the training label 1, which has the same text.
            known = {str(label): label for label in inputs.levels[name]}
            labels = [None if pd.isna(cell) else known.get(str(cell), cell) for cell in cells]
            cells = np.array(labels, object)
        table[name] = cells
    return table[list(inputs.columns)]
