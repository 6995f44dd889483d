"""What of the paper's claims in Exp-IV holds, each with the test that decides it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import bdtr

from sgbn.comparison.intervals import estimate
from sgbn.experiments.exp4 import ALPHAS, PERMUTED
from sgbn.experiments.exp4_counts import (
    ALL,
    BETWEEN,
    COUNTS,
    HIPPOCAMPI,
    Layout,
    counts,
    hippocampi,
    nested,
)
from sgbn.inference.permutation_p import reached
from sgbn.runs import Arrays
from sgbn.types import Array, Indices, Mask

Parts = dict[str, Arrays]

LEVEL = 0.05
ROUND_OFF = 1e-9  # of shares that add up to one
MAJOR = 0.8  # share of the edges that must stay for the major structures to stay
MOST_MOVED = 30  # edges of the paper's figure
LOST = {  # count -> the paper's words, its figure, and the sign of the change
    ALL: ("fewer edges", "183 → 145", -1),
    "within temporal": ("fewer edges within the temporal lobe", "24 % lost", -1),
    BETWEEN: ("more edges between frontal and temporal", "more", 1),
    HIPPOCAMPI[0]: ("fewer edges into the hippocampi", "fewer", -1),
    HIPPOCAMPI[2]: ("weaker edges into the hippocampi", "fewer", -1),
    HIPPOCAMPI[1]: ("more edges out of the hippocampi", "more", 1),
    HIPPOCAMPI[3]: ("stronger edges out of the hippocampi", "more", 1),
}


class Change(NamedTuple):
    """A count in both groups, its 95 % range of changes by chance, and two-sided p."""

    first: float
    second: float
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan

    def __str__(self) -> str:
        return f"{self.first:.4g} → {self.second:.4g}" if np.isfinite(self.first) else "–"

    @property
    def share(self) -> str:
        """Change in per cent, in brackets."""
        return f" ({self.second / self.first - 1:+.0%})" if self.first else ""


def changes(parts: Parts, method: str) -> dict[str, Change]:
    """Every count of the networks by a method ("truth" for the true ones)."""
    networks = parts["networks"]
    layout = Layout(networks["lobes"].tolist(), hippocampi(networks["regions"].tolist()))
    rounded = (np.round(counts(weights, layout), 2) for weights in networks[method])
    pairs = np.transpose([*rounded]).tolist()
    found = {name: Change(*pair) for name, pair in zip(COUNTS, pairs, strict=True)}
    for k, name in enumerate(COUNTS if method in PERMUTED else ()):
        null = parts["chance"][method][:, k].round(2)
        first, second = pairs[k]
        if np.isfinite(first):
            change = second - first
            p = min(1.0, 2 * min(reached(change, null), reached(-change, -null)))
            low, high = np.percentile(null, [2.5, 97.5]).tolist()
            found[name] = Change(first, second, low, high, p)
    return found


def claims(parts: Parts) -> dict[tuple[str, str], str]:
    """(Claim, the paper's figure) -> our figure, and whether it holds."""
    own, truth = changes(parts, "OR-SGBN"), {}
    if "truth" in parts["networks"]:
        truth = changes(parts, "truth")
    found = {
        (f"OR-SGBN: {words}", paper): _verdict_of(own[name], truth.get(name), sign)
        for name, (words, paper, sign) in LOST.items()
    }
    found["H-SGBN: more edges in the upper triangle", "more"] = _triangle(parts, "H-SGBN", True)
    for method, paper in (("OR-SGBN", "as many"), ("SGBN", "–")):
        found[f"{method}: as many in both triangles", paper] = _triangle(parts, method, False)
    for method in PERMUTED:
        found[f"{method}: alpha does not change the major structures", "claimed"] = _stable(
            parts, method
        )
    found["KL and MM move edges in the same directions", "most of 30"] = _agreement(parts)
    return found


def _verdict_of(change: Change, truth: Change | None, sign: int) -> str:
    """Decide by the permutations, and by the truth where it is known."""
    if not np.isfinite(change.p):
        return "–"
    towards = sign * (change.second - change.first)
    verdict = "undecided"
    if change.p <= LEVEL and towards != 0:
        verdict = "holds" if towards > 0 else "contradicted"
    if truth is not None and verdict == "holds" and sign * (truth.second - truth.first) <= 0:
        verdict = "seen, but false in truth"
    beside = "" if truth is None else f" (truth {truth})"
    return f"{change}{change.share}, p = {change.p:.3f}: **{verdict}**{beside}"


def _triangle(parts: Parts, method: str, more: bool) -> str:
    """Share of the edges in the upper triangle, with a 95 % interval.

    An order, the same backwards, and both groups are one observation: edges that do not depend on
    the order give exactly one half.
    """
    shares = parts[f"orders.{method}"]["shares"].mean(axis=(0, 2))
    low, high = estimate(shares, 0.0).interval()
    alike = low <= 0.5 + ROUND_OFF and high >= 0.5 - ROUND_OFF
    verdict = "holds" if alike != more else "does not hold"
    if more and high < 0.5:
        verdict = "contradicted"
    return f"share {shares.mean():.3f} ({low:.3f} to {high:.3f}): **{verdict}**"


def steps(parts: Parts, method: str) -> Array:
    """`nested` of the networks at neighbouring alphas: (alphas - 1, groups, 3)."""
    learned = [parts["networks"][f"{method} {alpha:g}"] for alpha in ALPHAS]
    pairs = zip(learned[1:], learned, strict=False)
    return np.array(
        [[nested(*pair) for pair in zip(sparse, dense, strict=True)] for sparse, dense in pairs]
    )


def _stable(parts: Parts, method: str) -> str:
    least = steps(parts, method)[..., 1].min()
    return f"at least {least:.0%} stay: **{'holds' if least >= MAJOR else 'does not hold'}**"


def most_moved(moves: Arrays) -> Indices:
    """Places of the edges that KL or MM, each in units of its largest change, moves most."""
    sizes = [np.abs(moves[name]) for name in ("KL-SGBN", "MM-SGBN")]
    scaled = [size / (size.max(initial=0.0) or 1.0) for size in sizes]
    return np.argsort(-np.maximum(*scaled), kind="stable")[:MOST_MOVED]


def agree(moves: Arrays) -> Mask:
    """Whether KL and MM move the most moved edges in the same direction."""
    top = most_moved(moves)
    same: Mask = np.sign(moves["KL-SGBN"][top]) == np.sign(moves["MM-SGBN"][top])
    return same


def _agreement(parts: Parts) -> str:
    same = agree(parts["moves"])
    fewer = min(same.sum(), (~same).sum())
    p = min(1.0, 2 * bdtr(float(fewer), len(same), 0.5))
    verdict = "undecided" if p > LEVEL else "holds" if same.mean() > 0.5 else "contradicted"
    return f"{same.sum()} of {len(same)}, p = {p:.2g}: **{verdict}**"
