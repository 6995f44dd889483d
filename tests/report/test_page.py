import json
import re
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

import sgbn
from sgbn.comparison.figures import plans
from sgbn.comparison.report import python_code, render_report, script_data, write_report
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.write import page as assets
from sgbn.write.draw.style import KIND_STYLES
from sgbn.write.figures import picture

SECTIONS = (
    *("first", "summary", "data", "networks", "differences", "edges", "accuracy"),
    *("refinement", "subjects", "methods", "diagnostics", "repeat"),
)
LIMIT = 10_000_000  # bytes
LOADING = ("src", "href", "action", "poster", "data", "srcset", "formaction", "background")
VOID = {"meta", "link", "img", "input", "br", "hr"}


class Page(HTMLParser):
    """Elements, attributes and text of a page; scripts and styles by themselves."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self.open, self.text = [], [], []
        self.raw = {"script": [], "style": []}
        for library in (assets.plotly_script(), assets.tables_script()):
            html = html.replace(library, "")  # checked by themselves, and slow to parse
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        inside = self.open[-1] if self.open else ""
        self.raw.get(inside, self.text).append(data)

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())

    def ids(self):
        return [attributes["id"] for _, attributes in self.elements if attributes.get("id")]


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


@pytest.fixture(scope="module")
def page_of_three(html_of_three):
    return check(html_of_three)


@pytest.fixture(scope="module")
def quick(no_pictures):
    """Function (comparison, command) -> report without pictures."""
    return partial(render_report, pictures=no_pictures)


@pytest.fixture(scope="module")
def nothing_found(nothing_differs, quick):
    return quick(nothing_differs)


def check(html):
    """What holds for every report."""
    page = Page(html)
    assert len(html.encode()) < LIMIT
    assert set(SECTIONS) <= set(page.ids())
    assert len(page.ids()) == len(set(page.ids()))
    for tag, attributes in page.elements:
        for name in set(LOADING) & set(attributes):
            assert re.match(r"#|data:", attributes[name]), (tag, attributes[name][:80])
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
    for style in page.raw["style"]:
        assert all(url.startswith("data:") for url in re.findall(r"url\(['\"]?([^)]*)", style))
        assert "@import" not in style
    policies = [a["content"] for _, a in page.elements if a.get("http-equiv")]
    assert policies[0].startswith("default-src 'none'")
    assert "http" not in policies[0]
    assert "eval" not in policies[0]
    return page


def test_it_is_whole_small_and_loads_nothing(html):
    check(html)


def test_all_statements_are_there(page, compared):
    for one in compared.words.statements:
        assert all(" ".join(line.split()) in page.words for line in one.lines)
    for line in (*compared.words.verdict, *compared.words.edges):
        assert page.words.count(line) <= 2  # on the first screen and in its section


@pytest.mark.usefixtures("no_figures")
def test_the_same_comparison_gives_the_same_bytes(compared, tmp_path):
    """All but its pictures, of which test_figures says the same."""
    path = write_report(compared, tmp_path / "report.html", command="sgbn demo --out 'a <b>'")
    assert path.read_bytes() == render_report(compared, "sgbn demo --out 'a <b>'").encode()
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def colours(selector):
    """Colours that the style sheet gives to a theme."""
    style = assets.own_file("report.css")
    block = style.split(selector + " {", 1)[1].split("}", 1)[0]
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", block))


def contrast(one, other):
    """Contrast of two colours, by WCAG."""

    def luminance(colour):
        parts = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        return linear @ [0.2126, 0.7152, 0.0722]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [":root", ':root[data-theme="dark"]'])
def test_text_has_a_contrast_of_4_5_on_every_ground(theme):
    found = colours(theme)
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for text in ("ink", "muted", "accent", "warn", "positive", "negative"):
        for ground in ("paper", "panel", "found"):
            assert contrast(found[text], found[ground]) >= 4.5, (text, ground)
    dark = "data-theme" in theme
    for one in KIND_STYLES.values():
        assert contrast(one.dark if dark else one.colour, found["paper"]) >= 4.5


def test_the_dark_theme_is_said_once():
    assert assets.own_file("report.css").count(colours(':root[data-theme="dark"]')["paper"]) == 1


def test_refinements_without_a_difference_are_behind_a_sentence(compared, nothing_found, quick):
    page = nothing_found
    said = page.index("No difference between the groups was found")
    assert said < page.index("Show what moves") < page.index('id="refinements-table"')
    assert "show where the groups differ" not in page
    assert "Show what moves" not in quick(with_difference(compared))


def with_difference(comparison):
    return replace(comparison, tests=replace(comparison.tests, global_p=0.001))


def test_headings_do_not_skip_a_level(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))


def test_landmarks_labels_and_texts_for_pictures(page):
    tags = [tag for tag, _ in page.elements]
    for landmark in ("header", "nav", "main", "footer"):
        assert tags.count(landmark) == 1
    links = {a["href"] for tag, a in page.elements if tag == "a"}
    assert {f"#{name}" for name in SECTIONS} <= links
    assert "#main" in links
    assert all(a["alt"] for tag, a in page.elements if tag == "img")
    labelled = {a["for"] for tag, a in page.elements if tag == "label" and "for" in a}
    for tag, attributes in page.elements:
        if tag in ("select", "input"):
            assert attributes.get("id") in labelled or "aria-label" in attributes
    assert tags.count("table") == tags.count("caption")
    ids = set(page.ids())
    for _, attributes in page.elements:
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert set(attributes.get(name, "").split()) <= ids


def test_it_says_how_to_cite_and_to_repeat(page):
    for said in (
        *("10.1109/TPAMI.2015.2511754", "Copy the methods", "@article{zhou2016"),
        *("sgbn demo --out 'a <b>'", "n_permutations=39", "numpy", "seed 0"),
    ):
        assert said in page.words


def test_the_truth_of_a_simulation_is_shown(page, page_of_three):
    assert "simulated data" in page.words
    assert "truly differs" in page.words
    assert "truly differs" not in page_of_three.words


def test_nothing_found_is_a_full_report(nothing_differs, nothing_found):
    page = check(nothing_found)
    count = len(nothing_differs.tests.edges)
    assert f"None of {count} tested pairs differs whichever way the arrow is read" in page.words
    assert "would have been found family-wise, one way, with 80% probability" in page.words
    assert "no proof of equality" in page.words
    assert "How sure is a difference?" in page.words


def test_three_groups(three_groups, page_of_three):
    page = page_of_three
    assert "tested for any difference among them" in page.words
    for group in ("b", "c"):
        assert f"The surest changes from a to {group}, at most 40" in page.words
        assert f"change per SD, {group}" in page.words
    for one in three_groups.words.statements:
        assert all(" ".join(line.split()) in page.words for line in one.lines)


def test_without_an_atlas_there_are_no_lobes(page, page_of_three):
    for said in ("from lobe", "Lobes: strength", "Regions by lobe"):
        assert said in page.words
        assert said not in page_of_three.words


def test_pairs(compared, quick):
    cohort = replace(compared.cohort, pair=np.tile([f"p{k}" for k in range(60)], 2))
    page = check(quick(replace(compared, review=replace(compared.review, cohort=cohort))))
    assert "paired visits" in page.words
    assert "persons" in page.words


@pytest.mark.parametrize(
    ("without", "said"),
    [
        (
            {"skipped": {"accuracy": "too few <rows>.", "differences": "bad.", "deviations": "no"}},
            ("too few <rows>.", "were not tested: bad.", "Deviations were left out: no"),
        ),
        (
            {"refinements": {}, "confidence": {}},
            (
                "Classification was not tried: it was not asked for.",
                "Differences were not tested: they were not asked for.",
                "The networks were not refined",
                "All edges of the networks",
            ),
        ),
    ],
)
def test_what_was_not_done_is_said(compared, quick, without, said):
    little = {"accuracy": None, "tests": None, "deviations": None, "warnings": ("take <care>",)}
    page = check(quick(replace(compared, **little, **without)))
    for words in (*said, "take <care>"):
        assert words in page.words


def test_a_first_report_says_what_is_still_to_come(compared, quick):
    pending = ("sensitivity", "deviations", "accuracy")
    warned = ("first <b>.", "second.")
    early = replace(compared, accuracy=None, deviations=None, pending=pending, warnings=warned)
    html = quick(early)
    page = check(html)
    assert "This is a first report. Still being computed: " in page.words
    assert "Classification was not tried: this is not computed yet." in page.words
    assert "not asked for" not in page.words
    # several remarks are a list
    assert "<li>First &lt;b&gt;.</li><li>Second.</li></ul></dd>" in html


def test_nasty_names_stay_inert_and_readable(nasty, html, written):
    text = (written[0] / "report.html").read_text("utf-8")
    page = check(text)
    assert text.count("<script") == html.count("<script")
    assert not any(tag in ("b", "i", "u", "s") for tag, _ in page.elements)
    for name in (*nasty.cohort.regions, *nasty.groups, *nasty.cohort.ids[:3], "<u>age</u>"):
        assert " ".join(name.split()) in page.words
    assert "alert(4)" in page.words
    found = re.search(r'id="network-data">(.*?)</script>', text, re.DOTALL).group(1)
    assert not set("<>&\u2028\u2029") & set(found)
    names = str(json.loads(found))
    assert "<script>alert(1)</script>" in names


CONFIG = 'group = "<b>diagnosis</b>"\ntables = ["../table.csv"]\n'


def test_pictures_beyond_the_budget_are_left_out_and_the_config_is_shown(
    compared, quick, monkeypatch
):
    monkeypatch.setattr("sgbn.comparison.report.MAX_STATIC_BYTES", 70)
    page = Page(quick(compared, config=CONFIG))
    assert "1 more of these pictures" in page.words
    assert "first report" not in page.words
    # a config of the run is shown instead of code
    assert 'group = "<b>diagnosis</b>" tables = ["../table.csv"]' in page.words
    assert "settings" in page.ids()
    assert "import sgbn" not in page.words
    assert "code" not in page.ids()


def test_script_data_is_json_of_the_same_content():
    content = {"a": "</script>&\u2028\u2029<!--", "b": [1.5, None]}
    assert json.loads(script_data(content)) == content
    assert "<" not in script_data(content)
    with pytest.raises(ValueError, match="JSON"):
        script_data({"a": np.nan})


def test_no_tested_edge_is_a_report_too(compared, quick):
    tested = replace(compared.tests, edges=compared.tests.edges[:0], components=[])
    untested = replace(compared, tests=tested)
    for name, plan in plans(untested).items():
        if not name.startswith("network"):  # those are drawn as ever
            picture(plan.draw())
    page = check(quick(untested))
    assert "No single pair was tested" in page.words


def test_a_network_of_another_learner(three_groups, quick):
    learners = {
        group: ORSGBN().fit(three_groups.regions[three_groups.cohort.group == group])
        for group in three_groups.groups
    }
    check(quick(replace(three_groups, learners=learners)))


def test_the_code_repeats_the_comparison(compared):
    """All settings, and the learner with its parameters."""
    lines = python_code(compared).replace("cohort = ...", "cohort = 'cohort'")
    seen = {}
    fake = {
        "Settings": sgbn.Settings,
        "SGBNEnsemble": sgbn.SGBNEnsemble,
        "compare": lambda cohort, settings, learner: seen.update(settings=settings, by=learner),
        "write_comparison": lambda *_: None,
    }
    exec(lines.replace("import sgbn\n", ""), {"sgbn": type("sgbn", (), fake)})
    assert seen["settings"] == compared.settings
    assert seen["by"].get_params() == compared.learners["control"].get_params()


def test_preparation_is_not_said_to_be_that_of_the_networks(page):
    assert "in each training part by itself" in page.words
    assert "all preparation" not in page.words
