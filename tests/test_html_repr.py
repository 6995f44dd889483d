from sgbn.core.gaussian import html_repr


def test_a_title_a_table_and_lines_with_every_name_escaped():
    page = html_repr("<b>", ["a & b"], ("<i>", "p"), [("<script>", 0.04999), ("x", 12)])
    assert page == (
        "<div><p><b>&lt;b&gt;</b></p>"
        "<table><thead><tr><th>&lt;i&gt;</th><th>p</th></tr></thead>"
        "<tbody><tr><td>&lt;script&gt;</td><td>0.05</td></tr><tr><td>x</td><td>12</td></tr></tbody>"
        "</table><p>a &amp; b</p></div>"
    )


def test_without_columns_there_is_no_table():
    assert html_repr("title") == "<div><p><b>title</b></p></div>"
