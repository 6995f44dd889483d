"""Classes that a model file may hold: these and no others, whatever a file asks for.

A class is found by its name in this table. Nothing is imported that is not written here.
"""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from importlib import import_module
from inspect import Parameter, getattr_static, signature
from typing import Any

from sklearn.base import BaseEstimator

from sgbn.exceptions import InputError, listed

BASELINES = ("GS", "IAMB", "IAMBnPC", "InterIAMB", "InterIAMBnPC", "L1MB", "TC", "TCbw")
_NAMES = {
    "sgbn.gaussian": ("GaussianNetwork",),
    "sgbn.structure": ("HSGBN", "ORSGBN", "SGBN"),
    "sgbn.structure.baselines": BASELINES,
    "sgbn.structure.base": ("Arrows",),
    "sgbn.structure.knowledge": ("Knowledge",),
    "sgbn.moments": ("Moments",),
    "sgbn.structure.smooth": ("Spline",),
    "sgbn.structure.posterior": ("NetworkPosterior",),
    "sgbn.structure.ensemble": ("Agreement", "EdgeConfidence", "SGBNEnsemble"),
    "sgbn.discriminative": (
        *("CLSGBNClassifier", "FisherSVMClassifier", "FisherVectors", "KLSGBNClassifier"),
        *("MMSGBNClassifier", "MixtureMeans", "SGBNClassifier", "SGBNClassifierCV"),
    ),
    "sgbn.discriminative.class_networks": ("Scale",),
    "sgbn.discriminative.fisher": ("NetworkScore",),
    "sgbn.discriminative.likelihood": ("Learned",),
    "sgbn.discriminative.moved": ("Moved",),
    "sgbn.discriminative.moves": ("ClassMoves", "Moves"),
    "sgbn.preprocessing": (
        *("CovariateRegressor", "RegionImputer", "RegionSelector", "SiteHarmonizer"),
    ),
    "sgbn.preprocessing.combat": ("Combat", "PersonEffects"),
    "sgbn.preprocessing.design": ("Covariate", "Design", "Slopes"),
    # scikit-learn's imputers by way of our module, which unlocks the experimental one
    "sgbn.preprocessing.missing": (
        *("Filling", "IterativeImputer", "KNNImputer", "SimpleImputer"),
    ),
    "sklearn.discriminant_analysis": ("LinearDiscriminantAnalysis",),
    "sklearn.impute._iterative": ("_ImputerTriplet",),
    "sklearn.linear_model": ("BayesianRidge",),
    "sklearn.pipeline": ("Pipeline",),
    "sklearn.preprocessing": ("StandardScaler",),
}
HOME = {name: home for home, names in _NAMES.items() for name in names}

# Built by their constructor, which checks what it is given: class -> its arguments.
CONSTRUCTED = {
    "GaussianNetwork": ("coef", "intercept", "noise_variance", "names"),
    "NetworkScore": ("network", "edges", "scaling"),
}
# Attributes of estimators that older versions called otherwise.
RENAMED = {"_arrows": "arrows_"}
# Attributes that nothing after a fit reads.
LEFT_OUT = {
    "BayesianRidge": ("scores_", "sigma_"),
    "IterativeImputer": ("random_state_",),
}
# Attributes that may hold NaN or infinity; all others are finite.
_BOUNDS = ("missing_values", "min_value", "max_value", "_min_value", "_max_value")
NOT_FINITE = {
    "HSGBN": ("criterion_path_",),
    "IterativeImputer": _BOUNDS,
    "KNNImputer": ("missing_values", "_fit_X"),
    "ORSGBN": ("criterion_path_",),
    "RegionSelector": ("scores_",),
    "Agreement": ("edges", "arrows"),
    "SGBNEnsemble": ("coef_low_", "coef_high_"),
    "SimpleImputer": ("missing_values",),
}


@cache
def class_named(name: str) -> type[Any]:
    """Class of the table."""
    if name not in HOME:
        raise InputError(f"{name!r} is no class that a model is made of.")
    found: type[Any] = getattr(import_module(HOME[name]), name)
    return found


def name_of(value: object) -> str | None:
    """Name under which the table has the class of `value`; None if it has not."""
    name = type(value).__name__
    return name if name in HOME and class_named(name) is type(value) else None


def is_estimator(name: str) -> bool:
    """Whether a class is kept by its attributes, as scikit-learn's estimators are."""
    return issubclass(class_named(name), BaseEstimator)


def fields_of(name: str) -> tuple[str, ...]:
    """Arguments from which an instance is made; of estimators, see `state_of`."""
    if name in CONSTRUCTED:
        return CONSTRUCTED[name]
    cls = class_named(name)
    if is_dataclass(cls):
        return tuple(field.name for field in fields(cls))
    found: tuple[str, ...] = cls._fields
    return found


def state_of(name: str, value: Any) -> dict[str, Any]:
    """Return what an instance is made of."""
    if is_estimator(name):
        gone = LEFT_OUT.get(name, ())
        return {key: one for key, one in vars(value).items() if key not in gone}
    return {field: getattr(value, field) for field in fields_of(name)}


def build(name: str, state: dict[str, Any]) -> Any:
    """Instance from what `state_of` gave."""
    if is_estimator(name):
        return _estimator(name, state)
    wanted = fields_of(name)
    state = _field_defaults(class_named(name)) | state  # of an older version
    if set(state) != set(wanted):
        raise InputError(f"a {name} has {listed(sorted(state))}, and not {listed(wanted)}.")
    return class_named(name)(**state)


def _field_defaults(cls: type[Any]) -> dict[str, Any]:
    """Defaults of a named tuple or dataclass; those that are made by a function are left out."""
    if not is_dataclass(cls):
        return dict(getattr(cls, "_field_defaults", {}))
    return {one.name: one.default for one in fields(cls) if one.default is not MISSING}


def _estimator(name: str, state: dict[str, Any]) -> Any:
    """Estimator with these attributes; a parameter that an older version lacked has its default."""
    cls = class_named(name)
    state = {RENAMED.get(attribute, attribute): one for attribute, one in state.items()}
    for attribute in state:
        if not attribute.isidentifier() or attribute.startswith("__") or _works(cls, attribute):
            raise InputError(f"a {name} has no attribute {attribute!r}.")
    made: Any = object.__new__(cls)
    vars(made).update(_defaults(cls) | state)
    missing = [one for one, default in vars(made).items() if default is Parameter.empty]
    if missing:
        raise InputError(f"a {name} has no {listed(missing)}.")
    return made


def _works(cls: type[Any], attribute: str) -> bool:
    """Whether this is a method or property of the class, which must stay what it is."""
    found = getattr_static(cls, attribute, None)
    return callable(found) or hasattr(found, "__get__")


def _defaults(cls: type[Any]) -> dict[str, Any]:
    """Parameter -> its default, or `Parameter.empty`."""
    parameters = [*signature(cls.__init__).parameters.values()][1:]  # without self
    return {
        p.name: p.default for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    }
