from dataclasses import replace

import numpy as np
import pytest

from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.exceptions import InputError, StudyError
from sgbn.paper.experiments import exp4
from sgbn.paper.experiments.exp4 import counts, hippocampi
from sgbn.runs.study import Study

REGIONS = ("Frontal_Sup_L", "Rectus_L", "Fusiform_L", "Hippocampus_L")
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
    with pytest.raises(InputError, match=r"'Patient'.*--reference.*'patient'"):
        exp4.make_sample(cohort, exp4_settings, "Patient")
    with pytest.raises(InputError, match="has 1 groups"):
        exp4.make_sample(cohort.subset(groups=["control"]), exp4_settings)


def test_only_h_sgbn_depends_on_the_order_of_the_columns(exp4_folder):
    parts = exp4.EXPERIMENT.results(exp4_folder)["table"]
    for method in ("OR-SGBN", "SGBN"):
        assert parts[f"orders.{method}"]["shares"].mean(axis=2) == pytest.approx(0.5, abs=1e-12)
    assert np.abs(parts["orders.H-SGBN"]["shares"].mean(axis=2) - 0.5).min() > 0.01


def test_residuals_have_no_effect_of_group_site_or_covariate_left(exp4_data):
    sample = exp4_data["table"]
    X = sample.residuals
    for block in (*(sample.codes == c for c in (0, 1)), *(sample.sites == c for c in (0, 1))):
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
    with pytest.raises(StudyError, match=r"alphas: \[0\.05, 0\.07, .* there, \[0\.05, 0\.1\] now"):
        exp4.EXPERIMENT.run(Study(exp4_folder), replace(exp4_settings), exp4_data)


def test_other_settings_and_other_data_are_refused(exp4_folder, exp4_settings, exp4_data):
    with pytest.raises(StudyError, match=r"alpha: 0\.1 there, 0\.2 now"):
        exp4.EXPERIMENT.run(Study(exp4_folder), replace(exp4_settings, alpha=0.2), exp4_data)
    swapped = {"table": replace(exp4_data["table"], groups=("control", "patient"))}
    with pytest.raises(StudyError, match="samples: "):
        exp4.EXPERIMENT.run(Study(exp4_folder), exp4_settings, swapped)


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
