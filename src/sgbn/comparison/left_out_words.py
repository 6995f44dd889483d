"""How many subjects networks and tests do without, in words: said once, for terminal and page.

The names are in a table beside the report, so that the sentence can be passed on.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sgbn.comparison.support import called, joined

if TYPE_CHECKING:
    from sgbn.comparison.result import Comparison

NAMED_IN = "tables/left_out.csv"  # in the folder of a report; names of subjects stay out of text


def left_out_words(comparison: Comparison) -> str:
    """Say how many subjects of each group lie far out; "" without any."""
    far = comparison.far_out
    if not any(far.values()):
        return ""
    lie = "lies" if sum(map(len, far.values())) == 1 else "lie"
    return (
        f"{left_out_counts(comparison, far)} {lie} far from their group ({NAMED_IN} names them). "
        f"{without_them(comparison)}"
    )


def left_out_counts(comparison: Comparison, left_out: Mapping[str, tuple[Any, ...]]) -> str:
    """Give the number left out of each group, such as "2 of 63 CTR and 0 of 61 SCZ"."""
    # Of rows, as who is left out: a person with several visits may lose one of them.
    sizes = comparison.cohort.sizes
    counts = [
        f"{len(left_out[group])} of {sizes[group]} {called(group)}" for group in comparison.groups
    ]
    return joined(counts)


def without_them(comparison: Comparison) -> str:
    """Say which steps do without those who lie far out."""
    # A learner may keep outliers, or the tests may not have been done: four cases, three sentences.
    networks, tests = comparison.left_out, comparison.tests
    if tests is None or not any(tests.left_out.values()):
        return "Networks do without them."
    if not any(networks.values()):
        return "Tests of differences do without them; networks have all subjects."
    both = "Networks and tests of differences do without them."
    return f"{both} {visits_words(comparison)}".rstrip()


def visits_words(comparison: Comparison) -> str:
    """Say how many visits the tests leave out, where it is more than those that lie far out."""
    tests = comparison.tests
    if tests is None or tests.left_out == comparison.far_out or not any(tests.left_out.values()):
        return ""
    counts = left_out_counts(comparison, tests.left_out)
    return f"Tests leave out all rows of these persons: {counts}."
