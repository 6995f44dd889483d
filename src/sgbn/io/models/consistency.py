"""Check that the parts of a model fit together.

The parts of a file that was made by hand may not fit. Such a file must be refused when it is read,
and must not fail later in a prediction. The shapes of arrays are in ``classes.toml``. All other
conditions are here.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from sgbn.core.validation import LARGEST
from sgbn.io.models.checks import require
from sgbn.io.models.registry import CLASSES, SHARED, is_estimator, name_of

# Smallest and largest temperature. A fit finds values from 1e-3 to 10. A user may give others.
TEMPERATURES = (1e-6, 1e6)
# Largest absolute value that a network can compute with, by attribute. A variance has the size of
# a squared cell.
SIZES = {"coef": LARGEST, "intercept": LARGEST, "noise_variance": LARGEST**2}


def check_object(name: str, made: Any) -> None:
    """Raise InputError if the parts of an object, whose class is `name`, do not fit together."""
    if name == "Pipeline":
        _check_pipeline(made)
    elif name == "GaussianNetwork":
        _check_network(made)
    elif is_estimator(name) and hasattr(made, "n_features_in_"):  # it is fitted
        like = CLASSES[name].get("like", "")
        _check_shapes(made, f"{SHARED.get(like, '')} {CLASSES[name].get('shapes', '')}")
        if like == "classifier":
            _check_classifier(made)
        elif like == "placed":
            _check_places(made)


def _check_network(made: Any) -> None:
    require(all(made.names), "a variable has no name.")
    for attribute, largest in SIZES.items():
        size = np.abs(getattr(made, attribute)).max(initial=0.0)
        require(size <= largest, f"{attribute} has an entry of size {size:g}, above {largest:g}.")


def _check_pipeline(made: Any) -> None:
    # A cache is a folder of pickles that joblib would read. A pickle can run any code.
    require(made.memory is None, "it has a cache.")
    site = getattr(made, "site_column_", None)
    require(site is None or isinstance(site, str), "its site column is not a name.")
    require(isinstance(made.steps, list) and len(made.steps) > 0, "it has no steps.")
    for name, step in made.steps:
        class_name = name_of(step)
        right = isinstance(name, str) and class_name is not None and is_estimator(class_name)
        require(right, f"the step {name!r:.60} is not an estimator with a name.")


def _check_shapes(made: Any, table: str) -> None:
    """Raise InputError unless each array has the shape that the table gives."""
    features = made.n_features_in_
    right = isinstance(features, int) and features > 0
    require(right, "the number of features is not a positive integer.")
    n_classes = np.size(getattr(made, "classes_", ()))
    sizes = {"f": features, "c": n_classes, "p": 1 if n_classes == 2 else n_classes}
    for item in f"feature_names_in_:f? {table}".split():
        path, letters = item.split(":")
        _check_array(made, path, letters, sizes)
    names = getattr(made, "feature_names_in_", None)
    is_text = names is None or all(isinstance(name, str) for name in names.tolist())
    require(is_text, "the name of a feature is not text.")


def _check_array(made: Any, path: str, letters: str, sizes: dict[str, int]) -> None:
    """Raise InputError unless an array has its shape. The sizes of new letters go to `sizes`."""
    letters, _, bound = letters.partition("<")
    shape = letters.rstrip("?")
    array = _part(made, path)
    if letters != shape and array is None:
        return
    require(isinstance(array, np.ndarray), f"{path} is not an array.")
    for letter, size in zip(shape, array.shape, strict=False):
        sizes.setdefault(letter, size)
    # A letter without a size belongs to an axis that the array does not have. -1 never matches.
    wanted = tuple(sizes.get(letter, -1) for letter in shape)
    require(array.shape == wanted, f"{path} has the shape {array.shape}, not {wanted}.")
    if bound:
        # A place behind the last column would fail in a prediction. A negative place would count
        # from the end.
        right = array.dtype.kind == "i" and bool(((array >= 0) & (array < sizes[bound])).all())
        require(right, f"{path} does not hold positions of columns.")


def _part(made: Any, path: str) -> Any:
    try:
        return attrgetter(path)(made)
    except AttributeError:
        return None


def _check_classifier(made: Any) -> None:
    networks, priors = made.networks_, made.priors_
    # As lists, because the order matters. Probabilities have the order of `classes_`.
    same = isinstance(networks, dict) and list(networks) == made.classes_.tolist()
    require(same, "it does not have one network per class.")
    right = all(network.m == made.n_features_in_ for network in networks.values())
    require(right, "a network does not have one variable per feature.")
    # Positive, because a prediction takes their logarithms. The sum is 1 up to round-off.
    right = priors.dtype.kind == "f" and bool((priors > 0).all()) and abs(priors.sum() - 1) < 1e-6
    require(right, "the priors are not positive, or do not add up to 1.")
    temperature, (low, high) = made.temperature_, TEMPERATURES
    right = isinstance(temperature, float) and low <= temperature <= high
    require(right, f"the temperature is not a number from {low:g} to {high:g}.")


def _check_places(made: Any) -> None:
    named = isinstance(made._names, list) and len(made._names) == len(made._named_places)
    require(named, "it does not have one name for each of its columns.")
    for covariate in _part(made, "_design.covariates") or ():
        if covariate.spline is not None:
            _check_spline(covariate.spline)
    for centre in getattr(made, "_centres", {}).values():
        right = np.shape(centre) == made._region_places.shape
        require(right, "a site does not have one median for each region.")


def _check_spline(spline: Any) -> None:
    knots, turn = spline.knots, spline.turn
    # A cubic basis of k functions has k + 4 knots.
    right = knots.ndim == 1 and turn.ndim == 2 and len(knots) == len(turn) + 4 and len(turn) > 3
    right = right and bool((np.diff(knots) >= 0).all()) and spline.high > spline.low
    require(right, "the knots of a smooth covariate do not fit its curve.")
