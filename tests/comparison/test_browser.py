"""The report in Chromium: what a reader does with it."""

import csv
import io

import pytest

from sgbn.comparison.names import with_labels

WIDE = {"width": 1280, "height": 900}  # of `reader`
NARROW = {"width": 320, "height": 640}


@pytest.fixture(scope="module")
def nasty_page(open_page, written):
    """The report of the shared folder."""
    page = open_page((written[0] / "report.html").read_text("utf-8"), webgl=False, viewport=WIDE)
    page.wait_for_selector("#edges-table_wrapper")
    yield page
    page.context.close()


def cells(page, table, column):
    """Texts of a column as the page shows it."""
    return page.locator(f"#{table} tbody tr td:nth-child({column})").all_inner_texts()


def download(page, table):
    """Rows of the CSV file that the button of a table gives."""
    button = page.locator(f".table-wrap:has(#{table}) .dt-buttons .buttons-csv")
    with page.expect_download() as waiting:
        button.click()
    text = waiting.value.path().read_text(encoding="utf-8-sig")
    assert waiting.value.suggested_filename == f"{table}.csv"
    return list(csv.reader(io.StringIO(text)))


def check_opened(page, size):
    page.wait_for_timeout(500)
    assert page.problems == []
    assert page.requests == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_it_opens_without_error_or_request(reader, screenshot):
    check_opened(reader, WIDE)
    screenshot(reader, "report-wide-light")


@pytest.mark.long
def test_it_opens_on_a_narrow_page_in_the_dark_with_the_verdict_at_once(
    browser_page, screenshot, html
):
    page = browser_page(html, viewport=NARROW, color_scheme="dark")
    page.wait_for_selector("#differences-table_wrapper")
    check_opened(page, NARROW)
    assert page.locator(".verdict p").first.bounding_box()["y"] < NARROW["height"] / 2
    brightness = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
    )
    assert max(brightness) < 60
    screenshot(page, "report-narrow-dark")


def test_nasty_names_run_nothing(nasty_page, screenshot):
    nasty_page.wait_for_timeout(500)
    screenshot(nasty_page, "report-nasty")
    assert nasty_page.problems == []
    assert nasty_page.requests == []
    assert nasty_page.locator("#main b, #main i, #main u, #main s").count() == 0
    assert "<i>group</i>" in nasty_page.locator("h1").inner_text()


def sort_by(page, table, column, direction):
    """Click a title; return the column's texts once the page has sorted by it."""
    title = page.locator(f"#{table} thead th:nth-child({column})")
    title.click()
    # The table sorts after the click has returned.
    sorted_title = f"#{table} thead th:nth-child({column})[aria-sort={direction}]"
    page.wait_for_selector(sorted_title)
    page.wait_for_timeout(200)
    return cells(page, table, column)


def test_sorting_by_a_number(reader):
    titles = reader.locator("#differences-table thead th").all_inner_texts()
    column = 1 + [title.strip() for title in titles].index("change per SD (95 % interval)")
    up = sort_by(reader, "differences-table", column, "ascending")
    shown = [float(text.split()[0].replace("−", "-")) for text in up]
    assert shown == sorted(shown)
    assert len(set(shown)) > 1
    assert min(shown) < 0
    assert sort_by(reader, "differences-table", column, "descending") != up


def test_searching_leaves_the_rows_with_the_text_for_the_download_too(reader, compared):
    person = compared.cohort.ids[7]
    reader.get_by_label("Search in: Subjects").fill(person)
    assert cells(reader, "subjects-table", 1) == [person]
    info = reader.locator(".table-wrap:has(#subjects-table) .dt-info")
    assert "1 to 1 of 1" in info.inner_text()
    assert info.get_attribute("aria-live") == "polite"
    assert len(download(reader, "subjects-table")) == 2


def test_the_download_has_all_rows_and_all_digits(reader, compared):
    header, *rows = download(reader, "differences-table")
    edges = compared.tests.edges
    assert len(rows) == len(edges)
    shown = with_labels(compared, compared.tables.differences)
    assert {(row[header.index("from")], row[header.index("to")]) for row in rows} == set(
        zip(shown["source"], shown["target"], strict=True)
    )
    statistics = sorted(float(row[header.index("statistic")]) for row in rows)
    assert statistics == pytest.approx(sorted(edges["statistic"]), rel=1e-5)


def test_the_download_holds_no_formula(nasty_page, nasty):
    page = nasty_page
    for table in ("edges-table", "subjects-table", "differences-table"):
        header, *rows = download(page, table)
        numbers = [k for k, title in enumerate(header) if _is_number(title)]
        for row in [header, *rows]:
            texts = [cell for k, cell in enumerate(row) if k not in numbers or row is header]
            assert not any(cell.startswith(("=", "+", "-", "@")) for cell in texts)
    header, *rows = download(page, "edges-table")
    names = {row[header.index("from")] for row in rows} | {row[header.index("to")] for row in rows}
    assert names <= {f"'{r}" if r[0] in "=+-@" else r for r in nasty.cohort.labels.values()}
    assert "'=cmd()" in names


def _is_number(title):
    return title.split(",")[0] in (
        *("weight", "weight per SD", "change", "change per SD", "statistic", "p", "q"),
        "change per SD (95 % interval)",
        *("Monte-Carlo error", "confidence", "this way", "probability", "z of that region"),
        "p of deviation",
    )


def test_the_colours_can_be_changed_and_are_announced(reader):
    reader.evaluate("document.addEventListener('themechange', () => { window.heard = true; })")
    button = reader.get_by_role("button", name="Dark colours")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = reader.evaluate(colour)
    button.click()
    assert reader.evaluate(colour) != light
    assert reader.evaluate("window.heard")
    reader.get_by_role("button", name="Light colours").click()
    assert reader.evaluate(colour) == light


def test_rows_are_no_higher_than_three_lines(reader):
    heights = reader.locator("#differences-table tbody tr").evaluate_all(
        "rows => rows.map((row) => row.getBoundingClientRect().height)"
    )
    assert max(heights) < 70


INSIDE = """(table) => {
  const box = table.closest(".dt-layout-table").getBoundingClientRect();
  return [...table.querySelectorAll("thead th")].map((title) => {
    const own = title.getBoundingClientRect();
    return [title.innerText.trim(), own.right <= box.right + 1 && own.right <= window.innerWidth];
  });
}"""


def check_folded(page):
    table = page.locator("#differences-table")
    shown = dict(table.evaluate(INSIDE))
    for title in (
        *("differs", "kind of change", "from", "to", "weight per SD, control"),
        *("weight per SD, patient", "change per SD (95 % interval)", "q, both ways"),
        *("confidence, control", "confidence, patient"),
    ):
        assert shown[title], title
    assert "statistic" not in shown
    button = page.locator(".table-wrap:has(#differences-table) .more-columns")
    assert button.get_attribute("aria-expanded") == "false"
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#differences-table thead th:has-text('statistic')")
    assert button.get_attribute("aria-expanded") == "true"
    button.click()
    page.wait_for_selector("#differences-table thead th:has-text('statistic')", state="detached")


def test_what_is_asked_for_first_fits_the_page_and_the_rest_unfolds(reader):
    check_folded(reader)


@pytest.mark.long
def test_what_is_asked_for_first_fits_a_smaller_page(browser_page, html):
    page = browser_page(html, webgl=False, viewport={"width": 1064, "height": 900})
    page.locator("#differences-table").wait_for()
    check_folded(page)


def test_the_first_screen_answers_three_questions(reader, compared, screenshot):
    """Do the groups differ, where and how much, can it be trusted: without scrolling."""
    page = reader
    page.evaluate("window.scrollTo(0, 0)")  # where a new page is
    for part in (".verdict", ".where img", ".known"):
        box = page.locator(f"#first {part}").bounding_box()
        assert box["y"] + box["height"] <= WIDE["height"], part
    screenshot(page, "report-first")
    said = " ".join(page.locator("#first").inner_text().split())
    for line in (*compared.words.verdict, compared.words.trust):
        assert " ".join(line.split()) in said
    assert page.locator("nav a[href='#differences']").is_visible()
    for image in page.locator("#first img").all():
        assert image.get_attribute("alt")
        assert image.evaluate("(one) => one.complete && one.naturalWidth > 0")


@pytest.mark.long
def test_a_print_is_white_has_more_rows_and_pictures_for_views(browser_page, html, compared):
    page = browser_page(html, viewport=WIDE, color_scheme="dark")
    page.wait_for_selector("#differences-table_wrapper")
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    rows = page.locator("#differences-table tbody tr")
    assert rows.count() == min(50, len(compared.tests.edges))
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(27, 31, 36)"
    assert page.locator("#static-views img").first.is_visible()
    for hidden in ("nav", "#networks-filters", "#network-brain", ".dt-buttons", "#theme"):
        assert not page.locator(hidden).first.is_visible(), hidden
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert rows.count() == 10
    document = page.pdf(format="A4")
    assert document.startswith(b"%PDF")
    assert 3 <= document.count(b"/Type /Page\n") <= 60


@pytest.mark.long
def test_focus_is_seen(browser_page, html):
    page = browser_page(html, webgl=False, viewport=WIDE)
    for selector in ("nav a", "#theme", "#networks-most", ".more-columns", "summary"):
        page.locator(selector).first.focus()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Tab")
        outline = page.evaluate(
            "(() => { const own = getComputedStyle(document.activeElement);"
            " return [own.outlineStyle, parseFloat(own.outlineWidth)]; })()"
        )
        assert outline[0] != "none", selector
        assert outline[1] >= 1, selector


@pytest.mark.long
def test_the_keyboard_reaches_every_control(browser_page, html):
    page = browser_page(html, webgl=False, viewport=WIDE)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = set()
    for _ in range(400):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(_WHERE))
    wanted = {f"{one}:differences-table" for one in ("search", "csv", "sort", "more")}
    wanted |= {f"SELECT#networks-{one}" for one in ("only", "most")}
    assert wanted | {"BUTTON#theme", "copy:methods-text", "search:subjects-table"} <= reached


_WHERE = """(() => {
  const here = document.activeElement;
  if (here.dataset.copy) return "copy:" + here.dataset.copy;
  const wrap = here.closest(".table-wrap");
  const id = wrap ? wrap.querySelector("table").id : "";
  if (here.closest(".dt-search")) return "search:" + id;
  if (here.closest(".more-columns")) return "more:" + id;
  if (here.closest(".dt-buttons")) return "csv:" + id;
  if (here.closest("thead")) return "sort:" + id;
  return here.tagName + "#" + here.id;
})()"""


def test_a_header_sorts_by_the_keyboard(reader):
    header = reader.locator("#hubs thead th").first
    header.locator("[tabindex='0']").focus()
    for way in ("ascending", "descending"):
        reader.keyboard.press("Enter")
        reader.wait_for_selector(f"#hubs thead th:first-child[aria-sort='{way}']")


def test_the_methods_can_be_copied(reader):
    reader.get_by_role("button", name="Copy the methods").click()
    reader.get_by_text("Copied.").first.wait_for()
    assert reader.evaluate("navigator.clipboard.readText()").startswith("We compared control")


def test_without_scripts_everything_can_be_read(browser_page, screenshot, html, compared):
    page = browser_page(html, viewport=WIDE, java_script_enabled=False)
    rows = page.locator("#differences-table tbody tr")
    assert rows.count() == len(compared.tests.edges)
    assert page.locator("#static-views img").first.is_visible()
    assert not page.locator("#theme").is_visible()
    screenshot(page, "report-no-script")


@pytest.mark.long
def test_without_an_atlas_no_filter_asks_for_a_lobe(browser_page, html_of_three, reader):
    page = browser_page(html_of_three, webgl=False, viewport=WIDE)
    for name in ("#networks-from", "#networks-to", "#networks-by-lobe"):
        assert reader.locator(name).is_visible()
        assert not page.locator(name).is_visible()
    assert page.problems == []
