"""What a cohort has beside its biology: sites, covariates and missing cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sgbn.exceptions import InputError
from sgbn.types import Array, Indices, Labels, Mask

BySite = dict[str, Array]

COVARIATES = ("age", "sex", "eTIV")
REFERENCE_AGE = 65.0  # years; here, and for women of the reference eTIV, covariates add nothing
REFERENCE_ETIV = 1.5e6  # mm^3
AGE_SD = 8.0  # years
AGE_GAP = 10.0  # years that the last group is older than the first under full confounding
SEX_GAP_ETIV = 1.6e5  # mm^3 that men have more than women
ETIV_SD = 1.1e5  # mm^3, within a sex
LARGEST_SITE = 2.0  # times the smallest one


# Sites ------------------------------------------------------------------------------------------


def site_names(n_sites: int) -> list[str]:
    """site1, site2, ..., with as many digits as the last one needs."""
    width = len(str(n_sites))
    return [f"site{k + 1:0{width}d}" for k in range(n_sites)]


def assign_sites(
    sizes: Mapping[str, int], sites: Sequence[str], confounding: float, rng: np.random.Generator
) -> Labels:
    """Site of each subject, group after group.

    Sites differ in size, and every group is at every site. Confounding is the share of each group
    that is sent to a site of the group's own.
    """
    common = np.linspace(LARGEST_SITE, 1.0, len(sites))
    common /= common.sum()
    assigned = []
    for number, (group, size) in enumerate(sizes.items()):
        if size < len(sites):
            raise InputError(
                f"group {group!r} has {size} subjects for {len(sites)} sites. Take fewer sites, "
                "or more subjects."
            )
        own_site = np.eye(len(sites))[number % len(sites)]
        # Full confounding sends a group to one site alone.
        least = 0 if confounding else 1  # subjects of this group at every site
        shares = (1 - confounding) * common + confounding * own_site
        counts = least + _whole_parts(size - least * len(sites), shares)
        assigned.append(rng.permutation(np.repeat(sites, counts)))
    return np.concatenate(assigned)


def _whole_parts(total: int, shares: Array) -> Indices:
    """Whole numbers that add up to `total`, as near to the shares as they can be."""
    # Largest remainder: what rounding down leaves goes to those that lost most by it.
    exact = total * shares
    parts = np.floor(exact).astype(np.intp)
    last = np.argsort(parts - exact, kind="stable")[: total - parts.sum()]
    parts[last] += 1
    return parts


def site_effects(
    sites: Sequence[str], sd: Array, strength: float, rng: np.random.Generator
) -> tuple[BySite, BySite]:
    """Shift and scale of each region at each site, as ComBat supposes them.

    A site has a shift and a scale of its own, and each region varies around these.
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
    """Return the covariates asked for, in the order of those that are known; True is all."""
    if isinstance(covariates, bool):
        return tuple(known) if covariates else ()
    asked = {covariates} if isinstance(covariates, str) else set(covariates)
    unknown = sorted(map(str, asked - set(known)))
    if unknown:
        raise InputError(f"no covariate is called {unknown[0]!r}: take of {list(known)}.")
    return tuple(name for name in known if name in asked)


def draw_covariates(
    sizes: Sequence[int], confounding: float, rng: np.random.Generator
) -> dict[str, NDArray[Any]]:
    """Age, sex and eTIV of each subject, group after group; later groups older if confounded."""
    n = sum(sizes)
    # 0 in the first group, 1 in the last.
    later = np.repeat(np.linspace(0.0, 1.0, len(sizes)), sizes)
    age = REFERENCE_AGE + AGE_SD * rng.standard_normal(n) + confounding * AGE_GAP * later
    male = rng.random(n) < 0.5
    etiv = REFERENCE_ETIV + SEX_GAP_ETIV * (male - 0.5) + ETIV_SD * rng.standard_normal(n)
    return {
        "age": np.round(age, 1),
        "sex": np.where(male, "M", "F"),
        "eTIV": np.round(etiv),
    }


def draw_slopes(mean: Array, rng: np.random.Generator) -> dict[str, Array]:
    """Effect of a year of age, of being a man, and of a mm^3 of eTIV, on each region in mm^3."""
    loss, sex, share = rng.random((3, len(mean)))
    return {
        "age": -mean * (0.002 + 0.004 * loss),
        "sex": mean * (0.04 * sex - 0.02),
        "eTIV": mean / REFERENCE_ETIV * (0.6 + 0.4 * share),
    }


def covariate_part(
    covariates: Mapping[str, NDArray[Any]], slopes: Mapping[str, Array]
) -> Array | float:
    """Sum of the covariates' effects on each subject's regions."""
    return sum((np.outer(_centred(name, covariates[name]), slopes[name]) for name in slopes), 0.0)


def _centred(name: str, column: NDArray[Any]) -> Array:
    if name == "sex":
        return (column == "M").astype(np.float64)
    centred: Array = column - {"age": REFERENCE_AGE, "eTIV": REFERENCE_ETIV}[name]
    return centred


# Missing cells ----------------------------------------------------------------------------------


def missing_cells(shape: tuple[int, int], share: float, rng: np.random.Generator) -> Mask:
    """Cells drawn at random, that share of all; every row and every column keeps one."""
    n, m = shape
    # First one cell per row is kept, then one per column that has none; the others are free.
    kept = np.zeros(shape, dtype=bool)
    kept[np.arange(n), rng.integers(m, size=n)] = True
    bare = np.flatnonzero(~kept.any(axis=0))
    kept[rng.integers(n, size=len(bare)), bare] = True
    free = np.flatnonzero(~kept)
    count = round(share * n * m)
    if count > len(free):
        raise InputError(
            f"missing={share} would empty subjects or regions whole. With {n} subjects and {m} "
            f"regions give at most {np.floor(1000 * len(free) / (n * m)) / 1000:g}."
        )
    cells = np.zeros(n * m, dtype=bool)
    cells[rng.permutation(free)[:count]] = True
    return cells.reshape(shape)
