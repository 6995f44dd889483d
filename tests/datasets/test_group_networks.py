import numpy as np
import pytest

from sgbn.cohort.atlas import load_atlas
from sgbn.cohort.simulate import (
    EXPLAINED,
    SPREAD,
    Difference,
    choose_regions,
    group_networks,
    standardised,
    twin_key,
)
from sgbn.core.exceptions import DataWarning

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
    with pytest.warns(DataWarning, match="no edge of group 'b'"):
        draw(regions=regions)
