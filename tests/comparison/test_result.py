from dataclasses import replace
from html import escape

import numpy as np
import pytest

from sgbn import SGBN, Cohort, simulate_cohort
from sgbn.comparison import Settings, compare


def test_groups_come_with_the_reference_first():
    found = compare(
        simulate_cohort(20, regions=5), Settings.networks_only(reference="patient"), learner=SGBN()
    )
    assert found.groups == ("patient", "control")
    assert found.reference == "patient"
    assert len(found.cohort) == 40


@pytest.fixture(scope="module")
def tested():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(120, 4))
    values[:60, 1] += 2 * values[:60, 0]
    group = np.repeat(["<b>ill", "well"], 60)
    settings = Settings.networks_only(n_permutations=39)
    return compare(Cohort(values, list("abcd"), range(120), group=group), settings, learner=SGBN())


def test_a_comparison_is_shown_in_one_line(tested):
    text = repr(tested)
    assert text.startswith("Comparison(<b>ill 60, well 60 x 4 regions; 1 of ")
    assert f"global p = {tested.tests.global_p:.3g})" in text
    untested = replace(tested, tests=None)
    assert repr(untested) == "Comparison(<b>ill 60, well 60 x 4 regions)"


def test_a_notebook_shows_the_verdict_with_every_name_escaped(tested):
    page = tested._repr_html_()
    assert escape(tested.words.verdict[0]) in page
    assert "c.summary()" in page
    assert "&lt;b&gt;ill" in page
    assert "<b>ill" not in page
    assert page.count("<p>") <= 8
    assert tested.tests._repr_html_().count("<tr>") == 1 + min(5, len(tested.tests.edges))
    assert "&lt;b&gt;ill" in tested.tests._repr_html_()
