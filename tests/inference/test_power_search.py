from importlib import import_module

import numpy as np
import pytest

from sgbn.core.exceptions import InputError
from sgbn.inference.power import Power, power, sample_size, wilson

search = import_module("sgbn.inference.power")

QUICK = {"n_simulations": 8, "n_permutations": 20}


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
    options = QUICK | {"n_simulations": 5}
    needed = sample_size(0.8, 0.5, chain, **options)
    assert needed.low <= needed.n_per_group <= needed.high
    tried = {one.n_per_group: one for one in needed.tried}
    assert tried[needed.n_per_group].power >= 0.5
    assert power(0.8, needed.n_per_group, chain, **options) == tried[needed.n_per_group]
    assert min(one.power for one in needed.tried) < 0.5


def test_what_cannot_be_reached_is_said(chain, monkeypatch):
    monkeypatch.setattr(search, "LARGEST", 40)
    with pytest.raises(InputError, match=r"not reached: with 40 subjects per group it is 0.00"):
        sample_size(0.0, 0.5, chain, n_simulations=4, n_permutations=20)
    with pytest.raises(InputError, match="cannot tell a power of"):
        sample_size(1.0, 0.9, chain, n_simulations=20)


def test_a_sample_size_takes_the_options_of_power(chain, monkeypatch):
    monkeypatch.setattr(search, "NARROW", 1.0)
    options = QUICK | {"n_simulations": 4, "by": "p", "random_state": 3}
    edges = [("r2", "r3")]
    needed = sample_size(1.2, 0.5, chain, edges=iter(edges), **options)
    smallest = needed.tried[0]
    assert smallest == power(1.2, smallest.n_per_group, chain, edges=edges, **options)
    with pytest.raises(InputError, match="Give 1000 or more"):
        sample_size(1.0, 0.5, chain, level=0.001, **QUICK)
    with pytest.raises(TypeError, match="n_subjects"):
        sample_size(1.0, 0.5, chain, n_subjects=30, **QUICK)
