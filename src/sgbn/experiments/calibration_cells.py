"""Figures of the calibration as they stand in the cells of its tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kstest

from sgbn.experiments.calibration import Scores
from sgbn.experiments.exp2 import mean_and_error
from sgbn.inference.power import wilson

Array = NDArray[np.float64]
Interval = tuple[float, float, float]  # estimate, low, high

TWO_SIDED_95 = 1.96  # standard errors


def kind_of(own: Mapping[str, Any]) -> str:
    """Name what the groups of a setting have in common, and what not."""
    if own["nuisance"]:
        return "three sites and covariates, confounded"
    noise = "noise doubled in half the regions" if own["noise"] != 1.0 else "equal noise"
    return f"{noise}, order known" if own["known_order"] else noise


def sizes_of(own: Mapping[str, Any]) -> str:
    """Subjects of the groups."""
    return "/".join(map(str, own["sizes"]))


def part(hits: float, n: int) -> Interval:
    """Share with its binomial interval; NaN of nothing."""
    return (hits / n, *wilson(hits / n, n)) if n else (np.nan,) * 3


def share(hits: NDArray[Any]) -> Interval:
    """Share of cohorts with its binomial interval, which is too wide for parts of a hit."""
    return part(float(hits.sum()), len(hits))


def mean_interval(values: Array) -> Interval:
    """Mean of cohorts with its normal interval; a share is never outside 0 and 1."""
    mean, error = mean_and_error(values)
    half = TWO_SIDED_95 * error
    return mean, max(0.0, mean - half), min(1.0, mean + half)


def shown(interval: Interval) -> str:
    """Estimate, and its interval in brackets."""
    estimate, low, high = interval
    return "-" if np.isnan(estimate) else f"{estimate:.3f} [{low:.3f}, {high:.3f}]"


def mean_shown(values: Array) -> str:
    """Mean of what is not NaN, and its standard error."""
    mean, error = mean_and_error(values)
    return "-" if np.isnan(mean) else f"{mean:.3f} +- {error:.3f}"


def number(value: float, form: str) -> str:
    """Format a number that may mean nothing."""
    return "-" if np.isnan(value) else format(value, form)


def false_share(scores: Scores, method: str, field: str = "false") -> Array:
    """Share of what is found, a cohort; 0 where nothing is."""
    found: Array = scores.of(field, method) / np.maximum(scores.of("found", method), 1)
    return found


def uniform_p(p: Array, step: float) -> float:
    """Give p of the Kolmogorov-Smirnov test; p-values on a grid are spread over its steps."""
    spread = p - step * np.random.default_rng(0).random(len(p))
    return float(kstest(spread[~np.isnan(p)], "uniform").pvalue)
