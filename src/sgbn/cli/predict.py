"""`sgbn predict` predicts the groups of new subjects with a saved model."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.options import TABLE, add_command, add_options, options_of
from sgbn.core.problems import InputError, Problem, counted

if TYPE_CHECKING:
    import pandas as pd


FAR_SD = 10  # in standard deviations of training; a cell farther away may have another unit
READING = {  # options for reading a table -> their help for this command; "" if it is the same
    "id": "column with the subjects' names (default: found in the table)",
    "site": "column with the site, if its name differs from the name in the training table",
    "sheet": "sheet of an Excel file, by name or by number from 1 upwards",
    **dict.fromkeys(("participants", "missing", "delimiter", "decimal"), ""),
}


def add_predict(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `predict` to the subcommands."""
    parser = add_command(commands, "predict", run_predict)
    add_options(parser, options_of("predict"))
    # The same options as `sgbn compare`, so that a table is read in the same way.
    known = {option.name: option for option in TABLE}
    reading = [
        replace(known[name], help=text or known[name].help) for name, text in READING.items()
    ]
    add_options(parser.add_argument_group("columns, rows and files"), reading)


def run_predict(arguments: argparse.Namespace) -> None:
    """Load the model, read the table, and write or print the predictions."""
    from sgbn.write.model_files import load, read_inputs
    from sgbn.write.tables import write_csv

    if arguments.out is not None and arguments.out.is_dir():
        raise InputError("out.folder", folder=arguments.out).says(
            "{folder} is a folder", "Give a file in it ({out=})."
        )
    model = load(arguments.model)
    if not hasattr(model, "predict"):
        raise InputError(
            "model.no-classifier", file=arguments.model, kind=type(model).__name__
        ).says(
            "{file} holds a {kind:s}, which cannot predict groups",
            "Give a classifier, such as model.sgbn of `sgbn compare`.",
        )
    options = {name: getattr(arguments, name) for name in READING}
    rows = read_inputs(model, arguments.table, **options)
    _warn_about_rows(rows)
    table = predictions(model, rows, explain=arguments.explain)
    if arguments.out is not None:
        write_csv(table, arguments.out)
        print(f"Wrote {counted(len(table), 'prediction')} to {arguments.out}.")
        return
    # Through a file, because only `write_csv` makes spreadsheet formulas in names harmless.
    with tempfile.TemporaryDirectory() as folder:
        print(write_csv(table, Path(folder) / "table.csv").read_text(encoding="utf-8"), end="")


def predictions(model: Any, rows: pd.DataFrame, *, explain: bool = False) -> pd.DataFrame:
    """Return the predicted group of each row, and the probabilities of all groups.

    Parameters
    ----------
    model : classifier or Pipeline
        The fitted model; the last step of a pipeline is the classifier.
    rows : DataFrame
        The columns that the model was fitted on, with the names of the subjects as index.
    explain : bool
        Whether to add the largest contributions to each prediction.
    """
    import numpy as np
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    from sgbn.write.model_decoding import MISFITS
    from sgbn.write.tables import frame_of

    is_pipeline = isinstance(model, Pipeline)
    classifier: Any = model[-1] if is_pipeline else model
    ids = list(rows.index)
    try:
        # numpy's warnings are hidden: `_check_finite` names the subject instead.
        with np.errstate(over="ignore", invalid="ignore"):
            # A pipeline with only a classifier has no other steps that transform the rows.
            values = model[:-1].transform(rows) if is_pipeline and len(model) > 1 else rows
            columns: dict[str, Any] = {"id": ids, "predicted": classifier.predict(values)}
            probabilities = None
            if hasattr(classifier, "predict_proba"):
                probabilities = classifier.predict_proba(values)
                names = [f"probability_{label}" for label in classifier.classes_]
                columns |= dict(zip(names, probabilities.T, strict=True))
            _check_finite(classifier, values, probabilities, ids)
            # Only a scaler gives cells in standard deviations of the training data.
            if is_pipeline and len(model) > 1 and isinstance(model[-2], StandardScaler):
                _warn_about_far(values)
            if explain:
                columns |= _parts(classifier, values, probabilities)
    except InputError as error:
        if error.problem.code != "scores.overflow":
            raise
        raise _infinite([ids[error.problem.values["row"]]]) from error
    # A file may hold steps that were not fitted together, which is not an error in sgbn.
    except MISFITS as error:
        raise InputError("model.steps", error=error).says(
            "the steps of the model do not fit together ({error})", "Fit it and save it again."
        ) from error
    return frame_of(columns)


def _warn_about_rows(rows: pd.DataFrame) -> None:
    """Warn of missing cells, and of subjects without names."""
    gaps = rows.isna()
    if gaps.to_numpy().any():
        # With a single subject, every missing cell is a whole column.
        empty = list(rows.columns[gaps.all()]) if len(rows) > 1 else []
        n, of = int(gaps.to_numpy().sum()), int(gaps.any(axis=1).sum())
        Problem("predict.gaps", n=n, of=of).warn(
            "filled in {n:missing cell} of {of:subject}, as in training"
        )
        if empty:
            Problem("predict.empty-columns", names=empty).warn(
                "the table has no value at all in {names}", "Predictions use means of training."
            )
    # `read_inputs` gives rows these names if no column has names.
    if all(str(name).startswith("row ") for name in rows.index):
        Problem("predict.no-ids").warn(
            "no column holds the names of the subjects, so rows are numbered",
            "Name the column ({id=}).",
        )


def _warn_about_far(values: pd.DataFrame) -> None:
    """Warn if standardised cells are far from the training data."""
    import numpy as np

    sizes = np.abs(np.asarray(values, dtype=float))
    if sizes.max(initial=0.0) > FAR_SD:
        row, column = divmod(int(sizes.argmax()), sizes.shape[1])
        n, sds = int((sizes > FAR_SD).sum()), sizes[row, column]
        where = {"region": values.columns[column], "subject": values.index[row]}
        Problem("predict.far", n=n, most=FAR_SD, sds=sds, **where).warn(
            "{n:cell is/cells are} more than {most} standard deviations from the mean in training, "
            "first {region} of {subject} ({sds:.3g})",
            "Predictions from such cells mean little. Check the units of the table.",
        )


def _check_finite(classifier: Any, values: Any, probabilities: Any, ids: list[Any]) -> None:
    """Raise InputError if a prediction is NaN or infinite."""
    import numpy as np

    scores = probabilities
    if scores is None:
        # Without scores, only predicted labels that are numbers can be checked.
        scores = getattr(classifier, "decision_function", classifier.predict)(values)
    # Scores have one column per class, or are a vector.
    bad = ~np.isfinite(scores).reshape(len(ids), -1).all(axis=1)
    if bad.any():
        raise _infinite([name for name, is_bad in zip(ids, bad, strict=True) if is_bad])


def _infinite(subjects: list[Any]) -> InputError:
    return InputError("predict.infinite", subjects=subjects).says(
        "the prediction of {subjects} is not a finite number: cells of the table, or numbers of "
        "the model, are too large",
        "Correct the cells, or fit and save the model again.",
    )


def _parts(classifier: Any, values: pd.DataFrame, probabilities: Any) -> dict[str, Any]:
    """Return columns with the largest parts of the log-likelihood ratio: names and values.

    The ratio compares the predicted group with the second most probable group.
    """
    from sgbn.comparison.steps.cross_validation import SHOWN, largest_parts

    if probabilities is None or not hasattr(classifier, "explain"):
        raise InputError("predict.unexplained", kind=type(classifier).__name__).says(
            "{kind:s} cannot explain its predictions",
            "Leave out {explain=}, or give a model of SGBN networks, such as SGBNClassifierCV.",
        )
    parts = largest_parts(classifier, values, probabilities)
    columns: dict[str, Any] = {}
    for k in range(SHOWN):
        pairs = zip(parts["sources"][:, k], parts["targets"][:, k], strict=True)
        # A part without a source is about the region by itself: its mean or its variance.
        columns[f"part_{k + 1}"] = [
            f"{source} -> {target}" if source else target for source, target in pairs
        ]
        columns[f"value_{k + 1}"] = parts["values"][:, k]
    return columns
