import numpy as np
import pytest

from sgbn.experiments.exp2 import Results
from sgbn.experiments.exp2_claims import CLAIMS, claims_table, place, place_in_paper, ranking
from sgbn.experiments.exp2_paper import BASELINES
from sgbn.experiments.exp2_report import MAIN


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        ([1, 2, 3, 2], "fewest"),
        ([30, 31, 32, 31], "most"),
        ([11, 12, 13, 12], "between"),
        ([0, 50, 0, 0], "between"),  # fewer in most simulations, but not clearly
    ],
)
def test_a_place_is_clear_or_between(ours, expected):
    others = [[10 + k, 10 + k, 11 + k, 10 + k] for k in range(len(BASELINES))]
    values = {"errors": np.array([[*others, ours]], dtype=float)}
    results = Results(["alarm"], [*BASELINES, "OR-SGBN"], values)
    assert place(results, "OR-SGBN", "errors", "alarm") == expected


def test_the_papers_own_figures_bear_its_claims_out_but_for_the_cell_that_is_not_mildews():
    for claim in CLAIMS:
        for network in claim.networks:
            is_broken = (claim.measure, network) == ("errors", "mildew")
            assert (place_in_paper(claim.measure, network) == claim.place) != is_broken


def test_the_table_has_a_row_a_reading_and_one_of_the_paper(exp2_results):
    lines = claims_table(exp2_results)
    assert lines[2].startswith("| OR-SGBN | ")
    assert "BIC" in lines[0]
    assert lines[10].startswith("| the paper's own figures | 1 of 1 alarm | 1 of 1 alarm | 1 of 1")
    assert lines[10].endswith("| 0 of 0 | 1 of 1 chain |  |")


def test_the_ranking_is_sorted(exp2_results):
    lines = ranking(exp2_results, MAIN)
    assert len(lines) == 6
    assert lines[1].startswith("- errors, paper: OR-SGBN 51, L1MB 62")
    values = [int(item.split()[-1]) for item in lines[0].split(": ")[1].split(", ")]
    assert values == sorted(values)
    assert len(values) == len(MAIN)
