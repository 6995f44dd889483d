import numpy as np
import pytest

from sgbn.cohort.design import deal_persons, deal_rows, label_codes
from sgbn.core.exceptions import InputError


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
    with pytest.raises(InputError, match=r"strata has shape \(2,\): .* each of the 5 rows"):
        deal_rows(np.random.default_rng(0), 5, 2, ["a", "b"])
    with pytest.raises(InputError, match="each of the 3 subjects"):
        label_codes([["a"], ["b"], ["c"]], 3, "units", "subjects")


def test_labels_are_coded_in_the_order_of_their_texts():
    assert label_codes(["b", "a", "b"], 3, "units").tolist() == [1, 0, 1]
    assert label_codes([10, 2, 10], 3, "units").tolist() == [0, 1, 0]


def test_codes_are_dealt_as_their_labels_are():
    site, person = np.arange(48) % 12, np.arange(48) // 2
    codes = label_codes(site, 48, "strata"), label_codes(person, 48, "persons")
    for seed in range(5):
        part = deal_rows(np.random.default_rng(seed), 48, 2, site, person)
        again = deal_persons(np.random.default_rng(seed), 2, *codes)
        assert np.array_equal(part, again)
