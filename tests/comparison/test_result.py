from html import escape


def test_a_notebook_shows_the_verdict_with_every_name_escaped(odd_names):
    page = odd_names._repr_html_()
    assert escape(odd_names.words.verdict[0]) in page
    assert "&lt;b&gt;ill" in page
    assert "<b>ill" not in page
    tests = odd_names.tests
    assert tests._repr_html_().count("<tr>") == 1 + min(5, len(tests.edges))
    assert "&lt;b&gt;ill" in tests._repr_html_()
