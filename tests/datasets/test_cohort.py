import pickle

import numpy as np
import pytest

from sgbn.cohort.atlas import ATLASES, load_atlas
from sgbn.cohort.cohort import Cohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.core.exceptions import InputError

EVERYTHING = {
    "n_sites": 3,
    "covariates": ("age", "sex", "eTIV"),
    "missing": 0.05,
    "confounding": 0.5,
}


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(300, random_state=0)


@pytest.fixture(scope="module")
def full():
    return simulate_cohort(90, random_state=0, **EVERYTHING)


def test_forty_named_regions_in_two_groups(cohort):
    assert isinstance(cohort, Cohort)
    assert cohort.values.shape == (600, 40)
    assert "Hippocampus_L" in cohort.regions
    assert cohort.of_group("patient").shape == (300, 40)
    assert list(cohort.networks) == ["control", "patient"]
    assert all(network.names == cohort.regions for network in cohort.networks.values())
    assert cohort.ids[:2] == ("sub-0001", "sub-0002")
    assert cohort.places[0] == load_atlas("aal").find("Frontal_Sup_L")


def test_the_default_values_never_change():
    # experiments and published figures rest on them
    values = simulate_cohort(5, random_state=3).values
    expected = [11998.178233210445, 13447.859970395439, 20491.905724061584]
    np.testing.assert_allclose(values[0, :3], expected, rtol=1e-10)
    assert values[-1, -1] == pytest.approx(3901.3663835582784, rel=1e-10)
    patients = simulate_cohort(100, random_state=0).of_group("patient")
    assert patients[-1, -1] == pytest.approx(4128.419446076896, rel=1e-10)


def test_values_look_like_volumes_and_follow_the_networks():
    large = simulate_cohort(20_000, random_state=0)
    assert large.values.min() > 0
    for group, network in large.networks.items():
        rows = large.of_group(group)
        sd = np.sqrt(np.diag(network.covariance))
        np.testing.assert_allclose(rows.mean(axis=0), network.mean, rtol=0.005)
        np.testing.assert_allclose(sd / network.mean, 0.12, rtol=1e-8)
        expected = network.covariance / sd / sd[:, None]
        np.testing.assert_allclose(np.corrcoef(rows.T), expected, atol=0.03)


def test_the_groups_differ_in_some_edges_and_the_medial_temporal_lobe_shrinks(cohort):
    control, patient = cohort.networks.values()
    medial = np.array([lobe == "medial temporal" for lobe in cohort.lobes])
    assert np.all(patient.mean[medial] < control.mean[medial])
    np.testing.assert_allclose(patient.mean[~medial], control.mean[~medial])
    assert 8 <= len(cohort.changed["patient"]) <= 30


def test_a_seed_repeats():
    first, second = simulate_cohort(9, 3, **EVERYTHING), simulate_cohort(9, 3, **EVERYTHING)
    assert np.array_equal(first.values, second.values, equal_nan=True)
    assert np.array_equal(first.site, second.site)
    assert not np.array_equal(first.values, simulate_cohort(9, 4, **EVERYTHING).values)


def test_values_are_biology_and_known_effects(full):
    reference = full.networks["control"].mean
    shift, scale = (np.array([e[s] for s in full.site]) for e in (full.site_shift, full.site_scale))
    numbers = {
        "age": full.covariates["age"] - 65,
        "sex": full.covariates["sex"] == "M",
        "eTIV": full.covariates["eTIV"] - 1.5e6,
    }
    added = sum(np.outer(numbers[name], full.covariate_effects[name]) for name in numbers)
    seen = ~np.isnan(full.values)
    recovered = reference + (full.values - added - shift - reference) / scale
    np.testing.assert_allclose(recovered[seen], full.biology[seen], rtol=1e-10)
    assert np.abs(full.values - full.biology)[seen].max() > 1000


def test_biology_does_not_depend_on_what_is_added(full):
    plain = simulate_cohort(90, random_state=0)
    assert np.array_equal(full.biology, plain.values)
    assert np.array_equal(plain.biology, plain.values)


@pytest.mark.parametrize("dropped", ["missing", "n_sites", "covariates"])
def test_what_is_not_asked_for_leaves_the_rest_as_it_is(full, dropped):
    kept = {name: value for name, value in EVERYTHING.items() if name != dropped}
    less = simulate_cohort(90, random_state=0, **kept)
    for name in ("site_shift", "site_scale", "covariate_effects"):
        for key, effect in getattr(less, name).items():
            assert np.array_equal(effect, getattr(full, name)[key])
    for name, column in less.covariates.items():
        assert np.array_equal(column, full.covariates[name])
    if dropped == "missing":
        seen = ~np.isnan(full.values)
        assert np.array_equal(less.values[seen], full.values[seen])
        assert not np.isnan(less.values).any()
    else:
        assert np.array_equal(np.isnan(less.values), np.isnan(full.values))


def test_one_covariate_is_the_same_alone_as_with_the_others(full):
    alone = simulate_cohort(90, random_state=0, covariates="eTIV")
    assert list(alone.covariates) == list(alone.covariate_effects) == ["eTIV"]
    assert np.array_equal(alone.covariates["eTIV"], full.covariates["eTIV"])
    assert list(simulate_cohort(5, covariates=True).covariates) == ["age", "sex", "eTIV"]
    assert not simulate_cohort(5, covariates=False).covariates


def test_confounding_shifts_age_and_sites_only_on_request():
    settings = {"covariates": ["age"], "n_sites": 2, "random_state": 0}
    gaps, moved = [], []
    for confounding in (0.0, 1.0):
        drawn = simulate_cohort(500, confounding=confounding, **settings)
        patient = drawn.group == "patient"
        age = drawn.covariates["age"]
        gaps.append(age[patient].mean() - age[~patient].mean())
        at_first = drawn.site == "site1"
        moved.append(at_first[patient].mean() - at_first[~patient].mean())
    assert abs(gaps[0]) < 1.5 < 8 < gaps[1] < 12
    assert moved == [0, -1]


def test_sizes_may_differ():
    for sizes in ((30, 12), {"patient": 12, "control": 30}, np.array([30, 12])):
        assert simulate_cohort(sizes).sizes == {"control": 30, "patient": 12}


def test_groups_may_be_numbers():
    assert simulate_cohort({0: 3, 1: 4}, groups=(0, 1)).sizes == {"0": 3, "1": 4}


def test_groups_have_the_names_and_order_given():
    drawn = simulate_cohort((5, 6, 7), groups=("HC", "MCI", "AD"))
    assert list(drawn.networks) == ["HC", "MCI", "AD"]
    assert list(drawn.changed) == ["MCI", "AD"]
    assert drawn.group.tolist() == ["HC"] * 5 + ["MCI"] * 6 + ["AD"] * 7


def test_a_null_cohort_has_equal_networks_and_the_same_controls(cohort):
    null = simulate_cohort(300, random_state=0, differ="nothing")
    control, patient = null.networks.values()
    assert np.array_equal(control.coef, patient.coef)
    assert np.array_equal(control.mean, patient.mean)
    assert null.changed == {"patient": ()}
    assert np.array_equal(null.of_group("control"), cohort.of_group("control"))


@pytest.mark.parametrize("name", ATLASES)
def test_every_atlas_will_do(name):
    drawn = simulate_cohort(4, atlas=name)
    assert drawn.values.shape == (8, 40)
    assert (drawn.values > 0).all()
    assert None not in drawn.places
    assert drawn.atlas is load_atlas(name)
    assert drawn.changed["patient"]


def test_all_of_a_large_atlas():
    drawn = simulate_cohort(10, atlas="aal3", regions=None)
    assert drawn.values.shape == (20, 166)
    assert None not in drawn.places


def test_an_atlas_object_and_named_regions_will_do():
    names = ["rh_insula", "lh_insula", "Left-Amygdala"]
    drawn = simulate_cohort(
        5, atlas=load_atlas("destrieux"), regions=["Left-Amygdala", "CC_Central"], differ="means"
    )
    assert drawn.regions == ("Left-Amygdala", "CC_Central")
    assert simulate_cohort(5, atlas="aparc", regions=names, differ="means").regions == tuple(names)


def test_subset_keeps_the_truth_of_what_is_left(full):
    regions = ["Insula_R", "Hippocampus_L"]
    part = full.subset(groups=["patient"], regions=regions)
    columns = [full.regions.index(name) for name in regions]
    assert type(part) is type(full)
    assert np.array_equal(part.biology, full.biology[full.group == "patient"][:, columns])
    assert np.array_equal(part.site_shift["site2"], full.site_shift["site2"][columns])
    assert np.array_equal(part.covariate_effects["age"], full.covariate_effects["age"][columns])
    assert part.networks["control"].names == full.regions
    assert part.changed == full.changed


def test_it_can_be_pickled_and_cannot_be_changed(full):
    again = pickle.loads(pickle.dumps(full))  # noqa: S301
    assert np.array_equal(again.values, full.values, equal_nan=True)
    assert again.changed == full.changed
    for copy in (full, again):
        for array in (copy.biology, copy.site_shift["site1"], copy.covariate_effects["age"]):
            assert not array.flags.writeable
        with pytest.raises(TypeError):
            copy.networks["control"] = None


def test_an_unknown_group_is_named(cohort):
    with pytest.raises(InputError, match="no group is called 'AD'"):
        cohort.of_group("AD")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_per_group": 0}, "size of group 'control' is 0"),
        ({"n_per_group": -5}, "size of group 'control' is -5"),
        ({"n_per_group": 2.5}, "size of group 'control' is 2.5|1 sizes"),
        ({"n_per_group": True}, "size of group 'control' is True"),
        ({"n_per_group": (5, 5, 5)}, "3 sizes for 2 groups"),
        ({"n_per_group": {"control": 5, "AD": 5}}, "the groups are"),
        ({"groups": ["one"]}, "two or more different names"),
        ({"groups": ["one", "one"]}, "two or more different names"),
        ({"groups": "ab"}, "two or more different names"),
        ({"differ": "all"}, "differ is 'all'"),
        ({"n_changed": -1}, "n_changed is -1"),
        ({"mean_shift": np.nan}, "mean_shift is nan"),
        ({"n_sites": 1}, "n_sites is 1"),
        ({"n_sites": -2}, "n_sites is -2"),
        ({"n_sites": 300}, "200 subjects for 300 sites"),
        ({"site_effect": -1}, "site_effect is -1"),
        ({"covariates": ["age", "IQ"]}, "no covariate is called 'IQ'"),
        ({"missing": 1.5}, "missing is 1.5"),
        ({"missing": 1.0}, "give at most"),
        ({"missing": "some"}, "missing is 'some'"),
        ({"confounding": -0.1, "n_sites": 2}, "confounding is -0.1"),
        ({"confounding": 0.5}, "Ask for sites"),
        ({"confounding": 0.5, "covariates": ["sex"]}, "Ask for sites"),
        ({"atlas": "brodmann"}, "no atlas is called 'brodmann'"),
        ({"regions": ["Elbow"]}, "no region 'Elbow'"),
        ({"regions": 1}, "1 regions"),
    ],
)
def test_bad_parameters_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        simulate_cohort(**settings)
