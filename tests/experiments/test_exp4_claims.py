import numpy as np
import pytest

from sgbn.experiments import exp4_claims
from sgbn.experiments.exp4 import ALPHAS, METHODS, PERMUTED
from sgbn.experiments.exp4_counts import COUNTS

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
    chance = np.tile(np.linspace(-2.0, 2.0, 41)[:, None], len(COUNTS))
    networks = {f"{method} {alpha:g}": pair for method in PERMUTED for alpha in ALPHAS}
    networks |= dict.fromkeys(METHODS, pair) | {
        "lobes": np.array(["frontal", "frontal", "temporal", "temporal"]),
        "regions": np.array(REGIONS),
    }
    moves = {name: np.ones(40) for name in ("KL-SGBN", "MM-SGBN")}
    shares = {"H-SGBN": 0.7, "OR-SGBN": 0.5, "SGBN": 0.5}
    noise = np.linspace(-0.01, 0.01, 5)[None, :, None] * np.ones((2, 1, 2))
    return {
        "networks": networks,
        "chance": dict.fromkeys(PERMUTED, chance),
        "moves": moves,
        **{f"orders.{name}": {"shares": share + noise} for name, share in shares.items()},
    }


def verdicts(parts):
    found = exp4_claims.claims(parts)
    return {claim: text.split("**")[1] for (claim, _), text in found.items() if "**" in text}


def test_a_change_beyond_chance_holds_and_one_within_is_undecided(parts):
    change = exp4_claims.changes(parts, "OR-SGBN")["edges"]
    assert (change.first, change.second) == (6, 3)
    assert change.p == pytest.approx(2 / 42)
    assert verdicts(parts)["OR-SGBN: fewer edges"] == "holds"
    parts["chance"]["OR-SGBN"] = 2 * parts["chance"]["OR-SGBN"]
    assert verdicts(parts)["OR-SGBN: fewer edges"] == "undecided"


def test_a_change_the_other_way_contradicts(parts):
    parts["networks"]["OR-SGBN"] = parts["networks"]["OR-SGBN"][::-1]
    assert verdicts(parts)["OR-SGBN: fewer edges"] == "contradicted"


def test_a_change_is_shown_beside_the_truth(parts):
    parts["networks"]["truth"] = np.array([full(4), full(5)])
    text = exp4_claims.claims(parts)["OR-SGBN: fewer edges", "183 → 145"]
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


def test_structures_must_stay_at_every_alpha(parts):
    claim = "OR-SGBN: alpha does not change the major structures"
    assert verdicts(parts)[claim] == "holds"
    networks = parts["networks"]
    networks[f"OR-SGBN {ALPHAS[2]:g}"] = networks["OR-SGBN"].transpose(0, 2, 1)
    assert exp4_claims.steps(parts, "OR-SGBN").shape == (len(ALPHAS) - 1, 2, 3)
    assert verdicts(parts)[claim] == "does not hold"


def test_signs_are_compared_over_the_30_that_either_method_moves_most(parts):
    moves, claim = parts["moves"], "KL and MM move edges in the same directions"
    moves["KL-SGBN"] = np.r_[np.full(10, 1e-3), np.ones(30)]
    moves["MM-SGBN"] = np.r_[np.full(10, -5e-3), np.full(30, 5.0)]
    assert exp4_claims.agree(moves).tolist() == [True] * 30
    assert verdicts(parts)[claim] == "holds"
    moves["MM-SGBN"] = np.r_[np.full(10, -5.0), np.tile([5.0, -5.0], 15)]
    assert exp4_claims.agree(moves).sum() < 20
    assert verdicts(parts)[claim] == "undecided"
