"""Comparisons, a results folder and a browser that the tests of the report share; read-only."""

import os
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sgbn.cohort.atlas import load_atlas
from sgbn.cohort.cohort import Cohort
from sgbn.cohort.simulate import simulate_cohort
from sgbn.comparison.compare import compare
from sgbn.comparison.report import render_report, write_comparison
from sgbn.comparison.settings import Settings

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--enable-unsafe-swiftshader",  # WebGL without a graphics card
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
OWN_ADDRESSES = ("data:", "blob:")  # of what is in the page itself
WIDE = {"width": 1280, "height": 900}
NO_WEBGL = """
const getContext = HTMLCanvasElement.prototype.getContext;
HTMLCanvasElement.prototype.getContext = function (kind, ...more) {
  return /webgl/.test(kind) ? null : getContext.call(this, kind, ...more);
};
"""
NASTY = (
    "<script>alert(1)</script>",
    "=cmd()",
    "</script><b>bold",
    "a$b$c",
    "\"quoted\" 'name'",
    "+1",
    "@at, with comma",
    "Übergang → λ",
)
LH_RH = ("lh", "rh")
LEAST = Settings.quick(n_permutations=39, n_pairs=4, n_folds=2, deviations=True)
ONLY_REGIONAL = replace(LEAST, n_pairs=0, n_repeats=0, refinements=(), models=False)


def quietly(cohort, settings=LEAST):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compare(cohort, settings)


def table_of(groups, m=8, n=60, **more):
    """Cohort of correlated regions, the later groups with another edge."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n, m))
    group = np.repeat(list(groups), n // len(groups))
    for j in range(1, m):
        values[:, j] += values[:, j - 1] * np.where((group != groups[0]) & (j == 2), -1.5, 0.9)
    names = more.pop("regions", [f"region{k}" for k in range(m)])
    ids = more.pop("ids", [f"s{k:02d}" for k in range(n)])
    return Cohort(values, names, ids, group=group, **more)


@pytest.fixture(scope="session")
def compared():
    """Two simulated groups with sites, covariates, missing cells and the truth."""
    cohort = simulate_cohort(
        60, regions=12, covariates=["age", "sex"], n_sites=2, missing=0.01, n_changed=6
    )
    return quietly(cohort)


@pytest.fixture(scope="session")
def three_groups():
    return quietly(table_of(("a", "b", "c"), n=90), replace(LEAST, models=False))


@pytest.fixture(scope="session")
def cortical():
    """Two groups; six regions of the cortex, which have a surface, and two below it."""
    sides = [f"{side}_{name}" for name in ("precentral", "insula", "precuneus") for side in LH_RH]
    regions = [*sides, "Left-Hippocampus", "Right-Hippocampus"]
    atlas = load_atlas("desikan_killiany")
    cohort = table_of(("control", "patient"), n=80, regions=regions, atlas=atlas)
    return quietly(cohort, ONLY_REGIONAL)


@pytest.fixture(scope="session")
def nasty():
    """Names that a page, a picture or a spreadsheet could take for code."""
    rng = np.random.default_rng(1)
    cohort = table_of(
        ("<i>group</i>", "=group()"),
        regions=NASTY,
        ids=["<script>alert(2)</script>", "=1+1", *(f"-s{k}" for k in range(58))],
        covariates={"<u>age</u>": rng.normal(size=60)},
        site=np.tile(["=site()", "<s>site</s>"], 30),
        provenance={"source": "</script><script>alert(3)</script>"},
    )
    return quietly(cohort, replace(LEAST, model=True))


@pytest.fixture(scope="session")
def written(nasty, tmp_path_factory):
    """Folder with all files of `nasty`, subjects in its report, and the list of these files."""
    folder = tmp_path_factory.mktemp("written")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sgbn.write.figures.PIXELS_PER_INCH", 50)  # files for print take longest
        # other processes would not know of it
        patch.setattr("sgbn.write.figures.WORTH_WORKERS", float("inf"))
        paths = write_comparison(
            nasty,
            folder,
            command="sgbn compare '<script>alert(4)</script>'",
            config="seed = 0\n",
            subjects_in_report=True,
        )
    return folder, paths


@pytest.fixture(scope="session")
def nothing_differs(compared):
    """The same comparison, in which no test is significant."""
    edges = compared.tests.edges.copy()
    for name in ("q", "p_fwer", "q_both", "p_fwer_both"):
        edges[name] = 1.0
    none = replace(compared.tests, edges=edges, global_p=0.7, global_p_both=0.8, components=[])
    return replace(compared, tests=none)


class Blank(dict):
    """Pictures of nothing, which cost no time."""

    def __contains__(self, name):
        return True

    def __missing__(self, name):
        return b"<svg/>"


@pytest.fixture(scope="session")
def no_pictures():
    return Blank()


@pytest.fixture(scope="session")
def html(compared):
    """The report of `compared` as a reader gets it who asked for subjects."""
    return render_report(compared, command="sgbn demo --out 'a <b>'", subjects_in_report=True)


@pytest.fixture(scope="session")
def html_of_three(three_groups, no_pictures):
    """The report of `three_groups`, without pictures and subjects."""
    return render_report(three_groups, pictures=no_pictures)


@pytest.fixture(scope="session")
def html_of_series(compared_series):
    """The report of time series, with subjects and without pictures."""
    return render_report(compared_series, pictures={}, subjects_in_report=True)


@pytest.fixture(scope="session")
def browser():
    """Chromium of this machine, driven by playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    program = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(CHROMIUM)} is installed")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def open_page(browser, tmp_path_factory):
    """Function (HTML text, webgl, options of the context) -> page.

    Without WebGL a page is ready much sooner, as it draws no brain. The page has two more lists:
    `problems`, errors in its console, and `requests`, addresses that it asked for beside itself.
    """

    def open_new(html, webgl=True, **options):
        file = tmp_path_factory.mktemp("page") / "page.html"
        file.write_text(html, encoding="utf-8")
        page = browser.new_context(**options).new_page()
        page.set_default_timeout(120_000)  # ms: a page without a graphics card may be slow
        if not webgl:
            page.add_init_script(NO_WEBGL)
        page.problems, page.requests = [], []
        page.on("console", lambda m: page.problems.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("dialog", lambda dialog: (page.problems.append(dialog.message), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                page.requests.append(request.url)
                if request.url != file.as_uri() and request.url[:5] not in OWN_ADDRESSES
                else None
            ),
        )
        page.goto(file.as_uri())
        return page

    return open_new


@pytest.fixture
def browser_page(open_page):
    """As `open_page`; what a test has opened is closed after it."""
    pages = []

    def open_new(html, **options):
        pages.append(open_page(html, **options))
        return pages[-1]

    yield open_new
    for page in pages:
        page.context.close()


@pytest.fixture(scope="session")
def reader(open_page, html):
    """The report in a wide window; tests use it one after the other, and none reloads it."""
    page = open_page(
        html,
        viewport=WIDE,
        color_scheme="light",
        permissions=["clipboard-read", "clipboard-write"],
    )
    page.wait_for_selector("#differences-table_wrapper")
    yield page
    page.context.close()


@pytest.fixture
def screenshot():
    """Function (page, name): keeps a picture of the page where SGBN_SCREENSHOTS names a folder."""

    def keep(page, name):
        if "SGBN_SCREENSHOTS" in os.environ:
            folder = Path(os.environ["SGBN_SCREENSHOTS"])
            folder.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=folder / f"{name}.png", full_page=True)

    return keep
