"""Functions that read a cohort from a table, and write a cohort to a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sgbn.cohort.atlas import AtlasLike
from sgbn.cohort.cohort import BLOCK, ID, PAIR, PERSON, SITE, Cohort
from sgbn.core.exceptions import InputError
from sgbn.io.tables.assembly import assemble, load_cells
from sgbn.io.tables.cells import Markers
from sgbn.io.tables.extracted import with_extracted
from sgbn.io.tables.files import PARQUET, Source
from sgbn.io.tables.options import Options
from sgbn.io.tables.raw import MISSING
from sgbn.io.tables.sheets import EXTRA
from sgbn.prepare.pipeline import check_free, table_cells
from sgbn.runs.files import write_atomically

GROUP = "group"
DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}

# Some programs end a cell or a line at these control characters and line separators.
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
    """Read a table with one row per subject into a cohort.

    Parameters
    ----------
    source : path or DataFrame
        A text file such as CSV or TSV (gzipped or not), an Excel file, a Parquet file, or a
        DataFrame. A DataFrame is not changed.
    group, site : str, optional
        Columns of labels. No cell may be missing. Numbers are read as labels.
    id : str, optional
        Column of subject ids. Each id may occur only once. Leading zeros are kept. If not given, a
        column whose name says that it holds ids is used (``subject_id``, ``participant_id``,
        ``ID``, ...). If there is none, the rows are numbered.
    covariates : str or list of str
        Columns of numbers or of labels. One column cannot hold both. Cells may be missing.
        ``eTIV`` also finds the other names that FreeSurfer gives this volume.
    smooth : str or list of str
        The covariates whose effects are curves, such as age over the lifespan. The effects of all
        other covariates are linear.
    pair : str, optional
        Column of persons, if the rows are visits and each person has one visit in every group. It
        may be the id column. If ids repeat, the group is added to them, as in ``"s01 (AD)"``.
        `review` leaves out persons who do not have exactly one visit in every group.
    subject : str, optional
        Column of persons, if a person has several rows in one group, such as sessions. Each row
        needs its own id. Without an id column, the rows are numbered. Permutations, half samples
        and cross-validation keep the rows of a person together.
    block : str, optional
        Column of families, or of another label that rows share if they are not independent. A
        family may have rows in several groups. As for `subject`, the rows of a family are kept
        together.
    regions : str or list of str, optional
        Names or patterns (``"lh_*"``) of columns, or ``"all"`` for every column of numbers that
        has no other role. A column with too much text is then left out with a warning, or is an
        error if its name is a region of the atlas. If not given, the columns that match an atlas
        are the regions. Any other column of numbers is then an error, until it is named or
        excluded. Totals such as MeanThickness are never regions.
    exclude : str or list of str
        Names or patterns of columns to leave out.
    groups : list of str, optional
        Labels of the groups to keep. Rows of other groups, and rows without a group, are left out.
    atlas : str, path or Atlas, optional
        Name of an atlas of the package, or a table of your own, see `read_atlas`. If not given, the
        atlas of the package that matches the most columns is used. If ``sgbn extract`` wrote an
        ``atlas.csv`` beside the table, and that file matches more columns, it is used instead.
    measure : str or list of str, optional
        The measure to read, such as ``"thickness"`` or ``"volume"``, if a table has several. If it
        is a list, each region gets the first measure in the list that the table has for it.
    participants : path or DataFrame, optional
        A second table with group, covariates or site, such as the ``participants.tsv`` of BIDS. It
        is joined by id. An id may have ``sub-`` in only one of the two tables. The decimal mark of
        the second table is detected.
    participants_missing : {"refuse", "drop"}
        What to do if `participants` does not list a subject. ``"refuse"`` raises an error.
        ``"drop"`` leaves such subjects out, with a warning that names them.
    sheet : str or int, optional
        The sheet of an Excel file, by its name or by its place counted from 0. If not given, the
        first sheet is read. A number that is given as text counts from 1, as at the command line,
        unless a sheet has this name.
    delimiter, decimal : str, optional
        The delimiter and the decimal mark of a text file. They are detected if not given.
    missing : str, number or list, optional
        Markers of a missing cell, in addition to the usual ones (empty, NA, n/a, NaN, ".", "-",
        ...). If a number such as -999 is not a marker, and lies far from all other values, this
        is an error. An empty list, ``[]``, keeps such numbers as values.

    Returns
    -------
    Cohort
        Rows and regions in the order of the table. The provenance says how the table was read, and
        what was left out.

    Raises
    ------
    InputError
        If the table cannot be used. The message names the file, the column, the subject and the
        first bad row, and says what to do.
    """
    # At this point, the local variables are the arguments of this function.
    options = Options.of(**locals())
    table = load_cells(source, options, sheet=sheet, delimiter=delimiter, decimal=decimal)
    options = with_extracted(options, source, table.columns)
    return assemble(table, options, participants)[0]


def write_table(cohort: Cohort, path: str | PathLike[str]) -> None:
    """Write a cohort as a table: ids, group, site, pair, person, block, covariates and regions.

    `read_table` reads the table back. Give ``subject="person"`` to read the persons.

    Parameters
    ----------
    cohort : Cohort
        The cohort to write.
    path : path
        The file to write. Its name ends in .csv, .tsv, .txt (with tabs), .parquet or .xlsx.
    """
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix not in (*DELIMITERS, *PARQUET, ".xlsx"):
        raise InputError(
            f"{str(path)!r}: the name of a table must end in .csv, .tsv, .parquet or .xlsx. "
            "Choose one of these endings."
        )
    frame = _as_frame(cohort)
    try:
        # The file is never half written, even if this process is killed.
        write_atomically(target, lambda stream: _write(frame, stream, suffix))
    except ImportError as error:
        raise InputError(
            f"{str(path)!r} needs a library that is not installed. Install it: {EXTRA}."
        ) from error
    except OSError as error:
        raise InputError(f"{str(path)!r} cannot be written: {error.strerror or error}.") from error


def _write(frame: pd.DataFrame, stream: Any, suffix: str) -> None:
    if suffix in PARQUET:
        frame.to_parquet(stream, index=False)
    elif suffix == ".xlsx":
        frame.to_excel(stream, index=False)
    else:
        frame.to_csv(stream, index=False, sep=DELIMITERS[suffix], lineterminator="\n")


def _as_frame(cohort: Cohort) -> pd.DataFrame:
    """Return the whole cohort as a table that `read_table` can read back."""
    # Ids stay text: as numbers, they would lose their leading zeros.
    columns: dict[str, Any] = {ID: np.array(cohort.ids, dtype=object)}
    labels = {GROUP: cohort.group, SITE: cohort.site, PAIR: cohort.pair}
    labels |= {PERSON: cohort.person, BLOCK: cohort.block}
    for name, cells in labels.items():
        if cells is not None:
            columns[name] = cells.astype(object)
    check_free(cohort, columns)
    columns |= {name: table_cells(column) for name, column in cohort.covariates.items()}
    for name, column in columns.items():
        _check_readable(name, column)
    # The values of regions are numbers, so only the names are checked.
    for name in cohort.regions:
        _check_readable(name, np.empty(0))
    regions = pd.DataFrame(cohort.values, columns=list(cohort.regions))
    return pd.concat([pd.DataFrame(columns), regions], axis=1)


def _check_readable(name: str, column: NDArray[Any]) -> None:
    """Raise InputError if `read_table` would change the name or a label of the column."""
    # It would strip blanks, and read NA as a missing cell.
    texts = [name, *(cell for cell in column.tolist() if isinstance(cell, str))]
    for text in texts:
        if text != text.strip() or text in MISSING or _UNWRITABLE.search(text):
            raise InputError(
                f"column {name!r}: {text!r} would change when the table is read back. It has "
                "blanks around it, stands for a missing cell, or holds control characters. Rename "
                "it."
            )
