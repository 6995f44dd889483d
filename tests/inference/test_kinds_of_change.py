"""How a change of a weight is called."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgbn.core.graph import KINDS_OF_CHANGE, kinds_of_change

WEIGHTS = st.floats(-2, 2)
SWAPPED = {
    "gained": "lost",
    "lost": "gained",
    "stronger": "weaker",
    "weaker": "stronger",
    "sign changed": "sign changed",
}


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        (-0.61, -0.05, "lost"),  # rises, and is gone
        (0.66, 0.32, "weaker"),
        (-0.66, -0.32, "weaker"),
        (0.0, -0.4, "gained"),
        (-0.2, -0.4, "stronger"),
        (0.3, -0.3, "sign changed"),
        (0.3, -0.05, "lost"),
        (0.02, 0.05, "stronger"),
        (0.0999, 0.1001, "stronger"),  # no step at the threshold
        (-0.03, 0.02, "weaker"),  # neither is there
    ],
)
def test_a_change_is_named_by_what_becomes_of_the_relation(before, after, kind):
    assert kinds_of_change([before], [after]) == [kind]


@given(WEIGHTS, WEIGHTS)
def test_the_other_sign_changes_nothing_and_the_other_order_turns_it_round(before, after):
    kind = kinds_of_change(before, after).item()
    assert kind in KINDS_OF_CHANGE
    assert kinds_of_change(-before, -after).item() == kind
    if abs(before) != abs(after):
        assert kinds_of_change(after, before).item() == SWAPPED[kind]


def test_arrays_keep_their_shape():
    assert kinds_of_change(np.zeros((2, 3)), np.ones((2, 3))).tolist() == [["gained"] * 3] * 2
