import inspect
import warnings
from dataclasses import replace
from functools import partial
from importlib import import_module

import numpy as np
import pytest
from tests.codes import refused, warned

from sgbn import Cohort, compare
from sgbn import Settings as group_network_Settings
from sgbn.cohort.series import SeriesCohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.comparison.compare import _learner, _prepared, group_network
from sgbn.comparison.compare import compare as compare_fully
from sgbn.comparison.settings import KEYWORDS, Settings
from sgbn.comparison.steps.accuracy import OURS, REFINED
from sgbn.comparison.steps.cross_validation import FIRST_PEER
from sgbn.core.problems import DataWarning, StudyError
from sgbn.learn.ensemble import SGBNEnsemble
from sgbn.learn.series import SeriesSGBN
from sgbn.learn.sgbn import SGBN
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.runs.dask import ClusterWarning

NETWORKS = Settings.networks_only()


def compare_compare(cohort, **options):
    """Networks alone, by the fastest learner."""
    return compare_fully(cohort, NETWORKS, **{"learner": SGBN(1.0)} | options)


def with_values(cohort, values, **more):
    return Cohort(values, cohort.regions, cohort.ids, group=cohort.group, **more)


def test_warnings_of_the_cluster_are_given_at_once_and_others_at_the_end(cohort):
    """Those of who is handed the first results are no warnings of the data."""
    at_once = []

    def on_found(_):
        warnings.warn("no glyph", DataWarning, stacklevel=1)

    def on_step(_):
        warnings.warn("no worker", ClusterWarning, stacklevel=1)
        warnings.warn("a gap", DataWarning, stacklevel=1)
        at_once.extend(str(warning.message) for warning in caught)

    with warnings.catch_warnings(record=True) as caught:
        settings = replace(NETWORKS, deviations=True)
        found = compare_fully(
            cohort, settings, learner=SGBN(1.0), on_step=on_step, on_found=on_found
        )
    assert at_once[0] == "no worker"
    assert {str(warning.message) for warning in caught} == {"no worker", "a gap", "no glyph"}
    assert [str(warning) for warning in found.warnings] == ["a gap"]


def unequal(n=(120, 80), seed=0):
    """Two groups of other sizes and independent regions."""
    rng = np.random.default_rng(seed)
    group = np.repeat(["control", "patient"], n)
    names = [f"r{k}" for k in range(8)]
    return Cohort(rng.normal(size=(sum(n), 8)), names, range(sum(n)), group=group)


def test_each_network_is_that_of_the_rows_of_its_group_over_all_regions(cohort):
    begun = []
    found = compare_compare(
        cohort,
        learner=SGBN(0.8),
        on_step=begun.append,
        on_found=lambda _: pytest.fail("nothing slow follows"),
    )
    assert begun == ["One network per group"]
    assert list(found.learners) == ["control", "patient"]
    for group, learner in found.learners.items():
        alone = SGBN(0.8).fit(cohort.of_group(group))
        np.testing.assert_array_equal(learner.coef_, alone.coef_)
        assert learner.network_.names == cohort.regions
        assert np.count_nonzero(learner.coef_)
    # without half samples nothing is supported
    assert not found.confidence
    assert not any(found.supported[group].any() for group in found.groups)
    assert found.pending == ()


def test_one_gamma_serves_all_groups_that_of_the_largest():
    found = compare_compare(
        unequal((150, 400)), learner=SGBNEnsemble(7.0, n_chains=1, n_pairs=0, n_jobs=1)
    )
    assert found.searcher.gamma == np.log10(400) / 2  # up to 100 subjects it would be 1


def test_a_group_difference_is_not_taken_for_an_effect_of_age():
    """Patients are older and smaller; age itself does nothing, so nothing may be taken out."""
    cohort = unequal()
    patients = cohort.group == "patient"
    age = np.random.default_rng(1).normal(40, 5, len(cohort)) + 30 * patients
    values = cohort.values - 3.0 * patients[:, None]
    found = compare_compare(with_values(cohort, values, covariates={"age": age}))
    means = found.regions.groupby(found.cohort.group).mean()
    gap = means.loc["control"] - means.loc["patient"]
    np.testing.assert_allclose(gap, 3.0, atol=1.5)


def test_a_group_difference_is_not_taken_for_a_site():
    """Sites have other shares of the groups, and no effect: no edges may appear."""
    cohort = unequal((500, 500))
    patients = cohort.group == "patient"
    at_a = np.random.default_rng(1).random(1000) < np.where(patients, 0.2, 0.8)
    values = cohort.values - 1.5 * patients[:, None]
    site = np.where(at_a, "A", "B")
    found = compare_compare(with_values(cohort, values, site=site))
    assert not any(learner.coef_.any() for learner in found.learners.values())


def test_an_effect_of_a_covariate_makes_no_edges(cohort):
    """Age moves two regions of independent noise; regressed out, they are unjoined again."""
    rng = np.random.default_rng(0)
    n = len(cohort)
    age = rng.uniform(20, 60, n) + 10 * (cohort.group == "patient")
    values = rng.normal(size=(n, len(cohort.regions)))
    values[:, :2] += age[:, None] / 5
    joined = compare_compare(with_values(cohort, values))
    assert joined.learners["control"].coef_[:2, :2].any()
    adjusted = compare_compare(with_values(cohort, values, covariates={"age": age}))
    assert not adjusted.learners["control"].coef_[:2, :2].any()
    assert not adjusted.learners["patient"].coef_[:2, :2].any()


def test_an_effect_of_sites_makes_no_edges(cohort):
    rng = np.random.default_rng(0)
    n = len(cohort)
    site = np.array(["A", "B", "C", "D"])[np.arange(n) % 4]
    values = rng.normal(size=(n, 12))[:, : len(cohort.regions)]
    values[:, :3] += 4 * (np.arange(n) % 4)[:, None]
    assert compare_compare(with_values(cohort, values)).learners["control"].coef_[:3, :3].any()
    harmonised = compare_compare(with_values(cohort, values, site=site))
    assert not harmonised.learners["control"].coef_[:3, :3].any()


def test_gaps_are_filled_and_useless_regions_left_out(cohort):
    values = cohort.values.copy()
    values[5, 3] = np.nan
    values[:, 7] = 0
    found = compare_compare(with_values(cohort, values))
    assert cohort.regions[7] not in found.cohort.regions
    assert np.isfinite(found.regions.to_numpy()).all()


def test_the_reference_comes_first_and_must_be_a_group(cohort):
    found = compare_fully(cohort, Settings.networks_only(reference="patient"), learner=SGBN(1.0))
    assert found.groups == ("patient", "control")
    assert found.reference == "patient"
    with refused("groups.unknown"):
        compare_fully(cohort, Settings.networks_only(reference="patients"))


def test_all_steps_are_done_and_timed(whole, cohort):
    assert not whole.skipped
    steps = "networks models differences sensitivity refinements deviations accuracy model"
    assert list(whole.seconds) == steps.split()
    assert whole.model.classes_.tolist() == ["control", "patient"]
    assert set(whole.confidence) == {"control", "patient"}
    assert whole.tests.n_permutations == 20
    assert list(whole.refinements) == ["CL-SGBN"]
    assert whole.deviations.regions.shape == cohort.values.shape


def test_results_do_not_depend_on_processes_and_a_second_start_does_no_work(
    whole, cohort, tmp_path, monkeypatch
):
    again = compare_fully(cohort, whole.settings, n_jobs=2, folder=tmp_path)
    assert_same(whole, again)
    parts = {path.name for path in tmp_path.iterdir()}
    assert {"sensitivity-half", "sensitivity-twice", "sensitivity-other_order"} <= parts
    monkeypatch.setattr("sgbn.runs.study._run_task", lambda *_, **__: pytest.fail("done twice"))
    assert_same(whole, compare_fully(cohort, whole.settings, folder=tmp_path))


def assert_same(comparison, other):
    np.testing.assert_array_equal(comparison.tests.edges["p_fwer"], other.tests.edges["p_fwer"])
    for name, tests in comparison.sensitivity.tests.items():
        np.testing.assert_array_equal(tests.edges, other.sensitivity.tests[name].edges)
    for method, probabilities in comparison.accuracy.probabilities.items():
        np.testing.assert_array_equal(probabilities, other.accuracy.probabilities[method])
    for group, confidence in comparison.confidence.items():
        np.testing.assert_array_equal(confidence.arrow_, other.confidence[group].arrow_)
    np.testing.assert_array_equal(comparison.deviations.distance, other.deviations.distance)


def test_deviations_of_the_reference_are_cross_fitted_and_in_the_order_of_the_cohort(whole, cohort):
    mixed = cohort.subset(rows=np.random.default_rng(0).permutation(len(cohort)))
    settings = Settings.networks_only(deviations=True, reference="patient")
    found = compare_fully(mixed, settings, learner=SGBN(1.0))
    others = whole.cohort.group == "control"
    first = dict(zip(whole.cohort.ids, whole.deviations.distance, strict=True))
    second = dict(zip(found.cohort.ids, found.deviations.distance, strict=True))
    for name in np.array(whole.cohort.ids)[others]:  # scored by the network of all of the reference
        assert first[name] == pytest.approx(second[name], rel=1e-9)
    assert whole.deviations.p_reference[~others].mean() == pytest.approx(0.5, abs=0.1)


def test_a_step_that_the_data_do_not_allow_is_left_out_with_its_reason(cohort):
    few = cohort.subset(rows=np.r_[0:80, 80:88])
    settings = Settings.networks_only(
        n_permutations=20, n_pairs=2, sensitivity=True, n_folds=2, n_repeats=1, peers=False
    )
    found = compare_fully(few, settings)
    assert found.tests is None
    assert {*found.skipped} == {"differences", "confidence"}
    assert found.accuracy is not None


def test_a_simulated_cohort_brings_its_truth_and_a_part_of_it_has_none(whole, cohort):
    assert set(whole.truth) == {"control", "patient"}
    network = cohort.networks["patient"]
    np.testing.assert_array_equal(whole.truth["patient"] != 0, network.coef != 0)
    assert compare_compare(cohort.subset(regions=cohort.regions[:4])).truth == {}


def test_warnings_are_kept_and_given_once(cohort):
    with warned("part") as caught:
        found = compare_compare(cohort.subset(rows=np.r_[0:8, 80:88]))
    assert len({str(warning.message) for warning in caught}) == len(caught)
    assert [one.values["cause"].code for one in found.warnings] == ["rows.few-for-columns"] * 2


def test_networks_and_warnings_of_other_processes_are_those_of_this_one(cohort):
    summed = cohort.values.copy()
    summed[:, 5] = summed[:, 2] + summed[:, 3]
    total = with_values(cohort, summed)
    with warned("part"):
        alone = compare_compare(total, learner=ORSGBN(0.1), n_jobs=1)
    with warned("part"):
        beside = compare_compare(total, learner=ORSGBN(0.1), n_jobs=2)
    assert len(alone.warnings)
    assert alone.warnings == beside.warnings
    for group in cohort.groups:
        assert np.array_equal(alone.learners[group].coef_, beside.learners[group].coef_)


def test_a_folder_of_other_settings_or_data_is_refused_before_any_work(cohort, tmp_path):
    options = {"learner": SGBN(1.0), "folder": tmp_path}
    compare_fully(cohort, NETWORKS, **options)
    begun = []
    with refused("study.settings", kind=StudyError):
        compare_fully(cohort, Settings.networks_only(n_repeats=3), on_step=begun.append, **options)
    with refused("study.settings", kind=StudyError):
        compare_fully(cohort.subset(rows=range(10, 150)), NETWORKS, **options)
    assert not begun


def test_the_learner_is_that_of_refinement_and_half_samples_too(cohort):
    settings = Settings.networks_only(refinements=("CL-SGBN",), n_pairs=2)
    sparse = compare_fully(cohort, settings, learner=SGBN(20.0))
    dense = compare_fully(cohort, settings, learner=SGBN(0.0))
    assert len(sparse.refinements["CL-SGBN"]) < len(dense.refinements["CL-SGBN"])
    assert sparse.confidence["control"].n_adjacent < dense.confidence["control"].n_adjacent


def test_networks_are_compared_with_models_without_edges_and_a_stopped_run_goes_on(
    cohort, tmp_path
):
    values = cohort.values[:, :5].copy()
    values[5, 3] = np.nan
    site = np.tile(["A", "B"], 80)
    gaps = Cohort(values, cohort.regions[:5], cohort.ids, group=cohort.group, site=site)
    settings = Settings.networks_only(models=True)
    options = {"learner": SGBN(1.0), "folder": tmp_path}
    found = compare_fully(gaps, settings, **options)
    assert list(found.models) == list(found.beside_factors) == ["control", "patient"]
    for group, learner in found.learners.items():
        assert found.models[group].n == 80
        assert len(found.beside_factors[group]) == np.count_nonzero(learner.coef_)
    (tmp_path / "models-1" / "tasks" / "fold003.npz").unlink()
    again = compare_fully(gaps, settings, **options)
    for group in found.models:
        np.testing.assert_array_equal(
            found.models[group].log_likelihood, again.models[group].log_likelihood
        )


def test_models_that_cannot_be_compared_are_left_out_with_the_reason(cohort):
    few = cohort.subset(rows=np.r_[0:40, 80:95])
    settings = Settings.networks_only(models=True, reference="control")
    found = compare_fully(few, settings, learner=SGBN(1.0))
    assert list(found.models) == ["control"]
    assert "models" in found.skipped


def test_networks_are_those_of_an_ensemble_and_bring_their_confidence(whole, cohort):
    for group, learner in whole.learners.items():
        assert isinstance(learner, SGBNEnsemble)
        assert (learner.n_pairs, learner.n_chains, learner.n_jobs) == (2, 4, None)
        assert whole.confidence[group] is learner.confidence_
        np.testing.assert_array_equal(whole.supported[group], learner.supported_)
    assert isinstance(whole.searcher, SGBN)


def test_an_ensemble_is_used_as_it_is_given(cohort):
    given = SGBNEnsemble(0.7, n_chains=3, n_pairs=1, n_jobs=1)
    found = compare_fully(cohort, Settings.networks_only(), learner=given)
    assert repr(found.learners["control"]) == repr(given)
    assert found.confidence["control"].n_halves == 2
    assert found.searcher.gamma == 1.0  # the gamma of an ensemble is that of its prior


def test_another_learner_has_its_half_samples_in_a_step_of_its_own(cohort):
    found = compare_fully(cohort, Settings.networks_only(n_pairs=2), learner=SGBN())
    assert list(found.seconds) == ["networks", "confidence"]
    wanted = found.confidence["patient"].supported(found.learners["patient"].coef_)
    np.testing.assert_array_equal(found.supported["patient"], wanted)


def test_very_small_groups_have_fewer_peers_and_no_error(cohort, monkeypatch):
    monkeypatch.setattr("sgbn.learn.peers.TREES", 5)
    monkeypatch.setattr("sgbn.comparison.steps.cross_validation.GAMMAS", (0.0, 2.5))
    few = cohort.subset(rows=np.r_[0:4, 80:84])
    settings = Settings.networks_only(n_folds=2, n_repeats=1, peers=True)
    with warned("part"):
        comparison = compare_fully(few, settings, learner=SGBN(1.0))
    methods = set(comparison.accuracy.probabilities)
    assert {OURS, FIRST_PEER} <= methods
    assert REFINED in methods


def with_far_subjects(cohort, rows=(2, 90)):
    values = cohort.values.copy()
    values[list(rows)] += 15 * values.std(axis=0) * np.resize([1, -1], values.shape[1])
    return with_values(cohort, values)


def test_networks_and_halves_do_without_subjects_far_out_and_other_steps_do_not(cohort):
    far = with_far_subjects(cohort)
    clean = cohort.subset(rows=np.delete(np.arange(160), [2, 90]))
    settings = Settings.networks_only(n_pairs=2, refinements=("CL-SGBN",))
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        found = compare_fully(far, settings, learner=SGBN(1.0))
    assert found.left_out == {"control": (far.ids[2],), "patient": (far.ids[90],)}
    assert not found.warnings  # the review names them, once
    assert [one.problem.code for one in found.review.findings].count("rows.far") == 2
    same = compare_compare(clean)
    kept = compare_fully(far, replace(settings, outliers="keep"), learner=SGBN(1.0))
    for group in ("control", "patient"):
        coef = found.learners[group].coef_
        np.testing.assert_allclose(coef, same.learners[group].coef_, rtol=1e-9)
        assert not np.array_equal(coef, kept.learners[group].coef_)
        halves, with_outliers = (each.confidence[group].adjacency_ for each in (found, kept))
        assert not np.array_equal(halves, with_outliers)
    assert kept.left_out == {"control": (), "patient": ()}
    np.testing.assert_array_equal(found.refinements["CL-SGBN"], kept.refinements["CL-SGBN"])
    assert (found.settings.outliers, found.settings.transform) == ("trim", "none")


TESTS = Settings.networks_only(n_permutations=20)


@pytest.mark.parametrize("learner", [SGBN(1.0), ORSGBN(0.1)])
def test_tests_do_without_the_subjects_that_lie_far_out_or_keep_them(cohort, learner):
    far = with_far_subjects(cohort)
    found = compare_fully(far, TESTS, learner=learner)
    assert found.tests.left_out == {"control": (far.ids[2],), "patient": (far.ids[90],)}
    kept = compare_fully(far, replace(TESTS, outliers="keep"), learner=learner)
    assert kept.tests.left_out == {"control": (), "patient": ()}
    assert found.tests.global_statistic != kept.tests.global_statistic


def test_tests_leave_out_whom_the_networks_leave_out(cohort, monkeypatch):
    """Not by a search of their own: there is one list of subjects."""
    monkeypatch.setattr(
        "sgbn.prepare.outliers._far_in_groups", lambda _: pytest.fail("looked again")
    )
    far = with_far_subjects(cohort, rows=(2, 5, 90))
    found = compare_fully(far, TESTS, learner=SGBN(1.0))
    assert found.tests.left_out == found.left_out
    assert [len(ids) for ids in found.left_out.values()] == [2, 1]


def test_tests_of_paired_visits_leave_out_the_whole_person(cohort):
    far = with_far_subjects(cohort, rows=(2,))
    paired = replace(far, pair=np.tile([f"p{k}" for k in range(80)], 2))
    found = compare_fully(paired, TESTS, learner=SGBN(1.0))
    assert found.left_out == {"control": (far.ids[2],), "patient": ()}
    assert found.tests.left_out == {"control": (far.ids[2],), "patient": (far.ids[82],)}


def test_edges_and_regions_that_were_named_are_tested(cohort):
    named = (cohort.regions[3], cohort.regions[1])
    settings = replace(TESTS, edges=(named,), among=cohort.regions[:4])
    found = compare_fully(cohort, settings, learner=SGBN(1.0)).tests
    assert [(row["source"], row["target"]) for row in found.named] == [named]
    assert found.among.regions == cohort.regions[:4]


@pytest.mark.parametrize(
    ("change", "options", "code"),
    [
        (lambda one: one, {"edges": [("nowhere", "no")]}, "regions.unknown"),
        (lambda one: one, {"among": ["frontale"]}, "among.unknown"),
        (lambda one: one, {"replicate": "sit=MIT"}, "replicate.column"),
        (lambda one: Cohort(one.values, one.regions, one.ids), {}, "groups.one"),
        (lambda one: with_values(one, one.values[:, [*range(7), 2]]), {}, "regions.copies"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_is_computed(
    cohort, change, options, code
):
    with refused(code):
        compare_fully(
            change(cohort), replace(TESTS, **options), on_step=lambda _: pytest.fail("a step began")
        )


def test_the_learner_decides_about_outliers_unless_the_settings_do(cohort):
    far = with_far_subjects(cohort)
    assert not any(compare_compare(far, learner=SGBN(outliers="keep")).left_out.values())
    trimmed = compare_fully(
        far, Settings.networks_only(outliers="trim"), learner=SGBN(outliers="keep")
    )
    assert all(trimmed.left_out.values())
    other = compare_compare(far, learner=ORSGBN(0.1))
    assert other.left_out == {"control": (), "patient": ()}
    assert "rows.far" in [one.problem.code for one in other.review.findings]
    assert other.settings.outliers is None
    kept = compare_fully(far, Settings.networks_only(outliers="keep"), learner=ORSGBN(0.1))
    assert "rows.far" in [one.problem.code for one in kept.review.findings]
    assert kept.settings.outliers == "keep"
    for asked in ({"outliers": "trim"}, {"transform": "normal-scores"}):
        with refused("learner.setting"):
            compare_fully(far, Settings.networks_only(**asked), learner=ORSGBN(0.1))


def test_graphs_can_be_learned_from_normal_scores(cohort):
    curved = with_values(cohort, np.exp(cohort.values / cohort.values.std(axis=0)))
    settings = Settings.networks_only(outliers="keep", transform="normal-scores")
    scores = compare_fully(curved, settings, learner=SGBN(1.0))
    plain = compare_fully(cohort, settings, learner=SGBN(1.0))
    for group in cohort.groups:
        same = (scores.learners[group].coef_ != 0) == (plain.learners[group].coef_ != 0)
        assert same.all()


def test_directions_of_shadows_are_not_supported():
    rng = np.random.default_rng(1)
    values = rng.standard_normal((400, 1)) + rng.standard_normal((400, 10))
    names, ids = [f"r{k}" for k in range(10)], [f"s{k}" for k in range(400)]
    cohort = Cohort(values, names, ids, group=np.repeat(["a", "b"], 200))
    settings = Settings.networks_only(models=True, n_pairs=2)
    found = compare_fully(cohort, settings, learner=SGBNEnsemble(n_chains=4, n_pairs=2))
    assert found.models["a"].edges_may_be_shadows
    stays = found.beside_factors["a"].stays
    edges = found.learners["a"].coef_ != 0
    assert np.array_equal(found.supported["a"][edges], found.agreed["a"][edges] & stays)
    assert not found.supported["a"][~edges].any()
    known = replace(found, models={})
    assert np.array_equal(known.supported["a"], found.agreed["a"])


def test_networks_and_tests_are_handed_over_before_the_slow_steps(run):
    whole, early, steps = run.comparison, run.first, run.steps
    assert early.pending == ("sensitivity", "refinements", "deviations", "accuracy", "model")
    assert steps.index("handed over") == 3
    assert steps[2].startswith("Tests of differences")
    assert whole.pending == ()
    for name in ("edges", "differences", "hubs"):
        assert getattr(early.tables, name).equals(getattr(whole.tables, name))
    assert early.accuracy is None
    assert "accuracy" not in early.seconds
    assert whole.accuracy is not None


def test_an_accuracy_is_not_tested_where_nothing_can_be_exchanged():
    """Families of two in one group and of three in the other."""
    rng = np.random.default_rng(0)
    group = np.repeat(["AD", "HC"], 24)
    block = np.r_[np.arange(24) // 3, 100 + np.arange(24) // 2]
    values = rng.normal(size=(48, 4)) + (group == "AD")[:, None]
    cohort = Cohort(values, list("wxyz"), range(48), group=group, block=block)
    settings = Settings.networks_only(n_repeats=1, n_folds=2, peers=False, accuracy_permutations=19)
    found = compare_fully(cohort, settings, learner=SGBN(1.0))
    assert found.accuracy is not None
    assert not len(found.accuracy.permuted)
    assert "accuracy.untested" in [one.code for one in found.warnings]


def test_a_learner_must_fit_the_cohort(cohort, chains_of_series):
    with refused("learner.series"):
        compare(cohort, learner=SeriesSGBN())
    with refused("learner.table"):
        compare(chains_of_series, learner=SGBN())


def test_default_learners_have_the_half_samples_of_the_settings(cohort, chains_of_series):
    settings = Settings(n_pairs=7, seed=3)
    for data, kind in ((cohort, SGBNEnsemble), (chains_of_series, SeriesSGBN)):
        learner = _learner(None, settings, data)
        assert isinstance(learner, kind)
        assert (learner.n_pairs, learner.random_state) == (7, 3)


def test_missing_covariates_of_time_series_are_filled_in(chains_of_series):
    ages = np.linspace(20, 60, len(chains_of_series))
    ages[3] = np.nan
    sex = np.where(np.arange(len(ages)) == 5, "", "F")
    cohort = replace(chains_of_series, covariates={"age": ages, "sex": sex})
    assert _prepared(chains_of_series) is chains_of_series
    prepared = _prepared(cohort)
    assert isinstance(prepared, SeriesCohort)
    assert prepared.covariates["age"][3] == np.nanmean(ages)
    assert prepared.covariates["sex"][5] == "unknown"
    assert prepared.n_volumes == cohort.n_volumes


@pytest.fixture(scope="module")
def group_network_cohort():
    """Two groups with all that must not become a region, and with gaps."""
    return simulate_cohort(60, regions=6, covariates=["age", "sex"], n_sites=2, missing=0.02)


def test_the_network_is_that_of_a_comparison(group_network_cohort):
    learner = SGBN()
    compared = compare(
        group_network_cohort, group_network_Settings.networks_only(), learner=learner
    )
    for group in group_network_cohort.groups:
        found = group_network(group_network_cohort, group, learner)
        assert found is not learner
        assert found.network_.names == group_network_cohort.regions
        np.testing.assert_array_equal(found.coef_, compared.learners[group].coef_)


def test_the_default_learner_is_that_of_a_comparison(group_network_cohort, monkeypatch):
    few = partial(group_network_Settings, n_pairs=2)  # by default 50, which take seconds
    monkeypatch.setattr(import_module("sgbn.comparison.compare"), "Settings", few)
    compared = compare(
        group_network_cohort, group_network_Settings.networks_only(n_pairs=2)
    ).learners["patient"]
    found = group_network(group_network_cohort, "patient")
    assert isinstance(found, SGBNEnsemble)
    assert repr(found) == repr(compared)
    np.testing.assert_array_equal(found.coef_, compared.coef_)


def test_the_network_of_series_is_that_of_a_comparison(chains_of_series, compared_series):
    found = group_network(chains_of_series, "patient", SeriesSGBN(n_pairs=4))
    np.testing.assert_array_equal(found.coef_, compared_series.learners["patient"].coef_)
    alone = chains_of_series.subset(groups=["patient"])
    again = group_network(alone, "patient", SeriesSGBN(n_pairs=0))
    np.testing.assert_array_equal(again.coef_, found.coef_)


def copied_rows(cohort):
    values = np.nan_to_num(cohort.values[np.repeat(np.arange(30), 2)])
    return Cohort(values, cohort.regions, range(60), group=["control"] * 60)


@pytest.mark.parametrize(
    ("change", "group", "code"),
    [
        (lambda one: one, "contrl", "groups.unknown"),
        (lambda _: [[1.0]], "control", "cohort.type"),
        (lambda one: Cohort(one.values, one.regions, one.ids), "control", "groups.one"),
        (copied_rows, "control", "review.stops"),
    ],
)
def test_what_stands_in_the_way_is_said(group_network_cohort, change, group, code):
    with refused(code):
        group_network(change(group_network_cohort), group, SGBN())


def test_one_group_is_enough_and_rows_may_be_told_to_be_subjects(group_network_cohort):
    alone = group_network_cohort.subset(groups=["control"])
    assert group_network(alone, "control", SGBN()).network_.names == group_network_cohort.regions
    copied = copied_rows(group_network_cohort)
    assert group_network(copied, "control", SGBN(), rows_are_subjects=True).network_.m == 6


def test_the_keywords_that_an_error_proposes_are_those_of_compare():
    assert tuple(inspect.signature(compare).parameters)[1:-1] == KEYWORDS
