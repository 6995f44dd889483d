"""A report that is passed on names nobody."""

import json
import re
import warnings
import zipfile
from collections import Counter
from dataclasses import replace
from functools import partial
from html.parser import HTMLParser
from itertools import pairwise
from pkgutil import resolve_name

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from markupsafe import escape

import sgbn
from sgbn import Cohort
from sgbn.comparison.compare import compare
from sgbn.comparison.figures import difference_stems, plans
from sgbn.comparison.report import (
    BRAIN,
    CIRCLE,
    DIFFERENCES,
    FOREST,
    _clear,
    _write_tables,
    captions,
    first_plans,
    first_screen,
    first_stem,
    left_out_table,
    python_code,
    render_report,
    script_data,
    write_comparison,
    write_figures,
    write_report,
)
from sgbn.comparison.settings import Settings
from sgbn.core.problems import InputError, Problem, speaking
from sgbn.paper.or_sgbn import ORSGBN
from sgbn.prepare.pipeline import cohort_table
from sgbn.write import page as assets
from sgbn.write.draw.style import KIND_STYLES
from sgbn.write.figures import KINDS, Plan, picture
from sgbn.write.model_files import load

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


def test_the_truth_of_a_simulation_is_shown(page, page_of_three):
    assert "simulated data" in page.words
    assert "truly differs" in page.words
    assert "truly differs" not in page_of_three.words


def test_nothing_found_is_a_full_report(nothing_differs, nothing_found):
    count = len(nothing_differs.tests.edges)
    none = f"None of {count} tested pairs differs whichever way the arrow is read"
    assert none in check(nothing_found).words


def test_why_steps_were_not_done_is_said(compared, quick):
    little = {"accuracy": None, "tests": None, "deviations": None, "warnings": ("take <care>",)}
    skipped = {"accuracy": "too few <rows>.", "differences": "bad.", "deviations": "no."}
    page = check(quick(replace(compared, **little, skipped=skipped)))
    for words in (*skipped.values(), "take <care>"):
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


def test_a_network_of_another_learner(three_compared, quick):
    learners = {
        group: ORSGBN().fit(three_compared.regions[three_compared.cohort.group == group])
        for group in three_compared.groups
    }
    check(quick(replace(three_compared, learners=learners)))


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


@pytest.fixture(scope="module")
def plain():
    """Networks of two groups, and nothing else."""
    values, group = np.random.default_rng(1).normal(size=(40, 3)), np.repeat(["x", "y"], 20)
    cohort = Cohort(values, list("abc"), range(40), group=group)
    return compare(cohort, Settings.networks_only())


def test_everything_is_listed_and_there(written):
    folder, paths = written
    assert paths[0] == folder / "report.html"
    assert all(path.stat().st_size for path in paths)
    about = json.loads((folder / "about.json").read_text())
    assert {folder / name for name in about["files"]} == {*paths} - {folder / "about.json"}
    assert about["settings"]["n_permutations"] == 39


def test_the_model_predicts_as_the_one_that_was_fitted(written, nasty):
    folder, paths = written
    assert folder / "model.sgbn" in paths
    model, rows = load(folder / "model.sgbn"), cohort_table(nasty.cohort)
    assert list(model.feature_names_in_) == list(rows.columns)
    np.testing.assert_array_equal(model.predict(rows), nasty.model.predict(rows))


def test_names_stay_inert_in_tables(written):
    folder, _ = written
    for path in (folder / "tables").glob("*.csv"):
        for column in pd.read_csv(path, dtype=str, keep_default_na=False).items():
            texts = [column[0], *column[1]]
            assert not any(text.startswith(("=", "@", "+")) for text in texts), path.name


def test_networks_come_back_from_other_programs_files(written, nasty):
    folder, _ = written
    graphs = list((folder / "networks").glob("*.graphml"))
    assert len(graphs) == 2
    for path in graphs:
        assert sorted(nx.read_graphml(path).nodes) == sorted(nasty.cohort.regions)


def test_models_and_what_stays_beside_factors_are_written(written):
    folder, _ = written
    models = pd.read_csv(folder / "tables" / "models.csv")
    assert models["model"].tolist()[:2] == ["network", "factor analysis"]
    assert len(models) == 8
    edges = pd.read_csv(folder / "tables" / "edges.csv")
    assert set(edges["beside_factors"]) <= {"stays", "goes"}


def test_command_and_config_are_those_given(written):
    folder, paths = written
    command = "sgbn compare '<script>alert(4)</script>'"
    assert json.loads((folder / "about.json").read_text())["command"] == command
    assert str(escape(command)) in (folder / "report.html").read_text()
    assert (folder / "config.toml").read_text() == "seed = 0\n"
    assert folder / "config.toml" in paths


def test_graphs_have_the_confidence_of_their_edges(written):
    folder, _ = written
    seen = 0
    for path in (folder / "networks").glob("*.graphml"):
        for *_, about in nx.read_graphml(path).edges(data=True):
            assert 0 <= about["adjacent"] <= 1
            assert about["supported"] in (True, False)
            seen += 1
    assert seen
    edges = pd.concat(pd.read_csv(path) for path in (folder / "networks").glob("*_edges.csv"))
    assert {"adjacent", "this_way", "supported", "low", "high", "graph_direction"} <= set(edges)


@pytest.mark.parametrize("where", ["region", "group"])
def test_a_name_that_no_file_can_hold_leaves_the_earlier_report(tmp_path, plain, where):
    (tmp_path / "report.html").write_text("earlier")
    (tmp_path / "about.json").write_text(json.dumps({"files": ["report.html"]}))
    cohort, learners = plain.cohort, plain.learners
    if where == "region":
        cohort = replace(cohort, regions=("a\x07b", "b", "c"))
    else:
        learners = {"x": learners["x"], "y\x07": learners["y"]}
    found = replace(plain, review=replace(plain.review, cohort=cohort), learners=learners)
    with pytest.raises(InputError, match="Rename it"):
        write_comparison(found, tmp_path)
    assert (tmp_path / "report.html").read_text() == "earlier"


@pytest.mark.usefixtures("no_figures")
def test_a_second_write_replaces_the_first_and_touches_nothing_else(plain, tmp_path):
    folder, outside = tmp_path / "results", tmp_path / "outside.txt"
    (folder / "tables").mkdir(parents=True)
    for kept in (folder / "mine.txt", outside):
        kept.write_text("kept")
    for earlier in ("tables/edges.csv", "tables/differences.csv"):
        (folder / earlier).write_text("of an earlier comparison")
    names = ["../outside.txt", "/etc/hosts", "tables/edges.csv", "tables/differences.csv", 3]
    (folder / "about.json").write_text(json.dumps({"files": names}))
    written = write_comparison(plain, folder)
    assert outside.exists()
    assert (folder / "mine.txt").exists()
    assert set(pd.read_csv(folder / "tables" / "edges.csv")["group"]) <= {"x", "y"}
    assert not (folder / "tables" / "differences.csv").exists()
    assert folder / "model.sgbn" not in written  # there is none without cross-validation


@pytest.mark.parametrize(
    "name",
    [
        "../outside/mine.csv",
        "tables/../../outside/mine.csv",
        "tables/../notes/mine.csv",
        "{outside}/mine.csv",
        "figures/mine.csv",  # figures is a link to the folder outside
        "tables/linked/mine.csv",
        "tables/link.csv",
        "tables/mine.csv",
        "notes/mine.csv",
        "mine.csv",
        *("", ".", "tables", "tables/nothing.csv", "tables/\0", "tables/loop", 3, None),
    ],
)
def test_a_listed_file_that_no_comparison_wrote_is_kept(tmp_path, name):
    folder, outside = tmp_path / "results", tmp_path / "outside"
    for made in (folder / "tables", folder / "notes", outside):
        made.mkdir(parents=True)
    for mine in (outside, folder, folder / "notes", folder / "tables"):
        (mine / "mine.csv").write_text("kept")
    (folder / "figures").symlink_to(outside, target_is_directory=True)
    (folder / "tables" / "linked").symlink_to(outside, target_is_directory=True)
    (folder / "tables" / "link.csv").symlink_to(outside / "mine.csv")
    (folder / "tables" / "loop").symlink_to(folder / "tables" / "loop")
    (folder / "tables" / "edges.csv").write_text("of an earlier comparison")
    listed = name.format(outside=outside) if isinstance(name, str) else name
    (folder / "about.json").write_text(json.dumps({"files": [listed, "tables/edges.csv"]}))
    before = {*tmp_path.rglob("*")}
    assert _clear(folder) in (["tables/edges.csv"], [listed, "tables/edges.csv"])
    assert before - {*tmp_path.rglob("*")} == {folder / "tables" / "edges.csv"}


def test_a_folder_that_is_itself_a_link_is_cleared(tmp_path):
    (tmp_path / "real" / "tables").mkdir(parents=True)
    (tmp_path / "real" / "tables" / "edges.csv").write_text("old")
    (tmp_path / "real" / "about.json").write_text(json.dumps({"files": ["tables/edges.csv"]}))
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    assert _clear(tmp_path / "link") == ["tables/edges.csv"]
    assert not (tmp_path / "real" / "tables" / "edges.csv").exists()


@pytest.mark.parametrize("content", ["[]", "3", '{"files": 3}', '{"files": null}', "{", ""])
def test_an_about_file_of_another_form_removes_nothing(tmp_path, content):
    (tmp_path / "about.json").write_text(content)
    assert _clear(tmp_path) == []


def test_tables_hold_no_minus_zero(tmp_path):
    table = pd.DataFrame({"a": [-0.0, -1.5, np.nan], "b": ["-0", "x", ""], "c": [1, 2, 3]})
    (tmp_path / "tables").mkdir()
    (path,) = _write_tables({"edges": table, "nodes": pd.DataFrame()}, tmp_path)
    text = path.read_text()
    assert text == "a,b,c\n0.0,'-0,1\n-1.5,x,2\n,,3\n"
    assert np.signbit(table["a"][0])  # the table itself stays as it is


MADE_ONCE = {
    "sgbn.comparison.result": ("make_tables", "make_words", "supported_of"),
    "sgbn.comparison.tables": ("_subjects", "table_one"),
    "sgbn.comparison.summary": ("support_words", "left_out_words"),
    "sgbn.comparison.steps.differences": (
        *("overall_words", "edge_lines", "_differences", "_components", "_per_sd"),
    ),
    "sgbn.comparison.steps.networks": ("agreement_words", "edge_table"),
    "sgbn.comparison.steps.accuracy.Accuracy": ("table",),
}


@pytest.mark.usefixtures("no_figures")
def test_tables_and_words_are_made_once(compared, tmp_path, monkeypatch):
    calls = Counter()

    def counted(name, function):
        def call(*arguments, **more):
            calls[name] += 1
            return function(*arguments, **more)

        return call

    for place, names in MADE_ONCE.items():
        for name in names:
            path = f"{place}.{name}"
            monkeypatch.setattr(path, counted(path, resolve_name(path)))
    known = replace(compared)  # without what another test asked for
    write_comparison(known, tmp_path, n_jobs=1)
    each_group = {
        "sgbn.comparison.result.supported_of",
        "sgbn.comparison.steps.networks.edge_table",
    }
    assert {name for name, count in calls.items() if count > 1} == each_group
    assert {calls[name] for name in each_group} == {len(compared.groups)}
    assert len(calls) == sum(map(len, MADE_ONCE.values()))


@pytest.mark.usefixtures("no_figures")
def test_only_figures_are_written_again(compared, tmp_path):
    write_comparison(compared, tmp_path)
    about = json.loads((tmp_path / "about.json").read_text())
    stale = tmp_path / "figures" / "of_an_older_version.svg"
    stale.write_text("old")
    names = [*about["files"], "figures/of_an_older_version.svg"]
    (tmp_path / "about.json").write_text(json.dumps(about | {"files": names}))
    for mine in ("report.html", "tables/edges.csv"):
        (tmp_path / mine).write_text("as it is")
    (tmp_path / "figures" / "mine.svg").write_text("kept")
    written = write_figures(compared, tmp_path)
    assert {path.parent for path in written} == {tmp_path / "figures"}
    assert {path.suffix[1:] for path in written} == set(KINDS) == {"svg", "pdf", "png"}
    assert not stale.exists()
    assert (tmp_path / "figures" / "mine.svg").exists()
    for mine in ("report.html", "tables/edges.csv"):
        assert (tmp_path / mine).read_text() == "as it is"
    after = json.loads((tmp_path / "about.json").read_text())
    assert sorted(after.pop("files")) == sorted(about.pop("files"))
    assert after == about


@pytest.mark.usefixtures("no_figures")
def test_figures_can_be_written_to_a_new_folder(plain, tmp_path):
    written = write_figures(plain, tmp_path / "new")
    assert written
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"figures"}


def test_a_first_report_is_marked_in_its_summary_and_completed_by_the_next(
    compared, tmp_path, monkeypatch
):
    drawn = []

    def files(plan, kinds, dpi):
        drawn.append(plan.plot.func.__name__)
        return dict.fromkeys(kinds, f"<svg>{len(drawn)}</svg>".encode())

    monkeypatch.setattr(Plan, "files", files)
    early = replace(compared, accuracy=None, pending=("accuracy",))
    kept = tmp_path / "work"
    write_comparison(early, tmp_path, n_jobs=1, drawn=kept)
    summary = (tmp_path / "summary.txt").read_text()
    assert summary.startswith("This is a first report. Still being computed: ")
    assert "Not yet computed." in summary
    assert json.loads((tmp_path / "about.json").read_text())["pending"] == ["accuracy"]
    assert not (tmp_path / "tables" / "accuracy.csv").exists()
    shown, drawn[:] = len(drawn), []
    assert shown == 2  # where and how much: a first report comes at once
    assert not list((tmp_path / "figures").iterdir())

    write_comparison(compared, tmp_path, n_jobs=1, drawn=kept)
    assert len(drawn) == len(plans(compared))  # those of the first screen are kept
    assert "first report" not in (tmp_path / "summary.txt").read_text()
    assert json.loads((tmp_path / "about.json").read_text())["pending"] == []
    assert (tmp_path / "tables" / "accuracy.csv").exists()
    assert len(list((tmp_path / "figures").glob("*.svg"))) == len(drawn)


def test_pictures_of_the_first_screen_are_those_of_the_files_in_other_sizes(compared):
    planned = plans(compared)
    first = first_plans(compared, planned)
    assert set(first) == {DIFFERENCES, FOREST}
    assert first[DIFFERENCES].plot.func is planned["differences_brain"].plot.func
    assert first[DIFFERENCES].plot.keywords["title"] == ""  # the caption says it
    assert first[DIFFERENCES].inches < planned["differences_brain"].inches
    assert first[FOREST].plot.func is planned["forest"].plot.func
    assert list(first[FOREST].plot.keywords["tables"]) == ["patient"]


def test_of_several_groups_the_forest_shows_one_and_without_places_a_circle_stands_for_the_brain(
    three_compared,
):
    planned = plans(three_compared)
    assert list(planned["forest"].plot.keywords["tables"]) == ["b", "c"]
    first = first_plans(three_compared, planned)
    assert len(first[FOREST].plot.keywords["tables"]) == 1
    circle = next(iter(planned.values()))
    found = first_plans(three_compared, {f"{first_stem(three_compared)}_{CIRCLE}": circle})
    assert list(found) == [DIFFERENCES, FOREST]
    shown = first_screen(three_compared, found)
    assert (shown["shape"], shown["differences"], shown["forest"]) == (CIRCLE, DIFFERENCES, FOREST)


def test_pictures_of_files_stand_in_where_there_is_no_other_and_are_none_without_tests(compared):
    shown = first_screen(compared, {"differences_brain", "forest"})
    assert (shown["differences"], shown["forest"]) == ("differences_brain", "forest")
    assert shown["shape"] == BRAIN
    untested = replace(compared, tests=None)
    shown = first_screen(untested, first_plans(untested, plans(untested)))
    assert (shown["differences"], shown["forest"]) == ("", "")
    assert shown["verdict"]


def test_the_group_that_differs_most_is_shown(three_compared):
    table = three_compared.tables.differences
    for group in ("b", "c"):
        far = table.assign(**{f"weight_std_{group}": table["weight_std_a"] + 5.0}, q_both=0.01)
        known = replace(three_compared)
        vars(known)["tables"] = three_compared.tables._replace(differences=far)
        assert first_stem(known) == difference_stems(three_compared.groups)[group]


def test_every_picture_has_a_complete_caption(compared, three_compared):
    assert {DIFFERENCES, FOREST, "differences_brain", "forest"} <= set(captions(compared))
    for comparison in (compared, three_compared):
        for alt, caption in captions(comparison).values():
            assert alt.endswith(".")
            assert caption.endswith(".")
            assert not {"{", "}"} & set(alt + caption)


def test_the_caption_says_whether_anything_differs(compared, nothing_differs):
    assert "no pair differs both ways" in captions(nothing_differs)[DIFFERENCES][1]
    by_chance = "by chance alone"
    assert by_chance in captions(nothing_differs)[FOREST][1]
    assert by_chance not in captions(compared)[FOREST][1]
    edges = nothing_differs.tests.edges.copy()
    edges["q"][0] = 0.01
    one_way = replace(nothing_differs, tests=replace(nothing_differs.tests, edges=edges))
    assert "a change of variance can cause" in captions(one_way)[FOREST][1]
    assert by_chance not in captions(one_way)[FOREST][1]


IDS = [f"secret-{k:03d}-qz" for k in range(80)]
PUBLIC = ("report.html", "summary.txt", "about.json", "model.sgbn")


@pytest.fixture(scope="module")
def named():
    """A cohort in which much is odd: the review names subjects in all of its ways."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(80, 8))
    for j in range(1, 8):
        values[:, j] += 0.9 * values[:, j - 1]
    values[3] += 25 * values.std(axis=0) * np.resize([1, -1], 8)  # far out as a whole
    values[7, 2] = 40.0  # one cell
    values[11, :6] = np.nan  # too many gaps
    values[60] = values[61]  # a copy
    age = np.where(np.arange(80) == 5, np.nan, np.linspace(20, 80, 80) % 37)
    group = np.repeat(["CTR", "SCZ"], 40)
    regions = [f"region{k}" for k in range(8)]
    cohort = Cohort(values, regions, IDS, group=group, covariates={"age": age})
    settings = Settings.quick(
        n_permutations=39,
        n_pairs=1,
        n_folds=2,
        refinements=(),
        models=False,
        model=True,
        deviations=True,
        rows_are_subjects=True,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = compare(cohort, settings)
    reason = Problem("pair", person=IDS[20]).says("the pair of {person} is not whole")
    look = Problem("look", subject=IDS[21]).says("look at {subject}")
    return replace(found, skipped={"replication": reason}, warnings=(look,))


@pytest.fixture(scope="module")
def privacy_written(named, tmp_path_factory):
    folder = tmp_path_factory.mktemp("private")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sgbn.comparison.report.plans", lambda _: {})
        write_comparison(named, folder)
    return folder


def names_in(content):
    return [name for name in IDS if name.encode() in content]


def bytes_of(path):
    """Bytes of a file, unpacked where it is packed."""
    if not zipfile.is_zipfile(path):
        return path.read_bytes()
    with zipfile.ZipFile(path) as packed:
        return b"\n".join(packed.read(name) for name in packed.namelist())


def test_the_review_names_subjects_in_many_ways(named):
    said = [one for one in named.review.findings if names_in(one.problem.what.encode())]
    assert len(said) >= 5
    with speaking(people=False):
        assert not names_in("".join(map(str, said)).encode())


@pytest.mark.parametrize("name", PUBLIC)
def test_what_is_passed_on_names_nobody(privacy_written, name):
    assert names_in(bytes_of(privacy_written / name)) == []


def test_the_tables_name_everybody_and_who_was_left_out(privacy_written, named):
    tables = privacy_written / "tables"
    assert len(names_in((tables / "subjects.csv").read_bytes())) == len(named.cohort)
    assert IDS[3] in pd.read_csv(tables / "left_out.csv")["subject"].tolist()
    assert names_in((tables / "findings.csv").read_bytes()) == []


def test_sentences_give_counts_and_say_where_names_are(privacy_written):
    report, about = ((privacy_written / name).read_text() for name in ("report.html", "about.json"))
    assert "tables/left_out.csv names them" in report
    said = {"replication": "the pair of a person is not whole."}
    assert said["replication"] in report
    assert json.loads(about)["skipped"] == said
    assert json.loads(about)["private"] == ["tables/subjects.csv", "tables/left_out.csv"]


def test_subjects_are_shown_where_that_is_asked_for(named, no_pictures):
    page = render_report(named, pictures=no_pictures, subjects_in_report=True)
    assert len(names_in(page.encode())) == len(IDS)
    assert 'id="subjects-table"' in page


def test_nobody_left_out_is_no_table(compared):
    nobody = dict.fromkeys(compared.groups, ())
    known = replace(compared, tests=replace(compared.tests, left_out=nobody))
    assert left_out_table(known).columns.empty == (not any(known.left_out.values()))
