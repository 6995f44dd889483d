"""Simulate what is not biology in a cohort: sites, covariates and missing cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.core.exceptions import InputError
from sgbn.core.types import Array, Indices, Labels, Mask
from sgbn.core.validation import Constraint, Whole, is_whole

BySite = dict[str, Array]

COVARIATES = ("age", "sex", "eTIV")
# One site would be the same as no site.
N_SITES = Constraint(["0"], lambda value: is_whole(value) and value == 0) | Whole(2)
REFERENCE_AGE = 65.0  # years; for women of this age and the reference eTIV, covariates add 0
REFERENCE_ETIV = 1.5e6  # mm^3
AGE_SD = 8.0  # years
AGE_GAP = 10.0  # years by which the last group is older than the first under full confounding
SEX_GAP_ETIV = 1.6e5  # mm^3 by which the mean of men is above the mean of women
ETIV_SD = 1.1e5  # mm^3, within a sex
LARGEST_SITE = 2.0  # size of the largest site, as a multiple of the smallest


# Sites ------------------------------------------------------------------------------------------


def site_names(n_sites: int) -> list[str]:
    """Return the names site1, site2, ..., with leading zeros if needed."""
    width = len(str(n_sites))
    return [f"site{k + 1:0{width}d}" for k in range(n_sites)]


def assign_sites(
    sizes: Mapping[str, int], sites: Sequence[str], confounding: float, rng: np.random.Generator
) -> Labels:
    """Return the site of each subject, group after group.

    Sites differ in size. Without confounding, every group has subjects at every site. `confounding`
    is the share of each group that is measured at the group's own site.
    """
    common = np.linspace(LARGEST_SITE, 1.0, len(sites))
    common /= common.sum()
    assigned = []
    for number, (group, size) in enumerate(sizes.items()):
        if size < len(sites):
            raise InputError(
                f"group {group!r} has {size} subjects for {len(sites)} sites. Use fewer sites, "
                "or more subjects."
            )
        own_site = np.eye(len(sites))[number % len(sites)]
        # With full confounding, all subjects of a group are at one site.
        least = 0 if confounding else 1  # fewest subjects of this group at a site
        shares = (1 - confounding) * common + confounding * own_site
        counts = least + _whole_parts(size - least * len(sites), shares)
        assigned.append(rng.permutation(np.repeat(sites, counts)))
    return np.concatenate(assigned)


def _whole_parts(total: int, shares: Array) -> Indices:
    """Return integers with the sum `total` that are as close to the shares as possible."""
    # Largest remainder method: round down, then add 1 where rounding took the most.
    exact = total * shares
    parts = np.floor(exact).astype(np.intp)
    last = np.argsort(parts - exact, kind="stable")[: total - parts.sum()]
    parts[last] += 1
    return parts


def site_effects(
    sites: Sequence[str], sd: Array, strength: float, rng: np.random.Generator
) -> tuple[BySite, BySite]:
    """Draw the shift and scale of each region at each site, as in ComBat's model.

    Each site has its own shift and scale, and its regions vary around them.
    """
    shift, scale = {}, {}
    for name in sites:
        of_site = rng.standard_normal(2)
        of_region = rng.standard_normal((2, len(sd)))
        shift[name] = strength * sd * (0.4 * of_site[0] + 0.3 * of_region[0])
        scale[name] = np.exp(strength * (0.15 * of_site[1] + 0.1 * of_region[1]))
    return shift, scale


# Covariates -------------------------------------------------------------------------------------


def covariate_names(covariates: Iterable[str] | bool, known: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the covariates in the order of `known`; True means all of them."""
    if isinstance(covariates, bool):
        return tuple(known) if covariates else ()
    asked = {covariates} if isinstance(covariates, str) else set(covariates)
    unknown = sorted(map(str, asked - set(known)))
    if unknown:
        raise InputError(f"no covariate is called {unknown[0]!r}. Choose from {list(known)}.")
    return tuple(name for name in known if name in asked)


def draw_covariates(
    sizes: Sequence[int], confounding: float, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Draw age, sex and eTIV of each subject, group after group.

    With confounding, later groups are older.
    """
    n = sum(sizes)
    # From 0 in the first group to 1 in the last.
    later = np.repeat(np.linspace(0.0, 1.0, len(sizes)), sizes)
    age = REFERENCE_AGE + AGE_SD * rng.standard_normal(n) + confounding * AGE_GAP * later
    male = rng.random(n) < 0.5
    etiv = REFERENCE_ETIV + SEX_GAP_ETIV * (male - 0.5) + ETIV_SD * rng.standard_normal(n)
    # Rounded as in the table of a study
    return {
        "age": np.round(age, 1),
        "sex": np.where(male, "M", "F"),
        "eTIV": np.round(etiv),
    }


def draw_slopes(mean: Array, rng: np.random.Generator) -> dict[str, Array]:
    """Draw the effects on each region, in mm^3 per year of age, for men, and per mm^3 of eTIV."""
    loss, sex, share = rng.random((3, len(mean)))
    return {
        "age": -mean * (0.002 + 0.004 * loss),
        "sex": mean * (0.04 * sex - 0.02),
        "eTIV": mean / REFERENCE_ETIV * (0.6 + 0.4 * share),
    }


def covariate_part(
    covariates: Mapping[str, NDArray[Any]], slopes: Mapping[str, Array]
) -> Array | float:
    """Return the summed effects of the covariates on each region of each subject."""
    return sum((np.outer(_centred(name, covariates[name]), slopes[name]) for name in slopes), 0.0)


def _centred(name: str, column: NDArray[Any]) -> Array:
    if name == "sex":  # women are the reference
        return (column == "M").astype(np.float64)
    centred: Array = column - {"age": REFERENCE_AGE, "eTIV": REFERENCE_ETIV}[name]
    return centred


# Missing cells ----------------------------------------------------------------------------------


def missing_cells(shape: tuple[int, int], share: float, rng: np.random.Generator) -> Mask:
    """Draw the given share of cells at random, but not all cells of any row or column."""
    n, m = shape
    # Keep one cell per row, then one in each column that has none yet. All others may be missing.
    kept = np.zeros(shape, dtype=bool)
    kept[np.arange(n), rng.integers(m, size=n)] = True
    bare = np.flatnonzero(~kept.any(axis=0))
    kept[rng.integers(n, size=len(bare)), bare] = True
    free = np.flatnonzero(~kept)
    count = round(share * n * m)
    if count > len(free):
        # The limit is rounded down, so that it is accepted.
        raise InputError(
            f"missing={share} would leave subjects or regions without any value. With {n} subjects "
            f"and {m} regions, give at most {np.floor(1000 * len(free) / (n * m)) / 1000:g}."
        )
    cells = np.zeros(n * m, dtype=bool)
    cells[rng.permutation(free)[:count]] = True
    return cells.reshape(shape)
