import pickle
from collections import Counter
from statistics import median

import numpy as np
import pytest
from tests.codes import refused, warned

from sgbn.cohort.atlas import ATLASES, load_atlas
from sgbn.cohort.cohort import Cohort
from sgbn.cohort.simulate import (
    EXPLAINED,
    FLUID,
    FORTY,
    NETWORKS,
    SPREAD,
    USUAL_VOLUME,
    Difference,
    assign_sites,
    choose_regions,
    covariate_part,
    draw_covariates,
    draw_slopes,
    group_networks,
    load_network,
    missing_cells,
    random_weights,
    simulate_cohort,
    simulate_sem,
    site_effects,
    site_names,
    standardised,
    twin_key,
    volume_of,
)
from sgbn.core.graph import is_dag, random_dag

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


def test_sizes_may_differ_and_groups_may_be_numbers():
    for sizes in ((30, 12), {"patient": 12, "control": 30}, np.array([30, 12])):
        assert simulate_cohort(sizes).sizes == {"control": 30, "patient": 12}
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


@pytest.mark.parametrize(
    ("name", "regions", "n"), [*((name, 40, 40) for name in ATLASES), ("aal3", None, 166)]
)
def test_every_atlas_will_do(name, regions, n):
    drawn = simulate_cohort(4, atlas=name, regions=regions)
    assert drawn.values.shape == (8, n)
    assert (drawn.values > 0).all()
    assert None not in drawn.places
    assert drawn.atlas is load_atlas(name)
    assert drawn.changed["patient"]


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


ARGUMENTS = {
    **{"differ": "all", "n_changed": -1, "mean_shift": np.nan, "n_sites": 1, "site_effect": -1},
    **{"missing": 1.5, "confounding": -0.1},
}


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        *(({name: value}, "argument") for name, value in ARGUMENTS.items()),
        *(({"n_per_group": n}, "argument") for n in (0, 2.5)),
        ({"n_per_group": (5, 5, 5)}, "simulate.sizes"),
        ({"n_per_group": {"control": 5, "AD": 5}}, "simulate.sizes"),
        *(({"groups": groups}, "simulate.groups") for groups in (["one"], ["one", "one"], "ab")),
        ({"n_sites": 300}, "simulate.sites"),
        ({"covariates": ["age", "IQ"]}, "simulate.covariate"),
        ({"missing": 1.0}, "simulate.missing"),
        ({"confounding": 0.5}, "simulate.confounding"),
        ({"confounding": 0.5, "covariates": ["sex"]}, "simulate.confounding"),
        ({"atlas": "brodmann"}, "atlas.unknown"),
        ({"regions": ["Elbow"]}, "simulate.unknown"),
    ],
)
def test_bad_parameters_are_refused(settings, code):
    with refused(code):
        simulate_cohort(**settings)


BOTH = Difference(edges=True, means=True, n_changed=12, mean_shift=0.5)
REGIONS = choose_regions(load_atlas("aal"), 40)
ALL = choose_regions(load_atlas("aal3"), None)


def draw(difference=BOTH, groups=("a", "b"), regions=REGIONS, seed=0):
    return group_networks(regions, groups, difference, np.random.default_rng(seed))


@pytest.mark.parametrize("regions", [REGIONS, ALL])
def test_spread_is_in_proportion_and_parents_leave_noise(regions):
    networks, _ = draw(regions=regions)
    for network in networks.values():
        variance = np.diag(network.covariance)
        np.testing.assert_allclose(np.sqrt(variance), SPREAD * network.mean)
        assert np.all(1 - network.noise_variance / variance <= EXPLAINED + 1e-9)


def test_a_region_has_about_as_many_parents_in_a_large_atlas_as_in_a_small_one():
    for regions in (REGIONS, ALL):
        network = draw(regions=regions)[0]["a"]
        assert 1 < network.n_edges / network.m < 3


def test_twins_are_mostly_joined():
    joined = draw()[0]["a"].coef != 0
    joined = joined | joined.T
    key = np.array([twin_key(region) for region in REGIONS])
    twins = (key[:, None] == key) & ~np.eye(len(key), dtype=bool)
    assert joined[twins].mean() > 0.7 > 0.2 > joined[~twins].mean()


def test_changed_edges_are_those_whose_standardised_weights_differ():
    networks, changed = draw()
    first, second = (standardised(network) for network in networks.values())
    names = [region.name for region in REGIONS]
    size = {(names[i], names[j]): abs(first - second)[i, j] for i, j in np.ndindex(first.shape)}
    assert set(changed["b"]) == {edge for edge, value in size.items() if value > 1e-9}
    assert [size[edge] for edge in changed["b"]] == sorted(
        (size[edge] for edge in changed["b"]), reverse=True
    )


@pytest.mark.parametrize("n_changed", [0, 1, 4, 12])
def test_so_many_edges_change_on_purpose(n_changed):
    networks, changed = draw(BOTH._replace(n_changed=n_changed))
    lost = (networks["a"].coef != 0) & (networks["b"].coef == 0)
    assert lost.sum() == (n_changed // 2 + 1) // 2  # every other one of those at the lobe
    assert len(changed["b"]) >= n_changed
    assert n_changed or not changed["b"]


def test_edges_alone_leave_every_region_its_mean_and_variance():
    networks, changed = draw(BOTH._replace(means=False))
    np.testing.assert_allclose(networks["a"].mean, networks["b"].mean)
    np.testing.assert_allclose(np.diag(networks["a"].covariance), np.diag(networks["b"].covariance))
    assert changed["b"]


def test_means_alone_leave_weights_and_noise_and_shift_the_medial_temporal_lobe():
    networks, changed = draw(BOTH._replace(edges=False, mean_shift=0.8))
    first, second = networks.values()
    assert np.array_equal(first.coef, second.coef)
    assert np.array_equal(first.noise_variance, second.noise_variance)
    assert changed["b"] == ()
    medial = np.array([region.lobe == "medial temporal" for region in REGIONS])
    shift = (first.mean - second.mean) / np.sqrt(np.diag(first.covariance))
    np.testing.assert_allclose(shift, 0.8 * medial, atol=1e-9)


def test_nothing_differs_on_request():
    networks, changed = draw(BOTH._replace(edges=False, means=False), groups="abc")
    for network in networks.values():
        assert np.array_equal(network.coef, networks["a"].coef)
        assert np.array_equal(network.intercept, networks["a"].intercept)
    assert changed == {"b": (), "c": ()}


def test_a_third_group_differs_in_its_own_way_and_leaves_the_others_alone():
    two, three = draw(groups="ab"), draw(groups="abc")
    for group in "ab":
        assert np.array_equal(two[0][group].coef, three[0][group].coef)
    networks, changed = three
    assert set(changed["b"]) != set(changed["c"])
    smaller = {
        g: {
            region.lobe
            for region, lost in zip(REGIONS, networks[g].mean < networks["a"].mean - 1, strict=True)
            if lost
        }
        for g in "bc"
    }
    assert smaller == {"b": {"medial temporal"}, "c": {"frontal"}}


def test_other_atlases_have_a_medial_temporal_lobe_by_name():
    regions = choose_regions(load_atlas("destrieux"), None)
    networks, _ = draw(regions=regions)
    smaller = networks["b"].mean < networks["a"].mean - 1
    names = {region.name for region, less in zip(regions, smaller, strict=True) if less}
    assert names >= {"Left-Hippocampus", "Right-Amygdala", "lh_G_oc-temp_med-Parahip"}
    assert len(names) == 6


def test_more_groups_than_lobes_are_possible():
    networks, _ = draw(groups="abcdefgh", regions=choose_regions(load_atlas("aal"), 6))
    assert len(networks) == 8


def test_a_network_without_edges_to_change_warns():
    regions = choose_regions(load_atlas("aal"), ["Insula_L", "Lingual_R"])
    with warned("simulate.unchanged"):
        draw(regions=regions)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_site_names_sort_in_their_order():
    names = site_names(12)
    assert names[0] == "site01"
    assert names == sorted(names)


@pytest.mark.parametrize("size", [4, 5, 37, 400])
def test_every_group_is_at_every_site_and_sites_differ_in_size(rng, size):
    sizes = {"a": size, "b": 2 * size}
    site = assign_sites(sizes, site_names(4), 0.0, rng)
    for rows in (slice(0, size), slice(size, None)):
        assert len(set(site[rows])) == 4
    counts = Counter(site)
    assert sum(counts.values()) == 3 * size
    if size > 30:
        assert counts["site1"] / counts["site4"] == pytest.approx(2, rel=0.15)


def test_confounding_gathers_each_group_at_a_site_of_its_own(rng):
    sizes = {"a": 60, "b": 60}
    half, whole = (assign_sites(sizes, site_names(3), share, rng) for share in (0.5, 1.0))
    assert Counter(half[:60])["site1"] > 2 * Counter(half[60:])["site1"]
    assert set(whole[:60]) == {"site1"}
    assert set(whole[60:]) == {"site2"}


def test_site_effects_grow_with_their_strength(rng):
    sd = np.full(500, 10.0)
    none = site_effects(["s"], sd, 0.0, rng)
    assert not none[0]["s"].any()
    assert np.array_equal(none[1]["s"], np.ones(500))
    weak, strong = (
        site_effects(["s"], sd, strength, np.random.default_rng(1)) for strength in (0.5, 1.0)
    )
    np.testing.assert_allclose(strong[0]["s"], 2 * weak[0]["s"])
    np.testing.assert_allclose(strong[1]["s"], weak[1]["s"] ** 2)


def test_covariates_look_like_people(rng):
    columns = draw_covariates([2000, 2000], 0.0, rng)
    assert columns["age"].mean() == pytest.approx(65, abs=0.5)
    assert Counter(columns["sex"])["F"] == pytest.approx(2000, rel=0.06)
    male = columns["sex"] == "M"
    gap = columns["eTIV"][male].mean() - columns["eTIV"][~male].mean()
    assert gap == pytest.approx(1.6e5, rel=0.1)


def test_confounding_makes_later_groups_older_and_changes_nothing_else(rng):
    plain = draw_covariates([500] * 3, 0.0, np.random.default_rng(2))
    confounded = draw_covariates([500] * 3, 0.6, np.random.default_rng(2))
    older = (confounded["age"] - plain["age"]).reshape(3, 500).mean(axis=1)
    np.testing.assert_allclose(older, [0, 3, 6], atol=0.05)
    assert np.array_equal(plain["sex"], confounded["sex"])
    assert np.array_equal(plain["eTIV"], confounded["eTIV"])


def test_a_woman_of_the_reference_is_unchanged_and_a_step_adds_its_slope():
    slopes = draw_slopes(np.array([100.0, 200.0]), np.random.default_rng(0))
    columns = {
        "age": np.array([65.0, 66.0, 65.0, 65.0]),
        "sex": np.array(["F", "F", "M", "F"]),
        "eTIV": np.array([1.5e6, 1.5e6, 1.5e6, 1.5e6 + 1]),
    }
    part = covariate_part(columns, slopes)
    np.testing.assert_allclose(
        part, [np.zeros(2), slopes["age"], slopes["sex"], slopes["eTIV"]], atol=1e-12
    )
    assert np.all(slopes["age"] < 0)
    assert np.all(slopes["eTIV"] > 0)


@pytest.mark.parametrize("shape", [(30, 40), (400, 5), (3, 100)])
@pytest.mark.parametrize("share", [0.01, 0.2, 0.6])
def test_missing_cells_are_as_many_as_asked_and_leave_something_everywhere(rng, shape, share):
    cells = missing_cells(shape, share, rng)
    assert cells.sum() == round(share * shape[0] * shape[1])
    assert not cells.all(axis=0).any()
    assert not cells.all(axis=1).any()


def test_the_most_that_can_be_missing_is_missing(rng):
    assert missing_cells((50, 10), 0.9, rng).sum() == 450


@pytest.mark.parametrize("name", ATLASES)
def test_none_takes_all_tissue_of_an_atlas(name):
    atlas = load_atlas(name)
    chosen = choose_regions(atlas, None)
    assert set(atlas.regions) - set(chosen) == {r for r in atlas.regions if r.lobe == FLUID}
    assert len(chosen) > 50


@pytest.mark.parametrize("name", ATLASES)
def test_every_region_has_at_most_one_twin_and_it_is_on_the_other_side(name):
    pairs: dict[str, list[str]] = {}
    for region in load_atlas(name).regions:
        pairs.setdefault(twin_key(region), []).append(region.hemisphere)
    assert all(len(set(sides)) == len(sides) <= 2 for sides in pairs.values())
    assert sum(sorted(sides) == ["L", "R"] for sides in pairs.values()) > 25


@pytest.mark.parametrize("name", ATLASES)
def test_so_many_are_in_pairs_over_all_lobes_and_in_the_atlas_order(name):
    atlas = load_atlas(name)
    chosen = choose_regions(atlas, 34)  # a pair of each of 17 networks
    assert len(chosen) == 34
    assert list(chosen) == sorted(chosen, key=atlas.regions.index)
    assert {region.lobe for region in chosen} == {r.lobe for r in choose_regions(atlas, None)}
    sides = Counter(region.hemisphere for region in chosen)
    twins = Counter(twin_key(region) for region in chosen if region.hemisphere)
    single = sum(count == 1 for count in twins.values())
    assert abs(sides["L"] - sides["R"]) <= single
    by_network = name.startswith(("schaefer", "glasser"))  # twins may be of two networks
    assert single <= (9 if by_network else 1)


def test_fewer_are_among_more():
    atlas = load_atlas("destrieux")
    assert set(choose_regions(atlas, 21)) < set(choose_regions(atlas, 22))


def test_forty_of_aal_are_a_fixed_list():
    chosen = choose_regions(load_atlas("aal"), 40)
    assert tuple(region.name for region in chosen) == FORTY
    assert chosen[0].name == "Frontal_Sup_L"
    assert sum(region.lobe == "medial temporal" for region in chosen) == 6


def test_named_regions_come_in_the_order_given_whatever_their_spelling():
    atlas = load_atlas("desikan_killiany")
    chosen = choose_regions(atlas, ["rh_insula_thickness", "Left-Hippocampus"])
    assert [region.name for region in chosen] == ["rh_insula", "Left-Hippocampus"]


def test_ventricles_are_taken_when_they_are_named():
    atlas = load_atlas("desikan_killiany")
    chosen = choose_regions(atlas, ["Left-Lateral-Ventricle", "3rd-Ventricle"])
    assert {region.lobe for region in chosen} == {FLUID}


@pytest.mark.parametrize(
    ("wanted", "code"),
    [
        (["Insula_L", "Elbow_L"], "simulate.unknown"),
        *((few, "simulate.few-regions") for few in (["Insula_L"], [])),
        (["Insula_L", "insula_l"], "simulate.twice"),
        *((n, "simulate.count") for n in (1, 117)),
        *((odd, "simulate.regions") for odd in ("Insula_L", True, 2.5)),
    ],
)
def test_bad_regions_are_refused(wanted, code):
    with refused(code):
        choose_regions(load_atlas("aal"), wanted)


def test_a_region_without_a_volume_has_the_usual_one():
    first, second = load_atlas("aal").regions[:2]
    assert volume_of(first) == first.volume_mm3 > 0
    assert volume_of(second._replace(volume_mm3=float("nan"))) == USUAL_VOLUME
    known = [r.volume_mm3 for name in ATLASES for r in load_atlas(name).regions if r.volume_mm3 > 0]
    assert 0.9 < USUAL_VOLUME / median(known) < 1.1


COUNTS = {  # nodes and arcs, as in the paper's Section 5.2
    "factors": (27, 68),
    "alarm": (37, 46),
    "barley": (48, 84),
    "carpo": (61, 74),
    "chain": (7, 6),
    "hailfinder": (56, 66),
    "insurance": (27, 52),
    "mildew": (35, 46),
    "water": (32, 66),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_sizes_are_those_of_the_paper(name):
    network = load_network(name)
    assert (len(network.names), int(network.graph.sum())) == COUNTS[name]
    assert is_dag(network.graph)
    assert len(set(network.names)) == len(network.names)


def test_factors_are_divisors():
    graph, names = load_network("Factors")
    number = np.array([int("".join(filter(str.isdigit, name))) for name in names])
    divides = (number[None, :] % number[:, None] == 0) & (number[:, None] < number[None, :])
    assert np.array_equal(graph, divides)


def test_weights_have_either_sign_and_the_stated_size():
    A = random_dag(60, 10, np.random.default_rng(0))
    W = random_weights(A, np.random.default_rng(1))
    assert np.array_equal(W != 0, A)
    size = np.abs(W[A])
    assert 0.5 <= size.min() < 0.55
    assert 0.95 < size.max() <= 1.0
    assert 0.4 < (W[A] > 0).mean() < 0.6


def test_rows_come_from_the_network():
    A = random_dag(5, 2, np.random.default_rng(2))
    X, network = simulate_sem(A, 100_000, noise="unequal", random_state=3)
    np.testing.assert_allclose(np.cov(X.T), network.covariance, rtol=0.05, atol=0.1)
    assert np.all((network.noise_variance >= 0.25) & (network.noise_variance <= 2.25))
    assert np.all(simulate_sem(A, 2, random_state=0)[1].noise_variance == 1.0)


def test_a_seed_repeats_the_rows():
    A = np.triu(np.ones((4, 4)), 1)
    first, second = (simulate_sem(A, 5, random_state=1)[0] for _ in range(2))
    assert np.array_equal(first, second)


def test_unknown_names_are_refused():
    with refused("simulate.network"):
        load_network("asia")
    with refused("argument"):
        simulate_sem(np.zeros((2, 2)), 5, noise="laplace")
