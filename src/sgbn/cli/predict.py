"""`sgbn predict`: groups of new subjects by a model that was saved."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.commands import add_command, options_of
from sgbn.cli.options import TABLE, add_options
from sgbn.exceptions import InputError, counted, listed, warn

if TYPE_CHECKING:
    import pandas as pd

FAR_SD = 10  # standard deviations of training: a cell farther out is hardly in the same unit
READING = {  # options of reading a table, and what their help is here, if another
    "id": "column of the subjects' names (found)",
    "site": "column of the site, if the model calls it otherwise",
    "sheet": "sheet of an Excel file by name or number, the first is 1",
    **dict.fromkeys(("participants", "missing", "delimiter", "decimal"), ""),
}


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `predict` to the subcommands."""
    parser = add_command(commands, "predict", run)
    add_options(parser, options_of("predict"))
    # The options of `sgbn compare`, so that a table is read in the same way.
    known = {option.name: option for option in TABLE}
    reading = [
        replace(known[name], help=text or known[name].help) for name, text in READING.items()
    ]
    add_options(parser.add_argument_group("columns, rows and files"), reading)


def run(arguments: argparse.Namespace) -> None:
    """Load, read, predict, write."""
    from sgbn.io import load, read_inputs, write_csv

    if arguments.out is not None and arguments.out.is_dir():
        raise InputError(f"{arguments.out} is a folder. Give a file in it (--out).")
    model = load(arguments.model)
    if not hasattr(model, "predict"):
        raise InputError(
            f"{str(arguments.model)!r} holds a {type(model).__name__}, which predicts no group. "
            "Give a classifier, such as model.sgbn of `sgbn compare`; in Python, sgbn.load reads "
            "this file."
        )
    options = {name: getattr(arguments, name) for name in READING}
    rows = read_inputs(model, arguments.table, **options)
    _warn_about_rows(rows)
    table = predictions(model, rows, explain=arguments.explain)
    if arguments.out is not None:
        write_csv(table, arguments.out)
        print(f"Wrote {counted(len(table), 'prediction')} to {arguments.out}.")
        return
    with tempfile.TemporaryDirectory() as folder:  # write_csv makes formulas inert
        print(write_csv(table, Path(folder) / "table.csv").read_text(encoding="utf-8"), end="")


def predictions(model: Any, rows: pd.DataFrame, *, explain: bool = False) -> pd.DataFrame:
    """Predicted group of each row, with the probabilities that the model gives."""
    import numpy as np
    import pandas as pd
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    is_pipeline = isinstance(model, Pipeline)
    classifier: Any = model[-1] if is_pipeline else model
    ids = list(rows.index)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # said by name of the subject
            # A pipeline of the classifier alone has no steps before it that could transform.
            values = model[:-1].transform(rows) if is_pipeline and len(model) > 1 else rows
            columns: dict[str, Any] = {"id": ids, "predicted": classifier.predict(values)}
            probabilities = None
            if hasattr(classifier, "predict_proba"):
                probabilities = classifier.predict_proba(values)
                names = [f"probability_{label}" for label in classifier.classes_]
                columns |= dict(zip(names, probabilities.T, strict=True))
            _check_finite(classifier, values, probabilities, ids)
            # Only after a scaler are cells in standard deviations of training.
            if is_pipeline and len(model) > 1 and isinstance(model[-2], StandardScaler):
                _warn_about_far(values)
            if explain:
                columns |= _parts(classifier, values, probabilities)
    # A file may hold steps that were not fitted together: that is not an error of sgbn.
    except (TypeError, AttributeError, LookupError) as error:
        raise InputError(
            f"the parts of the model do not fit together ({error!s:.120}). Save it anew."
        ) from error
    return pd.DataFrame(columns)


def _warn_about_rows(rows: pd.DataFrame) -> None:
    """Say which cells are filled in, and that subjects have no names."""
    gaps = rows.isna()
    if gaps.to_numpy().any():
        # Of a single subject every gap is a whole column.
        empty = listed(list(rows.columns[gaps.all()])) if len(rows) > 1 else ""
        warn(
            f"{counted(int(gaps.to_numpy().sum()), 'missing cell')} of "
            f"{counted(int(gaps.any(axis=1).sum()), 'subject')}: filled in as in training"
            + (f"; all are of {empty}, about which the table says nothing." if empty else ".")
        )
    # So `read_inputs` names rows without a column of names.
    if all(str(name).startswith("row ") for name in rows.index):
        warn(
            "no column holds the names of the subjects, so rows are numbered. Name the column with "
            "--id."
        )


def _warn_about_far(values: pd.DataFrame) -> None:
    """Warn of standardised cells that are far from the training data."""
    import numpy as np

    sizes = np.abs(np.asarray(values, dtype=float))
    if sizes.max(initial=0.0) > FAR_SD:
        row, column = divmod(int(sizes.argmax()), sizes.shape[1])
        warn(
            f"{values.columns[column]!r} of subject {values.index[row]!r} is "
            f"{sizes[row, column]:.3g} standard deviations from the mean of training "
            f"({counted(int((sizes > FAR_SD).sum()), 'cell is', 'cells are')} more than {FAR_SD}): "
            "such a prediction means little. Check the units of the table."
        )


def _check_finite(classifier: Any, values: Any, probabilities: Any, ids: list[Any]) -> None:
    """Raise InputError if a prediction is NaN or infinite."""
    import numpy as np

    scores = probabilities
    if scores is None:
        # Without either, predicted labels that are numbers are all that can be looked at.
        scores = getattr(classifier, "decision_function", classifier.predict)(values)
    # Scores have one column per class, or are a vector.
    bad = ~np.isfinite(scores).reshape(len(ids), -1).all(axis=1)
    if bad.any():
        raise InputError(
            f"the prediction of subject {ids[int(bad.argmax())]!r} is not a finite number "
            f"({counted(int(bad.sum()), 'such subject')}): cells of the table, or numbers of the "
            "model, are too large to compute with. Correct the cells, or save the model anew."
        )


def _parts(classifier: Any, values: pd.DataFrame, probabilities: Any) -> dict[str, Any]:
    """Columns of the largest parts: name of each, and what it adds to the log-likelihood ratio."""
    from sgbn.comparison.cross_validation import SHOWN, largest_parts

    if probabilities is None or not hasattr(classifier, "explain"):
        raise InputError(
            f"{type(classifier).__name__} cannot explain its predictions. Leave out --explain, or "
            "give a model with SGBNClassifierCV or one of its kind."
        )
    parts = largest_parts(classifier, values, probabilities)
    columns: dict[str, Any] = {}
    for k in range(SHOWN):
        pairs = zip(parts["sources"][:, k], parts["targets"][:, k], strict=True)
        # A part without a source is the region by itself: its mean or its variance.
        columns[f"part_{k + 1}"] = [
            f"{source} -> {target}" if source else target for source, target in pairs
        ]
        columns[f"value_{k + 1}"] = parts["values"][:, k]
    return columns
