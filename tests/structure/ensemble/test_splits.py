import numpy as np
import pytest

from sgbn import InputError
from sgbn.structure.ensemble.splits import deal_rows


def test_parts_are_of_equal_size_and_random():
    first, second = (deal_rows(np.random.default_rng(k), 101, 2) for k in range(2))
    assert sorted(np.bincount(first)) == [50, 51]
    assert (first != second).any()


def test_sites_are_balanced():
    site = np.repeat(["a", "b", "c"], [11, 20, 31])
    for seed in range(5):
        part = deal_rows(np.random.default_rng(seed), 62, 2, site)
        counts = np.array([np.bincount(part[site == one], minlength=2) for one in "abc"])
        assert np.abs(counts[:, 0] - counts[:, 1]).max() <= 1


def test_persons_are_whole():
    person = np.arange(40) // 2
    part = deal_rows(np.random.default_rng(0), 40, 10, persons=person)
    assert (part[::2] == part[1::2]).all()
    assert (np.bincount(part) == 4).all()


def test_labels_of_another_length_are_refused():
    with pytest.raises(InputError, match="strata"):
        deal_rows(np.random.default_rng(0), 5, 2, ["a", "b"])
