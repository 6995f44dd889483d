import numpy as np
import pytest

from sgbn import InputError, simulate_cohort
from sgbn.datasets import load_regions


@pytest.fixture(scope="module")
def cohort():
    return simulate_cohort(300, random_state=0)


def test_forty_named_regions_in_two_groups(cohort):
    assert cohort.values.shape == (600, 40)
    assert len(set(cohort.regions)) == 40
    assert "Hippocampus_L" in cohort.regions
    assert cohort.of_group("patient").shape == (300, 40)
    assert list(cohort.networks) == ["control", "patient"]
    assert all(network.names == cohort.regions for network in cohort.networks.values())


def test_values_look_like_volumes_and_follow_the_networks(cohort):
    assert cohort.values.min() > 0
    for group, network in cohort.networks.items():
        rows = cohort.of_group(group)
        np.testing.assert_allclose(rows.mean(axis=0), network.mean, rtol=0.05)
        np.testing.assert_allclose(
            np.sqrt(np.diag(network.covariance)) / network.mean, 0.12, rtol=1e-8
        )


def test_the_groups_differ_in_some_edges_and_the_medial_temporal_lobe_shrinks(cohort):
    control, patient = cohort.networks.values()
    medial = np.array([lobe == "medial temporal" for lobe in cohort.lobes])
    assert np.all(patient.mean[medial] < control.mean[medial])
    np.testing.assert_allclose(patient.mean[~medial], control.mean[~medial])
    sd = [np.sqrt(np.diag(net.covariance)) for net in (control, patient)]
    first, second = (
        net.coef * s[:, None] / s for net, s in zip((control, patient), sd, strict=True)
    )
    changed = np.abs(first - second) > 1e-9
    assert 8 <= changed.sum() <= 30
    assert np.any(changed & (second == 0))


def test_a_seed_repeats():
    first, second = simulate_cohort(5, 3), simulate_cohort(5, 3)
    assert np.array_equal(first.values, second.values)
    assert not np.array_equal(first.values, simulate_cohort(5, 4).values)


def test_regions_have_lobes_and_coordinates():
    regions = load_regions()
    assert len(regions) == 40
    assert all(abs(float(region["x"])) < 80 and region["lobe"] for region in regions)


def test_an_unknown_group_is_named(cohort):
    with pytest.raises(InputError, match="no group is called 'AD'"):
        cohort.of_group("AD")
