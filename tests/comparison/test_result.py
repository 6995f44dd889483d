from dataclasses import replace
from html import escape


def test_groups_come_with_the_reference_first(whole):
    assert whole.groups == ("patient", "control")
    assert whole.reference == "patient"
    assert len(whole.cohort) == 160


def test_a_comparison_is_shown_in_one_line(odd_names):
    text = repr(odd_names)
    assert text.startswith("Comparison(<b>ill 60, well 60 x 4 regions; 1 of ")
    assert f"global p = {odd_names.tests.global_p:.3g})" in text
    untested = replace(odd_names, tests=None)
    assert repr(untested) == "Comparison(<b>ill 60, well 60 x 4 regions)"


def test_a_notebook_shows_the_verdict_with_every_name_escaped(odd_names):
    page = odd_names._repr_html_()
    assert escape(odd_names.words.verdict[0]) in page
    assert "c.summary()" in page
    assert "&lt;b&gt;ill" in page
    assert "<b>ill" not in page
    assert page.count("<p>") <= 8
    tests = odd_names.tests
    assert tests._repr_html_().count("<tr>") == 1 + min(5, len(tests.edges))
    assert "&lt;b&gt;ill" in tests._repr_html_()
