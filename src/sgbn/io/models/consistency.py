"""Check that the parts of a model fit together.

A file made by hand must be refused when it is read. It must not fail later, in a prediction. The
shapes of arrays are in ``classes.toml``. All other conditions are here.
"""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np

from sgbn.io.models.checks import require
from sgbn.io.models.registry import CLASSES, SHARED, is_estimator, name_of
from sgbn.validation import LARGEST

# Smallest and largest temperature. A fit finds 1e-3 to 10, but a user may give any other.
TEMPERATURES = (1e-6, 1e6)
# Largest size of an entry that a network can compute with. Variances are squares of cells.
SIZES = {"coef": LARGEST, "intercept": LARGEST, "noise_variance": LARGEST**2}


def check_object(name: str, made: Any) -> None:
    """Raise InputError if the parts of an object, whose class is `name`, do not fit together."""
    if name == "Pipeline":
        _check_pipeline(made)
    elif name == "GaussianNetwork":
        _check_network(made)
    elif is_estimator(name) and hasattr(made, "n_features_in_"):  # it is fitted
        _check_fitted(name, made)


def _check_network(made: Any) -> None:
    require(all(made.names), "a network has a variable without a name.")
    for attribute, largest in SIZES.items():
        size = np.abs(getattr(made, attribute)).max(initial=0.0)
        wrong = f"{attribute} of a network has an entry of size {size:g}, above {largest:g}."
        require(size <= largest, wrong)


def _check_pipeline(made: Any) -> None:
    # A cache is a folder of pickles that joblib would read, and a pickle can run any code.
    require(made.memory is None, "a Pipeline has a cache.")
    site = getattr(made, "site_column_", None)
    require(site is None or isinstance(site, str), "the site column of a Pipeline is not a name.")
    require(isinstance(made.steps, list) and len(made.steps) > 0, "a Pipeline has no steps.")
    for step in made.steps:
        is_pair = isinstance(step, tuple) and len(step) == 2 and isinstance(step[0], str)
        require(is_pair, "a step of a Pipeline is not a pair of a name and an estimator.")
        name = name_of(step[1])
        right = name is not None and is_estimator(name)
        require(right, f"the step {step[0]!r} of a Pipeline is not an estimator.")


def _check_fitted(name: str, made: Any) -> None:
    features, like = made.n_features_in_, CLASSES[name].get("like", "")
    is_count = isinstance(features, int) and features > 0
    require(is_count, f"the number of features of a {name} is not a positive integer.")
    if hasattr(made, "feature_names_in_"):
        names = _array(made, "feature_names_in_", name)
        wrong = f"a {name} has {features} features, but their names have the shape {names.shape}."
        require(names.shape == (features,), wrong)
        is_text = all(isinstance(feature, str) for feature in names.tolist())
        require(is_text, f"a {name} has a feature name that is not text.")
    sizes = {"f": features}  # letter -> size; `_check_shape` adds the letters that it meets
    if hasattr(made, "classes_"):
        count = _array(made, "classes_", name).size
        sizes |= {"c": count, "p": 1 if count == 2 else count}
    for item in f"{SHARED.get(like, '')} {CLASSES[name].get('shapes', '')}".split():
        path, letters = item.split(":")
        _check_shape(name, made, path, letters, sizes)
    if like == "classifier":
        _check_classifier(name, made)
    elif like == "placed":
        _check_places(name, made)


def _check_shape(name: str, made: Any, path: str, letters: str, sizes: dict[str, int]) -> None:
    """Raise InputError unless an array has its shape; add letters that are new to `sizes`."""
    shape = letters.rstrip("?")
    if letters != shape and _part(made, path) is None:
        return
    array = _array(made, path, name)
    if array.ndim == len(shape):
        for letter, size in zip(shape, array.shape, strict=True):
            sizes.setdefault(letter, size)
    # A letter without a size is new, and the array has another number of axes: -1 never matches.
    wanted = tuple(sizes.get(letter, -1) for letter in shape)
    wrong = f"{path} of a {name} has the shape {array.shape}, not {wanted}."
    require(array.shape == wanted, wrong)


def _part(made: Any, path: str) -> Any:
    try:
        return attrgetter(path)(made)
    except AttributeError:
        return None


def _array(made: Any, path: str, name: str) -> Any:
    array = _part(made, path)
    require(isinstance(array, np.ndarray), f"{path} of a {name} is not an array.")
    return array


def _check_classifier(name: str, made: Any) -> None:
    networks = getattr(made, "networks_", None)
    # As lists, because the order matters: probabilities have the order of `classes_`.
    same = isinstance(networks, dict) and list(networks) == made.classes_.tolist()
    require(same, f"a {name} does not have one network per class.")
    right = all(getattr(n, "m", -1) == made.n_features_in_ for n in made.networks_.values())
    require(right, f"a network of a {name} does not have one variable per feature.")
    priors = made.priors_
    # Positive, because a prediction takes their logarithms. The sum is 1 up to round-off.
    right = priors.dtype.kind == "f" and bool((priors > 0).all()) and abs(priors.sum() - 1) < 1e-6
    require(right, f"the priors of a {name} are not positive, or do not add up to 1.")
    temperature, (low, high) = getattr(made, "temperature_", None), TEMPERATURES
    right = isinstance(temperature, float) and low <= temperature <= high
    require(right, f"the temperature of a {name} is not a number from {low:g} to {high:g}.")


def _check_places(name: str, made: Any) -> None:
    for attribute in ("_region_places", "_kept_places", "_named_places", "_kept_named_places"):
        places = _array(made, attribute, name)
        right = places.ndim == 1 and places.dtype.kind == "i"
        # A place behind the last column would fail in a prediction. A negative place would count
        # from the end.
        right = right and bool(((places >= 0) & (places < made.n_features_in_)).all())
        require(right, f"{attribute} of a {name} are not places of columns.")
    named = isinstance(made._names, list) and len(made._names) == len(made._named_places)
    require(named, f"a {name} does not have one name for each of its columns.")
    for covariate in _part(made, "_design.covariates") or ():
        if covariate.spline is not None:
            _check_spline(name, covariate.spline)
    for centre in getattr(made, "_centres", {}).values():
        right = np.shape(centre) == made._region_places.shape
        require(right, f"a site of a {name} does not have one median for each region.")


def _check_spline(name: str, spline: Any) -> None:
    knots, turn = _array(spline, "knots", name), _array(spline, "turn", name)
    # A cubic basis of k functions has k + 4 knots.
    right = knots.ndim == 1 and turn.ndim == 2 and len(knots) == len(turn) + 4 and len(turn) > 3
    right = right and bool((np.diff(knots) >= 0).all()) and spline.high > spline.low
    require(right, f"the knots of a smooth covariate of a {name} do not fit its curve.")
