import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.codes import refused

from sgbn.comparison.steps import networks
from sgbn.comparison.steps.differences import differences_section
from sgbn.write import page
from sgbn.write.draw import surface as surface_mesh
from sgbn.write.page import (
    ANY,
    HINTS,
    Field,
    brain_mesh,
    cell,
    coarsened,
    hint_of,
    make_table,
    number_text,
    p_value,
)


def test_the_libraries_are_read_from_their_wheels():
    assert len(page.plotly_script()) > 4_000_000
    assert "window.DataTable=" in page.tables_script()
    assert "dt-container" in page.tables_style()


@pytest.mark.parametrize("read", [page.plotly_script, page.tables_script])
def test_no_library_can_end_or_nest_its_script_element(read):
    text = read().lower()
    assert "</script" not in text
    assert "<!--" not in text


def test_a_module_becomes_a_classic_script():
    script = page.as_classic_script("var a=1,b=2;export{a as default,b as other};\n// end")
    assert "export" not in script
    assert ";window.DataTable=a;" in script
    assert script.startswith("(function(){")


@pytest.mark.parametrize(
    "module",
    [
        "var a=1;",
        "var a=1;export{a as default};export{a as b};",
        "var a=1;export{a as other};",
        'import b from "b";var a=1;export{a as default};',
        "var a=import.meta.url;export{a as default};",
    ],
)
def test_a_bundle_of_another_shape_is_refused(module):
    with refused("report.script"):
        page.as_classic_script(module)


@pytest.mark.parametrize("package", ["plotly", "no_such_package"])
def test_a_missing_file_is_refused(package):
    with refused("report.script"):
        page._read(package, "nowhere.js")


def test_a_package_that_does_not_import_is_still_read(tmp_path, monkeypatch):
    # itables 2.5.0 needs a package that it does not install
    package = tmp_path / "broken_package"
    (package / "html").mkdir(parents=True)
    (package / "__init__.py").write_text("raise ModuleNotFoundError('platformdirs')")
    (package / "html" / "a.js").write_text("var a;")
    monkeypatch.syspath_prepend(tmp_path)
    assert page._read("broken_package", "html", "a.js") == "var a;"


def test_texts_that_would_end_the_element_are_written_otherwise():
    assert page.safe_script('"</script>"') == r'"\x3C/script>"'
    assert page.safe_script("a<b") == "a<b"


@given(st.floats(-1e8, 1e8, allow_subnormal=False))
def test_a_number_shows_three_digits_and_is_sorted_by_more(value):
    shown = cell(value, "number")
    assert float(shown.text.replace("−", "-")) == pytest.approx(value, rel=6e-3, abs=1e-300)
    assert float(shown.exact) == pytest.approx(value, rel=1e-5, abs=1e-300)


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (number_text(0.1234567), "0.123"),
        (number_text(-1234.5), "−1234"),
        (number_text(0), "0"),
        (p_value(0.0371), "0.037"),
        (p_value(0.00005), "< 0.001"),
        (cell(-0.3, "count").text, "0"),
        *((cell(-0.0, kind).exact, "0") for kind in ("number", "share", "count", "p")),
        *((cell(-0.0, kind).text, text) for kind, text in [("count", "0"), ("share", "0%")]),
        (cell(np.nan, "share"), (page.DASH, "")),
        (cell("<b>", "text"), ("<b>", None)),
        (page.interval_text(0.5, np.nan, np.nan), "0.50"),
        (page.interval_text(0.5, -0.1, 0.7), "0.50 (−0.10 to 0.70)"),
        (page.interval_text(-0.001, -0.002, 0.3), "0.00 (0.00 to 0.30)"),
        (page.interval_text(np.nan, 0, 1), page.DASH),
        (hint_of("no such table", "q"), HINTS[ANY]["q"]),
        (hint_of("regional-table", "q"), HINTS["regional-table"]["q"]),
        (hint_of("recognised-table", "p"), ""),  # hidden
    ],
)
def test_numbers_and_hints_as_one_reads_them(found, text):
    assert found == text


def test_only_columns_that_are_there_and_rows_marked():
    frame = pd.DataFrame({"a": ["x", "y"], "p": [0.01, 0.5]})
    fields = [Field("a", "A"), Field("p", "P", "p"), Field("gone", "Gone")]
    table = make_table("key", "Caption", frame, fields, mark=lambda r: "m" * (r["p"] < 0.05))
    assert [field.title for field in table.fields] == ["A", "P"]
    assert [row.mark for row in table.rows] == ["m", ""]
    assert [c.text for c in table.rows[0].cells] == ["x", "0.010"]


def test_a_long_table_is_cut_and_knows_its_length():
    frame = pd.DataFrame({"a": range(page.MAX_CELLS), "b": 0})
    fields = [Field("a", "A", "count"), Field("b", "B", "count")]
    table = make_table("key", "", frame, fields)
    assert len(table.rows) == page.MAX_CELLS // 2
    assert table.total == page.MAX_CELLS


def test_columns_with_one_hint_share_a_line():
    fields = [Field("x_a", "one", hint="same"), Field("x_b", "two", hint="same"), Field("c", "c")]
    table = make_table("k", "", pd.DataFrame({"x_a": [1], "x_b": [2], "c": [3]}), fields)
    assert table.hints == [("one; two", "same")]


TETRAHEDRON = np.array([[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]])
CORNERS = np.array([[0.0, 0, 0], [4, 0, 0], [0, 4, 0], [0, 0, 4]])


def sides(faces):
    return np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])


def halved(vertices, faces):
    """Mesh with a new vertex in the middle of each side, and four triangles for each."""
    pairs = np.unique(np.sort(sides(faces), axis=1), axis=0)
    new = {tuple(pair): len(vertices) + k for k, pair in enumerate(pairs.tolist())}
    found = []
    for a, b, c in faces.tolist():
        ab, bc, ca = (new[tuple(sorted(pair))] for pair in ((a, b), (b, c), (c, a)))
        found += [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
    return np.concatenate([vertices, vertices[pairs].mean(axis=1)]), np.array(found)


def turned(faces):
    """Triangles, each from its smallest vertex on: what is left is their orientation."""
    return sorted(tuple(np.roll(face, -int(np.argmin(face))).tolist()) for face in faces)


def test_coarsening_undoes_a_subdivision_with_orientation():
    vertices, faces = halved(CORNERS, TETRAHEDRON)
    surface = coarsened(vertices, faces, len(CORNERS))
    np.testing.assert_array_equal(surface.vertices, CORNERS)
    assert turned(surface.faces) == turned(TETRAHEDRON)


def test_coarsening_twice_undoes_two_subdivisions():
    once = halved(CORNERS, TETRAHEDRON)
    middle = coarsened(*halved(*once), len(once[0]))
    assert turned(coarsened(*middle, len(CORNERS)).faces) == turned(TETRAHEDRON)


@pytest.fixture(scope="module")
def mesh():
    pytest.importorskip("nilearn", reason="the surface comes with nilearn")
    return brain_mesh()


@pytest.mark.parametrize("side", surface_mesh.SIDES)
def test_a_hemisphere_is_closed(mesh, side):
    vertices, faces = mesh[side]
    assert vertices.shape == (2562, 3)
    assert faces.min() == 0
    assert faces.max() == 2561
    assert all(len(set(face)) == 3 for face in faces.tolist())
    directed = sides(faces)
    assert len(np.unique(directed, axis=0)) == len(directed)  # neighbours turn the same way
    edges = np.unique(np.sort(directed, axis=1), axis=0)
    assert 2 * len(edges) == len(directed)
    assert len(vertices) - len(edges) + len(faces) == 2  # Euler: a sphere


def test_hemispheres_lie_on_their_sides_in_mm(mesh):
    assert mesh["left"].vertices[:, 0].mean() < -20
    assert mesh["right"].vertices[:, 0].mean() > 20
    for surface in mesh.values():
        np.testing.assert_array_equal(surface.vertices, np.round(surface.vertices, 1))
        assert 100 < np.ptp(surface.vertices[:, 1]) < 200


def test_sides_of_the_surface_are_short(mesh):
    for vertices, faces in mesh.values():
        ends = vertices[sides(faces)]
        assert np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1).max() < 20


def test_none_without_nilearn(monkeypatch):
    monkeypatch.setattr(surface_mesh, "find_spec", lambda _: None)
    brain_mesh.cache_clear()
    assert brain_mesh() is None
    brain_mesh.cache_clear()


def test_hints_belong_to_tables_and_columns_of_the_page(compared, html, html_of_series):
    pages = html, html_of_series
    keys = {key for page in pages for key in re.findall('<table id="([^"]*)"', page)}
    rarely = {ANY, "sums", "named", "among", "pairwise", "replication-table", "sensitivity-table"}
    assert set(HINTS) - rarely <= keys
    tables = [networks.edges_table(compared), differences_section(compared)["table"]]
    assert {"supported", "p_both", "q"} <= {
        field.source for table in tables for field in table.fields
    }
    assert not any(hint.endswith(".") for hints in HINTS.values() for hint in hints.values())
