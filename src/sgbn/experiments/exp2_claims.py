"""What of the paper's claims in Exp-II holds, counted from a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from sgbn.experiments.exp2 import BIC, RAW, Results, Settings, mean_and_error, readings
from sgbn.experiments.exp2_paper import BASELINES, FIGURES, MEASURES, METHODS, paper_sum, summed
from sgbn.experiments.markdown import table

CLEAR = 2.0  # standard errors that a difference must exceed
SIX = ("factors", "alarm", "barley", "carpo", "hailfinder", "insurance")


class Claim(NamedTuple):
    """Words of the paper on OR-SGBN, and its place among the baselines that they mean."""

    words: str
    measure: str
    place: str
    networks: tuple[str, ...]


CLAIMS = (
    Claim("significantly smaller errors in edges", "errors", "fewest", SIX),
    Claim("significantly smaller errors in PDAGs", "pdag", "fewest", SIX),
    Claim("low risk of mis-edge identification", "false", "fewest", (*SIX, "mildew", "water")),
    Claim("similar to the other methods", "errors", "between", ("mildew", "water")),
    Claim("relatively inferior", "errors", "most", ("chain",)),
)


def place(results: Results, method: str, measure: str, network: str) -> str:
    """Where a method stands among the eight baselines: "fewest", "most" or "between".

    The differences are those on the same data, and must exceed two standard errors.
    """
    ours = results.of(measure, network, method)
    return _place(mean_and_error(ours - results.of(measure, network, m)) for m in BASELINES)


def place_in_paper(measure: str, network: str) -> str:
    """`place` of OR-SGBN by the paper's own means; it gives no standard errors."""
    ours = FIGURES[measure, network, "OR-SGBN"]
    return _place((ours - FIGURES[measure, network, method], 0.0) for method in BASELINES)


def _place(differences: Iterable[tuple[float, float]]) -> str:
    signs = {np.sign(mean) * (abs(mean) > CLEAR * error) for mean, error in differences}
    return "fewest" if signs == {-1} else "most" if signs == {1} else "between"


def claims_table(results: Results) -> list[str]:
    """Table of the networks on which each claim holds, a row per reading of OR-SGBN."""
    header = [f"{claim.words} ({claim.place}, {claim.measure})" for claim in CLAIMS]
    rows = [
        [name, *_upheld(results, partial(place, results, name)), _bic(results, name)]
        for name in readings(Settings())
    ]
    return [
        *table(
            ["reading", *header, "BIC did not behave well (errors, BIC : fixed alpha)"],
            [*rows, ["the paper's own figures", *_upheld(results, place_in_paper), ""]],
        ),
        "",
        f"Fewest and most: than each of the eight baselines, by more than {CLEAR:.0f} standard "
        "errors of the difference on the same data; else between.",
    ]


def _upheld(results: Results, place_of: Callable[[str, str], str]) -> list[str]:
    cells = []
    for claim in CLAIMS:
        networks = [network for network in claim.networks if network in results.networks]
        found = [n for n in networks if place_of(claim.measure, n) == claim.place]
        cells.append(f"{len(found)} of {len(networks)} {', '.join(found)}".rstrip())
    return cells


def _bic(results: Results, reading: str) -> str:
    raw = RAW if reading.endswith(RAW) else ""
    with_bic = reading.removesuffix(RAW) + BIC + raw
    if with_bic not in results.methods:
        return ""
    networks = summed(results.networks)
    fixed, _ = results.total("errors", networks, reading)
    chosen, _ = results.total("errors", networks, with_bic)
    return f"{'holds' if chosen > fixed else 'does not hold'}, {chosen / fixed:.2f}"


def ranking(results: Results, methods: Sequence[str]) -> list[str]:
    """Methods from the fewest errors to the most, ours and the paper's, two lines per measure.

    `methods` are those of ours that are ranked; the correlation is over those that both have.
    """
    networks = summed(results.networks)
    lines = []
    for measure in MEASURES:
        ours = {method: results.total(measure, networks, method)[0] for method in methods}
        paper = {method: paper_sum(measure, method, networks) for method in METHODS}
        ranks = rankdata([[ours[method] for method in METHODS], list(paper.values())], axis=1)
        with np.errstate(invalid="ignore"):  # where all are equal there is no correlation
            agreement = np.corrcoef(ranks)[0, 1]
        lines += [
            f"- {measure}, ours: {_ranked(ours)}",
            f"- {measure}, paper: {_ranked(paper)} (rank correlation with ours {agreement:.2f})",
        ]
    return lines


def _ranked(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:.0f}" for name, value in sorted(values.items(), key=_value))


def _value(item: tuple[str, float]) -> float:
    return item[1]
