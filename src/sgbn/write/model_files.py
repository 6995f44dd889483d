"""Save a model to a file, and load it again.

`write_members` and `read_members` write and read the zip file around a model, with its manifest.
Members are sorted by name and all have the same date, so that the same model always gives the same
bytes. They are not compressed, so that no member can be larger than the file. The number of members
is checked before the directory of the zip is read.

`Encoder` turns a model into JSON and arrays. None, truth values, integers, finite numbers, text and
lists are written as in JSON. Every other value is a JSON object whose key ``is`` names its kind:
tuple, set, dict, float (nan or inf), array, file (an array in its own npy file), labels, records,
range, index, series, dtype, slice, or object (an instance of a class in ``classes.toml``). Only
`sgbn.write.model_decoding` checks whether values belong in a model: it refuses NaN in a weight, for
example. So `save` decodes each model before it writes the file.

`inputs_of` finds the columns that a fitted model needs, and `read_inputs` reads them from a table.
"""

from __future__ import annotations

import io
import json
import math
import struct
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sgbn.cohort.atlas import UNKNOWN_LOBE, Atlas, Region
from sgbn.cohort.cohort import Cohort
from sgbn.core.gaussian import GaussianNetwork
from sgbn.core.problems import InputError, Problem, did_you_mean
from sgbn.prepare.columns import NamedColumnTransformer, as_names
from sgbn.prepare.pipeline import regions_table, table_cells
from sgbn.read.cells import RawTable
from sgbn.read.files import Source, read_bytes
from sgbn.read.roles import Options, exchanged, find_column
from sgbn.read.table import assemble, load_cells
from sgbn.runs.files import versions
from sgbn.write.model_decoding import (
    MISFITS,
    MODEL,
    Decoder,
    check_size,
    class_named,
    name_of,
    order_of,
    part_of,
    plain,
    require,
    state_of,
    to_npy,
)
from sgbn.write.tables import PathName, write_file

LIBRARY = "scikit-learn"


def save(model: Any, path: PathName) -> Path:
    """Write a network or a fitted model to a file, which `load` and ``sgbn predict`` read.

    The file is a zip of JSON and npy files, each with a checksum. It holds numbers and names, but
    no code. The same model always gives the same file. The file contains the names of the
    features. For a Pipeline it also contains all steps of the preparation, so that another machine
    needs only a raw table.

    Parameters
    ----------
    model : GaussianNetwork, learner, classifier, preparation or Pipeline
        A network, a fitted estimator of sgbn, or a fitted Pipeline with steps such as those that
        `make_analysis` and `make_preparation` return. The parameters of the model must be numbers,
        text or lists of these, not functions or random generators.
    path : path
        File to write. Its name usually ends in ``.sgbn``.

    Returns
    -------
    Path
        Path of the file.

    Notes
    -----
    The file holds no rows of subjects, with one exception: ``RegionImputer("knn")`` keeps the
    regions of all training subjects. A `DataWarning` then says so.

    Examples
    --------
    >>> import tempfile
    >>> from sgbn import GaussianNetwork, load, save
    >>> network = GaussianNetwork([[0, 0.8], [0, 0]], names=["hippocampus", "insula"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     load(save(network, f"{folder}/network.sgbn"))
    GaussianNetwork(2 variables, 1 edges)
    """
    about = {"class": type(model).__name__, "kind": kind_of(model), "versions": versions()}
    return write_members(path, about | _names(model), model_parts(model))


def model_parts(model: Any) -> dict[str, bytes]:
    """Return the parts of a model's file except the manifest, as name -> content."""
    _check_fitted(model)
    encoder = Encoder()
    content, decoder = encoder.encode(model), Decoder(encoder.members)
    try:
        # A model that could not be read again, such as one that is too large, is not written.
        # Only the reader checks sizes, shapes and classes, so it reads the whole model here.
        decoder.decode(content)
    except InputError as error:
        raise _unsaved(type(model).__name__, error) from error
    if "KNNImputer" in decoder.classes:
        Problem("model.rows").warn(
            "the file will hold the regions of all training subjects ({strategy='knn'})",
            "Choose another strategy if these data must stay on your machine.",
        )
    return {MODEL: to_json(content), **encoder.members}


def _unsaved(place: str, error: Exception) -> InputError:
    return InputError("model.unsaved", place=place, cause=error).says(
        "{place:s} cannot be saved: {cause}", "Save networks and fitted models of sgbn."
    )


def model_of(parts: Mapping[str, bytes]) -> Any:
    """Return the model whose parts `parts_of` returned."""
    return Decoder(parts).decode(json.loads(parts[MODEL]))


def load(path: PathName) -> Any:
    """Read a model that `save` wrote. It predicts the same as the saved model, bit by bit.

    A file from an unknown source is safe to read. It cannot contain code: only classes of sgbn and
    a few classes of scikit-learn are made. A file is refused if it is damaged or too large, or if
    its parts do not fit together.

    Parameters
    ----------
    path : path
        File that `save` wrote.

    Returns
    -------
    object
        The model as it was saved.

    Raises
    ------
    InputError
        If the file cannot be read as a model. The message says why, and what to do.
    """
    # One byte more than the limit shows that the limit is exceeded.
    content = read_bytes(Path(path), MAX_FILE_BYTES + 1)
    try:
        manifest, members = read_members(content)
        decoder = Decoder(members)
        model = decoder.decode(parse_json(members[MODEL], MODEL))
        require(type(model).__name__ == manifest.get("class"), "class")
        _check_fitted(model)
        require({MODEL, *decoder.arrays} == set(members), "files")
        if getattr(model, "feature_names_in_", None) is not None:
            inputs_of(model)  # refuses names and labels that do not fit
    except MISFITS as error:  # InputError is one of them
        raise InputError("model.unreadable", file=path, cause=error).says(
            "{file} cannot be read as a model: {cause}", AGAIN
        ) from error
    _warn_about_versions(path, manifest, decoder.classes)
    return model


def kind_of(model: Any) -> str:
    """Return the kind of a model: "network", "classifier", "preparation" or "learner"."""
    if isinstance(model, GaussianNetwork):
        return "network"
    if hasattr(model, "predict"):
        return "classifier"
    return "preparation" if hasattr(model, "transform") else "learner"


def _check_fitted(model: Any) -> None:
    try:
        if not isinstance(model, GaussianNetwork):
            check_is_fitted(model)
    except NotFittedError as error:
        raise InputError("model.not-fitted", kind=type(model).__name__).says(
            "this {kind:s} is not fitted", "Call its method fit first."
        ) from error
    except TypeError as error:
        raise _unsaved(type(model).__name__, error) from error


def _names(model: Any) -> dict[str, list[str] | None]:
    """Return the names of features and classes, for a person who reads the manifest."""
    is_network = isinstance(model, GaussianNetwork)
    features = model.names if is_network else getattr(model, "feature_names_in_", None)
    labels = {"features": features, "classes": getattr(model, "classes_", None)}
    return {key: None if given is None else [*map(str, given)] for key, given in labels.items()}


def _warn_about_versions(path: PathName, manifest: Any, classes: Set[str]) -> None:
    """Warn if a part of the model was fitted with another version of scikit-learn."""
    given = manifest.get("versions")
    then = str(given.get(LIBRARY)) if isinstance(given, dict) else "of unknown version"
    now = versions()[LIBRARY]
    homes = [class_named(name).__module__ for name in classes - {"Pipeline"}]
    has_sklearn = any(home.startswith("sklearn.") for home in homes)
    if has_sklearn and then.split(".")[:2] != now.split(".")[:2]:
        Problem("model.version", file=path, library=LIBRARY, then=then[:40], now=now).warn(
            "{file} was saved with {library:s} {then:s}, and {now:s} may predict otherwise",
            "Compare some predictions, or install {library:s} {then:s}.",
        )


FORMAT = "sgbn model"
SCHEMA = 1  # version of the file format that is written
READABLE = (1,)  # versions that can be read; an old version stays in this list
MANIFEST = "manifest.json"
MAX_FILE_BYTES = 2**28
MAX_JSON_BYTES = 2**24  # JSON needs up to twenty times as much memory once it is parsed
MAX_MEMBERS = 4096
ENTRY_MARK = b"PK\x01\x02"  # the first bytes of each entry in the zip's directory
FIRST_TIME = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can store
READ_BY_ALL = 0o100644 << 16  # permissions in Unix: all users may read the file
AGAIN = "Download or copy the file again, or save the model again."
# Errors that the zip library raises for damaged bytes. NotImplementedError is a RuntimeError.
DAMAGES = (BadZipFile, ValueError, OSError, EOFError, RuntimeError, LookupError, struct.error)


def write_members(path: PathName, about: Mapping[str, Any], members: Mapping[str, bytes]) -> Path:
    """Write a model file with these members, and with a manifest that has their checksums."""
    sums = {name: sha256(content).hexdigest() for name, content in members.items()}
    manifest = {"format": FORMAT, "schema": SCHEMA, **about, "files": sums}
    members = {**members, MANIFEST: to_json(manifest)}
    stream = io.BytesIO()
    with ZipFile(stream, "w", ZIP_STORED) as archive:
        # Sorted, so that the same model gives the same bytes.
        for name in sorted(members):
            info = ZipInfo(name, FIRST_TIME)
            info.create_system, info.external_attr = 3, READ_BY_ALL  # the same on all systems
            archive.writestr(info, members[name])
    content = stream.getvalue()
    _check_sizes(content)
    check_size(max(len(members[MODEL]), len(members[MANIFEST])), MAX_JSON_BYTES)
    return write_file(path, lambda file: file.write(content))


def to_json(content: Any) -> bytes:
    """Return the content as JSON. Keys are sorted, so the same content gives the same bytes."""
    return json.dumps(content, allow_nan=False, sort_keys=True, separators=(",", ":")).encode()


def read_members(content: bytes) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the manifest of a model file and its other members, after all checks."""
    _check_sizes(content)
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            _check_directory(archive.infolist(), len(content))
            members = {info.filename: archive.read(info) for info in archive.infolist()}
    except DAMAGES as error:
        raise InputError("model.damaged", cause=error).says(
            "it is not a model of sgbn, or it is damaged ({cause})"
        ) from error
    part_of(members, MODEL)
    manifest = parse_json(part_of(members, MANIFEST), MANIFEST)
    del members[MANIFEST]
    _check_manifest(manifest, members)
    return manifest, members


def _check_sizes(content: bytes) -> None:
    check_size(len(content), MAX_FILE_BYTES)
    # Entries are counted, because the zip library needs about a kilobyte for each of them.
    require(content.count(ENTRY_MARK) <= MAX_MEMBERS, "number of parts")


def _check_directory(infos: list[ZipInfo], n_bytes: int) -> None:
    """Raise BadZipFile unless all members differ, are not compressed and fit in `n_bytes` bytes."""
    if len({info.filename for info in infos}) < len(infos):
        raise BadZipFile("a part is there twice")
    if any(info.compress_type != ZIP_STORED for info in infos):
        raise BadZipFile("a part is compressed")
    # Without this check, members that overlap could turn a small file into gigabytes.
    if sum(info.file_size for info in infos) > n_bytes:
        raise BadZipFile("the parts are larger than the file")


def _check_manifest(manifest: Any, members: Mapping[str, bytes]) -> None:
    require(isinstance(manifest, dict) and manifest.get("format") == FORMAT, MANIFEST)
    schema = manifest.get("schema")
    if type(schema) is int and schema > SCHEMA:
        raise InputError("model.newer").says("it needs a newer version of sgbn")
    require(type(schema) is int and schema in READABLE, "schema")
    # This finds damage, but not forgery, because a forger can change the checksum too.
    sums = {name: sha256(content).hexdigest() for name, content in members.items()}
    require(manifest.get("files") == sums, "checksum")


def parse_json(content: bytes, name: str) -> Any:
    """Return the content of a JSON member; raise InputError if a key is there twice."""
    check_size(len(content), MAX_JSON_BYTES)
    try:
        return json.loads(content, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise InputError("model.json", name=name, cause=error).says(
            "its part {name} is not JSON ({cause})"
        ) from error


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Without this check, the later value would silently replace the earlier value.
    require(len(dict(pairs)) == len(pairs), "keys")
    return dict(pairs)


MAX_NUMBERS_IN_JSON = 256  # larger arrays are npy files; a small npy file is mostly header


class Encoder:
    """Turns values into what JSON can hold.

    Attributes
    ----------
    members : dict of str to bytes
        Name -> content of the npy files, one for each large array.
    """

    def __init__(self) -> None:
        self.members: dict[str, bytes] = {}
        self._place = MODEL  # attribute that is being encoded, for messages

    def encode(self, value: Any) -> Any:
        """Return the JSON of a value; raise InputError if it cannot be saved."""
        try:
            return self._json(value)
        except (InputError, RecursionError) as error:  # a value may contain itself
            raise _unsaved(self._place, error) from error

    def _json(self, value: Any) -> Any:
        # A fit may leave a number of numpy, but JSON holds only Python's numbers.
        value = value.item() if isinstance(value, np.generic) else value
        is_number = isinstance(value, float) and math.isfinite(value)
        if value is None or is_number or isinstance(value, bool | int | str):
            return value
        if type(value) is list:
            return [self._json(part) for part in value]
        name = name_of(value)
        if name is not None:
            return self._object(name, value)
        kind, parts = described(value)
        # JSON cannot express NaN.
        if kind == "array" and (value.size > MAX_NUMBERS_IN_JSON or not np.isfinite(value).all()):
            kind, parts = "file", {"name": self._member(to_npy(value))}
        return {"is": kind} | {key: self._json(part) for key, part in parts.items()}

    def _object(self, name: str, value: Any) -> Any:
        state = {}
        # Sorted, because otherwise attributes have the order in which a fit sets them.
        for key, part in sorted(state_of(name, value).items()):
            self._place = f"{name}.{key}"
            state[key] = self._json(part)
        return {"is": "object", "class": name, "state": state}

    def _member(self, content: bytes) -> str:
        """Return the name of the file with this content. Equal arrays share one file."""
        for name, other in self.members.items():
            if other == content:
                return name
        name = f"arrays/{len(self.members):04}.npy"
        self.members[name] = content
        return name


def described(value: Any) -> tuple[str, dict[str, Any]]:
    """Return the kind of a value and its parts, from which a `Decoder` makes it again."""
    kind = type(value)
    if isinstance(value, np.ndarray):
        return _described_array(value)
    if kind is tuple:
        return "tuple", {"items": list(value)}
    if kind in (set, frozenset):  # sorted, so that the same model gives the same bytes
        return "set", {"items": sorted(value, key=repr)}
    if kind is dict:
        return "dict", {"items": [list(pair) for pair in value.items()]}
    if kind is float:
        return "float", {"value": str(value)}
    if isinstance(value, np.dtype):
        return "dtype", {"name": value.name}
    if kind is slice:
        return "slice", {"of": [value.start, value.stop, value.step]}
    if isinstance(value, pd.Series):
        return "series", {"index": value.index, "of": value.to_numpy()}
    if isinstance(value, pd.RangeIndex) and value.start == 0 and value.step == 1:
        return "range", {"length": len(value)}
    if isinstance(value, pd.Index) and value.nlevels == 1 and value.dtype.kind != "M":
        is_object = value.dtype == object
        return "index", {"cells": value.tolist(), "object": is_object, "name": value.name}
    raise InputError("model.kind", kind=kind.__name__).says(
        "it is a {kind:s}",
        "Parameters may be numbers, text or lists of these, and steps may be those of sgbn, "
        "StandardScaler and LinearDiscriminantAnalysis.",
    )


def _described_array(value: NDArray[Any]) -> tuple[str, dict[str, Any]]:
    names, shape = value.dtype.names, list(value.shape)
    if names is not None:
        return "records", {"fields": [[name, value[name]] for name in names]}
    if value.dtype.kind in "UO":
        # numpy would pickle objects, so labels are written one by one.
        kind = "text" if value.dtype.kind == "U" else "object"
        return "labels", {"cells": value.ravel().tolist(), "shape": shape, "kind": kind}
    value, order = plain(value), order_of(value)
    numbers = value.ravel(order=order).tolist()
    return "array", {"dtype": value.dtype.name, "shape": shape, "order": order, "of": numbers}


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
    columns = getattr(model, "feature_names_in_", None)
    if columns is None:
        raise InputError("model.no-names").says(
            "the model was fitted on an array, whose columns have no names",
            "Fit it on a DataFrame, or load it in Python and predict arrays.",
        )
    named = [step for step in steps if isinstance(step, NamedColumnTransformer)]
    covariates = [
        name
        for step in named
        for parameter in ("covariates", "preserve", "passthrough", "subject")
        for name in as_names(getattr(step, parameter, None))
    ]
    site = next((step._site for step in named if step._site is not None), None)
    levels, column = dict(_levels(named, site)), getattr(model, "site_column_", None)
    require(all(isinstance(name, str) for name in (*covariates, *levels)), "names of columns")
    return Inputs(tuple(columns.tolist()), tuple(dict.fromkeys(covariates)), site, levels, column)


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
                yield covariate.name, tuple(covariate.levels)
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
        raise InputError("model.no-site").says(
            "the model was fitted without sites", "Leave out {site=}."
        )
    # The atlas consists of the regions of the model. With a standard atlas, a region of the user's
    # atlas could be mistaken for a total, such as Left-Cerebral-Cortex.
    nowhere = (np.nan,) * 3  # coordinates are not needed, since no figure is drawn
    regions = (Region(name, "", UNKNOWN_LOBE, *nowhere, np.nan) for name in inputs.regions)
    atlas = Atlas("model", "regions of the model", tuple(regions))

    def read(column: str | None) -> tuple[RawTable, Options]:
        options = Options.of(
            id=id,
            covariates=inputs.covariates,
            site=column,
            regions=inputs.regions,
            missing=missing,
            atlas=atlas,
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
        if error := exchanged(table, missing):
            raise error  # before names of columns are listed, which are ids then
        free = [name for name in table.columns if name not in wanted]
        near = did_you_mean(missing[0], free or table.columns)
        raise InputError("model.columns", where=table.source, names=missing, near=near).says(
            "{where} the table lacks columns that the model was fitted on: {names}",
            "{near} Rename them, or name the column of the sites ({site=}).",
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
