"""The interactive views in Chromium, on a page that has nothing else."""

import json
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pytest
from jinja2 import Environment
from markupsafe import Markup

from sgbn.comparison.figures import payload

pytest.importorskip("nilearn", reason="the surface comes with nilearn")

EVIL = "<script>alert(1)</script>"
PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Views</title>
<link rel="icon" href="data:,">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline';
style-src 'unsafe-inline'; img-src data: blob:; font-src data:">
<style>:root {{ --ink: #111; --paper: #fff; --muted: #555; --line: #ccc; --accent: #05a;
--warn: #a50; --positive: #b43; --negative: #26a; --panel: #f5f5f5; }}
:root[data-theme="dark"] {{ --ink: #eee; --paper: #111; }}
{style}
.networks-plot {{ height: 16rem; }} /* a small picture is drawn faster */</style></head><body>{body}
<script type="application/json" id="network-data">{data}</script>
<script>{plotly}</script><script>{script}</script></body></html>"""
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
CELLS = """() => document.getElementById('network-matrix').data[0].z
  .flatMap((row, i) => row.map((value, j) => [i, j, value])).filter((cell) => cell[2] !== null)"""
DRAWN = """() => document.getElementById('network-brain').data
  .filter((trace) => ['arrows', 'lines'].includes(trace.meta))
  .reduce((sum, trace) => sum + trace.x.filter((place) => place === null).length, 0)"""


def template(name):
    return files("sgbn.write").joinpath("templates", name).read_text(encoding="utf-8")


def html_of(data):
    body = Environment(autoescape=True).from_string(template("networks.html.j2"))
    text = json.dumps(data, allow_nan=False)
    return PAGE.format(
        style=template("networks.css"),
        body=body.render(static_views=Markup("<p>A picture</p>")),
        data=text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
        plotly=files("plotly").joinpath("package_data", "plotly.min.js").read_text("utf-8"),
        script=template("networks.js"),
    )


def half_brain(x):
    """A pyramid for a hemisphere: the page of the report has the whole surface, which is slow."""
    corners = {"x": [0, x, x, x], "y": [0, -90, 70, 0], "z": [0, -30, -30, 70]}
    return corners | {"i": [0, 0, 0, 1], "j": [1, 2, 3, 3], "k": [2, 3, 1, 2]}


@pytest.fixture(scope="module")
def data(compared):
    """Views of a comparison in which many pairs differ, and one region has a nasty name."""
    shown = payload(replace(compared, settings=replace(compared.settings, level=0.5)))
    shown["nodes"]["name"][0] = EVIL
    return shown | {"mesh": [half_brain(-60), half_brain(60)]}


@pytest.fixture(scope="module")
def opened(open_page):
    """Function (data, webgl) -> page whose matrix is drawn."""
    pages = []

    def open_new(data, webgl=True):
        page = open_page(html_of(data), webgl=webgl, viewport={"width": 600, "height": 700})
        pages.append(page)
        page.wait_for_function("document.querySelector('#network-matrix .heatmaplayer image')")
        return page

    yield open_new
    for page in pages:
        page.context.close()


@pytest.fixture(scope="module")
def whole_page(opened, data):
    page = opened(data)
    page.wait_for_selector("#network-brain canvas")
    return page


@pytest.fixture(scope="module")
def blind_page(opened, data):
    """Without WebGL, and of a comparison in which nothing differs."""
    return opened(data | {"level": 0.0}, webgl=False)


@pytest.fixture
def page(whole_page):
    """The page with its filters reset; no test may leave a problem behind."""
    whole_page.click("button[type=reset]")
    settle(whole_page)
    yield whole_page
    assert whole_page.problems == []
    assert whole_page.requests == []


def settle(page):
    page.wait_for_timeout(10)
    page.evaluate(FRAMES)


def slide(page, control, value):
    page.eval_on_selector(
        control,
        """(one, value) => {
          one.value = value;
          one.dispatchEvent(new Event('input', {bubbles: true}));
        }""",
        str(value),
    )


def assert_shown(page, expected, total):
    """Both views and the text have so many edges."""
    settle(page)
    assert page.inner_text("#networks-count").startswith(f"{expected} of {total} edge")
    assert len(page.evaluate(CELLS)) == expected
    assert page.evaluate(DRAWN) == expected


def column(network, name):
    return np.array(network[name], dtype=float)


def test_both_views_draw_the_first_network(page, data):
    network = data["networks"][0]
    assert_shown(page, len(network["source"]), len(network["source"]))
    assert page.is_hidden("#static-views")
    assert page.is_hidden("#networks-why")
    kinds = page.evaluate("document.getElementById('network-brain').data.map((one) => one.type)")
    assert kinds.count("mesh3d") == 2
    drawn = page.locator("#network-brain canvas").first.screenshot()
    page.click("button[data-camera=right]")
    settle(page)
    page.wait_for_timeout(300)
    assert page.locator("#network-brain canvas").first.screenshot() != drawn


def test_matrix_is_ordered_by_lobe_from_row_to_column(page, data):
    network, lobe = data["networks"][0], data["nodes"]["lobe"]
    order = sorted(range(len(lobe)), key=lambda k: (lobe[k], k))
    pairs = zip(network["source"], network["target"], network["weight"], strict=True)
    wanted = sorted([order.index(s), order.index(t), w] for s, t, w in pairs)
    assert sorted(page.evaluate(CELLS)) == wanted


def test_arrows_are_the_supported_edges_and_alone_have_heads(page, data):
    lines = page.evaluate(
        "document.getElementById('network-brain').data"
        ".filter((one) => ['arrows', 'lines'].includes(one.meta))"
        ".map((one) => [one.meta, [...new Set(one.hovertext)]])"
    )
    kinds = [data["kinds"][k]["arrow"] for k in data["networks"][0]["kind"]]
    for arrow, meta in ((True, "arrows"), (False, "lines")):
        texts = [text for kind, texts in lines if kind == meta for text in texts]
        assert len(texts) == kinds.count(arrow)
        assert all(("\u2192" in text.split("<br>")[0]) == arrow for text in texts)
    heads = page.evaluate(
        "document.getElementById('network-brain').data.filter((one) => one.meta === 'heads')"
        ".map((one) => one.text.length).reduce((a, b) => a + b, 0)"
    )
    assert heads == kinds.count(True)


@pytest.mark.parametrize(
    ("control", "name", "value", "least"),
    [("weight", "weight", 0.5, 0.5), ("confidence", "adjacent", 90, 0.9)],
)
def test_least_weight_and_confidence(page, data, control, name, value, least):
    sizes = np.abs(column(data["networks"][0], name))
    slide(page, f"#networks-{control}", value)
    assert 0 < (sizes >= least).sum() < len(sizes)
    assert_shown(page, (sizes >= least).sum(), len(sizes))


@pytest.mark.parametrize(("control", "end"), [("from", "source"), ("to", "target")])
def test_lobes(page, data, control, end):
    network = data["networks"][0]
    lobes = np.array(data["nodes"]["lobe"])[network[end]]
    lobe = int(np.bincount(lobes).argmax())
    page.select_option(f"#networks-{control}", label=data["lobes"][lobe]["name"])
    assert_shown(page, (lobes == lobe).sum(), len(lobes))


def test_kind_of_arrow_and_sign_and_reset_shows_all_again(page, data):
    kinds, weights = (column(data["networks"][0], name) for name in ("kind", "weight"))
    page.uncheck("#networks-kinds input[value='0']")
    assert_shown(page, (kinds != 0).sum(), len(kinds))
    page.click("button[type=reset]")
    assert_shown(page, len(kinds), len(kinds))
    page.select_option("#networks-only", value="1")
    assert_shown(page, (weights < 0).sum(), len(weights))
    slide(page, "#networks-weight", 0.4)
    page.click("button[type=reset]")
    assert_shown(page, len(kinds), len(kinds))


def test_region_by_name_and_by_part_of_it(page, data):
    network, names = data["networks"][0], data["nodes"]["name"]
    ends = np.column_stack([network["source"], network["target"]])
    exact = int(np.bincount(ends.ravel()).argmax())
    page.fill("#networks-region", names[exact])
    assert_shown(page, (ends == exact).any(axis=1).sum(), len(ends))
    part = names[exact][:4].lower()
    own = [k for k, name in enumerate(names) if part in name.lower()]
    page.fill("#networks-region", part)
    assert_shown(page, np.isin(ends, own).any(axis=1).sum(), len(ends))
    page.fill("#networks-region", "no such region")
    assert_shown(page, 0, len(ends))
    assert "No region" in page.inner_text("#networks-count")


def test_differences_all_and_significant(page, data):
    found = data["differences"]
    both = column(found, "q_both") <= data["level"]
    significant = both.sum()
    assert 0 < significant < len(found["q"])
    page.select_option("#networks-what", index=4)
    one_way = ((column(found, "q") <= data["level"]) & ~both).sum()
    assert_shown(page, one_way, one_way)
    page.select_option("#networks-what", index=2)
    assert_shown(page, significant, significant)
    page.select_option("#networks-what", index=3)
    assert_shown(page, len(found["q"]), len(found["q"]))
    shares = np.max(np.array(found["adjacent"], dtype=float), axis=0)
    slide(page, "#networks-confidence", 100)
    assert_shown(page, (shares == 1).sum(), len(shares))


def test_camera_stays_where_it_was_put(page):
    page.click("button[data-camera=left]")
    page.select_option("#networks-what", index=1)
    settle(page)
    eye = page.evaluate("document.getElementById('network-brain')._fullLayout.scene.camera.eye")
    assert eye["x"] < -1
    assert eye["y"] == pytest.approx(0, abs=1e-6)
    page.click("button[data-zoom='0.8']")
    settle(page)
    near = page.evaluate("document.getElementById('network-brain')._fullLayout.scene.camera.eye")
    assert near["x"] == pytest.approx(0.8 * eye["x"])


def test_hover_says_both_weights_and_names_are_inert(page, data):
    page.fill("#networks-region", EVIL)
    settle(page)
    texts = page.evaluate(
        "document.getElementById('network-matrix').data[0].hovertext.flat()"
        ".filter((one) => one.includes('weight in'))"
    )
    assert texts, "the region needs an edge for this test"
    for text in texts:
        assert "&lt;script&gt;" in text
        assert "<script" not in text
        assert all(f"weight in {group}" in text for group in data["groups"])
        assert "half samples" in text
        assert "direction: " in text
    assert EVIL in page.eval_on_selector_all(
        "#networks-regions option", "all => all.map((one) => one.value)"
    )
    page.locator("#network-matrix").scroll_into_view_if_needed()
    x, y = page.evaluate("""() => {
      const plot = document.getElementById('network-matrix'), box = plot.getBoundingClientRect();
      const z = plot.data[0].z, i = z.findIndex((row) => row.some((one) => one !== null));
      const j = z[i].findIndex((one) => one !== null), {xaxis, yaxis} = plot._fullLayout;
      return [box.x + xaxis._offset + xaxis.d2p(j), box.y + yaxis._offset + yaxis.d2p(i)];
    }""")
    page.mouse.move(x, y)
    page.wait_for_selector("#network-matrix .hovertext")
    assert EVIL in page.text_content("#network-matrix .hovertext")


def test_names_along_the_axes_appear_when_there_is_room(page):
    places = "document.getElementById('network-matrix')._fullLayout.xaxis.ticktext"
    near = {"xaxis.range": [-0.5, 4.5], "yaxis.range": [4.5, -0.5]}
    page.evaluate("(near) => Plotly.relayout('network-matrix', near)", near)
    settle(page)
    settle(page)
    assert any("&lt;script&gt;" in text for text in page.evaluate(places))
    page.evaluate(
        "Plotly.relayout('network-matrix', {'xaxis.autorange': true, 'yaxis.autorange': true})"
    )


def test_colours_follow_the_theme(page):
    colours = """() => ['matrix', 'brain'].map(
      (one) => document.getElementById('network-' + one).layout.font.color)"""
    light = page.evaluate(colours)
    change = """(theme) => {
      document.documentElement.dataset.theme = theme;
      document.dispatchEvent(new Event('themechange'));
    }"""
    page.evaluate(change, "dark")
    settle(page)
    assert page.evaluate(colours) == ["rgb(238, 238, 238)"] * 2 != light
    page.evaluate(change, "light")


def test_nothing_offers_to_send_the_chart_away(page):
    titles = page.eval_on_selector_all(".modebar-btn", "all => all.map((one) => one.dataset.title)")
    assert any("Download" in title for title in titles)
    assert not any(
        word in title.lower() for title in titles for word in ("share", "cloud", "studio")
    )
    assert page.locator(".modebar-btn--logo").count() == 0


@pytest.mark.parametrize(("view", "start"), [("brain", b"\x89PNG"), ("matrix", b"<svg")])
def test_pictures_can_be_kept(page, view, start):
    with page.expect_download() as waiting:
        page.locator(f"#network-{view}").hover()
        page.locator(f"#network-{view} .modebar-btn[data-title^=Download]").click()
    assert waiting.value.suggested_filename.startswith(f"network-{view}.")
    assert waiting.value.path().read_bytes().startswith(start)


def test_without_webgl_pictures_stand_in(blind_page, data):
    page = blind_page
    assert "WebGL" in page.inner_text("#networks-why")
    assert page.is_visible("#static-views")
    assert page.is_hidden("#networks-brain-view")
    slide(page, "#networks-weight", 0.3)
    settle(page)
    weights = np.abs(column(data["networks"][0], "weight"))
    assert len(page.evaluate(CELLS)) == (weights >= 0.3).sum()
    assert page.problems == []


@pytest.mark.long
@pytest.mark.parametrize(("located", "why"), [(True, "nilearn"), (False, "coordinates")])
def test_without_the_surface_pictures_stand_in_if_regions_have_places(opened, data, located, why):
    nowhere = {} if located else dict.fromkeys("xyz", [None] * len(data["nodes"]["x"]))
    page = opened(data | {"nodes": data["nodes"] | nowhere, "mesh": None})
    assert why in page.inner_text("#networks-why")
    assert page.is_visible("#static-views") == located
    assert page.is_hidden("#networks-brain-view")
    assert page.is_visible("#network-matrix")
    assert page.problems == []


@pytest.mark.long
def test_regions_without_coordinates_are_in_the_matrix_only(opened, data):
    network, nodes = data["networks"][0], data["nodes"]
    ends = np.column_stack([network["source"], network["target"]])
    lost = int(np.bincount(ends.ravel()).argmax())
    there = {axis: [None if k == lost else v for k, v in enumerate(nodes[axis])] for axis in "xyz"}
    page = opened(data | {"nodes": nodes | there, "mesh": []})
    page.wait_for_selector("#network-brain canvas")
    missing = (ends == lost).any(axis=1).sum()
    assert f"{missing} in the matrix only" in page.inner_text("#networks-count")
    assert page.evaluate(DRAWN) == len(ends) - missing
    assert len(page.evaluate(CELLS)) == len(ends)
    assert page.problems == []


@pytest.mark.long
def test_of_a_large_network_the_surest_edges_come_first(opened, data):
    m = len(data["nodes"]["name"])
    pairs = [(i, j) for i in range(m) for j in range(i + 1, m)]
    sizes = np.linspace(-1, 1, len(pairs)).round(4)
    large = {"source": [i for i, _ in pairs], "target": [j for _, j in pairs]}
    large |= {"weight": sizes.tolist(), "kind": [0] * len(pairs), "adjacent": None}
    large |= {"this_way": None}
    page = opened(data | {"networks": [large, data["networks"][1]]}, webgl=False)
    said = page.inner_text("#networks-count")
    assert said.startswith(f"40 of {len(pairs)} edges shown, the surest.")
    shown = sorted(abs(cell[2]) for cell in page.evaluate(CELLS))
    np.testing.assert_allclose(shown, np.sort(np.abs(sizes))[-40:])
    page.select_option("#networks-most", value="0")
    settle(page)
    assert len(page.evaluate(CELLS)) == len(pairs)
    assert page.is_disabled("#networks-confidence")
    assert page.problems == []


def test_differences_are_drawn_by_kind_of_change(page, data):
    """The sign of a difference says little: its colour, dash and symbol are those of its kind."""
    page.select_option("#networks-what", index=3)
    settle(page)
    kinds = data["differences"]["change"][0]
    looks = page.evaluate(
        "document.getElementById('network-brain').data.filter((one) => one.meta === 'legend')"
        ".map((one) => [one.name, one.line.color, one.line.dash])"
    )
    wanted = [
        [f"{one['symbol']} {one['name']}", one["colour"], one["dash"]] for one in data["changes"]
    ]
    assert looks[: len(wanted)] == wanted
    assert not any("positive" in name or "negative" in name for name, *_ in looks)
    options = page.eval_on_selector_all("#networks-only option", "all => all.map((o) => o.text)")
    assert options[1:] == [name for name, *_ in wanted]
    code = max(set(kinds), key=kinds.count)
    page.select_option("#networks-only", value=str(code))
    assert_shown(page, kinds.count(code), len(kinds))
    assert {cell[2] for cell in page.evaluate(CELLS)} == {code}
    texts = page.evaluate(
        "document.getElementById('network-matrix').data[0].hovertext.flat()"
        ".filter((one) => one.includes('change'))"
    )
    assert texts
    assert all(f"{data['changes'][code]['name']}: change" in text for text in texts)


def test_regions_of_the_surest_edges_are_named_in_the_brain(page, data):
    texts = page.evaluate(
        "document.getElementById('network-brain').data.filter((one) => one.meta === 'regions')"
        ".flatMap((one) => one.text).filter(Boolean)"
    )
    network = data["networks"][0]
    sizes = np.abs(column(network, "weight"))
    surest = np.lexsort((-sizes, -column(network, "adjacent")))[:12]
    ends = {network[end][k] for k in surest for end in ("source", "target")}
    assert len(texts) == len(ends)


def test_no_significant_difference_is_said(blind_page):
    page = blind_page
    page.select_option("#networks-what", index=2)
    settle(page)
    assert "No difference holds both ways" in page.inner_text("#networks-count")
    assert page.evaluate(CELLS) == []
    assert page.problems == []
