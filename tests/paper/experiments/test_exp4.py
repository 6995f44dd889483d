from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.codes import refused

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.problems import StudyError
from sgbn.paper.experiments import exp4
from sgbn.paper.experiments.exp4 import (
    ALPHAS,
    BIASED,
    EXPERIMENT,
    METHODS,
    PENALISED,
    counts,
    hippocampi,
    nested,
)
from sgbn.runs.study import Study

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


def test_a_change_beyond_chance_holds_within_is_undecided_and_the_other_way_contradicts(parts):
    change = exp4.change(parts, "OR-SGBN", "edges")
    assert (change.first, change.second) == (6, 3)
    assert change.p == pytest.approx(2 / 42)
    assert verdicts(parts)["OR-SGBN: fewer edges"] == "holds"
    turned = parts["networks"] | {"OR-SGBN": parts["networks"]["OR-SGBN"][::-1]}
    assert verdicts(parts | {"networks": turned})["OR-SGBN: fewer edges"] == "contradicted"
    for block in ("chance.000", "chance.001"):
        parts[block]["edges"] = 2 * parts[block]["edges"]
    assert verdicts(parts)["OR-SGBN: fewer edges"] == "undecided"


def test_a_change_is_shown_beside_the_truth(parts):
    parts["networks"]["truth"] = np.array([full(4), full(5)])
    text = exp4.claims(parts)["OR-SGBN: fewer edges", "183 → 145"]
    assert text.endswith("**seen, but false in truth** (truth 4 → 5)")


def test_the_upper_triangle_is_decided_by_its_interval(parts):
    more, equal = "H-SGBN: more edges in the upper triangle", "OR-SGBN: as many in both triangles"
    found = verdicts(parts)
    assert (found[more], found[equal]) == ("holds", "holds")
    h, o = parts["orders.H-SGBN"], parts["orders.OR-SGBN"]
    found = verdicts(parts | {"orders.H-SGBN": o, "orders.OR-SGBN": h})
    assert (found[more], found[equal]) == ("does not hold", "does not hold")
    fewer = parts | {"orders.H-SGBN": {"shares": 1 - h["shares"]}}
    assert verdicts(fewer)[more] == "contradicted"


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


LOBES = ("frontal", "frontal", "temporal", "temporal")


def test_a_sample_has_the_hippocampi_no_ventricles_and_the_papers_lobes(exp4_settings):
    names = ["Hippocampus_L", "Hippocampus_R", "Amygdala_L", "Frontal_Mid_L", "Thalamus_L"]
    cohort = simulate_cohort(30, 0, atlas="aal", regions=[*names, "Rectus_L", "Rectus_R"])
    sample = exp4.make_sample(cohort, replace(exp4_settings, regions=3))
    assert len(sample.cohort.regions) == 3
    assert {"Hippocampus_L", "Hippocampus_R"} <= set(sample.cohort.regions)
    assert "medial temporal" not in sample.cohort.lobes
    fs = simulate_cohort(30, 0, atlas="desikan_killiany", regions=20)
    ventricle = next(r for r in fs.atlas.regions if r.lobe == exp4.NO_BRAIN)
    renamed = replace(fs, regions=(ventricle.name, *fs.regions[1:]))
    assert ventricle.name not in exp4.choose_regions(renamed, 20).regions


def test_the_reference_comes_first_and_must_exist(exp4_data, exp4_settings):
    assert exp4_data["table"].groups == ("patient", "control")
    assert np.bincount(exp4_data["table"].codes).tolist() == [30, 40]
    cohort = simulate_cohort(20, 0, regions=6)
    with refused("groups.unknown"):
        exp4.make_sample(cohort, exp4_settings, "Patient")
    with refused("groups.not-two"):
        exp4.make_sample(cohort.subset(groups=["control"]), exp4_settings)


def test_only_h_sgbn_depends_on_the_order_of_the_columns(exp4_folder):
    parts = exp4.EXPERIMENT.results(exp4_folder)["table"]
    for method in ("OR-SGBN", "SGBN"):
        assert parts[f"orders.{method}"]["shares"].mean(axis=2) == pytest.approx(0.5, abs=1e-12)
    assert np.abs(parts["orders.H-SGBN"]["shares"].mean(axis=2) - 0.5).min() > 0.01


def test_residuals_have_no_effect_of_group_site_or_covariate_left(exp4_data):
    sample = exp4_data["table"]
    X, codes = sample.residuals, (sample.codes, sample.design.codes("site"))
    for block in (own == c for own in codes for c in (0, 1)):
        assert X[block].mean(axis=0) == pytest.approx(0.0, abs=1e-8)
    age = sample.cohort.covariates["age"]
    assert X.T @ (age - age.mean()) == pytest.approx(0.0, abs=1e-5)


def test_counts_by_chance_are_of_the_size_of_the_study(exp4_folder):
    parts = exp4.EXPERIMENT.results(exp4_folder)["table"]
    assert parts["chance.000"]["edges"].shape == (19,)
    assert parts["networks"][exp4.BIASED].shape == (2, 13, 12)


@pytest.mark.parametrize("part", ["chance.000", "orders.H-SGBN", "moves"])
def test_a_task_alone_gives_what_it_gave_among_others(exp4_folder, exp4_settings, exp4_data, part):
    """So that neither the number of processes nor the order of tasks matters."""
    alone = exp4.work(exp4_settings, exp4_data, "table", part)
    stored = exp4.EXPERIMENT.results(exp4_folder)["table"][part]
    assert alone.keys() == stored.keys()
    for name, values in alone.items():
        assert np.array_equal(values, stored[name], equal_nan=stored[name].dtype.kind == "f")


def test_moves_of_different_edges_are_not_compared(exp4_settings, exp4_data, monkeypatch):
    class FewerMoved(exp4.MMSGBNClassifier):
        def edge_changes(self):
            return super().edge_changes()[:-1]

    monkeypatch.setitem(exp4.MOVED, "MM-SGBN", FewerMoved)
    with pytest.raises(ValueError, match="KL-SGBN and MM-SGBN moved different edges"):
        exp4.moves(exp4_data["table"], exp4_settings)


def test_another_grid_of_alphas_is_refused(exp4_folder, exp4_settings, exp4_data, monkeypatch):
    monkeypatch.setattr(exp4, "ALPHAS", (0.05, 0.1))
    with refused("study.settings", kind=StudyError):
        exp4.EXPERIMENT.run(Study(exp4_folder), replace(exp4_settings), exp4_data)


def test_every_part_of_a_sample_is_in_its_content(exp4_data):
    sample = exp4_data["table"]
    cohort = sample.cohort
    age = cohort.covariates["age"]
    others = [
        replace(sample, groups=sample.groups[::-1]),
        replace(sample, cohort=replace(cohort, site=cohort.site[::-1])),
        replace(sample, cohort=replace(cohort, covariates={"age": age[::-1]})),
        replace(sample, cohort=replace(cohort, atlas=None)),
    ]
    assert replace(sample).content == sample.content
    assert len({sample.content, *(other.content for other in others)}) == 1 + len(others)


def test_samples_are_the_simulated_cohort_alone_without_tables(tmp_path, monkeypatch):
    monkeypatch.setenv("SGBN_DATA", str(tmp_path))
    [(name, sample)] = exp4.samples(exp4.Settings()).items()
    assert name == "simulated"
    assert sample.groups == tuple(sample.truth) == ("control", "patient")
    assert all(weights.shape == (40, 40) for weights in sample.truth.values())


def test_edges_are_counted_from_the_cut_on_row_to_column():
    weights = np.zeros((4, 4))
    weights[0, 1], weights[2, 0], weights[0, 3], weights[3, 2] = 0.5, -0.01, -0.3, 0.009
    found = counts(weights, REGIONS, LOBES)
    assert found["edges"] == 3
    assert found["within temporal"] == 0
    assert found["frontal and temporal, both ways"] == 2
    assert found["hippocampi, edges in"] == 1
    assert found["hippocampi, edges out"] == 0
    assert found["hippocampi, strength in"] == pytest.approx(0.3)


def test_there_is_no_count_of_hippocampi_without_any():
    found = counts(np.zeros((4, 4)), (*REGIONS[:3], "ParaHippocampal_L"), LOBES)
    assert np.isnan(found["hippocampi, edges in"])
    assert np.isnan(found["hippocampi, strength out"])


def test_hippocampi_are_found_in_any_atlas_without_their_neighbours():
    names = ["Hippocampus_L", "ParaHippocampal_L", "Right-Hippocampus", "lh_parahippocampal"]
    assert hippocampi(names) == [0, 2]
