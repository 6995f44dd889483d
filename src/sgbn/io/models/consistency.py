"""Whether the parts of a model that was read fit together.

Shapes are written as letters: ``f`` features, ``c`` classes, ``p`` planes (one for two classes,
else one per class), ``r`` regions; any other letter is a number that is the same wherever it stands
in one object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sgbn.exceptions import InputError
from sgbn.io.models.registry import BASELINES, CONSTRUCTED, is_estimator, name_of
from sgbn.validation import LARGEST

Shapes = Mapping[str, str]

LEARNER: Shapes = {
    "network_.coef": "ff",
    "coef_": "ff",
    "coef_std_": "ff",
    "intercept_": "f",
    "noise_variance_": "f",
    "order_": "f",
    "arrows_.graph": "ff",
}
BASELINE: Shapes = {**LEARNER, "blankets_": "ff", "pdag_": "ff"}
CLASSIFIER: Shapes = {"classes_": "c", "priors_": "c"}
PLACED: Shapes = {"_region_places": "r", "_kept_places": "k"}
EFFECTS = {"location": "sr", "scale": "sr", "mean": "r", "sd": "r", "slopes.coef": "er"}
PERSONS = {"intercepts": "ur", "ratio": "r", "site_means": "sr"}
SHAPES: dict[str, Shapes] = {
    **dict.fromkeys(("ORSGBN", "HSGBN"), LEARNER),
    "SGBN": {**LEARNER, "arrows_.non_gaussian": "ff"},
    **dict.fromkeys(BASELINES, BASELINE),
    **dict.fromkeys(("SGBNClassifier", "SGBNClassifierCV"), CLASSIFIER),
    **dict.fromkeys(("CLSGBNClassifier", "KLSGBNClassifier", "MMSGBNClassifier"), CLASSIFIER),
    "BayesianRidge": {"coef_": "f"},
    "CovariateRegressor": {**PLACED, "coef_": "dr", "_design.means": "d", "design_mean_": "d"},
    "FisherSVMClassifier": {
        "classes_": "c",
        "coef_": "pk",
        "components_": "k",
        "beta_": "pn",
        "intercept_": "p",
        "_scale.mean": "f",
        "_scale.sd": "f",
    },
    "IterativeImputer": {"_min_value": "f", "_max_value": "f", "initial_imputer_.statistics_": "f"},
    "KNNImputer": {"_fit_X": "nf", "_mask_fit_X": "nf", "_valid_mask": "f"},
    "LinearDiscriminantAnalysis": {"classes_": "c", "coef_": "pf", "intercept_": "p"},
    "RegionImputer": PLACED,
    "RegionSelector": {**PLACED, "support_": "f", "scores_": "f"},
    "SimpleImputer": {"statistics_": "f"},
    "SiteHarmonizer": {
        **PLACED,
        **{f"_fitted.{name}": shape for name, shape in EFFECTS.items()},
        "location_": "sr",
        "scale_": "sr",
        "region_mean_": "r",
        "region_sd_": "r",
        "coef_": "dr",
        "_design.means": "d",
        "site_counts_": "s",
        **{f"_fitted.persons.{name}": shape for name, shape in PERSONS.items()},
    },
    "StandardScaler": {"mean_": "f", "var_": "f", "scale_": "f"},
}
TEMPERATURES = (1e-6, 1e6)  # a fit finds 1e-3 to 10; one that is given may lie beyond
# Of networks: variances are squares of cells.
SIZES = {"coef": LARGEST, "intercept": LARGEST, "noise_variance": LARGEST**2}
MAY_BE_NONE = {
    "RegionSelector": ("scores_",),
    "SGBN": ("arrows_.non_gaussian",),
    "SiteHarmonizer": tuple(f"_fitted.persons.{part}" for part in PERSONS),
    "StandardScaler": ("mean_", "var_", "scale_"),
}


def check_object(name: str, made: Any) -> None:
    """Refuse an object whose parts do not fit each other."""
    if name == "Pipeline":
        _check_pipeline(made)
    elif name == "GaussianNetwork":
        _check_network(made)
    elif name in CONSTRUCTED or not is_estimator(name) or not hasattr(made, "n_features_in_"):
        return  # checked by its constructor, a part of something else, or not fitted
    else:
        _check_fitted(name, made)


def _check_network(made: Any) -> None:
    _check(all(made.names), "a network has a variable without a name")
    for attribute, largest in SIZES.items():
        size = np.abs(getattr(made, attribute)).max(initial=0.0)
        wrong = f"{attribute} of a network holds a number of size {size:g}"
        _check(size <= largest, f"{wrong}: {largest:g} is the largest to compute with")


def _check_pipeline(made: Any) -> None:
    _check(made.memory is None, "a Pipeline has a cache")
    steps = made.steps if isinstance(made.steps, list) else []
    pairs = [step for step in steps if isinstance(step, tuple) and len(step) == 2]
    whole = bool(steps) and len(pairs) == len(steps)
    _check(whole and all(isinstance(one, str) for one, _ in pairs), "a Pipeline has no steps")
    site = getattr(made, "site_column_", None)
    _check(site is None or isinstance(site, str), "the column of sites of a Pipeline has no name")
    for one, step in pairs:
        name = name_of(step)
        found = name is not None and is_estimator(name)
        _check(found, f"the step {one!r} of a Pipeline is no estimator")


def _check_fitted(name: str, made: Any) -> None:
    features = made.n_features_in_
    _check(isinstance(features, int) and features > 0, f"a {name} has no number of features")
    if hasattr(made, "feature_names_in_"):
        names = _array(made.feature_names_in_, "feature_names_in_", name)
        _check(names.shape == (features,), f"a {name} has {features} features, and other names")
        _check(all(isinstance(one, str) for one in names.tolist()), f"a {name} has odd names")
    sizes = {"f": features}
    if hasattr(made, "classes_"):
        count = _array(made.classes_, "classes_", name).size
        sizes |= {"c": count, "p": 1 if count == 2 else count}
    for attribute, shape in SHAPES.get(name, {}).items():
        _check_shape(name, attribute, _part(made, attribute), shape, sizes)
    if SHAPES.get(name) is CLASSIFIER:
        _check_classifier(name, made)
    if name in SHAPES and "_region_places" in SHAPES[name]:
        _check_places(name, made)


def _part(made: Any, path: str) -> Any:
    for attribute in path.split("."):
        made = getattr(made, attribute, None)
    return made


def _check_shape(name: str, attribute: str, value: Any, shape: str, sizes: dict[str, int]) -> None:
    """Compare the shape of an array, and learn the sizes that are not known yet."""
    if value is None and attribute in MAY_BE_NONE.get(name, ()):
        return
    array = _array(value, attribute, name)
    if array.ndim == len(shape):
        for letter, size in zip(shape, array.shape, strict=True):
            sizes.setdefault(letter, size)
    wanted = tuple(sizes.get(letter, -1) for letter in shape)
    _check(
        array.shape == wanted,
        f"{attribute} of a {name} has the shape {array.shape}, and not {wanted}",
    )


def _array(value: Any, attribute: str, name: str) -> Any:
    _check(isinstance(value, np.ndarray), f"{attribute} of a {name} is no array")
    return value


def _check_classifier(name: str, made: Any) -> None:
    networks = getattr(made, "networks_", None)
    labels = made.classes_.tolist()
    same = isinstance(networks, dict) and list(networks) == labels
    _check(same, f"a {name} has not one network for each of its classes")
    for network in networks.values() if isinstance(networks, dict) else ():
        right = getattr(network, "m", -1) == made.n_features_in_
        _check(right, f"a network of a {name} has not one variable for each feature")
    shares = made.priors_
    right = shares.dtype.kind == "f" and bool((shares > 0).all()) and abs(shares.sum() - 1) < 1e-6
    _check(right, f"the priors of a {name} are no shares of one")
    temperature, (low, high) = getattr(made, "temperature_", None), TEMPERATURES
    right = isinstance(temperature, float) and low <= temperature <= high
    _check(right, f"the temperature of a {name} is no number from {low:g} to {high:g}")


def _check_places(name: str, made: Any) -> None:
    for attribute in ("_region_places", "_kept_places", "_named_places", "_kept_named_places"):
        places = _array(getattr(made, attribute, None), attribute, name)
        right = places.ndim == 1 and places.dtype.kind == "i"
        right = right and bool(((places >= 0) & (places < made.n_features_in_)).all())
        _check(right, f"{attribute} of a {name} are no places of columns")
    named = isinstance(made._names, list) and len(made._names) == len(made._named_places)
    _check(named, f"a {name} has not one name for each of its columns")
    for covariate in getattr(getattr(made, "_design", None), "covariates", ()):
        if covariate.spline is not None:
            _check_spline(name, covariate.spline)
    for centre in getattr(made, "_centres", {}).values():
        right = np.shape(centre) == made._region_places.shape
        _check(right, f"a site of a {name} has not one median for each region")


def _check_spline(name: str, spline: Any) -> None:
    knots, turn = (_array(getattr(spline, part, None), part, name) for part in ("knots", "turn"))
    right = knots.ndim == 1 and turn.ndim == 2 and len(knots) == len(turn) + 4 and len(turn) > 3
    right = right and bool((np.diff(knots) >= 0).all()) and spline.high > spline.low
    _check(right, f"the curve of a smooth covariate of a {name} has knots that do not fit it")


def _check(right: bool, wrong: str) -> None:
    if not right:
        raise InputError(f"{wrong}.")
