from types import SimpleNamespace

import pytest

from sgbn.comparison.result import Comparison
from sgbn.comparison.steps.data import left_out_words


def comparison(networks, tests):
    """As much of a comparison as these words need."""
    found = SimpleNamespace(
        cohort=SimpleNamespace(sizes={"CTR": 63, "SCZ": 61}),
        groups=("CTR", "SCZ"),
        left_out=networks,
        tests=None if tests is None else SimpleNamespace(left_out=tests),
    )
    found.far_out = Comparison.far_out.func(found)
    return found


NOBODY, TWO = {"CTR": (), "SCZ": ()}, {"CTR": ("s1", "s2"), "SCZ": ()}
COUNTS = "2 of 63 CTR and 0 of 61 SCZ"


@pytest.mark.parametrize(
    ("networks", "tests", "said"),
    [
        (TWO, TWO, "The networks and the tests of differences leave them out."),
        (TWO, None, "The networks leave them out."),
        (NOBODY, TWO, "The tests of differences leave them out; the networks have all subjects."),
        (
            TWO,
            {"CTR": ("s1", "s2"), "SCZ": ("s1b", "s2b")},
            "The networks and the tests of differences leave them out. The tests leave out "
            "all rows of these persons: 2 of 63 CTR and 2 of 61 SCZ.",
        ),
    ],
)
def test_who_is_left_out_of_what_is_said_with_counts(networks, tests, said):
    found = left_out_words(comparison(networks, tests))
    assert found == f"{COUNTS} lie far from their group (tables/left_out.csv names them). {said}"


def test_one_subject_lies_far():
    one = {"CTR": ("s1",), "SCZ": ()}
    assert left_out_words(comparison(one, one)).startswith("1 of 63 CTR and 0 of 61 SCZ lies far")


def test_nobody_is_no_sentence():
    assert left_out_words(comparison(NOBODY, NOBODY)) == ""
    assert comparison(NOBODY, None).far_out == NOBODY
