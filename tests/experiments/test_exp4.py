from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure

from sgbn.paper.experiments import exp4
from sgbn.paper.experiments.exp4 import (
    ALPHAS,
    BIASED,
    EXPERIMENT,
    METHODS,
    PENALISED,
    counts,
    nested,
)

REGIONS = ["Frontal_Sup_L", "Rectus_L", "Fusiform_L", "Hippocampus_L"]


def full(n_edges):
    """Network along the columns with the first so many of its six possible edges."""
    weights = np.zeros((4, 4))
    tails, heads = np.triu_indices(4, 1)
    weights[tails[:n_edges], heads[:n_edges]] = 0.5
    return weights


@pytest.fixture
def parts():
    """A made-up run: six edges, then three."""
    pair = np.array([full(6), full(3)])
    lobes = ["frontal", "frontal", "temporal", "temporal"]
    names = list(counts(pair[0], REGIONS, lobes))
    networks = {f"{method} {alpha:g}": pair for method in PENALISED for alpha in ALPHAS}
    networks |= dict.fromkeys(METHODS, pair) | {
        "lobes": np.array(lobes),
        "regions": np.array(REGIONS),
    }
    moves = {name: np.ones(40) for name in ("KL-SGBN", "MM-SGBN")}
    shares = {"H-SGBN": 0.7, "OR-SGBN": 0.5, "SGBN": 0.5}
    noise = np.linspace(-0.01, 0.01, 5)[None, :, None] * np.ones((2, 1, 2))
    return {
        "networks": networks,
        "chance.000": dict.fromkeys(names, np.linspace(-2.0, 0.0, 21)),
        "chance.001": dict.fromkeys(names, np.linspace(0.1, 2.0, 20)),
        "moves": moves,
        **{f"orders.{name}": {"shares": share + noise} for name, share in shares.items()},
    }


def verdicts(parts):
    found = exp4.claims(parts)
    return {claim: text.split("**")[1] for (claim, _), text in found.items() if "**" in text}


def test_a_change_beyond_chance_holds_and_one_within_is_undecided(parts):
    change = exp4.change(parts, "OR-SGBN", "edges")
    assert (change.first, change.second) == (6, 3)
    assert change.p == pytest.approx(2 / 42)
    assert verdicts(parts)["OR-SGBN: fewer edges"] == "holds"
    for block in ("chance.000", "chance.001"):
        parts[block]["edges"] = 2 * parts[block]["edges"]
    assert verdicts(parts)["OR-SGBN: fewer edges"] == "undecided"


def test_a_change_the_other_way_contradicts(parts):
    parts["networks"]["OR-SGBN"] = parts["networks"]["OR-SGBN"][::-1]
    assert verdicts(parts)["OR-SGBN: fewer edges"] == "contradicted"


def test_a_change_is_shown_beside_the_truth(parts):
    parts["networks"]["truth"] = np.array([full(4), full(5)])
    text = exp4.claims(parts)["OR-SGBN: fewer edges", "183 → 145"]
    assert text.endswith("**seen, but false in truth** (truth 4 → 5)")


def test_the_upper_triangle_is_decided_by_its_interval(parts):
    found = verdicts(parts)
    assert found["H-SGBN: more edges in the upper triangle"] == "holds"
    assert found["OR-SGBN: as many in both triangles"] == "holds"
    parts["orders.H-SGBN"], parts["orders.OR-SGBN"] = (
        parts["orders.OR-SGBN"],
        parts["orders.H-SGBN"],
    )
    found = verdicts(parts)
    assert found["H-SGBN: more edges in the upper triangle"] == "does not hold"
    assert found["OR-SGBN: as many in both triangles"] == "does not hold"


def test_fewer_edges_in_the_upper_triangle_contradict_the_paper(parts):
    parts["orders.H-SGBN"] = {"shares": 1 - parts["orders.H-SGBN"]["shares"]}
    assert verdicts(parts)["H-SGBN: more edges in the upper triangle"] == "contradicted"


def test_there_is_no_verdict_on_regions_that_are_not_there(parts):
    parts["networks"]["regions"] = np.array([*REGIONS[:3], "Insula_L"])
    assert exp4.claims(parts)["OR-SGBN: fewer edges into the hippocampi", "fewer"] == "–"


def test_structures_must_stay_at_every_alpha(parts):
    claim = "OR-SGBN: alpha does not change the major structures"
    assert verdicts(parts)[claim] == "holds"
    networks = parts["networks"]
    networks[f"OR-SGBN {ALPHAS[2]:g}"] = networks["OR-SGBN"].transpose(0, 2, 1)
    assert exp4.steps(parts, "OR-SGBN").shape == (len(ALPHAS) - 1, 2, 3)
    assert verdicts(parts)[claim] == "does not hold"


def test_signs_are_compared_over_the_30_that_either_method_moves_most(parts):
    moves, claim = parts["moves"], "KL and MM move edges in the same directions"
    moves["KL-SGBN"] = np.r_[np.full(10, 1e-3), np.ones(30)]
    moves["MM-SGBN"] = np.r_[np.full(10, -5e-3), np.full(30, 5.0)]
    assert exp4.agree(moves).tolist() == [True] * 30
    assert verdicts(parts)[claim] == "holds"
    moves["MM-SGBN"] = np.r_[np.full(10, -5.0), np.tile([5.0, -5.0], 15)]
    assert exp4.agree(moves).sum() < 20
    assert verdicts(parts)[claim] == "undecided"


def test_nested_tells_a_reversed_edge_from_a_lost_one():
    sparse, reverse, lost = np.zeros((3, 3, 3))
    sparse[0, 1] = sparse[1, 2] = 1.0
    reverse[0, 1] = reverse[2, 1] = 1.0
    lost[0, 1] = 1.0
    assert nested(sparse, reverse) == pytest.approx([1 / 3, 1 / 2, 1.0])
    assert nested(sparse, lost) == pytest.approx([1 / 2, 1 / 2, 1 / 2])
    assert nested(sparse, sparse) == pytest.approx([1.0, 1.0, 1.0])


def test_the_report_shows_every_claim_and_test(exp4_folder):
    text = EXPERIMENT.text(exp4_folder)
    parts = EXPERIMENT.results(exp4_folder)["table"]
    for (claim, paper), ours in exp4.claims(parts).items():
        assert f"| {claim} | {paper} | {ours} |" in text
    assert f"| table | p = {parts['tests']['all']:.3f} | {parts['tests']['tested']} | " in text
    assert "patient (30) → control (40) | 12 | age | 2 |" in text
    assert "19 permutations, seed 1" in text
    assert "Versions: " in text


def test_the_truth_is_shown_where_it_is_known(exp4_folder):
    parts = EXPERIMENT.results(exp4_folder)["table"]
    assert "(truth " not in EXPERIMENT.text(exp4_folder)
    networks = parts["networks"] | {"truth": parts["networks"]["OR-SGBN"]}
    data = {"simulated": parts | {"networks": networks}, "cobre": parts}
    text = replace(EXPERIMENT, read=lambda _: data).text(exp4_folder)
    assert "(truth " in text
    assert "If there are more than 12 regions, the hippocampi" in text


def test_every_row_has_as_many_cells_as_its_header(exp4_folder):
    widths = [
        line.count("|") if line.startswith("|") else 0
        for line in EXPERIMENT.text(exp4_folder).splitlines()
    ]
    assert all(first == second for first, second in pairwise(widths) if first and second)


def test_the_figures_are_drawn_from_the_files(exp4_folder):
    _, paths = EXPERIMENT.finish(exp4_folder)
    assert [path.name for path in paths] == ["exp4_networks.png", "exp4_moves.png"]
    assert all(path.stat().st_size > 10_000 for path in paths)


def test_a_matrix_has_a_dot_an_edge_and_the_bias_last(exp4_folder):
    parts = EXPERIMENT.results(exp4_folder)["table"]
    weights = parts["networks"][BIASED][0]
    ax = Figure().subplots()
    exp4._draw_matrix(ax, weights, parts, "title")
    drawn = np.asarray(ax.images[0].get_array())
    assert drawn.shape == (13, 13)
    assert np.count_nonzero(drawn) == (np.abs(weights) >= 0.01).sum()
    biases = np.where(np.abs(weights[-1]) >= 0.01, np.sign(weights[-1]), 0.0)
    assert np.array_equal(np.sort(drawn[-1, :-1]), np.sort(biases))
    assert not drawn[:, -1].any()
