"""Save a model to a file, and load it again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from pathlib import Path
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sgbn.core.exceptions import InputError, listed, warn
from sgbn.core.gaussian import GaussianNetwork
from sgbn.io.exports.files import PathName
from sgbn.io.models.checks import require
from sgbn.io.models.container import (
    AGAIN,
    MAX_FILE_BYTES,
    MODEL,
    parse_json,
    read_members,
    to_json,
    write_members,
)
from sgbn.io.models.decoding import MISFITS, Decoder
from sgbn.io.models.encoding import Encoder
from sgbn.io.models.registry import class_named
from sgbn.read.files import read_bytes
from sgbn.runs.files import versions

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
        remedy = "Fit it again, with fewer regions if it is too large."
        raise InputError(f"the model cannot be saved: {error} {remedy}") from error
    if "KNNImputer" in decoder.classes:
        warn(
            "the file will hold the regions of all training subjects, because strategy='knn' "
            "fills gaps from them. Choose another strategy if these data must stay on your machine."
        )
    return {MODEL: to_json(content), **encoder.members}


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
    content = read_bytes(Path(path), repr(str(path)), MAX_FILE_BYTES + 1)
    try:
        manifest, members = read_members(content)
        model, classes = _decoded(manifest, members)
    except InputError as error:
        raise InputError(f"{str(path)!r} cannot be read as a model: {error}") from error
    _warn_about_versions(path, manifest, classes)
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
        name = type(model).__name__
        raise InputError(f"this {name} is not fitted. Call its method fit first.") from error
    except TypeError as error:
        raise InputError(
            f"a {type(model).__name__} cannot be saved. Give a network or a fitted model of sgbn."
        ) from error


def _names(model: Any) -> dict[str, list[str] | None]:
    """Return the names of features and classes, for a person who reads the manifest."""
    is_network = isinstance(model, GaussianNetwork)
    features = model.names if is_network else getattr(model, "feature_names_in_", None)
    labels = {"features": features, "classes": getattr(model, "classes_", None)}
    return {key: None if given is None else [*map(str, given)] for key, given in labels.items()}


def _decoded(manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> tuple[Any, Set[str]]:
    content, decoder = parse_json(members[MODEL], MODEL), Decoder(members)
    try:
        model = decoder.decode(content)
        same = type(model).__name__ == manifest.get("class")
        require(same, "its model is of another class than its manifest says.")
        _check_fitted(model)
        unused = sorted(set(members) - {MODEL} - set(decoder.arrays))
        require(not unused, f"it holds {listed(unused)}, which the model does not use.")
    except MISFITS as error:  # InputError is one of them
        raise InputError(f"{error} {AGAIN}") from error
    return model, decoder.classes


def _warn_about_versions(path: PathName, manifest: Any, classes: Set[str]) -> None:
    """Warn if a part of the model was fitted with another version of scikit-learn."""
    given = manifest.get("versions")
    then = str(given.get(LIBRARY)) if isinstance(given, dict) else "of unknown version"
    now = versions()[LIBRARY]
    homes = [class_named(name).__module__ for name in classes - {"Pipeline"}]
    has_sklearn = any(home.startswith("sklearn.") for home in homes)
    if has_sklearn and then.split(".")[:2] != now.split(".")[:2]:
        warn(
            f"{str(path)!r} was saved with {LIBRARY} {then:.40}, but is read with {now}. Its "
            f"predictions may differ. Compare some of them, or install {LIBRARY} {then:.40}."
        )
