"""Cohorts from tables, and tables from cohorts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.atlases import AtlasLike
from sgbn.cohort import BLOCK, ID, PAIR, PERSON, SITE, Cohort
from sgbn.exceptions import InputError
from sgbn.io.tables.assembly import assemble, load_cells
from sgbn.io.tables.cells import Markers
from sgbn.io.tables.extracted import with_extracted
from sgbn.io.tables.files import PARQUET, Source
from sgbn.io.tables.options import Options
from sgbn.io.tables.raw import MISSING
from sgbn.io.tables.sheets import EXTRA
from sgbn.preprocessing.preparation import check_free, table_cells
from sgbn.runs import write_atomically

GROUP = "group"
DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}

# Control characters and line separators end a cell or a line for some program.
_UNWRITABLE = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


def read_table(
    source: Source,
    *,
    group: str | None = None,
    id: str | None = None,
    covariates: str | Sequence[str] = (),
    smooth: str | Sequence[str] = (),
    site: str | None = None,
    pair: str | None = None,
    subject: str | None = None,
    block: str | None = None,
    regions: str | Sequence[str] | None = None,
    exclude: str | Sequence[str] = (),
    groups: str | Sequence[str] | None = None,
    atlas: AtlasLike | None = None,
    measure: str | Sequence[str] | None = None,
    participants: Source | None = None,
    participants_missing: str = "refuse",
    sheet: str | int | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    missing: Markers = None,
) -> Cohort:
    """Read a table, one row per subject, into a cohort.

    Parameters
    ----------
    source : path or DataFrame
        CSV, TSV or other text (gzipped or not), Excel, Parquet. A DataFrame is not changed.
    group, site : str, optional
        Columns of labels; no cell may be missing. Numbers are labels too.
    id : str, optional
        Column of subject ids, each only once; leading zeros are kept. If not given, a column that
        is called so (``subject_id``, ``participant_id``, ``ID``, ...), else rows are numbered.
    covariates : str or list of str
        Columns of numbers or of labels, never both; cells may be missing. ``eTIV`` finds
        FreeSurfer's other names of it too.
    smooth : str or list of str
        Those of `covariates` whose effects are curves, such as age over the lifespan; those of
        others are linear.
    pair : str, optional
        Column of the person behind each row, where rows are visits and each person has one in
        every group; it may be the id column. Ids that repeat are then told apart by the group, as
        ``"s01 (AD)"``. `review` leaves out who is not there once in every group.
    subject : str, optional
        Column of the person behind each row, where several rows of a person are in one group, such
        as sessions. Rows need ids of their own; without an id column they are numbered. The rows of
        a person are exchanged, halved and cross-validated together.
    block : str, optional
        Column of the family of each row, or of another label of rows that are not independent. It
        may span groups; families are never parted either.
    regions : str or list of str, optional
        Names or patterns (``"lh_*"``), or ``"all"``: every column of numbers that has no other
        role. If not given, the columns that match an atlas; any other column of numbers is then
        an error, until it is named or excluded. Totals such as MeanThickness are never regions.
    exclude : str or list of str
        Names or patterns of columns to leave out.
    groups : list of str, optional
        Keep the rows of these groups alone; those without a group go too.
    atlas : str, path or Atlas, optional
        Name of one of the package, or a table of your own, see `read_atlas`. If not given, the one
        of the package that matches most columns, or the ``atlas.csv`` that ``sgbn extract`` wrote
        beside the table, if that matches more.
    measure : str or list of str, optional
        ``"thickness"``, ``"volume"``, ... where a table has several. Of a list, each region has
        the first that there is.
    participants : path or DataFrame, optional
        A second table with group, covariates or site, such as BIDS ``participants.tsv``; joined
        by id, with or without ``sub-``. Its decimal mark is found by itself.
    participants_missing : {"refuse", "drop"}
        What is done about subjects whom `participants` does not list: an error, or they are left
        out, with a warning that names them.
    sheet : str or int, optional
        Of an Excel file: its name, or its place counted from 0; the first if not given. Text that
        is a number and names no sheet counts from 1, as at the command line.
    delimiter, decimal : str, optional
        Of a text file; found if not given.
    missing : str, number or list, optional
        What stands for a missing cell beside the usual (empty, NA, n/a, NaN, ".", "-", ...). Any
        other number such as -999 that lies far from all values is an error; ``[]`` takes it as
        it is.

    Returns
    -------
    Cohort
        Rows and regions in the order of the table. Its provenance says how it was read, and what
        was left out.

    Raises
    ------
    InputError
        Names the file, column, subject and first bad row, and what to do.
    """
    # All keywords of this function, by their names.
    options = Options.of(**locals())
    table = load_cells(source, options, sheet=sheet, delimiter=delimiter, decimal=decimal)
    options = with_extracted(options, source, table.columns)
    return assemble(table, options, participants)[0]


def write_table(cohort: Cohort, path: str | PathLike[str]) -> None:
    """Write ids, group, site, pair, person, block, covariates and regions as columns.

    `read_table` reads them back, with ``subject="person"`` for the person.

    Parameters
    ----------
    cohort : Cohort
    path : path
        Ends in .csv, .tsv, .txt (tabs), .parquet or .xlsx.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in (*DELIMITERS, *PARQUET, ".xlsx"):
        raise InputError(
            f"{str(path)!r}: a table ends in .csv, .tsv, .parquet or .xlsx. Choose one."
        )
    frame = _whole(cohort)
    try:
        # A reader never sees half a table, even if this process is killed.
        write_atomically(target, lambda stream: _write(frame, stream, suffix))
    except ImportError as error:
        raise InputError(f"{str(path)!r} needs a library that is absent: {EXTRA}.") from error
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from error


def _write(frame: pd.DataFrame, stream: Any, suffix: str) -> None:
    if suffix in PARQUET:
        frame.to_parquet(stream, index=False)
    elif suffix == ".xlsx":
        frame.to_excel(stream, index=False)
    else:
        frame.to_csv(stream, index=False, sep=DELIMITERS[suffix], lineterminator="\n")


def _whole(cohort: Cohort) -> pd.DataFrame:
    """Return all of a cohort as a table that can be read back."""
    # Ids stay text: as numbers, they would lose their leading zeros.
    first: dict[str, Any] = {ID: np.array(cohort.ids, dtype=object)}
    labels = {GROUP: cohort.group, SITE: cohort.site, PAIR: cohort.pair}
    labels |= {PERSON: cohort.person, BLOCK: cohort.block}
    for name, cells in labels.items():
        if cells is not None:
            first[name] = cells.astype(object)
    check_free(cohort, first)
    first |= {name: table_cells(column) for name, column in cohort.covariates.items()}
    for name, column in first.items():
        _check_readable(name, column)
    # Values of regions are numbers, so that only their names are checked.
    for name in cohort.regions:
        _check_readable(name, np.empty(0))
    regions = pd.DataFrame(cohort.values, columns=list(cohort.regions))
    return pd.concat([pd.DataFrame(first), regions], axis=1)


def _check_readable(name: str, column: NDArray[Any]) -> None:
    """Raise InputError if a reader would take a name or label for something else."""
    # Blanks would be stripped, and NA would be missing.
    texts = [name, *(cell for cell in column.tolist() if isinstance(cell, str))]
    for text in texts:
        if text != text.strip() or text in MISSING or _UNWRITABLE.search(text):
            raise InputError(
                f"column {name!r}: {text!r} would not be read back as it is (blanks around it, a "
                "mark for missing cells, or control characters). Rename it."
            )
