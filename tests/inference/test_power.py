import numpy as np
import pytest

from sgbn.core.exceptions import InputError
from sgbn.core.gaussian import GaussianNetwork
from sgbn.inference.joint import JointSGBN
from sgbn.inference.power import _truth, effective_trials, power, wilson
from sgbn.learn.sgbn import SGBN

QUICK = {"n_simulations": 10, "n_permutations": 20}
FEW = QUICK | {"n_simulations": 4}


@pytest.fixture(scope="module")
def found(chain):
    return power(0.8, 40, chain, **QUICK)


def test_power_rises_with_the_subjects_and_the_effect(chain, found):
    more = power(0.8, 100, chain, **FEW)
    less = power(0.2, 40, chain, **FEW)
    assert less.power < found.power < more.power
    assert less.overall < found.overall < more.overall
    assert more.power > 0.9
    assert found.any_edge >= found.power


def test_without_an_effect_it_is_the_level(chain):
    alone = power(0.0, 40, chain, by="p", n_changed=5, **QUICK)
    assert 0.01 <= alone.power <= 0.12  # all five edges: 0.1 % of binomial draws are beyond
    family = power(0.0, 40, chain, by="p_fwer", **QUICK)
    assert family.any_edge <= 0.2
    assert family.overall <= 0.2
    assert family.power <= family.any_edge


def test_the_interval_is_that_of_a_share(found):
    assert found.low < found.power < found.high
    assert (found.low, found.high) == wilson(found.power, 10)
    few, many = wilson(0.5, 10), wilson(0.5, 1000)
    assert many[1] - many[0] < few[1] - few[0]
    assert wilson(0.0, 20)[0] == 0
    assert wilson(1.0, 20)[1] == 1
    assert wilson(0.5, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)


def test_several_edges_are_more_trials_the_less_they_are_found_together():
    rng = np.random.default_rng(0)
    together = np.repeat([0.0, 1.0], [12, 28])
    assert effective_trials(together, 5) == pytest.approx(40)
    apart = rng.binomial(5, 0.7, 4000) / 5
    assert effective_trials(apart, 5) == pytest.approx(20_000, rel=0.1)
    assert effective_trials(np.zeros(40), 5) == effective_trials(np.ones(40), 5) == 40
    assert effective_trials(np.full(40, 0.5), 2) == 40
    half = (rng.binomial(1, 0.5, 4000) + rng.binomial(1, 0.5, 4000)) / 2
    chance = np.repeat(rng.binomial(1, 0.5, 2000), 2)
    mixed = np.concatenate([half, chance])
    assert 1.1 * len(mixed) < effective_trials(mixed, 2) < 1.9 * len(mixed)


def test_the_interval_covers_the_power_of_several_edges():
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(400):
        chance = rng.beta(3, 2, 60)  # of a simulation: its edges are alike
        shares = rng.binomial(8, chance) / 8
        low, high = wilson(shares.mean(), effective_trials(shares, 8))
        inside.append(low <= 0.6 <= high)
    assert 0.91 <= np.mean(inside) <= 0.98


@pytest.mark.parametrize("by", ["q_both", "p_fwer_both"])
def test_differences_that_hold_both_ways_are_rarer(chain, found, by):
    both = power(0.8, 40, chain, by=by, **QUICK)
    assert both.power <= found.power + 0.1


def test_results_do_not_depend_on_processes_and_go_on_in_a_folder(chain, found, tmp_path):
    power(0.8, 40, chain, folder=tmp_path, **FEW)
    assert power(0.8, 40, chain, folder=tmp_path, n_jobs=2, **QUICK) == found


def test_an_edge_can_be_named_and_its_units_do_not_matter(chain):
    named = power(0.9, 60, chain, edges=[("r2", "r3")], **FEW)
    assert named.power > 0.8
    scale = np.array([1, 10, 0.1, 100, 5, 2])
    other = GaussianNetwork(
        chain.coef * scale / scale[:, None], noise_variance=scale**2, names=chain.names
    )
    assert power(0.9, 60, other, edges=("r2", "r3"), **FEW) == named  # one alone will do


def test_a_number_of_regions_stands_for_random_networks():
    found = power(0.8, 60, 6, n_changed=2, **FEW)
    assert 0.3 < found.power < 1
    assert found == power(0.8, 60, 6, n_changed=2, **FEW)
    assert found != power(0.8, 60, 6, n_changed=2, random_state=1, **FEW)


def test_a_random_network_has_the_edges_that_must_change():
    rng = np.random.default_rng(0)
    assert min(_truth(5, 8, rng).n_edges for _ in range(20)) >= 8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"effect": -1.0}, "effect is -1"),
        ({"n_per_group": 5}, "n_per_group is 5"),
        ({"by": "fdr"}, "by is 'fdr'"),
        ({"level": 0.0}, "level is 0"),
        ({"level": 0.001, "n_permutations": 39, "by": "p_fwer"}, "level=0.001. Give 999 or more"),
        ({"level": 0.001, "n_permutations": 999}, "Give 1000 or more"),
        ({"n_permutations": 5}, "n_permutations is 5"),
        ({"edges": [("r0", "r2")]}, "no edge 'r0' -> 'r2'"),
        ({"edges": [("r0", "r9")]}, "no region is called 'r9'"),
        ({"n_changed": 9}, "but n_changed is 9"),
        ({"network": 3, "n_changed": 3}, "n_changed is 3, .* of 3 regions at most 2 edges"),
        ({"network": 6, "n_changed": 500}, "n_changed is 500, .* Give a smaller n_changed"),
        ({"network": 1}, "network is 1; give a whole number from 2 upwards"),
        ({"network": 6.5}, "network is 6.5; give a whole number"),
        ({"network": "x"}, "network is a str: give a GaussianNetwork.* A number of regions"),
        ({"network": JointSGBN()}, "network is a JointSGBN: give a GaussianNetwork.* A number"),
        ({"network": SGBN()}, "not fitted"),
        ({"effect": "a"}, "effect is 'a'; give a number from 0 upwards"),
        ({"edges": ["r0", "r1", "r2"]}, r"edges holds 'r0'\. Give pairs"),
        ({"edges": [("r0", "r1", "r2")]}, "edges holds .'r0', 'r1', 'r2'.. Give pairs"),
        ({"network": 8, "edges": [("x0", "x1")]}, "Give the network"),
    ],
)
def test_what_makes_no_sense_is_refused(chain, options, message):
    with pytest.raises(InputError, match=message):
        power(**({"effect": 0.5, "n_per_group": 40, "network": chain} | options))


def test_a_region_without_noise_is_named(chain):
    with pytest.raises(InputError, match="'r1' has no noise"):
        power(0.5, 40, chain.do({"r1": 1.0}))


def test_as_many_permutations_as_the_level_needs_are_enough(chain):
    assert power(0.8, 40, chain, level=0.01, n_simulations=2, n_permutations=100).n_per_group == 40
