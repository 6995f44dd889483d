"""`sgbn predict`: groups of new subjects by a model that was saved."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sgbn.cli.help import examples
from sgbn.cli.tables import add_file_options
from sgbn.exceptions import InputError

if TYPE_CHECKING:
    import pandas as pd

READING = ("id", "site", "participants", "sheet", "delimiter", "decimal", "missing")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `predict` to the subcommands."""
    parser = commands.add_parser(
        "predict",
        help="give new subjects a group, by a model that `sgbn compare` wrote",
        description="Reads the columns that a model was fitted on from a table, prepares them as "
        "in its training, and prints as CSV: id, predicted group, and the probability of each "
        "group. Other columns of the table play no part.",
        epilog=examples(
            {
                "sgbn predict results/model.sgbn new.csv --out predicted.csv": "a group for each "
                "subject, and how probable it is",
                "sgbn predict results/model.sgbn new.csv --explain": "with what speaks for it",
            }
        ),
    )
    parser.add_argument(
        "model", type=Path, metavar="MODEL", help="file such as model.sgbn, or one of sgbn.save"
    )
    parser.add_argument(
        "table",
        type=Path,
        metavar="TABLE",
        help="CSV, TSV, Excel or Parquet file, one row a subject, with the columns of training",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="CSV file to write (printed)")
    parser.add_argument(
        "--explain",
        action="store_true",
        help="add the regions and edges that count most for the predicted group, over the next",
    )
    _add_reading(parser.add_argument_group("columns, rows and files"))
    parser.set_defaults(run=run, after_interrupt="Nothing was written.")


def _add_reading(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--id", metavar="COLUMN", help="column of the subjects' names (found)")
    group.add_argument(
        "--site", metavar="COLUMN", help="column of the site, if the model calls it otherwise"
    )
    group.add_argument("--sheet", help="sheet of an Excel file by name or number, the first is 1")
    add_file_options(group)


def run(arguments: argparse.Namespace) -> None:
    """Load, read, predict, write."""
    from sgbn.io import load, read_inputs, write_csv

    model = load(arguments.model)
    if not hasattr(model, "predict"):
        raise InputError(
            f"{str(arguments.model)!r} holds a {type(model).__name__}, which predicts no group. "
            "Give a classifier, such as model.sgbn of `sgbn compare`; in Python, sgbn.load reads "
            "this file."
        )
    options = {name: getattr(arguments, name) for name in READING}
    rows = read_inputs(model, arguments.table, **options)
    table = predictions(model, rows, explain=arguments.explain)
    if arguments.out is not None:
        write_csv(table, arguments.out)
        print(f"Wrote {len(table)} predictions to {arguments.out}.")
        return
    with tempfile.TemporaryDirectory() as folder:  # write_csv makes formulas inert
        print(write_csv(table, Path(folder) / "table.csv").read_text(encoding="utf-8"), end="")


def predictions(model: Any, rows: pd.DataFrame, *, explain: bool = False) -> pd.DataFrame:
    """Predicted group of each row, with the probabilities that the model gives."""
    import pandas as pd
    from sklearn.pipeline import Pipeline

    is_pipeline = isinstance(model, Pipeline)
    classifier: Any = model[-1] if is_pipeline else model
    try:
        values = model[:-1].transform(rows) if is_pipeline and len(model) > 1 else rows
        columns: dict[str, Any] = {"id": list(rows.index), "predicted": classifier.predict(values)}
        probabilities = None
        if hasattr(classifier, "predict_proba"):
            probabilities = classifier.predict_proba(values)
            names = [f"probability_{label}" for label in classifier.classes_]
            columns |= dict(zip(names, probabilities.T, strict=True))
        if explain:
            columns |= _parts(classifier, values, probabilities)
    except (TypeError, AttributeError, LookupError) as error:
        raise InputError(
            f"the parts of the model do not fit together ({error!s:.120}). Save it anew."
        ) from error
    return pd.DataFrame(columns)


def _parts(classifier: Any, values: pd.DataFrame, probabilities: Any) -> dict[str, Any]:
    """Columns of the largest parts: what it is, and what it adds to the log-likelihood ratio."""
    from sgbn.comparison.cross_validation import SHOWN, largest_parts

    if probabilities is None or not hasattr(classifier, "explain"):
        raise InputError(
            f"{type(classifier).__name__} has no parts to explain. Leave out --explain, or give a "
            "model with SGBNClassifierCV or one of its kind."
        )
    found = largest_parts(classifier, values, probabilities)
    columns: dict[str, Any] = {}
    for k in range(SHOWN):
        pairs = zip(found["sources"][:, k], found["targets"][:, k], strict=True)
        columns[f"part_{k + 1}"] = [f"{one} -> {other}" if one else other for one, other in pairs]
        columns[f"value_{k + 1}"] = found["values"][:, k]
    return columns
