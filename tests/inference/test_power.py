from importlib import import_module

import numpy as np
import pytest
from tests.codes import refused

from sgbn.core.gaussian import GaussianNetwork
from sgbn.inference.joint import JointSGBN
from sgbn.inference.power import Power, _truth, effective_trials, power, sample_size, wilson
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
    ("options", "code"),
    [
        ({"effect": -1.0}, "argument"),
        ({"n_per_group": 5}, "argument"),
        ({"level": 0.001, "n_permutations": 39, "by": "p_fwer"}, "permutations.few"),
        ({"level": 0.001, "n_permutations": 999}, "permutations.few"),
        ({"n_permutations": 5}, "argument"),
        ({"edges": [("r0", "r2")]}, "power.no-edge"),
        ({"edges": [("r0", "r9")]}, "regions.unknown"),
        ({"edges": ["r0", "r1", "r2"]}, "edges.pair"),
        ({"n_changed": 9}, "power.changes"),
        ({"network": 3, "n_changed": 3}, "power.changes"),
        ({"network": 8, "edges": [("x0", "x1")]}, "power.edges"),
        ({"network": 1}, "argument"),
        ({"network": JointSGBN()}, "network.type"),
        ({"network": SGBN()}, "network.unfitted"),
        ({"network": GaussianNetwork(np.eye(6, k=1)).do({"x1": 1.0})}, "network.no-noise"),
    ],
)
def test_what_makes_no_sense_is_refused(chain, options, code):
    with refused(code):
        power(**({"effect": 0.5, "n_per_group": 40, "network": chain} | options))


def test_as_many_permutations_as_the_level_needs_are_enough(chain):
    assert power(0.8, 40, chain, level=0.01, n_simulations=2, n_permutations=100).n_per_group == 40


search = import_module("sgbn.inference.power")

POWER_SEARCH_QUICK = {"n_simulations": 8, "n_permutations": 20}


@pytest.fixture
def known(monkeypatch):
    """Function that makes a curve of the number of subjects the power."""

    def take(curve):
        def of(effect, n, *, n_simulations, **_):
            return Power(n, curve(n), *wilson(curve(n), n_simulations), 1.0, 1.0, n_simulations)

        monkeypatch.setattr(search, "power_with", of)

    return take


def rising(n):
    return 1 - np.exp(-n / 60)


@pytest.mark.parametrize("wanted", [0.2, 0.5, 0.8, 0.95])
def test_a_rising_power_is_crossed_where_it_reaches_what_is_wanted(known, wanted):
    known(rising)
    found = sample_size(0.5, wanted, n_simulations=400)
    sizes = np.arange(10, 5001)
    ends = np.array([wilson(rising(n), 400) for n in sizes])
    for value, curve in (
        (found.n_per_group, rising(sizes)),
        (found.low, ends[:, 1]),
        (found.high, ends[:, 0]),
    ):
        first = sizes[np.argmax(curve >= wanted)]
        assert first <= value <= max(first + 1, 1.03 * first)


@pytest.mark.parametrize("lucky", [20, 40, 80])
def test_one_lucky_size_does_not_end_the_search(known, lucky):
    """The power is reached at 97 subjects, and by chance at one size that is tried before."""
    known(lambda n: 0.81 if n == lucky else rising(n))
    found = sample_size(0.5, 0.8, n_simulations=50)
    assert lucky in {one.n_per_group for one in found.tried}
    assert 92 <= found.n_per_group <= 105
    assert found.low < found.n_per_group < found.high
    tried = {one.n_per_group for one in found.tried}
    assert {np.ceil(1.1 * found.n_per_group), np.ceil(1.2 * found.n_per_group)} <= tried


def test_the_more_power_the_more_subjects_however_noisy_it_is(known):
    noise = np.random.default_rng(0).normal(0, 0.08, 5001)
    known(lambda n: float(np.clip(rising(n) + noise[n], 0, 1)))
    found = sample_size(0.5, 0.8, n_simulations=50)
    sizes = [one.n_per_group for one in found.tried]
    assert sizes == sorted(set(sizes))
    assert found.low <= found.n_per_group <= found.high
    assert {found.low, found.n_per_group, found.high} <= set(sizes)
    larger = [one.power for one in found.tried if one.n_per_group >= found.n_per_group]
    assert np.mean(larger) >= 0.8


def test_the_sample_size_has_the_power_that_is_wanted(chain, monkeypatch):
    monkeypatch.setattr(search, "NARROW", 0.5)
    options = POWER_SEARCH_QUICK | {"n_simulations": 5}
    needed = sample_size(0.8, 0.5, chain, **options)
    assert needed.low <= needed.n_per_group <= needed.high
    tried = {one.n_per_group: one for one in needed.tried}
    assert tried[needed.n_per_group].power >= 0.5
    assert power(0.8, needed.n_per_group, chain, **options) == tried[needed.n_per_group]
    assert min(one.power for one in needed.tried) < 0.5


def test_what_cannot_be_reached_is_said(chain, monkeypatch):
    monkeypatch.setattr(search, "LARGEST", 40)
    with refused("power.not-reached"):
        sample_size(0.0, 0.5, chain, n_simulations=4, n_permutations=20)
    with refused("power.simulations"):
        sample_size(1.0, 0.9, chain, n_simulations=20)


def test_a_sample_size_takes_the_options_of_power(chain, monkeypatch):
    monkeypatch.setattr(search, "NARROW", 1.0)
    options = POWER_SEARCH_QUICK | {"n_simulations": 4, "by": "p", "random_state": 3}
    edges = [("r2", "r3")]
    needed = sample_size(1.2, 0.5, chain, edges=iter(edges), **options)
    smallest = needed.tried[0]
    assert smallest == power(1.2, smallest.n_per_group, chain, edges=edges, **options)
    with pytest.raises(TypeError, match="n_subjects"):
        sample_size(1.0, 0.5, chain, n_subjects=30, **POWER_SEARCH_QUICK)
