"""Make tables of networks: one row per edge, or one row per region.

Convert structured arrays, which the numeric core returns, to DataFrames.

Write tables as CSV files. A spreadsheet program runs nothing when it opens them.

Functions that all exports share: write complete files, and check text for them.

Names of groups for names of files, and readable names of regions for tables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pandas.api.types import is_bool_dtype, is_datetime64_any_dtype, is_numeric_dtype

from sgbn.cohort.atlas import UNKNOWN_LOBE, AtlasLike, as_atlas
from sgbn.core.equivalence import edge_kinds
from sgbn.core.gaussian import GaussianNetwork, NetworkLike
from sgbn.core.problems import InputError
from sgbn.core.types import Array, Mask
from sgbn.core.validation import table_names
from sgbn.learn.confidence import EdgeConfidence, supported_of
from sgbn.runs.files import write_atomically

ENDS = ["source", "target"]
PLACE = ["x", "y", "z"]


def edge_table(
    network: NetworkLike,
    *,
    confidence: EdgeConfidence | None = None,
    supported: ArrayLike | None = None,
) -> pd.DataFrame:
    """Return the edges of a network or of a fitted learner, with the strongest edge first.

    Parameters
    ----------
    network : GaussianNetwork or fitted learner
        Network to list.
    confidence : EdgeConfidence, optional
        How often half samples contain the edges. By default it is taken from the learner, if the
        learner has it, such as `SGBNEnsemble`.
    supported : array-like of bool, shape (m, m), optional
        Edges whose direction is supported, for m regions. By default they are taken from
        `supported_` of the learner, or from the confidence. Without half samples no direction is
        supported.

    Returns
    -------
    DataFrame
        One row per edge, with these columns:

        - source, target: names of the two regions.
        - weight: weight of the edge in the units of the data.
        - low, high: ends of the interval of the weight, if the learner has intervals.
        - weight_std: standardised weight, which is the weight times the standard deviation of the
          source, divided by the standard deviation of the target. The network implies both standard
          deviations. The rows are sorted by the absolute value of this weight.
        - supported: whether the direction is supported, so that the edge is drawn as an arrow.
        - adjacent: share of the networks of half samples that join the two regions. Only with half
          samples.
        - this_way: among the networks of half samples that join the two regions, the share in
          which the edge has this direction. Only with half samples.
        - graph_direction: what gives the edge its direction in this graph, see
          `sgbn.edge_kinds`. Prior knowledge, equal variances and non-Gaussian residuals are
          only found if `network` is a learner.
    """
    learner, network = network, network_of(network)
    confidence = getattr(learner, "confidence_", None) if confidence is None else confidence
    arrows, weights = support_mask(learner, confidence, supported), standardised_or_nan(network)
    # A mask selects entries row by row, which is the order of `network.edges()`.
    edges = network.coef != 0
    table = to_frame(network.edges())
    for name in ("low", "high"):
        if (limits := getattr(learner, f"coef_{name}_", None)) is not None:
            table[name] = limits[edges]
    table["weight_std"], table["supported"] = weights[edges], arrows[edges]
    if confidence is not None:
        table["adjacent"] = adjacent = confidence.adjacency_[edges]
        # If no half sample joins the pair, there is no share of a direction.
        table["this_way"] = np.where(adjacent > 0, confidence.direction_[edges], np.nan)
    kinds = getattr(learner, "edge_kinds_", None)
    table["graph_direction"] = edge_kinds(network.coef) if kinds is None else kinds
    # A stable sort keeps the order of the network among edges of equal weight.
    strongest_first = table["weight_std"].abs().sort_values(ascending=False, kind="stable").index
    return table.loc[strongest_first].reset_index(drop=True)


def support_mask(
    network: NetworkLike, confidence: EdgeConfidence | None, supported: ArrayLike | None
) -> Mask:
    """Return the mask `supported`; if it is None, the mask of the learner or the confidence."""
    if supported is None:
        return supported_of(network, confidence)
    mask, shape = np.asarray(supported, bool), network_of(network).coef.shape
    check_shape("supported", mask.shape, shape)
    return mask


def check_shape(argument: str, shape: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """Raise InputError if an argument has not one value for each region, pair or cell."""
    if shape != wanted:
        raise InputError("argument.shape", argument=argument, shape=shape, wanted=wanted).says(
            "{argument} has shape ({shape}), not ({wanted})", "Give one value for each."
        )


def node_table(network: NetworkLike, atlas: AtlasLike | None = None) -> pd.DataFrame:
    """Return the regions of a network or of a fitted learner, in the order of the network.

    Parameters
    ----------
    network : GaussianNetwork or fitted learner
        Network to list.
    atlas : Atlas, str or path, optional
        Atlas with the places of the regions, such as ``cohort.atlas``. Regions are found by name,
        and the spelling may differ.

    Returns
    -------
    DataFrame
        One row per region, with these columns:

        - region: name of the region in the network.
        - label: name of the region in the atlas.
        - lobe: name of the lobe.
        - hemisphere: "L", "R", or "" on the midline.
        - x, y, z: centre in MNI space, in mm.
        - parents, children: number of edges that end and begin at the region.
        - in_strength, out_strength: sums of the absolute standardised weights of these edges.

        If the atlas does not have the region, label and hemisphere are "", the lobe is "unknown"
        and the coordinates are NaN.
    """
    network = network_of(network)
    known = None if atlas is None else as_atlas(atlas)
    places = [None if known is None else known.find(name) for name in network.names]
    strength = np.abs(standardised_weights(network))
    joined = network.coef != 0
    table = pd.DataFrame(
        {
            "region": list(network.names),
            "label": ["" if place is None else place.name for place in places],
            "lobe": [UNKNOWN_LOBE if place is None else place.lobe for place in places],
            "hemisphere": ["" if place is None else place.hemisphere for place in places],
        }
    )
    centres = [(np.nan,) * 3 if place is None else (place.x, place.y, place.z) for place in places]
    # reshape is needed for an empty list, which has no second axis.
    table[PLACE] = np.array(centres, dtype=float).reshape(-1, 3)
    # Columns of coef are children, so a sum over the rows counts the parents.
    table["parents"], table["children"] = joined.sum(axis=0), joined.sum(axis=1)
    table["in_strength"], table["out_strength"] = strength.sum(axis=0), strength.sum(axis=1)
    return table


def with_columns(edges: pd.DataFrame, more: pd.DataFrame | None) -> pd.DataFrame:
    """Return a table of edges with further columns, which are joined by source and target.

    Parameters
    ----------
    edges : DataFrame
        Table that `edge_table` returned.
    more : DataFrame, optional
        Table with the columns source and target, and with further columns. Rows that are not edges
        of the first table are left out. An edge without a row gets missing cells.
    """
    if more is None:
        return edges
    _check_columns(more, edges.columns)
    # A left join keeps every edge. Two rows for one edge would double it, but are refused above.
    return edges.merge(more, on=ENDS, how="left", sort=False)


def _check_columns(more: pd.DataFrame, taken: Collection[str]) -> None:
    """Raise InputError unless each row of further columns belongs to one edge."""
    if not isinstance(more, pd.DataFrame) or not set(ENDS) <= set(more.columns):
        raise InputError("more-columns.ends").says(
            "{more_edge_columns=} is not a DataFrame with source and target", "Add both columns."
        )
    names = list(more.columns)
    further = [name for name in names if name not in ENDS]
    twice = [name for name in further if name in taken or names.count(name) > 1]
    if twice:
        raise InputError("more-columns.twice", names=twice).says(
            "the table of edges would have two columns of the name {names}",
            "Rename the column in {more_edge_columns=}.",
        )
    rows = more.duplicated(ENDS)
    if rows.any():
        source, target = more.loc[rows, ENDS].iloc[0]
        raise InputError("more-columns.rows", source=source, target=target).says(
            "{more_edge_columns=} has two rows for {source} -> {target}", "Keep one."
        )


def network_of(network: NetworkLike) -> GaussianNetwork:
    """Return the network itself, or the network of a fitted learner."""
    gaussian = getattr(network, "network_", network)
    if not isinstance(gaussian, GaussianNetwork):
        raise InputError("network.none", kind=type(gaussian).__name__).says(
            "{kind:s} is neither a network nor a fitted learner",
            "Fit it first. Of a Pipeline, give the last step.",
        )
    return gaussian


def standardised_weights(network: GaussianNetwork) -> Array:
    """Return the standardised weights of a network; entry [i, j] is for the edge i -> j.

    Raises
    ------
    InputError
        If an edge has no standardised weight, because one of its ends has no variance.
    """
    weights = standardised_or_nan(network)
    # An edge with a standardised weight of 0 would be missing from every file without a message.
    lost = np.argwhere((network.coef != 0) & (~np.isfinite(weights) | (weights == 0)))
    if lost.size:
        source, target = (network.names[k] for k in lost[0])
        raise InputError("edge.constant", source=source, target=target).says(
            "{source} -> {target} has no standardised weight, because one of its ends is constant",
            "Export the network before the intervention (do), or rescale the data.",
        )
    return weights


def standardised_or_nan(network: GaussianNetwork) -> Array:
    """Return standardised weights. They are NaN or infinite if an end of an edge does not vary."""
    sd = np.sqrt(np.diag(network.covariance))
    i, j = np.nonzero(network.coef)
    weights = np.zeros_like(network.coef)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        # The ratio is computed first, because coef * sd may overflow.
        weights[i, j] = network.coef[i, j] * (sd[i] / sd[j])
    return weights


def to_frame(records: NDArray[Any] | Mapping[Any, NDArray[Any]], *names: str) -> pd.DataFrame:
    """Return a DataFrame of records, such as `Differences.edges` or `GaussianNetwork.edges()`.

    Networks and the functions of `sgbn.inference` and `sgbn.paper` do not use pandas. They
    return records, which are NumPy's structured arrays.

    Parameters
    ----------
    records : structured array, or mapping of key to structured array
        Records to convert. The arrays of a mapping, such as `Differences.pairwise`, are stacked
        into one table.
    *names : str
        Names of the columns that hold the keys of a mapping, one per part of a key. Only for a
        mapping.

    Returns
    -------
    DataFrame
        One row per record. The columns of the keys come first.

    Examples
    --------
    >>> from sgbn import GaussianNetwork, to_frame
    >>> to_frame(GaussianNetwork([[0, 0.8], [0, 0]], names=["a", "b"]).edges())
      source target  weight
    0      a      b     0.8
    """
    if isinstance(records, Mapping):
        for key in records:
            _check_names(names, len(key) if isinstance(key, tuple) else 1)
        return stacked({key: to_frame(part) for key, part in records.items()}, *names)
    _check_names(names, 0)
    if getattr(getattr(records, "dtype", None), "names", None) is None:
        raise InputError("records.type", kind=type(records).__name__).says(
            "records is a {kind:s}, not a structured array", "Give network.edges(), for example."
        )
    return pd.DataFrame.from_records(np.asarray(records))


def _check_names(names: tuple[str, ...], n_parts: int) -> None:
    if len(names) != n_parts:  # pandas would accept too few names without an error
        raise InputError("records.names", n=len(names), parts=n_parts).says(
            "{n:name} for records whose keys have {parts:part}",
            'Give one name for each, as in to_frame(records, "group", "other").',
        )


def frame_of(data: Any = None, columns: list[Any] | tuple[Any, ...] | None = None) -> pd.DataFrame:
    """Return a DataFrame of rows or columns, for modules that must not import pandas."""
    return pd.DataFrame(data, columns=columns)


def stacked(tables: Mapping[Any, pd.DataFrame], *names: str) -> pd.DataFrame:
    """Stack the tables of a mapping. Its keys become the first columns, called `names`."""
    # pd.concat refuses an empty mapping.
    if not tables:
        return pd.DataFrame()
    # pd.concat puts the keys into the index; reset_index makes columns of them.
    return pd.concat(tables, names=[*names]).reset_index(level=names).reset_index(drop=True)


# Characters that begin a formula in a spreadsheet program. The last four are wide forms.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def write_csv(table: pd.DataFrame, path: PathName) -> Path:
    """Write a table as CSV in UTF-8, without its index. The file is complete or absent.

    A spreadsheet program would run text such as ``=cmd()`` as a formula. So text in a cell or
    column name gets an apostrophe in front if it begins with ``=``, ``+``, ``-``, ``@`` (also in
    their wide forms), a tab or a line end. A line end inside text is written as a line feed.
    Numbers, dates and truth values are written unchanged, with all their digits. Missing cells are
    empty.

    Parameters
    ----------
    table : DataFrame
        Table to write. It is not changed.
    path : path
        File to write.

    Returns
    -------
    Path
        Path of the file.
    """
    if not isinstance(table, pd.DataFrame):
        raise InputError("table.type", kind=type(table).__name__).says(
            "table is a {kind:s}", "Give a DataFrame."
        )
    safe = _inert_table(table)
    # Line feeds on Windows too, so that the file has the same bytes on all systems.
    return write_file(path, lambda stream: safe.to_csv(stream, index=False, lineterminator="\n"))


def _inert_table(table: pd.DataFrame) -> pd.DataFrame:
    safe = table.set_axis([_inert(name) for name in table_names(table)], axis=1)
    # By position, because a table may have two columns of the same name.
    for place in range(safe.shape[1]):
        column = safe.iloc[:, place]
        dtype = column.dtype
        # Columns of these types cannot hold text.
        if not (is_numeric_dtype(dtype) or is_bool_dtype(dtype) or is_datetime64_any_dtype(dtype)):
            cells = [_inert(cell) for cell in column]
            safe.isetitem(place, pd.Series(cells, dtype=object).to_numpy())
    return safe


def _inert(cell: Any) -> Any:
    """Return text that a spreadsheet program does not run. Other values are returned unchanged."""
    if not isinstance(cell, str):
        return cell
    shown = f"'{cell}" if cell.startswith(FORMULA_STARTS) else cell
    # The csv module does not quote a single carriage return, and a reader would end the row there.
    return shown.replace("\r\n", "\n").replace("\r", "\n")


PathName = str | PathLike[str]

# Control characters, halves of surrogate pairs and non-characters. XML cannot hold most of them,
# and some of them end a line or a cell of a text file.
_UNWRITABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def write_file(path: PathName, write: Callable[[Any], object]) -> Path:
    """Write a file that is complete or absent, and return its path.

    `write` is called with the binary stream of the file.
    """
    target = Path(path)
    try:
        write_atomically(target, write)
    # A name may hold half of a surrogate pair, which UTF-8 cannot express.
    except (OSError, UnicodeEncodeError) as error:
        raise InputError("file.unwritable", file=target, cause=error).says(
            "{file} cannot be written ({cause})", "Check the folder, and the names in the file."
        ) from error
    return target


def write_text(path: PathName, text: str) -> Path:
    """Write text in UTF-8, and return the path of the file."""
    return write_file(path, lambda stream: stream.write(text.encode()))


def write_json(path: PathName, content: Mapping[str, Any]) -> Path:
    """Write JSON with the keys in the given order. The caller must remove NaN, which JSON lacks."""
    return write_text(path, json.dumps(content, indent=1, allow_nan=False) + "\n")


def write_matrix(path: PathName, table: pd.DataFrame, *, header: bool) -> Path:
    """Write a table as `write_csv` does, but with tabs, and with ``n/a`` for missing cells."""
    # BIDS prescribes "n/a" for missing cells.
    style: dict[str, Any] = {"sep": "\t", "index": False, "na_rep": "n/a", "lineterminator": "\n"}
    safe = _inert_table(table)
    return write_file(path, lambda stream: safe.to_csv(stream, header=header, **style))


# Windows keeps these names for devices, with any ending.
_DEVICE = re.compile("(con|prn|aux|nul|com[0-9]|lpt[0-9])", re.IGNORECASE)


# Path.with_suffix is not used, because it would cut the name of a group at its last dot ("T1.5").
def beside(stem: PathName, ending: str) -> Path:
    """Return the path of the stem, with an ending added to its name."""
    start = Path(stem)
    if not start.name:
        raise InputError("file.no-name", folder=start).says(
            "{folder} does not end with the name of a file", "Add the start of a name."
        )
    return start.with_name(start.name + ending)


def check_text(texts: Iterable[object]) -> None:
    """Raise InputError if a text has characters that some formats cannot hold."""
    for text in texts:
        if isinstance(text, str) and _UNWRITABLE.search(text):
            raise InputError("name.characters", name=text).says(
                "the name or label {name} has control characters", "Rename it."
            )


def file_names(groups: Iterable[str]) -> dict[str, str]:
    """Map each group to a name that is safe in a file name, also on Windows.

    Two names always differ in their letters and digits, even in lower case, because names in BIDS
    have only letters and digits.
    """
    names: dict[str, str] = {}
    for group in groups:
        # Nothing is left of a name that has no Latin letter or digit.
        safe = name = re.sub(r"[^A-Za-z0-9-]+", "_", group).strip("_") or "group"
        if _DEVICE.fullmatch(name):
            safe = name = f"group_{name}"
        number = 2
        # Some file systems do not distinguish A from a.
        while _letters(name) in map(_letters, names.values()):
            name, number = f"{safe}_{number}", number + 1
        names[group] = name
    return names


def _letters(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())
