"""What the paper's three tables of Exp-II say, and which of their cells cannot be right."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from importlib.resources import files

MEASURES = {  # as the paper's tables count them, in their order
    "errors": "total errors (false and missing edges)",
    "false": "false edges",
    "pdag": "falsely identified PDAG structures",
}
BASELINES = ("L1MB", "GS", "TC-bw", "TC", "IAMB", "IAMB1", "IAMB2", "IAMB3")
METHODS = (*BASELINES, "OR-SGBN")
BROKEN_ROW = "mildew"  # its total errors are not its own, so that sums leave it out
DOUBTS = {
    "a": "The paper's figure is Hailfinder's, not Mildew's.",
    "b": "The paper has the same figure for IAMB, IAMB2 and IAMB3 (but for Mildew's total errors): "
    "at most one of the three can be that method's own.",
    "c": "The paper's figure is more than 6, the most possible if, as the equal numbers of its "
    "false and missing edges suggest, all of its errors are reversed edges.",
}


def doubt(measure: str, network: str, method: str) -> str:
    """Letter in `DOUBTS` of what speaks against a cell of the paper's tables, if anything does."""
    if (measure, network) == ("errors", BROKEN_ROW) and method in METHODS[-4:]:
        return "a"
    if method in ("IAMB", "IAMB2", "IAMB3"):
        return "b"
    if (measure, network, method) == ("pdag", "chain", "OR-SGBN"):
        return "c"
    return ""


def _read() -> dict[tuple[str, str, str], float]:
    text = (files("sgbn.experiments") / "exp2_paper.csv").read_text()
    return {
        (row["measure"], row["network"], method): float(row[method])
        for row in csv.DictReader(text.splitlines())
        for method in METHODS
    }


FIGURES = _read()  # (measure, network, method) -> mean over the paper's 50 simulations


def paper_sum(measure: str, method: str, networks: Sequence[str]) -> float:
    """Sum of the paper's figures over some networks, never with Mildew."""
    return sum(FIGURES[measure, network, method] for network in summed(networks))


def summed(networks: Sequence[str]) -> list[str]:
    """Networks that sums are taken over."""
    return [network for network in networks if network != BROKEN_ROW]
